//! No file is read as if it were sound whose checksums were made to fit: damage behind them, and made-up lengths.

use std::fs;

use super::sample::{KEYS, Keys, LANES, sample};
use keima_runs::{RunError, read_manifest, run_path, verify_run};
use proptest::prelude::*;

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
