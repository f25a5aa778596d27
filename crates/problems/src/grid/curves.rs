//! Which curves of a board are counted: paths or cycles, through all cells or through any.

use keima_model::Board;

/// The curves that are counted on a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Curves {
    /// The ends of paths, two corners; the same cell on boards one cell wide. None for cycles.
    pub ends: Option<(u32, u32)>,
    /// Whether only curves through all cells count.
    pub hamiltonian: bool,
}

impl Curves {
    /// All curves of this board: cycles, and paths from the first cell to one of the other corners.
    pub fn all(board: Board) -> Vec<Self> {
        let last = board.passes() - 1;
        let mut ends = vec![None, Some((0, last)), Some((0, board.height - 1)), Some((0, last + 1 - board.height))];
        // On boards one cell wide corners are the same.
        ends.sort_unstable();
        ends.dedup();
        ends.into_iter().flat_map(|ends| [false, true].map(|hamiltonian| Self { ends, hamiltonian })).collect()
    }
}
