//! How a count in memory is done: its primes and lanes ([`scheme`]), its order of work ([`passages`]), its memory
//! ([`bytes`]).

pub(crate) mod passages;
pub(crate) mod scheme;
