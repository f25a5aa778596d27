//! What users are told of all jobs and workers.

use keima_orders::{JobId, WorkerId};
use serde::{Deserialize, Serialize};

use super::Coordinator;
use crate::api::{CallError, Millis};
use crate::fleet::worker::Worker;
use crate::job::health::Stuck;
use crate::job::status::JobStatus;

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
    /// Number of runs that it holds.
    pub runs: u64,
    /// Jobs of which it gets no tasks, and why.
    pub set_aside: Vec<(JobId, String)>,
}

impl Coordinator {
    /// All jobs, the oldest first, without their values.
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.jobs.values().map(|job| job.status(&self.fleet).without_values()).collect()
    }

    /// One job.
    pub fn status(&mut self, now: Millis, id: JobId) -> Result<JobStatus, CallError> {
        self.advance(now);
        self.jobs.get(&id).map(|job| job.status(&self.fleet)).ok_or(CallError::NoSuchJob(id))
    }

    /// Why no worker can go on with a job; `None` if one can, or if the coordinator was restarted since.
    pub fn stuck(&self, id: JobId) -> Option<Stuck> {
        self.jobs.get(&id)?.stuck(&self.fleet)
    }

    /// All remembered workers.
    pub fn workers(&mut self, now: Millis) -> Vec<WorkerStatus> {
        self.advance(now);
        self.fleet.workers.iter().map(|(id, worker)| self.worker_status(id, worker)).collect()
    }

    fn worker_status(&self, id: &WorkerId, worker: &Worker) -> WorkerStatus {
        let live = self.jobs.values().filter(|job| !job.is_over());
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
            disk_used_bytes: worker.disk_used_bytes,
            runs: worker.held.len() as u64,
            set_aside: live.filter_map(|job| Some((job.id, job.why_not(&self.fleet, id)?))).collect(),
        }
    }
}
