//! What a writer refuses, and that a failed one leaves nothing behind.

use std::fs;
use std::io::{Error, ErrorKind};
use std::sync::Arc;

use super::common::*;
use keima_runs::{
    BlockCut, DiskBudget, KeyOrder, MAX_BUILD_BYTES, MAX_SUBJECT_BYTES, RunError, RunHeader, RunOptions, RunWriter,
    open_verified, run_path,
};
use tempfile::tempdir;

fn small_blocks() -> RunOptions {
    RunOptions { block_bytes: 100, ..RunOptions::default() }
}

#[test]
fn the_budget_is_charged_kept_and_refunded() {
    let header = header::<u64>(2, 1);
    let records = records::<u64>(&header, 100, 0, 9, 1);
    let root = tempdir().unwrap();
    let disk = Arc::new(DiskBudget::new(1 << 20));
    let writer = RunWriter::<u64>::create(root.path(), &id("a/b"), &header, small_blocks(), &disk).unwrap();
    assert_eq!(disk.used(), files(root.path())[0].1);
    assert!(disk.used() > 0);
    drop(writer);
    assert_eq!((disk.used(), files(root.path()).len()), (0, 0));

    let mut writer = RunWriter::<u64>::create(root.path(), &id("a/b"), &header, small_blocks(), &disk).unwrap();
    writer.push_batch(&to_batch(&records)).unwrap();
    // All that is on disk is charged.
    assert_eq!(disk.used(), files(root.path())[0].1);
    let (manifest, _) = writer.finish().unwrap().unwrap();
    assert_eq!((disk.used(), disk.peak()), (manifest.bytes, manifest.bytes));
    assert_eq!(files(root.path())[0].1, manifest.bytes);
    disk.refund(manifest.bytes);
    assert_eq!((disk.used(), disk.peak(), disk.cap()), (0, manifest.bytes, 1 << 20));
}

#[test]
fn every_cap_that_is_too_small_stops_the_writer_and_leaves_nothing() {
    let header = header::<u64>(2, 1);
    let records = records::<u64>(&header, 20, 0, 9, 1);
    let root = tempdir().unwrap();
    let (manifest, _) = write(root.path(), "whole", &header, small_blocks(), &records);
    let before = files(root.path());
    for cap in 0..=manifest.bytes {
        let disk = Arc::new(DiskBudget::new(cap));
        let attempt = || {
            let mut writer = RunWriter::<u64>::create(root.path(), &id("whale"), &header, small_blocks(), &disk)?;
            for (key, row) in &records {
                writer.push(*key, row)?;
            }
            writer.finish()
        };
        match attempt() {
            Ok(_) => assert_eq!(cap, manifest.bytes),
            Err(error) => {
                assert!(matches!(error, RunError::DiskCap { cap: c, .. } if c == cap), "{error}");
                assert!(error.is_disk_full() && !error.is_damage());
                assert_eq!(disk.used(), 0);
                assert_eq!(files(root.path()), before);
            }
        }
        assert!(disk.peak() <= cap);
        assert_eq!(cap == manifest.bytes, root.path().join("whale.run").exists());
    }
}

#[test]
fn a_writer_that_failed_does_not_publish() {
    let header = header::<u64>(1, 1);
    let root = tempdir().unwrap();
    let disk = Arc::new(DiskBudget::new(400));
    let mut writer = RunWriter::<u64>::create(root.path(), &id("a"), &header, small_blocks(), &disk).unwrap();
    let errors = (0..100).filter(|&key| writer.push(key, &[1]).is_err()).count();
    assert!(errors > 1);
    let error = writer.finish().unwrap_err();
    assert!(matches!(error, RunError::Failed { .. }), "{error}");
    assert_eq!((disk.used(), files(root.path()).len()), (0, 0));

    // The folder is taken away below the writer.
    let disk = unlimited();
    let mut writer = RunWriter::<u64>::create(root.path(), &id("x/a"), &header, small_blocks(), &disk).unwrap();
    writer.push(1, &[1]).unwrap();
    fs::remove_dir_all(root.path().join("x")).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(matches!(error, RunError::Io { .. }) && !error.is_disk_full() && !error.is_damage(), "{error}");
    assert_eq!(disk.used(), 0);

    // The folder cannot be made.
    fs::write(root.path().join("file"), b"").unwrap();
    let error = RunWriter::<u64>::create(root.path(), &id("file/a"), &header, small_blocks(), &disk).unwrap_err();
    assert!(matches!(error, RunError::Io { action: "create the folder", .. }), "{error}");
}

#[test]
fn a_full_disk_is_a_full_disk() {
    for (kind, full) in [(ErrorKind::StorageFull, true), (ErrorKind::QuotaExceeded, true), (ErrorKind::NotFound, false)]
    {
        let error = RunError::Io { path: "a".into(), action: "write", source: Error::from(kind) };
        assert_eq!(error.is_disk_full(), full);
        assert!(!error.is_damage());
    }
}

