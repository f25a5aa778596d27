//! A worker's time-limited right to do a task.

use keima_orders::WorkerId;

use super::config::Config;
use crate::api::{Millis, Running};

/// Tasks that a worker may have for each of its slots: one at work, and one whose runs are on their way to stable
/// storage.
pub(crate) const LEASES_PER_SLOT: usize = 2;

/// A living grant.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) nonce: u64,
    pub(crate) worker: WorkerId,
    pub(crate) granted: Millis,
    pub(crate) deadline: Millis,
    pub(crate) states_done: u64,
    pulse: u64,
    /// When it was last seen to get on.
    pub(crate) moved: Millis,
    /// Whether it is a second copy or archive work rather than a task of a stage.
    pub(crate) copy: bool,
}

impl Lease {
    /// A lease from `now` on.
    pub(crate) const fn new(nonce: u64, worker: WorkerId, copy: bool, now: Millis, config: &Config) -> Self {
        let deadline = now.saturating_add(config.lease_millis);
        Self { nonce, worker, granted: now, deadline, states_done: 0, pulse: 0, moved: now, copy }
    }

    /// Its worker says that it is at it. That extends the lease only while the attempt gets on: see
    /// [`Config::stall_millis`].
    pub(crate) fn renew(&mut self, running: &Running, now: Millis, config: &Config) {
        // A worker counts up, and begins anew with each attempt: anything else is no progress.
        if running.pulse > self.pulse || running.states_done > self.states_done {
            self.pulse = self.pulse.max(running.pulse);
            self.states_done = self.states_done.max(running.states_done);
            self.moved = now;
        }
        let end = self.moved.saturating_add(config.stall_millis);
        self.deadline = now.saturating_add(config.lease_millis).min(end).max(self.deadline);
    }

    /// For how long it has not got on.
    pub(crate) const fn still_millis(&self, now: Millis) -> Millis {
        now.saturating_sub(self.moved)
    }
}
