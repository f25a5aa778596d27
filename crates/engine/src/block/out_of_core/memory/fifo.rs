//! A shared resource that grants requests in FIFO order.
//!
//! A large request does not wait for ever while smaller ones take what becomes free.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval at which a waiting thread asks whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The resource, and the queue of requests.
#[derive(Debug, Default)]
pub(crate) struct FifoQueue<S> {
    state: Mutex<QueueState<S>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState<S> {
    shared: S,
    /// Waiting requests in order, and the number of the next one.
    queue: VecDeque<u64>,
    next: u64,
}

impl<S> FifoQueue<S> {
    fn lock(&self) -> MutexGuard<'_, QueueState<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all earlier requests are granted and `take` finds what it needs. `None` if `stop` ends the wait.
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

    /// Changes the resource at once, and wakes all waiting threads.
    pub(crate) fn change<T>(&self, act: impl FnOnce(&mut S) -> T) -> T {
        let done = act(&mut self.lock().shared);
        self.changed.notify_all();
        done
    }

    /// Number of waiting requests.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.lock().queue.len()
    }
}
