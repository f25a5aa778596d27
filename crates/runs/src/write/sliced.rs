//! Writes one run of consecutive keys a few lanes at a time, each column at its place in the file.
//!
//! ```text
//!   file        | header | head | lane 0 | lane 1 | lane 2 | lane 3 | head | lane 0 | ...  | index | footer | trailer |
//!   lanes 0, 1                   ======== ========                          ======== ...
//!   lanes 2, 3                                     ======== ========                 ...
//!   at the end            ======                                     ======                 ======= ======== =========
//! ```
//!
//! All keys are known beforehand, as sections of consecutive keys. So the length of every block is known. If there
//! are gaps between sections, the file is byte for byte the one that [`crate::RunWriter`] would write of the same
//! records.
//!
//! Cost: each number is copied once. Memory: the columns of one block for the current lanes; per block of the run 48
//! bytes, 4 for each lane, and 36 at the end.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use keima_residue::reduce_wide;

use super::publish::Pending;
use crate::format::block;
use crate::format::encode::{self, ConsecutiveKeys};
use crate::format::footer::{self, ENTRY_BYTES, Entry};
use crate::format::header::{self, Shape};
use crate::{DiskBudget, RunError, RunHeader, RunId, RunManifest, RunOptions};

/// The keys `first .. first + count`; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// First key.
    pub first: u64,
    /// Number of keys.
    pub count: u64,
}

/// A run whose lanes are written one after the other. Dropped before [`SlicedWriter::finish`], it leaves no file and no
/// bytes charged.
#[derive(Debug)]
pub struct SlicedWriter {
    pending: Pending,
    id: RunId,
    shape: Shape,
    /// Index entries; their checksums are filled in at the end.
    blocks: Vec<Entry>,
    last_key: u64,
    /// Checksums of all columns, block by block.
    checksums: Vec<[u8; 4]>,
    /// Sum of each lane; `None` until it is written.
    sums: Vec<Option<u64>>,
}

impl SlicedWriter {
    /// Creates `root/id.run.tmp` and its folders. Charges all bytes of the run to `disk`.
    ///
    /// Sections ascend, and each begins a new block. The options for keys are ignored: keys are consecutive.
    pub fn create(
        root: &Path,
        id: &RunId,
        header: &RunHeader,
        options: RunOptions,
        disk: &Arc<DiskBudget>,
        sections: impl IntoIterator<Item = Section>,
    ) -> Result<Self, RunError> {
        let shape = Shape::of::<u64>(header, id, &id.0)?;
        let (bytes, _) = header::encode(header, id)?;
        let lanes = shape.lanes();
        let block_records = block::records_of(options.block_bytes, 8, lanes) as u64;
        let (mut blocks, mut offset, mut last_key) = (Vec::new(), bytes.len() as u64, None);
        for Section { first, count } in sections {
            let Some(last) = count.checked_sub(1).and_then(|more| first.checked_add(more)) else {
                return Err(RunError::out_of_order(first.into(), first.into()));
            };
            if let Some(before) = last_key.filter(|&before| before >= first) {
                return Err(RunError::out_of_order(u128::from(before), first.into()));
            }
            last_key = Some(last);
            for start in (0..count).step_by(block_records as usize) {
                let records = block_records.min(count - start);
                let bytes = (block::dense_head_bytes(lanes) as u64 + 8 * records * lanes as u64) as u32;
                let first = u128::from(first + start);
                blocks.push(Entry { first, offset, bytes, records: records as u32, crc: 0 });
                offset += u64::from(bytes);
            }
        }
        let Some(last_key) = last_key else { return Err(RunError::out_of_order(0, 0)) };
        let mut pending = Pending::create(root, id, options.durable, disk)?;
        pending.write(&bytes)?;
        let end = (blocks.len() * ENTRY_BYTES + footer::footer_bytes(lanes)) as u64;
        pending.reserve(offset - bytes.len() as u64 + end)?;
        let checksums = vec![[0; 4]; blocks.len() * lanes];
        let (id, sums) = (id.clone(), vec![None; lanes]);
        Ok(Self { pending, id, shape, blocks, last_key, checksums, sums })
    }

