//! The store's files, and the tables of its database.

use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::log::Edits;

/// Version of the store's layout. A store of another version is refused.
pub const STORE_FORMAT: u64 = 2;

pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
pub(super) const RECORDS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("records");
pub(super) const LOCK_FILE: &str = "coordinator.lock";
pub(super) const FILE: &str = "coordinator.redb";
/// A store that is being made.
pub(super) const NEW_FILE: &str = "coordinator.redb.new";
pub(super) const LOG_FILE: &str = "coordinator.log";
/// Cache of redb, whose default is 1 GiB. Records are few and small.
pub(super) const CACHE_BYTES: usize = 8 << 20;

pub(super) fn all_records(database: &Database) -> Result<Vec<(String, Vec<u8>)>, redb::Error> {
    let read = database.begin_read()?;
    let table = read.open_table(RECORDS)?;
    let mut records = Vec::new();
    for entry in table.iter()? {
        let (key, value) = entry?;
        records.push((key.value().to_owned(), value.value().to_vec()));
    }
    Ok(records)
}

pub(super) fn meta(database: &Database, name: &str) -> Result<Option<u64>, redb::Error> {
    let read = database.begin_read()?;
    match read.open_table(META) {
        Ok(table) => Ok(table.get(name)?.map(|guard| guard.value())),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

pub(super) fn write_format(database: &Database) -> Result<(), redb::Error> {
    let write = database.begin_write()?;
    write.open_table(META)?.insert("format", STORE_FORMAT)?;
    write.open_table(RECORDS)?;
    write.commit()?;
    Ok(())
}

/// Writes `edits` and the epoch in one durable transaction.
pub(super) fn apply(database: &Database, edits: &Edits, epoch: u64) -> Result<(), redb::Error> {
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
