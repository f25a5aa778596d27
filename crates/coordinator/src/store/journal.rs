//! Changes to the store: small records under readable keys (see [`keys`]), written as things change.
//!
//! A commit writes one `task` record, whatever the size of the job. The journal alone knows what the chosen
//! [`Durability`] stores: callers report every change.

use std::collections::{BTreeMap, BTreeSet};

use keima_orders::{AttemptId, JobId};
use serde::Serialize;

use super::keys::{self, BOOT_KEY, NEXT_KEY, STORE_KEY, VERSION_KEY};
use super::records::{Account, Boundary, Committed, GrantRecord, Head, Record, RunCopy, StageRecord, VERSION};
use super::restore::StageNumber;
use crate::api::StoreId;
use crate::certificate::StageEvidence;

/// How much of a job's progress survives a restart of the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// For a cluster. Grants, single commits and every boundary are stored: a restart loses no work.
    Cluster,
    /// For one process. Submissions, durable boundaries, functionals and results are stored, and the stage under way at a
    /// clean stop. A short count then hardly writes, and a restart after a kill goes back to a durable boundary.
    OneProcess,
}

impl Durability {
    /// Whether the stage under way is stored: its cut, its grants and its finished tasks.
    pub(crate) const fn stores_stage_under_way(self) -> bool {
        matches!(self, Self::Cluster)
    }
}

/// What must be stored, in one transaction, before any answer since the last call may leave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Records to write, by key.
    pub puts: Vec<(String, Vec<u8>)>,
    /// Keys to delete; none of them is in `puts`. Some may not exist.
    pub deletes: Vec<String>,
    /// Whether the changes must be on stable storage before answers leave. If not, a power failure (not a crash of the
    /// process) may lose them: then some work is done again, nothing more.
    pub must_be_durable: bool,
}

impl Changes {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.puts.is_empty() && self.deletes.is_empty()
    }
}

/// A record could not be encoded. The coordinator's memory is ahead of its store from then on: it must stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "record {key} cannot be encoded: {why}; this is a fault of the program, please report it. Nothing is lost: start the coordinator again"
)]
pub struct EncodeError {
    /// The record.
    pub key: String,
    /// What the encoder said.
    pub why: String,
}

/// Changes since they were last taken. Of several changes of one key the last stands.
pub(crate) struct Journal {
    durability: Durability,
    puts: BTreeMap<String, Vec<u8>>,
    deletes: BTreeSet<String>,
    durable: bool,
    /// Jobs of which the stage under way is stored, whatever the durability: it was so at a clean stop.
    kept_stages: BTreeSet<JobId>,
    /// The first record that could not be encoded.
    failure: Option<EncodeError>,
}

impl Journal {
    pub(crate) const fn new(durability: Durability) -> Self {
        Self {
            durability,
            puts: BTreeMap::new(),
            deletes: BTreeSet::new(),
            durable: false,
            kept_stages: BTreeSet::new(),
            failure: None,
        }
    }

    /// What the owner chose.
    pub(crate) const fn durability(&self) -> Durability {
        self.durability
    }

