//! What all jobs share: the clock, the workers, the leases, the journal.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use keima_orders::{AttemptId, JobId, WorkerId};
use keima_runs::{RunId, RunManifest};

use self::config::Config;
use self::lease::Lease;
use self::life::Life;
use self::serials::Serials;
use self::watched::{About, EventKind, Watched};
use self::worker::{Moment, Worker};
use crate::api::{Grant, Millis, Publication, Work};
use crate::store::journal::Journal;
use crate::store::records::GrantRecord;

pub(crate) mod config;
pub(crate) mod lease;
pub(crate) mod life;
mod serials;
pub(crate) mod watched;
pub(crate) mod worker;

/// What the workers that are here offer, as far as plans depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Memory of one task: the least and the most that any worker has.
    pub(crate) least_task_bytes: u64,
    pub(crate) most_task_bytes: u64,
    /// Disk of all workers together.
    pub(crate) disk_bytes: u64,
    /// Tasks at a time: of all workers together, and of the worker with the fewest.
    pub(crate) slots: u32,
    pub(crate) worker_slots: u32,
}

/// Workers and their leases, with the clock, the journal and the settings.
pub(crate) struct Fleet {
    pub(crate) config: Config,
    pub(crate) life: Life,
    /// Latest time that the machine was told.
    pub(crate) now: Millis,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    /// Every living grant. Attempts at a task stand together.
    pub(crate) leases: BTreeMap<AttemptId, Lease>,
    /// The attempts of each worker that has some; `true` for second copies and archive work.
    leases_on: BTreeMap<WorkerId, BTreeMap<AttemptId, bool>>,
    /// Number of living attempts at tasks of each job that has some.
    at_work: BTreeMap<JobId, u32>,
    /// Tasks that ended, with the time since their grant, for [`crate::Coordinator`] to book.
    pub(crate) worked: Vec<(JobId, Millis)>,
    /// Workers that hold a run: [`Worker::held`], the other way round.
    holders: HashMap<RunId, Vec<WorkerId>>,
    pub(crate) journal: Journal,
    /// Since when at least one worker is here; `None` while all are away.
    pub(crate) here_since: Option<Millis>,
    pub(crate) serials: Serials,
    /// Queued jobs that a worker asked for, and that are to be planned anew first.
    pub(crate) plans_wanted: BTreeSet<JobId>,
    /// Events and sums, for those who watch.
    pub(crate) watched: Watched,
    /// Checkpoints to put into the archive.
    pub(crate) publications: Vec<Publication>,
    /// Folders of the archive that nobody needs any more.
    pub(crate) removals: Vec<(JobId, String)>,
}

impl Fleet {
    pub(crate) fn new(config: Config, life: Life) -> Self {
        Self {
            journal: Journal::new(config.durability),
            config,
            life,
            now: 0,
            workers: BTreeMap::new(),
            leases: BTreeMap::new(),
            leases_on: BTreeMap::new(),
            at_work: BTreeMap::new(),
            worked: Vec::new(),
            holders: HashMap::new(),
            here_since: None,
            serials: Serials::default(),
            plans_wanted: BTreeSet::new(),
            watched: Watched::default(),
            publications: Vec::new(),
            removals: Vec::new(),
        }
    }

    /// Tells those who watch.
    pub(crate) fn tell(&mut self, kind: EventKind, about: About<'_>, text: &str) {
        self.watched.add(self.now, kind, about, text);
    }

    /// On what the answer to a pull depends, beside the worker's own leases.
    pub(crate) const fn moment(&self) -> Moment {
        Moment { now: self.now, work_serial: self.serials.work, few_serial: self.serials.few }
    }

    /// Every worker may now find work.
    pub(crate) const fn work_changed(&mut self) {
        self.serials.work += 1;
    }

    /// Some worker may now find a task. Where thousands wait, waking all of them for it would take longer than the task.
    pub(crate) const fn a_task_came(&mut self) {
        self.serials.few += 1;
    }

    /// Any runs may have become readable or unreadable.
    pub(crate) const fn holdings_changed(&mut self) {
        self.serials.lost += 1;
        self.serials.work += 1;
    }

    /// Runs may have become readable; none has become unreadable.
    pub(crate) const fn holdings_grew(&mut self) {
        self.serials.gained += 1;
    }

    /// Runs may have become unneeded, whoever holds them.
    pub(crate) const fn runs_became_unneeded(&mut self) {
        self.serials.unneeded += 1;
    }

    /// Gives a worker a lease on an attempt.
    pub(crate) fn grant(&mut self, attempt: AttemptId, worker: &WorkerId, work: Work) -> Grant {
        let nonce = self.life.random();
        let (lease_millis, now) = (self.config.lease_millis, self.now);
        let copy = !matches!(work, Work::Stage(_));
        self.journal.put_grant(&GrantRecord { attempt, nonce, worker: worker.clone(), copy });
        self.add_lease(attempt, Lease::new(nonce, worker.clone(), copy, now, &self.config));
        Grant { attempt, nonce, lease_millis, work }
    }

