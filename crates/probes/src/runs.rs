//! Run files, blocks that come from another worker, and copies of runs.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use keima_runs::{
    Batch, BlockFeed, Intake, KeyOrder, LocalRun, RunCursor, RunError, RunHeader, RunId, RunKey, RunManifest, RunPart,
    open_verified,
};
use tempfile::TempDir;

thread_local! {
    /// A folder in memory where there is one: millions of small files are written.
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

fn path(name: &str) -> PathBuf {
    FOLDER.with_borrow_mut(|folder| folder.get_or_insert_with(self::folder).path().join(name))
}

/// A folder, in memory where that is possible.
pub(crate) fn folder() -> TempDir {
    let in_memory = Path::new("/dev/shm");
    let made = if in_memory.is_dir() { TempDir::new_in(in_memory) } else { TempDir::new() };
    made.expect("a folder for files")
}

/// A whole run file, as `keima inspect` and a worker that comes back read it.
pub(crate) fn file(bytes: &[u8]) -> bool {
    let path = path("file.run");
    std::fs::write(&path, bytes).expect("a file can be written");
    let Ok(run) = open_verified(&path) else { return false };
    let (header, manifest) = (run.header().clone(), run.manifest().clone());
    assert_eq!(manifest.bytes, bytes.len() as u64);
    let again = LocalRun::open(&path, &manifest, &header).expect("a verified run opens");
    let records = match header.key_bytes {
        8 => records::<u64>(again.feed(RunPart::all(&header)), &header, &manifest.id),
        _ => records::<u128>(again.feed(RunPart::all(&header)), &header, &manifest.id),
    };
    assert_eq!(records, Ok(manifest.records), "a verified run has other records");
    true
}

/// The number of records that a feed has; they must ascend.
fn records<K: RunKey>(feed: impl BlockFeed + 'static, header: &RunHeader, id: &RunId) -> Result<u64, String> {
    let mut cursor = RunCursor::<K>::new(Box::new(feed), header, id, RunPart::all(header));
    let (mut batch, mut records, mut last) = (Batch::new(), 0, None);
    while cursor.next_batch(&mut batch).map_err(|error| error.to_string())? {
        for &key in &batch.keys {
            assert!(last.is_none_or(|last| last < key), "keys do not ascend");
            last = Some(key);
        }
        assert_eq!(batch.rows.len(), batch.keys.len() * header.lanes());
        records += batch.len() as u64;
    }
    Ok(records)
}

/// Blocks as a stream brings them: of each two bytes of length, then so many bytes.
struct Stream(Vec<u8>);

impl BlockFeed for Stream {
    fn next_block(&mut self, raw: &mut Vec<u8>) -> Result<bool, RunError> {
        raw.clear();
        let Some(length) = self.0.first_chunk().map(|bytes| usize::from(u16::from_le_bytes(*bytes))) else {
            return Ok(false);
        };
        let rest = self.0.split_off(2);
        let (block, rest) = rest.split_at(length.min(rest.len()));
        raw.extend_from_slice(block);
        self.0 = rest.to_vec();
        Ok(true)
    }
}

/// The header that seeds and probe agree on.
pub(crate) fn header(key_bytes: u8, moduli: u8, coefficients: u32) -> RunHeader {
    RunHeader {
        job_tag: 1,
        definition: 2,
        build: "0.1.0+7".to_owned(),
        subject: "toy 3x3".to_owned(),
        boundary: 4,
        key_order: KeyOrder::Canonical,
        cut: None,
        key_bytes,
        moduli: (0..u64::from(moduli)).map(|i| (1 << 60) - 93 - 2 * i).collect(),
        coefficients,
    }
}

/// The run that blocks and copies claim to be.
pub(crate) fn id() -> RunId {
    RunId("j1/s0/g1/t0/a0/r0".to_owned())
}

/// Blocks of another worker. The first byte chooses width and lanes.
pub(crate) fn blocks(bytes: &[u8]) -> bool {
    let Some((&shape, blocks)) = bytes.split_first() else { return false };
    let (moduli, coefficients) = (1 + (shape >> 1) % 3, 1 + u32::from(shape >> 3) % 3);
    let stream = Stream(blocks.to_vec());
    match shape % 2 {
        0 => records::<u64>(stream, &header(8, moduli, coefficients), &id()).is_ok(),
        _ => records::<u128>(stream, &header(16, moduli, coefficients), &id()).is_ok(),
    }
}

/// Bytes of a manifest's figures before its sums.
const FIGURES: usize = 45;

/// A second copy as another worker sends it: the manifest's figures, then the bytes in two parts.
pub(crate) fn intake(bytes: &[u8]) -> bool {
    let Some((expected, rest)) = manifest(bytes) else { return false };
    let path = path("incoming.tmp");
    // A copy that is refused leaves it to its caller.
    let _ = std::fs::remove_file(&path);
    let mut intake = Intake::create(path.clone(), &expected).expect("a file can be made");
    let (one, two) = rest.split_at(rest.len() / 3);
    let taken = intake.take(one).and_then(|()| intake.take(two));
    let root = path.parent().unwrap_or(Path::new(".")).join("root");
    taken.and_then(|()| intake.adopt(&root)).is_ok()
}

/// The manifest of a copy, and the copy.
fn manifest(bytes: &[u8]) -> Option<(RunManifest, &[u8])> {
    let (figures, rest) = bytes.split_first_chunk::<FIGURES>()?;
    let number = |at: usize, bytes: usize| {
        figures.get(at..at + bytes).unwrap_or_default().iter().fold(0, |n: u128, &byte| n << 8 | u128::from(byte))
    };
    let (sums, rest) = rest.split_at_checked(8 * number(44, 1) as usize)?;
    let sums = sums.chunks(8).map(|sum| sum.iter().fold(0, |n, &byte| n << 8 | u64::from(byte))).collect();
    let (bytes, records) = (number(0, 4) as u64, (number(4, 4) as u64).max(1));
    let (first_key, last_key) = (number(8, 16), number(24, 16));
    Some((RunManifest { id: id(), bytes, records, first_key, last_key, sums, checksum: number(40, 4) as u32 }, rest))
}

/// The form of [`manifest`].
pub(crate) fn figures(manifest: &RunManifest) -> Vec<u8> {
    let RunManifest { bytes, records, first_key, last_key, sums, checksum, .. } = manifest;
    let mut figures = [(*bytes as u32).to_be_bytes(), (*records as u32).to_be_bytes()].concat();
    figures.extend([first_key.to_be_bytes(), last_key.to_be_bytes()].concat());
    figures.extend(checksum.to_be_bytes());
    figures.push(sums.len() as u8);
    figures.extend(sums.iter().flat_map(|sum| sum.to_be_bytes()));
    figures
}
