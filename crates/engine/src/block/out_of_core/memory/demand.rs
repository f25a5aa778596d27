//! Memory that a group needs beside its states, in words.

use keima_blocks::out_of_core::{meeting_words, ways_words};
use keima_model::{BlockTables, Family};

use crate::block::rows::tables::family_ends;

/// Words for the ways that lead to the states of these families.
pub(crate) fn arrival_words(tables: &BlockTables, families: &[Family]) -> usize {
    ways_words(families.iter().map(|family| family_ends(tables, family).1 as usize).sum())
}

/// Words for the product with a kept vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptProductWords {
    /// For each lane.
    pub(crate) per_lane: usize,
    /// Beside the lanes.
    pub(crate) beside: usize,
}

/// Words for the product of a group of so many states.
pub(crate) fn kept_product_words(states: usize) -> KeptProductWords {
    let (per_lane, beside) = meeting_words(states);
    KeptProductWords { per_lane, beside }
}
