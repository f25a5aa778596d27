//! A block: some thousand records that are checked and decoded together.
//!
//! ```text
//!    0  4   magic "KBLK"
//!    4  4   flags: 1 first block of its run, 2 last, 4 key section is zstd, 8 sparse lanes (kept for later: refused),
//!           16 keys are consecutive, first key + 0, 1, 2 ..., and the key section is empty
//!    8  4   records n, at least 1
//!   12  4   length of the key section as it stands here
//!   16  4   length of the key section before zstd
//!   20  4   length of the lane section: n x lanes x 8
//!   24  8   0
//!   32  16  first key
//!   48  16  first key of the next block; 0 in the last
//!   64      key section: n - 1 gaps as LEB128, perhaps a zstd frame
//!       4 for each lane   CRC-32C of the run's header (without its own CRC), then of the lane's column
//!       4   CRC-32C of the run's header (without its own CRC), then of all bytes of the block before: its *head*
//!           lane section: a column of n u64 for each lane
//! ```
//!
//! Blocks say where the next one begins, so that they tile the whole key space, and whoever reads a range from any
//! source sees for himself that nothing was left out. Whoever needs some of the lanes reads the head and their columns:
//! the head says what each column's checksum is.

use std::ops::Range;

use super::footer::Entry;
use super::header::{Fields, Shape};
use super::{lanes, varint};
use crate::{Batch, RunError, Word};

const MAGIC: [u8; 4] = *b"KBLK";
const FIRST: u32 = 1;
const LAST: u32 = 2;
const KEYS_ZSTD: u32 = 4;
const CONSECUTIVE: u32 = 16;
const KNOWN: u32 = FIRST | LAST | KEYS_ZSTD | CONSECUTIVE;

/// Length of the fixed part of a block.
pub(crate) const FIXED_BYTES: usize = 64;
/// Shortest block: one record with one lane.
pub(crate) const MIN_BYTES: usize = FIXED_BYTES + CRC_BYTES + CRC_BYTES + 8;
/// Length of a checksum.
const CRC_BYTES: usize = 4;
/// Longest block that a reader accepts.
pub(crate) const MAX_BYTES: usize = 8 << 20;
/// Most records of a block.
pub(crate) const MAX_RECORDS: usize = 1 << 18;
/// Largest target for a decoded block; with the longest varints it stays below [`MAX_BYTES`].
pub(crate) const MAX_TARGET_BYTES: usize = 4 << 20;

/// Sorted keys give in at the lowest levels already.
const ZSTD_LEVEL: i32 = 3;

/// Compresses key sections, or not.
pub(crate) struct Encoder {
    zstd: Option<zstd::bulk::Compressor<'static>>,
    packed: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new(compress_keys: bool) -> std::io::Result<Self> {
        let zstd = compress_keys.then(|| zstd::bulk::Compressor::new(ZSTD_LEVEL)).transpose()?;
        Ok(Self { zstd, packed: Vec::new() })
    }

    /// Replaces `raw` by the encoded `block` (not empty, keys ascending; `first` of its run,
    /// `next` the first key after it), adds each lane to `sums`, and
    /// gives the block's checksum.
    pub(crate) fn encode<K: Word>(
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
        let mut flags = if first { FIRST } else { 0 } | if next.is_none() { LAST } else { 0 };
        if is_consecutive(keys) {
            flags |= CONSECUTIVE;
        } else {
            varint::encode(keys, raw);
        }
        let plain_bytes = raw.len() - FIXED_BYTES;
        if plain_bytes > 0 && self.pack(raw.get(FIXED_BYTES..).unwrap_or_default()) {
            raw.truncate(FIXED_BYTES);
            raw.extend_from_slice(&self.packed);
            flags |= KEYS_ZSTD;
        }
        let key_bytes = raw.len() - FIXED_BYTES;
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
            key_bytes,
            plain_bytes,
            lane_bytes: rows.len() * 8,
            first: keys.first().map_or(0, |k| k.widen()),
            next: next.map_or(0, Word::widen),
        };
        Ok(fixed.seal(shape, head))
    }

    /// Whether zstd saves an eighth of `plain`; then `packed` holds the frame.
    fn pack(&mut self, plain: &[u8]) -> bool {
        let Some(zstd) = &mut self.zstd else { return false };
        self.packed.clear();
        // No more room than is useful: a frame that does not fit does not pay.
        self.packed.reserve_exact(plain.len());
        zstd.compress_to_buffer(plain, &mut self.packed).is_ok() && self.packed.len() < plain.len() - plain.len() / 8
    }
}

