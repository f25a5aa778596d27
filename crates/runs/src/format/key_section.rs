//! The key section of a block: gaps between keys as varints, in a zstd frame where that pays.
//!
//! ```text
//!   keys 5 6 7 305 --> gaps 1 1 298 --> varints 01 01 aa 02 --> a zstd frame, if it is at most half as long
//! ```
//!
//! Here alone is decided what is compressed. A frame is kept if it halves its section. After a section that no frame
//! halves, the next 15 sections of the run are not tried: keys of one run are alike. So keys that do not give in cost a
//! sixteenth of a try.
//!
//! Cost per record, at the level below: 2 to 3 ns to write and 1 ns to read where it pays. docs/design/compression.md
//! has the measurements behind level and rule.
//!
//! Memory: one zstd context in each direction and one buffer per thread. A merge reads hundreds of runs at once, and a
//! context takes more than a block.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

use super::varint;
use crate::RunKey;

/// A fast level: it saves nearly what level 1 saves, in half the time.
const ZSTD_LEVEL: i32 = -1;
/// Sections that are not tried after one that does not shrink enough.
const SKIPPED_SECTIONS: u8 = 15;

/// The memory of this thread for frames.
#[derive(Default)]
struct Zstd {
    compressor: Option<Compressor<'static>>,
    decompressor: Option<Decompressor<'static>>,
    buffer: Vec<u8>,
}

thread_local! {
    static ZSTD: RefCell<Zstd> = RefCell::default();
}

/// Writes the key sections of one run.
pub(crate) struct KeyEncoder {
    compress: bool,
    /// Sections left to skip.
    skip: u8,
}

impl KeyEncoder {
    /// An encoder that compresses where it pays, or never.
    pub(crate) const fn new(compress: bool) -> Self {
        Self { compress, skip: 0 }
    }

    /// Appends the section of ascending `keys` to `out`. Returns its length before compression, and whether it is a
    /// frame.
    pub(crate) fn append<K: RunKey>(&mut self, keys: &[K], out: &mut Vec<u8>) -> (usize, bool) {
        let start = out.len();
        varint::encode(keys, out);
        let plain_bytes = out.len() - start;
        if !self.compress || plain_bytes == 0 {
            return (plain_bytes, false);
        }
        if self.skip > 0 {
            self.skip -= 1;
            return (plain_bytes, false);
        }
        let compressed = ZSTD.with_borrow_mut(|zstd| zstd.halve(out, start));
        if !compressed {
            self.skip = SKIPPED_SECTIONS;
        }
        (plain_bytes, compressed)
    }
}

/// Replaces `keys` by `first` and the keys of `section`. `plain_bytes` is the section's length before compression if it
/// is a frame, else `None`.
///
/// The caller has bounded `plain_bytes` and `records`. A frame that holds more is refused without taking more memory.
pub(crate) fn decode<K: RunKey>(
    section: &[u8],
    plain_bytes: Option<usize>,
    first: K,
    records: usize,
    keys: &mut Vec<K>,
) -> Result<(), &'static str> {
    match plain_bytes {
        Some(bytes) => {
            ZSTD.with_borrow_mut(|zstd| varint::decode(zstd.decompress(section, bytes)?, first, records, keys))
        }
        None => varint::decode(section, first, records, keys),
    }
}

impl Zstd {
    /// Replaces the bytes of `out` from `start` on by a frame of them, if that is at most half as long.
    fn halve(&mut self, out: &mut Vec<u8>, start: usize) -> bool {
        let plain = out.get(start..).unwrap_or_default();
        let most = plain.len() / 2;
        self.buffer.clear();
        // zstd is fastest where any frame fits.
        self.buffer.reserve(zstd::zstd_safe::compress_bound(plain.len()));
        // Where there is no memory for a context, keys stay as they are.
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            none => match Compressor::new(ZSTD_LEVEL) {
                Ok(new) => none.insert(new),
                Err(_) => return false,
            },
        };
        let halved = compressor.compress_to_buffer(plain, &mut self.buffer).is_ok_and(|bytes| bytes <= most);
        if halved {
            out.truncate(start);
            out.extend_from_slice(&self.buffer);
        }
        halved
    }

    /// The contents of `frame`, which must be `plain_bytes` long.
    fn decompress(&mut self, frame: &[u8], plain_bytes: usize) -> Result<&[u8], &'static str> {
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().map_err(|_| "zstd has no memory for a block")?),
        };
        self.buffer.clear();
        self.buffer.reserve(plain_bytes);
        match decompressor.decompress_to_buffer(frame, &mut self.buffer) {
            Ok(bytes) if bytes == plain_bytes => Ok(&self.buffer),
            _ => Err("a block's key section is no sound zstd frame"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends the section of `keys`, reads it back, and tells whether it is compressed.
    fn check(encoder: &mut KeyEncoder, keys: &[u64]) -> bool {
        let mut section = vec![7; 3];
        let (plain_bytes, compressed) = encoder.append(keys, &mut section);
        let section = &section[3..];
        assert_eq!(section.len() < plain_bytes, compressed);
        assert!(!compressed || section.len() <= plain_bytes / 2);
        let mut back = Vec::new();
        let claim = compressed.then_some(plain_bytes);
        assert_eq!(decode(section, claim, keys[0], keys.len(), &mut back), Ok(()));
        assert_eq!(back, keys);
        if compressed {
            for wrong in [plain_bytes - 1, plain_bytes + 1] {
                assert!(decode(section, Some(wrong), keys[0], keys.len(), &mut back).is_err());
            }
            assert!(decode(&section[1..], claim, keys[0], keys.len(), &mut back).is_err());
        }
        compressed
    }

    #[test]
    fn sections_are_compressed_where_that_halves_them() {
        let even: Vec<u64> = (0..1000).map(|i| 3 * i).collect();
        let mut gap = 1_u64;
        let mut uneven = vec![0];
        for _ in 0..1000 {
            gap = gap.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            uneven.push(uneven[uneven.len() - 1] + 1 + (gap >> 56));
        }
        let mut encoder = KeyEncoder::new(true);
        assert!(check(&mut encoder, &even) && check(&mut encoder, &even));
        assert!(!check(&mut encoder, &uneven));
        for _ in 0..SKIPPED_SECTIONS {
            assert!(!check(&mut encoder, &even));
        }
        assert!(check(&mut encoder, &even));
        assert!(!check(&mut encoder, &[5]) && !check(&mut KeyEncoder::new(false), &even));
    }
}
