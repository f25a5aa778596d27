//! A lock file that keeps a second process out of a folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// A process that was just killed may still hold its locks for a moment.
const PATIENCE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(50);

/// Locks `file` for this process, and waits a little for a dying process to let go. Blocks: call it at the start only.
fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if started.elapsed() < PATIENCE => std::thread::sleep(AGAIN),
            other => return other,
        }
    }
}

/// Why a folder cannot be locked.
pub(crate) enum NoLock {
    /// Another process has it.
    InUse,
    /// The system refused. The text says what was tried.
    Io(&'static str, std::io::Error),
}

/// Locks the file `path` for this process until the returned file is closed. Makes the file if it is missing.
pub(crate) fn lock_file(path: &Path) -> Result<File, NoLock> {
    let options = OpenOptions::new().create(true).truncate(false).write(true).clone();
    let file = options.open(path).map_err(|e| NoLock::Io("open", e))?;
    match lock_soon(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(NoLock::InUse),
        Err(TryLockError::Error(source)) => Err(NoLock::Io("lock", source)),
    }
}

/// Removes a file if it exists.
pub(crate) fn remove_file_if_there(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
