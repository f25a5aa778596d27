//! Why the coordinator's records cannot be read or written.

use std::io;
use std::path::{Path, PathBuf};

use super::layout::STORE_FORMAT;

/// Why the coordinator's records cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process uses the folder.
    #[error(
        "the data folder {0} is in use by another keima process; stop that one, or give this one a folder of its own \
         (--data DIR)"
    )]
    InUse(PathBuf),
    /// The folder cannot be made or opened.
    #[error("cannot {action} {path}: {source}; check that the data folder exists and is writable")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What came.
        #[source]
        source: io::Error,
    },
    /// The store was written by another version.
    #[error(
        "the records in {path} have format {got}, this program reads {STORE_FORMAT}; run the version of keima that \
         wrote them, or start with an empty data folder. Nothing was changed"
    )]
    OtherFormat {
        /// The store.
        path: PathBuf,
        /// Its version: a number, or that of redb's files.
        got: String,
    },
    /// The store is not the one that its log belongs to.
    #[error(
        "the jobs in {folder} are lost: coordinator.redb {what}, but coordinator.log is there. It holds {changes} later \
         changes, of {left}, and not the jobs themselves. Put coordinator.redb back from a copy. Without one, submit the jobs \
         again: start with an empty data folder and with workers on empty scratch folders (keima count: --fresh)"
    )]
    Lost {
        /// The data folder.
        folder: PathBuf,
        /// What is wrong with the store.
        what: &'static str,
        /// Changes in the log.
        changes: usize,
        /// The jobs that they belong to.
        left: String,
    },
    /// The store cannot be read any more: it was cut short, or overwritten.
    #[error(
        "the store {path} is damaged ({text}): its jobs, their progress and their results are lost, unless there is a copy \
         of the file. Put the copy back, or start over: `keima count` with --fresh, a coordinator with an empty --data \
         folder and its workers with empty --scratch folders"
    )]
    Damaged {
        /// The store.
        path: PathBuf,
        /// What is wrong with it.
        text: String,
    },
    /// The store's disk is full.
    #[error(
        "the store {path} has no room on its disk ({text}); free space there, then start again: it resumes from the stored records"
    )]
    Full {
        /// The store.
        path: PathBuf,
        /// What happened.
        text: String,
    },
    /// The store failed.
    #[error(
        "the store {path} failed: {text}; check the disk (read-only? broken?), then start the coordinator again: it \
         resumes from the stored records"
    )]
    Database {
        /// The store.
        path: PathBuf,
        /// What happened.
        text: String,
    },
}

impl StoreError {
    /// Whether room on the disk is all that is missing.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. }) || matches!(self, Self::Io { source, .. } if is_full(source))
    }
}

/// What an error of redb means for the store at `path`.
pub(super) fn failed(path: &Path, error: &redb::Error) -> StoreError {
    let (path, text) = (path.to_owned(), error.to_string());
    let damaged = match error {
        redb::Error::Io(error) if is_full(error) => return StoreError::Full { path, text },
        // redb has a format of its own. It takes a later one for damage, and says so in words only.
        redb::Error::UpgradeRequired(_) => return StoreError::OtherFormat { path, got: text },
        redb::Error::Corrupted(why) if why.contains("file format version") => {
            return StoreError::OtherFormat { path, got: text };
        }
        redb::Error::Corrupted(_) | redb::Error::RepairAborted => true,
        redb::Error::Io(error) => matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof),
        _ => false,
    };
    if damaged { StoreError::Damaged { path, text } } else { StoreError::Database { path, text } }
}

/// Whether the disk, or what its user may have of it, is full.
fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
