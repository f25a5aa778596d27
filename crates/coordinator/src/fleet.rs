//! What all jobs share: the clock, the workers, the leases, the journal.

use std::collections::BTreeMap;

use keima_orders::{AttemptId, JobId, WorkerId};
use keima_runs::{RunId, RunManifest};

use self::config::Config;
use self::lease::Lease;
use self::life::Life;
use self::worker::Worker;
use crate::api::{Grant, Millis, Work};
use crate::store::journal::Journal;
use crate::store::records::GrantRecord;

pub(crate) mod config;
pub(crate) mod lease;
pub(crate) mod life;
pub(crate) mod worker;

/// Workers and their leases, with the clock, the journal and the settings.
pub(crate) struct Fleet {
    pub(crate) config: Config,
    pub(crate) life: Life,
    /// Latest time that the machine was told.
    pub(crate) now: Millis,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    /// Every living grant. Attempts at a task stand together.
    pub(crate) leases: BTreeMap<AttemptId, Lease>,
    pub(crate) journal: Journal,
    /// Since when at least one worker is here; `None` while all are away.
    pub(crate) here_since: Option<Millis>,
    /// Grows whenever a run may have become readable or unreadable.
    pub(crate) holdings_serial: u64,
    /// Grows whenever there may be work for a worker that found none.
    pub(crate) work_serial: u64,
}

impl Fleet {
    pub(crate) const fn new(config: Config, life: Life) -> Self {
        Self {
            journal: Journal::new(config.durability),
            config,
            life,
            now: 0,
            workers: BTreeMap::new(),
            leases: BTreeMap::new(),
            here_since: None,
            holdings_serial: 0,
            work_serial: 0,
        }
    }

    /// A worker may now find work.
    pub(crate) const fn work_changed(&mut self) {
        self.work_serial += 1;
    }

    /// Runs may have become readable or unreadable.
    pub(crate) const fn holdings_changed(&mut self) {
        self.holdings_serial += 1;
        self.work_serial += 1;
    }

    /// Gives a worker a lease on an attempt.
    pub(crate) fn grant(&mut self, attempt: AttemptId, worker: &WorkerId, work: Work) -> Grant {
        let nonce = self.life.random();
        let lease_millis = self.config.lease_millis;
        let copy = matches!(work, Work::Copy(_));
        self.journal.put_grant(&GrantRecord { attempt, nonce, worker: worker.clone(), copy });
        let (granted, deadline) = (self.now, self.now.saturating_add(lease_millis));
        let lease = Lease { nonce, worker: worker.clone(), granted, deadline, states_done: 0, copy };
        self.leases.insert(attempt, lease);
        Grant { attempt, nonce, lease_millis, work }
    }

    /// Ends a lease. With `abandon`, its worker is told to stop.
    pub(crate) fn end_lease(&mut self, attempt: AttemptId, abandon: bool) -> Option<Lease> {
        let lease = self.leases.remove(&attempt)?;
        self.journal.delete_grant(attempt);
        if abandon && let Some(worker) = self.workers.get_mut(&lease.worker) {
            worker.abandon.insert(attempt);
        }
        self.work_changed();
        Some(lease)
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

    /// Living attempts of a job at tasks of its stage, second copies left out.
    pub(crate) fn tasks_of_job(&self, job: JobId) -> impl Iterator<Item = &Lease> {
        self.attempts_of_job(job).map(|(_, lease)| lease).filter(|lease| !lease.copy)
    }

    /// Living attempts on one worker.
    pub(crate) fn attempts_on<'a>(&'a self, worker: &'a WorkerId) -> impl Iterator<Item = (&'a AttemptId, &'a Lease)> {
        self.leases.iter().filter(move |(_, lease)| lease.worker == *worker)
    }

    /// Whether an attempt is alive on a worker.
    pub(crate) fn is_alive_on(&self, attempt: AttemptId, worker: &WorkerId) -> bool {
        self.leases.get(&attempt).is_some_and(|lease| lease.worker == *worker)
    }

    /// A worker has a run.
    pub(crate) fn hold(&mut self, worker: &WorkerId, run: &RunManifest) {
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.held.insert(run.id.clone(), run.bytes);
        }
    }

    /// Workers that say they have a run, those that are here first.
    pub(crate) fn holders_of(&self, run: &RunId) -> Vec<(&WorkerId, &Worker)> {
        let mut holders: Vec<_> = self.workers.iter().filter(|(_, w)| w.held.contains_key(run)).collect();
        holders.sort_by_key(|(_, w)| !w.here);
        holders
    }

    /// Workers that are here.
    pub(crate) fn here(&self) -> impl Iterator<Item = (&WorkerId, &Worker)> {
        self.workers.iter().filter(|(_, worker)| worker.here)
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

    /// Workers that were silent for the time of a lease are away.
    pub(crate) fn miss_silent_workers(&mut self) {
        let mut changed = false;
        for worker in self.workers.values_mut().filter(|w| w.here) {
            let until = worker.last_heard.saturating_add(self.config.lease_millis);
            if until <= self.now {
                worker.here = false;
                worker.away_since = until;
                changed = true;
            }
        }
        if changed {
            self.update_presence();
            self.holdings_changed();
        }
    }

    /// A worker that may be the only one with a run, even if it was not heard of in this life.
    pub(crate) fn expect_worker(&mut self, id: &WorkerId) -> &mut Worker {
        let now = self.now;
        self.workers.entry(id.clone()).or_insert_with(|| Worker::expected(id, now))
    }
}
