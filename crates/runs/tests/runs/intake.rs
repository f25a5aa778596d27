//! Second copies: taken in whole or not at all, in whatever pieces they come.

use super::common::*;
use keima_runs::{Intake, RunError, RunOptions, run_path};
use std::path::Path;
use tempfile::tempdir_in;

/// Runs of less than a page, of pages and a rest, and of several mebibytes, on a file system with a disk and on one
/// without.
#[test]
fn a_copy_is_the_same_file() {
    let folders = [std::env::temp_dir(), "/dev/shm".into()];
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for (count, chunks) in [(9, &[1, 7, 4096][..]), (500, &[100, 8192, 1 << 20]), (90_000, &[777, 4096, 1 << 20])] {
            let header = header::<u128>(2, 1);
            let (from, to) = (tempdir_in(folder).unwrap(), tempdir_in(folder).unwrap());
            let records = records::<u128>(&header, count, 1 << 70, 9, 5);
            let (manifest, _) = write(from.path(), "j1/a/r0", &header, RunOptions::default(), &records);
            let bytes = std::fs::read(run_path(from.path(), &manifest.id).unwrap()).unwrap();
            for &chunk in chunks {
                // The second time it is there already.
                for _ in 0..2 {
                    take_in(to.path(), &to.path().join("incoming"), &manifest, &bytes, chunk).unwrap();
                    let copy = std::fs::read(run_path(to.path(), &manifest.id).unwrap()).unwrap();
                    assert!(copy == bytes, "{count} records, {chunk} bytes at a time, {}", folder.display());
                }
                assert_eq!(files(to.path()).len(), 1);
            }
        }
    }
}

/// A copy says what is wrong as soon as it has come by.
#[test]
fn what_is_no_copy_is_refused() {
    let header = header::<u64>(2, 1);
    let root = tempfile::tempdir().unwrap();
    let records = records::<u64>(&header, 5000, 1000, 9, 5);
    let (manifest, _) = write(root.path(), "j1/a/r0", &header, RunOptions::default(), &records);
    let (other, _) = write(root.path(), "j1/a/r1", &header, RunOptions::default(), &records);
    let read =
        |manifest: &keima_runs::RunManifest| std::fs::read(run_path(root.path(), &manifest.id).unwrap()).unwrap();
    let (bytes, others) = (read(&manifest), read(&other));
    let to = tempfile::tempdir().unwrap();
    let check = |bytes: &[u8], whole: bool, fits: &dyn Fn(&RunError) -> bool| {
        let tmp = to.path().join("incoming");
        let mut intake = Intake::create(tmp.clone(), &manifest).unwrap();
        let taken = bytes.chunks(1000).try_for_each(|chunk| intake.take(chunk));
        assert_eq!(taken.is_ok(), whole, "{taken:?}");
        let error = taken.and_then(|()| intake.adopt(to.path())).unwrap_err();
        assert!(fits(&error) && error.is_damage(), "{error}");
        std::fs::remove_file(tmp).unwrap();
        assert!(files(to.path()).is_empty());
    };
    check(&bytes[..bytes.len() - 1], true, &|e| matches!(e, RunError::Truncated { .. }));
    check(&[], true, &|e| matches!(e, RunError::Truncated { got: 0, .. }));
    check(&[&bytes[..], b"!"].concat(), false, &|e| matches!(e, RunError::OtherRun { what: "length in bytes", .. }));
    check(&others, false, &|e| matches!(e, RunError::OtherRun { what: "run id", .. }));
    check(b"KEIMARUX, or something else", false, &|e| matches!(e, RunError::BadMagic { .. }));
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        bytes
    };
    check(&flipped(bytes.len() / 2), false, &|e| matches!(e, RunError::Checksum { what: "a lane of block", .. }));
    check(&flipped(bytes.len() - 30), false, &|e| matches!(e, RunError::Checksum { what: "index and footer", .. }));
}

/// A temporary file that is there already is nobody's to write to.
#[test]
fn a_copy_begins_in_a_new_file() {
    let (root, header) = (tempfile::tempdir().unwrap(), header::<u64>(1, 1));
    let (manifest, _) = write(root.path(), "r0", &header, RunOptions::default(), &vec![(1_u64, vec![2])]);
    let there = run_path(root.path(), &manifest.id).unwrap();
    let refused = |path: &Path| Intake::create(path.to_owned(), &manifest).map(drop).unwrap_err();
    assert!(matches!(refused(&there), RunError::Io { action: "create", .. }));
    assert!(matches!(refused(&root.path().join("none/x")), RunError::Io { action: "create", .. }));
}
