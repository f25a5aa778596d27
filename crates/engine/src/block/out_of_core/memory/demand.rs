//! Words of memory that a group needs beside its states.

use keima_model::{BlockTables, Family};

use crate::block::rows::tables::family_ends;

/// Words that [`arrivals`] of families take.
pub(crate) fn arrival_words(tables: &BlockTables, families: &[Family]) -> usize {
    families.iter().map(|family| family_ends(tables, family).1 as usize).sum::<usize>().div_ceil(2)
}

/// Words that the product with a kept vector takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptProductWords {
    /// For each lane.
    pub(crate) per_lane: usize,
    /// Whatever the lanes.
    pub(crate) beside: usize,
}

/// Words that a meeting of so many states takes, for each lane and beside: a sample of them, one in 64, with a place for
/// each, in lists that may have twice the room; and a bit for each state.
pub(crate) fn kept_product_words(states: usize) -> KeptProductWords {
    KeptProductWords { per_lane: states / 32, beside: states / 64 * 3 }
}
