//! Scratch folders of other workers that are visible on this machine, under the same path.
//!
//! The path and the name of a folder come over the wire, so nothing is believed. A folder is a worker's if it holds the
//! worker's name in a small plain file. A run is read if it is a plain file within that folder, after all symbolic links too.
//! What is read is then verified exactly as if it had come over the wire.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use keima_coordinator::WorkerId;
use keima_runs::{RunError, RunId, run_path};

use super::{ID_FILE, read_start};
use crate::world;

/// Most folders that are remembered.
const MOST_KNOWN: usize = 4096;
/// Opening never waits, not even for the other end of a pipe, and does not follow a symbolic link at the end of the path.
const OPEN_FLAGS: i32 = (rustix::fs::OFlags::NONBLOCK.bits() | rustix::fs::OFlags::NOFOLLOW.bits()) as i32;

/// Which scratch folders of other workers are visible on this machine.
#[derive(Default)]
pub(crate) struct SharedFolders {
    /// Whether a path leads to the worker's own folder. Another machine may have a different folder under that path.
    known: Mutex<HashMap<(String, WorkerId), bool>>,
}

impl SharedFolders {
    /// Whether `folder` on this machine is the scratch folder of `worker`.
    pub(crate) fn belongs(&self, folder: &str, worker: &WorkerId) -> bool {
        if !Path::new(folder).is_absolute() || world::simulated().is_some_and(|world| !world.shares_folders()) {
            return false;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        *known
            .entry((folder.to_owned(), worker.clone()))
            .or_insert_with(|| name_in(&Path::new(folder).join(ID_FILE)).is_ok_and(|name| name.trim() == worker.0))
    }
}

/// The text of a small plain file.
fn name_in(path: &Path) -> io::Result<String> {
    let file = OpenOptions::new().read(true).custom_flags(OPEN_FLAGS).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    read_start(&file)
}

/// The path of a run in another worker's folder. Refuses what is no plain file within the folder.
pub(crate) fn shared_run(folder: &str, run: &RunId) -> Result<PathBuf, RunError> {
    let path = run_path(Path::new(folder), run)?;
    let io = |source| RunError::Io { path: path.clone(), action: "open", source };
    let root = Path::new(folder).canonicalize().map_err(io)?;
    let real = path.canonicalize().map_err(io)?;
    let is_file = real.metadata().map_err(io)?.is_file();
    if real != run_path(&root, run)? || !is_file {
        let outside =
            io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file within the worker's scratch folder");
        return Err(io(outside));
    }
    Ok(real)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const NAME: &str = "0123456789abcdef";

    fn run(name: &str) -> RunId {
        RunId(name.to_owned())
    }

    /// A folder `a` with the worker's name, and around it what a hostile worker might name instead.
    #[test]
    fn only_the_workers_own_folder_is_its_folder() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        for folder in ["a", "empty", "other", "long", "folder", "linked", "pipe"] {
            std::fs::create_dir(at(folder)).unwrap();
        }
        std::fs::write(at("a/worker.id"), format!("{NAME}\n")).unwrap();
        std::fs::write(at("other/worker.id"), "fedcba9876543210\n").unwrap();
        std::fs::write(at("long/worker.id"), format!("{NAME}{}", " ".repeat(1000) + "x")).unwrap();
        std::fs::create_dir(at("folder/worker.id")).unwrap();
        symlink(at("a/worker.id"), at("linked/worker.id")).unwrap();
        let pipe = std::process::Command::new("mkfifo").arg(at("pipe/worker.id")).status();
        assert!(pipe.is_ok_and(|status| status.success()), "mkfifo");
        symlink("/dev", at("dev")).unwrap();
        let folders = SharedFolders::default();
        for (folder, expected) in [
            (at("a"), true),
            // The name is read as far as names go.
            (at("long"), true),
            (at("empty"), false),
            (at("other"), false),
            (at("folder"), false),
            (at("linked"), false),
            (at("pipe"), false),
            (at("dev"), false),
            (at("none"), false),
            (String::new(), false),
            ("a".to_owned(), false),
            ("../a".to_owned(), false),
            (format!("{}\0", at("a")), false),
            (format!("/{}", "x".repeat(5000)), false),
        ] {
            for _ in 0..2 {
                assert_eq!(folders.belongs(&folder, &WorkerId(NAME.to_owned())), expected, "{folder:?}");
            }
        }
    }

    #[test]
    fn runs_stand_within_their_folder() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("a/j1/t0")).unwrap();
        std::fs::create_dir_all(at("b/j1")).unwrap();
        std::fs::write(at("a/j1/t0/r0.run"), "a run").unwrap();
        std::fs::write(at("b/j1/r0.run"), "a run").unwrap();
        std::fs::write(at("secret.run"), "no run of this worker").unwrap();
        symlink(at("secret.run"), at("a/j1/t0/r1.run")).unwrap();
        symlink(at("b/j1"), at("a/j2")).unwrap();
        std::fs::create_dir(at("a/j1/t0/r2.run")).unwrap();
        let folder = at("a").to_str().unwrap().to_owned();
        assert_eq!(std::fs::read_to_string(shared_run(&folder, &run("j1/t0/r0")).unwrap()).unwrap(), "a run");
        // The folder itself may be reached through a link: mounts often are.
        symlink(at("a"), at("link")).unwrap();
        assert!(shared_run(at("link").to_str().unwrap(), &run("j1/t0/r0")).is_ok());
        let long = "x/".repeat(2000) + "x";
        for id in [
            "j1/t0/r1",
            "j2/r0",
            "j1/t0/r2",
            "j1/t0/r3",
            "../secret",
            "j1/../../secret",
            "/etc/passwd",
            "",
            "j1//r0",
            "j1/t0/r0\0",
            "j1/t0/R0",
            "j1/./r0",
            &long,
        ] {
            assert!(shared_run(&folder, &run(id)).is_err(), "{id:?}");
        }
    }
}
