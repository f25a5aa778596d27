//! What users are told of all jobs and workers.

use keima_orders::{AttemptId, JobId, WorkerId};
use keima_runs::RunId;
use serde::{Deserialize, Serialize};

use super::Coordinator;
use super::jobs::listing::ValuePage;
use super::sharing::level;
use crate::api::{CallError, Millis, State};
use crate::fleet::worker::Worker;
use crate::job::Job;
use crate::job::health::Stuck;
use crate::job::shown::status::JobStatus;
use crate::store::records::Committed;

/// Most jobs that a worker's status names as set aside. With two thousand workers and as many jobs there would be four million.
pub const MOST_SET_ASIDE: usize = 16;

/// What is known of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// The worker.
    pub id: WorkerId,
    /// Base URL of its run service.
    pub address: String,
    /// Its scratch folder.
    pub folder: String,
    /// Whether it was heard of within the time of a lease.
    pub here: bool,
    /// Milliseconds since it was last heard of.
    pub silent_millis: Millis,
    /// Most tasks at a time.
    pub slots: u32,
    /// Tasks that it works on.
    pub running: u32,
    /// Memory of one task.
    pub task_memory_bytes: u64,
    /// Cap on its scratch folder.
    pub disk_bytes: u64,
    /// Bytes in its scratch folder, as of its last heartbeat.
    pub disk_used_bytes: u64,
    /// Memory of its process that is in use, as of its last heartbeat. `None` where it has not told.
    pub memory_used_bytes: Option<u64>,
    /// Number of runs that it holds.
    pub runs: u64,
    /// Jobs of which it gets no tasks, and why: the first [`MOST_SET_ASIDE`] of them.
    pub set_aside: Vec<(JobId, String)>,
}

/// A finished task that stands in a manifest, and who has its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The attempt whose runs they are.
    pub attempt: AttemptId,
    /// Its nonce.
    pub nonce: u64,
    /// The worker that made them.
    pub writer: WorkerId,
    /// Whether they were on stable storage before it reported them.
    pub durable: bool,
    /// The first lane that they have: above 0 only where tasks share the lanes of a family.
    pub first_lane: u32,
    /// Each run with the workers that hold it, as far as the coordinator knows.
    pub runs: Vec<(RunId, Vec<WorkerId>)>,
}

impl Coordinator {
    /// The finished tasks whose runs jobs need: those of the kept boundaries, then those of the stage under way.
    pub fn standing(&self) -> Vec<Standing> {
        let live = self.jobs.live().filter(|job| !job.is_over());
        let done = live.flat_map(|job| {
            let kept = job.boundaries.iter().flat_map(|b| b.tasks.iter().map(|done| (b.head.durable, done)));
            let under_way = job.stage.iter().flat_map(|stage| stage.done().map(|done| (stage.durable, done)));
            kept.chain(under_way).map(move |(durable, done)| (job, durable, done))
        });
        let stands = |(job, durable, done): (&Job, bool, &Committed)| Standing {
            durable,
            attempt: done.attempt,
            nonce: done.nonce,
            first_lane: done.manifest.first_lane,
            writer: done.writer.clone(),
            runs: done.manifest.runs.iter().map(|run| (run.id.clone(), self.sound_holders(job, &run.id))).collect(),
        };
        done.map(stands).collect()
    }

    /// All jobs, the oldest first, without their values.
    pub fn jobs(&self) -> Vec<JobStatus> {
        let order = self.in_order();
        let mut jobs: Vec<JobStatus> = self.jobs.newest_first(None).map(|job| self.shown(job, &order)).collect();
        jobs.reverse();
        jobs
    }

    /// One job, with all its values.
    pub fn status(&mut self, now: Millis, id: JobId) -> Result<JobStatus, CallError> {
        let mut status = self.brief(now, id)?;
        let values = self.jobs.get(&id).map(|job| job.values().cloned().collect());
        status.set_values(values.unwrap_or_default());
        Ok(status)
    }

    /// One job, without its values.
    pub fn brief(&mut self, now: Millis, id: JobId) -> Result<JobStatus, CallError> {
        self.advance(now);
        let job = self.jobs.get(&id).ok_or(CallError::NoSuchJob(id))?;
        Ok(self.shown(job, &self.in_order()))
    }

    /// Values of a job from number `from` on, which counts from 0: about a megabyte of them, at least one if there is one.
    pub fn values(&self, id: JobId, from: usize) -> Result<ValuePage, CallError> {
        let job = self.jobs.get(&id).ok_or(CallError::NoSuchJob(id))?;
        Ok(ValuePage::of(job.values().skip(from), from))
    }

    /// A job's status without values, with what it waits for. `order` is [`Self::in_order`].
    pub(super) fn shown(&self, job: &Job, order: &[JobId]) -> JobStatus {
        let mut status = job.status(&self.fleet);
        status.account.level = level(job.record.spec.priority, job.account.waited_millis);
        status.waits_for = self.waits_for(job, order);
        // At the present rate nothing gets done.
        status.usage.eta_seconds = status.usage.eta_seconds.filter(|_| status.waits_for.is_empty());
        status
    }

    /// The certificate of a finished job in canonical form; `None` where there is none, see `docs/reference/certificate.md`.
    pub fn certificate(&self, id: JobId) -> Result<Option<String>, CallError> {
        self.jobs.get(&id).map(Job::certificate).ok_or(CallError::NoSuchJob(id))
    }

    /// The state of a job; `None` where there is no such job. Costs nothing, unlike its status.
    pub fn state(&self, id: JobId) -> Option<State> {
        self.jobs.get(&id).map(|job| job.record.state)
    }

    /// Why no worker can go on with a job; `None` if one can, or if the coordinator was restarted since.
    pub fn stuck(&self, id: JobId) -> Option<Stuck> {
        self.jobs.get(&id)?.stuck(&self.fleet)
    }

    /// Attempts whose leases live.
    pub fn leased(&self) -> Vec<AttemptId> {
        self.fleet.leases.keys().copied().collect()
    }

    /// Workers with a copy of a run that the job does not take for damaged.
    fn sound_holders(&self, job: &Job, run: &RunId) -> Vec<WorkerId> {
        let holders = self.fleet.holders_of(run).into_iter().map(|(id, _)| id);
        holders.filter(|id| !job.health.copies.is_bad(run, id)).cloned().collect()
    }

    /// All remembered workers.
    pub fn workers(&mut self, now: Millis) -> Vec<WorkerStatus> {
        self.advance(now);
        self.fleet.workers.iter().map(|(id, worker)| self.worker_status(id, worker)).collect()
    }

    fn worker_status(&self, id: &WorkerId, worker: &Worker) -> WorkerStatus {
        let live = self.jobs.live().filter(|job| !job.is_over());
        let aside = live.filter_map(|job| Some((job.id, job.why_not(&self.fleet, id)?)));
        WorkerStatus {
            id: id.clone(),
            address: worker.holder.address.clone(),
            folder: worker.holder.folder.clone(),
            here: worker.here,
            silent_millis: self.fleet.now.saturating_sub(worker.last_heard),
            slots: worker.slots,
            running: self.fleet.attempts_on(id).count() as u32,
            task_memory_bytes: worker.task_memory_bytes,
            disk_bytes: worker.disk_bytes,
            disk_used_bytes: worker.used.disk_bytes,
            memory_used_bytes: worker.used.memory_bytes,
            runs: worker.held.len() as u64,
            set_aside: aside.take(MOST_SET_ASIDE).collect(),
        }
    }
}
