//! A run whose lanes are written one after the other is the run that is written row by row.

use keima_runs::{DiskBudget, RunError, RunOptions, RunWriter, Section, SlicedWriter, run_path, verify_run};
use std::fs;
use std::ops::Range;
use std::sync::Arc;

use super::common::*;
use proptest::prelude::*;
use tempfile::tempdir;

/// Rows of some keys, and the same keys as sections.
fn rows(moduli: &[u64], sections: &[(u64, u64)], seed: u64) -> (Vec<Section>, Records<u64>) {
    let (mut numbers, mut first) = (Numbers(seed), 0);
    let (mut all, mut records) = (Vec::new(), Vec::new());
    for &(gap, count) in sections {
        first += 1 + gap;
        all.push(Section { first, count });
        records.extend((first..first + count).map(|key| (key, moduli.iter().map(|&p| numbers.below(p)).collect())));
        first += count;
    }
    (all, records)
}

/// Hands on some lanes of records.
fn picked(records: &Records<u64>, lanes: Range<usize>) -> impl FnMut(usize, &mut Vec<u64>) {
    let mut rest = records.iter();
    move |count, words| rest.by_ref().take(count).for_each(|(_, row)| words.extend_from_slice(&row[lanes.clone()]))
}

fn check(lanes: usize, sections: &[(u64, u64)], block_records: usize, order: &[Range<usize>]) {
    let (root, header) = (tempdir().unwrap(), header::<u64>(lanes, 1));
    let (sections, records) = rows(&header.moduli, sections, 11);
    let block_bytes = block_records * 8 * (1 + lanes);
    let options = RunOptions { block_bytes, consecutive: true, ..RunOptions::default() };
    let name = id("j1/r0");
    let path = run_path(root.path(), &name).unwrap();
    let mut writer = RunWriter::create(root.path(), &name, &header, options, &unlimited()).unwrap();
    for (key, row) in &records {
        writer.push(*key, row).unwrap();
    }
    let (expected, _) = writer.finish().unwrap().unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();

    // All of it is charged at the beginning.
    let little = Arc::new(DiskBudget::new(expected.bytes - 1));
    let full = SlicedWriter::create(root.path(), &name, &header, options, &little, sections.clone()).unwrap_err();
    assert!(full.is_disk_full(), "{full}");
    let disk = Arc::new(DiskBudget::new(expected.bytes));
    let mut writer = SlicedWriter::create(root.path(), &name, &header, options, &disk, sections.clone()).unwrap();
    assert_eq!(disk.used(), expected.bytes);
    for lanes in order {
        writer.write(lanes.clone(), picked(&records, lanes.clone())).unwrap();
    }
    let got = writer.finish().unwrap();
    assert_eq!((&got, disk.used()), (&expected, expected.bytes));
    assert!(fs::read(&path).unwrap() == bytes, "{lanes} lanes by {order:?}");
    verify_run(&path, &got, &header).unwrap();
    let again = SlicedWriter::create(root.path(), &name, &header, options, &unlimited(), sections).unwrap_err();
    assert!(matches!(again, RunError::Exists { .. }), "{again}");
}

#[test]
fn slices_make_the_run_that_rows_make() {
    check(1, &[(0, 1)], 4, std::slice::from_ref(&(0..1)));
    check(2, &[(5, 7)], 3, &[1..2, 0..1]);
    check(4, &[(0, 3), (1, 1), (1 << 40, 12)], 4, &[0..2, 2..3, 3..4]);
    check(12, &[(9, 5000), (2, 40_000), (1, 4096)], 4096, &[0..8, 8..12]);
    check(10, &[(9, 100)], 1000, &[4..10, 0..4]);
}

proptest! {
    #[test]
    fn any_slices_make_it(
        lanes in 1_usize..9, cut in 0_usize..9, block_records in 1_usize..20, again: bool,
        sections in prop::collection::vec((1_u64..100, 1_u64..60), 1..6),
    ) {
        let cut = cut.min(lanes);
        let mut order: Vec<Range<usize>> = [0..cut, cut..lanes].into_iter().filter(|lanes| !lanes.is_empty()).collect();
        // What is written twice is written once.
        order.extend(again.then_some(0..1));
        check(lanes, &sections, block_records, &order);
    }
}

/// What cannot become a run leaves no file and no bytes.
#[test]
fn what_is_not_whole_is_not_published() {
    let (root, header) = (tempdir().unwrap(), header::<u64>(3, 1));
    let options = RunOptions { block_bytes: 4 * 32, consecutive: true, ..RunOptions::default() };
    let disk = Arc::new(DiskBudget::new(2000));
    let create = |sections: &[Section]| {
        SlicedWriter::create(root.path(), &id("j1/r0"), &header, options, &disk, sections.iter().copied())
    };
    let (sections, records) = rows(&header.moduli, &[(3, 9)], 5);
    let begin = || {
        let mut writer = create(&sections).unwrap();
        writer.write(0..2, picked(&records, 0..2)).unwrap();
        writer
    };
    let refused = |error: RunError, expected: &str| {
        assert!(error.to_string().contains(expected), "{error}, not {expected}");
    };
    refused(begin().finish().unwrap_err(), "3 lanes were expected for these keys, 2 came");
    let mut writer = begin();
    refused(writer.write(2..4, |_, _| ()).unwrap_err(), "3 lanes");
    refused(writer.write(2..2, |_, _| ()).unwrap_err(), "3 lanes");
    // Both are refused before anything is written: it can go on.
    writer.write(2..3, picked(&records, 2..3)).unwrap();
    drop(writer);
    let mut writer = begin();
    let mut few = picked(&records, 2..3);
    refused(writer.write(2..3, |count, words| few(count - 1, words)).unwrap_err(), "4 lanes");
    refused(writer.write(2..3, picked(&records, 2..3)).unwrap_err(), "an earlier call failed");
    refused(writer.finish().unwrap_err(), "3 lanes were expected");
    let mut writer = begin();
    let large = writer.write(2..3, |count, words| words.extend(vec![header.moduli[2]; count])).unwrap_err();
    assert!(matches!(large, RunError::NotReduced { lane: 2, .. }), "{large}");
    refused(writer.finish().unwrap_err(), "3 lanes were expected");

    let section = |first, count| Section { first, count };
    for sections in [&[][..], &[section(5, 0)], &[section(5, 3), section(7, 1)], &[section(u64::MAX, 2)]] {
        refused(create(sections).unwrap_err(), "ascend");
    }
    assert!(create(&[section(5, 200)]).unwrap_err().is_disk_full());
    assert_eq!((files(root.path()).len(), disk.used()), (0, 0));
}
