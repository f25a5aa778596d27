//! Numbers that are put aside for a while: a file without a name in the scratch folder, which goes when it is dropped,
//! whatever happens to the process.
//!
//! Native byte order and no checksum: nobody else reads it, and what is made of it is held against sums that were taken
//! before. Cost: a copy each way, to and from the page cache.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{DiskBudget, RunError};

/// A sequence of numbers on disk.
#[derive(Debug)]
pub struct Spool {
    file: File,
    folder: PathBuf,
    disk: Arc<DiskBudget>,
    charged: u64,
}

impl Spool {
    /// An empty one in `folder`; what it will hold is charged to `disk`.
    pub fn create(folder: &Path, disk: &Arc<DiskBudget>) -> Result<Self, RunError> {
        let file = tempfile::tempfile_in(folder).map_err(RunError::io(folder, "put numbers aside in"))?;
        Ok(Self { file, folder: folder.to_owned(), disk: Arc::clone(disk), charged: 0 })
    }

    /// Adds numbers at the end.
    pub fn append(&mut self, numbers: &[u64]) -> Result<(), RunError> {
        let bytes: &[u8] = bytemuck::cast_slice(numbers);
        self.disk.charge(bytes.len() as u64)?;
        let at = self.charged;
        self.charged += bytes.len() as u64;
        let written = self.file.seek(SeekFrom::Start(at)).and_then(|_| self.file.write_all(bytes));
        written.map_err(RunError::io(&self.folder, "put numbers aside in"))
    }

    /// Fills `numbers` with those that begin at number `first`.
    pub fn read(&mut self, first: u64, numbers: &mut [u64]) -> Result<(), RunError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(numbers);
        let read = self.file.seek(SeekFrom::Start(first * 8)).and_then(|_| self.file.read_exact(bytes));
        read.map_err(RunError::io(&self.folder, "read numbers that were put aside in"))
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> u64 {
        self.charged
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.disk.refund(self.charged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_leave_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(DiskBudget::new(100));
        let mut spool = Spool::create(folder.path(), &disk).unwrap();
        spool.append(&[1, 2, 3]).unwrap();
        spool.append(&[4, u64::MAX]).unwrap();
        let mut back = [0; 3];
        spool.read(2, &mut back).unwrap();
        assert_eq!(back, [3, 4, u64::MAX]);
        spool.append(&[6]).unwrap();
        assert_eq!((spool.bytes(), disk.used()), (48, 48));
        spool.read(5, &mut back[..1]).unwrap();
        assert_eq!(back[0], 6);
        assert!(spool.read(5, &mut back).is_err(), "there is no more");
        assert!(matches!(spool.append(&[0; 7]), Err(RunError::DiskCap { .. })));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
        drop(spool);
        assert_eq!(disk.used(), 0);
    }
}
