//! Who may come in: roles and their calls, secrets, certificates, and both ends of a guarded connection.
//!
//! ```text
//!   calls      the table: which role may call what, and how many bytes a call may have
//!   secret     tokens: read, made, compared; never shown
//!   identity   a server's certificate, and its fingerprint
//!   files      the folder that `keima coordinator --tls-init` makes
//!   door       a server's end: TLS or plain, and the tokens that it knows
//!   guard      the layer before all services: refuses a call before any byte of its message is read
//!   caller     what a server knows of one connection
//!   trust      whom a caller trusts
//!   connect    the caller's TLS connections
//!   pass       what a caller brings: trust and a token
//! ```
//!
//! Architecture invariants: a token travels over TLS only. A caller knows its server by fingerprint or by a CA file, never by
//! the CAs of the system. A service without credentials lets everybody do everything; its owner decides where it listens.

pub(crate) mod caller;
pub(crate) mod calls;
pub(crate) mod connect;
pub(crate) mod door;
pub(crate) mod files;
pub(crate) mod guard;
pub(crate) mod identity;
pub(crate) mod pass;
pub(crate) mod secret;
pub(crate) mod trust;

#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use tonic::metadata::MetadataValue;
use tonic::{Code, Status};

/// Metadata entry with the kind of a refusal.
pub(crate) const KIND: &str = "keima-error";

/// A refusal of a call, with its kind.
pub(crate) fn refusal(code: Code, kind: &'static str, text: impl Into<String>) -> Status {
    let mut status = Status::new(code, text);
    status.metadata_mut().insert(KIND, MetadataValue::from_static(kind));
    status
}

/// Why credentials cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The system refused.
    #[error("cannot {action} {path}: {source}; check that the file or folder exists and that keima may use it")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What came.
        #[source]
        source: io::Error,
    },
    /// A secret that is none.
    #[error("{path} has mode {mode:o}: every user of this machine can read the secret in it; run `chmod 600 {path}`")]
    Readable {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A file holds something else.
    #[error(
        "{path}: expected {expected}, got {got}; give the right file, or make new ones with --tls-init in a new folder"
    )]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
        /// What it holds; never a secret.
        got: String,
    },
    /// A text is no fingerprint.
    #[error("{0:?} is no fingerprint; expected sha256: and 64 hex digits, as the coordinator prints them")]
    Fingerprint(String),
    /// Two roles have one token.
    #[error("{0} and {1} have the same token, so a caller's role is not known; give each role its own")]
    SameToken(&'static str, &'static str),
    /// TLS refuses the certificate, its key, or the name.
    #[error("cannot set up TLS: {0}; check that certificate and key belong together")]
    Tls(String),
}

impl AccessError {
    fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
