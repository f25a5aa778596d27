//! What all blocks of one signature share: its lists, where each code stands in them, and its passes.
//!
//! These depend on nothing but the signature and the window. So parts of a window share them: see [`super::cache`].
//!
//! Cost: no work here; [`bytes`](SignatureTables::bytes) tells the memory.

use std::sync::Arc;

use keima_model::Signature;

use super::entry_index::EntryIndex;
use crate::go::state::Word;

/// The tables of one signature.
pub(crate) struct SignatureTables<W> {
    /// The inside codes at the first step and at the last, in their final order.
    pub(crate) lists: [Arc<Vec<W>>; 2],
    /// `entries[step]`: the entry of each code.
    pub(crate) entries: Vec<Arc<EntryIndex<W>>>,
    pub(crate) signature: Arc<Signature>,
    /// `far[pass]`: how to find the targets of the operations.
    pub(crate) far: Vec<Vec<FarSample<W>>>,
    /// `ways[step]`: number of ways through the rest of the window, for each entry; fewer than 3^10.
    pub(crate) ways: Vec<Vec<u16>>,
}

/// A far operation, told by the first code that has it and by which successor of that code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FarSample<W> {
    pub(crate) code: W,
    pub(crate) successor: u8,
}

impl<W: Word> SignatureTables<W> {
    /// Memory that the tables take.
    pub(crate) fn bytes(&self) -> u64 {
        let lists: usize = self.lists.iter().map(|list| size_of_val(list.as_slice())).sum();
        let ways: usize = self.ways.iter().map(|ways| size_of_val(ways.as_slice())).sum();
        let entries: u64 = self.entries.iter().map(|entries| entries.bytes()).sum();
        (lists + ways) as u64 + entries + self.signature.bytes()
    }
}
