//! Exit codes and errors. `keima --help` documents the codes.

use keima_cluster::{LinkError, WorkerError};
use keima_coordinator::CallError;
use keima_count::{LocalError, OtherSweeps};
use keima_model::ProblemError;

pub(crate) const OTHER: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const CHECK_FAILED: u8 = 3;
pub(crate) const INTERRUPTED: u8 = 4;
pub(crate) const CANCELLED: u8 = 5;
pub(crate) const REFUSED: u8 = 6;

/// An error that ends the program.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) code: u8,
    /// Printed to stderr. It says what to do next; empty if all was said before.
    pub(crate) text: String,
    /// Whether nobody got what was printed: there is no use in printing more.
    pub(crate) is_not_printed: bool,
}

impl Failed {
    pub(crate) fn new(code: u8, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), is_not_printed: false }
    }
    pub(crate) fn other(text: impl Into<String>) -> Self {
        Self::new(OTHER, text)
    }
    /// Standard output takes nothing.
    pub(crate) fn not_printed(text: impl Into<String>) -> Self {
        Self { is_not_printed: true, ..Self::other(text) }
    }
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::new(USAGE, text)
    }
}

impl From<ProblemError> for Failed {
    fn from(error: ProblemError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<LinkError> for Failed {
    fn from(error: LinkError) -> Self {
        match &error {
            LinkError::Call(CallError::Invalid(_) | CallError::NoSuchJob(_)) => Self::usage(error.to_string()),
            _ => Self::other(error.to_string()),
        }
    }
}

impl From<WorkerError> for Failed {
    fn from(error: WorkerError) -> Self {
        let text = error.to_string();
        match error {
            WorkerError::Memory { .. } => Self::usage(text),
            // Starting again as it is leads to the same answer.
            WorkerError::Link(error) if !error.may_pass() => Self::new(REFUSED, text),
            WorkerError::Link(_) | WorkerError::Scratch(_) => Self::other(text),
        }
    }
}

impl From<OtherSweeps> for Failed {
    fn from(error: OtherSweeps) -> Self {
        Self::other(error.to_string())
    }
}

impl From<LocalError> for Failed {
    fn from(error: LocalError) -> Self {
        match &error {
            LocalError::Worker(WorkerError::Memory { .. }) => Self::usage(error.to_string()),
            LocalError::Worker(_) | LocalError::Start(_) => Self::other(error.to_string()),
        }
    }
}
