//! Blocks of one part of a run in a file, and the read-ahead for them.
//!
//! ```text
//!   run     | block | block | block | block | block | ...
//!                   low ............. high                the range of keys
//!                   | read  | asked for | not yet |       about 1 MiB is requested ahead of the reader
//!
//!   block   | head | lane 0 | lane 1 | lane 2 | lane 3 |
//!           |......|                 |.................|  the bytes read for lanes 2 and 3
//! ```
//!
//! The file is opened for random access, so that the system reads nothing ahead by itself. Key ranges are short and far
//! apart: its own read-ahead would read as much again in vain. The feed requests what it needs instead.

use std::ops::Range;
use std::sync::Arc;

use rustix::fs::Advice;

use super::cursor::BlockFeed;
use super::index::Window;
use super::opened::Opened;
use crate::format::block;
use crate::format::footer::Entry;
use crate::{RunError, RunPart};

/// Bytes requested ahead of the reader.
const AHEAD_BYTES: u64 = 1 << 20;

/// Reads blocks of a [`LocalRun`].
#[derive(Debug)]
pub struct LocalFeed {
    run: Arc<Opened>,
    part: RunPart,
    /// The part's blocks that are not read yet; `None` before the first call.
    blocks: Option<Range<u64>>,
    window: Window,
    ahead: Ahead,
}

/// The read-ahead requested so far.
#[derive(Debug, Default)]
struct Ahead {
    /// Number of the first block that is not requested yet.
    next: u64,
    /// Bytes requested and not read yet.
    bytes: u64,
    window: Window,
}

impl LocalFeed {
    pub(super) fn new(run: Arc<Opened>, part: RunPart) -> Self {
        Self { run, part, blocks: None, window: Window::default(), ahead: Ahead::default() }
    }

    /// The blocks that are not read yet. The first block answers for the lower end of the range even if its first key
    /// is larger.
    fn blocks(&mut self) -> Result<Range<u64>, RunError> {
        if let Some(blocks) = &self.blocks {
            return Ok(blocks.clone());
        }
        let blocks = if self.part.has_no_keys() {
            0..0
        } else {
            let first = self.run.index.find(&self.run.source, self.part.low)?;
            first..self.end()?.max(first + 1)
        };
        self.ahead.next = blocks.start;
        self.blocks = Some(blocks.clone());
        Ok(blocks)
    }

    /// Number of the first block that begins at or above the end of the range.
    fn end(&self) -> Result<u64, RunError> {
        let Opened { source, index, manifest, .. } = &*self.run;
        let Some(high) = self.part.high.filter(|&high| high <= manifest.last_key) else { return Ok(index.blocks) };
        let last = index.find(source, high)?;
        Ok(if index.first_key(source, last)? < high { last + 1 } else { last })
    }

    /// The byte ranges of the file to read for a block: its head, and the columns of the part's lanes.
    fn pieces(&self, entry: &Entry) -> Result<[Range<u64>; 2], RunError> {
        let lanes = self.run.header.lanes();
        let wanted = &self.part.lanes;
        if wanted.is_empty() || wanted.end > lanes {
            return Err(RunError::RowLength { expected: lanes, got: wanted.end });
        }
        // The index was sound when the run was opened. It may have changed since: check before memory is taken.
        let end = entry.offset.checked_add(entry.bytes.into()).filter(|&end| end <= self.run.index.at);
        let Some(head) = end.and(block::head_bytes(entry.bytes, entry.records, lanes)) else {
            return Err(self.run.source.malformed("its index has changed since it was opened", self.run.index.at));
        };
        let (head, column) = (head as u64, 8 * u64::from(entry.records));
        let columns = entry.offset + head;
        let (from, to) = (wanted.start as u64 * column, wanted.end as u64 * column);
        Ok([entry.offset..columns, columns + from..columns + to])
    }

    /// Requests the next blocks once half of the read-ahead is used up.
    fn ask_ahead(&mut self, end: u64) -> Result<(), RunError> {
        if self.ahead.bytes > AHEAD_BYTES / 2 {
            return Ok(());
        }
        let run = Arc::clone(&self.run);
        let mut piece = 0..0;
        let ask = |piece: &Range<u64>| {
            if !piece.is_empty() {
                run.source.advise(piece.start, piece.end - piece.start, Advice::WillNeed);
            }
        };
        while self.ahead.next < end && self.ahead.bytes < AHEAD_BYTES {
            let entry = self.ahead.window.entry(&run.source, &run.index, self.ahead.next)?;
            for wanted in self.pieces(&entry)? {
                self.ahead.bytes += wanted.end - wanted.start;
                if wanted.start == piece.end {
                    piece.end = wanted.end;
                } else {
                    ask(&piece);
                    piece = wanted;
                }
            }
            self.ahead.next += 1;
        }
        ask(&piece);
        Ok(())
    }
}

