//! The attempts that a worker is at, from grant to verdict, and what that protects.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keima_coordinator::{AttemptId, Running};
use keima_runs::RunId;

use crate::scratch::run_store::RunStore;

/// One attempt at work.
#[derive(Clone)]
pub(super) struct Active {
    pub(super) nonce: u64,
    /// Set to make its thread stop soon.
    pub(super) stop: Arc<AtomicBool>,
    /// Counted up by its thread.
    pub(super) states_done: Arc<AtomicU64>,
    /// For a second copy: the run that is being fetched.
    pub(super) copy: Option<RunId>,
}

/// All attempts at work. Cost: a lock per look; there are at most two entries for each slot.
#[derive(Default)]
pub(super) struct Table {
    active: Mutex<BTreeMap<AttemptId, Active>>,
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<AttemptId, Active>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, attempt: AttemptId, active: Active) {
        self.lock().insert(attempt, active);
    }

    pub(super) fn remove(&self, attempt: AttemptId) {
        self.lock().remove(&attempt);
    }

    /// Tells an attempt to stop; false if it is not at work here.
    pub(super) fn abandon(&self, attempt: AttemptId) -> bool {
        self.lock().get(&attempt).is_some_and(|active| {
            active.stop.store(true, Ordering::Relaxed);
            true
        })
    }

    /// Tells all to stop.
    pub(super) fn stop_all(&self) {
        self.lock().values().for_each(|active| active.stop.store(true, Ordering::Relaxed));
    }

    /// Whether a run must not be deleted, because the verdict on the attempt that made it is not in yet.
    pub(super) fn protects(&self, run: &RunId) -> bool {
        self.lock().iter().any(|(attempt, active)| {
            active.copy.as_ref() == Some(run)
                || run.0.strip_prefix(&attempt.to_string()).is_some_and(|r| r.starts_with('/'))
        })
    }

    /// Attempts at work, and runs held, as of one moment. Runs of a complete attempt count as held already while its
    /// report is on its way: a run that is not listed could be taken for lost.
    pub(super) fn snapshot(&self, store: &RunStore) -> (Vec<Running>, Vec<RunId>) {
        let active = self.lock();
        let running = active.iter().map(|(&attempt, active)| Running {
            attempt,
            nonce: active.nonce,
            states_done: active.states_done.load(Ordering::Relaxed),
        });
        (running.collect(), store.held())
    }
}
