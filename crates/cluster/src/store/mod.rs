//! The coordinator's records on disk: an embedded transactional store (redb) with a log in front of it.
//!
//! ```text
//!   DIR/coordinator.lock     locked (flock) while a coordinator lives, so that two cannot share a folder
//!   DIR/coordinator.redb     table "meta":    "format" -> version of this layout; "epoch" -> epoch of the valid log
//!                            table "records": key (text) -> value (bytes), both defined by the state machine
//!   DIR/coordinator.redb.new  a store that is being made; it gets its name when it is whole
//!   DIR/coordinator.log      edits since the last transaction (see `log`)
//!   DIR/ended                jobs that have left the store, a file each (see `ended`)
//! ```
//!
//! [`Store::write`] returns when its edits survive a kill of the process, and a power cut if they are durable. Other edits
//! go to the log without an fsync. Durable edits go into redb (`Durability::Immediate`), in one transaction with
//! everything in the log. The same transaction raises the epoch, and the log starts again under the new epoch.
//! [`Store::sync`] makes the log durable; the owner calls it soon after, when nobody waits. So after a power cut the
//! records are those of one moment, not earlier than the last durable write.
//!
//! Why not redb alone: a commit with `Durability::None` stays in the process and is lost with it. A commit with
//! `Durability::Immediate` costs an fsync for each grant and each task. docs/design/store.md has figures.
//!
//! Cost: one write to the page cache, or one fsync for a durable write.

mod checked;
pub(crate) mod ended;
mod error;
mod file;
mod guarded;
pub(crate) mod journal;
mod layout;
mod log;
mod orphan;
mod version;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use keima_runs::watch::{self, Change};

pub use self::error::StoreError;
use self::error::failed;
use self::file::StoreFile;
use self::guarded::Guarded;
pub use self::layout::STORE_FORMAT;
use self::layout::{FILE, LOCK_FILE, LOG_FILE, NEW_FILE, all_records, apply, meta, write_format};
pub(crate) use self::log::Edits;
use self::log::Log;
use crate::folder_lock::{NoLock, lock_file, make_folder, remove_file_if_there};

/// A longer log is merged into redb.
const LONGEST_LOG_BYTES: u64 = 4 << 20;
/// An open store. It holds the folder's lock.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    database: Guarded,
    epoch: u64,
    log: Log,
    /// The edits in the log.
    pending: Edits,
    _lock: File,
}

