//! Attempts at one task, or at one second copy.

use std::collections::BTreeMap;

use keima_orders::WorkerId;

/// After this many failures on one worker, it gets no further attempt.
const MOST_FAILURES: u32 = 2;

/// Numbers of attempts, and failures by worker.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    next: u32,
    failures: BTreeMap<WorkerId, u32>,
}

impl Attempts {
    /// The number of the next attempt; at least `first`.
    pub(crate) fn next(&self, first: u32) -> u32 {
        self.next.max(first)
    }

    /// An attempt is granted.
    pub(crate) const fn granted(&mut self, attempt: u32) {
        self.next = attempt.saturating_add(1);
    }

    /// An attempt failed on a worker; the number of its failures so far.
    pub(crate) fn failed(&mut self, worker: &WorkerId) -> u32 {
        let failures = self.failures.entry(worker.clone()).or_default();
        *failures += 1;
        *failures
    }

    /// Whether a worker has failed too often.
    pub(crate) fn is_hopeless(&self, worker: &WorkerId) -> bool {
        self.failures.get(worker).is_some_and(|&failures| failures >= MOST_FAILURES)
    }

    /// Gives a worker another try.
    pub(crate) fn forgive_worker(&mut self, worker: &WorkerId) {
        self.failures.remove(worker);
    }

    /// Gives every worker another try.
    pub(crate) fn forgive(&mut self) {
        self.failures.clear();
    }
}
