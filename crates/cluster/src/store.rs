//! The coordinator's records on disk: one embedded transactional store in its data folder.
//!
//! ```text
//!   DIR/coordinator.lock     held (flock) while a coordinator lives: two cannot share a folder
//!   DIR/coordinator.redb     table "meta":    "format" -> version of this layout
//!                            table "records": key (text) -> value (bytes); both are the state machine's business
//! ```
//!
//! A commit is atomic and, once [`Store::apply`] returns, survives a kill or a power cut (redb's
//! `Durability::Immediate`; its weaker level is lost with the process and is not used). Cost: one fsync a commit, 2 to
//! 5 ms on a plain disk, which is why `journal` puts several events into one commit.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::folder_lock::{NoLock, lock_file, remove_file_if_there};

/// Version of the layout of the store; a store of another version is refused.
pub const STORE_FORMAT: u64 = 1;

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const RECORDS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("records");
const LOCK_FILE: &str = "coordinator.lock";
const FILE: &str = "coordinator.redb";
/// Records are few and small; redb would take a gibibyte by default.
const CACHE_BYTES: usize = 8 << 20;

/// Why the coordinator's records cannot be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the folder.
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
         wrote them, or start with an empty data folder"
    )]
    OtherFormat {
        /// The store.
        path: PathBuf,
        /// Its version.
        got: u64,
    },
    /// The store failed.
    #[error(
        "the store {path} failed: {text}; check the disk (full? read-only?), then start the coordinator again: it goes \
         on from what is stored"
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

/// An open store; the folder is locked as long as it lives.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    database: Database,
    _lock: File,
}

impl Store {
    /// Opens the store in `folder`, which is made where it is missing.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { action, path, source }
        };
        std::fs::create_dir_all(folder).map_err(io("make", folder))?;
        let lock = lock(folder)?;
        let path = folder.join(FILE);
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create(&path)
            .map_err(|e| StoreError::Database { path: path.clone(), text: e.to_string() })?;
        let store = Self { path, database, _lock: lock };
        match store.format().map_err(|e| store.failed(&e))? {
            None => store.write_format().map_err(|e| store.failed(&e))?,
            Some(STORE_FORMAT) => {}
            Some(got) => return Err(StoreError::OtherFormat { path: store.path, got }),
        }
        Ok(store)
    }

    /// Deletes the records in `folder`, if there are any and nobody uses them, and the folder if nothing else is in it.
    pub(crate) fn forget(folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(FILE);
        if !folder.exists() {
            return Ok(());
        }
        let lock = lock(folder)?;
        let removed = remove_file_if_there(&path).and_then(|()| remove_file_if_there(&folder.join(LOCK_FILE)));
        removed.map_err(|source| StoreError::Io { action: "delete", path, source })?;
        drop(lock);
        // If nothing else is in it.
        let _ = std::fs::remove_dir(folder);
        Ok(())
    }

    fn failed(&self, error: &redb::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), text: error.to_string() }
    }

    fn format(&self) -> Result<Option<u64>, redb::Error> {
        let read = self.database.begin_read()?;
        match read.open_table(META) {
            Ok(table) => Ok(table.get("format")?.map(|guard| guard.value())),
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn write_format(&self) -> Result<(), redb::Error> {
        let write = self.database.begin_write()?;
        write.open_table(META)?.insert("format", STORE_FORMAT)?;
        write.open_table(RECORDS)?;
        write.commit()?;
        Ok(())
    }

    /// All records, in order of their keys.
    pub fn load(&self) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let load = || -> Result<_, redb::Error> {
            let read = self.database.begin_read()?;
            let table = read.open_table(RECORDS)?;
            let mut records = Vec::new();
            for entry in table.iter()? {
                let (key, value) = entry?;
                records.push((key.value().to_owned(), value.value().to_vec()));
            }
            Ok(records)
        };
        load().map_err(|e| self.failed(&e))
    }

    /// Applies `edits`, the later over the earlier, in one durable transaction.
    pub(crate) fn apply(&self, edits: &Edits) -> Result<(), StoreError> {
        let apply = || -> Result<(), redb::Error> {
            let write = self.database.begin_write()?;
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
        };
        apply().map_err(|e| self.failed(&e))
    }
}

/// Takes a data folder for this process.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK_FILE);
    lock_file(&path).map_err(|error| match error {
        NoLock::InUse => StoreError::InUse(folder.to_owned()),
        NoLock::Io(action, source) => StoreError::Io { action, path, source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str, value: &str) -> (String, Option<Vec<u8>>) {
        (key.to_owned(), Some(value.as_bytes().to_vec()))
    }

    #[test]
    fn records_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        assert!(store.load().unwrap().is_empty());
        store.apply(&vec![put("b", "1"), put("a", "2"), put("c", "3")]).unwrap();
        store.apply(&vec![("b".to_owned(), None), put("a", "4"), put("a", "5")]).unwrap();
        drop(store);
        let records = Store::open(dir.path()).unwrap().load().unwrap();
        assert_eq!(records, [("a".to_owned(), b"5".to_vec()), ("c".to_owned(), b"3".to_vec())]);
    }

    #[test]
    fn a_folder_has_one_coordinator() {
        let dir = tempfile::tempdir().unwrap();
        let _store = Store::open(dir.path()).unwrap();
        let error = Store::open(dir.path()).unwrap_err();
        assert!(matches!(error, StoreError::InUse(_)), "{error}");
        assert!(error.to_string().contains("--data"));
    }

    #[test]
    fn records_in_use_are_not_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, foreign) = (dir.path().join("state"), dir.path().join("state/notes.txt"));
        let store = Store::open(&folder).unwrap();
        assert!(matches!(Store::forget(&folder).unwrap_err(), StoreError::InUse(_)));
        drop(store);
        std::fs::write(&foreign, "mine").unwrap();
        Store::forget(&folder).unwrap();
        assert!(foreign.exists() && !folder.join(FILE).exists());
        std::fs::remove_file(foreign).unwrap();
        drop(Store::open(&folder).unwrap());
        Store::forget(&folder).unwrap();
        assert!(!folder.exists());
        Store::forget(&folder).unwrap();
    }

    #[test]
    fn another_format_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let write = store.database.begin_write().unwrap();
        write.open_table(META).unwrap().insert("format", 99).unwrap();
        write.commit().unwrap();
        drop(store);
        let error = Store::open(dir.path()).unwrap_err();
        assert!(matches!(error, StoreError::OtherFormat { got: 99, .. }), "{error}");
    }

    #[test]
    fn a_store_that_is_none_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("coordinator.redb"), b"not a store at all").unwrap();
        assert!(matches!(Store::open(dir.path()).unwrap_err(), StoreError::Database { .. }));
    }
}
