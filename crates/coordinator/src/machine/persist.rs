//! What is stored: small records under readable keys, written as things change.
//!
//! ```text
//!   meta/version                        u32, layout of these records
//!   meta/store                          StoreId, drawn once
//!   meta/boot                           u32, earlier lives of the coordinator
//!   meta/next                           u64, number of the next job
//!   job/J                               Record
//!   value/J/SWEEP/FUNCTIONAL            Vec<u64>, one per lane
//!   boundary/J/SWEEP/GENERATION         Head
//!   task/J/SWEEP/GENERATION/TASK        Committed: of a boundary, or of the stage under way
//!   copy/J/WORKER/RUN                   (RunId, WorkerId): a second copy
//!   stage/J                             StageRecord: the stage under way, how it was cut
//!   grant/ATTEMPT                       GrantRecord: a living grant
//! ```
//!
//! Values are in postcard's format. A commit writes one `task` record, whatever the size of the job.

use std::collections::{BTreeMap, BTreeSet};

use keima_orders::{AttemptId, JobId, WorkerId};
use keima_runs::RunId;
use serde::{Deserialize, Serialize};

use super::boundaries::{Committed, Head};
use super::common::Common;
use super::jobs::Job;
use super::leases::Lease;
use super::stage::StageRun;

/// Layout of the records, and what their figures mean; a store of another version is refused.
pub(super) const VERSION: u32 = 6;

/// What must be stored, in one transaction, before any answer since the last call may leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Records to write, by key.
    pub puts: Vec<(String, Vec<u8>)>,
    /// Keys to delete; none of them is in `puts`. Some may not exist.
    pub deletes: Vec<String>,
    /// Whether the changes must be on stable storage before answers leave. If not, they may be lost with the machine
    /// (not with the process): then some work is done again, nothing more.
    pub must_be_durable: bool,
}

impl Changes {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.puts.is_empty() && self.deletes.is_empty()
    }
}

/// Changes since they were last taken; of several changes of one key the last stands.
#[derive(Default)]
pub(super) struct Journal {
    puts: BTreeMap<String, Vec<u8>>,
    deletes: BTreeSet<String>,
    durable: bool,
}

impl Journal {
    pub(super) fn put<T: Serialize + ?Sized>(&mut self, key: String, value: &T) {
        // Writing to memory cannot fail, and every stored type has a shape that postcard knows; were it otherwise, an
        // old record would have to stand rather than a broken one.
        if let Ok(bytes) = postcard::to_stdvec(value) {
            self.deletes.remove(&key);
            self.puts.insert(key, bytes);
        } else {
            debug_assert!(false, "{key} cannot be encoded");
        }
    }

    pub(super) fn delete(&mut self, key: String) {
        self.puts.remove(&key);
        self.deletes.insert(key);
    }

    pub(super) fn must_be_durable(&mut self) {
        self.durable = true;
    }

    pub(super) fn take(&mut self) -> Changes {
        let Self { puts, deletes, durable } = std::mem::take(self);
        let must_be_durable = durable && !(puts.is_empty() && deletes.is_empty());
        Changes { puts: puts.into_iter().collect(), deletes: deletes.into_iter().collect(), must_be_durable }
    }
}

/// The stage under way.
#[derive(Serialize, Deserialize)]
pub(super) struct StageRecord {
    pub(super) sweep: u32,
    pub(super) number: u32,
    pub(super) generation: u32,
    pub(super) durable: bool,
    pub(super) closed: bool,
    /// Smallest key, exclusive upper end, records of each task.
    pub(super) shards: Vec<(u128, Option<u128>, u64)>,
}

/// A living grant.
#[derive(Serialize, Deserialize)]
pub(super) struct GrantRecord {
    pub(super) attempt: AttemptId,
    pub(super) nonce: u64,
    pub(super) worker: WorkerId,
    pub(super) copy: bool,
}

pub(super) fn job_key(job: JobId) -> String {
    format!("job/{}", job.0)
}

pub(super) fn value_key(job: JobId, sweep: u32, functional: u32) -> String {
    format!("value/{}/{sweep}/{functional}", job.0)
}

pub(super) fn boundary_key(job: JobId, sweep: u32, generation: u32) -> String {
    format!("boundary/{}/{sweep}/{generation}", job.0)
}

pub(super) fn task_key(job: JobId, sweep: u32, generation: u32, task: u32) -> String {
    format!("task/{}/{sweep}/{generation}/{task}", job.0)
}

pub(super) fn copy_key(job: JobId, run: &RunId, worker: &WorkerId) -> String {
    format!("copy/{}/{worker}/{run}", job.0)
}

pub(super) fn stage_key(job: JobId) -> String {
    format!("stage/{}", job.0)
}

pub(super) fn grant_key(attempt: AttemptId) -> String {
    format!("grant/{attempt}")
}

impl Common {
    pub(super) fn store_meta(&mut self, next_job: u64) {
        self.journal.put("meta/version".into(), &VERSION);
        self.journal.put("meta/store".into(), &self.store);
        self.journal.put("meta/boot".into(), &self.boot);
        self.journal.put("meta/next".into(), &next_job);
    }

    pub(super) fn store_job(&mut self, job: &Job, durable: bool) {
        self.journal.put(job_key(job.id), &job.record);
        if durable {
            self.journal.must_be_durable();
        }
    }

    pub(super) fn store_head(&mut self, job: JobId, head: &Head, durable: bool) {
        self.journal.put(boundary_key(job, head.sweep, head.generation), head);
        if durable {
            self.journal.must_be_durable();
        }
    }

    pub(super) fn store_task(&mut self, job: JobId, sweep: u32, generation: u32, done: &Committed) {
        self.journal.put(task_key(job, sweep, generation, done.attempt.task), done);
    }

    pub(super) fn store_stage(&mut self, job: JobId, sweep: u32, stage: &StageRun) {
        let shards = stage.tasks.iter().map(|t| (t.shard.low, t.shard.high, t.shard.records)).collect();
        let StageRun { number, generation, durable, closed, .. } = *stage;
        self.journal.put(stage_key(job), &StageRecord { sweep, number, generation, durable, closed, shards });
    }

    pub(super) fn store_grant(&mut self, attempt: AttemptId, lease: &Lease) {
        if self.config.persist_grants {
            let Lease { nonce, ref worker, copy, .. } = *lease;
            self.journal.put(grant_key(attempt), &GrantRecord { attempt, nonce, worker: worker.clone(), copy });
        }
    }
}
