//! A file that is read with positioned reads: its length is fixed when it is opened, and errors name its path.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use crate::RunError;

/// An open file, its path for messages, and its length in bytes.
#[derive(Debug)]
pub(super) struct Source {
    file: File,
    pub(super) place: String,
    pub(super) bytes: u64,
}

impl Source {
    /// Opens `path` for random access; refuses what is not a regular file.
    pub(super) fn open(path: &Path) -> Result<Self, RunError> {
        let file = File::open(path).map_err(RunError::io(path, "open"))?;
        let meta = file.metadata().map_err(RunError::io(path, "read the length of"))?;
        if !meta.is_file() {
            let source = io::Error::new(ErrorKind::InvalidInput, "it is not a regular file");
            return Err(RunError::io(path, "read a run from")(source));
        }
        let source = Self { file, place: path.display().to_string(), bytes: meta.len() };
        source.advise(0, 0, Advice::Random);
        Ok(source)
    }

    /// Gives the system a hint on `bytes` from `offset` on; 0 bytes mean the rest of the file. A refused hint is
    /// ignored.
    pub(super) fn advise(&self, offset: u64, bytes: u64, advice: Advice) {
        let _ = fadvise(&self.file, offset, NonZeroU64::new(bytes), advice);
    }

    /// Fills `buffer` from `offset` on. `what` names the part of the run in errors.
    pub(super) fn read(&self, what: &'static str, offset: u64, buffer: &mut [u8]) -> Result<(), RunError> {
        let expected = offset.saturating_add(buffer.len() as u64);
        let truncated = |got| RunError::Truncated { place: self.place.clone(), what, expected, got };
        if expected > self.bytes {
            return Err(truncated(self.bytes));
        }
        self.file.read_exact_at(buffer, offset).map_err(|source| {
            if source.kind() == ErrorKind::UnexpectedEof {
                truncated(self.file.metadata().map_or(0, |m| m.len()))
            } else {
                RunError::io(self.place.as_str(), "read")(source)
            }
        })
    }

    /// The error for contents that contradict each other, found at byte `at`.
    pub(super) fn malformed(&self, what: &'static str, at: u64) -> RunError {
        RunError::Malformed { place: self.place.clone(), what, at }
    }
}
