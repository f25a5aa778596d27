//! The verbs of a cluster.
//!
//! ```text
//!   coordinator  keima coordinator
//!   worker       keima worker
//!   archive      the option --archive
//!   address      addresses that services listen on, and under which others reach them
//!   door         who may come in at a coordinator or worker
//!   client       submit, jobs, workers, status, watch, pause, resume, cancel, result
//!   people       owners, names and notes of jobs, and their list
//!   status       a job's status as text
//!   workers      the workers as text
//!   top          keima top
//! ```

mod address;
mod archive;
pub(crate) mod client;
pub(crate) mod coordinator;
mod door;
pub(crate) mod people;
mod status;
pub(crate) mod top;
pub(crate) mod worker;
mod workers;

use std::time::Duration;

use keima_coordinator::JobStatus;

/// How long a service may take to end its connections after it was asked to stop.
const CLOSING: Duration = Duration::from_secs(5);

/// Jobs as `jobs`, `status` and `top` show them.
pub(crate) fn shown(jobs: &[JobStatus]) -> String {
    let each = jobs.iter().map(status::status_text);
    std::iter::once(status::jobs_text(jobs)).chain(each).chain(top::lines(jobs)).collect()
}
