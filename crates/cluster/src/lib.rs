//! Everything between keima's state machine and the world: the store of its records, the gRPC services, the worker and
//! its scratch folder.
//!
//! ```text
//!   users ── JobClient ──> JobService ─┐                                      ┌─ engine, on threads of its own
//!                                      ├─> CoordinatorHandle ─> Journal ─> Store
//!   Worker ── GrpcLink ─> CoordinatorService ┘  (state machine)               └─ RunStore (scratch folder)
//!      │  └── or directly ─────────────────────────^                                 ^
//!      └── TaskFeeds ── RunService of another worker ────────────────────────────────┘
//! ```
//!
//! Architecture invariants: generated types do not leave this crate; the state machine behind it meets only checked
//! values; no answer leaves before what it tells is stored.

#![forbid(unsafe_code)]

mod driver;
pub mod failpoint;
mod folder_lock;
mod open_problems;
pub mod scratch;
mod store;
mod transfer;
mod transport;
mod worker;

pub use driver::{CoordinatorHandle, PULL_WAIT, StartError};
pub use open_problems::OpenProblems;
pub use scratch::ScratchError;
pub use scratch::run_store::RunStore;
pub use store::journal::JournalError;
pub use store::{STORE_FORMAT, Store, StoreError};
pub use transport::convert::ConvertError;
pub use transport::grpc::{GrpcLink, JobClient, JobWatch, ServeError, serve_coordinator, serve_worker_runs};
pub use transport::link::{Backoff, CoordinatorLink, LinkError, random_bits};
pub use worker::{NoTables, Promise, Tables, Worker, WorkerConfig, WorkerError};

/// Version of the protocol between coordinator, workers and users; peers of different versions refuse each other. Grows
/// with every change that an older peer would misunderstand.
pub const PROTOCOL_VERSION: u32 = 10;
