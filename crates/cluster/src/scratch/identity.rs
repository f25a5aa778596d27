//! Who a worker is, and where its scratch folder is.
//!
//! ```text
//!   worker.id     worker.lock
//!   a             a             worker a
//!   a             empty         worker a; noted in worker.lock
//!   none          a             worker a; worker.id is written again
//!   b             a             an error: the folder's runs are known as those of a
//!   none          empty         a new name
//! ```

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use keima_coordinator::WorkerId;

use super::{ID_FILE, LOCK_FILE, ScratchError, is_name, read_name, read_start, write_name};
use crate::transport::link::random_bits;

/// The worker's name: drawn once, kept in `worker.id` and in the locked file.
pub(crate) fn own_name(root: &Path, mut lock: &File) -> Result<WorkerId, ScratchError> {
    let io = |source| ScratchError::Io { action: "read", path: root.join(LOCK_FILE), source };
    let noted = match read_start(lock) {
        Ok(noted) => noted,
        // A damaged note is as good as none.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => String::new(),
        Err(error) => return Err(io(error)),
    };
    let noted = Some(noted.trim().to_owned()).filter(|name| is_name(name));
    let own = read_name(root, ID_FILE, "write the name that is in worker.lock, or remove both files for a new name")?;
    match (own, noted) {
        (Some(own), Some(noted)) if own != noted => {
            Err(ScratchError::Renamed { path: root.join(ID_FILE), got: own, expected: noted })
        }
        (Some(own), Some(_)) => Ok(WorkerId(own)),
        (None, Some(noted)) => {
            tracing::warn!(folder = %root.display(), worker = noted, "worker.id was missing; it is written again");
            write_name(root, ID_FILE, &noted)?;
            Ok(WorkerId(noted))
        }
        (own, None) => {
            let name = own.unwrap_or_else(|| format!("{:016x}", random_bits()));
            write_name(root, ID_FILE, &name)?;
            let note = lock.set_len(0).and_then(|()| lock.rewind());
            let note = note.and_then(|()| lock.write_all(format!("{name}\n").as_bytes()));
            note.map_err(|source| ScratchError::Io { action: "write", path: root.join(LOCK_FILE), source })?;
            Ok(WorkerId(name))
        }
    }
}

/// Where a folder is: the present life of the machine, the device and the inode. Empty where the system does not tell.
pub(crate) fn place_of(root: &Path) -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    match (boot, std::fs::metadata(root)) {
        (Ok(boot), Ok(folder)) => format!("{}/{}/{}", boot.trim(), folder.dev(), folder.ino()),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::lock;

    /// What the two files hold, and the name that the worker has, or the words of the error.
    #[test]
    fn a_name_is_kept_and_a_changed_one_is_refused() {
        const A: &str = "00000000000000aa";
        const B: &str = "00000000000000bb";
        type Named = (Option<&'static str>, &'static str, Result<Option<&'static str>, &'static str>);
        let table: [Named; 8] = [
            (Some(A), A, Ok(Some(A))),
            (Some(A), "", Ok(Some(A))),
            (Some(A), "torn", Ok(Some(A))),
            (None, A, Ok(Some(A))),
            (None, "", Ok(None)),
            (Some(B), A, Err("its name was changed")),
            (Some("nonsense"), A, Err("worker.lock")),
            (Some("nonsense"), "", Err("remove both files")),
        ];
        for (own, noted, expected) in table {
            let dir = tempfile::tempdir().unwrap();
            if let Some(own) = own {
                std::fs::write(dir.path().join(ID_FILE), own).unwrap();
            }
            std::fs::write(dir.path().join(LOCK_FILE), noted).unwrap();
            let got = lock(dir.path()).and_then(|lock| own_name(dir.path(), &lock));
            match (got, expected) {
                (Ok(got), Ok(name)) => {
                    assert!(name.is_none_or(|name| got.0 == name), "{own:?} {noted:?}: {got}");
                    for file in [ID_FILE, LOCK_FILE] {
                        let text = std::fs::read_to_string(dir.path().join(file)).unwrap();
                        assert_eq!(text.trim(), got.0, "{file} after {own:?} {noted:?}");
                    }
                }
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                (got, expected) => panic!("{own:?} {noted:?}: expected {expected:?}, got {got:?}"),
            }
        }
    }

    #[test]
    fn a_copied_folder_is_elsewhere() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert_eq!(place_of(a.path()), place_of(a.path()));
        assert_ne!(place_of(a.path()), place_of(b.path()));
        assert_eq!(place_of(&a.path().join("none")), "");
    }
}
