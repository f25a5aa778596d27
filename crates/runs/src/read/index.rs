//! The block index of an open run. It stays on disk; 256 first keys and one window of entries are held in memory.
//!
//! ```text
//!   index on disk     e0 e1 e2 e3 e4 e5 e6 e7 e8 ...        36 bytes each
//!   marks             k0       k3       k6       ...        first keys, one stride apart, at most 256
//!   window                        e4 e5 e6 e7               128 entries around the last one asked for
//! ```
//!
//! Finding a key: bisection among the marks, then between two marks on disk, 16 bytes a step. Memory: at most 9 KB a
//! run, whatever its size.

use std::ops::Range;

use rustix::fs::Advice;

use super::source::Source;
use crate::RunError;
use crate::format::block;
use crate::format::footer::{ENTRY_BYTES, Entry, Footer, TRAILER_BYTES};

/// Where the index of a run stands, and its part in memory.
#[derive(Debug)]
pub(super) struct Index {
    /// Offset in the file.
    pub(super) at: u64,
    /// Number of blocks, one entry each.
    pub(super) blocks: u64,
    /// All entries if one window holds them, else none.
    whole: Window,
    marks: Marks,
}

/// What stands around an index: its checksum covers the footer, and its blocks lie behind the header.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) header_bytes: u64,
    pub(super) lanes: usize,
    /// Checksum of the header, which the index continues.
    pub(super) seed: u32,
    pub(super) footer_at: u64,
    /// Footer and trailer.
    pub(super) tail: &'a [u8],
}

impl Index {
    /// Streams the index of `source` once. Checks its checksum first. Then checks that its blocks fill the file from
    /// header to index in key order, with as many records as `footer` says.
    pub(super) fn check(source: &Source, frame: &Frame<'_>, footer: &Footer) -> Result<Self, RunError> {
        let manifest = &footer.manifest;
        let mut index = Self {
            at: footer.index_at,
            blocks: footer.blocks,
            whole: Window::default(),
            marks: Marks::new(footer.blocks),
        };
        let malformed = |what| source.malformed(what, footer.index_at);
        let bytes = index.blocks.checked_mul(ENTRY_BYTES as u64);
        let end = bytes.and_then(|bytes| index.at.checked_add(bytes));
        if index.blocks == 0 || end != Some(frame.footer_at) {
            return Err(malformed("its index does not end where its footer begins"));
        }
        source.advise(index.at, frame.footer_at - index.at, Advice::WillNeed);
        let mut crc = frame.seed;
        let mut fault = None;
        let (mut offset, mut records) = (frame.header_bytes, 0_u64);
        let mut previous: Option<u128> = None;
        let mut window = Window::default();
        for number in 0..index.blocks {
            let entry = window.entry(source, &index, number)?;
            if number == window.first {
                crc = crc32c::crc32c_append(crc, &window.bytes);
            }
            let ascends = previous.map_or(entry.first == manifest.first_key, |p| p < entry.first);
            let possible = block::head_bytes(entry.bytes, entry.records, frame.lanes).is_some();
            if entry.offset != offset || !ascends || !possible {
                fault = fault.or(Some("its index does not describe blocks that follow each other"));
            }
            previous = Some(entry.first);
            index.marks.add(number, entry.first);
            offset = offset.saturating_add(entry.bytes.into());
            records = records.saturating_add(entry.records.into());
        }
        let summed = frame.tail.len().saturating_sub(TRAILER_BYTES - 24);
        let got = crc32c::crc32c_append(crc, frame.tail.get(..summed).unwrap_or_default());
        let expected = manifest.checksum;
        if expected != got {
            let (place, what) = (source.place.clone(), "index and footer");
            return Err(RunError::Checksum { place, what, at: 0, expected, got });
        }
        if let Some(what) = fault {
            return Err(malformed(what));
        }
        if offset != index.at || records != manifest.records || previous > Some(manifest.last_key) {
            return Err(malformed("its index and its footer contradict each other"));
        }
        if index.blocks <= Window::ENTRIES {
            index.whole = window;
        }
        Ok(index)
    }

    /// First key of block `number`.
    pub(super) fn first_key(&self, source: &Source, number: u64) -> Result<u128, RunError> {
        let mut key = [0; 16];
        source.read("the index", self.at + number * ENTRY_BYTES as u64, &mut key)?;
        Ok(u128::from_le_bytes(key))
    }

    /// The block that answers for `key`: the last block that begins at or below it, or the first block.
    pub(super) fn find(&self, source: &Source, key: u128) -> Result<u64, RunError> {
        let Range { start: mut low, end: mut high } = self.marks.around(key, self.blocks);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.first_key(source, middle)? <= key { low = middle } else { high = middle }
        }
        Ok(low)
    }
}

/// First keys of blocks that are a stride apart.
#[derive(Debug)]
struct Marks {
    stride: u64,
    keys: Vec<u128>,
}

impl Marks {
    /// Most keys held.
    const MOST: u64 = 256;

    fn new(blocks: u64) -> Self {
        Self { stride: blocks.div_ceil(Self::MOST).max(1), keys: Vec::new() }
    }

    /// Takes the first key of block `number`; blocks come in order.
    fn add(&mut self, number: u64, key: u128) {
        if number.is_multiple_of(self.stride) {
            self.keys.push(key);
        }
    }

    /// The blocks among which the one that answers for `key` is.
    fn around(&self, key: u128, blocks: u64) -> Range<u64> {
        let mark = self.keys.partition_point(|&first| first <= key).saturating_sub(1) as u64;
        let low = mark * self.stride;
        low..low.saturating_add(self.stride).min(blocks)
    }
}

/// Consecutive entries of the index in memory. Each reader of the run has its own.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Number of the first entry.
    first: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Entries per read: about a page.
    const ENTRIES: u64 = 128;

    /// Entry `number`, if this window holds it.
    fn held(&self, number: u64) -> Option<Entry> {
        let place = number.checked_sub(self.first)?;
        self.bytes.as_chunks().0.get(usize::try_from(place).ok()?).and_then(Entry::read)
    }

    /// Entry `number`, which is below the number of blocks; reads a new window where needed.
    pub(super) fn entry(&mut self, source: &Source, index: &Index, number: u64) -> Result<Entry, RunError> {
        if let Some(entry) = index.whole.held(number) {
            return Ok(entry);
        }
        let held = (self.bytes.len() / ENTRY_BYTES) as u64;
        if !(self.first..self.first + held).contains(&number) {
            let count = Self::ENTRIES.min(index.blocks - number);
            self.bytes.resize(count as usize * ENTRY_BYTES, 0);
            self.first = number;
            let offset = index.at + number * ENTRY_BYTES as u64;
            if let Err(error) = source.read("the index", offset, &mut self.bytes) {
                self.bytes.clear();
                return Err(error);
            }
        }
        self.held(number).ok_or_else(|| source.malformed("its index ends early", index.at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At most 256 marks, and the block that answers for a key lies between two of them.
    #[test]
    fn marks_enclose_every_key() {
        for blocks in [1_u64, 2, 255, 256, 257, 1500] {
            let mut marks = Marks::new(blocks);
            (0..blocks).for_each(|number| marks.add(number, u128::from(10 * number + 5)));
            assert!(marks.keys.len() as u64 <= Marks::MOST, "{blocks}");
            for key in 0..10 * blocks + 20 {
                let block = key.saturating_sub(5) / 10;
                let around = marks.around(key.into(), blocks);
                assert!(around.contains(&block.min(blocks - 1)), "{key} of {blocks} blocks: {around:?}");
            }
        }
    }
}
