//! A client of keima's coordinator: submit jobs, watch and steer them, read results as integers.
//!
//! ```no_run
//! # async fn example() -> Result<(), keima::Error> {
//! let client = keima::Client::new("http://127.0.0.1:7700")?;
//! let job = client.submit(&keima::Job::new("go", "9x9")).await?;
//! let mut watch = client.watch(job);
//! while let Some(status) = watch.next().await? {
//!     println!("pass {} of {}, {} states", status.position.pass, status.position.passes, status.progress.states);
//! }
//! let counted = client.result(job).await?;
//! println!("{}", counted.count); // 103919148791293834318983090438798793469
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//!   client   Client: the calls, one connection
//!   job      Job: what to count, and within which limits
//!   watch    Watch: a job's statuses, also over restarts of the coordinator
//!   counted  Counted: a result, its numbers as integers
//!   access   Access: whom to trust, and the token to show
//!   error    Error
//! ```
//!
//! It runs within tokio. It is what the verbs of the program are made of, over the calls of `keima-cluster`: what comes from
//! outside is checked there. Jobs, statuses, plans and workers are the coordinator's own types, exported here.
//!
//! No call is ever repeated by itself, for each submission is a job of its own; only [`Watch`] connects again.

#![forbid(unsafe_code)]

mod access;
mod client;
mod counted;
mod error;
mod job;
mod watch;

pub use access::{Access, AccessMismatch, Setting};
pub use client::Client;
pub use counted::{Counted, Value};
pub use error::Error;
pub use job::{Job, job_id};
pub use watch::{News, Watch};

pub use keima_cluster::{AccessError, LinkError, Pass};
pub use keima_coordinator::{
    CallError, Check, Executor, JobFilter, JobId, JobPage, JobStatus, Outcome, Plan, Replan, Residue, State, Terms,
    TermsChange, WorkerStatus,
};
pub use keima_residue::Integer;
