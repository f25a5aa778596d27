//! A block: some thousand records that are checked and decoded together. This file has its layout.
//!
//! ```text
//!    0  4   magic "KBLK"
//!    4  4   flags: 1 first block of its run, 2 last, 4 key section is zstd, 8 sparse lanes (reserved: refused),
//!           16 keys are consecutive, first key + 0, 1, 2 ..., and the key section is empty
//!    8  4   records n, at least 1
//!   12  4   length of the key section in the file
//!   16  4   length of the key section before zstd
//!   20  4   length of the lane section: n x lanes x 8
//!   24  8   0
//!   32  16  first key
//!   48  16  first key of the next block; 0 in the last
//!   64      key section: n - 1 gaps as LEB128, or a zstd frame of them
//!       4 for each lane   CRC-32C of the run's header (without its own CRC), then of the lane's column
//!       4   CRC-32C of the run's header (without its own CRC), then of all bytes of the block before: its *head*
//!           lane section: a column of n u64 for each lane
//! ```
//!
//! Each block names the first key of the next one, so that blocks tile the key space. A reader of a key range sees from
//! the blocks alone that none is missing. A reader of some lanes reads the head and their columns: the head has the
//! checksum of each column.

use super::fields::Fields;
use super::header::Shape;
use crate::RunKey;

const MAGIC: [u8; 4] = *b"KBLK";
pub(super) const FIRST: u32 = 1;
pub(super) const LAST: u32 = 2;
pub(super) const KEYS_ZSTD: u32 = 4;
pub(super) const CONSECUTIVE: u32 = 16;
pub(super) const KNOWN: u32 = FIRST | LAST | KEYS_ZSTD | CONSECUTIVE;

/// Length of the fixed part of a block.
pub(crate) const FIXED_BYTES: usize = 64;
/// Shortest block: one record with one lane.
pub(crate) const MIN_BYTES: usize = FIXED_BYTES + CRC_BYTES + CRC_BYTES + 8;
/// Length of a checksum.
pub(super) const CRC_BYTES: usize = 4;
/// Longest block that a reader accepts.
pub(super) const MAX_BYTES: usize = 8 << 20;
/// Most records of a block.
pub(super) const MAX_RECORDS: usize = 1 << 18;
/// Largest target for a decoded block; with the longest varints it stays below [`MAX_BYTES`].
const MAX_TARGET_BYTES: usize = 4 << 20;

/// Whether strictly ascending keys have no gaps. False for a single key.
pub(crate) fn is_consecutive<K: RunKey>(keys: &[K]) -> bool {
    match (keys.first(), keys.last()) {
        (Some(first), Some(last)) => keys.len() > 1 && last.widen() - first.widen() == keys.len() as u128 - 1,
        _ => false,
    }
}

/// Writes the checksum of each column of a block with `records` records to `out`.
pub(crate) fn checksums(shape: &Shape, columns: &[u8], records: usize, out: &mut [[u8; CRC_BYTES]]) {
    for (checksum, column) in out.iter_mut().zip(columns.chunks_exact(records * 8)) {
        *checksum = crc32c::crc32c_append(shape.seed, column).to_le_bytes();
    }
}

/// Records that fill a decoded block of `bytes`; at least 1.
pub(crate) fn records_of(bytes: usize, key_bytes: u8, lanes: usize) -> usize {
    (bytes.min(MAX_TARGET_BYTES) / (usize::from(key_bytes) + 8 * lanes)).max(1)
}

/// Length of the head of a block of consecutive keys.
pub(crate) const fn dense_head_bytes(lanes: usize) -> usize {
    FIXED_BYTES + (lanes + 1) * CRC_BYTES
}

/// Length of the head of a block with `bytes` and `records` as its index entry says; `None` if no block can have these.
pub(crate) fn head_bytes(bytes: u32, records: u32, lanes: usize) -> Option<usize> {
    let (bytes, records) = (bytes as usize, records as usize);
    if bytes > MAX_BYTES || !(1..=MAX_RECORDS).contains(&records) {
        return None;
    }
    // At most 2^18 x 2^12 x 8: no overflow.
    let head = bytes.checked_sub(records * lanes * 8)?;
    (head >= dense_head_bytes(lanes)).then_some(head)
}

/// Length of a block as its fixed part says, unchecked; `None` if no block has such a length.
pub(crate) fn length(fixed: &[u8], lanes: usize) -> Option<usize> {
    let fixed = Fixed::read(fixed)?;
    let head = fixed.key_bytes.checked_add(dense_head_bytes(lanes))?;
    let bytes = head.checked_add(fixed.lane_bytes)?;
    (MIN_BYTES..=MAX_BYTES).contains(&bytes).then_some(bytes)
}

/// The fixed part of a block. [`Fixed::read`] checks nothing but magic and reserved bytes.
pub(super) struct Fixed {
    pub(super) flags: u32,
    pub(super) records: usize,
    pub(super) key_bytes: usize,
    pub(super) plain_bytes: usize,
    pub(super) lane_bytes: usize,
    pub(super) first: u128,
    pub(super) next: u128,
}

impl Fixed {
    pub(super) fn read(raw: &[u8]) -> Option<Self> {
        let mut fields = Fields(raw);
        let magic = fields.array::<4>()?;
        let mut number = || fields.u32();
        let (flags, records, key_bytes, plain_bytes, lane_bytes) =
            (number()?, number()? as usize, number()? as usize, number()? as usize, number()? as usize);
        let zeros = fields.u64()?;
        let (first, next) = (fields.u128()?, fields.u128()?);
        (magic == MAGIC && zeros == 0).then_some(Self {
            flags,
            records,
            key_bytes,
            plain_bytes,
            lane_bytes,
            first,
            next,
        })
    }

    /// Completes a `head` that holds key section and column checksums: writes the fixed part in front and the head's
    /// checksum at the end. Returns that checksum.
    pub(super) fn seal(&self, shape: &Shape, head: &mut [u8]) -> u32 {
        let mut fixed = Vec::with_capacity(FIXED_BYTES);
        fixed.extend(MAGIC);
        for field in [self.flags, self.records as u32, self.key_bytes as u32, self.plain_bytes as u32] {
            fixed.extend(field.to_le_bytes());
        }
        fixed.extend((self.lane_bytes as u32).to_le_bytes());
        fixed.extend([0; 8]);
        fixed.extend(self.first.to_le_bytes());
        fixed.extend(self.next.to_le_bytes());
        head[..FIXED_BYTES].copy_from_slice(&fixed);
        let (body, own) = head.split_at_mut(head.len() - CRC_BYTES);
        let crc = crc32c::crc32c_append(shape.seed, body);
        own.copy_from_slice(&crc.to_le_bytes());
        crc
    }
}
