//! Writes one run from records in key order. Each block is written as soon as it is full.
//!
//! Memory: three copies of a block (keys, rows, encoded bytes), and 36 bytes of index per block written.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use keima_residue::{add_mod, reduce_wide};

use super::publish::Pending;
use crate::format::block;
use crate::format::encode::Encoder;
use crate::format::footer::{self, Entry};
use crate::format::header::{self, Shape};
use crate::{Batch, DiskBudget, RunError, RunHeader, RunId, RunKey, RunManifest, Split};

/// How a run is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Target size of a decoded block in bytes, at most 4 MiB. A block holds at least one record.
    pub block_bytes: usize,
    /// Whether to compress the keys of a block where that pays; on by default. A reader takes both.
    pub compress_keys: bool,
    /// Whether a gap between keys begins a new block. Blocks of consecutive keys have no key section.
    pub consecutive: bool,
    /// Whether the run must be on stable storage before it is published. Then [`RunWriter::finish`] leaves `id.run.tmp`
    /// for [`crate::publish_durably`].
    pub durable: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { block_bytes: 64 << 10, compress_keys: true, consecutive: false, durable: false }
    }
}

/// A run being written. Dropped before [`RunWriter::finish`], it leaves no file and no bytes charged.
pub struct RunWriter<K: RunKey> {
    pending: Pending,
    id: RunId,
    shape: Shape,
    consecutive: bool,
    encoder: Encoder,
    /// The block being filled, and its capacity in records.
    block: Batch<K>,
    block_records: usize,
    raw: Vec<u8>,
    index: Vec<u8>,
    blocks: u64,
    offset: u64,
    records: u64,
    first_key: K,
    last_key: Option<K>,
    sums: Vec<u64>,
    block_sums: Vec<u128>,
}

impl<K: RunKey> fmt::Debug for RunWriter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunWriter").field("id", &self.id).field("records", &self.records).finish_non_exhaustive()
    }
}

impl<K: RunKey> RunWriter<K> {
    /// Creates `root/id.run.tmp` and its folders, and writes the header. Charges all bytes to `disk` before writing
    /// them.
    pub fn create(
        root: &Path,
        id: &RunId,
        header: &RunHeader,
        options: RunOptions,
        disk: &Arc<DiskBudget>,
    ) -> Result<Self, RunError> {
        let shape = Shape::of::<K>(header, id, &id.0)?;
        let (bytes, _) = header::encode(header, id)?;
        let lanes = shape.lanes();
        let block_records = block::records_of(options.block_bytes, K::BYTES, lanes);
        let encoder = Encoder::new(options.compress_keys);
        let mut pending = Pending::create(root, id, options.durable, disk)?;
        pending.write(&bytes)?;
        Ok(Self {
            pending,
            id: id.clone(),
            shape,
            consecutive: options.consecutive,
            encoder,
            block: Batch { keys: Vec::with_capacity(block_records), rows: Vec::with_capacity(block_records * lanes) },
            block_records,
            raw: Vec::new(),
            index: Vec::new(),
            blocks: 0,
            offset: bytes.len() as u64,
            records: 0,
            first_key: K::default(),
            last_key: None,
            sums: vec![0; lanes],
            block_sums: vec![0; lanes],
        })
    }

    /// Adds a record. Keys must ascend strictly. `row` has one value per lane, below its modulus; that is checked when
    /// the block is written. A key out of order is refused, and changes nothing.
    #[inline]
    pub fn push(&mut self, key: K, row: &[u64]) -> Result<(), RunError> {
        if row.len() != self.shape.lanes() {
            return Err(RunError::RowLength { expected: self.shape.lanes(), got: row.len() });
        }
        self.check_order(key)?;
        if self.block.len() == self.block_records || self.leaves_gap(key) {
            self.write_block(Some(key))?;
        }
        self.block.keys.push(key);
        self.block.rows.extend_from_slice(row);
        self.last_key = Some(key);
        Ok(())
    }

