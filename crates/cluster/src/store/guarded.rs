//! redb behind a guard. At some damage redb panics, in its own code: when it opens a file, reads, writes, or closes it. Here a
//! panic becomes an error that says that the file is damaged. What unwinds without a text is no panic of redb and goes on: so
//! a simulated machine ends its threads when it dies. Cost: none that can be measured.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use redb::{Database, Error};

/// A database that is used and closed only behind the guard.
#[derive(Debug)]
pub(super) struct Guarded(Option<Database>);

impl Guarded {
    /// Opens a database.
    pub(super) fn open(open: impl FnOnce() -> Result<Database, Error>) -> Result<Self, Error> {
        Ok(Self(Some(guard(open)?)))
    }

    /// Reads or writes.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T, Error>) -> Result<T, Error> {
        // It is there until this is dropped.
        self.0.as_ref().map_or_else(|| Err(damaged()), |database| guard(|| work(database)))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let database = self.0.take();
        // Nothing is lost: all edits are durable, or in the log.
        let close = || {
            drop(database);
            Ok(())
        };
        if let Err(error) = guard(close) {
            tracing::warn!(%error, "redb could not close the coordinator's store");
        }
    }
}

fn guard<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        if panic.is::<String>() || panic.is::<&str>() { Err(damaged()) } else { resume_unwind(panic) }
    })
}

fn damaged() -> Error {
    Error::Corrupted("redb stopped at a page that makes no sense".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use redb::backends::InMemoryBackend;
    use redb::{StorageBackend, TableDefinition};

    use super::*;

    /// A file in memory. Once told, it panics at the next write, as redb does at a page that makes no sense.
    #[derive(Debug)]
    struct Fragile {
        file: InMemoryBackend,
        broken: Arc<AtomicBool>,
    }

    impl StorageBackend for Fragile {
        fn len(&self) -> Result<u64, std::io::Error> {
            self.file.len()
        }
        fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
            self.file.read(offset, out)
        }
        fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
            self.file.set_len(len)
        }
        fn sync_data(&self) -> Result<(), std::io::Error> {
            self.file.sync_data()
        }
        fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
            assert!(!self.broken.load(Ordering::Relaxed), "a page that makes no sense");
            self.file.write(offset, data)
        }
    }

    /// Each use of a database, and its end, may panic. The process goes on with an error.
    #[test]
    fn a_panic_is_an_error() {
        let text = |error: Error| error.to_string();
        let expected = text(damaged());
        assert_eq!(text(Guarded::open(|| panic!("damaged")).unwrap_err()), expected);
        let broken = Arc::new(AtomicBool::new(false));
        let backend = Fragile { file: InMemoryBackend::new(), broken: Arc::clone(&broken) };
        let guarded = Guarded::open(|| Ok(Database::builder().create_with_backend(backend)?)).unwrap();
        let write = |database: &Database| {
            let write = database.begin_write()?;
            write.open_table(TableDefinition::<u64, u64>::new("table"))?.insert(1, 2)?;
            Ok(write.commit()?)
        };
        guarded.with(write).unwrap();
        assert_eq!(text(guarded.with::<()>(|_| panic!("damaged")).unwrap_err()), expected);
        let other = catch_unwind(AssertUnwindSafe(|| guarded.with::<()>(|_| resume_unwind(Box::new(7)))));
        assert!(other.unwrap_err().is::<i32>(), "what is no panic goes on");
        // redb writes once more when it is closed.
        broken.store(true, Ordering::Relaxed);
        drop(guarded);
    }
}
