//! Keys of stored records.
//!
//! ```text
//!   meta/version                        u32, layout of these records
//!   meta/store                          StoreId, drawn once
//!   meta/boot                           u32, earlier lives of the coordinator
//!   meta/next                           u64, number of the next job
//!   job/J                               Record
//!   account/J                           Account: what people say of it, and what it has had
//!   value/J/SWEEP/FUNCTIONAL            Vec<u64>, one per lane
//!   evidence/J/SWEEP/STAGE              StageEvidence, for the certificate; kept until the job is removed
//!   boundary/J/SWEEP/GENERATION         Head
//!   task/J/SWEEP/GENERATION/TASK        Committed: of a boundary, or of the stage under way
//!   copy/J/WORKER/RUN                   RunCopy: a second copy
//!   stage/J                             StageRecord: the stage under way, how it was cut
//!   grant/ATTEMPT                       GrantRecord: a living grant
//! ```

use keima_orders::{AttemptId, JobId};

use super::records::{Head, RunCopy};
use super::restore::StageNumber;

/// Key of the record that holds the version of the records' layout.
pub const VERSION_KEY: &str = "meta/version";
pub(super) const STORE_KEY: &str = "meta/store";
pub(super) const BOOT_KEY: &str = "meta/boot";
pub(super) const NEXT_KEY: &str = "meta/next";

pub(super) fn job_key(job: JobId) -> String {
    format!("job/{}", job.0)
}

pub(super) fn account_key(job: JobId) -> String {
    format!("account/{}", job.0)
}

pub(super) fn value_key(job: JobId, sweep: u32, functional: u32) -> String {
    format!("value/{}/{sweep}/{functional}", job.0)
}

pub(super) fn evidence_key(job: JobId, StageNumber { sweep, stage }: StageNumber) -> String {
    format!("evidence/{}/{sweep}/{stage}", job.0)
}

pub(super) fn boundary_key(job: JobId, head: &Head) -> String {
    format!("boundary/{}/{}/{}", job.0, head.sweep, head.generation)
}

/// The key of the task of an attempt; all attempts at a task have the same.
pub(super) fn task_key(attempt: AttemptId) -> String {
    format!("task/{}/{}/{}/{}", attempt.job.0, attempt.sweep, attempt.generation, attempt.task)
}

pub(super) fn copy_key(job: JobId, copy: &RunCopy) -> String {
    format!("copy/{}/{}/{}", job.0, copy.worker, copy.run)
}

pub(super) fn stage_key(job: JobId) -> String {
    format!("stage/{}", job.0)
}

pub(super) fn grant_key(attempt: AttemptId) -> String {
    format!("grant/{attempt}")
}
