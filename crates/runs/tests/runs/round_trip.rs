//! What was written comes back: all of it, and any range of it.

use super::common::*;
use keima_runs::{
    DiskBudget, RunCursor, RunError, RunKey, RunOptions, RunPart, RunWriter, Section, SlicedWriter, publish_durably,
    read_manifest, run_path, verify_run,
};
use proptest::prelude::*;
use std::sync::Arc;
use tempfile::tempdir;

/// Writes `records`, and checks manifest, splits, file, full read, and reads of `ranges`.
fn check<K: RunKey>(
    moduli: usize,
    coefficients: u32,
    options: RunOptions,
    records: &Records<K>,
    ranges: &[(u128, Option<u128>)],
) {
    let root = tempdir().unwrap();
    let header = header::<K>(moduli, coefficients);
    let lanes = header.lanes();
    let (manifest, splits) = write(root.path(), "j1/s0/g2/t3/a0/r1", &header, options, records);

    assert_eq!(manifest.records, records.len() as u64);
    assert_eq!(manifest.first_key, records[0].0.widen());
    let last = records[records.len() - 1].0.widen();
    assert_eq!(manifest.last_key, last);
    for lane in 0..lanes {
        let sum: u128 = records.iter().map(|(_, row)| u128::from(row[lane])).sum();
        assert_eq!(u128::from(manifest.sums[lane]), sum % u128::from(header.moduli[lane % moduli]));
    }
    let path = run_path(root.path(), &manifest.id).unwrap();
    assert_eq!(files(root.path()), [(path.display().to_string(), manifest.bytes)]);

    // Splits: the pieces are what they say, and lie at most one block apart from equal weights.
    assert!(!splits.is_empty() && splits.len() <= 1024);
    assert!(splits[splits.len() - 1].key > last || splits[splits.len() - 1].key == u128::MAX);
    let mut low = 0;
    for (i, split) in splits.iter().enumerate() {
        let ends = i + 1 == splits.len();
        let inside = records.iter().filter(|(k, _)| k.widen() >= low && (ends || k.widen() < split.key)).count();
        assert_eq!(inside as u64, split.records);
        assert!(split.key > low && split.records > 0);
        low = split.key;
    }

    assert_eq!(read_manifest(&path, &manifest.id).unwrap(), (header.clone(), manifest.clone()));
    verify_run(&path, &manifest, &header).unwrap();
    assert_eq!(&read::<K>(root.path(), &manifest, &header).unwrap(), records);

    let run = open(root.path(), &manifest, &header).unwrap();
    for &(low, high) in ranges {
        let inside = |k: u128| k >= low && high.is_none_or(|high| k < high);
        let expected: Records<K> = records.iter().filter(|(k, _)| inside(k.widen())).cloned().collect();
        assert_eq!(drain(cursor::<K>(&run, low, high), lanes).unwrap(), expected, "{low:#x} {high:x?}");
        for some in [0..1, lanes - 1..lanes, lanes / 3..lanes] {
            let expected: Records<K> = expected.iter().map(|(key, row)| (*key, row[some.clone()].to_vec())).collect();
            let part = RunPart { low, high, lanes: some.clone() };
            let got = drain(part_cursor::<K>(&run, part), some.len()).unwrap();
            assert_eq!(got, expected, "lanes {some:?}, {low:#x} {high:x?}");
        }
    }
    let all = RunPart::all(&header);
    for none in [lanes..lanes + 1, 0..lanes + 1, 0..0] {
        let error = drain(part_cursor::<K>(&run, all.clone().with_lanes(none)), 1).unwrap_err();
        assert!(matches!(error, RunError::RowLength { expected, .. } if expected == lanes), "{error}");
        assert!(!error.is_damage());
    }
    // A feed that gives other lanes than are asked for, if there are others.
    for (given, wanted) in [(0..lanes, 0..1), (0..1, lanes - 1..lanes)].into_iter().filter(|_| lanes > 1) {
        let feed = Box::new(run.feed(all.clone().with_lanes(given.clone())));
        let cursor = RunCursor::<K>::new(feed, &header, &manifest.id, all.clone().with_lanes(wanted.clone()));
        let error = drain(cursor, wanted.len()).unwrap_err();
        assert!(error.is_damage(), "lanes {given:?} as {wanted:?}: {error}");
    }
}

