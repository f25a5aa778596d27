//! Borders of any height: the tree of partial positions, for sampling boards far beyond the reach of keys.
//!
//! The rules are those of `border.rs`: what a point of the border is decides what may follow. Here a string without a
//! liberty is named by the number of the cell that made it, so that names need not be put in order. All colourings are
//! there, without symmetry.
//!
//! ```text
//!   point     0 edge   1 empty   2, 3 free black, white   4 + 2 * name + colour: needy
//!   stratum   (cells to come) << 32 | height - number of strings without a liberty       (the paper's)
//! ```
//!
//! Paper: Tromp and Farnebäck, *Combinatorics of Go* (2016), section 5.8. Cost: a walk along the border for a child, and a
//! copy of it, four bytes a point, for one that is made.

use keima_model::{Board, ProblemError, ProblemRequest, Tree};

use crate::size;

const EDGE: u32 = 0;
const EMPTY: u32 = 1;
const FREE: u32 = 2;
const NEEDY: u32 = 4;

/// Most cells: names of cells must fit the codes of points.
pub const MAX_CELLS: u32 = 1 << 30;
/// Most points of the smaller side that [`open`] takes; a run of 1000x1000 takes minutes.
pub const MAX_HEIGHT: u32 = 1000;

/// The tree that `request` describes: `None` if it is not of Go. Sizes are as for counts, but larger.
pub fn open(request: &ProblemRequest) -> Option<Result<WideGo, ProblemError>> {
    (request.name == "go").then(|| {
        size::no_options(request)?;
        Ok(WideGo { board: size::board(request, MAX_HEIGHT, super::MAX_LENGTH)? })
    })
}

/// The partial positions of a board.
#[derive(Clone, Copy, Debug)]
pub struct WideGo {
    board: Board,
}

/// The border of a partial position.
#[derive(Clone, Debug)]
pub struct WideBorder {
    /// Cells filled.
    filled: u32,
    /// Strings of the border without a liberty.
    needy: u32,
    points: Vec<u32>,
}

/// The content of the next cell: its code before strings are joined.
#[derive(Clone, Copy, Debug)]
pub enum Next {
    /// Empty.
    Empty,
    /// A stone of this colour, 0 or 1.
    Stone(u32),
}

impl WideGo {
    /// The tree of a board; `None` for no cells or too many.
    pub fn new(board: Board) -> Option<Self> {
        let cells = u64::from(board.height) * u64::from(board.length);
        (1..=u64::from(MAX_CELLS)).contains(&cells).then_some(Self { board })
    }

    /// The board, filled down its columns.
    pub fn board(self) -> Board {
        self.board
    }

    fn stratum(self, filled: u32, needy: u32) -> u64 {
        u64::from(self.board.passes() - filled) << 32 | u64::from(self.board.height - needy)
    }

    /// The neighbours of the next cell, west and north.
    fn neighbours(self, border: &WideBorder) -> (usize, u32, u32) {
        let row = self.board.cell(border.filled) as usize;
        let north = row.checked_sub(1).map_or(EDGE, |above| border.points[above]);
        (row, border.points[row], north)
    }
}

/// The colour of a stone, free or needy; of others a number that is no colour.
fn colour(point: u32) -> u32 {
    if point < FREE { 2 } else { point & 1 }
}

/// The strings without a liberty among two neighbours that `joins` names: both, where they are different.
fn needy_among(west: u32, north: u32, joins: impl Fn(u32) -> bool) -> [Option<u32>; 2] {
    let needy = |point: u32| (point >= NEEDY && joins(point)).then_some(point);
    [needy(west), needy(north).filter(|&north| north != west)]
}

impl Tree for WideGo {
    type Node = WideBorder;
    type Child = Next;

    fn roots(&self) -> Vec<(u64, WideBorder, u64)> {
        let points = vec![EDGE; self.board.height as usize];
        vec![(self.stratum(0, 0), WideBorder { filled: 0, needy: 0, points }, 1)]
    }

    fn grow(&self, border: &WideBorder, out: &mut Vec<(u64, Next)>) {
        if border.filled == self.board.passes() {
            return;
        }
        let (row, west, north) = self.neighbours(border);
        let fewer = |strings: [Option<u32>; 2]| border.needy - strings.iter().flatten().count() as u32;
        let filled = border.filled + 1;
        out.push((self.stratum(filled, fewer(needy_among(west, north, |_| true))), Next::Empty));
        for stone in 0..2 {
            let leaves_last = west >= NEEDY
                && colour(west) != stone
                && !border.points.iter().enumerate().any(|(at, &point)| at != row && point == west);
            if leaves_last {
                continue;
            }
            let has_liberty = [west, north].iter().any(|&point| point == EMPTY || point == FREE + stone);
            let needy = fewer(needy_among(west, north, |point| colour(point) == stone)) + u32::from(!has_liberty);
            out.push((self.stratum(filled, needy), Next::Stone(stone)));
        }
    }

    fn make(&self, border: &WideBorder, next: Next) -> WideBorder {
        let (row, west, north) = self.neighbours(border);
        let mut made = WideBorder { filled: border.filled + 1, ..border.clone() };
        let mut rename = |strings: [Option<u32>; 2], to: &dyn Fn(u32) -> u32| {
            for string in strings.into_iter().flatten() {
                made.needy -= 1;
                made.points.iter_mut().filter(|point| **point == string).for_each(|point| *point = to(string));
            }
        };
        match next {
            Next::Empty => {
                rename(needy_among(west, north, |_| true), &|string| FREE + colour(string));
                made.points[row] = EMPTY;
            }
            Next::Stone(stone) => {
                let has_liberty = [west, north].iter().any(|&point| point == EMPTY || point == FREE + stone);
                let own = if has_liberty { FREE + stone } else { NEEDY + 2 * border.filled + stone };
                rename(needy_among(west, north, |point| colour(point) == stone), &|_| own);
                made.points[row] = own;
                made.needy += u32::from(!has_liberty);
            }
        }
        made
    }

    fn value(&self, border: &WideBorder) -> u64 {
        u64::from(border.filled == self.board.passes() && border.needy == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go::brute;

    /// Sum of all values below a node, with each child's stratum checked.
    fn count(tree: WideGo, border: &WideBorder) -> u64 {
        let mut children = Vec::new();
        tree.grow(border, &mut children);
        let below = children.into_iter().map(|(stratum, next)| {
            let child = tree.make(border, next);
            let mut strings: Vec<u32> = child.points.iter().copied().filter(|&point| point >= NEEDY).collect();
            strings.sort_unstable();
            strings.dedup();
            assert_eq!(child.needy as usize, strings.len(), "{border:?} {next:?} {child:?}");
            assert_eq!(stratum, tree.stratum(child.filled, child.needy), "{border:?} {next:?} {child:?}");
            count(tree, &child)
        });
        tree.value(border) + below.sum::<u64>()
    }

    #[test]
    fn the_whole_tree_has_the_legal_positions() {
        for height in 1..=11 {
            for length in 1..=11 / height {
                let tree = WideGo::new(Board { height, length }).unwrap();
                let [(_, root, 1)] = &tree.roots()[..] else { panic!("one root") };
                assert_eq!(Some(count(tree, root)), brute::count(height, length), "{height}x{length}");
            }
        }
    }

    #[test]
    fn boards_without_cells_are_refused() {
        for (height, length) in [(0, 1), (1, 0), (1 << 16, 1 << 16)] {
            assert!(WideGo::new(Board { height, length }).is_none(), "{height}x{length}");
        }
    }
}