/// Whether strictly ascending keys leave nothing out; a single key has no gaps to tell either way.
pub(crate) fn is_consecutive<K: Word>(keys: &[K]) -> bool {
    match (keys.first(), keys.last()) {
        (Some(first), Some(last)) => keys.len() > 1 && last.widen() - first.widen() == keys.len() as u128 - 1,
        _ => false,
    }
}

/// Checksums of the columns of some lanes of a block with so many records.
pub(crate) fn checksums(shape: &Shape, columns: &[u8], records: usize, out: &mut [[u8; CRC_BYTES]]) {
    for (checksum, column) in out.iter_mut().zip(columns.chunks_exact(records * 8)) {
        *checksum = crc32c::crc32c_append(shape.seed, column).to_le_bytes();
    }
}

/// Records of a block of `bytes` when it is decoded, or as near as can be.
pub(crate) fn records_of(bytes: usize, key_bytes: u8, lanes: usize) -> usize {
    (bytes.min(MAX_TARGET_BYTES) / (usize::from(key_bytes) + 8 * lanes)).max(1)
}

/// Length of the head of a block of consecutive keys.
pub(crate) const fn dense_head_bytes(lanes: usize) -> usize {
    FIXED_BYTES + (lanes + 1) * CRC_BYTES
}

/// Replaces `head` by that of a block of `records` consecutive keys from `first` on, whose columns have these checksums,
/// and gives its own.
pub(crate) fn dense_head(
    shape: &Shape,
    (is_first, records): (bool, u32),
    (first, next): (u128, Option<u128>),
    checksums: &[[u8; CRC_BYTES]],
    head: &mut Vec<u8>,
) -> u32 {
    head.clear();
    head.resize(FIXED_BYTES, 0);
    head.extend_from_slice(checksums.as_flattened());
    head.extend([0; CRC_BYTES]);
    let places = if is_first { FIRST } else { 0 } | if next.is_none() { LAST } else { 0 };
    let fixed = Fixed {
        flags: places | if records > 1 { CONSECUTIVE } else { 0 },
        records: records as usize,
        key_bytes: 0,
        plain_bytes: 0,
        lane_bytes: records as usize * checksums.len() * 8,
        first,
        next: next.unwrap_or(0),
    };
    fixed.seal(shape, head)
}

/// Length of the head of a block of `bytes` with so many records, as the index tells of them; `None` if there are no
/// such blocks.
pub(crate) fn head_bytes(bytes: u32, records: u32, lanes: usize) -> Option<usize> {
    let (bytes, records) = (bytes as usize, records as usize);
    if bytes > MAX_BYTES || !(1..=MAX_RECORDS).contains(&records) {
        return None;
    }
    // At most 2^18 x 2^12 x 8: no overflow.
    let head = bytes.checked_sub(records * lanes * 8)?;
    (head >= FIXED_BYTES + (lanes + 1) * CRC_BYTES).then_some(head)
}

/// Length of a block, as its fixed part says, which nobody has checked yet; `None` if there are no such blocks.
pub(crate) fn length(fixed: &[u8], lanes: usize) -> Option<usize> {
    let fixed = Fixed::read(fixed)?;
    let head = fixed.key_bytes.checked_add(dense_head_bytes(lanes))?;
    let bytes = head.checked_add(fixed.lane_bytes)?;
    (MIN_BYTES..=MAX_BYTES).contains(&bytes).then_some(bytes)
}

/// What a block says of itself; not yet checked against its checksum where it comes from [`Fixed::read`] alone.
struct Fixed {
    flags: u32,
    records: usize,
    key_bytes: usize,
    plain_bytes: usize,
    lane_bytes: usize,
    first: u128,
    next: u128,
}

