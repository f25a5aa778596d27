//! The rules of moves: stones are put down, and strings without liberties are taken off.
//!
//! A move puts a stone of either colour on an empty point. Then all strings of the other colour without a liberty go, then
//! the own string if it has none. So suicide is allowed; that of a single stone leaves the position as it was. Whose turn it
//! is does not matter: passes are moves too. Two different moves never lead to the same other position.
//!
//! ```text
//!   . X O .    black at 3:   . X . X    the white stone has no liberty left
//!   . X . X .  white at 2:   . X . X .  suicide of a single stone: not another position
//! ```
//!
//! Paper: Tromp and Farnebäck, *Combinatorics of Go* (2016), sections 2 and 4. Cost: a move takes a few floods over bits.

use std::fmt;

/// A set of points, one bit each: point (row, column) is bit `column * height + row`.
pub type Points = u32;

/// Most points that a board may have.
pub const MAX_POINTS: u32 = 20;

/// Black or white.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Colour {
    /// Black.
    Black,
    /// White.
    White,
}

impl Colour {
    /// Both colours.
    pub const BOTH: [Self; 2] = [Self::Black, Self::White];

    /// The other colour.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Black => Self::White,
            Self::White => Self::Black,
        }
    }
}

/// The stones on a board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Points with a black stone.
    pub black: Points,
    /// Points with a white stone; none of them is of `black`.
    pub white: Points,
}

impl Position {
    /// All points with a stone.
    pub fn stones(self) -> Points {
        self.black | self.white
    }

    /// The same position with black and white exchanged.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { black: self.white, white: self.black }
    }
}

/// A stone that is put down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Move {
    /// Number of the point.
    pub point: u32,
    /// Colour of the stone.
    pub colour: Colour,
}

/// A board of at most [`MAX_POINTS`] points with the rules of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    height: u32,
    length: u32,
    all: Points,
    not_top: Points,
    not_bottom: Points,
}

impl Rules {
    /// The rules on `height` x `length` points; `None` for no points, or more than [`MAX_POINTS`].
    pub fn new(height: u32, length: u32) -> Option<Self> {
        let points = height.checked_mul(length).filter(|points| (1..=MAX_POINTS).contains(points))?;
        let top: Points = (0..points).step_by(height as usize).fold(0, |set, point| set | 1 << point);
        let all = (1 << points) - 1;
        Some(Self { height, length, all, not_top: all & !top, not_bottom: all & !(top << (height - 1)) })
    }

    /// Points in a column.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Columns.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Number of points.
    pub fn points(&self) -> u32 {
        self.height * self.length
    }

    /// Points adjacent to a point of `set`.
    fn neighbours(&self, set: Points) -> Points {
        let vertical = (set & self.not_top) >> 1 | (set & self.not_bottom) << 1;
        (vertical | set >> self.height | set << self.height) & self.all
    }

    /// What the flood from `stones & seeds` through `stones` reaches.
    fn flood(&self, stones: Points, seeds: Points) -> Points {
        let mut reached = stones & seeds;
        loop {
            let next = reached | self.neighbours(reached) & stones;
            if next == reached {
                return reached;
            }
            reached = next;
        }
    }

    /// The stones of `colour` whose strings have a liberty, where `empty` points are empty.
    fn living(&self, colour: Points, empty: Points) -> Points {
        self.flood(colour, self.neighbours(empty))
    }

    /// Whether every string has a liberty. No stone may stand outside the board.
    pub fn is_legal(&self, position: Position) -> bool {
        let empty = self.all & !position.stones();
        self.living(position.black, empty) == position.black && self.living(position.white, empty) == position.white
    }

    /// The position after a stone; `None` if its point is not empty, or if the position would be the same.
    pub fn play(&self, position: Position, Move { point, colour }: Move) -> Option<Position> {
        let Position { black, white } = position;
        let stone: Points = 1_u32.checked_shl(point).filter(|stone| stone & self.all & !position.stones() != 0)?;
        let (own, other) = if colour == Colour::Black { (black, white) } else { (white, black) };
        let own = own | stone;
        let other = self.living(other, self.all & !own & !other);
        let own = if self.living(own, self.all & !own & !other) == own {
            own
        } else {
            // Only the new stone's string can be without a liberty.
            own & !self.flood(own, stone)
        };
        let next = if colour == Colour::Black {
            Position { black: own, white: other }
        } else {
            Position { black: other, white: own }
        };
        (next != position).then_some(next)
    }

