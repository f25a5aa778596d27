//! What the agent sees in a position: the value is a weighted sum over a set of features.
//!
//! ```text
//!   f1   how many rows Max's pawn is from its base line, 0 to 8
//!   f2   f1 less the same of Min
//!   f3   1 / (fewest steps from Max's pawn to the next row towards its goal)
//!   f4   fewest steps from Min's pawn to the next row towards its goal
//! ```
//!
//! Max is the player for whom the search is made. Mertens' pawns go along the board, so his rows are columns. Steps are a
//! pawn's without jumps. Paper: Mertens (2006). Cost: two floods of a few steps.

use std::fmt;
use std::str::FromStr;

use keima_problems::quoridor::game::Game;
use thiserror::Error;

/// Number of features.
pub(crate) const FEATURES: usize = 4;

/// The weights of f1 to f4, from the paper's table 2.
pub(crate) const WEIGHTS: [f64; FEATURES] = [0.6, 0.6001, 14.45, 6.52];

/// A set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features([bool; FEATURES]);

/// A text that names no set of features.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("expected one to four of f1, f2, f3 and f4, such as f1+f2+f4, got {got:?}")]
pub(crate) struct NoFeatures {
    got: String,
}

impl Features {
    /// The features of these numbers, 1 to 4.
    pub(crate) const fn of(numbers: &[usize]) -> Self {
        let mut set = [false; FEATURES];
        let mut at = 0;
        while at < numbers.len() {
            set[numbers[at] - 1] = true;
            at += 1;
        }
        Self(set)
    }

    /// The value of a position for the player `max`, without the random term. Neither pawn stands on its goal.
    pub(crate) fn value(self, game: &Game, max: usize) -> f64 {
        let min = 1 - max;
        let [has_own, has_both, has_next, has_others_next] = self.0;
        let mut value = 0.0;
        if has_own || has_both {
            let (own, others) = (rows_gone(game, max), rows_gone(game, min));
            if has_own {
                value += WEIGHTS[0] * own;
            }
            if has_both {
                value += WEIGHTS[1] * (own - others);
            }
        }
        if has_next {
            value += WEIGHTS[2] / steps_to_next_row(game, max);
        }
        if has_others_next {
            value += WEIGHTS[3] * steps_to_next_row(game, min);
        }
        value
    }
}

/// Rows between a player's pawn and its base line.
fn rows_gone(game: &Game, player: usize) -> f64 {
    let row = row(game, player);
    f64::from(if player == 0 { row } else { game.side() - 1 - row })
}

fn row(game: &Game, player: usize) -> u32 {
    game.pawn(player).trailing_zeros() / game.side()
}

/// Fewest steps of a player's pawn to the next row towards its goal. There is a way, since the goal lies beyond that row.
fn steps_to_next_row(game: &Game, player: usize) -> f64 {
    let row = row(game, player);
    let next = if player == 0 { row + 1 } else { row.wrapping_sub(1) };
    let open = game.open();
    let steps = open.distance(game.pawn(player), open.row(next));
    f64::from(steps.unwrap_or(game.side() * game.side()))
}

impl FromStr for Features {
    type Err = NoFeatures;

    fn from_str(text: &str) -> Result<Self, NoFeatures> {
        let refuse = || NoFeatures { got: text.to_owned() };
        let mut set = [false; FEATURES];
        for name in text.split('+') {
            let number: usize = name.strip_prefix('f').and_then(|number| number.parse().ok()).ok_or_else(refuse)?;
            let feature = number.checked_sub(1).and_then(|at| set.get_mut(at)).ok_or_else(refuse)?;
            if std::mem::replace(feature, true) {
                return Err(refuse());
            }
        }
        Ok(Self(set))
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> =
            (1..).zip(self.0).filter(|one| one.1).map(|(number, _)| format!("f{number}")).collect();
        f.pad(&names.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use keima_problems::quoridor::rules::Direction::{Horizontal, Vertical};

    use super::*;

    #[test]
    fn values_by_hand() {
        let start = Game::new(9, 10).unwrap();
        // Pawns on (3, 4) and (6, 4); two fences before the first, three steps to the side.
        let (pawns, fences) = ([31, 58], [(Horizontal, 3, 3), (Horizontal, 3, 5), (Vertical, 3, 2)]);
        for (features, max, expected) in [
            ("f1", 0, 0.6 * 3.0),
            ("f1", 1, 0.6 * 2.0),
            ("f2", 0, 0.6001),
            ("f2", 1, -0.6001),
            ("f3", 0, 14.45 / 4.0),
            ("f3", 1, 14.45),
            ("f4", 0, 6.52),
            ("f4", 1, 6.52 * 4.0),
            ("f1+f2+f3+f4", 0, 0.6 * 3.0 + 0.6001 + 14.45 / 4.0 + 6.52),
        ] {
            let game = start.set_up(pawns, &fences).unwrap();
            let features: Features = features.parse().unwrap();
            let got = features.value(&game, max);
            assert!((got - expected).abs() < 1e-9, "{features} for {max}: {got}, expected {expected}");
        }
    }

    #[test]
    fn names() {
        for (text, expected) in [
            ("f1", Some("f1")),
            ("f4+f2", Some("f2+f4")),
            ("f1+f2+f3+f4", Some("f1+f2+f3+f4")),
            ("", None),
            ("f0", None),
            ("f5", None),
            ("f1+f1", None),
            ("f1+", None),
            ("1+2", None),
        ] {
            let got = text.parse::<Features>().map(|features| features.to_string());
            assert_eq!(got.ok().as_deref(), expected, "{text:?}");
        }
        assert_eq!(Features::of(&[2, 4]).to_string(), "f2+f4");
    }
}
