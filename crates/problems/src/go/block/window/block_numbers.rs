//! The numbers of blocks by their outsides, in several maps, so that several threads can make them.
//!
//! ```text
//!   outside --hash--> one of 2^s maps --> number of its block
//! ```
//!
//! Cost: every thread goes over all outsides, and puts its own into its map.

use std::hash::BuildHasher as _;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::go::block::cut::in_parallel;
use crate::go::state::Word;

/// The numbers of blocks by their outsides.
pub(crate) struct BlockNumbers<W> {
    /// One or more; a power of two.
    maps: Vec<FxHashMap<W, u32>>,
}

impl<W: Word> BlockNumbers<W> {
    /// For outsides in the order of their numbers.
    pub(crate) fn new(outsides: &[W]) -> Self {
        Self { maps: vec![outsides.iter().copied().zip(0..).collect()] }
    }

    /// The same, made by `threads` threads.
    pub(crate) fn by_threads(outsides: &[W], threads: usize) -> Result<Self, String> {
        let count = threads.max(1).next_power_of_two();
        let maps = in_parallel(threads, 0..count, |map| {
            let own = outsides.iter().copied().zip(0..).filter(|&(outside, _)| place(outside, count) == map);
            let mut numbers = FxHashMap::with_capacity_and_hasher(outsides.len() / count, FxBuildHasher);
            numbers.extend(own);
            numbers
        })?;
        Ok(Self { maps })
    }

    /// The number of the block with an outside.
    #[inline]
    pub(crate) fn get(&self, outside: W) -> Option<u32> {
        self.maps[place(outside, self.maps.len())].get(&outside).copied()
    }
}

/// The map of an outside. Maps use the lowest bits of a hash and the highest seven.
fn place<W: Word>(outside: W, count: usize) -> usize {
    (FxBuildHasher.hash_one(outside) >> 40) as usize & (count - 1)
}
