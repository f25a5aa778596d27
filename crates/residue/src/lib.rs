//! Arithmetic modulo the job's primes, and the way back from residues to a count.
//!
//! Counts are carried modulo distinct primes below 2^64. Those in use are just below 2^60, whose sums of up to 16 terms fit a
//! machine word, just below 2^64, of which fewer are needed, and in memory smaller ones, whose sums need not be reduced for
//! longer. Nothing here depends on which ones a job lists.

#![forbid(unsafe_code)]

mod crt;
mod modular;
mod primes;

pub use crt::{CrtError, crt, residue_of};
pub use modular::{Accumulator, add_mod, add_row, mul_mod, reduce_wide, sub_mod};
pub use primes::{is_prime, primes_below};
pub use rug::{Integer, Rational};
