//! No damaged, foreign or made-up file is read as if it were sound.

use std::fs;

use super::common::*;
use keima_runs::{
    BlockCut, FORMAT_VERSION, KeyOrder, RunError, RunHeader, RunManifest, RunOptions, RunPart, read_manifest, run_path,
    verify_run,
};
use proptest::prelude::*;
use tempfile::{TempDir, tempdir};

struct Sample {
    root: TempDir,
    header: RunHeader,
    manifest: RunManifest,
    bytes: Vec<u8>,
}

/// How the key sections of a sample are written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Keys {
    Varint,
    Zstd,
    Consecutive,
}
const KEYS: [Keys; 3] = [Keys::Varint, Keys::Zstd, Keys::Consecutive];

/// Lanes of a sample.
const LANES: usize = 2;

/// A small run of several blocks.
fn sample(keys: Keys) -> Sample {
    let root = tempdir().unwrap();
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
    fn judge(&self, bytes: &[u8]) -> (Result<(), RunError>, Result<Records<u64>, RunError>, bool) {
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

#[test]
fn every_flipped_bit_is_found() {
    for keys in KEYS {
        let sample = sample(keys);
        assert!(sample.judge(&sample.bytes).0.is_ok());
        for bit in 0..sample.bytes.len() * 8 {
            let mut bytes = sample.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (verified, read, _) = sample.judge(&bytes);
            let error = verified.expect_err("verification passes over a flipped bit");
            assert!(error.is_damage(), "bit {bit}: {error}");
            let error = read.expect_err("reading passes over a flipped bit");
            assert!(error.is_damage(), "bit {bit}: {error}");
        }
    }
}

/// Whoever reads one lane learns of every damage but that of other lanes, which is none to him.
#[test]
fn lanes_are_checked_one_by_one() {
    for keys in KEYS {
        let sample = sample(keys);
        let path = run_path(sample.root.path(), &sample.manifest.id).unwrap();
        let lane_of = |bytes: &[u8], lane: usize| {
            fs::write(&path, bytes).unwrap();
            let run = open(sample.root.path(), &sample.manifest, &sample.header)?;
            let part = RunPart::all(&sample.header).with_lanes(lane..lane + 1);
            drain(part_cursor::<u64>(&run, part), 1)
        };
        let sound = [0, 1].map(|lane| lane_of(&sample.bytes, lane).unwrap());
        let mut passed = [0; LANES];
        for byte in 0..sample.bytes.len() {
            let mut bytes = sample.bytes.clone();
            bytes[byte] ^= 1 << (byte % 8);
            let read = [0, 1].map(|lane| lane_of(&bytes, lane));
            assert!(read.iter().any(Result::is_err), "byte {byte}");
            for (lane, read) in read.into_iter().enumerate() {
                match read {
                    Ok(records) => {
                        assert!(records == sound[lane], "byte {byte}, lane {lane}");
                        passed[lane] += 1;
                    }
                    Err(error) => assert!(error.is_damage(), "byte {byte}, lane {lane}: {error}"),
                }
            }
        }
        // The other lane's bytes.
        assert_eq!(passed, [sound[1].len() * 8, sound[0].len() * 8]);
    }
}

#[test]
fn every_truncation_and_any_extension_is_found() {
    let sample = sample(Keys::Varint);
    for length in 0..sample.bytes.len() {
        let (verified, read, known) = sample.judge(&sample.bytes[..length]);
        assert!(verified.unwrap_err().is_damage() && read.unwrap_err().is_damage() && !known, "{length}");
    }
    for more in [1, 4, 36, 200] {
        let mut bytes = sample.bytes.clone();
        bytes.extend(vec![0; more]);
        let (verified, read, known) = sample.judge(&bytes);
        assert!(verified.unwrap_err().is_damage() && read.unwrap_err().is_damage() && !known, "{more}");
    }
    // Two runs one after the other are not a run either.
    let twice = [&sample.bytes[..], &sample.bytes[..]].concat();
    assert!(sample.judge(&twice).0.unwrap_err().is_damage());
    // Cut short while it is being read.
    sample.judge(&sample.bytes).0.unwrap();
    let run = open(sample.root.path(), &sample.manifest, &sample.header).unwrap();
    fs::write(run_path(sample.root.path(), &sample.manifest.id).unwrap(), &sample.bytes[..200]).unwrap();
    let error = drain(cursor::<u64>(&run, 0, None), 2).unwrap_err();
    assert!(matches!(error, RunError::Truncated { got: 200, .. }), "{error}");
}

#[test]
fn another_run_is_refused_by_name() {
    let sample = sample(Keys::Varint);
    let (root, manifest, header) = (sample.root.path(), &sample.manifest, &sample.header);
    let check = |expected: &str, manifest: &RunManifest, header: &RunHeader| {
        let error = open(root, manifest, header).unwrap_err();
        assert!(matches!(error, RunError::OtherRun { what, .. } if what == expected), "{expected}: {error}");
        assert!(error.is_damage() && !error.is_disk_full());
        assert!(error.to_string().contains(expected));
    };
    let base = || header.clone();
    check("job", manifest, &RunHeader { job_tag: 1, ..base() });
    check("definition of the problem", manifest, &RunHeader { definition: 1, ..base() });
    check("build that began the job", manifest, &RunHeader { build: "0.1.0+8".to_owned(), ..base() });
    check("subject", manifest, &RunHeader { subject: "toy 9x9".to_owned(), ..base() });
    check("boundary", manifest, &RunHeader { boundary: 18, ..base() });
    let cut = Some(BlockCut { windows: vec![3, 4], group_records: 5 });
    check("cut of a column", manifest, &RunHeader { cut, ..base() });
    check("key order", manifest, &RunHeader { key_order: KeyOrder::Canonical, ..base() });
    check("key order", manifest, &RunHeader { key_order: KeyOrder::Window { first: 3, len: 5 }, ..base() });
    check("key bytes", manifest, &RunHeader { key_bytes: 16, ..base() });
    check("list of moduli", manifest, &RunHeader { moduli: header.moduli[..1].to_vec(), ..base() });
    check("number of coefficients", manifest, &RunHeader { coefficients: 2, ..base() });
    let base = || manifest.clone();
    check("length in bytes", &RunManifest { bytes: 5, ..base() }, header);
    check("number of records", &RunManifest { records: 9, ..base() }, header);
    check("first key", &RunManifest { first_key: 9, ..base() }, header);
    check("last key", &RunManifest { last_key: 9, ..base() }, header);
    check("list of sums", &RunManifest { sums: vec![1, 2], ..base() }, header);
    check("checksum", &RunManifest { checksum: !manifest.checksum, ..base() }, header);

    // A sound file under another name.
    fs::copy(run_path(root, &manifest.id).unwrap(), root.join("j1/a0/r9.run")).unwrap();
    let error = read_manifest(&root.join("j1/a0/r9.run"), &id("j1/a0/r9")).unwrap_err();
    assert!(matches!(error, RunError::OtherRun { what: "run id", .. }), "{error}");
}

#[test]
fn what_is_no_run_file_says_so() {
    let sample = sample(Keys::Varint);
    let path = run_path(sample.root.path(), &sample.manifest.id).unwrap();
    let mut bytes = sample.bytes.clone();
    bytes[..5].copy_from_slice(b"hello");
    let (verified, read, _) = sample.judge(&bytes);
    assert!(matches!(verified.unwrap_err(), RunError::BadMagic { .. }));
    assert!(matches!(read.unwrap_err(), RunError::BadMagic { .. }));
    // Another version is one only if the header's checksum agrees; else the version is damaged, and so is the run.
    let length = u32::from_le_bytes(sample.bytes[12..16].try_into().unwrap()) as usize;
    for is_signed in [true, false] {
        let mut bytes = sample.bytes.clone();
        bytes[8] += 1;
        if is_signed {
            let crc = crc32c::crc32c(&bytes[..length - 4]);
            bytes[length - 4..length].copy_from_slice(&crc.to_le_bytes());
        }
        let error = sample.judge(&bytes).0.unwrap_err();
        let next = |got| got == FORMAT_VERSION + 1;
        let is_other = matches!(error, RunError::OtherVersion { expected: FORMAT_VERSION, got, .. } if next(got));
        let is_damaged = matches!(error, RunError::Checksum { what: "the header", .. });
        assert_eq!((is_other, is_damaged), (is_signed, !is_signed), "{error}");
    }
    let error = sample.judge(&[]).0.unwrap_err();
    assert!(matches!(error, RunError::Truncated { .. }), "{error}");

    fs::remove_file(&path).unwrap();
    let error = verify_run(&path, &sample.manifest, &sample.header).unwrap_err();
    assert!(matches!(error, RunError::Io { action: "open", .. }) && !error.is_damage(), "{error}");
    fs::create_dir(&path).unwrap();
    let error = verify_run(&path, &sample.manifest, &sample.header).unwrap_err();
    assert!(matches!(error, RunError::Io { .. }) && !error.is_damage(), "{error}");
}

#[test]
fn blocks_of_another_run_do_not_pass() {
    // Two runs with the same records, one of another boundary, one of another name: their blocks differ in nothing but
    // their checksums.
    let sample = sample(Keys::Varint);
    let records = read::<u64>(sample.root.path(), &sample.manifest, &sample.header).unwrap();
    let other = RunHeader { boundary: 18, ..sample.header.clone() };
    let options = RunOptions { block_bytes: 72, ..RunOptions::default() };
    for (name, other) in [("j1/b0/r0", &other), ("j1/b0/r1", &sample.header)] {
        let (foreign, _) = write(sample.root.path(), name, other, options, &records);
        assert_eq!(foreign.bytes, sample.manifest.bytes);
        let run = open(sample.root.path(), &foreign, other).unwrap();
        let feed = Box::new(run.feed(RunPart::all(other)));
        let cursor = keima_runs::RunCursor::<u64>::new(feed, &sample.header, &sample.manifest.id, RunPart::all(other));
        let error = drain(cursor, 2).unwrap_err();
        assert!(matches!(error, RunError::Checksum { what: "block", at: 0, .. }), "{error}");
    }
}

/// Recomputes all checksums that can still be placed, so that what is behind them is reached.
fn repair(bytes: &mut [u8]) {
    let u32_at = |bytes: &[u8], at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
    let Some(header_bytes) = u32_at(bytes, 12).map(|n| n as usize) else { return };
    if header_bytes < 20 || header_bytes > bytes.len() || bytes.len() < 100 {
        return;
    }
    let seed = crc32c::crc32c(&bytes[..header_bytes - 4]);
    bytes[header_bytes - 4..header_bytes].copy_from_slice(&seed.to_le_bytes());
    let end = bytes.len();
    let index = u64::from_le_bytes(bytes[end - 36..end - 28].try_into().unwrap()) as usize;
    let blocks = u64::from_le_bytes(bytes[end - 28..end - 20].try_into().unwrap()) as usize;
    if index > end || blocks > (end - index) / 36 {
        return;
    }
    for entry in (0..blocks).map(|i| index + 36 * i) {
        let offset = u64::from_le_bytes(bytes[entry + 16..entry + 24].try_into().unwrap()) as usize;
        let (length, column) =
            (u32_at(bytes, entry + 24).unwrap() as usize, u32_at(bytes, entry + 28).unwrap() as usize * 8);
        let Some(head) = length.checked_sub(LANES * column).filter(|&head| head >= 64 + 4 * LANES + 4) else {
            continue;
        };
        if offset.checked_add(length).is_some_and(|stop| stop <= index) {
            let block = &mut bytes[offset..offset + length];
            for lane in 0..LANES {
                let crc = crc32c::crc32c_append(seed, &block[head + lane * column..][..column]).to_le_bytes();
                block[head - 4 * (LANES + 1 - lane)..][..4].copy_from_slice(&crc);
            }
            let crc = crc32c::crc32c_append(seed, &block[..head - 4]).to_le_bytes();
            block[head - 4..head].copy_from_slice(&crc);
            bytes[entry + 32..entry + 36].copy_from_slice(&crc);
        }
    }
    let crc = crc32c::crc32c_append(seed, &bytes[index..end - 12]);
    bytes[end - 12..end - 8].copy_from_slice(&crc.to_le_bytes());
}

/// Blocks whose own checksums are right, behind an index and a footer that are as they were: only the index tells.
#[test]
fn blocks_that_the_index_does_not_describe_are_found() {
    for keys in KEYS {
        let sample = sample(keys);
        let end = sample.bytes.len();
        let index = u64::from_le_bytes(sample.bytes[end - 36..end - 28].try_into().unwrap()) as usize;
        let mut bytes = sample.bytes.clone();
        bytes[index - 8] ^= 1;
        repair(&mut bytes);
        assert!(bytes[index..] != sample.bytes[index..]);
        bytes.splice(index.., sample.bytes[index..].iter().copied());
        let (verified, _, known) = sample.judge(&bytes);
        let error = verified.unwrap_err();
        assert!(known && matches!(error, RunError::Malformed { .. }), "{keys:?}: {error}");
    }
}

#[test]
fn every_flipped_bit_is_found_behind_the_checksums_too() {
    // With all checksums made right again only the meaning of the fields is left; still nothing panics, whatever is
    // read from an unknown file adds up, and what differs from the expected manifest is refused.
    for (keys, checksums) in [(Keys::Varint, 2 + 4 * 3), (Keys::Zstd, 0), (Keys::Consecutive, 2 + 4 * 3)] {
        let sample = sample(keys);
        let mut whole = 0;
        let number = |at: usize| u32::from_le_bytes(sample.bytes[at..at + 4].try_into().unwrap()) as usize;
        let bytes = match keys {
            // The first block up to its checksums: its columns are many, and like any other's.
            Keys::Zstd => number(12)..number(12) + 64 + number(number(12) + 12),
            _ => 0..sample.bytes.len(),
        };
        for bit in bytes.start * 8..bytes.end * 8 {
            let mut bytes = sample.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            repair(&mut bytes);
            let (verified, read, _) = sample.judge(&bytes);
            if bytes == sample.bytes {
                // The flipped bit was one of a checksum.
                assert!(verified.is_ok());
                whole += 1;
                continue;
            }
            assert!(verified.unwrap_err().is_damage());
            assert!(read.unwrap_err().is_damage());
            let path = run_path(sample.root.path(), &sample.manifest.id).unwrap();
            if let Ok((header, manifest)) = read_manifest(&path, &sample.manifest.id) {
                let _ = verify_run(&path, &manifest, &header);
            }
        }
        // Header, index and footer; of three blocks those of two lanes, and their own here and in the index.
        assert_eq!(whole, 32 * checksums, "{keys:?}");
    }
}

/// A made-up length of compressed keys is refused, however large it is.
#[test]
fn claims_of_compressed_keys_are_checked() {
    let sample = sample(Keys::Zstd);
    let header_bytes = u32::from_le_bytes(sample.bytes[12..16].try_into().unwrap()) as usize;
    let claim_at = header_bytes + 16;
    let claim = u32::from_le_bytes(sample.bytes[claim_at..claim_at + 4].try_into().unwrap());
    assert_eq!(claim, 159);
    let longest = 159 * 10;
    for (claim, expected) in [
        (0, "no sound zstd frame"),
        (158, "no sound zstd frame"),
        (160, "no sound zstd frame"),
        (longest, "no sound zstd frame"),
        (longest + 1, "longer than its records can need"),
        (u32::MAX, "longer than its records can need"),
    ] {
        let mut bytes = sample.bytes.clone();
        bytes[claim_at..claim_at + 4].copy_from_slice(&claim.to_le_bytes());
        repair(&mut bytes);
        sample.judge(&bytes).0.unwrap_err();
        let path = run_path(sample.root.path(), &sample.manifest.id).unwrap();
        fs::write(&path, &bytes).unwrap();
        let (header, manifest) = read_manifest(&path, &sample.manifest.id).unwrap();
        let error = verify_run(&path, &manifest, &header).unwrap_err();
        assert!(
            matches!(error, RunError::Malformed { .. }) && error.to_string().contains(expected),
            "{claim}: {error}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_damage_never_panics(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
        mended: bool,
        keys in proptest::sample::select(&KEYS[..]),
    ) {
        let sample = sample(keys);
        let mut bytes = sample.bytes.clone();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            let cut = cut.index(bytes.len());
            bytes.drain(cut..(cut + 5).min(sample.bytes.len()));
        }
        if mended {
            repair(&mut bytes);
        }
        let (verified, read, _) = sample.judge(&bytes);
        prop_assert_eq!(verified.is_ok(), bytes == sample.bytes);
        prop_assert_eq!(read.is_ok(), bytes == sample.bytes);
        let path = run_path(sample.root.path(), &sample.manifest.id).unwrap();
        if let Ok((header, manifest)) = read_manifest(&path, &sample.manifest.id) {
            // Sound as far as that goes, and with no expectation against it: now the blocks are decoded too.
            let verified = verify_run(&path, &manifest, &header);
            if let Ok(records) = super::common::read::<u64>(sample.root.path(), &manifest, &header) {
                prop_assert!(records.windows(2).all(|pair| pair[0].0 < pair[1].0));
            } else {
                prop_assert!(verified.is_err());
            }
        }
    }

    #[test]
    fn random_bytes_are_no_run(mut bytes: Vec<u8>, dressed: bool, mended: bool) {
        let sample = sample(Keys::Varint);
        if dressed {
            let mut dress = sample.bytes[..16].to_vec();
            dress.extend(&bytes);
            dress.extend(b"KEIMAEND");
            bytes = dress;
        }
        if mended {
            repair(&mut bytes);
        }
        let (verified, read, known) = sample.judge(&bytes);
        prop_assert!(verified.is_err() && read.is_err() && !known);
    }
}
