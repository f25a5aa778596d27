//! Folders: made with a clear error, and locked against a second process.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// A process that was just killed may still hold its locks for a moment.
const PATIENCE: Duration = Duration::from_secs(2);
const AGAIN: Duration = Duration::from_millis(50);

/// Locks `file` for this process, and waits a little for a dying process to let go. Blocks: call it at the start only.
fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if started.elapsed() < PATIENCE => std::thread::sleep(AGAIN),
            other => return other,
        }
    }
}

/// Why a folder cannot be locked.
pub(crate) enum NoLock {
    /// Another process has it.
    InUse,
    /// The system refused. The text says what was tried.
    Io(&'static str, std::io::Error),
}

/// Locks the file `path` for this process until the returned file is closed. Makes the file if it is missing, and again if the
/// process that had it deletes it as it ends.
pub(crate) fn lock_file(path: &Path) -> Result<File, NoLock> {
    let options = OpenOptions::new().create(true).truncate(false).read(true).write(true).clone();
    let started = Instant::now();
    loop {
        if let Some(folder) = path.parent() {
            make_folder(folder).map_err(|e| NoLock::Io("make the folder of", e))?;
        }
        let file = match options.open(path) {
            // The folder went in between.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && started.elapsed() < PATIENCE => {
                std::thread::sleep(AGAIN);
                continue;
            }
            opened => opened.map_err(|e| NoLock::Io("open", e))?,
        };
        match lock_soon(&file) {
            Ok(()) if is_at(&file, path) => return Ok(file),
            // A file without a name locks nobody out.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(NoLock::InUse),
            Err(TryLockError::Error(source)) => return Err(NoLock::Io("lock", source)),
        }
    }
}

/// Whether an open file has this path still.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    file.metadata().map(id).ok() == std::fs::metadata(path).map(id).ok()
}

/// Makes a folder and those above it, unless they are there. The error names what is in the way.
pub(crate) fn make_folder(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path).map_err(|error| {
        let in_the_way = path.ancestors().find_map(|part| {
            let shown = part.display();
            match std::fs::read_link(part) {
                Ok(target) if !part.exists() => {
                    Some(format!("{shown} is a symbolic link to {}, which does not exist", target.display()))
                }
                _ => part.is_file().then(|| format!("{shown} is a file, not a folder")),
            }
        });
        in_the_way.map_or(error, std::io::Error::other)
    })
}

/// Removes a file if it exists.
pub(crate) fn remove_file_if_there(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The owner deletes the folder as it ends, while another process waits for the lock.
    #[test]
    fn a_lock_on_a_deleted_file_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state");
        let path = folder.join("lock");
        let lock = || lock_file(&path).unwrap_or_else(|_| panic!("no lock"));
        let owner = lock();
        let waiting = std::thread::scope(|scope| {
            let waiting = scope.spawn(lock);
            std::thread::sleep(2 * AGAIN);
            std::fs::remove_dir_all(&folder).unwrap();
            drop(owner);
            waiting.join().unwrap()
        });
        assert!(is_at(&waiting, &path));
        assert!(matches!(lock_file(&path), Err(NoLock::InUse)), "nobody else has it");
    }

    #[test]
    fn what_is_in_the_way_of_a_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let (link, file) = (dir.path().join("link"), dir.path().join("file"));
        std::os::unix::fs::symlink(dir.path().join("gone"), &link).unwrap();
        std::fs::write(&file, "").unwrap();
        for (path, words) in [
            (link.clone(), "is a symbolic link to"),
            (link.join("below"), "/gone, which does not exist"),
            (file.clone(), "is a file, not a folder"),
            (file.join("below"), "is a file, not a folder"),
        ] {
            let error = make_folder(&path).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("exists"), "{}: {error}", path.display());
        }
        // A link that leads somewhere is as good as a folder.
        std::fs::create_dir(dir.path().join("gone")).unwrap();
        make_folder(&link.join("below")).unwrap();
        make_folder(&link.join("below")).unwrap();
    }
}