impl BlockFeed for LocalFeed {
    fn next_block(&mut self, raw: &mut Vec<u8>) -> Result<bool, RunError> {
        let blocks = self.blocks()?;
        if blocks.is_empty() {
            return Ok(false);
        }
        let run = Arc::clone(&self.run);
        let entry = self.window.entry(&run.source, &run.index, blocks.start)?;
        let [head, columns] = self.pieces(&entry)?;
        self.ask_ahead(blocks.end)?;
        let (head_bytes, column_bytes) = (head.end - head.start, columns.end - columns.start);
        raw.resize((head_bytes + column_bytes) as usize, 0);
        if head.end == columns.start {
            run.source.read("a block", head.start, raw)?;
        } else {
            let (first, rest) = raw.split_at_mut(head_bytes as usize);
            run.source.read("a block", head.start, first)?;
            run.source.read("a block", columns.start, rest)?;
        }
        self.ahead.bytes = self.ahead.bytes.saturating_sub(head_bytes + column_bytes);
        self.blocks = Some(blocks.start + 1..blocks.end);
        Ok(true)
    }

    fn prepare(&mut self) {
        // Errors show again when the block is read.
        if let Ok(blocks) = self.blocks() {
            let _ = self.ask_ahead(blocks.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalRun;
    use crate::{DiskBudget, KeyOrder, RunHeader, RunId, RunOptions, RunWriter, run_path};

    /// The index finds the blocks that a scan would find, and only their bytes are requested ahead.
    #[test]
    fn ranges_are_found_and_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let (id, disk) = (RunId("r".to_owned()), Arc::new(DiskBudget::new(u64::MAX)));
        let (key_order, moduli) = (KeyOrder::Canonical, vec![97; 3]);
        let subject = String::new();
        let header = RunHeader {
            job_tag: 1,
            definition: 2,
            build: String::new(),
            subject,
            boundary: 1,
            key_order,
            cut: None,
            key_bytes: 8,
            moduli,
            coefficients: 1,
        };
        for (blocks, keys) in [(1, 2_u64), (100, 2), (256, 3), (257, 1), (1500, 2), (700, 150)] {
            let path = run_path(dir.path(), &id).unwrap();
            let options = RunOptions { block_bytes: 32 * keys as usize, ..RunOptions::default() };
            let mut writer = RunWriter::create(dir.path(), &id, &header, options, &disk).unwrap();
            for number in 0..blocks * keys {
                writer.push(10 * number + 5, &[number % 97; 3]).unwrap();
            }
            let (manifest, _) = writer.finish().unwrap().unwrap();
            let run = LocalRun::open(&path, &manifest, &header).unwrap();
            let entries: Vec<Entry> = run.entries().collect::<Result<_, _>>().unwrap();
            assert_eq!(entries.len() as u64, blocks);
            let most = 10 * blocks * keys + 20;
            for low in (0..most).step_by(1 + most as usize / 29) {
                let first = entries.iter().rposition(|entry| entry.first <= u128::from(low)).unwrap_or(0) as u64;
                for high in [None, Some(low + 1), Some(low + 40), Some(most)] {
                    for lanes in [0..3, 0..1, 1..3, 2..3] {
                        let part = RunPart { low: low.into(), high: high.map(u128::from), lanes: lanes.clone() };
                        let mut feed = run.feed(part);
                        feed.prepare();
                        let past = |entry: &&Entry| high.is_none_or(|high| entry.first < u128::from(high));
                        let end = (entries.iter().take_while(past).count() as u64).max(first + 1);
                        let case = format!("{low}..{high:?}, lanes {lanes:?} of {blocks} blocks");
                        assert_eq!(feed.blocks, Some(first..end), "{case}");
                        let bytes = |number| {
                            let entry: &Entry = &entries[number as usize];
                            u64::from(entry.bytes - entry.records * 8 * (3 - lanes.len() as u32))
                        };
                        let asked: u64 = (first..feed.ahead.next).map(bytes).sum();
                        let more = feed.ahead.next < end;
                        assert!(feed.ahead.next <= end && feed.ahead.bytes == asked, "{case}: {:?}", feed.ahead);
                        assert!(!more || (AHEAD_BYTES..AHEAD_BYTES + 4096).contains(&asked), "{case}: {asked}");
                        let mut raw = Vec::new();
                        for number in first..end {
                            assert!(feed.next_block(&mut raw).unwrap(), "{case}");
                            assert_eq!(raw.len() as u64, bytes(number), "{case}");
                            assert!(feed.ahead.next > number && feed.ahead.bytes < AHEAD_BYTES + 4096, "{case}");
                        }
                        assert!(!feed.next_block(&mut raw).unwrap() && feed.ahead.bytes == 0, "{case}");
                    }
                }
            }
            std::fs::remove_file(path).unwrap();
        }
    }
}