    /// A lease begins.
    pub(crate) fn add_lease(&mut self, attempt: AttemptId, lease: Lease) {
        self.leases_on.entry(lease.worker.clone()).or_default().insert(attempt, lease.copy);
        if !lease.copy {
            *self.at_work.entry(attempt.job).or_default() += 1;
        }
        self.leases.insert(attempt, lease);
    }

    /// Ends a lease. With `abandon`, its worker is told to stop.
    pub(crate) fn end_lease(&mut self, attempt: AttemptId, abandon: bool) -> Option<Lease> {
        let lease = self.leases.remove(&attempt)?;
        self.journal.delete_grant(attempt);
        if !lease.copy {
            self.leave_work(attempt.job, self.now.saturating_sub(lease.granted));
        }
        if let Some(own) = self.leases_on.get_mut(&lease.worker) {
            own.remove(&attempt);
            if own.is_empty() {
                self.leases_on.remove(&lease.worker);
            }
        }
        if let Some(worker) = self.workers.get_mut(&lease.worker) {
            // What the attempt wrote is wanted no more, unless it is committed.
            worker.tidy = None;
            // It may have a task more than before.
            worker.in_vain = None;
            if abandon {
                worker.abandon.insert(attempt);
            }
        }
        Some(lease)
    }

    /// A task of a job ended, so long after its grant.
    fn leave_work(&mut self, job: JobId, millis: Millis) {
        self.worked.push((job, millis));
        if let Some(number) = self.at_work.get_mut(&job) {
            *number = number.saturating_sub(1);
            if *number == 0 {
                self.at_work.remove(&job);
            }
        }
    }

    /// Number of living attempts at tasks of a job, second copies and archive work left out.
    pub(crate) fn tasks_at_work(&self, job: JobId) -> u32 {
        self.at_work.get(&job).copied().unwrap_or(0)
    }

    /// The job that was submitted last of those with tasks at work.
    pub(crate) fn newest_at_work(&self) -> Option<JobId> {
        self.at_work.last_key_value().map(|(job, _)| *job)
    }

    /// Living attempts at a task.
    pub(crate) fn attempts(&self, task: AttemptId) -> impl Iterator<Item = (&AttemptId, &Lease)> {
        let (first, last) = (AttemptId { attempt: 0, ..task }, AttemptId { attempt: u32::MAX, ..task });
        self.leases.range(first..=last)
    }

    /// Living attempts of a job.
    pub(crate) fn attempts_of_job(&self, job: JobId) -> impl Iterator<Item = (&AttemptId, &Lease)> {
        let first = AttemptId { job, sweep: 0, generation: 0, task: 0, attempt: 0 };
        self.leases.range(first..).take_while(move |(id, _)| id.job == job)
    }

    /// Living attempts of a job at tasks of its stage, second copies and archive work left out.
    pub(crate) fn tasks_of_job(&self, job: JobId) -> impl Iterator<Item = &Lease> {
        self.attempts_of_job(job).map(|(_, lease)| lease).filter(|lease| !lease.copy)
    }

    /// Living attempts on one worker; `true` for second copies and archive work.
    pub(crate) fn attempts_on(&self, worker: &WorkerId) -> impl Iterator<Item = (AttemptId, bool)> {
        self.leases_on.get(worker).into_iter().flatten().map(|(&attempt, &copy)| (attempt, copy))
    }

    /// Living attempts of a job on one worker.
    pub(crate) fn attempts_of_job_on(&self, job: JobId, worker: &WorkerId) -> usize {
        self.attempts_on(worker).filter(|(attempt, _)| attempt.job == job).count()
    }

    /// Whether an attempt has not got on for so long that its lease ends.
    pub(crate) fn has_stalled(&self, attempt: AttemptId) -> bool {
        let lease = self.leases.get(&attempt);
        lease.is_some_and(|lease| lease.still_millis(self.now) >= self.config.stall_millis)
    }

    /// Whether an attempt is alive on a worker.
    pub(crate) fn is_alive_on(&self, attempt: AttemptId, worker: &WorkerId) -> bool {
        self.leases.get(&attempt).is_some_and(|lease| lease.worker == *worker)
    }

    /// A worker has a run.
    pub(crate) fn hold(&mut self, worker: &WorkerId, run: &RunManifest) {
        let Some(known) = self.workers.get_mut(worker) else { return };
        known.held.insert(run.id.clone(), run.bytes);
        self.note_holder(worker, &run.id);
    }

    /// A worker that only records name has a run.
    pub(crate) fn expect_run(&mut self, worker: &WorkerId, run: &RunId, bytes: u64) {
        self.expect_worker(worker).held.insert(run.clone(), bytes);
        self.note_holder(worker, run);
    }

