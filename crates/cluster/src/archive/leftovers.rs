//! What writers that were killed have left in a folder archive.
//!
//! ```text
//!   runs/DIGEST.run#1                  object_store's name for a file that is not complete; `#2` if there is one already
//!   checkpoint-0000000042.keima#1
//! ```
//!
//! The lists of `object_store` hide such files, so they are removed here, file by file. A writer that lives and has lost its lease
//! then fails at its end, as it should. Buckets have no such files: there the parts of an upload wait for a lifecycle rule.
//! Cost: one look through the folder.

use std::fs;
use std::path::Path;

use super::Archive;
use crate::world;

/// Whether a file's name is a temporary one of a run or a checkpoint.
pub(super) fn is_leftover(name: &str) -> bool {
    let Some((object, number)) = name.split_once('#') else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && [".run", ".keima"].iter().any(|ending| object.ends_with(ending))
}

impl Archive {
    /// Removes them from a job's folder, and folders that are empty then. Nothing may be stored there meanwhile.
    pub(super) async fn remove_leftovers(&self, folder: &str) {
        let Some(root) = &self.folder else { return };
        let folder = root.join(folder);
        let removed = world::blocking(move || {
            clear(&folder.join("runs"));
            clear(&folder);
        });
        if let Err(error) = removed.await {
            tracing::warn!(%error, "cannot remove what killed writers left in the archive");
        }
    }
}

fn clear(folder: &Path) {
    // A folder goes with its last object.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_str().is_some_and(is_leftover) {
            continue;
        }
        let path = entry.path();
        match fs::remove_file(&path) {
            Ok(()) => tracing::info!(path = %path.display(), "removed what a killed writer left in the archive"),
            Err(error) => tracing::warn!(path = %path.display(), %error, "cannot remove what a killed writer left"),
        }
    }
    // Succeeds on empty folders only, as it should.
    let _ = fs::remove_dir(folder);
}
