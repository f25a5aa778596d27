//! The end of a run file: block index, footer, and the trailer that locates both.
//!
//! ```text
//!   index, one entry of 36 bytes per block          footer, after the index
//!    0  16  first key                                0  8   records
//!   16  8   offset of the block in the file          8  16  first key
//!   24  4   length of the block                     24  16  last key
//!   28  4   records                                 40  8 each  sum of each lane modulo its modulus
//!   32  4   CRC-32C of the block's head
//!
//!   trailer, the file's last 36 bytes
//!    0  8   offset of the index
//!    8  8   number of blocks
//!   16  8   length of the file
//!   24  4   CRC-32C of header (without its own CRC), index, footer and the trailer so far
//!   28  8   magic "KEIMAEND"
//! ```

use super::fields::Fields;
use super::header::other;
use crate::{RunError, RunId, RunManifest, Split};

pub(crate) const END_MAGIC: [u8; 8] = *b"KEIMAEND";
pub(crate) const ENTRY_BYTES: usize = 36;
/// Length of the trailer, the last bytes of every file.
pub(crate) const TRAILER_BYTES: usize = 36;
/// Most splits of a run, or of a task's runs together.
pub const MAX_SPLITS: usize = 1024;

/// Length of footer and trailer.
pub(crate) const fn footer_bytes(lanes: usize) -> usize {
    40 + 8 * lanes + TRAILER_BYTES
}

/// One entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) first: u128,
    pub(crate) offset: u64,
    pub(crate) bytes: u32,
    pub(crate) records: u32,
    pub(crate) crc: u32,
}

impl Entry {
    pub(crate) fn write(&self, index: &mut Vec<u8>) {
        index.extend(self.first.to_le_bytes());
        index.extend(self.offset.to_le_bytes());
        index.extend(self.bytes.to_le_bytes());
        index.extend(self.records.to_le_bytes());
        index.extend(self.crc.to_le_bytes());
    }
    pub(crate) fn read(entry: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let mut fields = Fields(entry);
        Some(Self {
            first: fields.u128()?,
            offset: fields.u64()?,
            bytes: fields.u32()?,
            records: fields.u32()?,
            crc: fields.u32()?,
        })
    }
    /// All entries of an index.
    pub(crate) fn all(index: &[u8]) -> impl Iterator<Item = Self> {
        index.as_chunks().0.iter().filter_map(Self::read)
    }
}

/// Footer and trailer up to its checksum.
pub(crate) fn encode(
    records: u64,
    first_key: u128,
    last_key: u128,
    sums: &[u64],
    index_at: u64,
    blocks: u64,
) -> Vec<u8> {
    let bytes = footer_bytes(sums.len()) as u64;
    let mut out = Vec::with_capacity(bytes as usize);
    out.extend(records.to_le_bytes());
    out.extend(first_key.to_le_bytes());
    out.extend(last_key.to_le_bytes());
    for sum in sums {
        out.extend(sum.to_le_bytes());
    }
    out.extend(index_at.to_le_bytes());
    out.extend(blocks.to_le_bytes());
    out.extend((index_at + blocks * ENTRY_BYTES as u64 + bytes).to_le_bytes());
    out
}

/// Completes `tail`, as [`encode`] gave it, with checksum and end magic. Returns it and the run's checksum.
pub(crate) fn close(seed: u32, index: &[u8], mut tail: Vec<u8>) -> (Vec<u8>, u32) {
    let checksum = crc32c::crc32c_append(crc32c::crc32c_append(seed, index), &tail);
    tail.extend(checksum.to_le_bytes());
    tail.extend(END_MAGIC);
    (tail, checksum)
}

/// The fields of footer and trailer, unchecked.
pub(crate) struct Footer {
    pub(crate) manifest: RunManifest,
    pub(crate) index_at: u64,
    pub(crate) blocks: u64,
    pub(crate) magic: [u8; 8],
}

pub(crate) fn decode(bytes: &[u8], lanes: usize, id: &RunId) -> Option<Footer> {
    let mut fields = Fields(bytes);
    let records = fields.u64()?;
    let (first_key, last_key) = (fields.u128()?, fields.u128()?);
    let sums = (0..lanes).map(|_| fields.u64()).collect::<Option<Vec<_>>>()?;
    let (index_at, blocks, length) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let checksum = fields.u32()?;
    let magic = fields.array()?;
    let manifest = RunManifest { id: id.clone(), bytes: length, records, first_key, last_key, sums, checksum };
    fields.0.is_empty().then_some(Footer { manifest, index_at, blocks, magic })
}

/// Names the first field in which two manifests differ, if any.
pub(crate) fn compare(expected: &RunManifest, got: &RunManifest, place: &str) -> Result<(), RunError> {
    let hex = |key: u128| format!("{key:#x}");
    if got.bytes != expected.bytes {
        return Err(other(place, "length in bytes", expected.bytes, got.bytes));
    }
    if got.records != expected.records {
        return Err(other(place, "number of records", expected.records, got.records));
    }
    if got.first_key != expected.first_key {
        return Err(other(place, "first key", hex(expected.first_key), hex(got.first_key)));
    }
    if got.last_key != expected.last_key {
        return Err(other(place, "last key", hex(expected.last_key), hex(got.last_key)));
    }
    if got.sums != expected.sums {
        let list = |sums: &[u64]| format!("{sums:?}");
        return Err(other(place, "list of sums", list(&expected.sums), list(&got.sums)));
    }
    if got.checksum != expected.checksum {
        let hex = |checksum: u32| format!("{checksum:08x}");
        return Err(other(place, "checksum", hex(expected.checksum), hex(got.checksum)));
    }
    Ok(())
}

/// At most [`MAX_SPLITS`] splits at block boundaries, into pieces as equal as blocks allow.
pub(crate) fn splits(index: &[u8], records: u64, last_key: u128) -> Vec<Split> {
    let mut splits: Vec<Split> = Vec::new();
    let (mut piece, mut below, mut cuts) = (0_u64, 0_u64, 0_u64);
    let mut entries = Entry::all(index).peekable();
    while let Some(entry) = entries.next() {
        piece += u64::from(entry.records);
        below += u64::from(entry.records);
        // Equal pieces that the records so far would fill.
        let filled = (u128::from(below) * MAX_SPLITS as u128 / u128::from(records.max(1))) as u64;
        match entries.peek() {
            // No key lies above u128::MAX: a piece that begins there has no end of its own.
            Some(next) if filled > cuts && next.first < u128::MAX => {
                splits.push(Split { key: next.first, records: piece });
                (piece, cuts) = (0, filled);
            }
            Some(_) => {}
            None => splits.push(Split { key: last_key.saturating_add(1), records: piece }),
        }
    }
    splits
}
