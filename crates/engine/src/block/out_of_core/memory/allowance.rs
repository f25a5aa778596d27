//! Memory for partial tables under construction, before they are charged to a task.
//!
//! ```text
//!   all   | part | part | part | ...      a request that does not fit waits, but one part is always allowed
//! ```
//!
//! A task keeps its allowance until it has the memory for its states, to which the tables are then charged (`pool`).
//! A task that has memory for states does not ask for an allowance before it has returned it. So there is no
//! deadlock.

use crate::block::out_of_core::memory::fifo::FifoQueue;

/// Grants allowances within a limit.
pub(crate) struct PartAllowances {
    all_bytes: u64,
    in_use_bytes: FifoQueue<u64>,
}

/// Permission to make a part, until it is dropped.
pub(crate) struct Allowance<'m> {
    bytes: u64,
    allowances: &'m PartAllowances,
}

impl PartAllowances {
    pub(crate) fn new(all_bytes: u64) -> Self {
        Self { all_bytes, in_use_bytes: FifoQueue::default() }
    }

    /// Waits until a part of so many bytes is allowed. `None` if `stop` ends the wait.
    pub(crate) fn take(&self, bytes: u64, stop: impl Fn() -> bool) -> Option<Allowance<'_>> {
        self.in_use_bytes.wait(stop, |in_use_bytes| {
            let with_it = in_use_bytes.saturating_add(bytes);
            (*in_use_bytes == 0 || with_it <= self.all_bytes).then(|| {
                *in_use_bytes = with_it;
                Allowance { bytes, allowances: self }
            })
        })
    }
}

impl Allowance<'_> {
    /// Reports the part's actual size: returns what was allowed beyond it.
    pub(crate) fn made(mut self, bytes: u64) -> Self {
        self.allowances
            .in_use_bytes
            .change(|in_use_bytes| *in_use_bytes = in_use_bytes.saturating_sub(self.bytes) + bytes);
        self.bytes = bytes;
        self
    }
}

impl Drop for Allowance<'_> {
    fn drop(&mut self) {
        self.allowances.in_use_bytes.change(|in_use_bytes| *in_use_bytes = in_use_bytes.saturating_sub(self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_do_not_fit_wait_and_one_is_always_made() {
        let allowances = PartAllowances::new(100);
        let take = |bytes| allowances.take(bytes, || true);
        let one = take(60);
        assert!(one.is_some());
        let two = take(40);
        assert!(two.is_some() && take(1).is_none(), "there is none left");
        drop(one);
        assert!(take(61).is_none());
        let three = take(60);
        assert!(three.is_some());
        drop((two, three));
        let small = take(90).unwrap().made(30);
        assert!(take(71).is_none());
        drop(take(70).unwrap());
        drop(small);
        let large = take(1000);
        assert!(large.is_some() && take(0).is_none(), "more than there is, alone");
        std::thread::scope(|scope| {
            let next = scope.spawn(|| allowances.take(50, || false).is_some());
            while allowances.in_use_bytes.waiting() == 0 {
                std::thread::yield_now();
            }
            drop(large);
            assert!(next.join().unwrap());
        });
        assert_eq!(allowances.in_use_bytes.change(|bytes| *bytes), 0);
    }
}
