//! Where each code stands in a list.
//!
//! There is such a map for each list of each step while tables are made, millions of entries in all: so codes are keys
//! of 32 bits, which is what the window's cells take, and no map is larger than its list asks for.
//!
//! Cost: 10 to 20 bytes and a look-up of some 10 ns an entry.

use rustc_hash::FxHashMap;

use crate::go::state::Word;

/// The places of a list's codes.
#[derive(Default)]
pub(crate) struct EntryIndex<W> {
    /// The bits of the window's cells in a word.
    inside: W,
    /// Places by which its first cell stands too high.
    shift: u32,
    of: FxHashMap<u32, u16>,
}

impl<W: Word> EntryIndex<W> {
    /// Of a list, whose codes are words with nothing but the cells inside `inside`; of these there are at most 8, since
    /// lists of longer windows have more than 2^16 codes. The list has no more than that.
    pub(crate) fn new(list: &[W], inside: W) -> Self {
        let places = FxHashMap::with_capacity_and_hasher(list.len(), rustc_hash::FxBuildHasher);
        let lowest = inside.lowest().widen();
        let shift = if inside == W::ZERO { 0 } else { lowest.trailing_zeros() };
        let mut all = Self { inside, shift, of: places };
        for (&code, place) in list.iter().zip(0..=u16::MAX) {
            all.of.insert(all.key(code), place);
        }
        all
    }

    /// The place of a code.
    #[inline]
    pub(crate) fn get(&self, code: W) -> Option<u16> {
        self.of.get(&self.key(code)).copied()
    }

    /// Memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.of.capacity() * (size_of::<(u32, u16)>() + 1)) as u64
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
        let places = EntryIndex::new(&list, inside);
        for (code, place) in list.iter().zip(0..) {
            assert_eq!(places.get(*code), Some(place));
        }
        assert_eq!(places.get(0x4000), None);
        assert_eq!(EntryIndex::new(&[0_u64], 0).get(0), Some(0));
    }
}
