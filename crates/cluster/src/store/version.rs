//! Looks into a store without touching it, so that one of another version stays as it is.
//!
//! Opening a redb database writes: it marks the file as in use, repairs it after a kill, and a log is merged into it. So the
//! file is read into memory and opened there. Cost: the memory of the file, until the look is over.

use std::path::Path;

use redb::backends::InMemoryBackend;
use redb::{Database, StorageBackend as _};

use super::error::{StoreError, failed};
use super::guarded::Guarded;
use super::layout::{LOG_FILE, RECORDS, STORE_FORMAT, all_records, meta};
use super::log::peek;

/// Fails if the store at `path` is of another format. Returns its record `key`, as its log beside it has left it; `None`
/// where there is no such record, or no store that can be read.
pub(super) fn look(path: &Path, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) if !bytes.is_empty() => bytes,
        // No store; or one that cannot be opened either, which says more.
        _ => return Ok(None),
    };
    let failed = |error: &redb::Error| failed(path, error);
    let database = in_memory(bytes).map_err(|error| failed(&error))?;
    match database.with(|database| meta(database, "format")).map_err(|error| failed(&error))? {
        None => return Ok(None),
        Some(STORE_FORMAT) => {}
        Some(got) => return Err(StoreError::OtherFormat { path: path.to_owned(), got: got.to_string() }),
    }
    let epoch = database.with(|database| meta(database, "epoch")).map_err(|error| failed(&error))?.unwrap_or(0);
    let log_path = path.with_file_name(LOG_FILE);
    let log = peek(&log_path).map_err(|source| StoreError::Io { action: "read the log", path: log_path, source })?;
    let edits = log.filter(|log| log.epoch == epoch).map_or_else(Vec::new, |log| log.edits);
    if let Some((_, value)) = edits.into_iter().rev().find(|(edited, _)| edited == key) {
        return Ok(value);
    }
    database.with(|database| record(database, key)).map_err(|error| failed(&error))
}

/// Opens a copy of a store in memory.
fn in_memory(bytes: Vec<u8>) -> Result<Guarded, redb::Error> {
    let backend = InMemoryBackend::new();
    backend.set_len(bytes.len() as u64)?;
    backend.write(0, &bytes)?;
    drop(bytes);
    Guarded::open(backend)
}

/// The number of records in a store of these bytes, as [`super::Store::open`] and [`super::Store::load`] read it.
pub(super) fn probe(bytes: &[u8]) -> Result<usize, redb::Error> {
    let database = in_memory(bytes.to_vec())?;
    database.with(|database| {
        if meta(database, "format")? == Some(STORE_FORMAT) { Ok(all_records(database)?.len()) } else { Ok(0) }
    })
}

fn record(database: &Database, key: &str) -> Result<Option<Vec<u8>>, redb::Error> {
    use redb::ReadableDatabase as _;
    let table = match database.begin_read()?.open_table(RECORDS) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(table.get(key)?.map(|value| value.value().to_vec()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::store::{FILE, Store};

    fn put(value: u8) -> crate::store::Edits {
        vec![("meta/version".to_owned(), Some(vec![value]))]
    }

    /// Where the record was written last: in the store, in a log that nobody has merged, or in both. The store is one that a
    /// killed process has left.
    #[test]
    fn a_look_sees_what_opening_would_see_and_changes_nothing() {
        for (writes, expected) in [
            (&[][..], None),
            (&[(1, true)], Some(vec![1])),
            (&[(1, false)], Some(vec![1])),
            (&[(1, true), (2, false)], Some(vec![2])),
            (&[(1, false), (2, true)], Some(vec![2])),
        ] {
            let (dir, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let mut store = Store::open(dir.path()).unwrap();
            for &(value, durable) in writes {
                store.write(put(value), durable).unwrap();
            }
            for file in [FILE, LOG_FILE] {
                std::fs::copy(dir.path().join(file), killed.path().join(file)).unwrap();
            }
            drop(store);
            let read = || [FILE, LOG_FILE].map(|file| std::fs::read(killed.path().join(file)).unwrap());
            let before = read();
            assert_eq!(Store::look(killed.path(), "meta/version").unwrap(), expected, "{writes:?}");
            assert!(read() == before, "{writes:?}: something was written");
            let records = Store::open(killed.path()).unwrap().load().unwrap();
            assert_eq!(records.into_iter().next().map(|(_, value)| value), expected, "{writes:?}");
        }
        assert_eq!(Store::look(Path::new("/nowhere"), "meta/version").unwrap(), None);
    }
}
