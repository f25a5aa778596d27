//! A published run in a file of this machine (or of a shared folder): opened with all checks that need no block, read
//! block by block with positioned reads.
//!
//! The index is checked as a stream and then left on disk, all but a mark in each of 256 parts: an open run takes 9 KB
//! of memory at most however large it is, and a range is found by bisection, first among the marks, then between two of
//! them, 16 bytes a step. An index of one piece stays in memory.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise};

use super::feed::LocalFeed;
use crate::format::footer::{ENTRY_BYTES, Entry, TRAILER_BYTES, footer_bytes};
use crate::format::{block, footer, header};
use crate::{RunError, RunHeader, RunId, RunManifest, RunPart};

/// Raw encoded blocks in key order, each complete with its head, and of their lanes those of the part that was asked for.
/// Blocks may come from anywhere: whoever decodes them (`RunCursor`) checks them, and sees where some are missing.
pub trait BlockFeed: Send {
    /// Replaces `raw` by the next block; `false` at the end.
    fn next_block(&mut self, raw: &mut Vec<u8>) -> Result<bool, RunError>;
    /// Says that the first block will be asked for soon.
    fn prepare(&mut self) {}
}

/// A published file whose header, index and footer are sound and are those that were expected. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LocalRun(pub(super) Arc<Opened>);

#[derive(Debug)]
pub(super) struct Opened {
    pub(super) source: Source,
    pub(super) header: RunHeader,
    pub(super) manifest: RunManifest,
    pub(super) seed: u32,
    pub(super) index_at: u64,
    pub(super) blocks: u64,
    /// The whole index, if it is a single piece.
    pub(super) index: Window,
    pub(super) marks: Marks,
}

/// First keys of blocks that are a stride apart.
#[derive(Debug)]
pub(super) struct Marks {
    pub(super) stride: u64,
    pub(super) keys: Vec<u128>,
}

impl Marks {
    pub(super) const MOST: u64 = 256;

    pub(super) fn new(blocks: u64) -> Self {
        Self { stride: blocks.div_ceil(Self::MOST).max(1), keys: Vec::new() }
    }

    /// Takes the first key of the next block, whose number is given.
    pub(super) fn add(&mut self, number: u64, key: u128) {
        if number.is_multiple_of(self.stride) {
            self.keys.push(key);
        }
    }

    /// Blocks among which the one for `key` is.
    pub(super) fn around(&self, key: u128, blocks: u64) -> Range<u64> {
        let mark = self.keys.partition_point(|&first| first <= key).saturating_sub(1) as u64;
        let low = mark * self.stride;
        low..low.saturating_add(self.stride).min(blocks)
    }
}

/// A file with its name for messages and its length.
#[derive(Debug)]
pub(super) struct Source {
    file: File,
    place: String,
    bytes: u64,
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self, RunError> {
        let file = File::open(path).map_err(RunError::io(path, "open"))?;
        let meta = file.metadata().map_err(RunError::io(path, "read the length of"))?;
        if !meta.is_file() {
            let source = io::Error::new(ErrorKind::InvalidInput, "it is not a regular file");
            return Err(RunError::io(path, "read a run from")(source));
        }
        let source = Self { file, place: path.display().to_string(), bytes: meta.len() };
        source.advise(0, 0, Advice::Random);
        Ok(source)
    }

    /// A hint to the system, for `bytes` from `offset` on; 0 for all that follow. Where it takes none nothing is lost.
    pub(super) fn advise(&self, offset: u64, bytes: u64, advice: Advice) {
        let _ = fadvise(&self.file, offset, std::num::NonZeroU64::new(bytes), advice);
    }

    /// Fills `buffer` from `offset` on, within the length found at opening.
    pub(super) fn read(&self, what: &'static str, offset: u64, buffer: &mut [u8]) -> Result<(), RunError> {
        let expected = offset.saturating_add(buffer.len() as u64);
        let truncated = |got| RunError::Truncated { place: self.place.clone(), what, expected, got };
        if expected > self.bytes {
            return Err(truncated(self.bytes));
        }
        self.file.read_exact_at(buffer, offset).map_err(|source| {
            if source.kind() == ErrorKind::UnexpectedEof {
                truncated(self.file.metadata().map_or(0, |m| m.len()))
            } else {
                RunError::io(self.place.as_str(), "read")(source)
            }
        })
    }

    pub(super) fn malformed(&self, what: &'static str, at: u64) -> RunError {
        RunError::Malformed { place: self.place.clone(), what, at }
    }
}

