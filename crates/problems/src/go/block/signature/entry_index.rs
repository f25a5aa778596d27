//! Finds the entry of a code in a list.
//!
//! Building tables needs such a map for each list of each step, with millions of entries in all. So a key is the 32 bits
//! of the window's cells, and no map is larger than its list needs.
//!
//! Cost: 10 to 20 bytes an entry, and a hash look-up per question.

use rustc_hash::FxHashMap;

use crate::go::state::Word;

/// The entries of a list's codes.
#[derive(Default)]
pub(crate) struct EntryIndex<W> {
    /// The bits of the window's cells in a word.
    inside: W,
    /// Lowest bit of the window's first cell.
    shift: u32,
    entries: FxHashMap<u32, u16>,
}

impl<W: Word> EntryIndex<W> {
    /// The index of a list of at most 2^16 codes. A code has nothing but the cells inside `inside`, of which there are at
    /// most 8: lists of longer windows have more than 2^16 codes.
    pub(crate) fn new(list: &[W], inside: W) -> Self {
        let entries = FxHashMap::with_capacity_and_hasher(list.len(), rustc_hash::FxBuildHasher);
        let lowest = inside.lowest().widen();
        let shift = if inside == W::ZERO { 0 } else { lowest.trailing_zeros() };
        let mut index = Self { inside, shift, entries };
        for (&code, entry) in list.iter().zip(0..=u16::MAX) {
            index.entries.insert(index.key(code), entry);
        }
        index
    }

    /// The entry of a code.
    #[inline]
    pub(crate) fn get(&self, code: W) -> Option<u16> {
        self.entries.get(&self.key(code)).copied()
    }

    /// Memory that the index takes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.entries.capacity() * (size_of::<(u32, u16)>() + 1)) as u64
    }

    #[inline]
    fn key(&self, code: W) -> u32 {
        debug_assert!(code & !self.inside == W::ZERO, "{code:x} is not inside {:x}", self.inside);
        (code >> self.shift).low()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_where_they_stand() {
        let inside = 0xff_ffff_f000_u64;
        let list = [0x3000, 0xf0_0000_0000, 0x12_3456_7000, 0];
        let index = EntryIndex::new(&list, inside);
        for (code, entry) in list.iter().zip(0..) {
            assert_eq!(index.get(*code), Some(entry));
        }
        assert_eq!(index.get(0x4000), None);
        assert_eq!(EntryIndex::new(&[0_u64], 0).get(0), Some(0));
    }
}
