//! Taking in a second copy of a run: its bytes are verified while they pass, and put on stable storage past the system's
//! cache.
//!
//! ```text
//!   bytes of the file, --> Passing: header, blocks, --> PastCache: TMP --> fsync --> ROOT/ID.run --> fsync of folders
//!   in its order           index, footer
//! ```
//!
//! Nobody reads a copy before its run is lost, so that it shall neither push from the cache what is about to be read nor
//! be decoded: each byte is held against the checksums that its writer made, which the manifest's checksum stands for.
//! Whoever reads the copy verifies the rest, as of any run. Cost: a checksum and two copies in memory of each byte; some
//! MiB of memory.

mod passing;
mod past_cache;

use std::path::{Path, PathBuf};

use self::passing::Passing;
use self::past_cache::PastCache;
use super::publish::{create_folders, rename, sync_folders};
use crate::{RunError, RunManifest, run_path};

/// A second copy on its way in. Dropping it leaves the temporary file, for the caller to remove; its bytes are charged to,
/// and refunded from, the caller's disk budget.
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

    /// Takes the next `bytes` of the run's file. What is not as it was written, or of another run, is refused.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        self.passing.take(bytes)?;
        self.out.write(bytes)
    }

    /// Ends the copy: makes sure that it is whole, puts it on stable storage, and renames it to its place below `root`,
    /// which is on the same file system. A copy that is there already is replaced by the same contents.
    pub fn adopt(self, root: &Path) -> Result<(), RunError> {
        let run = self.passing.finish()?;
        let target = run_path(root, &run.id)?;
        let written = self.out.finish()?;
        create_folders(&target)?;
        rename(&written, &target)?;
        sync_folders(root, &target)
    }
}
