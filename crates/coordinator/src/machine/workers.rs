//! Calls of workers: hello, heartbeat, goodbye.
//!
//! ```text
//!   hello      replaces all that is known of the worker and gives a new epoch; refused with runs of another store
//!   heartbeat  extends leases; the worker holds the runs that it lists; a run that it does not list may be too new
//!   goodbye    an orderly stop: its tasks are pending at once; its runs are awaited like those of a silent worker
//! ```
//!
//! The answer to a call under an old epoch is `WhoAreYou`: so a restarted coordinator learns what is there.

use std::collections::{BTreeSet, HashMap};

use keima_orders::{AttemptId, WorkerId};
use keima_runs::RunId;

use super::Coordinator;
use crate::api::{CallError, Hello, Housekeeping, Millis, Running, Welcome};

/// Most runs named for deletion in one answer; the rest follow in the next.
const MOST_RELEASES: usize = 10_000;
/// Most remembered workers. Beyond it, the one that is away for longest is forgotten.
const MOST_WORKERS: usize = 4096;
/// A worker is forgotten after this time away, if no job needs its runs.
const FORGET_MILLIS: Millis = 24 * 3600 * 1000;
/// Most slots of a worker that the coordinator believes.
const MOST_SLOTS: u32 = 4096;

impl Coordinator {
    /// A worker introduces itself.
    pub fn hello(&mut self, now: Millis, hello: Hello) -> Result<Welcome, CallError> {
        self.advance(now);
        let id = hello.holder.worker.clone();
        let ours = self.fleet.life.store;
        let runs = hello.held.len() + hello.running.len();
        if let Some(theirs) = hello.store.filter(|theirs| *theirs != ours && runs > 0) {
            return Err(CallError::OtherCoordinator { worker: id, folder: hello.holder.folder, runs, theirs, ours });
        }
        self.make_room_for(&id);
        let sizes: HashMap<RunId, u64> =
            self.jobs.values().flat_map(|job| job.boundaries.sizes_of(&hello.held)).collect();
        let named: HashMap<AttemptId, u64> = hello.running.iter().map(|r| (r.attempt, r.nonce)).collect();
        let dropped: Vec<AttemptId> = self
            .fleet
            .attempts_on(&id)
            .filter(|(attempt, lease)| named.get(attempt) != Some(&lease.nonce))
            .map(|(attempt, _)| *attempt)
            .collect();
        for attempt in dropped {
            self.drop_attempt(attempt, false);
        }
        let epoch = self.fleet.life.new_epoch();
        let listed: BTreeSet<RunId> = hello.held.into_iter().collect();
        let worker = self.fleet.expect_worker(&id);
        worker.holder = hello.holder;
        worker.epoch = epoch;
        worker.slots = hello.slots.min(MOST_SLOTS);
        worker.task_memory_bytes = hello.task_memory_bytes;
        worker.disk_bytes = hello.disk_bytes;
        worker.held = listed.iter().map(|run| (run.clone(), sizes.get(run).copied().unwrap_or(0))).collect();
        worker.listed = listed;
        worker.abandon.clear();
        self.heard_of(&id);
        self.fleet.holdings_changed();
        self.renew(&id, &hello.running);
        for job in self.jobs.values_mut() {
            job.note_copies(&id, &mut self.fleet);
        }
        let heartbeat_millis = self.fleet.config.heartbeat_millis;
        Ok(Welcome { epoch, housekeeping: self.housekeeping(&id), heartbeat_millis, store: ours })
    }