impl Opened {
    /// `id` and `expected` are what is known of it.
    fn open(path: &Path, id: Option<&RunId>, expected: Option<(&RunManifest, &RunHeader)>) -> Result<Self, RunError> {
        let source = Source::open(path)?;
        let mut start = [0; 16];
        source.read("the header", 0, &mut start)?;
        let mut bytes = vec![0; header::length(&start, &source.place)?];
        source.read("the header", 0, &mut bytes)?;
        let (header, got_id, seed) = header::decode(&bytes, &source.place)?;
        if let Some((_, expected)) = expected {
            header::compare(expected, &header, &source.place)?;
        }
        if let Some(id) = id.filter(|&id| *id != got_id) {
            return Err(header::other(&source.place, "run id", id, got_id));
        }

        let lanes = header.lanes();
        let mut tail = vec![0; footer_bytes(lanes)];
        let needed = (bytes.len() + block::MIN_BYTES + ENTRY_BYTES + tail.len()) as u64;
        if source.bytes < needed {
            let (place, got) = (source.place.clone(), source.bytes);
            return Err(RunError::Truncated { place, what: "the smallest run", expected: needed, got });
        }
        let footer_at = source.bytes - tail.len() as u64;
        source.read("the footer", footer_at, &mut tail)?;
        let footer = footer::decode(&tail, lanes, &got_id).ok_or_else(|| source.malformed("its footer", footer_at))?;
        if footer.magic != footer::END_MAGIC || footer.manifest.bytes != source.bytes {
            // Either the end is missing, or its last bytes are not those that were written: both read like this.
            let expected = expected.map_or(footer.manifest.bytes, |(manifest, _)| manifest.bytes);
            let (place, got) = (source.place.clone(), source.bytes);
            return Err(RunError::Truncated { place, what: "the file up to its trailer", expected, got });
        }
        let (index_at, blocks, manifest) = (footer.index_at, footer.blocks, footer.manifest);
        let (index, marks) = (Window::default(), Marks::new(0));
        let mut opened = Self { source, header, manifest, seed, index_at, blocks, index, marks };
        let crc_bytes = tail.len() - (TRAILER_BYTES - 24);
        let (index, marks) =
            opened.check_index(bytes.len() as u64, footer_at, tail.get(..crc_bytes).unwrap_or_default())?;
        opened.marks = marks;
        if blocks <= Window::ENTRIES {
            opened.index = index;
        }
        if let Some((expected, _)) = expected {
            compare(expected, &opened.manifest, &opened.source.place)?;
        }
        Ok(opened)
    }

    /// Streams the index: its checksum (which covers `tail`, the footer, too) first of all, then whether the blocks
    /// fill the file from the header to the index in key order, with as many records as the footer says. Gives the last
    /// piece, and the marks.
    fn check_index(&self, header_bytes: u64, footer_at: u64, tail: &[u8]) -> Result<(Window, Marks), RunError> {
        let malformed = |what| self.source.malformed(what, self.index_at);
        let index_bytes = self.blocks.checked_mul(ENTRY_BYTES as u64);
        let index_end = index_bytes.and_then(|bytes| self.index_at.checked_add(bytes));
        if self.blocks == 0 || index_end != Some(footer_at) {
            return Err(malformed("its index does not end where its footer begins"));
        }
        self.source.advise(self.index_at, footer_at - self.index_at, Advice::WillNeed);
        let mut crc = self.seed;
        let mut fault = None;
        let (mut offset, mut records) = (header_bytes, 0_u64);
        let mut previous: Option<u128> = None;
        let (mut window, mut marks) = (Window::default(), Marks::new(self.blocks));
        for number in 0..self.blocks {
            let entry = window.entry(self, number)?;
            if number == window.first {
                crc = crc32c::crc32c_append(crc, &window.bytes);
            }
            let ascends = previous.map_or(entry.first == self.manifest.first_key, |p| p < entry.first);
            let possible = block::head_bytes(entry.bytes, entry.records, self.header.lanes()).is_some();
            if entry.offset != offset || !ascends || !possible {
                fault = fault.or(Some("its index does not describe blocks that follow each other"));
            }
            previous = Some(entry.first);
            marks.add(number, entry.first);
            offset = offset.saturating_add(entry.bytes.into());
            records = records.saturating_add(entry.records.into());
        }
        let (expected, got) = (self.manifest.checksum, crc32c::crc32c_append(crc, tail));
        if expected != got {
            let (place, what) = (self.source.place.clone(), "index and footer");
            return Err(RunError::Checksum { place, what, at: 0, expected, got });
        }
        if let Some(what) = fault {
            return Err(malformed(what));
        }
        if offset != self.index_at || records != self.manifest.records || previous > Some(self.manifest.last_key) {
            return Err(malformed("its index and its footer contradict each other"));
        }
        Ok((window, marks))
    }