    /// Writes `lanes` of all records. `rows(n, out)` appends these lanes of the next `n` records to `out`.
    pub fn write(&mut self, lanes: Range<usize>, mut rows: impl FnMut(usize, &mut Vec<u64>)) -> Result<(), RunError> {
        let all = self.shape.lanes();
        let head_bytes = block::dense_head_bytes(all) as u64;
        let Some(moduli) = self.shape.moduli.get(lanes.clone()).filter(|moduli| !moduli.is_empty()) else {
            return Err(RunError::RowLength { expected: all, got: lanes.end });
        };
        let (mut words, mut columns, mut sums) = (Vec::new(), Vec::new(), vec![0; moduli.len()]);
        for (number, entry) in self.blocks.iter().enumerate() {
            words.clear();
            rows(entry.records as usize, &mut words);
            let expected = entry.records as usize * moduli.len();
            if words.len() != expected {
                self.pending.fail();
                return Err(RunError::RowLength { expected, got: words.len() });
            }
            columns.resize(words.len() * 8, 0);
            if let Err(bad) = crate::format::lanes::to_columns(&words, moduli, &mut columns, &mut sums) {
                self.pending.fail();
                let lane = lanes.start + bad.lane;
                return Err(RunError::NotReduced { lane, value: bad.value, modulus: bad.modulus });
            }
            let column_bytes = u64::from(entry.records) * 8;
            let own = &mut self.checksums[number * all..][lanes.clone()];
            block::checksums(&self.shape, &columns, entry.records as usize, own);
            self.pending.write_at(entry.offset + head_bytes + lanes.start as u64 * column_bytes, &columns)?;
        }
        for ((sum, total), &modulus) in self.sums[lanes].iter_mut().zip(sums).zip(moduli) {
            *sum = Some(reduce_wide(total, modulus));
        }
        Ok(())
    }

    /// Completes the run as [`crate::RunWriter::finish`] does. Fails unless all lanes are written.
    pub fn finish(mut self) -> Result<RunManifest, RunError> {
        let Some(sums) = self.sums.iter().copied().collect::<Option<Vec<u64>>>() else {
            let (expected, got) = (self.sums.len(), self.sums.iter().flatten().count());
            return Err(RunError::RowLength { expected, got });
        };
        let (lanes, mut head, mut index) = (self.shape.lanes(), Vec::new(), Vec::new());
        let next = self.blocks.iter().skip(1).map(|entry| Some(entry.first)).chain([None]);
        for (number, (entry, next)) in self.blocks.iter().zip(next).enumerate() {
            let checksums = &self.checksums[number * lanes..][..lanes];
            let keys = ConsecutiveKeys { is_first: number == 0, first: entry.first, records: entry.records, next };
            let crc = encode::dense_head(&self.shape, &keys, checksums, &mut head);
            self.pending.write_at(entry.offset, &head)?;
            Entry { crc, ..*entry }.write(&mut index);
        }
        let records = self.blocks.iter().map(|entry| u64::from(entry.records)).sum();
        let (first_key, last_key) = (self.blocks.first().map_or(0, |entry| entry.first), u128::from(self.last_key));
        let end = self.blocks.last().map_or(0, |entry| entry.offset + u64::from(entry.bytes));
        let tail = footer::encode(records, first_key, last_key, &sums, end, self.blocks.len() as u64);
        let (tail, checksum) = footer::close(self.shape.seed, &index, tail);
        self.pending.write_at(end, &index)?;
        self.pending.write_at(end + index.len() as u64, &tail)?;
        self.pending.complete()?;
        let bytes = end + (index.len() + tail.len()) as u64;
        Ok(RunManifest { id: self.id, bytes, records, first_key, last_key, sums, checksum })
    }
}
