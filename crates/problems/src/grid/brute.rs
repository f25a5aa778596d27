//! Paths and cycles of the grid graph by walking: the lowest rung of the ladder.
//!
//! Every walk that enters no cell twice. A path is found once, from its first end; a cycle twice, from its least cell
//! and through larger ones only. Cost: exponential in the cells; 5x6 is the limit.

use keima_model::Board;

use super::curves::Curves;

/// Most cells that a board may have.
pub const MAX_CELLS: u32 = 30;

/// Counts the `curves` of `board`, or `None` where it has more than [`MAX_CELLS`] cells.
pub fn count(board: Board, curves: Curves) -> Option<u64> {
    let cells = board.height.checked_mul(board.length).filter(|cells| (1..=MAX_CELLS).contains(cells))?;
    let adjacent = |cell: u32, other: u32| {
        let (columns, rows) =
            (board.column(cell).abs_diff(board.column(other)), board.cell(cell).abs_diff(board.cell(other)));
        columns + rows == 1
    };
    let neighbours: Vec<u32> = (0..cells)
        .map(|cell| (0..cells).filter(|&other| adjacent(cell, other)).fold(0, |set, other| set | 1 << other))
        .collect();
    let all = (1_u32 << cells) - 1;
    // Cells that a finished curve may leave out.
    let most_left_out = if curves.hamiltonian { 0 } else { cells };
    let from = |first: u32, left: u32, finished: &dyn Fn(u32, u32, u32) -> bool| {
        walks(&neighbours, left & !(1 << first), first, 1, finished)
    };
    if let Some((a, b)) = curves.ends {
        return Some(from(a, all, &|cell, left, _| cell == b && left.count_ones() <= most_left_out));
    }
    let cycles = |first: u32| {
        let smaller = (1 << first) - 1;
        from(first, all & !smaller, &|cell, left, length| {
            let returns = length > 2 && neighbours[cell as usize] >> first & 1 == 1;
            returns && (left | smaller).count_ones() <= most_left_out
        })
    };
    Some((0..cells).map(cycles).sum::<u64>() / 2)
}

/// Number of walks on from `cell`, the last of `length` so far, through some of the cells `left`, that `counts` accepts as
/// finished.
fn walks(neighbours: &[u32], left: u32, cell: u32, length: u32, counts: &dyn Fn(u32, u32, u32) -> bool) -> u64 {
    let mut sum = u64::from(counts(cell, left, length));
    let mut next = neighbours[cell as usize] & left;
    while next != 0 {
        let step = next.trailing_zeros();
        next &= next - 1;
        sum += walks(neighbours, left & !(1 << step), step, length + 1, counts);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_boards_worked_by_hand() {
        // 3x3 has 4 cycles round a square, 4 round two, 4 round three, and the one round all four.
        for (height, length, ends, hamiltonian, expected) in [
            (1, 1, Some((0, 0)), true, 1),
            (1, 3, Some((0, 2)), true, 1),
            (1, 3, Some((0, 0)), false, 1),
            (1, 3, Some((0, 0)), true, 0),
            (2, 2, Some((0, 3)), false, 2),
            (2, 2, Some((0, 3)), true, 0),
            (2, 2, Some((0, 1)), true, 1),
            (3, 3, Some((0, 8)), false, 12),
            (3, 3, Some((0, 8)), true, 2),
            (1, 2, None, false, 0),
            (2, 2, None, true, 1),
            (2, 3, None, false, 3),
            (2, 3, None, true, 1),
            (3, 3, None, false, 13),
            (3, 3, None, true, 0),
        ] {
            let curves = Curves { ends, hamiltonian };
            assert_eq!(count(Board { height, length }, curves), Some(expected), "{height}x{length} {curves:?}");
        }
        assert_eq!(count(Board { height: 4, length: 8 }, Curves { ends: None, hamiltonian: false }), None);
    }
}