fn ranges<K: RunKey>(records: &Records<K>, seed: u64) -> Vec<(u128, Option<u128>)> {
    let mut numbers = Numbers(seed);
    let max = K::from_wide(u128::MAX).map_or(u128::from(u64::MAX), RunKey::widen);
    let mut edge = || {
        let key = records[numbers.below(records.len() as u64) as usize].0.widen();
        match numbers.below(6) {
            0 => 0,
            1 => max,
            2 => key.saturating_sub(1),
            3 => key.saturating_add(1),
            _ => key,
        }
    };
    let mut ranges: Vec<_> = (0..20).map(|i| (edge(), (i % 4 != 0).then(&mut edge))).collect();
    ranges.extend([(0, None), (0, Some(0)), (5, Some(3)), (u128::MAX, None), (0, Some(u128::MAX))]);
    ranges
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_shape_comes_back(
        count in prop_oneof![1_usize..6, 6_usize..400],
        moduli in 1_usize..=5,
        coefficients in 1_u32..=2,
        block_bytes in prop_oneof![0_usize..300, 300_usize..5000, Just(64 << 10)],
        compress_keys: bool,
        consecutive: bool,
        gap_bits in prop_oneof![Just(0_u32), 0_u32..50],
        // With gap_bits 0 every gap is this: 1 makes consecutive keys, the others make keys that are compressed.
        step in 1_u64..4,
        seed: u64,
    ) {
        let options = RunOptions { block_bytes, compress_keys, consecutive, durable: false };
        let wide = header::<u128>(moduli, coefficients);
        let start = u128::from(seed) << (seed % 60);
        let mut narrow = records::<u64>(&wide, count, u128::from(seed >> 8), 1 << gap_bits, seed);
        let start_key = narrow[0].0;
        for (key, _) in &mut narrow {
            *key = start_key + (*key - start_key) * step;
        }
        check(moduli, coefficients, options, &narrow, &ranges(&narrow, seed));
        let wide = records::<u128>(&wide, count, start, 1 << gap_bits, seed);
        check(moduli, coefficients, options, &wide, &ranges(&wide, seed));
    }
}