    /// The changes, once. Fails for good after a record that could not be encoded.
    pub(crate) fn take(&mut self) -> Result<Changes, EncodeError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let (puts, deletes) = (std::mem::take(&mut self.puts), std::mem::take(&mut self.deletes));
        let must_be_durable = std::mem::take(&mut self.durable) && !(puts.is_empty() && deletes.is_empty());
        Ok(Changes { puts: puts.into_iter().collect(), deletes: deletes.into_iter().collect(), must_be_durable })
    }

    /// The changes must be on stable storage before answers leave.
    pub(crate) const fn must_be_durable(&mut self) {
        self.durable = true;
    }

    fn put<T: Serialize + ?Sized>(&mut self, key: String, value: &T) {
        match postcard::to_stdvec(value) {
            Ok(bytes) => {
                self.deletes.remove(&key);
                self.puts.insert(key, bytes);
            }
            Err(error) => {
                self.failure.get_or_insert(EncodeError { key, why: error.to_string() });
            }
        }
    }

    /// Deletes a record by its key.
    pub(crate) fn delete(&mut self, key: String) {
        self.puts.remove(&key);
        self.deletes.insert(key);
    }

    /// Stores what the coordinator is: its store's name, its life, its next job.
    pub(crate) fn put_meta(&mut self, store: StoreId, boot: u32, next_job: u64) {
        self.put(VERSION_KEY.into(), &VERSION);
        self.put(STORE_KEY.into(), &store);
        self.put(BOOT_KEY.into(), &boot);
        self.put(NEXT_KEY.into(), &next_job);
    }

    /// Stores a job's own record.
    pub(crate) fn put_job(&mut self, job: JobId, record: &Record) {
        self.put(keys::job_key(job), record);
    }

    /// Stores what people say of a job, and what it has had.
    pub(crate) fn put_account(&mut self, job: JobId, account: &Account) {
        self.put(keys::account_key(job), account);
    }

    /// Stores a job's own record, on stable storage.
    pub(crate) fn put_job_durably(&mut self, job: JobId, record: &Record) {
        self.put_job(job, record);
        self.must_be_durable();
    }

    /// Deletes a job's own record, and what people say of it. It is over: of its other records only values and evidence are left.
    pub(crate) fn delete_job(&mut self, job: JobId) {
        self.delete(keys::job_key(job));
        self.delete(keys::account_key(job));
    }

    /// Stores the residues of a functional in one sweep.
    pub(crate) fn put_value(&mut self, job: JobId, sweep: u32, functional: u32, lanes: &[u64]) {
        self.put(keys::value_key(job, sweep, functional), lanes);
    }

    /// Deletes the residues of a functional in one sweep.
    pub(crate) fn delete_value(&mut self, job: JobId, sweep: u32, functional: u32) {
        self.delete(keys::value_key(job, sweep, functional));
    }

    /// Stores the evidence of a stage, and returns the record. `None` if it cannot be encoded.
    pub(crate) fn put_evidence(&mut self, job: JobId, stage: StageNumber, evidence: &StageEvidence) -> Option<Vec<u8>> {
        let key = keys::evidence_key(job, stage);
        self.put(key.clone(), evidence);
        self.puts.get(&key).cloned()
    }

    /// Stores the evidence of a stage that another coordinator has encoded.
    pub(crate) fn put_stage_evidence(&mut self, job: JobId, stage: StageNumber, encoded: Vec<u8>) {
        let key = keys::evidence_key(job, stage);
        self.deletes.remove(&key);
        self.puts.insert(key, encoded);
    }

    /// Deletes the evidence of a stage.
    pub(crate) fn delete_evidence(&mut self, job: JobId, stage: StageNumber) {
        self.delete(keys::evidence_key(job, stage));
    }

    /// Stores a boundary's head, on stable storage.
    pub(crate) fn put_head(&mut self, job: JobId, head: &Head) {
        self.put(keys::boundary_key(job, head), head);
        self.must_be_durable();
    }

    /// Stores a finished task of a boundary.
    pub(crate) fn put_task(&mut self, task: &Committed) {
        self.put(keys::task_key(task.attempt), task);
    }

    /// Stores that a worker made a second copy.
    pub(crate) fn put_copy(&mut self, job: JobId, copy: &RunCopy) {
        self.put(keys::copy_key(job, copy), copy);
    }

    /// Deletes all records of a boundary.
    pub(crate) fn delete_boundary(&mut self, job: JobId, boundary: &Boundary) {
        if boundary.stored {
            self.delete(keys::boundary_key(job, &boundary.head));
            boundary.tasks.iter().for_each(|task| self.delete(keys::task_key(task.attempt)));
            boundary.copies.iter().for_each(|copy| self.delete(keys::copy_key(job, copy)));
        }
    }

    /// Stores how the stage under way is cut.
    pub(crate) fn put_stage(&mut self, job: JobId, stage: &StageRecord) {
        if self.durability.stores_stage_under_way() {
            self.put(keys::stage_key(job), stage);
        }
    }

    /// Stores how the stage under way is cut, whatever the durability: for a clean stop.
    pub(crate) fn keep_stage(&mut self, job: JobId, stage: &StageRecord) {
        self.put(keys::stage_key(job), stage);
        self.has_stage(job);
    }

    /// Takes note that the stage under way of a job is stored.
    pub(crate) fn has_stage(&mut self, job: JobId) {
        self.kept_stages.insert(job);
    }

    /// Deletes the record of the stage under way.
    pub(crate) fn delete_stage(&mut self, job: JobId) {
        if self.kept_stages.remove(&job) || self.durability.stores_stage_under_way() {
            self.delete(keys::stage_key(job));
        }
    }

    /// Stores a finished task of the stage under way.
    pub(crate) fn put_task_under_way(&mut self, task: &Committed) {
        if self.durability.stores_stage_under_way() {
            self.put_task(task);
        }
    }

    /// Deletes a finished task of the stage under way.
    pub(crate) fn delete_task_under_way(&mut self, attempt: AttemptId) {
        if self.durability.stores_stage_under_way() {
            self.delete(keys::task_key(attempt));
        }
    }

    /// Stores a living grant.
    pub(crate) fn put_grant(&mut self, grant: &GrantRecord) {
        if self.durability.stores_stage_under_way() {
            self.put(keys::grant_key(grant.attempt), grant);
        }
    }

    /// Whether a stored grant goes on: grants are stored at all, and the key is the attempt's own.
    pub(crate) fn keeps_grant(&self, key: &str, attempt: AttemptId) -> bool {
        self.durability.stores_stage_under_way() && key == keys::grant_key(attempt)
    }

    /// Deletes a grant that has ended.
    pub(crate) fn delete_grant(&mut self, attempt: AttemptId) {
        if self.durability.stores_stage_under_way() {
            self.delete(keys::grant_key(attempt));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something that serde cannot write.
    struct Unwritable;

    impl Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("on purpose"))
        }
    }

    #[test]
    fn what_cannot_be_encoded_stops_the_journal() {
        let mut journal = Journal::new(Durability::Cluster);
        journal.put("job/1".into(), &1_u32);
        assert_eq!(journal.take().map(|changes| changes.puts.len()), Ok(1));
        journal.put("job/2".into(), &Unwritable);
        journal.put("job/3".into(), &3_u32);
        journal.put("job/4".into(), &Unwritable);
        for _ in 0..2 {
            assert_eq!(journal.take().map_err(|error| error.key), Err("job/2".to_owned()));
        }
    }

    #[test]
    fn durability_decides_what_is_stored_of_the_stage_under_way() {
        let attempt = AttemptId { job: JobId(1), sweep: 0, generation: 2, task: 3, attempt: 4 };
        let worker = keima_orders::WorkerId("w1".to_owned());
        for (durability, stored) in [(Durability::Cluster, 1), (Durability::OneProcess, 0)] {
            let mut journal = Journal::new(durability);
            journal.put_grant(&GrantRecord { attempt, nonce: 5, worker: worker.clone(), copy: false });
            assert_eq!(journal.take().map(|changes| changes.puts.len()), Ok(stored), "{durability:?}");
            journal.delete_grant(attempt);
            assert_eq!(journal.take().map(|changes| changes.deletes.len()), Ok(stored), "{durability:?}");
        }
    }
}
