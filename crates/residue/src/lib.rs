//! Arithmetic modulo the job's primes, and the way back from residues to a count.
//!
//! Counts are carried modulo distinct primes between 2^59 and 2^64. Two families of primes are in use: those just below
//! 2^60, whose sums of up to 16 terms fit a machine word, and those just below 2^64, of which fewer are needed. Nothing
//! here depends on which one a job lists.

#![forbid(unsafe_code)]

mod crt;
mod modular;
mod primes;

pub use crt::{CrtError, crt, residue_of};
pub use modular::{Accumulator, add_mod, add_row, mul_mod, reduce_wide, sub_mod};
pub use primes::{is_prime, primes_below};
pub use rug::{Integer, Rational};
