//! Where each code stands in a list.
//!
//! There is such a map for each list of each step while tables are made, millions of entries in all: so codes are keys
//! of 32 bits, which is what the window's cells take, and no map is larger than its list asks for.
//!
//! Cost: 10 to 20 bytes and a look-up of some 10 ns an entry.

use rustc_hash::FxHashMap;

/// The places of a list's codes.
#[derive(Default)]
pub(super) struct Places {
    /// The bits of the window's cells in a word.
    inside: u64,
    places: FxHashMap<u32, u16>,
}

impl Places {
    /// Of a list, whose codes are words with nothing but the cells inside `inside`; of these there are at most 8, since
    /// lists of longer windows have more than 2^16 codes.
    pub(super) fn new(list: &[u64], inside: u64) -> Self {
        let places = FxHashMap::with_capacity_and_hasher(list.len(), rustc_hash::FxBuildHasher);
        let mut all = Self { inside, places };
        for (&code, place) in list.iter().zip(0..=u16::MAX) {
            all.places.insert(all.key(code), place);
        }
        all
    }

    /// The place of a code.
    #[inline]
    pub(super) fn get(&self, code: u64) -> Option<u16> {
        self.places.get(&self.key(code)).copied()
    }

    #[inline]
    fn key(&self, code: u64) -> u32 {
        debug_assert!(code & !self.inside == 0, "{code:x} is not inside {:x}", self.inside);
        (code >> (self.inside.trailing_zeros() % u64::BITS)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_where_they_stand() {
        let inside = 0xff_ffff_f000;
        let list = [0x3000, 0xf0_0000_0000, 0x12_3456_7000, 0];
        let places = Places::new(&list, inside);
        for (code, place) in list.iter().zip(0..) {
            assert_eq!(places.get(*code), Some(place));
        }
        assert_eq!(places.get(0x4000), None);
        assert_eq!(Places::new(&[0], 0).get(0), Some(0));
    }
}
