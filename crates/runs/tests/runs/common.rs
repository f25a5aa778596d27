//! What the tests of runs share: headers, records, and the plainest way to write and read them.

use std::path::Path;
use std::sync::Arc;

use keima_runs::{
    Batch, DiskBudget, Intake, KeyOrder, LocalRun, RunCursor, RunError, RunHeader, RunId, RunKey, RunManifest,
    RunOptions, RunPart, RunWriter, Split, run_path,
};

/// Keys with their values.
pub(crate) type Records<K> = Vec<(K, Vec<u64>)>;

/// A header with `moduli` primes (not that runs care) and `coefficients`.
pub(crate) fn header<K: RunKey>(moduli: usize, coefficients: u32) -> RunHeader {
    RunHeader {
        job_tag: 0x1122_3344_5566_7788,
        definition: 0x99aa_bbcc_ddee_ff00,
        build: "0.1.0+7".to_owned(),
        subject: "toy 9x9 walls=3".to_owned(),
        boundary: 17,
        key_order: KeyOrder::Window { first: 3, len: 4 },
        cut: None,
        key_bytes: K::BYTES,
        moduli: (0..moduli as u64).map(|i| (1 << 60) - 93 - 2 * i).collect(),
        coefficients,
    }
}

pub(crate) fn id(text: &str) -> RunId {
    RunId(text.into())
}

pub(crate) fn unlimited() -> Arc<DiskBudget> {
    Arc::new(DiskBudget::new(u64::MAX))
}

/// `SplitMix64`: the tests' own seeded numbers.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
    pub(crate) fn row(&mut self, header: &RunHeader) -> Vec<u64> {
        (0..header.lanes()).map(|lane| self.below(header.moduli[lane % header.moduli.len()])).collect()
    }
}

/// `count` records with gaps of up to `gap`, the first key at or above `start`.
pub(crate) fn records<K: RunKey>(header: &RunHeader, count: usize, start: u128, gap: u64, seed: u64) -> Records<K> {
    let mut numbers = Numbers(seed);
    let mut key = start;
    (0..count)
        .map(|_| {
            let record = (K::from_wide(key).expect("key fits"), numbers.row(header));
            key += 1 + u128::from(numbers.below(gap));
            record
        })
        .collect()
}

pub(crate) fn write<K: RunKey>(
    root: &Path,
    name: &str,
    header: &RunHeader,
    options: RunOptions,
    records: &Records<K>,
) -> (RunManifest, Vec<Split>) {
    let mut writer = RunWriter::create(root, &id(name), header, options, &unlimited()).unwrap();
    for (key, row) in records {
        writer.push(*key, row).unwrap();
    }
    writer.finish().unwrap().expect("the run is not empty")
}

pub(crate) fn open(root: &Path, manifest: &RunManifest, header: &RunHeader) -> Result<LocalRun, RunError> {
    LocalRun::open(&run_path(root, &manifest.id)?, manifest, header)
}

pub(crate) fn cursor<K: RunKey>(run: &LocalRun, low: u128, high: Option<u128>) -> RunCursor<K> {
    part_cursor(run, RunPart::keys(run.header(), low, high))
}

pub(crate) fn part_cursor<K: RunKey>(run: &LocalRun, part: RunPart) -> RunCursor<K> {
    RunCursor::new(Box::new(run.feed(part.clone())), run.header(), &run.manifest().id, part)
}

pub(crate) fn drain<K: RunKey>(mut cursor: RunCursor<K>, lanes: usize) -> Result<Records<K>, RunError> {
    let mut all = Vec::new();
    let mut batch = Batch::new();
    while cursor.next_batch(&mut batch)? {
        assert!(!batch.is_empty());
        all.extend(to_records(&batch, lanes));
    }
    assert!(batch.is_empty() && batch.rows.is_empty());
    Ok(all)
}

/// Opens and reads all of a run.
pub(crate) fn read<K: RunKey>(root: &Path, manifest: &RunManifest, header: &RunHeader) -> Result<Records<K>, RunError> {
    drain(cursor(&open(root, manifest, header)?, 0, None), header.lanes())
}

pub(crate) fn to_records<K: RunKey>(batch: &Batch<K>, lanes: usize) -> Records<K> {
    assert_eq!(batch.rows.len(), batch.len() * lanes);
    batch.keys.iter().copied().zip(batch.rows.chunks(lanes).map(<[u64]>::to_vec)).collect()
}

pub(crate) fn to_batch<K: RunKey>(records: &[(K, Vec<u64>)]) -> Batch<K> {
    Batch { keys: records.iter().map(|r| r.0).collect(), rows: records.iter().flat_map(|r| r.1.clone()).collect() }
}

/// All files below `root`, with their lengths.
pub(crate) fn files(root: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), path.metadata().unwrap().len()));
        }
    }
    found.sort();
    found
}

/// Takes in a second copy of what `bytes` should be, so many at a time; what is refused leaves nothing behind.
pub(crate) fn take_in(
    root: &Path,
    tmp: &Path,
    expected: &RunManifest,
    bytes: &[u8],
    chunk: usize,
) -> Result<(), RunError> {
    let mut intake = Intake::create(tmp.to_owned(), expected).unwrap();
    let taken = bytes.chunks(chunk).try_for_each(|chunk| intake.take(chunk)).and_then(|()| intake.adopt(root));
    assert_eq!(tmp.exists(), taken.is_err());
    if taken.is_err() {
        std::fs::remove_file(tmp).unwrap();
    }
    taken
}
