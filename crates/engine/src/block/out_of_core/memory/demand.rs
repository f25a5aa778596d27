//! Words of memory that a group needs beside its states.

use keima_blocks::out_of_core::ways_words;
use keima_model::{BlockTables, Family};

use crate::block::rows::tables::ends;

/// Words of the ways that lead to the states of these families.
pub(crate) fn arrival_words(tables: &BlockTables, families: &[Family]) -> usize {
    ways_words(families.iter().map(|family| ends(tables, family).1 as usize).sum())
}
