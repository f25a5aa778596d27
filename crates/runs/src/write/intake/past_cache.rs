//! Writes a file that nobody is about to read: past the system's cache (`O_DIRECT`), where the file system allows it.
//!
//! ```text
//!   bytes --> aligned pieces of 1 MiB --> O_DIRECT
//!             at the end: whole pages the same way, the rest through the cache
//! ```
//!
//! Writing through the cache takes processor time from the tasks, and pages from files that are about to be read.
//! Where a file system refuses direct writes, or these offsets or lengths, the file is written like any other.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::{OFlags, fcntl_setfl};

use crate::RunError;
use crate::watch::{self, Change};

/// Alignment in memory and in the file. Disks have blocks of 512 or 4096 bytes.
const ALIGN: usize = 4096;
/// Bytes per write.
const PIECE_BYTES: usize = 1 << 20;

/// A file being written.
#[derive(Debug)]
pub(super) struct PastCache {
    file: File,
    path: PathBuf,
    direct: bool,
    /// Buffer for one piece, which begins at `start`, aligned.
    room: Vec<u8>,
    start: usize,
    filled: usize,
    written: u64,
}

impl PastCache {
    /// Creates `path`, which must not exist.
    pub(super) fn create(path: PathBuf) -> Result<Self, RunError> {
        let file = watch::before(Change::Create(&path))
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path));
        let file = file.map_err(RunError::io(&path, "create"))?;
        let room = vec![0; PIECE_BYTES + ALIGN];
        let start = room.as_ptr().align_offset(ALIGN).min(ALIGN);
        let direct = fcntl_setfl(&file, OFlags::DIRECT).is_ok();
        Ok(Self { file, path, direct, room, start, filled: 0, written: 0 })
    }

    /// Writes `bytes` at the end.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), RunError> {
        while !bytes.is_empty() {
            let (some, rest) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.filled));
            let at = self.start + self.filled;
            self.room[at..at + some.len()].copy_from_slice(some);
            self.filled += some.len();
            bytes = rest;
            if self.filled == PIECE_BYTES {
                self.flush(PIECE_BYTES)?;
            }
        }
        Ok(())
    }

    /// Writes the rest and flushes the file to stable storage. Returns its path.
    pub(super) fn finish(mut self) -> Result<PathBuf, RunError> {
        self.flush(self.filled / ALIGN * ALIGN)?;
        self.through_cache()?;
        self.flush(self.filled)?;
        let synced = watch::before(Change::Sync(&self.path)).and_then(|()| self.file.sync_all());
        synced.map_err(RunError::io(&self.path, "flush"))?;
        Ok(self.path)
    }

    /// Writes the first `bytes` of the buffer.
    fn flush(&mut self, bytes: usize) -> Result<(), RunError> {
        let written = &self.room[self.start..self.start + bytes];
        watch::before(Change::Write { path: &self.path, offset: self.written, bytes: written })
            .map_err(RunError::io(&self.path, "write"))?;
        let mut done = self.file.write_all_at(&self.room[self.start..self.start + bytes], self.written);
        if self.direct && done.as_ref().is_err_and(|error| error.kind() == ErrorKind::InvalidInput) {
            self.through_cache()?;
            done = self.file.write_all_at(&self.room[self.start..self.start + bytes], self.written);
        }
        done.map_err(RunError::io(&self.path, "write"))?;
        self.written += bytes as u64;
        self.room.copy_within(self.start + bytes..self.start + self.filled, self.start);
        self.filled -= bytes;
        Ok(())
    }

    fn through_cache(&mut self) -> Result<(), RunError> {
        if std::mem::take(&mut self.direct) {
            let set = fcntl_setfl(&self.file, OFlags::empty());
            set.map_err(|error| RunError::io(&self.path, "write")(error.into()))?;
        }
        Ok(())
    }
}
