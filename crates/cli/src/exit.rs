//! Exit codes and errors. `keima --help` documents the codes.

use keima::{AccessMismatch, Setting};
use keima_cluster::{LinkError, StartError, WorkerError};
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
            // What is stored goes on when there is room.
            LinkError::Full(_) => Self::new(INTERRUPTED, error.to_string()),
            _ => Self::other(error.to_string()),
        }
    }
}

/// The option of a setting.
fn option(setting: Setting) -> &'static str {
    match setting {
        Setting::Fingerprint => "--fingerprint",
        Setting::TlsCa => "--tls-ca",
        Setting::TokenFile => "--token-file",
    }
}

impl From<AccessMismatch> for Failed {
    fn from(error: AccessMismatch) -> Self {
        Self::usage(match error {
            AccessMismatch::PlainText { setting, url } => {
                let option = option(setting);
                format!(
                    "{option} is for TLS, and --coordinator {url} is plain text: write https:// if the coordinator speaks TLS, \
                     or leave {option} (and its variable, see --help) away"
                )
            }
            AccessMismatch::TwoTrusts => "--fingerprint and --tls-ca exclude each other: give one of them".to_owned(),
            AccessMismatch::NoTrust { url } => format!(
                "--coordinator {url}: TLS needs to know the coordinator: add --fingerprint SHA256, which the coordinator \
                 prints at its start, or --tls-ca FILE with the CA of its certificate"
            ),
            AccessMismatch::NoToken { url } => format!(
                "--coordinator {url}: add --token-file FILE with the token of your role: reader.token, client.token or \
                 worker.token of the coordinator's folder tls"
            ),
            AccessMismatch::Unusable(error) => error.to_string(),
        })
    }
}

impl From<keima::Error> for Failed {
    fn from(error: keima::Error) -> Self {
        match error {
            keima::Error::Access(error) => error.into(),
            keima::Error::Call(error) => error.into(),
            keima::Error::JobName(_) => Self::usage(error.to_string()),
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
            LocalError::Start(StartError::Store(store)) if store.is_full() => Self::new(INTERRUPTED, error.to_string()),
            LocalError::Worker(WorkerError::Link(LinkError::Full(_))) => Self::new(INTERRUPTED, error.to_string()),
            LocalError::Worker(_) | LocalError::Start(_) => Self::other(error.to_string()),
        }
    }
}
