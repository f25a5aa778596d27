//! Merge-and-add against a plain map.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::common::*;
use keima_runs::{
    Batch, BlockFeed, LocalRun, MergeError, Merger, RunCursor, RunError, RunHeader, RunKey, RunOptions, RunPart,
};
use proptest::prelude::*;
use tempfile::{TempDir, tempdir};

struct Runs {
    root: TempDir,
    header: RunHeader,
    open: Vec<LocalRun>,
}

impl Runs {
    fn write<K: RunKey>(header: RunHeader, block_bytes: usize, runs: &[Records<K>]) -> Self {
        let root = tempdir().unwrap();
        let options = RunOptions { block_bytes, ..RunOptions::default() };
        let open = (0..)
            .zip(runs)
            .filter(|(_, records)| !records.is_empty())
            .map(|(i, records): (usize, _)| {
                let (manifest, _) = write(root.path(), &format!("r{i}"), &header, options, records);
                open(root.path(), &manifest, &header).unwrap()
            })
            .collect();
        Self { root, header, open }
    }

    fn merger<K: RunKey>(&self, low: u128, high: Option<u128>) -> Merger<K> {
        let cursors = self.open.iter().map(|run| cursor(run, low, high)).collect();
        Merger::new(cursors, &self.header.moduli, self.header.coefficients)
    }
}

fn oracle<K: RunKey>(header: &RunHeader, runs: &[Records<K>], low: u128, high: Option<u128>) -> Records<K> {
    let mut map: BTreeMap<K, Vec<u64>> = BTreeMap::new();
    for (key, row) in runs.iter().flatten() {
        if key.widen() >= low && high.is_none_or(|high| key.widen() < high) {
            let sum = map.entry(*key).or_insert_with(|| vec![0; row.len()]);
            for (lane, (s, v)) in sum.iter_mut().zip(row).enumerate() {
                let modulus = u128::from(header.moduli[lane % header.moduli.len()]);
                *s = ((u128::from(*s) + u128::from(*v)) % modulus) as u64;
            }
        }
    }
    map.into_iter().collect()
}

fn merged<K: RunKey>(mut merger: Merger<K>, lanes: usize, sizes: &[usize]) -> Result<Records<K>, MergeError> {
    let mut all: Records<K> = Vec::new();
    let mut batch = Batch::new();
    let mut sizes = sizes.iter().copied().cycle();
    loop {
        let size = sizes.next().unwrap();
        if !merger.next_batch(&mut batch, size)? {
            break;
        }
        assert!(!batch.is_empty() && batch.len() <= size.max(1));
        // Strictly above all before: equal keys are never in two batches.
        assert!(all.last().is_none_or(|(k, _)| *k < batch.keys[0]));
        all.extend(to_records(&batch, lanes));
    }
    assert!(batch.is_empty() && batch.rows.is_empty());
    assert!(!merger.next_batch(&mut batch, 5)?);
    Ok(all)
}

