//! Something that several tasks have a part of, who waits for it in the order of their coming.
//!
//! Whoever comes first is first: one that needs much does not wait for ever while others take what becomes free.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often who waits looks whether he is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What is shared, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct FifoQueue<S> {
    state: Mutex<QueueState<S>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState<S> {
    shared: S,
    /// Who waits, in the order of their coming; and the number of the next one.
    queue: VecDeque<u64>,
    next: u64,
}

impl<S> FifoQueue<S> {
    fn lock(&self) -> MutexGuard<'_, QueueState<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `take` finds what it needs, when all who came before have theirs; `None` where `stop` says not to go on
    /// waiting.
    pub(crate) fn wait<T>(&self, stop: impl Fn() -> bool, mut take: impl FnMut(&mut S) -> Option<T>) -> Option<T> {
        let mut state = self.lock();
        let own = state.next;
        state.next += 1;
        state.queue.push_back(own);
        let taken = loop {
            if state.queue.front() == Some(&own)
                && let Some(taken) = take(&mut state.shared)
            {
                break Some(taken);
            }
            if stop() {
                break None;
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        };
        state.queue.retain(|&waiting| waiting != own);
        drop(state);
        self.changed.notify_all();
        taken
    }

    /// Changes what is shared, at once; who waits looks again.
    pub(crate) fn change<T>(&self, act: impl FnOnce(&mut S) -> T) -> T {
        let done = act(&mut self.lock().shared);
        self.changed.notify_all();
        done
    }

    /// How many wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.lock().queue.len()
    }
}
