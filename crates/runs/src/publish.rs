//! Where runs lie, how a file appears there all at once (temporary file, rename), and how it gets onto stable storage:
//! fsync of the file and of the folders above it, when its owner likes, since a disk takes its time. Nobody may count on a
//! run, by naming it in a manifest that is to outlive a power cut, before that.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{DiskBudget, RunError, RunId, header};

/// The path of a run below its holder's scratch folder: `root/id.run`. Refuses ids that are not components of
/// `[a-z0-9]` joined by single slashes ([`RunError::BadId`]), so that no id can leave `root`.
pub fn run_path(root: &Path, id: &RunId) -> Result<PathBuf, RunError> {
    header::check_id(id)?;
    Ok(root.join(format!("{id}.run")))
}

/// Creates the folders above `path`.
pub(crate) fn create_folders(path: &Path) -> Result<(), RunError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(RunError::io(parent, "create the folder"))
}

/// Puts published runs and the folders above them on stable storage. After a power cut before that a file may be there
/// whose contents are not.
///
/// Blocks; cost: an fsync of each file, and of each folder once.
pub fn make_durable<'a>(root: &Path, runs: impl IntoIterator<Item = &'a RunId>) -> Result<(), RunError> {
    let mut folders = BTreeSet::new();
    for run in runs {
        let path = run_path(root, run)?;
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(RunError::io(&path, "flush"))?;
        folders.extend(folders_above(root, &path).map(Path::to_owned));
    }
    folders.iter().try_for_each(|folder| sync_folder(folder))
}

/// Puts all folders from that of `path` up to `root` on stable storage: any of them may be new, and not by this
/// thread alone.
pub(crate) fn sync_folders(root: &Path, path: &Path) -> Result<(), RunError> {
    folders_above(root, path).try_for_each(sync_folder)
}

/// From the folder of `path` up to `root`.
fn folders_above<'p>(root: &Path, path: &'p Path) -> impl Iterator<Item = &'p Path> {
    let root = root.to_owned();
    path.ancestors().skip(1).take_while(move |folder| folder.starts_with(&root))
}

fn sync_folder(folder: &Path) -> Result<(), RunError> {
    let synced = File::open(folder).and_then(|file| file.sync_all());
    synced.map_err(RunError::io(folder, "flush the folder"))
}

/// A file that is being written. Unless it was published, dropping it removes it and refunds its bytes.
#[derive(Debug)]
pub(crate) struct Pending {
    file: File,
    /// Where the file is now.
    path: PathBuf,
    target: PathBuf,
    disk: Arc<DiskBudget>,
    /// Its length, with what is reserved.
    charged: u64,
    failed: bool,
    published: bool,
}

impl Pending {
    /// Creates `root/id.run.tmp` and its folders.
    pub(crate) fn create(root: &Path, id: &RunId, disk: &Arc<DiskBudget>) -> Result<Self, RunError> {
        let target = run_path(root, id)?;
        let path = root.join(format!("{id}.run.tmp"));
        create_folders(&path)?;
        if target.exists() {
            return Err(RunError::Exists { path: target });
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|source| {
            if source.kind() == ErrorKind::AlreadyExists {
                RunError::Exists { path: path.clone() }
            } else {
                RunError::io(&path, "create")(source)
            }
        })?;
        let disk = Arc::clone(disk);
        Ok(Self { file, path, target, disk, charged: 0, failed: false, published: false })
    }

    /// Where the file is now, for messages.
    pub(crate) fn place(&self) -> String {
        self.path.display().to_string()
    }

    /// Marks the file as not to be published.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }

    /// Writes `bytes` at the end.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        let end = self.charged;
        self.reserve(bytes.len() as u64)?;
        self.write_at(end, bytes)
    }

    /// Makes the file so much longer, by what will be written there.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<(), RunError> {
        self.attempt(|pending| {
            pending.disk.charge(bytes)?;
            pending.charged += bytes;
            Ok(())
        })
    }

    /// Writes `bytes` from `offset` on, where all is reserved.
    pub(crate) fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RunError> {
        self.attempt(|pending| pending.file.write_all_at(bytes, offset).map_err(RunError::io(&pending.path, "write")))
    }

    /// Until it has succeeded it has failed: the file must not be published with a hole.
    fn attempt(&mut self, act: impl FnOnce(&mut Self) -> Result<(), RunError>) -> Result<(), RunError> {
        if self.failed {
            return Err(RunError::Failed { place: self.place() });
        }
        self.failed = true;
        act(self)?;
        self.failed = false;
        Ok(())
    }

    pub(crate) fn publish(mut self) -> Result<(), RunError> {
        if self.failed {
            return Err(RunError::Failed { place: self.place() });
        }
        fs::rename(&self.path, &self.target).map_err(RunError::io(&self.target, "rename the finished file to"))?;
        self.path.clone_from(&self.target);
        self.published = true;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.published {
            return;
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                // Still on disk, so still charged.
                tracing::warn!(path = %self.path.display(), %error, "cannot remove an unfinished run; remove it by hand");
            }
            _ => self.disk.refund(self.charged),
        }
    }
}
