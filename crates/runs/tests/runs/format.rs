//! The bytes are those of docs/reference/run-file.md: its worked example, and a reader of its own that knows nothing
//! but offsets.

use std::fmt::Write;
use std::fs;

use keima_runs::{KeyOrder, RunHeader, RunOptions};
use tempfile::tempdir;

use super::common::*;

fn dump(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (line, chunk) in bytes.chunks(16).enumerate() {
        write!(text, "{:04x} ", line * 16).unwrap();
        for byte in chunk {
            write!(text, " {byte:02x}").unwrap();
        }
        text.push('\n');
    }
    text
}

/// The run that docs/reference/run-file.md shows.
fn example() -> (RunHeader, Records<u64>, Vec<u8>) {
    let header = RunHeader {
        job_tag: 0x0123_4567_89ab_cdef,
        definition: 0xfedc_ba98_7654_3210,
        build: "0.1.0".to_owned(),
        subject: "toy 7x7".to_owned(),
        boundary: 12,
        key_order: KeyOrder::Window { first: 3, len: 4 },
        cut: None,
        key_bytes: 8,
        moduli: vec![(1 << 60) - 93, u64::MAX - 58],
        coefficients: 1,
    };
    let records = vec![(5, vec![1, 2]), (305, vec![3, 4]), (1000, vec![(1 << 60) - 94, u64::MAX - 59])];
    let root = tempdir().unwrap();
    let options = RunOptions { block_bytes: 48, ..RunOptions::default() };
    let (manifest, splits) = write(root.path(), "j1/r0", &header, options, &records);
    assert_eq!(splits.iter().map(|s| (s.key, s.records)).collect::<Vec<_>>(), [(1000, 2), (1001, 1)]);
    let bytes = fs::read(root.path().join("j1/r0.run")).unwrap();
    assert_eq!(bytes.len() as u64, manifest.bytes);
    (header, records, bytes)
}

#[test]
fn the_worked_example_is_what_is_written() {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/run-file.md")).unwrap();
    let dump = dump(&example().2);
    assert!(text.contains(&dump), "run-file.md does not show these bytes:\n{dump}");
}

#[test]
fn a_reader_made_from_the_drawing_reads_the_same() {
    let (header, records, bytes) = example();
    let number = |at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0_u128, |value, &byte| value << 8 | u128::from(byte))
    };
    let small = |at: usize, length: usize| number(at, length) as usize;
    // Header.
    assert_eq!(&bytes[..8], b"KEIMARUN");
    assert_eq!((number(8, 4), number(16, 8), number(24, 4)), (8, u128::from(header.job_tag), 12));
    assert_eq!((bytes[28], bytes[29]), (8, 1));
    assert_eq!((number(32, 4), number(36, 4), number(40, 4), number(48, 8), number(66, 1)), (3, 4, 1, 0, 0));
    assert_eq!(number(56, 8), u128::from(header.definition));
    let (header_bytes, moduli, id_bytes, subject_bytes) = (small(12, 4), small(30, 2), small(44, 2), small(46, 2));
    let build_bytes = small(64, 2);
    let listed: Vec<u64> = (0..moduli).map(|i| number(67 + 8 * i, 8) as u64).collect();
    assert_eq!(listed, header.moduli);
    assert_eq!(&bytes[67 + 8 * moduli..][..id_bytes], b"j1/r0");
    assert_eq!(&bytes[67 + 8 * moduli + id_bytes..][..subject_bytes], b"toy 7x7");
    assert_eq!(&bytes[67 + 8 * moduli + id_bytes + subject_bytes..][..build_bytes], b"0.1.0");
    assert_eq!(header_bytes, 67 + 8 * moduli + id_bytes + subject_bytes + build_bytes + 4);
    let seed = crc32c::crc32c(&bytes[..header_bytes - 4]);
    assert_eq!(number(header_bytes - 4, 4), u128::from(seed));

    // Trailer, footer, index.
    let end = bytes.len();
    assert_eq!(&bytes[end - 8..], b"KEIMAEND");
    let (index, blocks) = (small(end - 36, 8), small(end - 28, 8));
    assert_eq!(small(end - 20, 8), end);
    let crc = crc32c::crc32c_append(seed, &bytes[index..end - 12]);
    assert_eq!(number(end - 12, 4), u128::from(crc));
    let footer = index + 36 * blocks;
    assert_eq!(footer + 40 + 8 * 2 + 36, end);
    assert_eq!((number(footer, 8), number(footer + 8, 16), number(footer + 24, 16)), (3, 5, 1000));
    assert_eq!((number(footer + 40, 8), number(footer + 48, 8)), (3, 5));

    // Blocks.
    let mut read: Records<u64> = Vec::new();
    let mut next = header_bytes;
    for block in 0..blocks {
        let entry = index + 36 * block;
        let (at, length, records) = (small(entry + 16, 8), small(entry + 24, 4), small(entry + 28, 4));
        assert_eq!(at, next);
        next = at + length;
        assert_eq!(&bytes[at..at + 4], b"KBLK");
        assert_eq!(number(at + 4, 4), [1, 2][block]);
        assert_eq!(small(at + 8, 4), records);
        let (keys, lanes) = (small(at + 12, 4), small(at + 20, 4));
        assert_eq!((small(at + 16, 4), lanes, number(at + 24, 8)), (keys, records * 2 * 8, 0));
        assert_eq!(number(at + 32, 16), number(entry, 16));
        assert_eq!(number(at + 48, 16), if block + 1 < blocks { number(entry + 36, 16) } else { 0 });
        let columns = at + 64 + keys + 4 * 2 + 4;
        assert_eq!(columns + lanes, next);
        let checksum = |bytes: &[u8]| u128::from(crc32c::crc32c_append(seed, bytes));
        let crc = checksum(&bytes[at..columns - 4]);
        assert_eq!((number(columns - 4, 4), number(entry + 32, 4)), (crc, crc));
        for lane in 0..2 {
            let column = &bytes[columns + 8 * records * lane..][..8 * records];
            assert_eq!(number(at + 64 + keys + 4 * lane, 4), checksum(column));
        }
        let mut key = number(at + 32, 16) as u64;
        let mut gaps = bytes[at + 64..at + 64 + keys].iter();
        for record in 0..records {
            if record > 0 {
                let mut shift = 0;
                loop {
                    let byte = u64::from(*gaps.next().unwrap());
                    key += (byte & 0x7f) << shift;
                    shift += 7;
                    if byte < 0x80 {
                        break;
                    }
                }
            }
            let lane = |lane: usize| number(columns + 8 * (lane * records + record), 8) as u64;
            read.push((key, vec![lane(0), lane(1)]));
        }
    }
    assert_eq!(next, index);
    assert_eq!(read, records);
}
