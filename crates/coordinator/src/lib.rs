//! Jobs, plans, shards, leases, boundaries and recombination as a pure state machine.
//!
//! `api` holds the words that pass between the coordinator, its workers and its clients; `plan` turns a submission into
//! sweeps and stages; `machine` hands out the work and takes it back; `outcome` makes a count of residues and checks
//! it.
//!
//! Architecture invariant: no sockets, files, threads or clocks in here. Calls carry the time, and what must be stored
//! comes out as records, so that a cluster can be run under a simulated clock, killed at any call, and gone on with.

#![forbid(unsafe_code)]

mod api;
mod fleet;
mod job;
mod machine;
mod outcome;
mod plan;
mod store;

pub use api::*;
pub use keima_orders::{AttemptId, Holder, InputRun, JobId, WorkerId};
pub use machine::{
    Changes, Config, Coordinator, EncodeError, Help, JobStatus, JobWorker, RestoreError, State, Stuck, WorkerStatus,
};
pub use outcome::{Check, FunctionalValues, Outcome, SeriesEntry, Table, TableRow, early, recombine, tables};
pub use plan::{
    BlockPlan, LARGE_VECTOR_BYTES, Plan, PlanError, PlanLimits, Stage, block_plan, choose_plan, in_memory_plan, plan,
};