#[test]
fn bad_records_are_refused() {
    let header = header::<u64>(2, 1);
    let root = tempdir().unwrap();
    let create = |name: &str| {
        RunWriter::<u64>::create(root.path(), &id(name), &header, RunOptions::default(), &unlimited()).unwrap()
    };
    let mut writer = create("a");
    writer.push(5, &[1, 2]).unwrap();
    let order = |previous: u128, got: u128, error: RunError| {
        let RunError::OutOfOrder { previous: p, got: g } = error else { panic!("{error}") };
        assert_eq!((*p, *g), (previous, got));
    };
    order(5, 5, writer.push(5, &[1, 2]).unwrap_err());
    order(5, 3, writer.push(3, &[1, 2]).unwrap_err());
    order(5, 4, writer.push_batch(&to_batch(&[(4, vec![0, 0])])).unwrap_err());
    order(7, 7, writer.push_batch(&to_batch(&[(6, vec![0, 0]), (7, vec![0, 0]), (7, vec![0, 0])])).unwrap_err());
    for row in [&[][..], &[1], &[1, 2, 3]] {
        let error = writer.push(6, row).unwrap_err();
        assert!(matches!(error, RunError::RowLength { expected: 2, got } if got == row.len()), "{error}");
    }
    // What was refused changed nothing.
    writer.push(6, &[3, 4]).unwrap();
    let (manifest, _) = writer.finish().unwrap().unwrap();
    assert_eq!(read::<u64>(root.path(), &manifest, &header).unwrap(), [(5, vec![1, 2]), (6, vec![3, 4])]);

    let mut writer = create("b");
    writer.push(5, &[1, header.moduli[1]]).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(matches!(error, RunError::NotReduced { lane: 1, modulus, .. } if modulus == header.moduli[1]), "{error}");
    assert!(!root.path().join("b.run").exists());
}

#[test]
fn empty_runs_are_not_written_and_runs_not_twice() {
    let header = header::<u128>(1, 1);
    let root = tempdir().unwrap();
    let disk = unlimited();
    let create = |name: &str| RunWriter::<u128>::create(root.path(), &id(name), &header, RunOptions::default(), &disk);
    assert!(create("a").unwrap().finish().unwrap().is_none());
    assert_eq!((disk.used(), files(root.path()).len()), (0, 0));
    let mut first = create("a").unwrap();
    // Nor by two writers at the same time.
    assert!(matches!(create("a").unwrap_err(), RunError::Exists { .. }));
    first.push(1, &[1]).unwrap();
    let (manifest, _) = first.finish().unwrap().unwrap();
    assert!(matches!(create("a").unwrap_err(), RunError::Exists { .. }));
    assert_eq!(read::<u128>(root.path(), &manifest, &header).unwrap(), [(1, vec![1])]);
}

#[test]
fn only_ids_that_stay_below_the_root_have_paths() {
    let root = std::path::Path::new("/scratch");
    assert_eq!(run_path(root, &id("j3/s0/g12/t5/a0/r1")).unwrap(), root.join("j3/s0/g12/t5/a0/r1.run"));
    assert_eq!(run_path(root, &id("7")).unwrap(), root.join("7.run"));
    let long = "a".repeat(201);
    for bad in [
        "", "/", "/a", "a/", "a//b", "..", "../a", "a/../b", ".", "a/./b", "A", "a b", "a.run", "a\\b", "\u{e9}",
        "a\0", "a-b", &long,
    ] {
        let error = run_path(root, &id(bad)).unwrap_err();
        assert!(matches!(error, RunError::BadId { .. }), "{bad:?}");
    }
}

#[test]
fn headers_that_no_run_can_have_are_refused() {
    let good = header::<u64>(2, 1);
    let root = tempdir().unwrap();
    let check = |what_expected: &str, header: RunHeader| {
        let error =
            RunWriter::<u64>::create(root.path(), &id("a"), &header, RunOptions::default(), &unlimited()).unwrap_err();
        assert!(matches!(error, RunError::BadHeader { what, .. } if what == what_expected), "{error}");
        assert!(files(root.path()).is_empty());
    };
    check("key bytes", RunHeader { key_bytes: 4, ..good.clone() });
    check("number of moduli", RunHeader { moduli: vec![], ..good.clone() });
    check("number of moduli", RunHeader { moduli: vec![7; 257], ..good.clone() });
    check("modulus", RunHeader { moduli: vec![7, 1], ..good.clone() });
    check("number of lanes", RunHeader { coefficients: 0, ..good.clone() });
    check("number of lanes", RunHeader { coefficients: u32::MAX, ..good.clone() });
    check("number of lanes", RunHeader { coefficients: 2049, ..good.clone() });
    check("subject", RunHeader { subject: "g\u{f6}".to_owned(), ..good.clone() });
    check("subject", RunHeader { subject: "g".repeat(MAX_SUBJECT_BYTES + 1), ..good.clone() });
    check("build", RunHeader { build: "0.1.0\n".to_owned(), ..good.clone() });
    check("build", RunHeader { build: "1".repeat(MAX_BUILD_BYTES + 1), ..good.clone() });
    let cut = |windows: &[u8]| Some(BlockCut { windows: windows.to_vec(), group_records: 5 });
    let blocks = |windows| RunHeader {
        key_order: KeyOrder::Blocks { first: 3, len: 4 },
        cut: cut(windows),
        subject: "g".repeat(MAX_SUBJECT_BYTES),
        build: "1".repeat(MAX_BUILD_BYTES),
        ..good.clone()
    };
    check("cut of a column", RunHeader { cut: cut(&[3, 4]), ..good.clone() });
    check("cut of a column", RunHeader { cut: None, ..blocks(&[]) });
    for windows in [&[][..], &[3, 0], &[1; 65]] {
        check("cut of a column", blocks(windows));
    }
    for windows in [&[3, 4][..], &[1; 64]] {
        let header = blocks(windows);
        let mut writer =
            RunWriter::<u64>::create(root.path(), &id("b"), &header, RunOptions::default(), &unlimited()).unwrap();
        writer.push(7, &[1, 2]).unwrap();
        writer.finish().unwrap();
        let run = open_verified(&root.path().join("b.run")).unwrap();
        assert_eq!((run.header(), &run.manifest().id), (&header, &id("b")));
        fs::remove_file(root.path().join("b.run")).unwrap();
    }
    let error = RunWriter::<u128>::create(root.path(), &id("a"), &good, RunOptions::default(), &unlimited());
    assert!(matches!(error.unwrap_err(), RunError::OtherRun { what: "key bytes", .. }));
}
