//! The exchange of a count in memory: reading blocks out of the vector before, and writing them to the vector after.
//!
//! ```text
//!   the block of y       x0 x1 x2 ...             states (xi, y): one row of each of many blocks of the vector before,
//!   block after it, y'   x0 x1 x2 ...             and these are next to those, if y and y' stand side by side there
//!
//!   order of reading     x0 ... x255 of y | x0 ... x255 of y' | ... | x256 ... x511 of y | ...
//! ```
//!
//! Neighbouring blocks are read together. A block takes one row from each of many pages, and hardly ever two rows of
//! one cache line. So the cost of a row is one page lookup and one cache line. Lists of entries have the order of
//! blocks, so that neighbouring blocks find the page and line at hand. Blocks of other signatures have lists of other
//! lengths; all lists are cut into the same number of pieces.
//!
//! Rows are prefetched two blocks ahead (`rows::prefetch`).
//!
//! Cost: one row of 8 K bytes for each state and window, read from memory at random. Rows of eight lanes fill a cache
//! line, so blocks of such rows are not read together.

use std::ops::Range;
use std::sync::atomic::Ordering;

use keima_model::{Direction, Family};

use crate::block::error::BlockError;
use crate::block::in_memory::family::stage::{WindowInput, WindowStage};
use crate::block::in_memory::family::sums::FamilySums;
use crate::block::rows::lanes::{LastLane, Row, Weighted};
use crate::block::rows::prefetch::{ask_for, read_on};
use crate::block::rows::sums::WEIGHED_AT_A_TIME;
use crate::block::rows::tables::step_at;

/// Entries of a block that are read before those of the next block.
const ENTRIES_AT_A_TIME: usize = 256;

/// Distance in blocks between a row that is prefetched and the row that is read. The page is still at hand then.
const BLOCKS_AHEAD: usize = 2;

/// Positions of the states of blocks that are read together.
#[derive(Debug, Default)]
pub(crate) struct Positions(Vec<Vec<u64>>);

impl Positions {
    /// The positions of the first block.
    pub(crate) fn one(&mut self) -> &mut Vec<u64> {
        if self.0.is_empty() {
            self.0.push(Vec::new());
        }
        &mut self.0[0]
    }
}