impl Fixed {
    fn read(raw: &[u8]) -> Option<Self> {
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

    /// Fills in the fixed part of a head, in which keys and the columns' checksums stand already, and its checksum at
    /// the end, which is returned.
    fn seal(&self, shape: &Shape, head: &mut [u8]) -> u32 {
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

/// The part of the key space that a block answers for: all keys from `from` (0 in the first block of a run) to below
/// `to` (`None`: to the end).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cover {
    pub(crate) from: u128,
    pub(crate) to: Option<u128>,
    pub(crate) crc: u32,
}

/// A block that is as it was written: checksums are right, and sections add up. What keys and values are worth is not
/// looked at.
struct Sound<'a> {
    fixed: Fixed,
    /// Checksum of the head.
    crc: u32,
    keys: &'a [u8],
    columns: &'a [u8],
    /// Modulus of each column.
    moduli: &'a [u64],
}

/// Checks the block `raw`, of which only the columns of `lanes` stand behind its head.
fn sound<'a>(
    raw: &'a [u8],
    (shape, lanes): (&'a Shape, Range<usize>),
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
    let fixed = Fixed::read(raw).ok_or_else(|| malformed("a block does not begin as blocks do"))?;
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

/// Checks a whole block without decoding it, and gives the line of the index for it at `offset`, and whether it is its
/// run's last.
pub(crate) fn seen_whole(
    raw: &[u8],
    shape: &Shape,
    offset: u64,
    place: &str,
    at: u64,
) -> Result<(Entry, bool), RunError> {
    let Sound { fixed, crc, .. } = sound(raw, (shape, 0..shape.lanes()), place, at)?;
    let entry = Entry { first: fixed.first, offset, bytes: raw.len() as u32, records: fixed.records as u32, crc };
    Ok((entry, fixed.flags & LAST != 0))
}

/// Decodes blocks, keeping its memory from one to the next.
#[derive(Default)]
pub(crate) struct Decoder {
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    plain: Vec<u8>,
}

impl Decoder {
    /// Replaces `out` by the records of the block `raw`, of which only the columns of `lanes` stand behind its head.
    /// Allocates in proportion to `raw.len()`, except for zstd, where it is bounded by [`MAX_RECORDS`] times the longest
    /// varint. `place` and `at` go into errors.
    pub(crate) fn decode<K: Word>(
        &mut self,
        raw: &[u8],
        (shape, lanes): (&Shape, Range<usize>),
        out: &mut Batch<K>,
        place: &str,
        at: u64,
    ) -> Result<Cover, RunError> {
        let malformed = |what| RunError::Malformed { place: place.into(), what, at };
        let Sound { fixed, crc, keys, columns, moduli } = sound(raw, (shape, lanes), place, at)?;
        let packed = fixed.flags & KEYS_ZSTD != 0;
        if fixed.plain_bytes > (fixed.records - 1) * varint::longest(K::BYTES)
            || (!packed && fixed.plain_bytes != fixed.key_bytes)
        {
            return Err(malformed("a block's key section is longer than its records can need"));
        }
        let first = K::from_wide(fixed.first).ok_or_else(|| malformed("a block's first key exceeds its width"))?;
        if fixed.flags & CONSECUTIVE != 0 {
            if packed || !keys.is_empty() {
                return Err(malformed("a block of consecutive keys has a key section"));
            }
            let last = fixed.first.checked_add(fixed.records as u128 - 1).and_then(K::from_wide);
            last.ok_or_else(|| malformed("a block's last key exceeds its width"))?;
            out.keys.clear();
            first.count_up(fixed.records as u64, &mut out.keys);
        } else {
            let keys = if packed { self.unpack(keys, fixed.plain_bytes).map_err(malformed)? } else { keys };
            varint::decode(keys, first, fixed.records, &mut out.keys).map_err(malformed)?;
        }
        out.rows.resize(fixed.records * moduli.len(), 0);
        lanes::to_rows(columns, moduli, &mut out.rows).map_err(|_| malformed("a value is not below its modulus"))?;

        let last = fixed.flags & LAST != 0;
        let beyond = out.keys.last().is_some_and(|k| k.widen() < fixed.next);
        if last && fixed.next != 0 || !last && !beyond {
            return Err(malformed("a block ends where the next one cannot begin"));
        }
        Ok(Cover {
            from: if fixed.flags & FIRST == 0 { fixed.first } else { 0 },
            to: (!last).then_some(fixed.next),
            crc,
        })
    }

    fn unpack(&mut self, frame: &[u8], plain_bytes: usize) -> Result<&[u8], &'static str> {
        let bad = "a block's key section is no sound zstd frame";
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(zstd::bulk::Decompressor::new().map_err(|_| "zstd has no memory for a block")?),
        };
        self.plain.clear();
        self.plain.reserve_exact(plain_bytes);
        match zstd.decompress_to_buffer(frame, &mut self.plain) {
            Ok(bytes) if bytes == plain_bytes => Ok(&self.plain),
            _ => Err(bad),
        }
    }
}
