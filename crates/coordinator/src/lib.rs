//! Jobs, plans, shards, leases, boundaries and recombination as a pure state machine.
#![forbid(unsafe_code)]
mod api;
pub use api::*;
mod machine;
mod outcome;
mod plan;
pub use outcome::{Check, FunctionalValues, Outcome, SeriesEntry, early, recombine};
pub use plan::{Plan, PlanError, PlanLimits, Stage, plan};
pub use machine::{Changes, Config, Coordinator, JobStatus, JobWorker, RestoreError, State, WorkerStatus};
