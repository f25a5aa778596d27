//! The graph of knight's moves, and which of its tours are counted.

use keima_model::Board;

/// Which tours are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tours {
    /// All open tours.
    Open,
    /// All closed tours.
    Closed,
    /// Open tours with these two cells for ends, in the order in which passes add cells.
    Between(u32, u32),
}

/// Column and row of a cell.
pub(super) fn place(board: Board, cell: u32) -> (u32, u32) {
    (board.column(cell), board.cell(cell))
}

/// Whether a knight's move leads from one cell to the other, both on the board.
pub(super) fn adjacent(board: Board, cell: u32, other: u32) -> bool {
    let ((x, y), (u, v)) = (place(board, cell), place(board, other));
    cell.max(other) < board.passes() && matches!((x.abs_diff(u), y.abs_diff(v)), (1, 2) | (2, 1))
}

/// Whether a cell has the colour of the first one.
pub(super) fn is_black(board: Board, cell: u32) -> bool {
    let (x, y) = place(board, cell);
    (x + y) % 2 == 0
}

/// The numbers of cells by which knight's moves lead on, in ascending order: m-2, m+2, 2m-1 and 2m+1.
pub(super) fn steps(height: u32) -> impl Iterator<Item = u32> {
    let all =
        [height.saturating_sub(2), (height + 2).min(2 * height - 1), (height + 2).max(2 * height - 1), 2 * height + 1];
    // On the lowest boards some are the same, or no moves.
    (0..4).filter(move |&i| all[i] > 0 && !all[..i].contains(&all[i])).map(move |i| all[i])
}
