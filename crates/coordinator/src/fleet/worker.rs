//! What is known of a worker.

use std::collections::{BTreeMap, BTreeSet};

use keima_orders::{AttemptId, Holder, WorkerId};
use keima_runs::RunId;

use crate::api::Millis;

/// A worker that said hello, or that records name.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) holder: Holder,
    /// 0 until it says hello.
    pub(crate) epoch: u64,
    pub(crate) slots: u32,
    pub(crate) task_memory_bytes: u64,
    pub(crate) disk_bytes: u64,
    pub(crate) disk_used_bytes: u64,
    /// Runs in its scratch folder, with their length where it is known (else 0).
    pub(crate) held: BTreeMap<RunId, u64>,
    /// Runs that its last hello or heartbeat named.
    pub(crate) listed: BTreeSet<RunId>,
    /// Attempts that it is to stop.
    pub(crate) abandon: BTreeSet<AttemptId>,
    pub(crate) last_heard: Millis,
    /// Whether it was heard of within the time of a lease.
    pub(crate) here: bool,
    /// Since when it is away, if it is.
    pub(crate) away_since: Millis,
}

impl Worker {
    /// A worker that only records name, as if it had just gone away.
    pub(crate) fn expected(id: &WorkerId, now: Millis) -> Self {
        Self {
            holder: Holder { worker: id.clone(), address: String::new(), folder: String::new() },
            epoch: 0,
            slots: 0,
            task_memory_bytes: 0,
            disk_bytes: 0,
            disk_used_bytes: 0,
            held: BTreeMap::new(),
            listed: BTreeSet::new(),
            abandon: BTreeSet::new(),
            last_heard: now,
            here: false,
            away_since: now,
        }
    }
}