    /// Adds all records of `batch`, or, where one is out of order, none.
    pub fn push_batch(&mut self, batch: &Batch<K>) -> Result<(), RunError> {
        let lanes = self.shape.lanes();
        if batch.rows.len() != batch.len() * lanes {
            return Err(RunError::RowLength { expected: batch.len() * lanes, got: batch.rows.len() });
        }
        let (Some(&first), Some(&last)) = (batch.keys.first(), batch.keys.last()) else { return Ok(()) };
        self.check_order(first)?;
        if let Some(pair) = batch.keys.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(RunError::out_of_order(pair[0].widen(), pair[1].widen()));
        }
        let (mut keys, mut rows) = (batch.keys.as_slice(), batch.rows.as_slice());
        while let Some(&next) = keys.first() {
            if self.block.len() == self.block_records || self.leaves_gap(next) {
                self.write_block(Some(next))?;
            }
            let mut take = (self.block_records - self.block.len()).min(keys.len());
            if self.consecutive && !block::is_consecutive(keys) {
                let gap = keys.windows(2).position(|pair| pair[0].widen().checked_add(1) != Some(pair[1].widen()));
                take = gap.map_or(take, |at| take.min(at + 1));
            }
            let (some, rest) = keys.split_at(take);
            self.block.keys.extend_from_slice(some);
            keys = rest;
            let (some, rest) = rows.split_at(take * lanes);
            self.block.rows.extend_from_slice(some);
            rows = rest;
        }
        self.last_key = Some(last);
        Ok(())
    }

    /// Whether `key` must begin a new block because of a gap.
    fn leaves_gap(&self, key: K) -> bool {
        self.consecutive && self.block.keys.last().is_some_and(|last| last.widen().checked_add(1) != Some(key.widen()))
    }

    fn check_order(&self, key: K) -> Result<(), RunError> {
        match self.last_key {
            Some(previous) if key <= previous => Err(RunError::out_of_order(previous.widen(), key.widen())),
            _ => Ok(()),
        }
    }

    /// Writes the filled block. `next` is the first key of the block after it.
    fn write_block(&mut self, next: Option<K>) -> Result<(), RunError> {
        let Some(&first) = self.block.keys.first() else { return Ok(()) };
        if self.blocks == 0 {
            self.first_key = first;
        }
        self.block_sums.fill(0);
        let encoded =
            self.encoder.encode(&self.shape, &self.block, self.blocks == 0, next, &mut self.raw, &mut self.block_sums);
        let crc = encoded.map_err(|bad| {
            self.pending.fail();
            RunError::NotReduced { lane: bad.lane, value: bad.value, modulus: bad.modulus }
        })?;
        self.pending.write(&self.raw)?;
        for ((sum, &more), &modulus) in self.sums.iter_mut().zip(&self.block_sums).zip(&self.shape.moduli) {
            *sum = add_mod(*sum, reduce_wide(more, modulus), modulus);
        }
        let (bytes, records) = (self.raw.len() as u32, self.block.len() as u32);
        Entry { first: first.widen(), offset: self.offset, bytes, records, crc }.write(&mut self.index);
        self.blocks += 1;
        self.offset += u64::from(bytes);
        self.records += u64::from(records);
        self.block.clear();
        Ok(())
    }

    /// Writes the rest and publishes the run: `id.run.tmp` becomes `id.run`. With [`RunOptions::durable`],
    /// [`crate::publish_durably`] does that later. A run without records is not written: `None`.
    ///
    /// Returns the manifest, and at most 1,024 splits at block boundaries into pieces of about equal weight. The last
    /// split lies above the last key, or is `u128::MAX`. The file stays charged to the disk budget: whoever removes it
    /// refunds `manifest.bytes`.
    pub fn finish(mut self) -> Result<Option<(RunManifest, Vec<Split>)>, RunError> {
        let Some(last_key) = self.last_key else { return Ok(None) };
        self.write_block(None)?;
        let (first_key, last_key) = (self.first_key.widen(), last_key.widen());
        let tail = footer::encode(self.records, first_key, last_key, &self.sums, self.offset, self.blocks);
        let (tail, checksum) = footer::close(self.shape.seed, &self.index, tail);
        self.pending.write(&self.index)?;
        self.pending.write(&tail)?;
        self.pending.complete()?;
        let bytes = self.offset + (self.index.len() + tail.len()) as u64;
        let splits = footer::splits(&self.index, self.records, last_key);
        let (records, sums) = (self.records, self.sums);
        Ok(Some((RunManifest { id: self.id, bytes, records, first_key, last_key, sums, checksum }, splits)))
    }
}
