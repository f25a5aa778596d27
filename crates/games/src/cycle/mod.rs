//! Hamiltonian cycles of 1xn: through all positions but the empty one, symmetric under exchange of colours.
//!
//! ```text
//!   pairs    positions in pairs of colour reversals
//!   search   one cycle through all pairs
//!   file     a cycle as a file, move by move
//!   check    whether a file holds such a cycle, with rules of its own
//! ```
//!
//! The positions at distance half the length are each other's reversals. The paper finds such cycles for n = 3 to 7 and
//! conjectures them for all n > 2. Tromp and Farnebäck, *Combinatorics of Go* (2016), section 8.

mod check;
mod file;
mod pairs;
mod search;

use keima_problems::go::rules::{Move, Position, Rules};

pub use self::check::{Checked, NotACycle, check, is_cycle};
pub use self::file::{FORMAT, VERSION, to_text};
use self::pairs::Pairs;

/// Longest board whose cycles are looked for.
pub const MAX_LENGTH: u32 = 12;
/// Exchanges until the search begins anew.
const TRIES: u64 = 20_000_000;

/// A cycle: its first position and all its moves, of which the last leads back to the first position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Points of the board, 1xn.
    pub length: u32,
    /// First position.
    pub start: Position,
    /// The moves.
    pub moves: Vec<Move>,
}

/// Looks for a cycle on 1 x `length`. `None` where none was found, or `length` is not 3 to [`MAX_LENGTH`].
pub fn find(length: u32, seed: u64, attempts: u32) -> Option<Cycle> {
    let rules = Rules::new(1, length).filter(|_| (3..=MAX_LENGTH).contains(&length))?;
    let pairs = Pairs::new(rules);
    let edges = (0..attempts).find_map(|attempt| search::find(&pairs, seed.wrapping_add(attempt.into()), TRIES))?;
    let start = *pairs.positions.first()?;
    let mut position = start;
    let mut pair = 0;
    let mut reversed = false;
    let mut moves = Vec::with_capacity(2 * edges.len());
    for _ in 0..2 * edges.len() {
        let edge = edges[pair as usize];
        let by = if reversed { Move { colour: edge.by.colour.other(), ..edge.by } } else { edge.by };
        position = pairs.rules.play(position, by)?;
        moves.push(by);
        reversed ^= edge.flips;
        pair = edge.to;
    }
    (position == start).then_some(Cycle { length, start, moves })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_without_cycles_have_none() {
        for length in [0, 1, 2, MAX_LENGTH + 1, u32::MAX] {
            assert_eq!(find(length, 1, 1), None, "1x{length}");
        }
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(find(6, 1, 3), find(6, 1, 3));
        assert_ne!(find(6, 1, 3), find(6, 2, 3));
    }
}
