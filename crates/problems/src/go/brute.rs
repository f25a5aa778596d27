//! Legal Go positions by a test of every colouring: the lowest rung of the ladder.
//!
//! A position colours each point empty, black or white. It is legal if every string (connected stones of one colour)
//! has an adjacent empty point. Equivalently: the flood that starts at the stones of a colour that touch an empty
//! point, and spreads over stones of that colour, reaches all of them.
//!
//! Paper: Tromp and Farnebäck, *Combinatorics of Go* (2016), section 2. Cost: 3^(mn) floods of a few operations each on
//! a bitboard; mn = 20 is the limit.

/// A set of points, one bit each: point (row, column) is bit `column * height + row`.
type Points = u32;

/// Most points that a board may have.
pub const MAX_POINTS: u32 = 20;

/// Counts the legal positions on `height` x `length` points, or `None` where there are more than [`MAX_POINTS`].
pub fn count(height: u32, length: u32) -> Option<u64> {
    let points = height.checked_mul(length).filter(|points| (1..=MAX_POINTS).contains(points))?;
    let grid = Grid::new(height, points);
    let mut legal = 0;
    for black in 0..=grid.all {
        let rest = grid.all & !black;
        // All subsets of the points that are not black, from all of them down to none.
        let mut white = rest;
        loop {
            legal += u64::from(grid.is_legal(black, white));
            if white == 0 {
                break;
            }
            white = (white - 1) & rest;
        }
    }
    Some(legal)
}

/// The board's shape as masks.
struct Grid {
    height: u32,
    all: Points,
    not_top: Points,
    not_bottom: Points,
}

impl Grid {
    fn new(height: u32, points: u32) -> Self {
        let top = (0..points).step_by(height as usize).fold(0, |set, point| set | 1 << point);
        let bottom: Points = top << (height - 1);
        let all = (1 << points) - 1;
        Self { height, all, not_top: all & !top, not_bottom: all & !bottom }
    }

    /// Points adjacent to a point of `set`.
    fn neighbours(&self, set: Points) -> Points {
        let vertical = (set & self.not_top) >> 1 | (set & self.not_bottom) << 1;
        (vertical | set >> self.height | set << self.height) & self.all
    }

    /// Whether every string of both colours has a liberty.
    fn is_legal(&self, black: Points, white: Points) -> bool {
        let beside_empty = self.neighbours(self.all & !black & !white);
        self.flood_covers(black, beside_empty) && self.flood_covers(white, beside_empty)
    }

    /// Whether the flood from `stones & seeds` through `stones` reaches all of `stones`.
    fn flood_covers(&self, stones: Points, seeds: Points) -> bool {
        let mut reached = stones & seeds;
        loop {
            let next = reached | self.neighbours(reached) & stones;
            if next == reached {
                return reached == stones;
            }
            reached = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_boards_worked_by_hand() {
        // 1x1: empty. 1x2: all but the four full ones. 2x2: table 3 of the paper.
        for (height, length, expected) in
            [(1, 1, 1), (1, 2, 5), (2, 1, 5), (1, 3, 15), (2, 2, 57), (2, 3, 489), (3, 2, 489)]
        {
            assert_eq!(count(height, length), Some(expected), "{height}x{length}");
        }
    }

    #[test]
    fn boards_out_of_reach_are_refused() {
        for (height, length) in [(0, 1), (1, 0), (3, 7), (21, 1), (u32::MAX, 2)] {
            assert_eq!(count(height, length), None, "{height}x{length}");
        }
    }
}
