//! Knight's tours by walking: the lowest rung of the ladder.
//!
//! Every walk that enters no cell twice and visits all is a directed tour. A tour of more than one cell has two
//! directions. Cost: exponential in the cells; 5x6 is the limit.

use super::tours::{Tours, adjacent};
use keima_model::Board;

/// Most cells that a board may have.
pub const MAX_CELLS: u32 = 30;

/// Counts the undirected tours of `board`, or `None` where it has more than [`MAX_CELLS`] cells.
pub fn count(board: Board, tours: Tours) -> Option<u64> {
    let cells = board.height.checked_mul(board.length).filter(|cells| (1..=MAX_CELLS).contains(cells))?;
    let neighbours: Vec<u32> = (0..cells)
        .map(|cell| (0..cells).filter(|&other| adjacent(board, cell, other)).fold(0, |set, other| set | 1 << other))
        .collect();
    let all = (1 << cells) - 1;
    // Tours from `first` whose last cell is one of `last`.
    let from = |first: u32, last: u32| walks(&neighbours, all & !(1 << first), first, last);
    Some(match tours {
        // One cell alone is a path, whose two directions are the same.
        Tours::Open if cells == 1 => 1,
        Tours::Open => (0..cells).map(|first| from(first, all)).sum::<u64>() / 2,
        // Two cells and one edge are no cycle.
        Tours::Closed if cells < 3 => 0,
        Tours::Closed => from(0, neighbours[0]) / 2,
        Tours::Between(a, b) => from(a, 1 << b),
    })
}

/// Walks from `cell` through all of `left`, ending in `last`.
fn walks(neighbours: &[u32], left: u32, cell: u32, last: u32) -> u64 {
    if left == 0 {
        return u64::from(last >> cell & 1);
    }
    let mut next = neighbours[cell as usize] & left;
    let mut sum = 0;
    while next != 0 {
        let step = next.trailing_zeros();
        next &= next - 1;
        sum += walks(neighbours, left & !(1 << step), step, last);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_boards_worked_by_hand() {
        let board = |height, length| Board { height, length };
        // 1x1: one cell. 3x3: the centre has no neighbour. 3x4: a classic, 8 tours in all.
        for (height, length, tours, expected) in [
            (1, 1, Tours::Open, 1),
            (1, 1, Tours::Closed, 0),
            (1, 2, Tours::Open, 0),
            (2, 3, Tours::Open, 0),
            (3, 3, Tours::Open, 0),
            (3, 4, Tours::Open, 8),
            (3, 4, Tours::Closed, 0),
        ] {
            assert_eq!(count(board(height, length), tours), Some(expected), "{height}x{length} {tours:?}");
        }
        assert_eq!(count(board(4, 8), Tours::Open), None);
    }
}
