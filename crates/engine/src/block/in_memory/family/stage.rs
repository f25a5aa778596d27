//! A window at work: what all families have in common, and where blocks stand in the vectors before and after.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use keima_model::{BlockColumn, Direction, End, Family, MOST_ENTRIES};

use crate::block::in_memory::family::fused::Fused;
use crate::block::rows::lanes::{Row, Weighted};
use crate::block::rows::tables::step_at;

/// Blocks that are read together, at most.
const fn together(lanes: usize) -> u32 {
    if lanes < 8 { 16 } else { 1 }
}

/// A stage: all that its families have in common.
pub(crate) struct Place<'a, const K: usize> {
    pub(crate) column: &'a dyn BlockColumn,
    pub(crate) window: usize,
    pub(crate) direction: Direction,
    pub(crate) fused: Fused<'a, K>,
    pub(crate) before: Source<'a, K>,
    /// Of the window, for the mass balance of a transposed vector.
    pub(crate) arrivals: Option<&'a [u32]>,
    /// See [`crate::block::in_memory::family::by_pass`].
    pub(crate) by_pass_bytes: usize,
    /// Whether the column is folded at its start.
    pub(crate) folded: bool,
    /// Windows that the vector has gone through.
    pub(crate) turn: u64,
    /// Key of the fingerprints.
    pub(crate) salt: u64,
    pub(crate) stop: &'a AtomicBool,
}

/// What goes into a window.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a, const K: usize> {
    /// A vector, by way of the exchange.
    Vector(&'a [Row<K>]),
    /// 1 for every state.
    Ones,
}

impl<const K: usize> Source<'_, K> {
    #[inline(always)]
    pub(crate) fn row(&self, position: u64) -> Row<K> {
        match self {
            Self::Vector(before) => before[position as usize],
            Self::Ones => [1; K],
        }
    }
}

impl<const K: usize> Place<'_, K> {
    /// The end of the window at which the vector before is read.
    pub(crate) fn end(&self) -> End {
        match self.direction {
            Direction::Forward => End::First,
            Direction::Backward => End::Last,
        }
    }

    /// Rows of a block that are read.
    #[inline(always)]
    pub(crate) fn rows_before(&self, block: u32) -> usize {
        let tables = self.fused.tables;
        let signature = &tables.signatures[tables.signature_of[block as usize] as usize];
        signature.entries[step_at(tables, self.end())] as usize
    }

    /// The block of some that is done as number `number`.
    #[inline(always)]
    pub(crate) fn nth(&self, blocks: &Range<u32>, number: u32) -> u32 {
        match self.direction {
            Direction::Forward => blocks.end - 1 - number,
            Direction::Backward => blocks.start + number,
        }
    }

    /// Cuts off those of some blocks that are done first, as many as are read together: no more rows than the largest
    /// block may have.
    pub(crate) fn next_together(&self, rest: &mut Range<u32>) -> Range<u32> {
        self.next_of_rows(rest, MOST_ENTRIES)
    }

    /// The same with up to `most_rows` rows, or one block.
    pub(crate) fn next_of_rows(&self, rest: &mut Range<u32>, most_rows: usize) -> Range<u32> {
        let all = together(K).min(rest.len() as u32);
        let mut rows = 0;
        let fits = |number: &u32| {
            rows += self.rows_before(self.nth(rest, *number));
            *number == 0 || rows <= most_rows
        };
        let count = (0..all).take_while(fits).count() as u32;
        match self.direction {
            Direction::Forward => {
                rest.end -= count;
                rest.end..rest.end + count
            }
            Direction::Backward => {
                rest.start += count;
                rest.start - count..rest.start
            }
        }
    }

    /// Where the rows of one of some blocks lie that were read together, one behind the other, the one that is done
    /// first behind all others: what follows it is its own.
    #[inline(always)]
    pub(crate) fn start_of(&self, blocks: &Range<u32>, block: u32) -> usize {
        let base = &self.fused.tables.base[step_at(self.fused.tables, self.end())];
        let start = |block: u32| (base[block as usize] - base[blocks.start as usize]) as usize;
        match self.direction {
            Direction::Forward => start(block),
            Direction::Backward => {
                let last = blocks.end - 1;
                start(last) + self.rows_before(last) - start(block) - self.rows_before(block)
            }
        }
    }

    /// Where blocks lie in the vector after, from the start of their family's rows.
    pub(crate) fn rows_of(&self, family: &Family, blocks: &Range<u32>) -> Range<usize> {
        let step = step_at(self.fused.tables, self.direction.leaves());
        let base = &self.fused.tables.base[step];
        let end =
            if blocks.end == family.blocks.end { family.size[step] } else { u64::from(base[blocks.end as usize]) };
        base[blocks.start as usize] as usize..end as usize
    }

    #[inline(always)]
    pub(crate) fn accumulate(&self, total: &mut [u128; K], sum: &Weighted<K>) {
        for ((total, sum), &modulus) in total.iter_mut().zip(sum.values()).zip(self.fused.moduli.values()) {
            *total = (*total + sum) % u128::from(modulus);
        }
    }

    pub(crate) fn last_modulus(&self) -> u64 {
        self.fused.moduli.values()[K - 1]
    }
}
