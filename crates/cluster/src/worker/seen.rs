//! What those who watch a worker are told: whether its coordinator answers, and sums since the process started.
//!
//! Cost: a few additions for each task.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use keima_coordinator::WorkerId;
use keima_runs::{TaskManifest, TaskSums};

use crate::scratch::run_store::RunStore;

/// Sums since a worker's process started. They never fall.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerSums {
    /// Tasks, second copies and archive work that it did to the end.
    pub work: TaskSums,
    /// The same that failed; those that were stopped are left out.
    pub tasks_failed: u64,
    /// Wall time from grant to the end of the work, all tasks together.
    pub elapsed: Duration,
}

/// A running worker as others see it. All clones are the same one.
#[derive(Clone)]
pub struct WorkerWatch {
    seen: Arc<Seen>,
    store: Arc<RunStore>,
}

/// What the worker's own tasks write down.
#[derive(Default)]
pub(crate) struct Seen {
    /// Whether the coordinator answered the newest hello or heartbeat.
    answered: AtomicBool,
    running: AtomicU32,
    sums: Mutex<WorkerSums>,
}

impl Seen {
    pub(crate) fn answered(&self, well: bool) {
        self.answered.store(well, Ordering::Relaxed);
    }

    /// An attempt begins; it ends when the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> AtWork {
        self.running.fetch_add(1, Ordering::Relaxed);
        AtWork(Arc::clone(self), Instant::now())
    }

    fn change(&self, change: impl FnOnce(&mut WorkerSums)) {
        change(&mut self.sums.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// An attempt under way.
pub(crate) struct AtWork(Arc<Seen>, Instant);

impl AtWork {
    /// It is done.
    pub(crate) fn done(&self, task: &TaskManifest) {
        let elapsed = self.1.elapsed();
        self.0.change(|sums| {
            sums.work.add(task);
            sums.elapsed = sums.elapsed.saturating_add(elapsed);
        });
    }

    /// It failed.
    pub(crate) fn failed(&self) {
        self.0.change(|sums| sums.tasks_failed += 1);
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl WorkerWatch {
    pub(crate) const fn new(seen: Arc<Seen>, store: Arc<RunStore>) -> Self {
        Self { seen, store }
    }

    /// Its name.
    pub fn id(&self) -> &WorkerId {
        self.store.worker()
    }

    /// Whether the coordinator answered its newest hello or heartbeat.
    pub fn is_connected(&self) -> bool {
        self.seen.answered.load(Ordering::Relaxed)
    }

    /// Attempts at work.
    pub fn running(&self) -> u32 {
        self.seen.running.load(Ordering::Relaxed)
    }

    /// Sums so far.
    pub fn sums(&self) -> WorkerSums {
        self.seen.sums.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes in its scratch folder.
    pub fn disk_used_bytes(&self) -> u64 {
        self.store.disk().used()
    }

    /// Cap on its scratch folder.
    pub fn disk_cap_bytes(&self) -> u64 {
        self.store.disk().cap()
    }

    /// Bytes that it may still write: what its cap and the file system leave. `None` where the file system does not tell.
    pub fn disk_free_bytes(&self) -> Option<u64> {
        let system = rustix::fs::statvfs(self.store.root()).ok()?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        Some(free.min(self.disk_cap_bytes().saturating_sub(self.disk_used_bytes())))
    }

    /// Complete runs in its scratch folder.
    pub fn runs(&self) -> usize {
        self.store.held().len()
    }
}
