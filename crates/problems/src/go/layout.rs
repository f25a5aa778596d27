//! Layouts: writes working-form states as keys, so that families stand together.
//!
//! Outside the window of a stage no pass changes which cells are edge, empty, black or white. Those two bits a cell come
//! first in the stage's keys (w cells in the window):
//!
//! ```text
//!   Stage(window), 5m - w bits; cells in order from the top, the first in the highest bits
//!   | m-w cells outside: is stone, low bit | m cells: bits 3 2 1 outside the window, bits 3 2 1 0 inside |
//!   |<------ 2(m-w) bits: the family ----->|<----------------------- 3m + w bits ----------------------->|
//!
//!   edge 00   empty 01   black 10   white 11        (the bit "is stone" repeats what bits 3 and 1 say)
//!
//!   Canonical, 4m bits: the working form, of whose two colourings the one with the first stone black
//! ```
//!
//! The representative of a class of colourings in `Stage(window)` has its first stone *outside the window* black, or,
//! where there is no stone outside, its first stone. First means in the lowest cell, in all layouts.
//!
//! A stage's key is a function of each cell's nibble alone, and back: see [`ByteTable`]. Paper: sections 5.5 and 5.9, where
//! states are normalised at the kink. Cost: a table look-up per byte of the key.

use keima_model::Window;

use super::state::{self, Word};
use crate::byte_table::ByteTable;

/// Bits of a stage's keys.
pub fn stage_bits(height: u32, window: Window) -> u32 {
    5 * height - window.len
}

/// Low bits of a stage's keys that its passes may change.
pub fn changing_bits(height: u32, window: Window) -> u32 {
    3 * height + window.len
}

/// The low bit of the nibble of every cell outside the window.
pub fn outside<W: Word>(height: u32, window: Window) -> W {
    (0..height).filter(|&cell| !contains(window, cell)).fold(W::ZERO, |cells, cell| cells | W::ONE << (4 * cell))
}

/// The two-way translation between working form and the keys of one stage.
pub struct Codec<K> {
    outside: K,
    to_key: ByteTable<K>,
    to_state: ByteTable<K>,
}

impl<K: Word> Codec<K> {
    /// Tables for a window of a column of `height` cells.
    pub fn new(height: u32, window: Window) -> Self {
        let mut to_key = ByteTable::new(4 * height);
        let mut to_state = ByteTable::new(stage_bits(height, window));
        let mut family_bit = stage_bits(height, window);
        let mut other_bit = changing_bits(height, window);
        for cell in 0..height {
            let mut family = None;
            if contains(window, cell) {
                other_bit -= 4;
            } else {
                family_bit -= 2;
                other_bit -= 3;
                family = Some(family_bit);
            }
            let encode = |nibble: u32| match family {
                None => K::truncate(nibble.into()) << other_bit,
                Some(bit) => {
                    let stone = nibble >> 1 & 1 | nibble >> 3;
                    K::truncate((stone << 1 | nibble & 1).into()) << bit
                        | K::truncate((nibble >> 1).into()) << other_bit
                }
            };
            to_key.add_nibble(cell, encode);
            // Bits of the key, each with its bit in the cell's nibble.
            let low = family.unwrap_or(other_bit);
            let high = other_bit + u32::from(family.is_none());
            for (from, to) in [(low, 0), (high, 1), (high + 1, 2), (high + 2, 3)] {
                to_state.add_bit(from, K::ONE << (4 * cell + to));
            }
        }
        Self { outside: outside(height, window), to_key, to_state }
    }

    /// The low bit of the nibble of every cell outside the window.
    pub fn outside(&self) -> K {
        self.outside
    }

    /// Working form of any colouring to the stage's key.
    #[inline]
    pub fn key(&self, state: K) -> K {
        self.to_key.look_up(state::normalise(state, self.outside))
    }

    /// Key of the stage to its working form. Keys that no state has give some state.
    #[inline]
    pub fn state(&self, key: K) -> K {
        self.to_state.look_up(key)
    }
}

/// Whether the window has this cell.
fn contains(window: Window, cell: u32) -> bool {
    (window.first..window.end()).contains(&cell)
}

#[cfg(test)]
mod tests {
    use keima_model::Key;

    use super::*;

    /// Windows of a column of this height.
    fn windows(height: u32) -> impl Iterator<Item = Window> {
        (0..height).flat_map(move |first| (1..=height - first).map(move |len| Window { first, len }))
    }

    #[test]
    fn a_drawn_example() {
        // Cells from the top: needy white with `below` (1101), edge, free black (0010), empty; window: cells 1 and 2.
        let codec = Codec::<u64>::new(4, Window { first: 1, len: 2 });
        let state = 0x120d_u64;
        // First stone outside is white: reversed, it is 1100 .. 0011 ..
        let family = 0b1001;
        let key = family << 14 | 0b110 << 11 | 0b0000_0011 << 3;
        assert_eq!(codec.key(state), key);
        assert_eq!(codec.state(key), 0x130c);
    }

    fn round_trips<K: Word>(height: u32, samples: u64) {
        for window in windows(height) {
            let codec = Codec::<K>::new(height, window);
            let bits = stage_bits(height, window);
            for sample in 0..samples {
                // Nibbles that are codes of cells, pseudo-random.
                let random = u128::from(sample.mix(1)) | u128::from(sample.mix(2)) << 64;
                let state = (0..height).fold(K::ZERO, |state, cell| {
                    let code =
                        [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 2, 3, 1, 1][(random >> (4 * cell) & 15) as usize];
                    state | K::truncate(code) << (4 * cell)
                });
                let key = codec.key(state);
                assert!(key.widen() >> bits == 0, "{height} {window:?} {state:x}: key {key:x} is too wide");
                assert_eq!(codec.state(key), state::normalise(state, codec.outside()), "{height} {window:?} {state:x}");
                assert_eq!(codec.key(state::reverse(state)), key, "{height} {window:?} {state:x}");
                assert_eq!(codec.key(codec.state(key)), key, "{height} {window:?} {state:x}");
            }
        }
    }

    #[test]
    fn keys_round_trip_and_ignore_colour_reversal() {
        for height in 1..=13 {
            round_trips::<u64>(height, 20);
        }
        for height in [1, 5, 14, 21] {
            round_trips::<u128>(height, 20);
        }
    }
}