    /// A worker is alive, works on these attempts, and holds these runs.
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
        if let Some(worker) = self.fleet.workers.get_mut(id) {
            worker.disk_used_bytes = disk_used_bytes;
            worker.abandon.clear();
        }
        self.renew(id, running);
        Ok(self.housekeeping(id))
    }

    /// A worker stops orderly.
    pub fn goodbye(&mut self, now: Millis, id: &WorkerId) {
        self.advance(now);
        let attempts: Vec<AttemptId> = self.fleet.attempts_on(id).map(|(attempt, _)| *attempt).collect();
        for attempt in attempts {
            self.drop_attempt(attempt, false);
        }
        if let Some(worker) = self.fleet.workers.get_mut(id).filter(|w| w.here) {
            worker.here = false;
            worker.away_since = self.fleet.now;
            // Before its next call it must say hello.
            worker.epoch = 0;
            self.fleet.update_presence();
            self.fleet.holdings_changed();
        }
    }

    /// Refuses a worker that has to introduce itself; the others are heard of.
    pub(crate) fn introduced(&mut self, id: &WorkerId, epoch: u64) -> Result<(), CallError> {
        if self.fleet.workers.get(id).is_none_or(|w| w.epoch != epoch || epoch == 0) {
            return Err(CallError::WhoAreYou(id.clone()));
        }
        self.heard_of(id);
        Ok(())
    }

    fn heard_of(&mut self, id: &WorkerId) {
        let now = self.fleet.now;
        if let Some(worker) = self.fleet.workers.get_mut(id) {
            worker.last_heard = now;
            if !worker.here {
                worker.here = true;
                self.fleet.update_presence();
                self.fleet.holdings_changed();
            }
        }
    }

    /// Brings the runs that a worker holds up to date with those that it lists.
    fn take_stock(&mut self, id: &WorkerId, listed: BTreeSet<RunId>) {
        let Some(worker) = self.fleet.workers.get_mut(id) else { return };
        // Suspect runs that it does not list are gone. Others that it does not list may have been committed after it
        // looked.
        let (jobs, held) = (&self.jobs, &mut worker.held);
        let before = held.len();
        held.retain(|run, _| {
            listed.contains(run) || jobs.values().any(|job| job.needs(run) && !job.health.copies.is_suspect(run, id))
        });
        let mut changed = held.len() != before;
        for run in &listed {
            if !held.contains_key(run) {
                let bytes = jobs.values().find_map(|job| job.boundaries.size_of(run)).unwrap_or(0);
                held.insert(run.clone(), bytes);
                changed |= bytes > 0;
            }
        }
        worker.listed = listed;
        if changed {
            self.fleet.holdings_changed();
            for job in self.jobs.values_mut() {
                job.note_copies(id, &mut self.fleet);
            }
        }
    }

    /// Extends the leases that a worker names with the right nonce. It is to stop all other attempts.
    fn renew(&mut self, id: &WorkerId, running: &[Running]) {
        let deadline = self.fleet.now.saturating_add(self.fleet.config.lease_millis);
        for item in running {
            match self.fleet.leases.get_mut(&item.attempt) {
                Some(lease) if lease.worker == *id && lease.nonce == item.nonce => {
                    lease.deadline = deadline;
                    lease.states_done = lease.states_done.max(item.states_done);
                }
                _ => {
                    if let Some(worker) = self.fleet.workers.get_mut(id) {
                        worker.abandon.insert(item.attempt);
                    }
                }
            }
        }
    }

    /// What a worker is to stop and to delete.
    pub(crate) fn housekeeping(&self, id: &WorkerId) -> Housekeeping {
        let Some(worker) = self.fleet.workers.get(id) else { return Housekeeping::default() };
        let release = worker.held.keys().filter(|run| !self.is_wanted(run, id)).take(MOST_RELEASES).cloned().collect();
        Housekeeping { abandon: worker.abandon.iter().copied().collect(), release }
    }

    /// Whether a worker is to keep a run: a job needs it and this copy is sound, or a living attempt of this worker
    /// writes it.
    pub(crate) fn is_wanted(&self, run: &RunId, id: &WorkerId) -> bool {
        let Some(attempt) = AttemptId::of_run(run) else { return false };
        let needed =
            self.jobs.get(&attempt.job).is_some_and(|job| job.needs(run) && !job.health.copies.is_bad(run, id));
        needed || self.fleet.is_alive_on(attempt, id)
    }

    /// Forgets a worker if there are too many for a new one.
    fn make_room_for(&mut self, id: &WorkerId) {
        if self.fleet.workers.contains_key(id) || self.fleet.workers.len() < MOST_WORKERS {
            return;
        }
        let oldest = self.fleet.workers.iter().filter(|(_, w)| !w.here).min_by_key(|(_, w)| w.away_since);
        let oldest = oldest.or_else(|| self.fleet.workers.iter().min_by_key(|(_, w)| w.last_heard));
        if let Some(id) = oldest.map(|(id, _)| id.clone()) {
            self.goodbye(self.fleet.now, &id);
            self.fleet.workers.remove(&id);
        }
    }

    /// Forgets workers that are away for long and hold no needed run.
    pub(crate) fn forget_workers(&mut self) {
        let (jobs, now) = (&self.jobs, self.fleet.now);
        self.fleet.workers.retain(|_, w| {
            w.here
                || now.saturating_sub(w.away_since) < FORGET_MILLIS
                || w.held.keys().any(|run| jobs.values().any(|job| job.needs(run)))
        });
    }
}
