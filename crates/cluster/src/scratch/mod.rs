//! A worker's scratch folder: its lock, the two names in it, and how keima's files are told from others.
//!
//! [`run_store`] draws the layout. Files of others are never touched, even if a user names a wrong folder.

pub(crate) mod identity;
pub(crate) mod run_store;
pub(crate) mod visible_folders;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use keima_coordinator::StoreId;
use keima_runs::RunError;
use keima_runs::watch::{Change, before};

use crate::folder_lock::{NoLock, lock_file, remove_file_if_there};

/// File with the worker's name. It proves that a folder seen on this machine is the folder that the worker means.
pub(crate) const ID_FILE: &str = "worker.id";
/// File with the name of the coordinator's store.
pub(crate) const STORE_FILE: &str = "coordinator.id";
/// Most bytes that are read of a file that holds a name.
const NAME_FILE_BYTES: u64 = 64;
/// Locked while a worker lives.
const LOCK_FILE: &str = "worker.lock";
/// Folder of second copies that are still incomplete.
pub(crate) const INCOMING: &str = "incoming";

/// Why a scratch folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScratchError {
    /// Another worker uses it.
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
    /// It was not a scratch folder before, but holds a name that keima uses.
    #[error(
        "{0} exists, but the folder was not a scratch folder of keima before: keima would delete {0} as its own; choose an \
         empty folder, or a new one below it (--scratch DIR)"
    )]
    Foreign(PathBuf),
    /// A run in the folder cannot be read now, but may be intact.
    #[error(
        "{path} cannot be used: {source}; fix that, or remove the file: keima makes its contents again (keima count: \
         --fresh starts from nothing)"
    )]
    Run {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Box<RunError>,
    },
    /// The worker's name was changed.
    #[error(
        "{path} names worker {got}, but this folder belongs to worker {expected}: its name was changed, and the coordinator \
         would wait for the old one. Write {expected} into it again; or, to give the folder a new name, delete \
         worker.id and worker.lock in it"
    )]
    Renamed {
        /// The file.
        path: PathBuf,
        /// What it holds.
        got: String,
        /// What the lock file holds.
        expected: String,
    },
    /// A name file in the folder holds something else.
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

/// Deletes the names in a scratch folder that holds no runs, and the folder if nothing else is in it.
pub fn leave(root: &Path) -> Result<(), ScratchError> {
    let Ok(mut entries) = std::fs::read_dir(root) else { return Ok(()) };
    if entries.any(|entry| entry.is_ok_and(|entry| is_job(&entry.file_name().to_string_lossy()))) {
        return Ok(());
    }
    forget(root)
}

/// Deletes keima's files in `root`, and the folder if nothing else is in it. Does nothing if `root` is not a scratch
/// folder, and fails if a worker uses it.
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
    // The name last: without it the folder is not ours any more.
    for file in [STORE_FILE, ID_FILE, LOCK_FILE] {
        remove_file_if_there(&root.join(file)).map_err(io)?;
    }
    drop(lock);
    let _ = std::fs::remove_dir(root);
    Ok(())
}

/// Whether `root` was a scratch folder before.
pub(crate) fn is_ours(root: &Path) -> bool {
    [ID_FILE, STORE_FILE, LOCK_FILE].iter().any(|file| root.join(file).exists())
}

/// Fails if `root`, which was not a scratch folder before, holds a name that keima uses.
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

/// Locks a scratch folder for this process.
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

/// Whether a text is 16 hex digits.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Reads a name of 16 hex digits from a file; `None` if there is no such file.
fn read_name(root: &Path, file: &str, advice: &'static str) -> Result<Option<String>, ScratchError> {
    let path = root.join(file);
    match File::open(&path).and_then(|file| read_start(&file)) {
        Ok(text) => {
            let name = text.trim();
            if is_name(name) {
                Ok(Some(name.to_owned()))
            } else {
                Err(ScratchError::BadName { path, got: name.chars().take(40).collect(), advice })
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ScratchError::Io { action: "read", path, source }),
    }
}

/// The text at the beginning of a file that holds a name and nothing else.
fn read_start(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(NAME_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Writes a name to a temporary file and renames it, so that a kill does not leave half a name.
pub(crate) fn write_name(root: &Path, file: &str, name: &str) -> Result<(), ScratchError> {
    let path = root.join(file);
    let io = |action| {
        let path = path.clone();
        move |source| ScratchError::Io { action, path, source }
    };
    let aside = root.join(format!("{file}.tmp"));
    let text = format!("{name}\n");
    let write = || {
        before(Change::Create(&aside))?;
        before(Change::Length { path: &aside, bytes: 0 })?;
        before(Change::Write { path: &aside, offset: 0, bytes: text.as_bytes() })?;
        std::fs::write(&aside, &text)
    };
    write().map_err(io("write"))?;
    before(Change::Sync(&aside)).and_then(|()| File::open(&aside)?.sync_all()).map_err(io("sync"))?;
    let renamed = before(Change::Rename { from: &aside, to: &path }).and_then(|()| std::fs::rename(&aside, &path));
    renamed.map_err(io("rename"))?;
    before(Change::SyncFolder(root)).and_then(|()| File::open(root)?.sync_all()).map_err(io("sync"))
}

pub(crate) fn read_owner(root: &Path) -> Result<Option<StoreId>, ScratchError> {
    let advice = "choose another scratch folder, or remove this one with its runs";
    let name = read_name(root, STORE_FILE, advice)?;
    // Sixteen hex digits are always a u64.
    Ok(name.and_then(|name| u64::from_str_radix(&name, 16).ok()).map(StoreId))
}
