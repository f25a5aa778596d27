//! Sums that a task takes on the way to detect a wrong number: mass balance, fingerprint, functionals.
//!
//! Mass balance, for every pass and lane: sum of new values = sum of old values x successors, each moved up by its shift.
//! What moves beyond the last coefficient is dropped on both sides. The two sides come from different data at different
//! times: the old values are added when a state is expanded, the new ones when the next step reads them.
//!
//! Cost: two additions for each lane, state and pass; four multiplications for each lane and state at the stage's two
//! ends.

// Code for vector instructions must be inlined into the function that is dispatched to.
#![allow(clippy::inline_always)]

mod end;
mod pass;

pub(crate) use end::EndTally;
pub(crate) use pass::PassSums;

use keima_residue::Accumulator;

/// The low half of a word. Sums of halves leave room for carries.
const LOW_HALF: u64 = u32::MAX as u64;

/// A sum of words, from the sums of their low and of their high halves.
fn whole(low: u64, high: u64) -> u128 {
    u128::from(low) + (u128::from(high) << 32)
}

/// One accumulator per lane.
#[derive(Clone, Debug)]
pub(crate) struct LaneSums(Vec<Accumulator>);

/// Neighbouring lanes.
struct Lanes<'a>(&'a mut [Accumulator]);

impl Lanes<'_> {
    #[inline]
    fn add(&mut self, weight: u64, row: &[u64]) {
        for (sum, &value) in self.0.iter_mut().zip(row) {
            sum.add(u128::from(weight) * u128::from(value));
        }
    }
    fn fold(&mut self, moduli: &[u64]) {
        for (sum, &p) in self.0.iter_mut().zip(moduli.iter().cycle()) {
            sum.fold(p);
        }
    }
}

impl LaneSums {
    pub(crate) fn new(lanes: usize) -> Self {
        Self(vec![Accumulator::default(); lanes])
    }
    fn lanes(&self) -> usize {
        self.0.len()
    }
    /// `length` lanes from `first` on.
    fn part(&mut self, first: usize, length: usize) -> Option<Lanes<'_>> {
        self.0.get_mut(first..first.checked_add(length)?).map(Lanes)
    }
    /// Adds `weight` times the row. Weights must be below 2^48.
    #[inline]
    pub(crate) fn add(&mut self, weight: u64, row: &[u64]) {
        Lanes(&mut self.0).add(weight, row);
    }
    /// Adds a term to each lane from `first` on. A term that is a sum of several counts as that many additions.
    #[inline]
    fn add_terms(&mut self, first: usize, terms: &[u128]) {
        for (sum, &term) in self.0.iter_mut().skip(first).zip(terms) {
            sum.add(term);
        }
    }
    /// Reduces the sums. Call it at least once in 65,535 additions.
    pub(crate) fn fold(&mut self, moduli: &[u64]) {
        Lanes(&mut self.0).fold(moduli);
    }
    /// Adds the sums of another.
    pub(crate) fn merge(&mut self, other: &Self, moduli: &[u64]) {
        self.add(1, &other.values(moduli));
        self.fold(moduli);
    }
    pub(crate) fn values(&self, moduli: &[u64]) -> Vec<u64> {
        self.0.iter().zip(moduli.iter().cycle()).map(|(sum, &p)| sum.value(p)).collect()
    }
}
