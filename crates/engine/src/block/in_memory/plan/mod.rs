//! The plan of a count in memory: its primes and lanes ([`scheme`]), and its order of work ([`passages`]).

pub(crate) mod passages;
pub(crate) mod scheme;
