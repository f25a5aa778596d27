//! The working form of a border state: the next 2m+1 cells, four bits each.
//!
//! No knight's move leads further than 2m+1 cells on, so all later cells are untouched. The next cell is in the lowest
//! nibble. After its pass the state moves down by four bits, and one more cell enters at the top.
//!
//! ```text
//!   code   0        untouched: no edge so far
//!          1        full, or beyond the end of the board
//!          8        end of a path whose other end is an end of the tour
//!          9 to 15  end of a path whose other end, its mate, has the same code: pairs 1 to 7
//!          2 to 7   pairs 8 to 13
//! ```
//!
//! Pairs are numbered in the order of the first cell of each. 2m+1 cells hold at most m pairs, so up to m = 7 the ends of
//! paths are the nibbles with bit 3. Sets of cells have one bit a cell, the lowest of its nibble.
//!
//! Cost: a few bit operations a function; one step per pair to normalise.

// Code for the machine's vector instructions must be inlined into the dispatched function.
#![allow(clippy::inline_always)]

pub use crate::word::Word;

/// Nibble of a cell without an edge.
pub const UNTOUCHED: u32 = 0;
/// Nibble of a cell that needs no more edges.
pub const FULL: u32 = 1;
/// Nibble of the end of a path from an end of the tour.
pub const FINISHED: u32 = 8;
/// Nibbles of the pairs, from pair 1 on. The rest serves keys that no state has.
const PAIRS: [u32; 16] = [9, 10, 11, 12, 13, 14, 15, 2, 3, 4, 5, 6, 7, 0, 0, 0];

/// The code of the cell whose nibble starts at bit `shift`.
#[inline]
pub fn code<W: Word>(state: W, shift: u32) -> u32 {
    (state >> shift).low() & 0xf
}

/// The low bits of the nibbles that are zero.
#[inline]
pub fn zeros<W: Word>(word: W) -> W {
    let half = word | word >> 1;
    !(half | half >> 2) & W::ONES
}

/// The cells with this code.
#[inline]
pub fn cells_with<W: Word>(state: W, code: u32) -> W {
    zeros(state ^ W::ONES.times(code))
}

/// The cells that are ends of paths.
#[inline]
pub fn ends<W: Word>(state: W) -> W {
    // The second part is one of `zeros`, too.
    (state >> 1 | (state | state >> 1) >> 2) & W::ONES
}

/// The ends of paths from an end of the tour.
#[inline]
pub fn finished<W: Word>(state: W) -> W {
    cells_with(state, FINISHED)
}

/// The code of pair `number`, from 1 on.
#[inline]
pub fn pair(number: u32) -> u32 {
    PAIRS[(number.wrapping_sub(1) & 0xf) as usize]
}

/// The same state with its pairs numbered in the order of their first cells.
#[inline]
pub fn normalise<W: Word>(state: W) -> W {
    let mut left = ends(state) & !finished(state);
    let mut out = state & !left.times(0xf);
    let mut number = 1;
    while left != W::ZERO {
        let same = cells_with(state, code(state, left.trailing_zeros())) & left;
        out = out | same.times(pair(number));
        left = left & !same;
        number += 1;
    }
    out
}

/// Normalises many states, eight at a time.
pub fn normalise_all<W: Word>(states: &mut [W]) {
    // No machine has vectors of wider words.
    let eights = if W::BITS > 64 { 0 } else { states.len() / LANES * LANES };
    let (eights, rest) = states.split_at_mut(eights);
    pulp::Arch::new().dispatch(NormaliseEights(eights.as_chunks_mut().0));
    for state in rest {
        *state = normalise(*state);
    }
}

/// States that are normalised at a time.
const LANES: usize = 8;

struct NormaliseEights<'a, W>(&'a mut [[W; LANES]]);

impl<W: Word> pulp::WithSimd for NormaliseEights<'_, W> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for states in self.0 {
            let mut left = states.map(|state| ends(state) & !finished(state));
            // Pair 1 has code 9, and each cell gets one more while pairs before its own are numbered.
            let mut out = *states;
            for lane in 0..LANES {
                out[lane] = out[lane] & !left[lane].times(0xf) | left[lane].times(pair(1));
            }
            let is_left = |left: &[W; LANES]| left.iter().fold(W::ZERO, |all, &left| all | left) != W::ZERO;
            for _ in 0..SUCCESSIVE {
                for lane in 0..LANES {
                    left[lane] = left[lane] & differ(states[lane], left[lane].lowest());
                    out[lane] = out[lane].plus(left[lane]);
                }
                if !is_left(&left) {
                    break;
                }
            }
            // Only keys that no state has got more pairs.
            *states = if is_left(&left) { states.map(normalise) } else { out };
        }
    }
}

/// Pairs from the first on whose codes follow each other.
const SUCCESSIVE: u32 = 7;

/// The low bits of nibbles that differ from the one whose lowest bit is given; other bits are any.
#[inline(always)]
fn differ<W: Word>(state: W, lowest: W) -> W {
    let plane = |by: u32| {
        let plane = state >> by;
        plane ^ if plane & lowest == W::ZERO { W::ZERO } else { !W::ZERO }
    };
    plane(0) | plane(1) | plane(2) | plane(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keima_model::mix;

    #[test]
    fn pairs_are_numbered_by_their_first_cells() {
        // From the lowest nibble: untouched, pair 3, full, pair 1, pair 3, finished, pair 1.
        let state = 0x09_8b_91_b0_u64;
        assert_eq!(normalise(state), 0x0a_89_a1_90);
        assert_eq!(normalise(normalise(state)), normalise(state));
        assert_eq!(normalise(u128::from(state)), u128::from(normalise(state)));
    }

    /// Any bit patterns, whether states or not, in any place of a batch.
    #[test]
    fn many_are_normalised_as_one() {
        let mut seed = 7;
        let some: Vec<u64> = (0..1000).map(|i| mix::split_mix(&mut seed) & u64::MAX >> (i % 17 * 4 % 64)).collect();
        for count in (0..20).chain([1000]) {
            let mut all = some[some.len() - count..].to_vec();
            let one: Vec<u64> = all.iter().copied().map(normalise).collect();
            normalise_all(&mut all);
            assert_eq!(all, one);
            let mut wide: Vec<u128> = some[..count].iter().map(|&state| u128::from(state)).collect();
            let one: Vec<u128> = wide.iter().copied().map(normalise).collect();
            normalise_all(&mut wide);
            assert_eq!(wide, one);
        }
    }

    #[test]
    fn masks_pick_the_right_cells() {
        let state = 0x28_f1_09_u64;
        assert_eq!(ends(state), 0x11_10_01);
        assert_eq!(finished(state), 0x01_00_00);
        assert_eq!(cells_with(state, FULL), 0x00_01_00);
        assert_eq!(zeros(state) & 0xff_ffff, 0x00_00_10);
    }

    #[test]
    fn thirteen_pairs_have_codes_of_their_own() {
        let mut codes: Vec<u32> = (1..=13).map(pair).chain([UNTOUCHED, FULL, FINISHED]).collect();
        codes.sort_unstable();
        assert_eq!(codes, (0..16).collect::<Vec<_>>());
    }
}
