//! What can go wrong, one case for each thing that a caller may want to treat differently.

use keima_cluster::LinkError;
use keima_coordinator::{Check, JobStatus};

use crate::access::AccessMismatch;

/// Any error of this crate. Its text says what happened, with the evidence, and what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Credentials that do not fit; nothing was sent.
    #[error(transparent)]
    Access(#[from] AccessMismatch),
    /// A text that names no job; nothing was sent.
    #[error("{0:?} is not the name of a job, such as j1; `keima jobs` lists them")]
    JobName(String),
    /// The coordinator refused the call, did not answer, or is not the one that is trusted. [`LinkError`] has the kinds.
    #[error(transparent)]
    Call(#[from] LinkError),
    /// The job has no number yet: it waits, runs, or is paused.
    #[error("job {} is {}{}: it has no number yet; Client::wait waits for it", .0.id, .0.state, because(.0))]
    NotFinished(Box<JobStatus>),
    /// A check failed, so the number is withheld.
    #[error("job {}: a check failed, and the number is withheld: {}", .0.id, evidence(.0))]
    CheckFailed(Box<JobStatus>),
    /// The job was cancelled.
    #[error("job {} was cancelled: it has no number; submit it again", .0.id)]
    Cancelled(Box<JobStatus>),
    /// The coordinator sent a result that makes no sense.
    #[error(
        "{what}: expected {expected}, got {got:?}; is that a coordinator of this version of keima? look at its log"
    )]
    Result {
        /// The field.
        what: String,
        /// What it should hold.
        expected: &'static str,
        /// The first letters of what it holds.
        got: String,
    },
}

impl Error {
    /// Whether the same call may succeed later by itself.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Call(error) => error.may_pass(),
            Self::NotFinished(_) => true,
            _ => false,
        }
    }

    /// The checks that failed, where that is the error.
    pub fn failed_checks(&self) -> Vec<&Check> {
        match self {
            Self::CheckFailed(status) => failed(status).collect(),
            _ => Vec::new(),
        }
    }
}

fn because(status: &JobStatus) -> String {
    if status.reason.is_empty() { String::new() } else { format!(" ({})", status.reason) }
}

fn failed(status: &JobStatus) -> impl Iterator<Item = &Check> {
    status.outcome.iter().flat_map(|outcome| &outcome.checks).filter(|check| !check.ok)
}

fn evidence(status: &JobStatus) -> String {
    let told: Vec<String> = failed(status).map(|check| format!("{}: {}", check.name, check.detail)).collect();
    if told.is_empty() { status.reason.clone() } else { told.join("; ") }
}
