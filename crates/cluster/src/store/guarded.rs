//! redb behind a guard. At some damage redb panics, in its own code: when it opens a file, reads, writes, or closes it. Here a
//! panic becomes an error that says that the file is damaged. What unwinds without a text is no panic of redb and goes on: so
//! a simulated machine ends its threads when it dies.
//!
//! A panic of redb can lead to a second one while it cleans up, and two end the process. So damage is found before anything is
//! used, see [`Checked`]. A file that is not sound is closed without writing to it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{Database, Error, StorageBackend};

use super::checked::Checked;
use super::layout::CACHE_BYTES;

/// A database that is used and closed only behind the guard.
#[derive(Debug)]
pub(super) struct Guarded {
    database: Option<Database>,
    /// Whether nothing has failed so far.
    is_sound: AtomicBool,
}

impl Guarded {
    /// Opens a database; an empty file becomes one. Fails if a checksum of what it holds is wrong.
    pub(super) fn open(file: impl StorageBackend) -> Result<Self, Error> {
        let open = || Ok(Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(Checked(file))?);
        Ok(Self { database: Some(guard(open)?), is_sound: AtomicBool::new(true) })
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
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use keima_model::mix::split_mix;
    use redb::backends::InMemoryBackend;
    use redb::{ReadableDatabase as _, TableDefinition};

    use super::*;

    /// A file in memory, which outlives its database. Once told, it panics at the next write, as redb does at a page that makes
    /// no sense.
    #[derive(Clone, Debug)]
    struct TestFile {
        file: Arc<InMemoryBackend>,
        broken: Arc<AtomicBool>,
        /// Whether something was to be written since then.
        tried: Arc<AtomicBool>,
        /// The longest piece that was asked for.
        longest_bytes: Arc<AtomicUsize>,
    }

    impl TestFile {
        fn new() -> Self {
            let file = Arc::new(InMemoryBackend::new());
            Self { file, broken: Arc::default(), tried: Arc::default(), longest_bytes: Arc::default() }
        }
        fn of(bytes: &[u8]) -> Self {
            let file = Self::new();
            file.set_len(bytes.len() as u64).unwrap();
            file.write(0, bytes).unwrap();
            file
        }
        fn bytes(&self) -> Vec<u8> {
            let mut bytes = vec![0; self.len().unwrap() as usize];
            self.read(0, &mut bytes).unwrap();
            bytes
        }
        fn open(&self) -> Result<Guarded, Error> {
            Guarded::open(self.clone())
        }
    }

    impl StorageBackend for TestFile {
        fn len(&self) -> Result<u64, std::io::Error> {
            self.file.len()
        }
        fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
            self.longest_bytes.fetch_max(out.len(), Ordering::Relaxed);
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
        assert_eq!(text(guard::<()>(|| panic!("damaged")).unwrap_err()), expected);
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

    const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("table");

    /// A store after three commits, so that some pages have been freed.
    fn sound() -> Vec<u8> {
        let file = TestFile::new();
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
        file.bytes()
    }

    /// Opens a damaged file; `false` where it is refused. What can be read must be right.
    fn is_opened(file: &TestFile, what: &str) -> bool {
        let Ok(database) = file.open() else { return false };
        let read = database.with(|database| {
            let table = database.begin_read()?.open_table(TABLE)?;
            Ok((0..3).map(|number| table.get(number).ok()?.map(|value| value.value() == [7; 3000])).collect())
        });
        let values: Vec<Option<bool>> = read.unwrap();
        assert_eq!(values, [Some(true); 3], "{what}");
        true
    }

    /// One flipped bit anywhere in a file is found, or changes nothing that can be read.
    #[test]
    fn flipped_bits_are_found() {
        let sound = sound();
        let seed = 20_261_130;
        let mut state = seed;
        let mut refused = 0;
        for page in 0..sound.len() / 512 {
            let mut damaged = sound.clone();
            damaged[page * 512 + (split_mix(&mut state) % 512) as usize] ^= 1 << (split_mix(&mut state) % 8);
            if !is_opened(&TestFile::of(&damaged), &format!("seed {seed}: piece {page}")) {
                refused += 1;
            }
        }
        assert!(refused > 0, "seed {seed}: none of {} refused", sound.len() / 512);
    }

    /// The size of a page stands in the highest bits of its number, and tells how much memory redb takes for it. A damaged one
    /// is found before.
    #[test]
    fn damaged_page_numbers_take_no_memory() {
        let sound = sound();
        assert_eq!(
            sound[9] & 4,
            4,
            "closed in order: redb takes the free pages from the file, unless it is kept from that"
        );
        let file = TestFile::of(&sound);
        assert!(is_opened(&file, "sound"));
        let longest_bytes = file.longest_bytes.load(Ordering::Relaxed);
        let numbers = (0..sound.len()).filter(|at| at % 8 == 7 && sound[at - 7..*at].iter().any(|&byte| byte != 0));
        let mut refused = 0;
        for at in numbers {
            let mut damaged = sound.clone();
            damaged[at] ^= 0x30;
            let file = TestFile::of(&damaged);
            refused += usize::from(!is_opened(&file, &format!("byte {at}")));
            let longest = file.longest_bytes.load(Ordering::Relaxed);
            assert!(longest <= longest_bytes, "byte {at}: {longest} bytes asked for at once; sound: {longest_bytes}");
        }
        assert!(refused > 0);
    }
}
