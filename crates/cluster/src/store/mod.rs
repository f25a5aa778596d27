//! The coordinator's records on disk: an embedded transactional store (redb) with a log in front of it.
//!
//! ```text
//!   DIR/coordinator.lock     locked (flock) while a coordinator lives, so that two cannot share a folder
//!   DIR/coordinator.redb     table "meta":    "format" -> version of this layout; "epoch" -> epoch of the valid log
//!                            table "records": key (text) -> value (bytes), both defined by the state machine
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

pub(crate) mod ended;
pub(crate) mod journal;
mod log;
mod orphan;
mod version;
mod watched;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use keima_runs::watch::{self, Change};

use self::log::Log;
use self::version::whole;
use self::watched::Watched;
use crate::folder_lock::{NoLock, lock_file, make_folder, remove_file_if_there};

/// Version of the store's layout. A store of another version is refused.
pub const STORE_FORMAT: u64 = 2;

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const RECORDS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("records");
const LOCK_FILE: &str = "coordinator.lock";
const FILE: &str = "coordinator.redb";
const LOG_FILE: &str = "coordinator.log";
/// A longer log is merged into redb.
const LONGEST_LOG_BYTES: u64 = 4 << 20;
/// Cache of redb, whose default is 1 GiB. Records are few and small.
const CACHE_BYTES: usize = 8 << 20;

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
    /// The store failed.
    #[error(
        "the store {path} failed: {text}; check the disk (full? read-only?), then start the coordinator again: it \
         resumes from the stored records"
    )]
    Database {
        /// The store.
        path: PathBuf,
        /// What happened.
        text: String,
    },
}

/// Changes in the order in which they were decided: `Some` puts a record, `None` deletes it.
pub(crate) type Edits = Vec<(String, Option<Vec<u8>>)>;

/// An open store. It holds the folder's lock.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    database: Database,
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
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES);
        let watched = watch::is_set().then(|| Watched::open(&path).map_err(io("open", &path))).transpose()?;
        let database = whole(|| {
            Ok(match watched {
                Some(backend) => builder.create_with_backend(backend)?,
                None => builder.create(&path)?,
            })
        });
        let database = database.map_err(|error| failed(&path, &error))?;
        let failed = |error: &redb::Error| failed(&path, error);
        match whole(|| meta(&database, "format")).map_err(|e| failed(&e))? {
            None => write_format(&database).map_err(|e| failed(&e))?,
            Some(STORE_FORMAT) => {}
            Some(got) => return Err(StoreError::OtherFormat { path, got: got.to_string() }),
        }
        let epoch = whole(|| meta(&database, "epoch")).map_err(|e| failed(&e))?.unwrap_or(0);
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
        let removed = [LOG_FILE, FILE, LOCK_FILE].iter().try_for_each(|file| remove_file_if_there(&folder.join(file)));
        removed.map_err(|source| StoreError::Io { action: "delete", path, source })?;
        drop(lock);
        // Fails, as it should, if something else is in it.
        let _ = std::fs::remove_dir(folder);
        Ok(())
    }

    /// All records, ordered by key.
    pub fn load(&self) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        whole(|| all_records(&self.database)).map_err(|e| failed(&self.path, &e))
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
        apply(&self.database, &self.pending, epoch).map_err(|e| failed(&self.path, &e))?;
        self.pending.clear();
        self.log.restart(epoch).map_err(|e| self.log_failed(e))?;
        self.epoch = epoch;
        Ok(())
    }

    fn log_failed(&self, source: io::Error) -> StoreError {
        StoreError::Io { action: "write", path: self.path.with_file_name(LOG_FILE), source }
    }
}

fn failed(path: &Path, error: &redb::Error) -> StoreError {
    let (path, text) = (path.to_owned(), error.to_string());
    let damaged = match error {
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

fn all_records(database: &Database) -> Result<Vec<(String, Vec<u8>)>, redb::Error> {
    let read = database.begin_read()?;
    let table = read.open_table(RECORDS)?;
    let mut records = Vec::new();
    for entry in table.iter()? {
        let (key, value) = entry?;
        records.push((key.value().to_owned(), value.value().to_vec()));
    }
    Ok(records)
}

fn meta(database: &Database, name: &str) -> Result<Option<u64>, redb::Error> {
    let read = database.begin_read()?;
    match read.open_table(META) {
        Ok(table) => Ok(table.get(name)?.map(|guard| guard.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn write_format(database: &Database) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    write.open_table(META)?.insert("format", STORE_FORMAT)?;
    write.open_table(RECORDS)?;
    write.commit()?;
    Ok(())
}

/// Writes `edits` and the epoch in one durable transaction.
fn apply(database: &Database, edits: &Edits, epoch: u64) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    write.open_table(META)?.insert("epoch", epoch)?;
    {
        let mut table = write.open_table(RECORDS)?;
        for (key, value) in edits {
            match value {
                Some(value) => drop(table.insert(key.as_str(), value.as_slice())?),
                None => drop(table.remove(key.as_str())?),
            }
        }
    }
    write.commit()?;
    Ok(())
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
