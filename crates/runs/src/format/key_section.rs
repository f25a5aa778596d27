//! The key section of a block: gaps between keys as varints, inside a zstd frame where that pays.

use super::varint;
use crate::RunKey;

/// Sorted keys shrink at the lowest levels already.
const ZSTD_LEVEL: i32 = 3;

/// Encodes key sections; keeps its memory from one block to the next.
pub(crate) struct KeyEncoder {
    zstd: Option<zstd::bulk::Compressor<'static>>,
    frame: Vec<u8>,
}

impl KeyEncoder {
    /// An encoder that compresses, or not.
    pub(crate) fn new(compress: bool) -> std::io::Result<Self> {
        let zstd = compress.then(|| zstd::bulk::Compressor::new(ZSTD_LEVEL)).transpose()?;
        Ok(Self { zstd, frame: Vec::new() })
    }

    /// Appends the section of ascending `keys` to `out`. Gives its length before compression, and whether it is a frame.
    pub(crate) fn append<K: RunKey>(&mut self, keys: &[K], out: &mut Vec<u8>) -> (usize, bool) {
        let start = out.len();
        varint::encode(keys, out);
        let plain = out.get(start..).unwrap_or_default();
        let plain_bytes = plain.len();
        let compressed = self.compress(plain);
        if compressed {
            out.truncate(start);
            out.extend_from_slice(&self.frame);
        }
        (plain_bytes, compressed)
    }

    /// Whether a frame saves an eighth of `plain`; then `self.frame` holds it.
    fn compress(&mut self, plain: &[u8]) -> bool {
        let Some(zstd) = &mut self.zstd else { return false };
        self.frame.clear();
        // A frame that does not fit here does not pay.
        self.frame.reserve_exact(plain.len());
        zstd.compress_to_buffer(plain, &mut self.frame).is_ok() && self.frame.len() < plain.len() - plain.len() / 8
    }
}

/// Decodes key sections; keeps its memory from one block to the next.
#[derive(Default)]
pub(crate) struct KeyDecoder {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    plain: Vec<u8>,
}

impl KeyDecoder {
    /// Replaces `keys` by `first` and the keys of `section`. `plain_bytes` is the section's length before compression if
    /// it is a frame, else `None`; the caller has bounded it and `records`. A frame cannot take more memory than that.
    pub(crate) fn decode<K: RunKey>(
        &mut self,
        section: &[u8],
        plain_bytes: Option<usize>,
        (first, records): (K, usize),
        keys: &mut Vec<K>,
    ) -> Result<(), &'static str> {
        let plain = match plain_bytes {
            Some(bytes) => self.decompress(section, bytes)?,
            None => section,
        };
        varint::decode(plain, first, records, keys)
    }

    fn decompress(&mut self, frame: &[u8], plain_bytes: usize) -> Result<&[u8], &'static str> {
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(|_| "zstd has no memory for a block")?),
        };
        self.plain.clear();
        self.plain.reserve_exact(plain_bytes);
        match zstd.decompress_to_buffer(frame, &mut self.plain) {
            Ok(bytes) if bytes == plain_bytes => Ok(&self.plain),
            _ => Err("a block's key section is no sound zstd frame"),
        }
    }
}