    pub(super) fn first_key(&self, number: u64) -> Result<u128, RunError> {
        let mut key = [0; 16];
        self.source.read("the index", self.index_at + number * ENTRY_BYTES as u64, &mut key)?;
        Ok(u128::from_le_bytes(key))
    }

    /// The block whose part of the key space holds `key`: the last that begins at or below it, or the first.
    pub(super) fn find(&self, key: u128) -> Result<u64, RunError> {
        let Range { start: mut low, end: mut high } = self.marks.around(key, self.blocks);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.first_key(middle)? <= key { low = middle } else { high = middle }
        }
        Ok(low)
    }
}

/// A piece of the index in memory.
#[derive(Debug, Default)]
pub(super) struct Window {
    first: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// Entries that are read at a time: a page or so.
    pub(super) const ENTRIES: u64 = 128;

    /// Entry `number`, if it is in this piece.
    pub(super) fn held(&self, number: u64) -> Option<Entry> {
        let place = number.checked_sub(self.first)?;
        self.bytes.as_chunks().0.get(usize::try_from(place).ok()?).and_then(Entry::read)
    }

    /// Entry `number` of the index, below its number of blocks.
    pub(super) fn entry(&mut self, run: &Opened, number: u64) -> Result<Entry, RunError> {
        if let Some(entry) = run.index.held(number) {
            return Ok(entry);
        }
        let held = (self.bytes.len() / ENTRY_BYTES) as u64;
        if !(self.first..self.first + held).contains(&number) {
            let count = Self::ENTRIES.min(run.blocks - number);
            self.bytes.resize(count as usize * ENTRY_BYTES, 0);
            self.first = number;
            let offset = run.index_at + number * ENTRY_BYTES as u64;
            if let Err(error) = run.source.read("the index", offset, &mut self.bytes) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let entry = self.bytes.as_chunks().0.get((number - self.first) as usize).and_then(Entry::read);
        entry.ok_or_else(|| run.source.malformed("its index ends early", run.index_at))
    }
}

pub(crate) fn compare(expected: &RunManifest, got: &RunManifest, place: &str) -> Result<(), RunError> {
    let hex = |key: u128| format!("{key:#x}");
    if got.bytes != expected.bytes {
        return Err(header::other(place, "length in bytes", expected.bytes, got.bytes));
    }
    if got.records != expected.records {
        return Err(header::other(place, "number of records", expected.records, got.records));
    }
    if got.first_key != expected.first_key {
        return Err(header::other(place, "first key", hex(expected.first_key), hex(got.first_key)));
    }
    if got.last_key != expected.last_key {
        return Err(header::other(place, "last key", hex(expected.last_key), hex(got.last_key)));
    }
    if got.sums != expected.sums {
        let list = |sums: &[u64]| format!("{sums:?}");
        return Err(header::other(place, "list of sums", list(&expected.sums), list(&got.sums)));
    }
    if got.checksum != expected.checksum {
        let hex = |checksum: u32| format!("{checksum:08x}");
        return Err(header::other(place, "checksum", hex(expected.checksum), hex(got.checksum)));
    }
    Ok(())
}

impl LocalRun {
    /// Opens a run and verifies its header, index and footer, by themselves and against what is expected. Blocks are
    /// verified when they are read.
    pub fn open(path: &Path, expected: &RunManifest, header: &RunHeader) -> Result<Self, RunError> {
        Ok(Self(Arc::new(Opened::open(path, Some(&expected.id), Some((expected, header)))?)))
    }

    /// Opens a run of which only the name is known.
    pub(crate) fn open_unknown(path: &Path, id: &RunId) -> Result<Self, RunError> {
        Ok(Self(Arc::new(Opened::open(path, Some(id), None)?)))
    }

    /// Opens a run of which nothing is known.
    pub(crate) fn open_any(path: &Path) -> Result<Self, RunError> {
        Ok(Self(Arc::new(Opened::open(path, None, None)?)))
    }

    /// What is known of the run.
    pub fn manifest(&self) -> &RunManifest {
        &self.0.manifest
    }

    /// What its records have in common.
    pub fn header(&self) -> &RunHeader {
        &self.0.header
    }

    /// The blocks that may hold keys of `part`, with its lanes. For a range of keys that is not empty these are one at
    /// least, since blocks answer for the gaps between them too.
    pub fn feed(&self, part: RunPart) -> LocalFeed {
        LocalFeed::new(Arc::clone(&self.0), part)
    }

    /// The index's entry for block `number`, if there is one.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Result<Entry, RunError>> {
        let run = Arc::clone(&self.0);
        let mut window = Window::default();
        (0..run.blocks).map(move |number| window.entry(&run, number))
    }
}
