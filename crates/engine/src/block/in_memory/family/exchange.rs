//! The exchange of a count in memory: rows of blocks are read out of the vector before, those of neighbours together.
//!
//! ```text
//!   the block of y       x0 x1 x2 ...             states (xi, y): one row of each of many blocks of the vector before,
//!   block after it, y'   x0 x1 x2 ...             and these are next to those, if y and y' stand side by side there
//!
//!   order of reading     x0 ... x255 of y | x0 ... x255 of y' | ... | x256 ... x511 of y | ...
//! ```
//!
//! A row is taken from each page that is met, and hardly ever a cache line's next one: what a row costs is looking up its
//! page, and a line. Lists of entries are ordered as blocks are, so that neighbours find page and line at hand. Blocks
//! of other signatures have other lists, of another length; a list is cut into as many pieces as the others.
//!
//! Of the block after the next one the same piece is asked for beforehand ([`crate::block::rows::prefetch`]): reading takes three quarters
//! of the time that it took without (13x13 in memory, both ways).
//!
//! Cost: 3 to 10 ns a state and window, by the machine (Go, K = 1): a quarter to a third of a window's time. To read
//! together saves 3 to 9 % of that time (12x12 to 14x14, K = 1), less with four lanes; rows of eight are whole lines, and
//! lose by it.

use std::ops::Range;
use std::sync::atomic::Ordering;

use keima_model::{Direction, Family};

use crate::block::error::BlockError;
use crate::block::in_memory::family::stage::{Place, Source};
use crate::block::in_memory::family::sums::Sums;
use crate::block::rows::lanes::{LastLane, Row, Weighted};
use crate::block::rows::prefetch::{ask_for, read_on};
use crate::block::rows::sums::WEIGHED_AT_A_TIME;
use crate::block::rows::tables::step_at;

/// Entries of a block that are read before those of the next one.
const PIECE: usize = 256;

/// Rows are asked for so many blocks before they are read: with the page of the row before them at hand.
const BLOCKS_AHEAD: usize = 2;

/// Positions of the states of blocks that are read together.
#[derive(Debug, Default)]
pub(crate) struct Positions(Vec<Vec<u64>>);

impl Positions {
    /// Of one block.
    pub(crate) fn one(&mut self) -> &mut Vec<u64> {
        if self.0.is_empty() {
            self.0.push(Vec::new());
        }
        &mut self.0[0]
    }
}

impl<const K: usize> Place<'_, K> {
    /// Reads the states of some blocks out of the vector before, those of each to `start(block)`, and takes up their
    /// sums of value x ways.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        family: &Family,
        blocks: Range<u32>,
        rows: &mut [Row<K>],
        start: impl Fn(u32) -> usize,
        positions: &mut Positions,
        sums: &mut Sums<K>,
    ) -> Result<(), BlockError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(BlockError::Stopped);
        }
        let own = |block: u32| start(block)..start(block) + self.rows_before(block);
        match self.before {
            Source::Vector(before) => {
                self.rows_of_vector(blocks.clone(), before, rows, own, positions)?;
                if self.direction == Direction::Forward && self.window == 0 {
                    for block in blocks.clone() {
                        self.fold(block, before, positions.one(), &mut rows[own(block)])?;
                    }
                }
            }
            Source::Ones => blocks.clone().for_each(|block| rows[own(block)].fill([1; K])),
        }
        for block in blocks {
            self.take_up(family, block, &rows[own(block)], sums);
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
        let pieces = longest.div_ceil(PIECE);
        // A piece of a block's list; those of the first blocks' next pieces follow those of the last blocks.
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

    /// Where the column is folded: adds the values of the images to those of the states at its start.
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

    /// What goes into a block.
    #[inline(always)]
    fn take_up(&self, family: &Family, block: u32, rows: &[Row<K>], sums: &mut Sums<K>) {
        let tables = self.fused.tables;
        let ways: &[u32] = match (self.direction, self.arrivals) {
            (Direction::Forward, _) => &tables.signatures[tables.signature_of[block as usize] as usize].descendants,
            (Direction::Backward, Some(arrivals)) => {
                let step = step_at(tables, self.end());
                &arrivals[family.start[step] as usize + tables.base[step][block as usize] as usize..]
            }
            (Direction::Backward, None) => &[],
        };
        let mut read = LastLane::default();
        for (rows, ways) in rows.chunks(WEIGHED_AT_A_TIME).zip(ways.chunks(WEIGHED_AT_A_TIME)) {
            let mut sum = Weighted::ZERO;
            for (row, &ways) in rows.iter().zip(ways) {
                sum.add(ways, row);
                read.add(1, row);
            }
            self.accumulate(&mut sums.taken, &sum);
        }
        sums.read = (sums.read + read.value()) % u128::from(self.last_modulus());
        let print = self.print(self.end(), block, rows, &mut sums.sampled);
        sums.read_print = (sums.read_print + print) % u128::from(self.last_modulus());
    }

    /// Puts the block's rows where they belong in the vector after, which is where `own` begins.
    #[inline(always)]
    pub(crate) fn give(&self, block: u32, rows: &[Row<K>], own: &mut [Row<K>], sums: &mut Sums<K>) {
        let tables = self.fused.tables;
        let step = step_at(tables, self.direction.leaves());
        let entries = tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize;
        let rows = &rows[..entries];
        own[..entries].copy_from_slice(rows);
        let mut sum = Weighted::ZERO;
        for row in rows {
            sum.add(1, row);
        }
        self.accumulate(&mut sums.given, &sum);
        let print = self.print(self.direction.leaves(), block, rows, &mut sums.sampled);
        sums.given_print = (sums.given_print + print) % u128::from(self.last_modulus());
        if self.direction == Direction::Backward && self.window == 0 {
            let mut imaged = LastLane::default();
            for (row, &tied) in rows.iter().zip(self.column.tied(block).unwrap_or_default()) {
                imaged.add(u64::from(!tied), row);
            }
            sums.imaged = (sums.imaged + imaged.value()) % u128::from(self.last_modulus());
        }
    }
}
