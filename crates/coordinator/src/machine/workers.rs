//! Calls of workers: hello, heartbeat, goodbye.
//!
//! ```text
//!   hello      replaces all that is known of the worker and gives a new epoch; refused with runs of another store, and
//!              from another build, or while another process of the worker's name lives
//!   heartbeat  extends leases; the worker holds the runs that it lists; a run that it does not list may be too new
//!   goodbye    an orderly stop: its tasks are pending at once; its runs are awaited like those of a silent worker
//! ```
//!
//! The answer to a call under an old epoch is `WhoAreYou`: so a restarted coordinator learns what is there.

use std::collections::{BTreeSet, HashMap};

use keima_orders::{AttemptId, JobId, WorkerId};
use keima_runs::RunId;

use super::Coordinator;
use crate::api::{CallError, Hello, Housekeeping, Millis, Running, Used, Welcome};
use crate::fleet::Fleet;
use crate::fleet::watched::{About, EventKind};
use crate::fleet::worker::{Process, Worker};

/// Most runs named for deletion in one answer; the rest follow in the next.
const MOST_RELEASES: usize = 10_000;
/// Most remembered workers. Beyond it, the one that is away for longest is forgotten.
pub const MOST_WORKERS: usize = 4096;
/// A worker is forgotten after this time away, if no job needs its runs.
const FORGET_MILLIS: Millis = 24 * 3600 * 1000;
/// Heartbeats that a worker may miss before another process can take its name.
const CONTEST_HEARTBEATS: u64 = 3;
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
        let build = &self.fleet.config.build;
        if hello.build != *build && !build.is_empty() {
            return Err(CallError::OtherBuild { worker: id, theirs: hello.build, ours: build.clone() });
        }
        self.check_name(&hello)?;
        self.make_room_for(&id)?;
        let sizes: HashMap<RunId, u64> =
            self.jobs.live().flat_map(|job| job.boundaries.sizes_of(&hello.held)).collect();
        let named: HashMap<AttemptId, u64> = hello.running.iter().map(|r| (r.attempt, r.nonce)).collect();
        let dropped: Vec<AttemptId> = self
            .fleet
            .attempts_on(&id)
            .map(|(attempt, _)| attempt)
            .filter(|attempt| named.get(attempt) != self.fleet.leases.get(attempt).map(|lease| &lease.nonce))
            .collect();
        for attempt in dropped {
            self.drop_attempt(attempt, false);
        }
        let epoch = self.fleet.life.new_epoch();
        let listed: BTreeSet<RunId> = hello.held.into_iter().collect();
        let worker = self.fleet.expect_worker(&id);
        worker.holder = hello.holder;
        let replaced = worker.taken_by(Process { incarnation: hello.incarnation, place: hello.place });
        worker.epoch = epoch;
        worker.slots = hello.slots.min(MOST_SLOTS);
        worker.task_memory_bytes = hello.task_memory_bytes;
        worker.disk_bytes = hello.disk_bytes;
        worker.archive = hello.archive;
        let held = listed.iter().map(|run| (run.clone(), sizes.get(run).copied().unwrap_or(0))).collect();
        let before = std::mem::replace(&mut worker.held, held);
        worker.abandon.clear();
        worker.tidy = None;
        before.keys().filter(|run| !listed.contains(run)).for_each(|run| self.fleet.forget_holder(&id, run));
        for run in &listed {
            self.fleet.note_holder(&id, run);
        }
        let lost_some = before.keys().any(|run| !listed.contains(run));
        if let Some(worker) = self.fleet.workers.get_mut(&id) {
            worker.listed = listed;
        }
        self.heard_of(&id);
        if lost_some {
            self.fleet.holdings_changed();
        }
        self.fleet.holdings_grew();
        self.fleet.work_changed();
        self.renew(&id, &hello.running);
        for job in self.jobs.live_mut() {
            if replaced {
                job.forgive_worker(&id);
            }
            job.note_copies(&id, &mut self.fleet);
        }
        let heartbeat_millis = self.fleet.config.heartbeat_millis;
        let housekeeping = self.housekeeping(&id);
        Ok(Welcome { epoch, housekeeping, heartbeat_millis, store: ours })
    }

    /// Refuses a second process of a worker's name while the first one lives.
    ///
    /// ```text
    ///   the same process, or nobody has the name      taken on
    ///   a process that had the name before            refused
    ///   the same scratch folder                       taken on: its lock says that the other process has ended
    ///   elsewhere, the other one is away              taken on
    ///   elsewhere, the other one is here              waits for some heartbeats; refused when the other one is heard of
    /// ```
    fn check_name(&mut self, hello: &Hello) -> Result<(), CallError> {
        let now = self.fleet.now;
        let patience = self.fleet.config.heartbeat_millis.saturating_mul(CONTEST_HEARTBEATS);
        let Some(worker) = self.fleet.workers.get_mut(&hello.holder.worker) else { return Ok(()) };
        let taken = |worker: &Worker| CallError::NameTaken {
            worker: hello.holder.worker.clone(),
            folder: hello.holder.folder.clone(),
            other: format!("{} ({})", worker.holder.folder, worker.holder.address),
        };
        if worker.is_former(hello.incarnation) {
            return Err(taken(worker));
        }
        let Some(process) = &worker.process else { return Ok(()) };
        let same_place = !hello.place.is_empty() && process.place == hello.place;
        if process.incarnation == hello.incarnation || same_place || !worker.here {
            return Ok(());
        }
        let contender = worker.contender.filter(|(incarnation, _)| *incarnation == hello.incarnation);
        let (_, since) = *worker.contender.insert(contender.unwrap_or((hello.incarnation, now)));
        if worker.last_heard > since {
            return Err(taken(worker));
        }
        if now.saturating_sub(since) >= patience {
            return Ok(());
        }
        let silent_millis = now.saturating_sub(worker.last_heard);
        Err(CallError::NameContested { worker: hello.holder.worker.clone(), silent_millis })
    }

    /// A worker is alive, works on these attempts, and holds these runs.
    pub fn heartbeat(
        &mut self,
        now: Millis,
        id: &WorkerId,
        epoch: u64,
        running: &[Running],
        held: &[RunId],
        used: Used,
    ) -> Result<Housekeeping, CallError> {
        self.advance(now);
        self.introduced(id, epoch)?;
        let listed: BTreeSet<RunId> = held.iter().cloned().collect();
        self.take_stock(id, listed);
        if let Some(worker) = self.fleet.workers.get_mut(id) {
            worker.used = used;
            worker.abandon.clear();
        }
        self.renew(id, running);
        Ok(self.housekeeping(id))
    }

    /// A worker stops orderly.
    pub fn goodbye(&mut self, now: Millis, id: &WorkerId, epoch: u64) -> Result<(), CallError> {
        self.advance(now);
        self.introduced(id, epoch)?;
        self.send_away(id);
        Ok(())
    }

    /// A worker is away: its tasks are pending at once.
    fn send_away(&mut self, id: &WorkerId) {
        let attempts: Vec<AttemptId> = self.fleet.attempts_on(id).map(|(attempt, _)| attempt).collect();
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
            self.fleet.tell(EventKind::WorkerLeft, About::worker(id), "it said goodbye");
        }
    }

    /// Refuses a worker that has to introduce itself; the others are heard of.
    pub(crate) fn introduced(&mut self, id: &WorkerId, epoch: u64) -> Result<(), CallError> {
        let now = self.fleet.now;
        match self.fleet.workers.get_mut(id).filter(|worker| worker.epoch == epoch && epoch != 0) {
            None => Err(CallError::WhoAreYou(id.clone())),
            Some(worker) if worker.here => {
                worker.last_heard = now;
                Ok(())
            }
            Some(_) => {
                self.heard_of(id);
                Ok(())
            }
        }
    }

    fn heard_of(&mut self, id: &WorkerId) {
        let now = self.fleet.now;
        if let Some(worker) = self.fleet.workers.get_mut(id) {
            worker.last_heard = now;
            if !worker.here {
                worker.here = true;
                self.fleet.update_presence();
                self.fleet.holdings_grew();
                self.fleet.work_changed();
                self.fleet.tell(EventKind::WorkerCame, About::worker(id), "");
            }
        }
    }

    /// Brings the runs that a worker holds up to date with those that it lists.
    fn take_stock(&mut self, id: &WorkerId, listed: BTreeSet<RunId>) {
        let Some(worker) = self.fleet.workers.get_mut(id) else { return };
        // Suspect runs that it does not list are gone. Others that it does not list may have been committed after it
        // looked.
        let (jobs, held) = (&self.jobs, &mut worker.held);
        let (mut gone, mut new, mut lost, mut grew) = (BTreeSet::new(), Vec::new(), false, false);
        for run in held.keys().filter(|run| !listed.contains(run)) {
            let needed: Vec<bool> =
                jobs.live().filter(|job| job.needs(run)).map(|job| job.health.copies.is_suspect(run, id)).collect();
            if needed.iter().all(|suspect| *suspect) {
                lost |= !needed.is_empty();
                gone.insert(run.clone());
            }
        }
        for run in &listed {
            if !held.contains_key(run) {
                let bytes = jobs.live().find_map(|job| job.boundaries.size_of(run)).unwrap_or(0);
                grew |= bytes > 0;
                new.push((run.clone(), bytes));
            }
        }
        held.retain(|run, _| !gone.contains(run));
        held.extend(new.iter().cloned());
        worker.listed = listed;
        for run in &gone {
            self.fleet.forget_holder(id, run);
        }
        for (run, _) in &new {
            self.fleet.note_holder(id, run);
        }
        if lost {
            self.fleet.holdings_changed();
        }
        if grew {
            self.fleet.holdings_grew();
            self.fleet.work_changed();
        }
        if lost || grew {
            for job in self.jobs.live_mut() {
                job.note_copies(id, &mut self.fleet);
            }
        }
    }

    /// Extends the leases that a worker names with the right nonce, if they got on. It is to stop all other attempts.
    fn renew(&mut self, id: &WorkerId, running: &[Running]) {
        let Fleet { now, config, leases, workers, .. } = &mut self.fleet;
        for item in running {
            match leases.get_mut(&item.attempt) {
                Some(lease) if lease.worker == *id && lease.nonce == item.nonce => lease.renew(item, *now, config),
                _ => {
                    if let Some(worker) = workers.get_mut(id) {
                        worker.abandon.insert(item.attempt);
                    }
                }
            }
        }
    }

    /// What a worker is to stop and to delete.
    pub(crate) fn housekeeping(&mut self, id: &WorkerId) -> Housekeeping {
        let Some(worker) = self.fleet.workers.get(id) else { return Housekeeping::default() };
        let unwanted = worker.held.keys().filter(|run| !self.is_wanted(run, id));
        let release: Vec<RunId> = unwanted.take(MOST_RELEASES).cloned().collect();
        let abandon = worker.abandon.iter().copied().collect();
        let tidy = (release.len() < MOST_RELEASES).then_some(self.fleet.serials.unneeded);
        if let Some(worker) = self.fleet.workers.get_mut(id) {
            worker.tidy = tidy;
        }
        Housekeeping { abandon, release }
    }

    /// The same for the answer to a report: a worker that was looked through is not looked through again. What it is to delete
    /// it was told then, and each heartbeat tells it once more until it has done so.
    pub(crate) fn news_for(&mut self, id: &WorkerId) -> Housekeeping {
        match self.fleet.workers.get(id) {
            Some(worker) if worker.tidy == Some(self.fleet.serials.unneeded) => {
                Housekeeping { abandon: worker.abandon.iter().copied().collect(), release: Vec::new() }
            }
            _ => self.housekeeping(id),
        }
    }

    /// Whether a worker is to keep a run: a job needs it and this copy is sound, or a living attempt of this worker
    /// writes it.
    pub(crate) fn is_wanted(&self, run: &RunId, id: &WorkerId) -> bool {
        let needed_by =
            |job: &JobId| self.jobs.get(job).is_some_and(|job| job.needs(run) && !job.health.copies.is_bad(run, id));
        let needed = AttemptId::job_of_run(run)
            .is_some_and(|job| needed_by(&job) || self.adopted.get(&job).into_iter().flatten().any(needed_by));
        needed || AttemptId::of_run(run).is_some_and(|attempt| self.fleet.is_alive_on(attempt, id))
    }

    /// Forgets a worker that is away and has nothing that a job needs, if there are too many for a new one.
    fn make_room_for(&mut self, id: &WorkerId) -> Result<(), CallError> {
        if self.fleet.workers.contains_key(id) || self.fleet.workers.len() < MOST_WORKERS {
            return Ok(());
        }
        let useless = |worker: &Worker| !worker.here && !self.holds_needed(worker);
        let useless = self.fleet.workers.iter().filter(|(_, worker)| useless(worker));
        let oldest = useless.min_by_key(|(_, worker)| worker.away_since).map(|(id, _)| id.clone());
        let oldest = oldest.ok_or(CallError::TooManyWorkers { most: MOST_WORKERS })?;
        self.fleet.forget_worker(&oldest);
        Ok(())
    }

    /// Whether a worker holds a run that a job needs.
    fn holds_needed(&self, worker: &Worker) -> bool {
        worker.held.keys().any(|run| self.jobs.live().any(|job| job.needs(run)))
    }

    /// Forgets workers that are away for long and hold no needed run.
    pub(crate) fn forget_workers(&mut self) {
        let (jobs, now) = (&self.jobs, self.fleet.now);
        let forgotten = self.fleet.workers.iter().filter(|(_, w)| {
            !w.here
                && now.saturating_sub(w.away_since) >= FORGET_MILLIS
                && !w.held.keys().any(|run| jobs.live().any(|job| job.needs(run)))
        });
        let forgotten: Vec<WorkerId> = forgotten.map(|(id, _)| id.clone()).collect();
        for id in &forgotten {
            self.fleet.forget_worker(id);
        }
    }
}
