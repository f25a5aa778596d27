//! The lock that keeps two processes out of one folder.

use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// A process that was killed a moment ago may still be on its way out, and its locks with it.
const PATIENCE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(50);

/// Locks `file` for this process, waiting a little for one that is just dying. Blocks; for the start of a process.
pub(crate) fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if started.elapsed() < PATIENCE => std::thread::sleep(AGAIN),
            other => return other,
        }
    }
}
