//! A log without the store that it belongs to: the jobs are lost, and starting without them must not go unnoticed.
//!
//! The store exists before its log, and its epoch is raised before the log's. So beside a log with changes, or of a later
//! epoch, a store that is new or older than the log is not the one that the log belongs to.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::StoreError;
use super::layout::{FILE, LOG_FILE};
use super::log::{Peek, peek};

/// Fails if the log in `folder` belongs to a store that is missing or empty. Call it before the store is made.
pub(super) fn refuse_without_store(folder: &Path) -> Result<(), StoreError> {
    let what = match std::fs::metadata(folder.join(FILE)) {
        Ok(file) if file.len() > 0 => return Ok(()),
        Ok(_) => "is empty",
        Err(_) => "is missing",
    };
    match peek_at(folder)? {
        Some(log) if log.epoch > 0 || !log.edits.is_empty() => Err(lost(folder, what, &log)),
        _ => Ok(()),
    }
}

/// Fails if the log in `folder` is of a later epoch than the store's.
pub(super) fn refuse_older_store(folder: &Path, epoch: u64) -> Result<(), StoreError> {
    match peek_at(folder)? {
        Some(log) if log.epoch > epoch => Err(lost(folder, "is older than its log", &log)),
        _ => Ok(()),
    }
}

fn peek_at(folder: &Path) -> Result<Option<Peek>, StoreError> {
    let path = folder.join(LOG_FILE);
    peek(&path).map_err(|source| StoreError::Io { action: "read the log", path, source })
}

fn lost(folder: &Path, what: &'static str, log: &Peek) -> StoreError {
    let jobs: BTreeSet<u64> = log.edits.iter().filter_map(|(key, _)| job_of(key)).collect();
    let names: Vec<String> = jobs.iter().map(|job| format!("j{job}")).collect();
    let left = if names.is_empty() { "no job".to_owned() } else { names.join(", ") };
    StoreError::Lost { folder: folder.to_owned(), what, changes: log.edits.len(), left }
}

/// The job that a record belongs to: the second word of its key; a grant has an attempt's name there.
fn job_of(key: &str) -> Option<u64> {
    let mut words = key.split('/');
    let (kind, job) = (words.next()?, words.next()?);
    (kind != "meta").then(|| job.strip_prefix('j').unwrap_or(job).parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    /// What becomes of the store's file, and what starting again says; `None` where it starts.
    #[test]
    fn a_log_without_its_store_is_refused() {
        type Damage = fn(&Path);
        let remove: Damage = |folder| std::fs::remove_file(folder.join(FILE)).unwrap();
        let empty: Damage = |folder| std::fs::write(folder.join(FILE), "").unwrap();
        let nothing: Damage = |_| {};
        let log_too: Damage = |folder| {
            std::fs::remove_file(folder.join(FILE)).unwrap();
            std::fs::remove_file(folder.join(LOG_FILE)).unwrap();
        };
        for merged in [false, true] {
            for (damage, words) in [
                (nothing, None),
                (remove, Some("is missing")),
                (empty, Some("is empty")),
                // A folder without both is a new one.
                (log_too, None),
            ] {
                let dir = tempfile::tempdir().unwrap();
                let mut store = Store::open(dir.path()).unwrap();
                store.write(vec![("job/3".to_owned(), Some(vec![1]))], merged).unwrap();
                store.write(vec![("grant/j7/s0/g1/t0/a0".to_owned(), Some(vec![2]))], false).unwrap();
                drop(store);
                damage(dir.path());
                for _ in 0..2 {
                    match (Store::open(dir.path()), words) {
                        (Ok(_), None) => {}
                        (Err(error), Some(words)) => {
                            let text = error.to_string();
                            assert!(text.contains(words) && text.contains("j7"), "{text}");
                            assert_eq!(text.contains("j3"), !merged, "merged changes are in the store: {text}");
                            assert!(text.contains("copy"), "{text}");
                        }
                        (opened, words) => panic!("merged {merged}, expected {words:?}: {opened:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn an_older_store_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        store.write(vec![("job/1".to_owned(), Some(vec![1]))], true).unwrap();
        drop(store);
        let copy = std::fs::read(dir.path().join(FILE)).unwrap();
        let mut store = Store::open(dir.path()).unwrap();
        for _ in 0..2 {
            store.write(vec![("job/2".to_owned(), Some(vec![1]))], true).unwrap();
        }
        drop(store);
        std::fs::write(dir.path().join(FILE), copy).unwrap();
        let error = Store::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("is older than its log"), "{error}");
    }

    #[test]
    fn a_folder_that_holds_no_changes_is_as_good_as_new() {
        let dir = tempfile::tempdir().unwrap();
        drop(Store::open(dir.path()).unwrap());
        std::fs::remove_file(dir.path().join(FILE)).unwrap();
        drop(Store::open(dir.path()).unwrap());
    }
}
