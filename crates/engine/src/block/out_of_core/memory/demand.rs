//! What a task asks for, in words: its states, and what its group needs beside them.

use keima_blocks::out_of_core::ways_words;
use keima_model::{BlockTables, Family};

use crate::block::rows::tables::family_ends;

/// Words for the ways that lead to the states of these families.
pub(crate) fn arrival_words(tables: &BlockTables, families: &[Family]) -> usize {
    ways_words(families.iter().map(|family| family_ends(tables, family).1 as usize).sum())
}

/// Memory that a task asks for, in words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    /// In all.
    pub(crate) all: usize,
    /// The part of it outside its buffer: tables made for it.
    pub(crate) beside: usize,
}

impl Demand {
    /// Words of the buffer.
    pub(crate) fn own(self) -> usize {
        self.all.saturating_sub(self.beside)
    }
}
