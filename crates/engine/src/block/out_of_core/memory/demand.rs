//! Words of memory that a group needs beside its states.

use keima_model::{BlockTables, Family};

use crate::block::rows::tables::ends;

/// Words that [`arrivals`] of families take.
pub(crate) fn arrival_words(tables: &BlockTables, families: &[Family]) -> usize {
    families.iter().map(|family| ends(tables, family).1 as usize).sum::<usize>().div_ceil(2)
}

/// Words that a meeting of so many states takes, for each lane and beside: a sample of them, one in 64, with a place for
/// each, in lists that may have twice the room; and a bit for each state.
pub(crate) fn join_words(states: usize) -> (usize, usize) {
    (states / 32, states / 64 * 3)
}
