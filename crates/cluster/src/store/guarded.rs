//! redb behind a guard. At some damage redb panics, in its own code: when it opens a file, reads, writes, or closes it. Here a
//! panic becomes an error that says that the file is damaged. What unwinds without a text is no panic of redb and goes on: so
//! a simulated machine ends its threads when it dies.
//!
//! A panic of redb can lead to a second one while it cleans up, and two end the process. So damage is found before anything is
//! used: all checksums are compared when a file is opened. A file that is not sound is closed without writing to it.
//!
//! Cost: each page is read once when a file is opened.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{Database, Error};

/// A database that is used and closed only behind the guard.
#[derive(Debug)]
pub(super) struct Guarded {
    database: Option<Database>,
    /// Whether nothing has failed so far.
    is_sound: AtomicBool,
}

impl Guarded {
    /// Opens a database. Fails if a checksum is wrong, or if redb had to change anything.
    pub(super) fn open(open: impl FnOnce() -> Result<Database, Error>) -> Result<Self, Error> {
        let database = guard(open)?;
        let mut guarded = Self { database: Some(database), is_sound: AtomicBool::new(false) };
        let checked = guarded.database.as_mut().map_or(Ok(false), |database| guard(|| Ok(database.check_integrity()?)));
        if !checked? {
            return Err(damaged());
        }
        guarded.is_sound.store(true, Ordering::Relaxed);
        Ok(guarded)
    }

    /// Reads or writes.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T, Error>) -> Result<T, Error> {
        // It is there until this is dropped.
        let done = self.database.as_ref().map_or_else(|| Err(damaged()), |database| guard(|| work(database)));
        if done.is_err() {
            self.is_sound.store(false, Ordering::Relaxed);
        }
        done
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let (database, is_sound) = (self.database.take(), self.is_sound.load(Ordering::Relaxed));
        // Nothing is lost: all edits are durable, or in the log.
        let close = || {
            let _closed = database;
            // redb writes nothing when it is closed while something unwinds.
            if is_sound { Ok(()) } else { resume_unwind(Box::new("closed without writing")) }
        };
        if let Err(error) = guard(close)
            && is_sound
        {
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

    use keima_model::mix::split_mix;
    use redb::backends::InMemoryBackend;
    use redb::{ReadableDatabase as _, StorageBackend, TableDefinition};

    use super::*;

    /// A file in memory, which outlives its database. Once told, it panics at the next write, as redb does at a page that makes
    /// no sense.
    #[derive(Clone, Debug)]
    struct TestFile {
        file: Arc<InMemoryBackend>,
        broken: Arc<AtomicBool>,
        /// Whether something was to be written since then.
        tried: Arc<AtomicBool>,
    }

    impl TestFile {
        fn new() -> Self {
            Self { file: Arc::new(InMemoryBackend::new()), broken: Arc::default(), tried: Arc::default() }
        }
        fn open(&self) -> Result<Guarded, Error> {
            let file = self.clone();
            Guarded::open(|| Ok(Database::builder().set_cache_size(1 << 16).create_with_backend(file)?))
        }
    }

    impl StorageBackend for TestFile {
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
            if self.broken.load(Ordering::Relaxed) {
                self.tried.store(true, Ordering::Relaxed);
                panic!("a page that makes no sense");
            }
            self.file.write(offset, data)
        }
    }

    /// Each use of a database, and its end, may panic. The process goes on with an error.
    #[test]
    fn a_panic_is_an_error() {
        let text = |error: Error| error.to_string();
        let expected = text(damaged());
        assert_eq!(text(Guarded::open(|| panic!("damaged")).unwrap_err()), expected);
        let file = TestFile::new();
        let guarded = file.open().unwrap();
        let write = |database: &Database| {
            let write = database.begin_write()?;
            write.open_table(TableDefinition::<u64, u64>::new("table"))?.insert(1, 2)?;
            Ok(write.commit()?)
        };
        guarded.with(write).unwrap();
        assert_eq!(text(guarded.with::<()>(|_| panic!("damaged")).unwrap_err()), expected);
        let other = catch_unwind(AssertUnwindSafe(|| guarded.with::<()>(|_| resume_unwind(Box::new(7)))));
        assert!(other.unwrap_err().is::<i32>(), "what is no panic goes on");
        // After an error nothing is written when it is closed; else redb writes once more.
        let other = TestFile::new();
        let sound = other.open().unwrap();
        for (file, guarded, writes) in [(file, guarded, false), (other, sound, true)] {
            file.broken.store(true, Ordering::Relaxed);
            drop(guarded);
            assert_eq!(file.tried.load(Ordering::Relaxed), writes);
        }
    }

    /// One flipped bit anywhere in a file is found, or changes nothing that can be read.
    #[test]
    fn flipped_bits_are_found() {
        const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("table");
        let file = TestFile::new();
        // Three commits: some pages have been freed.
        let database = file.open().unwrap();
        for number in 0..3 {
            let write = |database: &Database| {
                let write = database.begin_write()?;
                write.open_table(TABLE)?.insert(number, &[7; 3000][..])?;
                Ok(write.commit()?)
            };
            database.with(write).unwrap();
        }
        drop(database);
        let mut sound = vec![0; file.len().unwrap() as usize];
        file.read(0, &mut sound).unwrap();
        let seed = 20_261_130;
        let mut state = seed;
        let mut refused = 0;
        for page in 0..sound.len() / 512 {
            let mut damaged = sound.clone();
            damaged[page * 512 + (split_mix(&mut state) % 512) as usize] ^= 1 << (split_mix(&mut state) % 8);
            let file = TestFile::new();
            file.set_len(damaged.len() as u64).unwrap();
            file.write(0, &damaged).unwrap();
            let Ok(database) = file.open() else {
                refused += 1;
                continue;
            };
            let read = database.with(|database| {
                let table = database.begin_read()?.open_table(TABLE)?;
                Ok((0..3).map(|number| table.get(number).ok()?.map(|value| value.value() == [7; 3000])).collect())
            });
            let values: Vec<Option<bool>> = read.unwrap();
            assert_eq!(values, [Some(true); 3], "seed {seed}: page {page}");
        }
        assert!(refused > 3, "seed {seed}: {refused} of {} refused", sound.len() / 512);
    }
}
