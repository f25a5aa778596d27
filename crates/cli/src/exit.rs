//! Exit codes, and errors on their way to the user. The codes are documented in `keima --help`.

use keima_cluster::{LinkError, WorkerError};
use keima_coordinator::{CallError, State};
use keima_count::LocalError;
use keima_model::ProblemError;

use crate::result::Finished;

pub(crate) const OTHER: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const CHECK_FAILED: u8 = 3;
pub(crate) const INTERRUPTED: u8 = 4;
pub(crate) const CANCELLED: u8 = 5;

/// What ends the program, and how.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) code: u8,
    /// For stderr, what to do included; empty where all was said.
    pub(crate) text: String,
}

impl Failed {
    pub(crate) fn new(code: u8, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
    pub(crate) fn other(text: impl Into<String>) -> Self {
        Self::new(OTHER, text)
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

impl From<LocalError> for Failed {
    fn from(error: LocalError) -> Self {
        match &error {
            LocalError::Worker(WorkerError::Memory { .. }) => Self::usage(error.to_string()),
            LocalError::Worker(_) | LocalError::Start(_) => Self::other(error.to_string()),
        }
    }
}

/// How a job that has ended, or stands still, ends the program; `Ok` for a job that is done.
pub(crate) fn of(count: &Finished<'_>) -> Result<(), Failed> {
    let reason = if count.reason.is_empty() { String::new() } else { format!(": {}", count.reason) };
    let name = format!("{} {} ({})", count.problem, count.size, count.job);
    match count.state {
        State::Done => Ok(()),
        State::CheckFailed => {
            let mut text = format!("{name}: a check failed, and the number is withheld{reason}");
            for check in count.outcome.iter().flat_map(|o| &o.checks).filter(|c| !c.ok) {
                text += &format!("\n  {}: {}", check.name, check.detail);
            }
            text += "\nCount it again, on another machine if you can; if the same check fails again, please report it.";
            Err(Failed::new(CHECK_FAILED, text))
        }
        State::Cancelled => Err(Failed::new(CANCELLED, format!("{name} was cancelled{reason}"))),
        State::Paused => Err(Failed::new(INTERRUPTED, format!("{name} is paused{reason}"))),
        State::Queued | State::Running => Err(Failed::new(
            INTERRUPTED,
            format!("{name} is not done yet{reason}; keima watch {} follows it", count.job),
        )),
    }
}
