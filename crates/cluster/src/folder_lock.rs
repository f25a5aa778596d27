//! The lock that keeps two processes out of one folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// A process that was killed a moment ago may still be on its way out, and its locks with it.
const PATIENCE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(50);

/// Locks `file` for this process, waiting a little for one that is just dying. Blocks; for the start of a process.
fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if started.elapsed() < PATIENCE => std::thread::sleep(AGAIN),
            other => return other,
        }
    }
}

/// Why a folder is not to be had.
pub(crate) enum NoLock {
    /// Another process has it.
    InUse,
    /// The system refused; what was tried.
    Io(&'static str, std::io::Error),
}

/// Makes the lock file `path` where it is missing, and takes it for this process as long as the file is open.
pub(crate) fn lock_file(path: &Path) -> Result<File, NoLock> {
    let options = OpenOptions::new().create(true).truncate(false).write(true).clone();
    let file = options.open(path).map_err(|e| NoLock::Io("open", e))?;
    match lock_soon(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(NoLock::InUse),
        Err(TryLockError::Error(source)) => Err(NoLock::Io("lock", source)),
    }
}

/// Removes a file if it is there.
pub(crate) fn remove_file_if_there(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