impl<const K: usize> WindowStage<'_, K> {
    /// Reads the states of `blocks` out of the vector before, those of each block to `start(block)`. Adds their sums
    /// of value x ways.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        family: &Family,
        blocks: Range<u32>,
        rows: &mut [Row<K>],
        start: impl Fn(u32) -> usize,
        positions: &mut Positions,
        sums: &mut FamilySums<K>,
    ) -> Result<(), BlockError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(BlockError::Stopped);
        }
        let own = |block: u32| start(block)..start(block) + self.rows_before(block);
        match self.before {
            WindowInput::Vector(before) => {
                self.rows_of_vector(blocks.clone(), before, rows, own, positions)?;
                if self.direction == Direction::Forward && self.window == 0 {
                    for block in blocks.clone() {
                        self.fold(block, before, positions.one(), &mut rows[own(block)])?;
                    }
                }
            }
            WindowInput::Ones => blocks.clone().for_each(|block| rows[own(block)].fill([1; K])),
        }
        for block in blocks {
            self.add_entering(family, block, &rows[own(block)], sums);
        }
        Ok(())
    }

    #[inline(always)]
    fn rows_of_vector(
        &self,
        blocks: Range<u32>,
        before: &[Row<K>],
        rows: &mut [Row<K>],
        own: impl Fn(u32) -> Range<usize>,
        Positions(positions): &mut Positions,
    ) -> Result<(), BlockError> {
        positions.resize_with(positions.len().max(blocks.len()), Vec::new);
        let mut longest = 0;
        for (block, positions) in blocks.clone().zip(&mut *positions) {
            self.column.positions(self.window, self.end(), block, positions);
            if positions.len() != own(block).len() {
                return Err(BlockError::Order);
            }
            longest = longest.max(positions.len());
        }
        let lists = &positions[..blocks.len()];
        if let [list] = lists {
            for (number, row) in rows[own(blocks.start)].iter_mut().enumerate() {
                *row = *read_on(before, list, number);
            }
            return Ok(());
        }
        let pieces = longest.div_ceil(ENTRIES_AT_A_TIME);
        // A piece of a block's list. After the last block come the next pieces of the first blocks.
        let range = |number: usize, piece: usize| {
            let (number, piece) = (number % lists.len(), piece + number / lists.len());
            let len = lists[number].len();
            len * piece.min(pieces) / pieces..len * (piece + 1).min(pieces) / pieces
        };
        for piece in 0..pieces {
            for (number, (block, list)) in blocks.clone().zip(lists).enumerate() {
                let later = number + BLOCKS_AHEAD;
                let ahead = &lists[later % lists.len()][range(later, piece)];
                let range = range(number, piece);
                let rows = &mut rows[own(block)][range.clone()];
                let (asking, others) = rows.split_at_mut(ahead.len().min(rows.len()));
                let (first, last) = list[range].split_at(asking.len());
                for ((row, &position), &later) in asking.iter_mut().zip(first).zip(ahead) {
                    ask_for(before, later);
                    *row = before[position as usize];
                }
                for (row, &position) in others.iter_mut().zip(last) {
                    *row = before[position as usize];
                }
            }
        }
        Ok(())
    }

    /// Where the column is folded: adds the values of the images to the states at its start.
    #[inline(always)]
    fn fold(
        &self,
        block: u32,
        before: &[Row<K>],
        positions: &mut Vec<u64>,
        rows: &mut [Row<K>],
    ) -> Result<(), BlockError> {
        let Some(tied) = self.column.images(block, positions) else { return Ok(()) };
        if positions.len() != rows.len() || tied.len() != rows.len() {
            return Err(BlockError::Order);
        }
        let moduli = self.fused.moduli;
        for (number, (row, &tied)) in rows.iter_mut().zip(tied).enumerate() {
            moduli.put(row, read_on(before, positions, number));
            if tied {
                moduli.halve(row);
            }
        }
        Ok(())
    }

    /// Adds a block's rows, on entering the window, to the family's sums.
    #[inline(always)]
    fn add_entering(&self, family: &Family, block: u32, rows: &[Row<K>], sums: &mut FamilySums<K>) {
        let tables = self.fused.tables;
        let ways: &[u32] = match (self.direction, self.arrivals) {
            (Direction::Forward, _) => &tables.signatures[tables.signature_of[block as usize] as usize].descendants,
            (Direction::Transposed, Some(arrivals)) => {
                let step = step_at(tables, self.end());
                &arrivals[family.start[step] as usize + tables.base[step][block as usize] as usize..]
            }
            (Direction::Transposed, None) => &[],
        };
        let mut read = LastLane::default();
        for (rows, ways) in rows.chunks(WEIGHED_AT_A_TIME).zip(ways.chunks(WEIGHED_AT_A_TIME)) {
            let mut sum = Weighted::ZERO;
            for (row, &ways) in rows.iter().zip(ways) {
                sum.add(ways, row);
                read.add(1, row);
            }
            self.accumulate(&mut sums.expected, &sum);
        }
        sums.read = (sums.read + read.value()) % u128::from(self.last_modulus());
        let fingerprint = self.fingerprint(self.end(), block, rows, &mut sums.sample);
        sums.read_fingerprint = (sums.read_fingerprint + fingerprint) % u128::from(self.last_modulus());
    }

    /// Writes the block's rows to the vector after, where `own` begins, and adds them to the family's sums.
    #[inline(always)]
    pub(crate) fn write_block(&self, block: u32, rows: &[Row<K>], own: &mut [Row<K>], sums: &mut FamilySums<K>) {
        let tables = self.fused.tables;
        let step = step_at(tables, self.direction.leaves());
        let entries = tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize;
        let rows = &rows[..entries];
        own[..entries].copy_from_slice(rows);
        let mut sum = Weighted::ZERO;
        for row in rows {
            sum.add(1, row);
        }
        self.accumulate(&mut sums.written, &sum);
        let fingerprint = self.fingerprint(self.direction.leaves(), block, rows, &mut sums.sample);
        sums.written_fingerprint = (sums.written_fingerprint + fingerprint) % u128::from(self.last_modulus());
        if self.direction == Direction::Transposed && self.window == 0 {
            let mut images = LastLane::default();
            for (row, &tied) in rows.iter().zip(self.column.tied(block).unwrap_or_default()) {
                images.add(u64::from(!tied), row);
            }
            sums.images = (sums.images + images.value()) % u128::from(self.last_modulus());
        }
    }
}
