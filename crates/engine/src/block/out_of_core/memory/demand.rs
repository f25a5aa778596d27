//! Words of memory that a group needs beside its states.

use keima_blocks::out_of_core::{meeting_words, ways_words};
use keima_model::{BlockTables, Family};

use crate::block::rows::tables::family_ends;

/// Words of the ways that lead to the states of these families.
pub(crate) fn arrival_words(tables: &BlockTables, families: &[Family]) -> usize {
    ways_words(families.iter().map(|family| family_ends(tables, family).1 as usize).sum())
}

/// Words that the product with a kept vector takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptProductWords {
    /// For each lane.
    pub(crate) per_lane: usize,
    /// Whatever the lanes.
    pub(crate) beside: usize,
}

/// Words that the product takes for a group of so many states.
pub(crate) fn kept_product_words(states: usize) -> KeptProductWords {
    let (per_lane, beside) = meeting_words(states);
    KeptProductWords { per_lane, beside }
}
