//! What people and monitors see of a running coordinator or worker, over HTTP: read-only.
//!
//! ```text
//!   serve        connections: TLS, limits, the end
//!   guard        who may read; what every answer says to browsers
//!   coordinator  the coordinator's routes: page, API, events, metrics, health
//!   worker       the worker's routes: metrics and health
//!   snapshot     the coordinator at one moment, asked for at most twice a second, however many look
//!   events       server-sent events
//!   page         the page, made here, readable without JavaScript
//!   metrics      the same for Prometheus
//!   json         the shapes of the API and of `keima status --json`
//!   board, share, units   a job's cells; how much of it is done; numbers as text
//! ```
//!
//! Architecture invariants: nothing here changes anything. Only GET and HEAD are answered. What is asked of the coordinator
//! does not grow with the number of readers, and nothing runs while nobody reads.

#![forbid(unsafe_code)]

pub mod board;
mod coordinator;
mod events;
mod guard;
pub mod json;
mod metrics;
mod page;
#[doc(hidden)]
pub mod probe;
mod serve;
pub mod share;
mod snapshot;
pub mod units;
mod worker;

pub use coordinator::{CoordinatorSite, OPENAPI, coordinator_routes};
pub use serve::{Site, serve};
pub use worker::worker_routes;
