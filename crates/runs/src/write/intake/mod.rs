//! Stores a second copy of a run: verifies its bytes as they arrive, and writes them past the system's cache.
//!
//! ```text
//!   bytes of the file, --> Passing: header, blocks, --> PastCache: TMP --> fsync --> ROOT/ID.run --> fsync of folders
//!   in its order           index, footer
//! ```
//!
//! Nobody reads a copy unless its run is lost. So a copy must not push other files out of the cache, and is not
//! decoded. Every byte is checked against the writer's checksums, and these against the manifest's. A reader of the
//! copy verifies the rest, as for any run. Cost: one checksum and two memory copies of each byte; about 10 MiB of
//! memory.

mod passing;
mod past_cache;

use std::path::{Path, PathBuf};

pub use self::passing::Passing;
use self::past_cache::PastCache;
use super::publish::{create_folders, rename, sync_folders};
use crate::{RunError, RunManifest, run_path};

/// A second copy being received. Dropping it leaves the temporary file for the caller to remove. The caller also
/// charges and refunds its bytes.
#[derive(Debug)]
pub struct Intake {
    passing: Passing,
    out: PastCache,
}

impl Intake {
    /// Begins a copy of `expected` in the file `tmp_path`, which must not exist.
    pub fn create(tmp_path: PathBuf, expected: &RunManifest) -> Result<Self, RunError> {
        Ok(Self { passing: Passing::new(expected), out: PastCache::create(tmp_path)? })
    }

    /// Takes the next `bytes` of the run's file. Refuses changed bytes, and those of another run.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        self.passing.take(bytes)?;
        self.out.write(bytes)
    }

    /// Completes the copy: checks that it is whole, flushes it to stable storage, and renames it to its place below
    /// `root`, which is on the same file system. Replaces an older copy of the same run.
    pub fn adopt(self, root: &Path) -> Result<(), RunError> {
        let run = self.passing.finish()?;
        let target = run_path(root, &run.id)?;
        let written = self.out.finish()?;
        create_folders(&target)?;
        rename(&written, &target)?;
        sync_folders(root, &target)
    }
}
