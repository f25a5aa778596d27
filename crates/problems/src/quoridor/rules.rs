//! The rules on a board with fences: where a fence has room, ways to the goals, moves of pawns. The brute-force count and players
//! share them.
//!
//! Squares are bits, square (row, column) is bit `row * n + column`. The first player's goal is row n-1, the second's row 0.
//! A fence lies on one intersection of edges and blocks two edges. Pawns do not block ways. Whose turn it is, and that nobody may
//! be cut off, is in [`super::game`].
//!
//! A pawn moves to a neighbouring square that no fence cuts off. If the other pawn stands there, it jumps: straight over, or
//! where a fence or the edge of the board stands behind, to the squares beside that pawn.
//!
//! ```text
//!   . . . .       . . # .      A stands below B: it jumps to x.
//!   . . x .       . x B x      # a fence, or the edge
//!   . . B .       . . A .
//!   . . A .
//! ```
//!
//! Cost: a flood of up to n^2 steps of a few operations for each way.

/// A set of squares, or of intersections: square (row, column) is bit `row * n + column`.
pub type Squares = u128;

/// Most squares a side: n^2 bits must fit [`Squares`].
pub const MAX_SIDE: u32 = 11;

/// Direction of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Between two rows.
    Horizontal,
    /// Between two columns.
    Vertical,
}

/// A fence: its direction, and row and column of its intersection. Intersection (row, column) lies between the squares (row,
/// column) and (row + 1, column + 1).
pub type Fence = (Direction, u32, u32);

/// Whether a fence has room: none lies on its intersection, and none of its direction on the next ones along it, since a fence is
/// two edges long. `lies` tells where fences lie; it is asked about intersections off the board, too.
pub fn has_room((direction, row, column): Fence, lies: impl Fn(Fence) -> bool) -> bool {
    let (before, after) = match direction {
        Direction::Horizontal => ((row, column.wrapping_sub(1)), (row, column.saturating_add(1))),
        Direction::Vertical => ((row.wrapping_sub(1), column), (row.saturating_add(1), column)),
    };
    let overlaps = [before, after].into_iter().any(|(row, column)| lies((direction, row, column)));
    let is_taken = [Direction::Horizontal, Direction::Vertical].into_iter().any(|one| lies((one, row, column)));
    !overlaps && !is_taken
}

/// Squares whose edge to the square at their right, or below them, is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    n: u32,
    right: Squares,
    down: Squares,
}

impl Open {
    /// A board of n x n squares without fences; `None` where n is not in 2..=[`MAX_SIDE`].
    pub fn new(n: u32) -> Option<Self> {
        if !(2..=MAX_SIDE).contains(&n) {
            return None;
        }
        let all: Squares = (1 << (n * n)) - 1;
        let last_column: Squares = (0..n).fold(0, |set, row| set | 1 << (row * n + n - 1));
        Some(Self { n, right: all & !last_column, down: all >> n })
    }

    /// The board with one more fence at the intersection (row, column).
    #[must_use]
    pub fn with_fence(self, direction: Direction, row: u32, column: u32) -> Self {
        let square: Squares = 1 << (row * self.n + column);
        match direction {
            Direction::Horizontal => Self { down: self.down & !(square | square << 1), ..self },
            Direction::Vertical => Self { right: self.right & !(square | square << self.n), ..self },
        }
    }

    /// Squares a side.
    pub fn side(&self) -> u32 {
        self.n
    }

    /// The squares one step from a square of `set`.
    pub fn neighbours(&self, set: Squares) -> Squares {
        let sideways = (set & self.right) << 1 | set >> 1 & self.right;
        let upright = (set & self.down) << self.n | set >> self.n & self.down;
        sideways | upright
    }

    /// The squares from which a square of `goal` can be reached, pawns left out.
    pub fn reaches(&self, goal: Squares) -> Squares {
        let mut reached = goal;
        loop {
            let next = reached | self.neighbours(reached);
            if next == reached {
                return reached;
            }
            reached = next;
        }
    }

    /// Fewest steps from a square of `from` to one of `goal`, pawns left out.
    pub fn distance(&self, from: Squares, goal: Squares) -> Option<u32> {
        let mut reached = from;
        let mut steps = 0;
        while reached & goal == 0 {
            let next = reached | self.neighbours(reached);
            if next == reached {
                return None;
            }
            reached = next;
            steps += 1;
        }
        Some(steps)
    }

    /// The goal row of a player, 0 or 1.
    pub fn goal(&self, player: usize) -> Squares {
        self.row(if player == 0 { self.n - 1 } else { 0 })
    }