    /// All moves that lead to another position, with that position: by point, black before white.
    pub fn moves(&self, position: Position) -> impl Iterator<Item = (Move, Position)> + '_ {
        let moves = (0..self.points()).flat_map(|point| Colour::BOTH.map(|colour| Move { point, colour }));
        moves.filter_map(move |one| Some((one, self.play(position, one)?)))
    }

    /// Number of [`Rules::moves`] of a legal position: two for each empty point, but for suicides of single stones.
    ///
    /// A point has such a suicide of one colour if all its neighbours are stones of the other, and each of their strings
    /// has another liberty.
    pub fn degree(&self, position: Position) -> u32 {
        let empty = self.all & !position.stones();
        let mut degree = 2 * empty.count_ones();
        // Points with no empty neighbour; only they can be suicides.
        let mut lonely = empty & !self.neighbours(empty);
        while lonely != 0 {
            let point = lonely & lonely.wrapping_neg();
            lonely ^= point;
            let beside = self.neighbours(point);
            for other in [position.black, position.white] {
                let is_suicide = beside & !other == 0 && beside & !self.living(other, empty & !point) == 0;
                degree -= u32::from(is_suicide);
            }
        }
        degree
    }

    /// All legal positions, in increasing order of their ternary numbers: point 0 is the lowest digit, 0 empty, 1 black,
    /// 2 white. There are 3^points candidates.
    pub fn legal_positions(&self) -> impl Iterator<Item = Position> + '_ {
        let mut next = Some(Position::default());
        std::iter::from_fn(move || {
            let position = next?;
            next = self.successor(position);
            Some(position)
        })
        .filter(|&position| self.is_legal(position))
    }

    /// The colouring with the next ternary number.
    fn successor(&self, Position { black, white }: Position) -> Option<Position> {
        // Whites at the low end become empty, the digit after them goes up.
        let carry = (!white).trailing_zeros();
        let digit: Points = 1 << carry;
        let white = white & !(digit - 1);
        if digit & self.all == 0 {
            None
        } else if black & digit == 0 {
            Some(Position { black: black | digit, white })
        } else {
            Some(Position { black: black & !digit, white: white | digit })
        }
    }

    /// A position in letters, point 0 first: `.` empty, `X` black, `O` white.
    pub fn letters(&self, position: Position) -> String {
        let letter = |point: u32| match (position.black >> point & 1, position.white >> point & 1) {
            (0, 0) => '.',
            (1, _) => 'X',
            _ => 'O',
        };
        (0..self.points()).map(letter).collect()
    }

    /// The position of such letters; `None` if they are others, or not one for each point.
    pub fn from_letters(&self, letters: &str) -> Option<Position> {
        let mut position = Position::default();
        let mut points = 0;
        for letter in letters.chars() {
            let stone = 1_u32.checked_shl(points)? & self.all;
            match letter {
                '.' => {}
                'X' => position.black |= stone,
                'O' => position.white |= stone,
                _ => return None,
            }
            points += 1;
        }
        (points == self.points()).then_some(position)
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.height, self.length)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::go::brute;

    #[test]
    fn moves_worked_by_hand() {
        // Points are numbered down the columns; boards of height 2 are written column by column.
        for (height, length, before, point, colour, after) in [
            (1, 4, ".XO.", 3, Colour::Black, Some(".X.X")),
            (1, 4, "X.X.", 1, Colour::White, Some(".OX.")),
            // Suicide of a single stone.
            (1, 4, "XX.X", 2, Colour::White, Some("..O.")),
            (1, 5, ".X.X.", 2, Colour::White, None),
            (1, 4, "X.X.", 1, Colour::Black, Some("XXX.")),
            (1, 4, "X.X.", 0, Colour::White, None),
            // Black has the last liberty of its own string and dies with it.
            (1, 4, "X.OO", 1, Colour::Black, Some("XX..")),
            (1, 4, "O.OO", 1, Colour::Black, Some(".X..")),
            (1, 3, "XX.", 2, Colour::Black, Some("...")),
            // Capture comes before suicide.
            (1, 2, "X.", 1, Colour::White, Some(".O")),
            (2, 2, "XXO.", 3, Colour::White, Some("..OO")),
            (2, 2, "XXO.", 3, Colour::Black, Some("XX.X")),
            (2, 2, "OXX.", 3, Colour::White, Some("O..O")),
        ] {
            let rules = Rules::new(height, length).unwrap();
            let position = rules.from_letters(before).unwrap();
            let got = rules.play(position, Move { point, colour }).map(|next| rules.letters(next));
            assert_eq!(got.as_deref(), after, "{before} {colour:?} at {point}");
        }
    }

    /// Every position is reached as a legal one, by as many moves as predicted, to different positions.
    #[test]
    fn legal_positions_lead_to_legal_positions() {
        for (height, length) in [(1, 1), (1, 2), (1, 6), (2, 2), (2, 3), (3, 2), (3, 3)] {
            let rules = Rules::new(height, length).unwrap();
            let legal: HashSet<Position> = rules.legal_positions().collect();
            assert_eq!(brute::count(height, length), Some(legal.len() as u64), "{rules}");
            for &position in &legal {
                let next: HashSet<Position> = rules.moves(position).map(|(_, next)| next).collect();
                assert!(next.is_subset(&legal), "{rules}: {}", rules.letters(position));
                assert_eq!(next.len(), rules.moves(position).count(), "{rules}: {}", rules.letters(position));
                assert_eq!(next.len(), rules.degree(position) as usize, "{rules}: {}", rules.letters(position));
                assert_eq!(rules.from_letters(&rules.letters(position)), Some(position));
            }
        }
    }

    #[test]
    fn what_is_no_board_or_move_is_refused() {
        for (height, length) in [(0, 1), (1, 0), (3, 7), (21, 1), (u32::MAX, 2)] {
            assert_eq!(Rules::new(height, length), None, "{height}x{length}");
        }
        let rules = Rules::new(1, 3).unwrap();
        for (before, point) in [("X..", 0), ("O..", 0), ("...", 3), ("...", 77)] {
            let one = Move { point, colour: Colour::Black };
            assert_eq!(rules.play(rules.from_letters(before).unwrap(), one), None, "{before} {point}");
        }
        for letters in ["", "..", "....", "..x", &".".repeat(40)] {
            assert_eq!(rules.from_letters(letters), None, "{letters}");
        }
    }
}
