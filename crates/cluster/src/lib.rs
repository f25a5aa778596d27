//! The coordinator's state machine as a service: its store, the gRPC services, the worker and its scratch folder.
//!
//! ```text
//!   users ── JobClient ──> JobService ─┐                                      ┌─ engine, on threads of its own
//!                                      ├─> CoordinatorHandle ─> Journal ─> Store
//!   Worker ── GrpcLink ─> CoordinatorService ┘  (state machine)               └─ RunStore (scratch folder)
//!      │  └── or directly ─────────────────────────^                                 ^
//!      └── TaskFeeds ── RunService of another worker ────────────────────────────────┘
//! ```
//!
//! Architecture invariants: generated types do not leave this crate. The state machine sees checked values only. No answer
//! leaves before everything that it tells is stored.

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

/// Version of the protocol between coordinator, workers and users. Peers of different versions refuse each other. Every
/// change that an older peer would misunderstand raises it.
pub const PROTOCOL_VERSION: u32 = 10;
