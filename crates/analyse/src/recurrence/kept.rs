//! What is kept of a search for a recurrence, so that it goes on after a kill.
//!
//! The terms are made from a vector of counts, one per state. Terms and vector so far are all that is needed; the recurrences are
//! found again from the terms. Cost: 8 bytes a state and a term, once a minute.

use std::time::Duration;

/// Terms modulo two primes, and what the next ones are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The primes.
    pub primes: [u64; 2],
    /// The terms so far.
    pub terms: Vec<[u64; 2]>,
    /// The counts after the last of them.
    pub counts: Vec<u64>,
}

/// Keeps and finds it.
pub trait Keeper: Sync {
    /// Time between two calls of [`Keeper::keep`].
    fn every(&self) -> Duration;
    /// What was kept modulo these primes.
    fn find(&self, primes: [u64; 2]) -> Option<Kept>;
    /// Keeps this, and nothing that was kept earlier.
    fn keep(&self, kept: &Kept);
}
