//! Checkpoints out of an archive, up to the coordinator that goes on with them.

use keima_coordinator::{Checkpoint, Config, Coordinator, Resumption, Terms};

use crate::calls::config;
use crate::store::{registry, restored};

/// Bytes of the head whose last eight are the length of the body, and of the hash at the end.
const HEAD_BYTES: usize = 32;
const HASH_BYTES: usize = 32;

/// A checkpoint without its hash, which no fuzzer can guess: length and hash are made to fit. One that is read goes to a
/// coordinator, and what that stores must be restored: else a bad file in an archive would cost all its jobs.
pub(crate) fn checkpoint(bytes: &[u8]) -> bool {
    let _ = Checkpoint::read(bytes);
    let Ok(read) = Checkpoint::read(&with_hash(bytes)) else { return false };
    let runs = read.objects().count();
    assert!(runs <= bytes.len() && !read.words().is_empty());
    let config = Config { archive_interval_millis: Some(1), ..config() };
    let mut coordinator = Coordinator::new(config.clone(), registry(), 7);
    let mut records = Vec::new();
    take(&mut coordinator, &mut records);
    let from = Resumption { folder: "go-3x3".to_owned(), newest: read.clone(), older: vec![read], notes: Vec::new() };
    let job = coordinator.admit_checkpoint(1_000_000, from, Terms::default());
    let Ok(job) = job else { return false };
    coordinator.tick(1_000_250);
    assert!(coordinator.status(1_000_250, job).is_ok() && coordinator.view(1_000_250, job).is_ok());
    take(&mut coordinator, &mut records);
    let again = restored(config, 1_000_500, records);
    assert!(again.is_ok(), "what was admitted cannot be restored: {:?}", again.err());
    true
}

/// Adds a coordinator's changes to the records of its store.
pub(crate) fn take(coordinator: &mut Coordinator, records: &mut Vec<(String, Vec<u8>)>) {
    let changes = coordinator.take_changes().expect("changes are encoded");
    records.retain(|(key, _)| !changes.deletes.contains(key) && changes.puts.iter().all(|(put, _)| put != key));
    records.extend(changes.puts);
}

/// A checkpoint with the right length and hash.
fn with_hash(bytes: &[u8]) -> Vec<u8> {
    let mut file = bytes.to_vec();
    if let (Some(length), Some(body)) = (file.get_mut(HEAD_BYTES - 8..HEAD_BYTES), bytes.get(HEAD_BYTES..)) {
        length.copy_from_slice(&(body.len() as u64).to_le_bytes());
    }
    let hash = blake3::hash(&file);
    file.extend_from_slice(hash.as_bytes());
    file
}

/// The form of [`checkpoint`].
pub(crate) fn without_hash(file: &[u8]) -> Vec<u8> {
    file.get(..file.len().saturating_sub(HASH_BYTES)).unwrap_or_default().to_vec()
}
