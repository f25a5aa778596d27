//! Workers: who is here, what they hold, what they are told to stop and to delete.
//!
//! ```text
//!   hello      the whole truth: replaces what is known of the worker, gives a new epoch; refused with another store's runs
//!   heartbeat  extends leases; runs that it lists are held; a run that it does not list may merely be too new
//!   goodbye    stops in order: its tasks are pending at once, its runs are awaited like a silent worker's
//! ```
//!
//! A call under an old epoch is answered with `WhoAreYou`, so that a restarted coordinator learns anew what is there.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use keima_orders::{AttemptId, Holder, WorkerId};
use keima_runs::RunId;

use super::Coordinator;
use crate::api::{CallError, Hello, Housekeeping, Millis, Running, Welcome};

/// Most runs named for deletion in one answer; the rest follow in the next.
const MOST_RELEASES: usize = 10_000;
/// Most workers that are remembered; beyond it, the one that is away for longest goes.
const MOST_WORKERS: usize = 4096;
/// A worker that is away for this long and holds nothing that is needed is forgotten.
const FORGET_MILLIS: Millis = 24 * 3600 * 1000;
/// Most tasks at a time that a worker is believed to do.
const MOST_SLOTS: u32 = 4096;

/// What is known of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) holder: Holder,
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

impl Coordinator {
    /// A worker introduces itself.
    pub fn hello(&mut self, now: Millis, hello: Hello) -> Result<Welcome, CallError> {
        self.advance(now);
        let id = hello.holder.worker.clone();
        let ours = self.common.store;
        let runs = hello.held.len() + hello.running.len();
        if let Some(theirs) = hello.store.filter(|theirs| *theirs != ours && runs > 0) {
            return Err(CallError::OtherCoordinator { worker: id, folder: hello.holder.folder, runs, theirs, ours });
        }
        self.make_room_for(&id);
        let sizes: HashMap<RunId, u64> =
            self.jobs.values().flat_map(|job| hello.held.iter().filter_map(|run| job.size_of(run))).collect();
        let named: HashMap<AttemptId, u64> = hello.running.iter().map(|r| (r.attempt, r.nonce)).collect();
        let dropped: Vec<AttemptId> = self
            .common
            .attempts_on(&id)
            .filter(|(attempt, lease)| named.get(attempt) != Some(&lease.nonce))
            .map(|(attempt, _)| *attempt)
            .collect();
        for attempt in dropped {
            self.drop_attempt(attempt, false);
        }
        let epoch = self.common.new_epoch();
        let listed: BTreeSet<RunId> = hello.held.into_iter().collect();
        let worker = self.common.expect_worker(&id);
        worker.holder = hello.holder;
        worker.epoch = epoch;
        worker.slots = hello.slots.min(MOST_SLOTS);
        worker.task_memory_bytes = hello.task_memory_bytes;
        worker.disk_bytes = hello.disk_bytes;
        worker.held = listed.iter().map(|run| (run.clone(), sizes.get(run).copied().unwrap_or(0))).collect();
        worker.listed = listed;
        worker.abandon.clear();
        self.heard_of(&id);
        self.common.holdings_changed();
        self.renew(&id, &hello.running);
        for job in self.jobs.values_mut() {
            job.note_copies(&id, &mut self.common);
        }
        let heartbeat_millis = self.common.config.heartbeat_millis;
        Ok(Welcome { epoch, housekeeping: self.housekeeping(&id), heartbeat_millis, store: ours })
    }

    /// A worker is alive, at these attempts, and holds these runs.
    pub fn heartbeat(
        &mut self,
        now: Millis,
        id: &WorkerId,
        epoch: u64,
        running: &[Running],
        held: &[RunId],
        disk_used_bytes: u64,
    ) -> Result<Housekeeping, CallError> {
        self.advance(now);
        self.introduced(id, epoch)?;
        let listed: BTreeSet<RunId> = held.iter().cloned().collect();
        self.take_stock(id, listed);
        if let Some(worker) = self.common.workers.get_mut(id) {
            worker.disk_used_bytes = disk_used_bytes;
            worker.abandon.clear();
        }
        self.renew(id, running);
        Ok(self.housekeeping(id))
    }

    /// A worker stops in order.
    pub fn goodbye(&mut self, now: Millis, id: &WorkerId) {
        self.advance(now);
        let attempts: Vec<AttemptId> = self.common.attempts_on(id).map(|(attempt, _)| *attempt).collect();
        for attempt in attempts {
            self.drop_attempt(attempt, false);
        }
        if let Some(worker) = self.common.workers.get_mut(id).filter(|w| w.here) {
            worker.here = false;
            worker.away_since = self.common.now;
            // What it says from now on it must introduce with a hello.
            worker.epoch = 0;
            self.common.update_presence();
            self.common.holdings_changed();
        }
    }

