//! The running attempts of a worker, from grant to verdict. It protects their files.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use keima_coordinator::{AttemptId, Running};
use keima_runs::RunId;

use crate::scratch::run_store::RunStore;

/// One running attempt.
#[derive(Clone)]
pub(super) struct Active {
    pub(super) nonce: u64,
    /// Set to make its thread stop soon.
    pub(super) stop: Arc<AtomicBool>,
    /// Its thread counts up.
    pub(super) states_done: Arc<AtomicU64>,
    /// Its thread counts up as long as it gets on.
    pub(super) pulse: Arc<AtomicU64>,
    /// Whether its thread makes tables, which takes long and does not count.
    pub(super) makes_tables: Arc<AtomicBool>,
    /// The run to fetch, for a second copy.
    pub(super) copy: Option<RunId>,
}

/// All running attempts. Cost: one lock per call; at most two entries for each slot.
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

    /// Tells an attempt to stop; `false` if it is not running here.
    pub(super) fn abandon(&self, attempt: AttemptId) -> bool {
        self.lock().get(&attempt).is_some_and(|active| {
            active.stop.store(true, Ordering::Relaxed);
            true
        })
    }

    /// Tells all attempts to stop.
    pub(super) fn stop_all(&self) {
        self.lock().values().for_each(|active| active.stop.store(true, Ordering::Relaxed));
    }

    /// Whether a run must stay, because its attempt has no verdict yet.
    pub(super) fn protects(&self, run: &RunId) -> bool {
        self.lock().iter().any(|(attempt, active)| {
            active.copy.as_ref() == Some(run)
                || run.0.strip_prefix(&attempt.to_string()).is_some_and(|r| r.starts_with('/'))
        })
    }

    /// Running attempts and held runs at one moment. Runs of a complete attempt are listed while its report is under way: the
    /// coordinator takes a run that is not listed for lost.
    pub(super) fn snapshot(&self, store: &RunStore) -> (Vec<Running>, Vec<RunId>) {
        let active = self.lock();
        let running = active.iter().map(|(&attempt, active)| {
            if active.makes_tables.load(Ordering::Relaxed) {
                active.pulse.fetch_add(1, Ordering::Relaxed);
            }
            Running {
                attempt,
                nonce: active.nonce,
                states_done: active.states_done.load(Ordering::Relaxed),
                pulse: active.pulse.load(Ordering::Relaxed),
            }
        });
        (running.collect(), store.held())
    }
}
