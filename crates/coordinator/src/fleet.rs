//! What all jobs share: the clock, the workers, the leases, the journal and the source of nonces.

pub(crate) mod config;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use keima_model::mix::split_mix;
use keima_orders::{AttemptId, Holder, WorkerId};
use keima_runs::{RunId, RunManifest};

use crate::api::{Millis, StoreId};
use crate::fleet::config::Config;
use crate::machine::leases::Lease;
use crate::machine::workers::Worker;
use crate::store::journal::Journal;

/// The shared part of the machine.
pub(crate) struct Common {
    pub(crate) config: Config,
    /// Latest time that the machine was told.
    pub(crate) now: Millis,
    /// Name of the store, the same in every life.
    pub(crate) store: StoreId,
    /// Lives of this coordinator before this one.
    pub(crate) boot: u32,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    /// Every living grant. Attempts of a task stand together.
    pub(crate) leases: BTreeMap<AttemptId, Lease>,
    pub(crate) journal: Journal,
    /// Since when at least one worker is here; `None` while all are away.
    pub(crate) here_since: Option<Millis>,
    /// Grows whenever a run may have become readable or unreadable.
    pub(crate) holdings_serial: u64,
    /// Grows whenever there may be work for somebody who found none.
    pub(crate) work_serial: u64,
    next_epoch: u32,
    random: u64,
}

impl Common {
    pub(crate) fn new(config: Config, seed: u64, boot: u32, store: Option<StoreId>) -> Self {
        // Each life draws other nonces, even from the same seed.
        let mut random = seed ^ u64::from(boot).wrapping_mul(0xd6e8_feb8_6659_fd93);
        split_mix(&mut random);
        let store = store.unwrap_or_else(|| StoreId(split_mix(&mut random)));
        Self {
            store,
            config,
            now: 0,
            boot,
            workers: BTreeMap::new(),
            leases: BTreeMap::new(),
            journal: Journal::default(),
            here_since: None,
            holdings_serial: 0,
            work_serial: 0,
            next_epoch: 0,
            random,
        }
    }

    pub(crate) fn random(&mut self) -> u64 {
        split_mix(&mut self.random)
    }

    /// An epoch that no earlier life has given out.
    pub(crate) fn new_epoch(&mut self) -> u64 {
        self.next_epoch = self.next_epoch.wrapping_add(1);
        u64::from(self.boot) << 32 | u64::from(self.next_epoch)
    }

    /// The smallest number of a generation or attempt in this life of the coordinator. Records of grants may be lost
    /// with the machine; names of files that such grants have led to may not come again.
    pub(crate) fn first_number(&self) -> u32 {
        self.boot.min(0xffff) << 16
    }

    /// Notes that somebody may now find work.
    pub(crate) fn work_changed(&mut self) {
        self.work_serial += 1;
    }

    /// Notes that runs may have become readable or unreadable.
    pub(crate) fn holdings_changed(&mut self) {
        self.holdings_serial += 1;
        self.work_serial += 1;
    }

    /// Living attempts at a task.
    pub(crate) fn attempts(&self, mut task: AttemptId) -> impl Iterator<Item = (&AttemptId, &Lease)> {
        task.attempt = 0;
        let last = AttemptId { attempt: u32::MAX, ..task };
        self.leases.range(task..=last)
    }

    /// Living attempts of a job.
    pub(crate) fn attempts_of_job(&self, job: crate::JobId) -> impl Iterator<Item = (&AttemptId, &Lease)> {
        let first = AttemptId { job, sweep: 0, generation: 0, task: 0, attempt: 0 };
        self.leases.range(first..).take_while(move |(id, _)| id.job == job)
    }

    /// Ends a lease. With `abandon`, its worker is told to stop.
    pub(crate) fn end_lease(&mut self, attempt: AttemptId, abandon: bool) -> Option<Lease> {
        let lease = self.leases.remove(&attempt)?;
        if self.config.persist_grants {
            self.journal.delete(crate::store::journal::grant_key(attempt));
        }
        if abandon && let Some(worker) = self.workers.get_mut(&lease.worker) {
            worker.abandon.insert(attempt);
        }
        self.work_changed();
        Some(lease)
    }

    /// Attempts on one worker.
    pub(crate) fn attempts_on<'a>(&'a self, worker: &'a WorkerId) -> impl Iterator<Item = (&'a AttemptId, &'a Lease)> {
        self.leases.iter().filter(move |(_, lease)| lease.worker == *worker)
    }

    /// Whether an attempt is alive on a worker.
    pub(crate) fn is_alive_on(&self, attempt: AttemptId, worker: &WorkerId) -> bool {
        self.leases.get(&attempt).is_some_and(|lease| lease.worker == *worker)
    }

    /// Notes that a worker has a run.
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

    /// Until when a run on a worker that is away is awaited; `None` while nobody is here.
    pub(crate) fn awaited_until(&self, worker: &Worker) -> Option<Millis> {
        let since = worker.away_since.max(self.here_since?);
        Some(since.saturating_add(self.config.grace_millis))
    }

    /// Number of workers that are here.
    pub(crate) fn workers_here(&self) -> usize {
        self.workers.values().filter(|w| w.here).count()
    }

    /// Takes note of whether anybody is here.
    pub(crate) fn update_presence(&mut self) {
        let anybody = self.workers.values().any(|w| w.here);
        self.here_since = if anybody { self.here_since.or(Some(self.now)) } else { None };
    }

    /// Workers that have not been heard of for the time of a lease are away.
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

    /// A worker that may be the only one to remember a run: known from records, not yet heard of in this life.
    pub(crate) fn expect_worker(&mut self, id: &WorkerId) -> &mut Worker {
        let now = self.now;
        self.workers.entry(id.clone()).or_insert_with(|| Worker {
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
        })
    }
}