fn check<K: RunKey>(
    header: RunHeader,
    block_bytes: usize,
    runs: &[Records<K>],
    sizes: &[usize],
    low: u128,
    high: Option<u128>,
) {
    let files = Runs::write(header, block_bytes, runs);
    let got = merged(files.merger::<K>(low, high), files.header.lanes(), sizes).unwrap();
    assert_eq!(got, oracle(&files.header, runs, low, high), "{runs:x?} {sizes:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]
    #[test]
    fn agrees_with_a_map(
        // Few distinct keys and many runs: many duplicates across.
        runs in proptest::collection::vec((0_usize..80, 0_u64..40, 1_u64..6), 0..20),
        moduli in 1_usize..=5,
        coefficients in 1_u32..=3,
        small_moduli: bool,
        block_bytes in prop_oneof![Just(1_usize), 1_usize..2000],
        sizes in proptest::collection::vec(prop_oneof![0_usize..4, 1_usize..200, Just(usize::MAX)], 1..4),
        low in prop_oneof![Just(0_u128), 0_u128..100],
        high in proptest::option::of(0_u128..200),
        seed: u64,
    ) {
        let mut header = header::<u64>(moduli, coefficients);
        if small_moduli {
            // Sums that are zero turn up, and stay.
            header.moduli = (2..2 + moduli as u64).collect();
        }
        let mut salt = seed;
        let mut make = |&(count, start, gap): &(usize, u64, u64)| {
            salt = salt.wrapping_add(1);
            records::<u64>(&header, count, start.into(), gap, salt)
        };
        let narrow: Vec<_> = runs.iter().map(&mut make).collect();
        let wide: Vec<Records<u128>> = narrow
            .iter()
            .map(|r| r.iter().map(|(k, row)| (u128::from(*k) << 63, row.clone())).collect())
            .collect();
        check(header.clone(), block_bytes, &narrow, &sizes, low, high);
        let wide_header = RunHeader { key_bytes: 16, ..header };
        check(wide_header, block_bytes, &wide, &sizes, low << 63, high.map(|h| h << 63));
    }
}

#[test]
fn every_way_to_spread_four_keys_over_three_runs() {
    // Each of the keys 0 to 3 stands in any of the 8 subsets of three runs: 4096 cases, all batch sizes up to 5.
    let header = RunHeader { moduli: vec![5], ..header::<u64>(1, 1) };
    // The eight subsets of keys as files once, so that the cases need no files of their own.
    let all: Vec<Records<u64>> =
        (0..16_u64).map(|set| (0..4).filter(|k| set >> k & 1 == 1).map(|k| (k, vec![1 + k])).collect()).collect();
    let files = Runs::write(header, 1, &all);
    let mut cases = 0;
    for sets in 0..16_usize * 16 * 16 {
        let chosen = [sets % 16, sets / 16 % 16, sets / 256];
        let runs: Vec<_> = chosen.iter().map(|&set| all[set].clone()).collect();
        let expected = oracle(&files.header, &runs, 0, None);
        for size in 1..=5 {
            // The empty set (0) has no file, so set s is file s - 1.
            let cursors = chosen.iter().filter(|&&set| set > 0).map(|&set| cursor(&files.open[set - 1], 0, None));
            let merger = Merger::<u64>::new(cursors.collect(), &files.header.moduli, 1);
            assert_eq!(merged(merger, 1, &[size]).unwrap(), expected, "{chosen:?} {size}");
            cases += 1;
        }
    }
    assert_eq!(cases, 4096 * 5);
}

#[test]
fn rows_that_cancel_stay_as_zeros() {
    let header = RunHeader { moduli: vec![7, 11], ..header::<u64>(2, 1) };
    let runs: [Records<u64>; 2] = [vec![(4, vec![3, 5]), (6, vec![0, 0])], vec![(4, vec![4, 6])]];
    let files = Runs::write(header, 100, &runs);
    let got = merged(files.merger::<u64>(0, None), 2, &[10]).unwrap();
    assert_eq!(got, [(4, vec![0, 0]), (6, vec![0, 0])]);
}

#[test]
fn bytes_are_counted() {
    let header = header::<u64>(2, 1);
    let runs: Vec<_> = (0..5).map(|seed| records::<u64>(&header, 300, 0, 9, seed)).collect();
    let files = Runs::write(header, 512, &runs);
    let mut merger = files.merger::<u64>(0, None);
    assert_eq!(merger.bytes_read(), 0);
    let mut batch = Batch::new();
    while merger.next_batch(&mut batch, 64).unwrap() {}
    let all: u64 = files.open.iter().map(|run| run.manifest().bytes).sum();
    // All blocks, no index and no footers.
    assert!(merger.bytes_read() > all * 8 / 10 && merger.bytes_read() < all);
}

/// Gives the blocks of another feed and then, or instead of one of them, something else.
struct Faulty {
    inner: Box<dyn BlockFeed>,
    at: usize,
    fault: Fault,
    calls: Arc<AtomicUsize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Error,
    End,
    Skip,
    Repeat,
}

impl BlockFeed for Faulty {
    fn next_block(&mut self, raw: &mut Vec<u8>) -> Result<bool, RunError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if call == self.at {
            match self.fault {
                Fault::Error => return Err(RunError::Remote { text: "the line is cut".into() }),
                Fault::End => return Ok(false),
                Fault::Skip => {
                    self.inner.next_block(raw)?;
                }
                Fault::Repeat => return Ok(true),
            }
        }
        self.inner.next_block(raw)
    }
}

#[test]
fn feeds_that_fail_skip_repeat_or_end_early_are_named() {
    let header = header::<u64>(2, 1);
    let runs: Vec<_> = (0..3).map(|seed| records::<u64>(&header, 100, 50, 9, seed)).collect();
    let files = Runs::write(header, 240, &runs);
    let mut seen = 0;
    for fault in [Fault::Error, Fault::End, Fault::Skip, Fault::Repeat] {
        for at in 0..10 {
            if fault == Fault::Repeat && at == 0 {
                continue;
            }
            let calls = Arc::new(AtomicUsize::new(0));
            let mut cursors: Vec<RunCursor<u64>> = files.open.iter().map(|run| cursor(run, 0, None)).collect();
            let run = &files.open[1];
            let inner = Box::new(run.feed(RunPart::all(&files.header)));
            let feed = Box::new(Faulty { inner, at, fault, calls: Arc::clone(&calls) });
            cursors[1] = RunCursor::new(feed, &files.header, &run.manifest().id, RunPart::all(&files.header));
            let mut merger = Merger::new(cursors, &files.header.moduli, 1);
            let mut batch = Batch::new();
            let error = loop {
                match merger.next_batch(&mut batch, 7) {
                    Ok(true) => {}
                    Ok(false) => panic!("{fault:?} at block {at} went unnoticed"),
                    Err(error) => break error,
                }
            };
            assert!(calls.load(Ordering::Relaxed) > at);
            assert!(batch.is_empty());
            assert_eq!(error.run, run.manifest().id);
            assert!(!error.source.is_damage(), "{error}");
            let remote = matches!(error.source, RunError::Remote { .. });
            let incomplete = matches!(error.source, RunError::Incomplete { .. });
            assert!(if fault == Fault::Error { remote } else { incomplete }, "{fault:?}: {error}");
            // And it does not go on as if nothing had been.
            let again = merger.next_batch(&mut batch, 7).unwrap_err();
            assert!(matches!(again.source, RunError::Failed { .. }));
            seen += 1;
        }
    }
    assert_eq!(seen, 39);
}

#[test]
fn a_cursor_of_the_wrong_width_says_so() {
    let header = header::<u64>(1, 1);
    let files = Runs::write(header.clone(), 240, &[records::<u64>(&header, 10, 0, 9, 1)]);
    let error = drain(cursor::<u128>(&files.open[0], 0, None), 1).unwrap_err();
    assert!(matches!(error, RunError::OtherRun { what: "key bytes", .. }), "{error}");
    assert!(files.root.path().exists());
}
