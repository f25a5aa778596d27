//! Arithmetic modulo the job's primes, and the way back from residues to a count.
//!
//! Counts are kept modulo distinct primes between 2^59 and 2^64. Primes just below 2^60 let up to 16 terms add up in a
//! machine word; of primes just below 2^64 a count needs fewer. A job lists its primes, and nothing here depends on which.

#![forbid(unsafe_code)]

mod crt;
mod modular;
mod primes;

pub use crt::{CrtError, crt, residue_of};
pub use modular::{Accumulator, add_mod, add_row, inverse, mul_mod, pow_mod, reduce_wide};
pub use primes::{is_prime, primes_below};
pub use rug::{Integer, Rational};
