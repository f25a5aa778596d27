//! Counts on this machine: in memory, or with a coordinator and a worker in one process. Also forecasts counts, and reads
//! run files by themselves.
//!
//! Architecture invariant: nothing here uses gRPC. The processes of a cluster are in `keima-cluster`.

#![forbid(unsafe_code)]

pub mod estimate;
mod in_memory;
pub mod inspect;
mod local;
#[doc(hidden)]
pub mod probe;
pub mod stages;

pub use in_memory::{Fit, InMemory, InMemoryError, InMemoryResult, OtherSweeps, Progress};
/// Thread time of a count by kind of work.
pub use keima_runs::TaskTimes;
pub use local::{LocalCluster, LocalConfig, LocalError};
