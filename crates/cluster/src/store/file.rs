//! redb's file. Changes go through the door of [`keima_runs::watch`], which a simulated machine closes.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use keima_runs::watch::{Change, before};
use redb::StorageBackend;

/// The file.
#[derive(Debug)]
pub(super) struct StoreFile {
    file: File,
    path: PathBuf,
}

impl StoreFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        before(Change::Create(path))?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        Ok(Self { file, path: path.to_owned() })
    }
}

impl StorageBackend for StoreFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        before(Change::Length { path: &self.path, bytes: len })?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        before(Change::Sync(&self.path))?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        before(Change::Write { path: &self.path, offset, bytes: data })?;
        self.file.write_all_at(data, offset)
    }
}