#[test]
fn keys_at_both_ends_of_their_width() {
    let options = RunOptions { block_bytes: 1, ..RunOptions::default() };
    for options in [options, RunOptions::default()] {
        let keys = [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        let narrow: Records<u64> = keys.iter().map(|&k| (k, vec![k >> 5])).collect();
        check(1, 1, options, &narrow, &ranges(&narrow, 1));
        let keys = [0, 1, u128::from(u64::MAX), 1 << 64, u128::MAX - 1, u128::MAX];
        let wide: Records<u128> = keys.iter().map(|&k| (k, vec![(k >> 70) as u64])).collect();
        check(1, 1, options, &wide, &ranges(&wide, 2));
        // The last piece of a wide run cannot lie above its last key.
        check(1, 1, options, &wide[5..].to_vec(), &[(0, Some(u128::MAX)), (u128::MAX, None)]);
    }
}

#[test]
fn many_blocks_make_at_most_1024_even_pieces() {
    let header = header::<u64>(1, 1);
    for count in [1023, 1024, 1025, 5000] {
        let root = tempdir().unwrap();
        let records = records::<u64>(&header, count, 9, 3, 4);
        let options = RunOptions { block_bytes: 1, ..RunOptions::default() };
        let (manifest, splits) = write(root.path(), "a", &header, options, &records);
        assert_eq!(splits.len(), count.min(1024));
        assert_eq!(splits.iter().map(|s| s.records).sum::<u64>(), count as u64);
        let most = splits.iter().map(|s| s.records).max().unwrap();
        assert!(most <= (count as u64).div_ceil(1024) + 1, "{count}: {most}");
        verify_run(&run_path(root.path(), &manifest.id).unwrap(), &manifest, &header).unwrap();
    }
}

#[test]
fn batches_and_single_records_make_the_same_file() {
    let header = header::<u64>(2, 2);
    let records = records::<u64>(&header, 1000, 0, 200, 3);
    let options = RunOptions { block_bytes: 700, ..RunOptions::default() };
    let root = tempdir().unwrap();
    let one = write(root.path(), "a", &header, options, &records);
    let bytes = std::fs::read(root.path().join("a.run")).unwrap();
    for size in [1, 2, 17, 18, 19, 100, 1000] {
        let other = tempdir().unwrap();
        let mut writer = RunWriter::create(other.path(), &id("a"), &header, options, &unlimited()).unwrap();
        for some in records.chunks(size) {
            writer.push_batch(&to_batch(some)).unwrap();
            writer.push_batch(&to_batch(&[])).unwrap();
        }
        assert_eq!(writer.finish().unwrap().unwrap(), one);
        assert_eq!(std::fs::read(other.path().join("a.run")).unwrap(), bytes);
    }
}

#[test]
fn compression_pays_on_dense_keys_and_is_left_out_elsewhere() {
    let header = header::<u64>(1, 1);
    let root = tempdir().unwrap();
    let plain = RunOptions { compress_keys: false, ..RunOptions::default() };
    let mut dense = records::<u64>(&header, 20_000, 0, 1, 3);
    for (key, _) in &mut dense {
        *key = *key * 3 + *key % 2;
    }
    let sparse = records::<u64>(&header, 20_000, 0, 1 << 48, 3);
    for (name, records, least_saved) in [("dense", &dense, 15_000), ("sparse", &sparse, 0)] {
        let (with, _) = write(root.path(), &format!("{name}/a"), &header, RunOptions::default(), records);
        let (without, _) = write(root.path(), &format!("{name}/b"), &header, plain, records);
        let saved = without.bytes - with.bytes;
        assert!(saved >= least_saved && (least_saved > 0 || saved == 0), "{name}: {saved}");
        assert_eq!((with.records, &with.sums), (without.records, &without.sums), "{name}");
        for manifest in [with, without] {
            assert_eq!(&read::<u64>(root.path(), &manifest, &header).unwrap(), records, "{name}");
        }
    }
}

/// What can be seen of it without a power cut: a run is there under its name only afterwards, whoever writes it, and an
/// error says which one is not.
#[test]
fn durable_runs_are_published_when_their_owner_says_so() {
    let (root, header) = (tempdir().unwrap(), header::<u64>(1, 1));
    let disk = Arc::new(DiskBudget::new(1 << 20));
    let options = RunOptions { durable: true, ..RunOptions::default() };
    let records = vec![(1_u64, vec![2]), (2, vec![3])];
    let (by_record, by_lane) = (id("j1/s0/a0/r0"), id("r1"));
    let mut writer = RunWriter::create(root.path(), &by_record, &header, options, &disk).unwrap();
    records.iter().try_for_each(|(key, row)| writer.push(*key, row)).unwrap();
    let (first, _) = writer.finish().unwrap().unwrap();
    let sections = [Section { first: 1, count: 2 }];
    let mut writer = SlicedWriter::create(root.path(), &by_lane, &header, options, &disk, sections).unwrap();
    writer.write(0..1, |_, words| words.extend([2, 3])).unwrap();
    let second = writer.finish().unwrap();

    let there = || files(root.path()).into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    let published = [&by_record, &by_lane].map(|run| run_path(root.path(), run).unwrap().display().to_string());
    assert_eq!(there(), published.clone().map(|path| format!("{path}.tmp")));
    assert_eq!(disk.used(), first.bytes + second.bytes);
    publish_durably(root.path(), [&by_record, &by_lane]).unwrap();
    assert_eq!(there(), published);
    for manifest in [&first, &second] {
        assert_eq!(read::<u64>(root.path(), manifest, &header).unwrap(), records);
    }

    let error = publish_durably(root.path(), [&id("j1/s0/a0/r3")]).unwrap_err();
    assert!(error.to_string().contains("j1/s0/a0/r3.run"), "{error}");
    assert!(matches!(publish_durably(root.path(), [&id("../r0")]), Err(RunError::BadId { .. })));
}
