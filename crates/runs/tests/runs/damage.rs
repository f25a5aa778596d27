//! No damaged or foreign file is read as if it were sound.

use std::fs;

use super::common::*;
use super::sample::{KEYS, Keys, LANES, sample};
use keima_runs::{
    BlockCut, FORMAT_VERSION, KeyOrder, RunError, RunHeader, RunManifest, RunOptions, RunPart, read_manifest, run_path,
    verify_run,
};

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
