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

use crate::fleet::Common;
use crate::job::Job;
use crate::job::boundaries::{Committed, Head};
use crate::job::stage::StageRun;
use crate::machine::leases::Lease;

/// Layout of the records, and what their figures mean; a store of another version is refused.
pub(crate) const VERSION: u32 = 6;

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

/// A record that cannot be encoded. What is in memory is then ahead of what can be stored: the coordinator must end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {key} of the coordinator cannot be encoded: {why}; this is a fault of keima, please report it")]
pub struct EncodeError {
    /// The record.
    pub key: String,
    /// What the encoder says.
    pub why: String,
}

/// Changes since they were last taken; of several changes of one key the last stands.
#[derive(Default)]
pub(crate) struct Journal {
    puts: BTreeMap<String, Vec<u8>>,
    deletes: BTreeSet<String>,
    durable: bool,
    /// The first record that could not be encoded. It stays: nothing is taken from the journal any more.
    failed: Option<EncodeError>,
}

impl Journal {
    pub(crate) fn put<T: Serialize + ?Sized>(&mut self, key: String, value: &T) {
        match postcard::to_stdvec(value) {
            Ok(bytes) => {
                self.deletes.remove(&key);
                self.puts.insert(key, bytes);
            }
            Err(error) => {
                self.failed.get_or_insert(EncodeError { key, why: error.to_string() });
            }
        }
    }

    pub(crate) fn delete(&mut self, key: String) {
        self.puts.remove(&key);
        self.deletes.insert(key);
    }

    pub(crate) fn must_be_durable(&mut self) {
        self.durable = true;
    }

    /// The changes since the last call; an error from the first record on that could not be encoded.
    pub(crate) fn take(&mut self) -> Result<Changes, EncodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let (puts, deletes) = (std::mem::take(&mut self.puts), std::mem::take(&mut self.deletes));
        let must_be_durable = std::mem::take(&mut self.durable) && !(puts.is_empty() && deletes.is_empty());
        Ok(Changes { puts: puts.into_iter().collect(), deletes: deletes.into_iter().collect(), must_be_durable })
    }
}

/// The stage under way.
#[derive(Serialize, Deserialize)]
pub(crate) struct StageRecord {
    pub(crate) sweep: u32,
    pub(crate) number: u32,
    pub(crate) generation: u32,
    pub(crate) durable: bool,
    pub(crate) closed: bool,
    /// Smallest key, exclusive upper end, records of each task.
    pub(crate) shards: Vec<(u128, Option<u128>, u64)>,
}

/// A living grant.
#[derive(Serialize, Deserialize)]
pub(crate) struct GrantRecord {
    pub(crate) attempt: AttemptId,
    pub(crate) nonce: u64,
    pub(crate) worker: WorkerId,
    pub(crate) copy: bool,
}

pub(crate) fn job_key(job: JobId) -> String {
    format!("job/{}", job.0)
}

pub(crate) fn value_key(job: JobId, sweep: u32, functional: u32) -> String {
    format!("value/{}/{sweep}/{functional}", job.0)
}

pub(crate) fn boundary_key(job: JobId, sweep: u32, generation: u32) -> String {
    format!("boundary/{}/{sweep}/{generation}", job.0)
}

pub(crate) fn task_key(job: JobId, sweep: u32, generation: u32, task: u32) -> String {
    format!("task/{}/{sweep}/{generation}/{task}", job.0)
}

pub(crate) fn copy_key(job: JobId, run: &RunId, worker: &WorkerId) -> String {
    format!("copy/{}/{worker}/{run}", job.0)
}

pub(crate) fn stage_key(job: JobId) -> String {
    format!("stage/{}", job.0)
}

pub(crate) fn grant_key(attempt: AttemptId) -> String {
    format!("grant/{attempt}")
}

impl Common {
    pub(crate) fn store_meta(&mut self, next_job: u64) {
        self.journal.put("meta/version".into(), &VERSION);
        self.journal.put("meta/store".into(), &self.store);
        self.journal.put("meta/boot".into(), &self.boot);
        self.journal.put("meta/next".into(), &next_job);
    }

    pub(crate) fn store_job(&mut self, job: &Job, durable: bool) {
        self.journal.put(job_key(job.id), &job.record);
        if durable {
            self.journal.must_be_durable();
        }
    }

    pub(crate) fn store_head(&mut self, job: JobId, head: &Head, durable: bool) {
        self.journal.put(boundary_key(job, head.sweep, head.generation), head);
        if durable {
            self.journal.must_be_durable();
        }
    }

    pub(crate) fn store_task(&mut self, job: JobId, sweep: u32, generation: u32, done: &Committed) {
        self.journal.put(task_key(job, sweep, generation, done.attempt.task), done);
    }

    pub(crate) fn store_stage(&mut self, job: JobId, sweep: u32, stage: &StageRun) {
        let shards = stage.tasks.iter().map(|t| (t.shard.low, t.shard.high, t.shard.records)).collect();
        let StageRun { number, generation, durable, closed, .. } = *stage;
        self.journal.put(stage_key(job), &StageRecord { sweep, number, generation, durable, closed, shards });
    }

    pub(crate) fn store_grant(&mut self, attempt: AttemptId, lease: &Lease) {
        if self.config.persist_grants {
            let Lease { nonce, ref worker, copy, .. } = *lease;
            self.journal.put(grant_key(attempt), &GrantRecord { attempt, nonce, worker: worker.clone(), copy });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Serializer;
    use serde::ser::Error as _;

    use super::*;

    struct Odd;

    impl Serialize for Odd {
        fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(S::Error::custom("no shape"))
        }
    }

    /// Nothing is stored from the failure on: neither the record's old value is kept for new, nor later changes alone.
    #[test]
    fn a_record_that_cannot_be_encoded_stops_the_journal() {
        let mut journal = Journal::default();
        journal.put("a".to_owned(), &1_u32);
        assert_eq!(journal.take().unwrap().puts, [("a".to_owned(), vec![1])]);
        journal.put("b".to_owned(), &2_u32);
        journal.put("a".to_owned(), &Odd);
        journal.put("c".to_owned(), &Odd);
        for _ in 0..2 {
            assert_eq!(journal.take().unwrap_err().key, "a");
            journal.put("a".to_owned(), &3_u32);
        }
    }
}
