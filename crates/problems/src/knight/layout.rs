//! Layouts: writes states as keys, so that families stand together.
//!
//! The passes of a stage give edges to their own cells and to those a knight's move on. No pass changes which of the other
//! cells are ends of paths, though it may change whose ends they are. Those bits come first in a stage's keys:
//!
//! ```text
//!   Stage(window), k conserved cells; cells from the last of the border to the next
//!   m <= 7:   | k cells: bit 3 | all cells: bits 2 1 0, and bit 3 of those not conserved |     4(2m+1) bits
//!   m >= 8:   | k cells: is an end | all cells: bits 3 2 1 0 |                             4(2m+1) + k bits
//!
//!   Canonical, 4(2m+1) bits: the working form
//! ```
//!
//! Both ways are a [`ByteTable`]. Cost: a table look-up per byte of the key.

use keima_model::Window;

use super::state::{self, Word};
use super::tours::steps;
use crate::byte_table::ByteTable;
use crate::choose::choose;

/// Largest height at which pairs have bit 3 set, so that it says "is an end" and need not be repeated.
pub const MAX_NARROW_HEIGHT: u32 = 7;

/// Cells of the border to which no pass of the stage gives an edge, counted from the next cell.
pub fn conserved(height: u32, window: Window) -> Vec<u32> {
    let touched = |place: u32| {
        (0..window.len).any(|pass| {
            let moves = steps(height).filter(|&step| moves_down_column(height, window.first + pass, step));
            place == pass || moves.into_iter().any(|step| place == pass + step)
        })
    };
    (0..=2 * height).filter(|&place| !touched(place)).collect()
}

/// Whether a knight's move leads from a cell of a column to the one `step` cells on, on a board of any length.
fn moves_down_column(height: u32, cell: u32, step: u32) -> bool {
    let to = cell + step;
    matches!((to / height, (to % height).abs_diff(cell)), (1, 2) | (2, 1))
}

/// Bits of the keys of a stage.
pub fn stage_bits(height: u32, window: Window) -> u32 {
    let repeated = if height <= MAX_NARROW_HEIGHT { 0 } else { conserved(height, window).len() as u32 };
    4 * (2 * height + 1) + repeated
}

/// The two-way translation between working form and the keys of one stage.
pub struct Codec<K> {
    to_key: ByteTable<K>,
    to_state: ByteTable<K>,
}

impl<K: Word> Codec<K> {
    /// Tables for a window of a column of `height` cells.
    pub fn new(height: u32, window: Window) -> Self {
        let (cells, bits) = (2 * height + 1, stage_bits(height, window));
        let narrow = height <= MAX_NARROW_HEIGHT;
        let conserved = conserved(height, window);
        let mut to_key = ByteTable::new(4 * cells);
        let mut to_state = ByteTable::new(bits);
        let mut family_bit = bits;
        let mut other_bit = bits - conserved.len() as u32;
        for cell in (0..cells).rev() {
            let family = conserved.contains(&cell).then(|| {
                family_bit -= 1;
                family_bit
            });
            let kept = if narrow && family.is_some() { 3 } else { 4 };
            other_bit -= kept;
            let encode = |nibble: u32| {
                let is_end = u128::from(state::ends(u64::from(nibble)) & 1);
                let bit_three = u128::from(nibble >> 3);
                let front = if narrow { bit_three } else { is_end };
                let rest = K::truncate(u128::from(nibble) & ((1 << kept) - 1)) << other_bit;
                family.map_or(rest, |bit| rest | K::truncate(front) << bit)
            };
            to_key.add_nibble(cell, encode);
            let moved = (0..kept).map(|bit| (other_bit + bit, bit));
            for (from, to) in moved.chain(family.filter(|_| narrow).map(|bit| (bit, 3))) {
                to_state.add_bit(from, K::ONE << (4 * cell + to));
            }
        }
        Self { to_key, to_state }
    }

    /// Working form to the stage's key.
    #[inline]
    pub fn key(&self, state: K) -> K {
        self.to_key.look_up(state)
    }

    /// The stage's key to working form. Keys that no state has give some state.
    #[inline]
    pub fn state(&self, key: K) -> K {
        self.to_state.look_up(key)
    }
}

/// Upper bound on the number of states in a family: any codes, any matching of the pairs, and at most `tour_ends` paths
/// from ends of the tour. The conserved cells are those of the largest family.
pub fn largest_family(height: u32, window: Window, tour_ends: u32) -> u128 {
    let fixed = conserved(height, window).len() as u32;
    let free = 2 * height + 1 - fixed;
    let of_family = |fixed_ends: u32| {
        let sum = (0..=free).map(|free_ends| {
            let rest = fixed - fixed_ends + free - free_ends;
            (choose(free, free_ends) * matchings(fixed_ends + free_ends, tour_ends)) << rest
        });
        sum.sum::<u128>()
    };
    (0..=fixed).map(of_family).max().unwrap_or(0)
}

/// Ways to match `ends` path ends in pairs, with at most `most` of them left out.
fn matchings(ends: u32, most: u32) -> u128 {
    let left_out = (0..=most.min(ends)).filter(|single| (ends - single).is_multiple_of(2));
    left_out.map(|single| choose(ends, single) * (1..ends - single).step_by(2).map(u128::from).product::<u128>()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conserved_cells_of_the_examples() {
        for (height, first, len, expected) in [
            // A cell in the middle: moves to 5, 9, 13 and 15 cells on.
            (7, 3, 1, vec![1, 2, 3, 4, 6, 7, 8, 10, 11, 12, 14]),
            (7, 2, 2, vec![2, 3, 4, 7, 8, 11, 12]),
            (7, 2, 3, vec![3, 4, 8, 12]),
            // The top cell has no moves up: 9 and 15 cells on.
            (7, 0, 1, vec![1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14]),
            (7, 0, 7, vec![]),
            (1, 0, 1, vec![1, 2]),
        ] {
            assert_eq!(conserved(height, Window { first, len }), expected, "{height} {first} {len}");
        }
    }

    #[test]
    fn matchings_are_counted() {
        for (ends, most, expected) in
            [(0, 0, 1), (1, 0, 0), (1, 2, 1), (2, 0, 1), (2, 2, 2), (4, 0, 3), (4, 2, 9), (3, 2, 3)]
        {
            assert_eq!(matchings(ends, most), expected, "{ends} {most}");
        }
    }
}
