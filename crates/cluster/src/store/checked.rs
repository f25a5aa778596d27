//! A file of redb whose pages are all compared with their checksums before redb believes them.
//!
//! redb takes the free pages of a file that was closed in order from the file, page by page, and asks for the memory that a
//! page's number tells: up to 4 GiB, if the number is damaged. It compares checksums where a file was not closed in order. There
//! each page is compared before the numbers in it are used, from the header on, and the free pages follow from the others.
//!
//! ```text
//!   header   magic number (9 bytes) | flags | ...         flag 4: the last transaction was written in two phases
//! ```
//!
//! Only a file that is closed in order has that flag, since keima asks for no such transactions. redb never sees it when it opens
//! a file. A commit that is damaged is then taken back. After a close that loses nothing but the free pages; else the log
//! beside the store tells, whose epoch is later then.
//!
//! Cost: each page is read once when a file is opened.

use std::io;

use redb::StorageBackend;

/// Where the flags are, and the flag of two phases.
const FLAGS_AT: u64 = 9;
const TWO_PHASES: u8 = 4;

/// The file.
#[derive(Debug)]
pub(super) struct Checked<B>(pub(super) B);

impl<B: StorageBackend> StorageBackend for Checked<B> {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)?;
        let flags = FLAGS_AT.checked_sub(offset).and_then(|at| out.get_mut(usize::try_from(at).ok()?));
        if let Some(flags) = flags {
            *flags &= !TWO_PHASES;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}
