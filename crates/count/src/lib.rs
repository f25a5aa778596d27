//! Counting on this machine: in memory, or with a coordinator and a worker in one process; forecasts of counts, and a
//! look at run files by themselves.
//!
//! Architecture invariant: nothing here speaks gRPC; a cluster's processes are `keima-cluster`'s.

#![forbid(unsafe_code)]

pub mod estimate;
mod in_memory;
pub mod inspect;
mod local;
pub mod stages;

pub use in_memory::{Fit, InMemory, InMemoryError, InMemoryResult, Progress};
/// Thread time of a count by kind of work.
pub use keima_runs::TaskTimes;
pub use local::{LocalCluster, LocalConfig, LocalError};
