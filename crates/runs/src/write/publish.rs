//! Paths of runs, and atomic publication: temporary file, fsync, rename, fsync of the folders.
//!
//! ```text
//!   a run that a crash may lose            write id.run.tmp | rename to id.run
//!   a durable run                          write id.run.tmp |                   fsync, rename to id.run, fsync of folders
//!                                          the writer       | and its finish()  publish_durably(), when its owner likes
//! ```
//!
//! The second half is not the writer's: an fsync takes long, and the writer's thread has other work.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::format::header;
use crate::watch::{self, Change};
use crate::{DiskBudget, RunError, RunId};

/// The path of a run below its holder's scratch folder: `root/id.run`. Refuses ids that are not components of
/// `[a-z0-9]` joined by single slashes ([`RunError::BadId`]), so that no id can leave `root`.
pub fn run_path(root: &Path, id: &RunId) -> Result<PathBuf, RunError> {
    header::check_id(id)?;
    Ok(root.join(format!("{id}.run")))
}

/// The path of a run before it is published: `root/id.run.tmp`. Refuses what [`run_path`] refuses.
pub fn temporary_path(root: &Path, id: &RunId) -> Result<PathBuf, RunError> {
    header::check_id(id)?;
    Ok(root.join(format!("{id}.run.tmp")))
}

/// Creates the folders above `path`.
pub(crate) fn create_folders(path: &Path) -> Result<(), RunError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let made = watch::before(Change::Folder(parent)).and_then(|()| fs::create_dir_all(parent));
    made.map_err(RunError::io(parent, "create the folder"))
}

/// Publishes runs that were written with [`crate::RunOptions::durable`]: flushes each file to stable storage, renames
/// it to `root/id.run`, and flushes the folders above at the end. Unless it succeeds, none of the runs is durable.
///
/// Blocks. Cost: one fsync per file and per folder.
pub fn publish_durably<'a>(root: &Path, runs: impl IntoIterator<Item = &'a RunId>) -> Result<(), RunError> {
    let mut folders = BTreeSet::new();
    for run in runs {
        let (written, target) = (temporary_path(root, run)?, run_path(root, run)?);
        sync_file(&written).map_err(RunError::io(&written, "flush"))?;
        rename(&written, &target)?;
        folders.extend(folders_above(root, &target).map(Path::to_owned));
    }
    folders.iter().try_for_each(|folder| sync_folder(folder))
}

/// Flushes published runs to stable storage, with the folders above. Returns those that are there now; one that cannot be
/// flushed, or is gone, is not among them.
///
/// Blocks. Cost: one fsync per file and per folder.
pub fn flush_runs(root: &Path, runs: impl IntoIterator<Item = RunId>) -> BTreeSet<RunId> {
    let (mut folders, mut flushed) = (BTreeSet::new(), BTreeSet::new());
    for run in runs {
        let Ok(path) = run_path(root, &run) else { continue };
        if sync_file(&path).is_ok() {
            folders.extend(folders_above(root, &path).map(Path::to_owned));
            flushed.insert(run);
        }
    }
    if folders.iter().any(|folder| sync_folder(folder).is_err()) {
        flushed.clear();
    }
    flushed
}

pub(crate) fn rename(written: &Path, target: &Path) -> Result<(), RunError> {
    let renamed =
        watch::before(Change::Rename { from: written, to: target }).and_then(|()| fs::rename(written, target));
    renamed.map_err(RunError::io(target, "rename the finished file to"))
}

/// Flushes all folders from that of `path` up to `root`: this or another thread may just have made any of them.
pub(crate) fn sync_folders(root: &Path, path: &Path) -> Result<(), RunError> {
    folders_above(root, path).try_for_each(sync_folder)
}

/// The folder of `path` and those above it, up to `root`.
fn folders_above<'p>(root: &Path, path: &'p Path) -> impl Iterator<Item = &'p Path> {
    let root = root.to_owned();
    path.ancestors().skip(1).take_while(move |folder| folder.starts_with(&root))
}

fn sync_file(path: &Path) -> io::Result<()> {
    watch::before(Change::Sync(path))?;
    File::open(path)?.sync_all()
}

fn sync_folder(folder: &Path) -> Result<(), RunError> {
    let synced = watch::before(Change::SyncFolder(folder)).and_then(|()| File::open(folder)?.sync_all());
    synced.map_err(RunError::io(folder, "flush the folder"))
}

/// A file being written. Dropping it before it is complete removes it and refunds its bytes.
#[derive(Debug)]
pub(crate) struct Pending {
    id: RunId,
    file: File,
    path: PathBuf,
    target: PathBuf,
    /// Whether [`publish_durably`] publishes it later.
    durable: bool,
    disk: Arc<DiskBudget>,
    /// Bytes written or reserved.
    charged: u64,
    failed: bool,
    complete: bool,
}

impl Pending {
    /// Creates `root/id.run.tmp` and its folders.
    pub(crate) fn create(root: &Path, id: &RunId, durable: bool, disk: &Arc<DiskBudget>) -> Result<Self, RunError> {
        let (path, target) = (temporary_path(root, id)?, run_path(root, id)?);
        create_folders(&path)?;
        if target.exists() {
            return Err(RunError::Exists { path: target });
        }
        let file = watch::before(Change::Create(&path))
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&path));
        let file = file.map_err(|source| {
            if source.kind() == ErrorKind::AlreadyExists {
                RunError::Exists { path: path.clone() }
            } else {
                RunError::io(&path, "create")(source)
            }
        })?;
        let disk = Arc::clone(disk);
        Ok(Self { id: id.clone(), file, path, target, durable, disk, charged: 0, failed: false, complete: false })
    }

    /// The path, for messages.
    pub(crate) fn place(&self) -> String {
        self.path.display().to_string()
    }

    /// Marks the file as failed: it can never be completed.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }

    /// Writes `bytes` at the end.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        let end = self.charged;
        self.reserve(bytes.len() as u64)?;
        self.write_at(end, bytes)
    }

    /// Reserves `bytes` at the end, to be written later.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<(), RunError> {
        self.attempt(|pending| {
            pending.disk.charge(bytes)?;
            pending.charged += bytes;
            Ok(())
        })
    }

    /// Writes `bytes` at `offset`, within the reserved bytes.
    pub(crate) fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RunError> {
        self.attempt(|pending| {
            let written = watch::before(Change::Write { path: &pending.path, offset, bytes })
                .and_then(|()| pending.file.write_all_at(bytes, offset));
            written.map_err(RunError::io(&pending.path, "write"))
        })
    }

    /// Counts as failed until `act` succeeds, so that no file with a hole is published.
    fn attempt(&mut self, act: impl FnOnce(&mut Self) -> Result<(), RunError>) -> Result<(), RunError> {
        if self.failed {
            return Err(RunError::Failed { place: self.place() });
        }
        self.failed = true;
        act(self)?;
        self.failed = false;
        Ok(())
    }

    /// Keeps the finished file, and publishes it unless it is durable. Whoever removes it refunds its bytes.
    pub(crate) fn complete(mut self) -> Result<(), RunError> {
        if self.failed {
            return Err(RunError::Failed { place: self.place() });
        }
        if !self.durable {
            rename(&self.path, &self.target)?;
        }
        self.complete = true;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.complete {
            return;
        }
        match watch::before(Change::Remove(&self.path)).and_then(|()| fs::remove_file(&self.path)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                // Still on disk, so still charged.
                tracing::warn!(run = %self.id, path = %self.path.display(), %error, "cannot remove an unfinished run; remove it by hand");
            }
            _ => self.disk.refund(self.charged),
        }
    }
}
