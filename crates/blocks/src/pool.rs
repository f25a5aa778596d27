//! How tasks share one amount of memory: how much each has, and how many others work beside one that has more.
//!
//! ```text
//!   all      | share | share | share | share |
//!   or       | one that needs more   | share |       a task that does not fit waits
//! ```
//!
//! The engine's pool counts words and keeps to this. The forecast counts in [`SHARE`]s of one task and asks which tasks would
//! wait.

use std::ops::RangeInclusive;

/// Smallest share, in quarters of an even share, to which tasks shrink so that the largest one fits beside them.
const LEAST_SHARE_QUARTERS: u64 = 3;

/// One even share, in the forecast's unit. With 2^30, rounding errors are below a billionth.
pub const SHARE: u64 = 1 << 30;

/// Memory that tasks share, in any unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// All of it.
    pub all: u64,
    /// Tasks at a time, 1 or more.
    pub tasks: u64,
    /// What the largest task needs at least.
    pub largest: u64,
}

impl Shares {
    /// Memory `all` of `tasks` tasks, the largest of which needs `largest` at least.
    pub fn new(all: u64, tasks: u32, largest: u64) -> Self {
        Self { all, tasks: u64::from(tasks.max(1)), largest }
    }

    /// The same in [`SHARE`]s, where the largest task needs `largest` of them.
    pub fn of_tasks(tasks: u32, largest: f64) -> Self {
        Self::new(u64::from(tasks.max(1)) * SHARE, tasks, in_shares(largest))
    }

    /// Takes `left` away, but leaves what the largest task needs.
    #[must_use]
    pub fn leaving(self, left: u64) -> Self {
        Self { all: self.all.saturating_sub(left).max(self.all.min(self.largest)), ..self }
    }

    /// What a task has without waiting. By default an even share. Where the largest task needs a little more than that,
    /// shares shrink, to three quarters at least, so that all others have theirs beside it.
    pub fn share(self) -> u64 {
        let even = self.all / self.tasks;
        let beside = self.all.saturating_sub(self.largest.max(even)) / (self.tasks - 1).max(1);
        if beside >= even / 4 * LEAST_SHARE_QUARTERS { beside.min(even) } else { even }
    }

    /// Number of tasks that get a full share of the memory that a task with `taken` leaves.
    fn beside(self, taken: u64) -> u64 {
        self.all.saturating_sub(taken) / self.share().max(1)
    }

    /// Threads that a task with `taken` can have. With what it leaves, other tasks keep the other threads busy.
    pub fn threads(self, taken: u64) -> u64 {
        self.tasks.saturating_sub(self.beside(taken)).clamp(1, self.tasks)
    }

    /// Threads that wait for memory while a task with `taken` runs on `threads` threads.
    pub fn waiting(self, taken: u64, threads: u32) -> u64 {
        let others = self.tasks.saturating_sub(threads.into());
        others - self.beside(taken).min(others)
    }

    /// Number of tasks whose memory and threads a group of `records` gets, so that it ends together with the others. Its
    /// window has `all_records`, and all workers together run `slots` tasks.
    pub fn worth(self, records: u64, all_records: u64, slots: u32) -> u64 {
        let worth = (u128::from(slots) * u128::from(records)).div_ceil(u128::from(all_records.max(1)));
        u64::try_from(worth).unwrap_or(u64::MAX).clamp(1, self.tasks)
    }

    /// Sizes of a kept piece that may serve a task whose memory is `wanted`, `beside` of it elsewhere. For more than a share
    /// a piece may be a quarter too large. A larger one would be charged in full and make others wait.
    pub fn kept_sizes(self, wanted: u64, beside: u64) -> RangeInclusive<u64> {
        let own = wanted.saturating_sub(beside);
        let more = if wanted > self.share() { own / 4 } else { 0 };
        own..=(own + more).min(self.all.saturating_sub(beside)).max(own)
    }
}

/// `shares` in the unit of [`SHARE`]. Saturates, as float casts do.
pub fn in_shares(shares: f64) -> u64 {
    (shares * SHARE as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_those_of_tasks_without_memory() {
        for (tasks, taken, threads) in
            [(1, 100, 1), (2, 50, 1), (2, 51, 2), (4, 25, 1), (4, 26, 2), (4, 75, 3), (4, 100, 4)]
        {
            assert_eq!(Shares::new(100, tasks, 0).threads(taken), threads, "{taken} of 100, {tasks} tasks");
        }
    }

    #[test]
    fn shares_leave_room_for_one_that_is_a_little_larger() {
        for (tasks, largest, share) in
            [(2, 0, 50), (2, 50, 50), (2, 60, 40), (2, 62, 38), (2, 70, 50), (4, 40, 20), (1, 10, 100), (1, 100, 100)]
        {
            assert_eq!(Shares::new(100, tasks, largest).share(), share, "{tasks} tasks, one of {largest}");
        }
        for (largest, left, all) in [(0, 30, 70), (60, 30, 70), (80, 30, 80), (200, 30, 100), (0, 200, 0)] {
            let shares = Shares::new(100, 2, largest).leaving(left);
            assert_eq!(shares.all, all, "{left} of 100 left, one of {largest}");
        }
    }

    /// In shares of one task: the largest needs `largest`, one at work has `taken` and `threads`.
    #[test]
    fn who_finds_no_share_waits() {
        for (tasks, largest, taken, threads, waiting) in [
            (2, 1.67, 1.67, 1, 1),
            (2, 1.67, 1.67, 2, 0),
            // Others do with three quarters of their shares.
            (2, 1.24, 1.24, 1, 0),
            (2, 1.26, 1.26, 1, 1),
            (4, 2.5, 2.5, 1, 2),
            (4, 2.5, 1.25, 1, 1),
            (4, f64::INFINITY, f64::INFINITY, 1, 3),
            (1, 2.5, 2.5, 1, 0),
        ] {
            let got = Shares::of_tasks(tasks, largest).waiting(in_shares(taken), threads);
            assert_eq!(got, waiting, "{taken} of {tasks}, one of {largest}, {threads} threads");
        }
    }

    #[test]
    fn groups_are_worth_their_part_of_the_window() {
        for (tasks, records, slots, worth) in [(16, 168, 5, 1), (16, 168, 6, 2), (16, 168, 64, 11), (8, 168, 64, 8)] {
            assert_eq!(Shares::new(1, tasks, 0).worth(records, 1000, slots), worth, "{records} of 1000, {slots} slots");
        }
    }

    #[test]
    fn kept_pieces_serve_what_is_a_little_smaller() {
        let shares = Shares::new(100, 2, 0);
        for (wanted, beside, sizes) in [(50, 0, 50..=50), (50, 20, 30..=30), (60, 0, 60..=75), (94, 61, 33..=39)] {
            assert_eq!(shares.kept_sizes(wanted, beside), sizes, "{wanted}, {beside} of it elsewhere");
        }
    }
}
