//! The verbs of a cluster.
//!
//! ```text
//!   coordinator  keima coordinator
//!   worker       keima worker
//!   address      addresses that services listen on, and under which others reach them
//!   client       submit, jobs, status, watch, pause, resume, cancel, result
//!   status       a job's status as text and as JSON
//! ```

mod address;
pub(crate) mod client;
pub(crate) mod coordinator;
mod status;
pub(crate) mod worker;

use std::time::Duration;

/// How long a service may take to end its connections after it was asked to stop.
const CLOSING: Duration = Duration::from_secs(5);
