//! Checks and decodes blocks, whatever their bytes are.

use std::ops::Range;

use super::block::{
    CONSECUTIVE, CRC_BYTES, FIRST, FIXED_BYTES, Fixed, KEYS_ZSTD, KNOWN, LAST, MAX_BYTES, MAX_RECORDS, MIN_BYTES,
    dense_head_bytes,
};
use super::footer::Entry;
use super::header::Shape;
use super::{key_section, lanes, varint};
use crate::{Batch, RunError, RunKey};

/// The part of the key space that a block answers for: all keys from `from` (0 in the first block of a run) to below
/// `to` (`None`: to the end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cover {
    pub(crate) from: u128,
    pub(crate) to: Option<u128>,
    pub(crate) crc: u32,
}

/// A block with right checksums, whose sections add up. Its keys and values are not checked.
struct Sound<'a> {
    fixed: Fixed,
    /// Checksum of the head.
    crc: u32,
    keys: &'a [u8],
    columns: &'a [u8],
    /// Modulus of each column.
    moduli: &'a [u64],
}

/// Checks the block `raw`, which holds its head and the columns of `lanes`.
fn sound<'a>(
    raw: &'a [u8],
    shape: &'a Shape,
    lanes: Range<usize>,
    place: &str,
    at: u64,
) -> Result<Sound<'a>, RunError> {
    let malformed = |what| RunError::Malformed { place: place.into(), what, at };
    let check = |what, stored: &[u8; CRC_BYTES], bytes: &[u8]| {
        let (expected, got) = (u32::from_le_bytes(*stored), crc32c::crc32c_append(shape.seed, bytes));
        let wrong = || RunError::Checksum { place: place.into(), what, at, expected, got };
        if expected == got { Ok(got) } else { Err(wrong()) }
    };
    if !(MIN_BYTES..=MAX_BYTES).contains(&raw.len()) {
        return Err(malformed("a block's length is out of bounds"));
    }
    let fixed = Fixed::read(raw).ok_or_else(|| malformed("a block's fixed part is invalid"))?;
    let head_bytes = fixed.key_bytes.saturating_add(dense_head_bytes(shape.lanes()));
    let Some((head, columns)) = raw.split_at_checked(head_bytes) else {
        return Err(malformed("a block is too short"));
    };
    let Some((body, stored)) = head.split_last_chunk() else { return Err(malformed("a block is too short")) };
    let crc = check("block", stored, body)?;
    if fixed.flags & !KNOWN != 0 {
        return Err(malformed("a block has flags that this version does not know; use the version that wrote it"));
    }
    if fixed.records == 0 || fixed.records > MAX_RECORDS {
        return Err(malformed("a block's number of records is out of bounds"));
    }
    // At most 2^18 * 2^12 * 8: no overflow.
    if fixed.lane_bytes != fixed.records * shape.lanes() * 8 {
        return Err(malformed("a block's lane section is not as long as its records need"));
    }
    let (keys, checksums) = body.get(FIXED_BYTES..).unwrap_or_default().split_at(fixed.key_bytes);
    let (checksums, moduli) = (checksums.as_chunks().0.get(lanes.clone()), shape.moduli.get(lanes.clone()));
    let (Some(checksums), Some(moduli)) = (checksums, moduli) else {
        return Err(RunError::RowLength { expected: shape.lanes(), got: lanes.end });
    };
    let column_bytes = fixed.records * 8;
    if head_bytes + fixed.lane_bytes > MAX_BYTES || columns.len() != column_bytes * moduli.len() {
        return Err(malformed("a block's sections do not add up to its length"));
    }
    for (stored, column) in checksums.iter().zip(columns.chunks_exact(column_bytes)) {
        check("a lane of block", stored, column)?;
    }
    Ok(Sound { fixed, crc, keys, columns, moduli })
}

/// Checks a whole block without decoding it. Returns its index entry if it stands at `offset`, and whether it is the
/// last of its run.
pub(crate) fn check_whole(
    raw: &[u8],
    shape: &Shape,
    offset: u64,
    place: &str,
    at: u64,
) -> Result<(Entry, bool), RunError> {
    let Sound { fixed, crc, .. } = sound(raw, shape, 0..shape.lanes(), place, at)?;
    let entry = Entry { first: fixed.first, offset, bytes: raw.len() as u32, records: fixed.records as u32, crc };
    Ok((entry, fixed.flags & LAST != 0))
}

/// Replaces `out` by the records of the block `raw`, which holds its head and the columns of `lanes`. `place` and
/// `at` go into errors.
///
/// Memory: in proportion to `raw.len()`. A compressed key section takes at most the longest varint for each record,
/// which is checked before memory is taken.
pub(crate) fn decode<K: RunKey>(
    raw: &[u8],
    shape: &Shape,
    lanes: Range<usize>,
    out: &mut Batch<K>,
    place: &str,
    at: u64,
) -> Result<Cover, RunError> {
    let malformed = |what| RunError::Malformed { place: place.into(), what, at };
    let Sound { fixed, crc, keys, columns, moduli } = sound(raw, shape, lanes, place, at)?;
    let compressed = fixed.flags & KEYS_ZSTD != 0;
    if fixed.plain_bytes > (fixed.records - 1) * varint::longest(K::BYTES)
        || (!compressed && fixed.plain_bytes != fixed.key_bytes)
    {
        return Err(malformed("a block's key section is longer than its records can need"));
    }
    let first = K::from_wide(fixed.first).ok_or_else(|| malformed("a block's first key exceeds its width"))?;
    if fixed.flags & CONSECUTIVE != 0 {
        if compressed || !keys.is_empty() {
            return Err(malformed("a block of consecutive keys has a key section"));
        }
        let last = fixed.first.checked_add(fixed.records as u128 - 1).and_then(K::from_wide);
        last.ok_or_else(|| malformed("a block's last key exceeds its width"))?;
        out.keys.clear();
        first.count_up(fixed.records as u64, &mut out.keys);
    } else {
        let plain_bytes = compressed.then_some(fixed.plain_bytes);
        let decoded = key_section::decode(keys, plain_bytes, first, fixed.records, &mut out.keys);
        decoded.map_err(malformed)?;
    }
    out.rows.resize(fixed.records * moduli.len(), 0);
    lanes::to_rows(columns, moduli, &mut out.rows).map_err(|_| malformed("a value is not below its modulus"))?;

    let last = fixed.flags & LAST != 0;
    let ends_below = out.keys.last().is_some_and(|k| k.widen() < fixed.next);
    if last && fixed.next != 0 || !last && !ends_below {
        return Err(malformed("a block's next key is not above its last key"));
    }
    Ok(Cover { from: if fixed.flags & FIRST == 0 { fixed.first } else { 0 }, to: (!last).then_some(fixed.next), crc })
}
