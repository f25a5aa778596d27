//! Numbers for words, signatures and the like, in the order in which they are first seen.
//!
//! Cost: a look-up each.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// The numbers of items.
pub(crate) struct Numbering<T> {
    numbers: FxHashMap<T, u32>,
    /// The items by their numbers.
    pub(crate) items: Vec<T>,
}

impl<T> Default for Numbering<T> {
    fn default() -> Self {
        Self { numbers: FxHashMap::default(), items: Vec::new() }
    }
}

impl<T: Copy + Eq + Hash> Numbering<T> {
    /// The number of an item.
    pub(crate) fn number(&mut self, item: T) -> u32 {
        *self.numbers.entry(item).or_insert_with(|| {
            self.items.push(item);
            self.items.len() as u32 - 1
        })
    }

    /// The number of each item.
    pub(crate) fn into_numbers(self) -> FxHashMap<T, u32> {
        self.numbers
    }
}
