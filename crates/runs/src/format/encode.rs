//! Encodes blocks: whole ones, or the head of one whose columns are written apart.

use super::block::{CONSECUTIVE, CRC_BYTES, FIRST, FIXED_BYTES, Fixed, KEYS_ZSTD, LAST, checksums, is_consecutive};
use super::header::Shape;
use super::key_section::KeyEncoder;
use super::lanes;
use crate::{Batch, RunKey};

/// Encodes the blocks of one run.
pub(crate) struct Encoder {
    keys: KeyEncoder,
}

impl Encoder {
    pub(crate) const fn new(compress_keys: bool) -> Self {
        Self { keys: KeyEncoder::new(compress_keys) }
    }

    /// Replaces `raw` by the encoded `block`: not empty, keys ascending, `next` the first key after it, `first` if it
    /// is the first of its run. Adds each lane to `sums`. Returns the block's checksum.
    pub(crate) fn encode<K: RunKey>(
        &mut self,
        shape: &Shape,
        block: &Batch<K>,
        first: bool,
        next: Option<K>,
        raw: &mut Vec<u8>,
        sums: &mut [u128],
    ) -> Result<u32, lanes::Unreduced> {
        let Batch { keys, rows } = block;
        raw.clear();
        raw.resize(FIXED_BYTES, 0);
        let mut flags = places(first, next.is_none());
        let mut plain_bytes = 0;
        if is_consecutive(keys) {
            flags |= CONSECUTIVE;
        } else {
            let (bytes, compressed) = self.keys.append(keys, raw);
            plain_bytes = bytes;
            flags |= if compressed { KEYS_ZSTD } else { 0 };
        }
        let checksums_at = raw.len();
        let lanes_at = checksums_at + (shape.lanes() + 1) * CRC_BYTES;
        raw.resize(lanes_at + rows.len() * 8, 0);
        let (head, columns) = raw.split_at_mut(lanes_at);
        lanes::to_columns(rows, &shape.moduli, columns, sums)?;

        let own = head[checksums_at..].as_chunks_mut().0;
        checksums(shape, columns, keys.len(), own);
        let fixed = Fixed {
            flags,
            records: keys.len(),
            key_bytes: checksums_at - FIXED_BYTES,
            plain_bytes,
            lane_bytes: rows.len() * 8,
            first: keys.first().map_or(0, |k| k.widen()),
            next: next.map_or(0, RunKey::widen),
        };
        Ok(fixed.seal(shape, head))
    }
}

/// The keys of a block that are consecutive, and its place in the run.
pub(crate) struct ConsecutiveKeys {
    /// Whether the block is the run's first one.
    pub(crate) is_first: bool,
    pub(crate) first: u128,
    pub(crate) records: u32,
    /// First key of the next block; `None` at the run's end.
    pub(crate) next: Option<u128>,
}

/// Replaces `head` by the head of a block of `keys` with these column checksums. Returns the head's checksum.
pub(crate) fn dense_head(
    shape: &Shape,
    keys: &ConsecutiveKeys,
    checksums: &[[u8; CRC_BYTES]],
    head: &mut Vec<u8>,
) -> u32 {
    let &ConsecutiveKeys { is_first, first, records, next } = keys;
    head.clear();
    head.resize(FIXED_BYTES, 0);
    head.extend_from_slice(checksums.as_flattened());
    head.extend([0; CRC_BYTES]);
    let fixed = Fixed {
        flags: places(is_first, next.is_none()) | if records > 1 { CONSECUTIVE } else { 0 },
        records: records as usize,
        key_bytes: 0,
        plain_bytes: 0,
        lane_bytes: records as usize * checksums.len() * 8,
        first,
        next: next.unwrap_or(0),
    };
    fixed.seal(shape, head)
}

/// The flags of a block's place in its run.
fn places(first: bool, last: bool) -> u32 {
    (if first { FIRST } else { 0 }) | if last { LAST } else { 0 }
}