impl Store {
    /// Opens the store in `folder`, and makes the folder if it is missing.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { action, path, source }
        };
        make_folder(folder).map_err(io("make", folder))?;
        let lock = lock(folder)?;
        orphan::refuse_without_store(folder)?;
        let path = folder.join(FILE);
        if !path.exists() {
            make(folder, &path)?;
        }
        let file = StoreFile::open(&path).map_err(io("open", &path))?;
        let database = Guarded::open(file);
        let database = database.map_err(|error| failed(&path, &error))?;
        let failed = |error: &redb::Error| failed(&path, error);
        match database.with(|database| meta(database, "format")).map_err(|e| failed(&e))? {
            // A version that did not make stores under another name was cut off here.
            None => database.with(write_format).map_err(|e| failed(&e))?,
            Some(STORE_FORMAT) => {}
            Some(got) => return Err(StoreError::OtherFormat { path, got: got.to_string() }),
        }
        let epoch = database.with(|database| meta(database, "epoch")).map_err(|e| failed(&e))?.unwrap_or(0);
        orphan::refuse_older_store(folder, epoch)?;
        let log_path = folder.join(LOG_FILE);
        let (log, pending) = Log::open(&log_path, epoch).map_err(io("open the log", &log_path))?;
        // Without it a power cut may take the files away that were just made, with all that is synced in them.
        let synced = watch::before(Change::SyncFolder(folder)).and_then(|()| File::open(folder)?.sync_all());
        synced.map_err(io("sync", folder))?;
        let mut store = Self { path, database, epoch, log, pending, _lock: lock };
        if !store.pending.is_empty() {
            store.merge_log()?;
        }
        Ok(store)
    }

    /// The record `key` of the store in `folder`; `None` where there is none. Changes nothing, and refuses the store of another
    /// version.
    pub fn look(folder: &Path, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        version::look(&folder.join(FILE), key)
    }

    /// Fails if another process uses the store in `folder`. Makes nothing.
    pub fn check_free(folder: &Path) -> Result<(), StoreError> {
        if folder.join(LOCK_FILE).exists() { lock(folder).map(drop) } else { Ok(()) }
    }

    /// Deletes the records in `folder`, and the folder if nothing else is in it. Fails if another process uses them.
    pub fn forget(folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(FILE);
        if !folder.exists() {
            return Ok(());
        }
        let lock = lock(folder)?;
        let removed =
            [LOG_FILE, FILE, NEW_FILE, LOCK_FILE].iter().try_for_each(|file| remove_file_if_there(&folder.join(file)));
        removed.map_err(|source| StoreError::Io { action: "delete", path, source })?;
        drop(lock);
        // Fails, as it should, if something else is in it.
        let _ = std::fs::remove_dir(folder);
        Ok(())
    }

    /// All records, ordered by key.
    pub fn load(&self) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.database.with(all_records).map_err(|e| failed(&self.path, &e))
    }

    /// Applies `edits` in order, all or none. They survive the process when this returns. If `durable`, they and all
    /// earlier edits survive a power cut too.
    pub(crate) fn write(&mut self, edits: Edits, durable: bool) -> Result<(), StoreError> {
        if durable {
            self.pending.extend(edits);
            return self.merge_log();
        }
        self.log.append(&edits).map_err(|e| self.log_failed(e))?;
        self.pending.extend(edits);
        if self.log.bytes() > LONGEST_LOG_BYTES { self.merge_log() } else { Ok(()) }
    }

    /// Makes all edits so far durable.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        self.log.sync().map_err(|e| self.log_failed(e))
    }

    /// Whether some edits may not be durable yet.
    pub(crate) fn is_to_be_synced(&self) -> bool {
        self.log.is_dirty()
    }

    /// Writes all pending edits to redb in one durable transaction, and starts the log again.
    fn merge_log(&mut self) -> Result<(), StoreError> {
        let epoch = self.epoch + 1;
        let applied = self.database.with(|database| apply(database, &self.pending, epoch));
        applied.map_err(|e| failed(&self.path, &e))?;
        self.pending.clear();
        self.log.restart(epoch).map_err(|e| self.log_failed(e))?;
        self.epoch = epoch;
        Ok(())
    }

    fn log_failed(&self, source: io::Error) -> StoreError {
        StoreError::Io { action: "write", path: self.path.with_file_name(LOG_FILE), source }
    }
}

/// Makes an empty store under another name first: a full disk or a kill leaves none that looks damaged.
fn make(folder: &Path, path: &Path) -> Result<(), StoreError> {
    let new = folder.join(NEW_FILE);
    let io = |action| {
        let path = new.clone();
        move |source| StoreError::Io { action, path, source }
    };
    remove_file_if_there(&new).map_err(io("delete"))?;
    let database = Guarded::open(StoreFile::open(&new).map_err(io("make"))?).map_err(|error| failed(&new, &error))?;
    database.with(write_format).map_err(|error| failed(&new, &error))?;
    drop(database);
    let renamed = watch::before(Change::Rename { from: &new, to: path }).and_then(|()| std::fs::rename(&new, path));
    renamed.map_err(io("rename"))
}

/// Locks a data folder for this process.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK_FILE);
    lock_file(&path).map_err(|error| match error {
        NoLock::InUse => StoreError::InUse(folder.to_owned()),
        NoLock::Io(action, source) => StoreError::Io { action, path, source },
    })
}

/// The number of edits that count in a log with these bytes.
pub(crate) fn probe_log(bytes: &[u8]) -> usize {
    log::edits(bytes).map_or(0, |peek| peek.edits.len())
}

/// The number of records in a store of these bytes, which is opened in memory; `None` if it is none.
pub(crate) fn probe_file(bytes: &[u8]) -> Option<usize> {
    version::probe(bytes).ok()
}

#[cfg(test)]
mod tests;