    /// Refuses a worker that has to introduce itself, and notes that the others were heard of.
    pub(crate) fn introduced(&mut self, id: &WorkerId, epoch: u64) -> Result<(), CallError> {
        if self.common.workers.get(id).is_none_or(|w| w.epoch != epoch || epoch == 0) {
            return Err(CallError::WhoAreYou(id.clone()));
        }
        self.heard_of(id);
        Ok(())
    }

    fn heard_of(&mut self, id: &WorkerId) {
        let now = self.common.now;
        if let Some(worker) = self.common.workers.get_mut(id) {
            worker.last_heard = now;
            if !worker.here {
                worker.here = true;
                self.common.update_presence();
                self.common.holdings_changed();
            }
        }
    }

    /// Compares what a worker lists with what it is known to hold.
    fn take_stock(&mut self, id: &WorkerId, listed: BTreeSet<RunId>) {
        let Some(worker) = self.common.workers.get_mut(id) else { return };
        // Runs under suspicion that it does not list any more are gone. Others that it does not list may have been
        // committed after it looked.
        let (jobs, held) = (&self.jobs, &mut worker.held);
        let before = held.len();
        held.retain(|run, _| {
            listed.contains(run) || jobs.values().any(|job| job.needs(run) && !job.is_suspect(run, id))
        });
        let mut changed = held.len() != before;
        for run in &listed {
            if !held.contains_key(run) {
                let bytes = jobs.values().find_map(|job| job.size_of(run)).map_or(0, |(_, bytes)| bytes);
                held.insert(run.clone(), bytes);
                changed |= bytes > 0;
            }
        }
        worker.listed = listed;
        if changed {
            self.common.holdings_changed();
            for job in self.jobs.values_mut() {
                job.note_copies(id, &mut self.common);
            }
        }
    }

    /// Extends the leases that a worker names rightly; it is to stop everything else.
    fn renew(&mut self, id: &WorkerId, running: &[Running]) {
        let deadline = self.common.now.saturating_add(self.common.config.lease_millis);
        for item in running {
            match self.common.leases.get_mut(&item.attempt) {
                Some(lease) if lease.worker == *id && lease.nonce == item.nonce => {
                    lease.deadline = deadline;
                    lease.states_done = lease.states_done.max(item.states_done);
                }
                _ => {
                    if let Some(worker) = self.common.workers.get_mut(id) {
                        worker.abandon.insert(item.attempt);
                    }
                }
            }
        }
    }

    /// What a worker is to stop and to delete.
    pub(crate) fn housekeeping(&self, id: &WorkerId) -> Housekeeping {
        let Some(worker) = self.common.workers.get(id) else { return Housekeeping::default() };
        let release = worker.held.keys().filter(|run| !self.is_wanted(run, id)).take(MOST_RELEASES).cloned().collect();
        Housekeeping { abandon: worker.abandon.iter().copied().collect(), release }
    }

    /// Whether a worker is to keep a run: it stands in a kept manifest and this copy is sound, or a living attempt of
    /// this worker is writing it.
    pub(crate) fn is_wanted(&self, run: &RunId, id: &WorkerId) -> bool {
        let Some(attempt) = AttemptId::of_run(run) else { return false };
        let needed = self.jobs.get(&attempt.job).is_some_and(|job| job.needs(run) && !job.is_bad(run, id));
        needed || self.common.is_alive_on(attempt, id)
    }

    fn make_room_for(&mut self, id: &WorkerId) {
        if self.common.workers.contains_key(id) || self.common.workers.len() < MOST_WORKERS {
            return;
        }
        let oldest = self.common.workers.iter().filter(|(_, w)| !w.here).min_by_key(|(_, w)| w.away_since);
        let oldest = oldest.or_else(|| self.common.workers.iter().min_by_key(|(_, w)| w.last_heard));
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            self.goodbye(self.common.now, &id);
            self.common.workers.remove(&id);
        }
    }

    /// Forgets workers that are away for long and hold nothing that is needed.
    pub(crate) fn forget_workers(&mut self) {
        let (jobs, now) = (&self.jobs, self.common.now);
        self.common.workers.retain(|_, w| {
            w.here
                || now.saturating_sub(w.away_since) < FORGET_MILLIS
                || w.held.keys().any(|run| jobs.values().any(|job| job.needs(run)))
        });
    }
}
