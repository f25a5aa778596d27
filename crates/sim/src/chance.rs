//! All chance of a simulated cluster: one seeded sequence, drawn in the order of events.

use std::time::Duration;

use keima_model::mix::split_mix;

/// The sequence.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x1234_5678_9abc_def1) ^ 0x6b65_696d_6121)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// A number below `end`; 0 where `end` is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.bits() % end.max(1)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True `times` in 1,000.
    pub(crate) fn permille(&mut self, times: u64) -> bool {
        self.below(1000) < times
    }

    pub(crate) fn millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.between(low, high))
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len() as u64) as usize)
    }
}