    /// The squares of a row; none of a row that the board has not.
    pub fn row(&self, row: u32) -> Squares {
        if row < self.n { ((1 << self.n) - 1) << (self.n * row) } else { 0 }
    }

    /// The squares to which the pawn on `pawn` moves, where the other one stands on `other`. Both are single squares.
    pub fn pawn_moves(&self, pawn: Squares, other: Squares) -> Squares {
        let near = self.neighbours(pawn);
        if near & other == 0 {
            return near;
        }
        // Straight on from the other pawn: as far as it is from this one.
        let around = self.neighbours(other) & !pawn;
        let (from, over) = (pawn.trailing_zeros(), other.trailing_zeros());
        let behind = (2 * over).checked_sub(from).and_then(|to| 1_u128.checked_shl(to)).unwrap_or(0);
        let straight = around & behind;
        near & !other | if straight == 0 { around } else { straight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pawns_move_and_jump() {
        use Direction::{Horizontal, Vertical};
        for (pawns, fences, expected) in [
            ([(2, 2), (4, 4)], &[][..], &[(1, 2), (2, 1), (2, 3), (3, 2)][..]),
            ([(0, 0), (4, 4)], &[], &[(0, 1), (1, 0)]),
            ([(2, 2), (4, 4)], &[(Horizontal, 1, 2), (Vertical, 2, 2)], &[(2, 1), (3, 2)]),
            // Straight over the other pawn.
            ([(1, 2), (2, 2)], &[], &[(0, 2), (1, 1), (1, 3), (3, 2)]),
            ([(2, 3), (2, 2)], &[], &[(1, 3), (2, 1), (2, 4), (3, 3)]),
            // A fence behind it, or the edge; and one of the diagonals closed, or both.
            ([(1, 2), (2, 2)], &[(Horizontal, 2, 2)], &[(0, 2), (1, 1), (1, 3), (2, 1), (2, 3)]),
            ([(2, 1), (2, 0)], &[], &[(1, 0), (1, 1), (2, 2), (3, 0), (3, 1)]),
            ([(2, 1), (2, 0)], &[(Horizontal, 1, 0)], &[(2, 2), (3, 0), (3, 1)]),
            ([(2, 1), (2, 0)], &[(Horizontal, 1, 0), (Horizontal, 2, 0)], &[(2, 2)]),
            // In a corner; and a fence at the side of the other pawn does not stop a straight jump.
            ([(0, 1), (0, 0)], &[], &[(0, 2), (1, 0), (1, 1)]),
            ([(1, 2), (2, 2)], &[(Vertical, 2, 2)], &[(0, 2), (1, 1), (1, 3), (3, 2)]),
            // A fence between the pawns.
            ([(1, 2), (2, 2)], &[(Horizontal, 1, 1)], &[(0, 2), (1, 1), (1, 3)]),
        ] {
            let mut open = Open::new(5).unwrap();
            for &(direction, row, column) in fences {
                open = open.with_fence(direction, row, column);
            }
            let [pawn, other] = pawns.map(|(row, column)| 1 << (row * 5 + column));
            let moves = open.pawn_moves(pawn, other);
            let got: Vec<(u32, u32)> = (0..25).filter(|s| moves >> s & 1 == 1).map(|s| (s / 5, s % 5)).collect();
            assert_eq!(got, expected, "{pawns:?} {fences:?}");
        }
    }

    #[test]
    fn ways_lead_round_fences() {
        use Direction::{Horizontal, Vertical};
        for (fences, expected) in [
            (&[][..], Some(4)),
            (&[(Horizontal, 0, 2)], Some(5)),
            (&[(Horizontal, 0, 1), (Horizontal, 0, 3)], Some(6)),
            (&[(Horizontal, 0, 0), (Horizontal, 0, 2)], Some(6)),
            (&[(Horizontal, 0, 0), (Horizontal, 0, 2), (Vertical, 0, 3)], None),
        ] {
            let mut open = Open::new(5).unwrap();
            for &(direction, row, column) in fences {
                open = open.with_fence(direction, row, column);
            }
            let steps = open.distance(1 << 2, open.goal(0));
            assert_eq!(steps, expected, "{fences:?}");
            assert_eq!(open.reaches(open.goal(0)) >> 2 & 1 == 1, steps.is_some(), "{fences:?}");
        }
        let open = Open::new(5).unwrap();
        assert_eq!((open.row(1), open.row(5), open.goal(1)), (0b11111 << 5, 0, 0b11111));
    }
}
