//! A worker's scratch folder as such: its lock, the names in it, and what keima has there.
//!
//! See [`run_store`] for its layout. What is not keima's is never touched, whatever folder was named.

pub(crate) mod run_store;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use keima_coordinator::{StoreId, WorkerId};
use keima_runs::RunError;

use crate::folder_lock::{NoLock, lock_file, remove_file_if_there};
use crate::transport::link::random_bits;

/// Name of the file with the worker's name; proves that a folder seen here is the one that the worker means.
pub(crate) const ID_FILE: &str = "worker.id";
/// Name of the file with the name of the coordinator's store.
pub(crate) const STORE_FILE: &str = "coordinator.id";
/// Held while a worker lives.
const LOCK_FILE: &str = "worker.lock";
/// Where second copies come in.
pub(crate) const INCOMING: &str = "incoming";

/// Why a scratch folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// Another worker has it.
    #[error(
        "the scratch folder {0} is in use by another worker; stop that one, or give this one its own (--scratch DIR)"
    )]
    InUse(PathBuf),
    /// The system refused.
    #[error("cannot {action} {path}: {source}; check that the scratch folder exists and is writable")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What came.
        #[source]
        source: io::Error,
    },
    /// It holds something that keima would take for its own, but no worker had it before.
    #[error(
        "{0} is there, and the scratch folder is none of keima's yet: it would be taken for keima's own and deleted; take an \
         empty folder, or one below it (--scratch DIR)"
    )]
    Foreign(PathBuf),
    /// A run in the folder cannot be read, but may be sound.
    #[error(
        "{path} cannot be taken up: {source}; put that right, or remove the file: what is in it is made again (keima count: \
         --fresh begins anew)"
    )]
    Run {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<RunError>,
    },
    /// A name in the folder is none.
    #[error("{path} should hold a name of 16 hex digits, it holds {got:?}; {advice}")]
    BadName {
        /// The file.
        path: PathBuf,
        /// What it holds, shortened.
        got: String,
        /// What to do.
        advice: &'static str,
    },
}

/// Takes the names out of a scratch folder without runs, and the folder away if nothing else is in it.
pub fn leave(root: &Path) -> Result<(), ScratchError> {
    let Ok(mut entries) = std::fs::read_dir(root) else { return Ok(()) };
    if entries.any(|entry| entry.is_ok_and(|entry| is_job(&entry.file_name().to_string_lossy()))) {
        return Ok(());
    }
    forget(root)
}

/// Deletes what keima has in `root`, if that is a scratch folder and nobody uses it, and the folder if nothing else is
/// in it.
pub fn forget(root: &Path) -> Result<(), ScratchError> {
    if !root.join(ID_FILE).exists() {
        return Ok(());
    }
    let lock = lock(root)?;
    let io = |source| ScratchError::Io { action: "clear", path: root.to_owned(), source };
    for entry in std::fs::read_dir(root).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if (name == INCOMING || is_job(&name)) && entry.file_type().map_err(io)?.is_dir() {
            std::fs::remove_dir_all(entry.path()).map_err(io)?;
        }
    }
    // The name last: without it the folder is none of ours.
    for file in [STORE_FILE, ID_FILE, LOCK_FILE] {
        remove_file_if_there(&root.join(file)).map_err(io)?;
    }
    drop(lock);
    let _ = std::fs::remove_dir(root);
    Ok(())
}

/// Whether a worker had `root` before.
pub(crate) fn is_ours(root: &Path) -> bool {
    [ID_FILE, STORE_FILE, LOCK_FILE].iter().any(|file| root.join(file).exists())
}

/// An error if `root`, which no worker had before, has something of a name that keima uses.
pub(crate) fn refuse_foreign(root: &Path) -> Result<(), ScratchError> {
    let io = |source| ScratchError::Io { action: "list", path: root.to_owned(), source };
    for entry in std::fs::read_dir(root).map_err(io)? {
        let name = entry.map_err(io)?.file_name();
        let text = name.to_string_lossy();
        if text == INCOMING || is_job(&text) {
            return Err(ScratchError::Foreign(root.join(&name)));
        }
    }
    Ok(())
}

/// Takes a scratch folder for this process.
pub(crate) fn lock(root: &Path) -> Result<File, ScratchError> {
    let path = root.join(LOCK_FILE);
    lock_file(&path).map_err(|error| match error {
        NoLock::InUse => ScratchError::InUse(root.to_owned()),
        NoLock::Io(action, source) => ScratchError::Io { action, path, source },
    })
}

/// Whether a folder of this name holds runs of a job.
pub(crate) fn is_job(name: &str) -> bool {
    name.strip_prefix('j').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// A name of 16 hex digits from a file; `None` where there is no such file.
fn read_name(root: &Path, file: &str, advice: &'static str) -> Result<Option<String>, ScratchError> {
    let path = root.join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let name = text.trim();
            if name.len() == 16 && name.bytes().all(|b| b.is_ascii_hexdigit()) {
                Ok(Some(name.to_owned()))
            } else {
                Err(ScratchError::BadName { path, got: name.chars().take(40).collect(), advice })
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ScratchError::Io { action: "read", path, source }),
    }
}

/// Writes a name aside and renames it: a kill in between must not leave half of it.
pub(crate) fn write_name(root: &Path, file: &str, name: &str) -> Result<(), ScratchError> {
    let path = root.join(file);
    let io = |action| {
        let path = path.clone();
        move |source| ScratchError::Io { action, path, source }
    };
    let aside = root.join(format!("{file}.tmp"));
    std::fs::write(&aside, format!("{name}\n")).map_err(io("write"))?;
    File::open(&aside).and_then(|f| f.sync_all()).map_err(io("sync"))?;
    std::fs::rename(&aside, &path).map_err(io("rename"))?;
    File::open(root).and_then(|f| f.sync_all()).map_err(io("sync"))
}

pub(crate) fn read_or_make_name(root: &Path) -> Result<WorkerId, ScratchError> {
    if let Some(name) = read_name(root, ID_FILE, "remove it, and the worker takes a new name")? {
        return Ok(WorkerId(name));
    }
    let name = format!("{:016x}", random_bits());
    write_name(root, ID_FILE, &name)?;
    Ok(WorkerId(name))
}

pub(crate) fn read_owner(root: &Path) -> Result<Option<StoreId>, ScratchError> {
    let advice = "take another scratch folder, or remove this one with the runs in it";
    let name = read_name(root, STORE_FILE, advice)?;
    // Sixteen hex digits are always a u64.
    Ok(name.and_then(|name| u64::from_str_radix(&name, 16).ok()).map(StoreId))
}
