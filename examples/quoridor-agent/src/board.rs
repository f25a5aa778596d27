//! A position as text, the first player's base line below.
//!
//! ```text
//!    9   .   .   .   .   2        pawns 1 and 2
//!          -------                a fence between two rows
//!    8   .   .   . | .   .
//!                  |              a fence between two columns
//!    7   .   .   . | .   .
//! ```

use keima_problems::quoridor::game::Game;
use keima_problems::quoridor::rules::Direction;

use crate::notation::letter;

/// Characters before the first column, and from one column to the next.
const MARGIN: u32 = 5;
const STEP: u32 = 4;

/// Draws a position.
pub(crate) fn draw(game: &Game) -> String {
    let n = game.side();
    let width = (MARGIN + STEP * n) as usize;
    let letters: Vec<String> = (0..n).map(|column| format!("{:>3}", letter(column))).collect();
    let header = format!("   {}\n", letters.join(" "));
    let mut text = header.clone();
    for row in (0..n).rev() {
        let mut squares = vec![b' '; width];
        let mut below = vec![b' '; width];
        let put = |line: &mut Vec<u8>, at: u32, sign: u8| {
            if let Some(place) = line.get_mut(at as usize) {
                *place = sign;
            }
        };
        for column in 0..n {
            let at = MARGIN + STEP * column;
            let bit = 1 << (row * n + column);
            let sign = if game.pawn(0) == bit {
                b'1'
            } else if game.pawn(1) == bit {
                b'2'
            } else {
                b'.'
            };
            put(&mut squares, at, sign);
            // Fences over this row and the one above or below it.
            let vertical = |row: u32| game.has_fence(Direction::Vertical, row, column);
            let from_below = row > 0 && vertical(row - 1);
            if vertical(row) || from_below {
                put(&mut squares, at + 2, b'|');
            }
            if from_below {
                put(&mut below, at + 2, b'|');
            }
            if row > 0 && game.has_fence(Direction::Horizontal, row - 1, column) {
                (at - 1..=at + STEP + 1).for_each(|place| put(&mut below, place, b'-'));
            }
        }
        let lines = [squares, below].map(|line| String::from_utf8_lossy(&line).trim_end().to_owned());
        text += &format!("{:>3}{}\n", row + 1, lines[0].get(3..).unwrap_or(""));
        if row > 0 {
            text += &format!("{}\n", lines[1]);
        }
    }
    text + &header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_with_fences() {
        use Direction::{Horizontal, Vertical};
        let fences = [(Horizontal, 0, 1), (Vertical, 0, 2), (Vertical, 1, 1), (Horizontal, 2, 2)];
        let game = Game::new(4, 3).unwrap().set_up([2, 9], &fences).unwrap();
        let expected = "
     a   b   c   d
  4  .   .   .   .
            -------
  3  .   2 | .   .
           |
  2  .   . | . | .
        -------|
  1  .   .   1 | .
     a   b   c   d
";
        assert_eq!(draw(&game), &expected[1..]);
    }
}
