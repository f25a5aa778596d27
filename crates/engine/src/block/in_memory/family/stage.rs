//! A window at work: what all families have in common, and where blocks stand in the vectors before and after.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use keima_model::{BlockColumn, Direction, End, Family, MOST_ENTRIES};

use crate::block::in_memory::family::fused::Fused;
use crate::block::rows::lanes::{Row, Weighted};
use crate::block::rows::tables::step_at;

/// Most blocks that are read together.
const fn together(lanes: usize) -> u32 {
    if lanes < 8 { 16 } else { 1 }
}

/// A window and a vector on its way through it: what all families have in common.
pub(crate) struct WindowStage<'a, const K: usize> {
    pub(crate) column: &'a dyn BlockColumn,
    pub(crate) window: usize,
    pub(crate) direction: Direction,
    pub(crate) fused: Fused<'a, K>,
    pub(crate) before: WindowInput<'a, K>,
    /// Ways that lead to the window's states, for the mass balance of a transposed vector.
    pub(crate) arrivals: Option<&'a [u32]>,
    /// Most bytes of a family's buffers for going pass by pass.
    pub(crate) by_pass_bytes: usize,
    /// Whether the column is folded at its start.
    pub(crate) folded: bool,
    /// Windows that the vector has passed.
    pub(crate) windows_done: u64,
    /// Key of the fingerprints.
    pub(crate) salt: u64,
    pub(crate) stop: &'a AtomicBool,
}

/// The values that enter a window.
#[derive(Clone, Copy)]
pub(crate) enum WindowInput<'a, const K: usize> {
    /// A vector, read by the exchange.
    Vector(&'a [Row<K>]),
    /// 1 for every state.
    Ones,
}

impl<const K: usize> WindowInput<'_, K> {
    #[inline(always)]
    pub(crate) fn row(&self, position: u64) -> Row<K> {
        match self {
            Self::Vector(before) => before[position as usize],
            Self::Ones => [1; K],
        }
    }
}

impl<const K: usize> WindowStage<'_, K> {
    /// The end of the window at which the vector before is read.
    pub(crate) fn end(&self) -> End {
        match self.direction {
            Direction::Forward => End::First,
            Direction::Transposed => End::Last,
        }
    }

    /// Rows of a block on entering.
    #[inline(always)]
    pub(crate) fn rows_before(&self, block: u32) -> usize {
        let tables = self.fused.tables;
        let signature = &tables.signatures[tables.signature_of[block as usize] as usize];
        signature.entries[step_at(tables, self.end())] as usize
    }

    /// Number `number` of `blocks` in the order of work.
    #[inline(always)]
    pub(crate) fn nth(&self, blocks: &Range<u32>, number: u32) -> u32 {
        match self.direction {
            Direction::Forward => blocks.end - 1 - number,
            Direction::Transposed => blocks.start + number,
        }
    }

    /// Cuts off the next blocks to read together: no more rows than the largest block may have.
    pub(crate) fn next_together(&self, rest: &mut Range<u32>) -> Range<u32> {
        self.next_of_rows(rest, MOST_ENTRIES)
    }

    /// Cuts off the next blocks to read together: at most `most_rows` rows, or one block.
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
            Direction::Transposed => {
                rest.start += count;
                rest.start - count..rest.start
            }
        }
    }

    /// Start of `block`'s rows in the shared read buffer. The block that is done first stands last: the rows after it
    /// are free for its passes.
    #[inline(always)]
    pub(crate) fn start_of(&self, blocks: &Range<u32>, block: u32) -> usize {
        let base = &self.fused.tables.base[step_at(self.fused.tables, self.end())];
        let start = |block: u32| (base[block as usize] - base[blocks.start as usize]) as usize;
        match self.direction {
            Direction::Forward => start(block),
            Direction::Transposed => {
                let last = blocks.end - 1;
                start(last) + self.rows_before(last) - start(block) - self.rows_before(block)
            }
        }
    }

    /// Place of `blocks` in the vector after, from the start of their family's rows.
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
