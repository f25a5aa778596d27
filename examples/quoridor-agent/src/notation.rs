//! Moves as text: `e2` is a square, a letter for the column and a number for the row, from the first player's left and base
//! line. A fence is named by the square at its lower left: `e3h` lies above e3 and f3, `e3v` at the right of e3 and e4.

use keima_problems::quoridor::game::Move;
use keima_problems::quoridor::rules::Direction;
use thiserror::Error;

/// A text that is no move.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{got:?} is no move: {why}")]
pub(crate) struct NoMove {
    got: String,
    why: &'static str,
}

const FORM: &str = "expected a square such as e2 for the pawn, or a fence such as e3h or c4v";
const OFF_BOARD: &str = "the squares are a1 to i9";

/// Reads a move on n x n squares. Whether it is legal is for the rules to say.
pub(crate) fn read(text: &str, n: u32) -> Result<Move, NoMove> {
    let text = text.trim();
    let refuse = |why| NoMove { got: text.chars().take(20).collect(), why };
    let lower = text.to_ascii_lowercase();
    let (square, direction) = match lower.strip_suffix('h') {
        Some(square) if lower.len() > 1 => (square, Some(Direction::Horizontal)),
        _ => lower.strip_suffix('v').map_or((lower.as_str(), None), |square| (square, Some(Direction::Vertical))),
    };
    let mut letters = square.chars();
    let column = letters.next().filter(char::is_ascii_lowercase).ok_or_else(|| refuse(FORM))?;
    let number = letters.as_str();
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refuse(FORM));
    }
    let column = u32::from(column) - u32::from('a');
    let row = number.parse::<u32>().ok().and_then(|row| row.checked_sub(1));
    let row = row.filter(|&row| row < n && column < n).ok_or_else(|| refuse(OFF_BOARD))?;
    Ok(direction.map_or(Move::Pawn(row * n + column), |direction| Move::Fence(direction, row, column)))
}

/// A move on n x n squares as text.
pub(crate) fn write(one: Move, n: u32) -> String {
    let square = |row: u32, column: u32| format!("{}{}", letter(column), row + 1);
    match one {
        Move::Pawn(at) => square(at / n, at % n),
        Move::Fence(Direction::Horizontal, row, column) => square(row, column) + "h",
        Move::Fence(Direction::Vertical, row, column) => square(row, column) + "v",
    }
}

/// The letter of a column.
pub(crate) fn letter(column: u32) -> char {
    char::from_u32(u32::from('a') + column).unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_moves() {
        use Direction::{Horizontal, Vertical};
        for (text, expected) in [
            ("e2", Ok(Move::Pawn(13))),
            (" E2\r\n", Ok(Move::Pawn(13))),
            ("a1", Ok(Move::Pawn(0))),
            ("i9", Ok(Move::Pawn(80))),
            ("h3", Ok(Move::Pawn(25))),
            ("e3h", Ok(Move::Fence(Horizontal, 2, 4))),
            ("c4V", Ok(Move::Fence(Vertical, 3, 2))),
            ("h8h", Ok(Move::Fence(Horizontal, 7, 7))),
            // The rules refuse it: there is no intersection above i9.
            ("i9v", Ok(Move::Fence(Vertical, 8, 8))),
            ("j1", Err(OFF_BOARD)),
            ("a0", Err(OFF_BOARD)),
            ("a10", Err(OFF_BOARD)),
            ("a99999999999999999999", Err(OFF_BOARD)),
            ("", Err(FORM)),
            ("h", Err(FORM)),
            ("v", Err(FORM)),
            ("hh", Err(FORM)),
            ("e", Err(FORM)),
            ("2e", Err(FORM)),
            ("e+2", Err(FORM)),
            ("e2x", Err(FORM)),
            ("é2", Err(FORM)),
        ] {
            assert_eq!(read(text, 9).map_err(|error| error.why), expected, "{text:?}");
            if let Ok(one) = expected {
                assert_eq!(write(one, 9), text.trim().to_lowercase(), "{one:?}");
            }
        }
    }
}