    /// Remembers that a worker holds a run, beside what [`Worker::held`] says.
    pub(crate) fn note_holder(&mut self, worker: &WorkerId, run: &RunId) {
        match self.holders.get_mut(run) {
            Some(holders) if holders.contains(worker) => {}
            Some(holders) => holders.push(worker.clone()),
            None => {
                self.holders.insert(run.clone(), vec![worker.clone()]);
            }
        }
    }

    /// A worker holds a run no more.
    pub(crate) fn forget_holder(&mut self, worker: &WorkerId, run: &RunId) {
        if let Some(holders) = self.holders.get_mut(run) {
            holders.retain(|other| other != worker);
            if holders.is_empty() {
                self.holders.remove(run);
            }
        }
    }

    /// Forgets a worker.
    pub(crate) fn forget_worker(&mut self, id: &WorkerId) {
        let Some(worker) = self.workers.remove(id) else { return };
        worker.held.keys().for_each(|run| self.forget_holder(id, run));
    }

    /// Workers that say they have a run, by their names.
    fn all_holders_of(&self, run: &RunId) -> impl Iterator<Item = (&WorkerId, &Worker)> {
        let holders = self.holders.get(run).into_iter().flatten();
        let holders = holders.filter_map(|id| self.workers.get_key_value(id));
        holders.inspect(|(_, worker)| debug_assert!(worker.held.contains_key(run)))
    }

    /// Workers that are here and say they have a run.
    pub(crate) fn holders_here(&self, run: &RunId) -> impl Iterator<Item = (&WorkerId, &Worker)> {
        self.all_holders_of(run).filter(|(_, worker)| worker.here)
    }

    /// Workers that say they have a run, those that are here first.
    pub(crate) fn holders_of(&self, run: &RunId) -> Vec<(&WorkerId, &Worker)> {
        let mut holders: Vec<_> = self.all_holders_of(run).collect();
        holders.sort_by_key(|&(id, w)| (!w.here, id));
        holders
    }

    /// Whether two workers can count the same task, and may.
    pub(crate) fn recounts(&self) -> bool {
        self.config.recount_one_in > 0 && self.here().nth(1).is_some()
    }

    /// Workers that are here.
    pub(crate) fn here(&self) -> impl Iterator<Item = (&WorkerId, &Worker)> {
        self.workers.iter().filter(|(_, worker)| worker.here)
    }

    /// What the workers that are here offer; `None` while nobody is here.
    pub(crate) fn offer(&self) -> Option<Offer> {
        let workers = || self.here().map(|(_, worker)| worker);
        Some(Offer {
            least_task_bytes: workers().map(|worker| worker.task_memory_bytes).min()?,
            most_task_bytes: workers().map(|worker| worker.task_memory_bytes).max()?,
            disk_bytes: workers().fold(0, |sum, worker| sum.saturating_add(worker.disk_bytes)),
            slots: workers().fold(0, |sum, worker| sum.saturating_add(worker.slots)),
            worker_slots: workers().map(|worker| worker.slots).min()?,
        })
    }

    /// Whether a worker is here.
    pub(crate) fn is_here(&self, worker: &WorkerId) -> bool {
        self.workers.get(worker).is_some_and(|worker| worker.here)
    }

    /// Until when the coordinator waits for the runs of a worker that is away; `None` while nobody is here.
    pub(crate) fn awaited_until(&self, worker: &Worker) -> Option<Millis> {
        let since = worker.away_since.max(self.here_since?);
        Some(since.saturating_add(self.config.grace_millis))
    }

    /// Whether a worker that is away may come back in time.
    pub(crate) fn is_awaited(&self, worker: &Worker) -> bool {
        self.awaited_until(worker).is_some_and(|until| until > self.now)
    }

    /// Brings up to date since when somebody is here.
    pub(crate) fn update_presence(&mut self) {
        let anybody = self.here().next().is_some();
        self.here_since = if anybody { self.here_since.or(Some(self.now)) } else { None };
    }

    /// Workers that were silent for the time of a lease are away. Returns those that were here until now.
    pub(crate) fn miss_silent_workers(&mut self) -> Vec<WorkerId> {
        let mut missed = Vec::new();
        for (id, worker) in self.workers.iter_mut().filter(|(_, worker)| worker.here) {
            let until = worker.last_heard.saturating_add(self.config.lease_millis);
            if until <= self.now {
                worker.here = false;
                worker.away_since = until;
                missed.push(id.clone());
            }
        }
        if !missed.is_empty() {
            self.update_presence();
            self.holdings_changed();
        }
        missed
    }

    /// A worker that may be the only one with a run, even if it was not heard of in this life.
    pub(crate) fn expect_worker(&mut self, id: &WorkerId) -> &mut Worker {
        let now = self.now;
        self.workers.entry(id.clone()).or_insert_with(|| Worker::expected(id, now))
    }
}
