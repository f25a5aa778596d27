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

mod access;
mod archive;
mod driver;
pub mod failpoint;
mod folder_lock;
mod open_problems;
#[doc(hidden)]
pub mod probe;
mod resident;
pub mod scratch;
mod spans;
mod store;
mod transfer;
mod transport;
mod worker;
pub mod world;

pub use access::AccessError;
pub use access::calls::{CALLS, Call, Role};
pub use access::door::{Door, Tokens, Visitor};
pub use access::files::{certificate_files, make_tls_folder, tls_folder, token_file};
pub use access::identity::{Fingerprint, Identity};
pub use access::pass::Pass;
pub use access::secret::Secret;
pub use access::trust::Trust;
pub use archive::{Archive, ArchiveError};
pub use driver::{CoordinatorHandle, Overview, PULL_WAIT, StartError};
pub use open_problems::OpenProblems;
pub use resident::{peak_resident_bytes, resident_bytes};
pub use scratch::ScratchError;
pub use scratch::run_store::RunStore;
pub use spans::SPANS;
pub use store::journal::JournalError;
pub use store::{STORE_FORMAT, Store, StoreError};
pub use transport::convert::ConvertError;
pub use transport::convert::carry::{Answer, Call as CarriedCall, CallKind, CarryError};
pub use transport::grpc::{
    GrpcLink, JobClient, JobWatch, ServeError, coordinator_routes, serve_coordinator, serve_worker_runs, service_url,
    worker_routes,
};
pub use transport::link::{Backoff, CoordinatorLink, LinkError, random_bits};
pub use worker::{NoTables, Promise, RunGuard, Tables, Worker, WorkerConfig, WorkerError, WorkerSums, WorkerWatch};

/// Which build of keima this is: the version, and a hash of the sources that decide numbers, `"0.1.0+1f2e3d4c5b6a7988"`. The same
/// sources give the same build on every machine.
pub const BUILD: &str = env!("KEIMA_BUILD");

/// Version of the protocol between coordinator, workers and users. Peers of different versions refuse each other. Every
/// change that an older peer would misunderstand raises it.
pub const PROTOCOL_VERSION: u32 = 17;
