//! Jobs, plans, shards, leases, boundaries and recombination as a pure state machine.
//!
//! ```text
//!   machine   calls of workers and users: hello, pull, report, submit, pause ...
//!   job       one job: its stage, boundaries, functionals, copies, health, status
//!   fleet     what all jobs share: clock, workers, leases, journal
//!   store     the records of jobs, and reading them back
//!   certificate   the evidence of a count, in a form that others can check
//!   ended     a job that has left the store, as a file
//!   outcome   from residues to a count, with its checks
//!   plan      from a submission to sweeps and stages
//!   terms     what people say of a job: owner, name, note, caps
//!   api       what coordinator, workers and clients tell each other
//! ```
//!
//! Each room uses only those below it.
//!
//! Architecture invariant: no sockets, files, threads or clocks in here. Calls carry the time, and records to store come
//! out. So a cluster can run under a simulated clock, be killed at any call, and go on.

#![forbid(unsafe_code)]

mod api;
mod certificate;
mod ended;
mod fleet;
mod job;
mod machine;
mod outcome;
mod plan;
mod spec;
mod store;
mod terms;

pub use api::*;
pub use certificate::{
    Certified, History, ManifestDigest, StageEvidence, SweepEvidence, VectorEvidence, canonical, certificate,
    certificate_hash, manifest_digest, read_certificate,
};
pub use ended::{EndedJob, EndedJobError};
pub use fleet::config::Config;
pub use fleet::watched::{Event, EventKind, FleetSums, MOST_EVENTS, TASK_CLASSES_MILLIS};
pub use job::boundaries::AtRisk;
pub use job::health::{Remedy, Stuck};
pub use job::lives::settling::Kept;
pub use job::shown::page::{DurableBoundary, JobView, RunningTask};
pub use job::shown::status::{
    JobAccount, JobDurability, JobPosition, JobProblem, JobProgress, JobStatus, JobTraffic, JobUsage, JobValues,
    JobWorker,
};
pub use keima_orders::{AttemptId, Holder, InputRun, JobId, WorkerId};
pub use machine::{
    Coordinator, JobFilter, JobPage, MOST_PAGE_JOBS, MOST_SET_ASIDE, MOST_WORKERS, NewPlan, PlanRequest, Planned,
    RestLimits, Resumption, StageUnderWay, Standing, Submission, ValuePage, WorkerStatus,
};
pub use outcome::{
    Check, FunctionalValues, Outcome, Residue, SeriesEntry, Table, TableRow, early, formula_error, recombine, tables,
};
pub use plan::{
    BlockPlan, Execution, LARGE_VECTOR_BYTES, Plan, PlanError, PlanFlaw, PlanLimits, Stage, block_plan, choose_plan,
    in_memory_plan, plan, refit,
};
pub use store::checkpoint::{Checkpoint, CheckpointError, MOST_CHECKPOINT_BYTES, is_checkpoint_name};
pub use store::journal::{Changes, Durability, EncodeError};
pub use store::keys::VERSION_KEY;
pub use store::restore::{RestoreError, check_stored_version};
pub use terms::{MOST_NAME_BYTES, MOST_NOTE_BYTES, Terms, TermsChange, is_job_number};
