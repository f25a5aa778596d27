//! Small runs to damage, and what every reader says of them then.

use std::fs;

use super::common::*;
use keima_runs::{RunError, RunHeader, RunManifest, RunOptions, RunPart, read_manifest, run_path, verify_run};
use tempfile::{TempDir, tempdir, tempdir_in};

/// A run, and its bytes as they were written.
pub(crate) struct Sample {
    pub(crate) root: TempDir,
    pub(crate) header: RunHeader,
    pub(crate) manifest: RunManifest,
    pub(crate) bytes: Vec<u8>,
}

/// How the key sections of a sample are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Keys {
    Varint,
    Zstd,
    Consecutive,
}
pub(crate) const KEYS: [Keys; 3] = [Keys::Varint, Keys::Zstd, Keys::Consecutive];

/// Lanes of a sample.
pub(crate) const LANES: usize = 2;

/// A small run of several blocks.
pub(crate) fn sample(keys: Keys) -> Sample {
    // Thousands of damaged files are flushed: in memory where that is a folder.
    let root = tempdir_in("/dev/shm").or_else(|_| tempdir()).unwrap();
    let header = header::<u64>(LANES, 1);
    let (flags, block, count, gap) = match keys {
        Keys::Varint => (1, 3, 8, 300),
        Keys::Zstd => (1 | 4, 160, 170, 1),
        Keys::Consecutive => (1 | 16, 3, 8, 1),
    };
    let options = RunOptions {
        block_bytes: 24 * block,
        compress_keys: keys == Keys::Zstd,
        consecutive: keys == Keys::Consecutive,
        durable: false,
    };
    let mut records = records::<u64>(&header, count, 1000, gap, 7);
    let step = match keys {
        Keys::Varint => None,
        Keys::Zstd => Some(3),
        Keys::Consecutive => Some(1),
    };
    if let Some(step) = step {
        records.iter_mut().zip((1000..).step_by(step)).for_each(|((key, _), next)| *key = next);
    }
    let (manifest, splits) = write(root.path(), "j1/a0/r0", &header, options, &records);
    assert!(splits.len() >= 2);
    let bytes = fs::read(run_path(root.path(), &manifest.id).unwrap()).unwrap();
    let flags_at = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize + 4;
    assert_eq!(bytes[flags_at], flags);
    Sample { root, header, manifest, bytes }
}

impl Sample {
    /// What reading says of `bytes`: a whole verification, an open with a full read, and a look without expectation.
    pub(crate) fn judge(&self, bytes: &[u8]) -> (Result<(), RunError>, Result<Records<u64>, RunError>, bool) {
        let path = run_path(self.root.path(), &self.manifest.id).unwrap();
        fs::write(&path, bytes).unwrap();
        let verified = verify_run(&path, &self.manifest, &self.header);
        let read = read::<u64>(self.root.path(), &self.manifest, &self.header);
        let known = read_manifest(&path, &self.manifest.id).is_ok();
        // As a second copy, in pieces.
        let tmp = self.root.path().join("incoming");
        let adopted = take_in(self.root.path(), &tmp, &self.manifest, bytes, 1 + bytes.len() / 3);
        assert_eq!(adopted.is_ok(), verified.is_ok(), "{adopted:?}");
        assert!(adopted.err().is_none_or(|error| error.is_damage()));
        // Whoever reads some of the lanes finds them sound where all are, and does not panic where they are not.
        if let Ok(run) = open(self.root.path(), &self.manifest, &self.header) {
            let part = RunPart::all(&self.header).with_lanes(1..2);
            let some = drain(part_cursor::<u64>(&run, part), 1);
            assert!(some.is_ok() || read.is_err());
        }
        (verified, read, known)
    }
}
