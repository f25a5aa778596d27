//! Memory that a group needs beside its states, in words.

use keima_blocks::out_of_core::ways_words;
use keima_model::{BlockTables, Family};

use crate::block::rows::tables::family_ends;

/// Words for the ways that lead to the states of these families.
pub(crate) fn arrival_words(tables: &BlockTables, families: &[Family]) -> usize {
    ways_words(families.iter().map(|family| family_ends(tables, family).1 as usize).sum())
}
