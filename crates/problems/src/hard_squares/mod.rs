//! Hard squares: `hard-squares MxN`, the sets of cells of a grid in which no two are neighbours.
//!
//! The simplest problem of all. A state is the m cells last filled, one bit each (bit i is row i); a cell may be taken if
//! the ones above it and to its left are not. The ladder: [`brute`], [`border`], [`HardSquares`].
//!
//! ```text
//!   Canonical, and the working form     | row m-1 ...... row 0 |                      m bits
//!   Stage(window of rows f .. f+w)      | rows outside | rows f+w-1 ... f |           rotated right by f
//!                                       |<- m-w bits ->|<---- w bits ---->|           no pass of the stage changes the first
//! ```
//!
//! Numbers of states are products of two Fibonacci numbers: the rows filled in this column and the rest are two
//! independent paths. Cost: a few nanoseconds a state and pass; what is left is the engine's.

pub mod border;
pub mod brute;
pub(crate) mod size;

use std::sync::Arc;

use keima_model::{
    About, AnyProblem, Board, Forecast, Functional, Layout, Problem, ProblemError, ProblemInfo, ProblemRequest,
    Successors, Window,
};

/// What `keima problems hard-squares` says.
pub const ABOUT: About = About {
    summary: "hard squares: sets of cells without neighbours",
    definition: "Sets of cells of the m x n grid in which no two cells are neighbours in a row or column: independent \
                 sets of the grid graph, the empty set among them.",
    size: "MxN in either order; the smaller side 1 to 56, the larger up to 10000",
    options: &[],
    known: "A006506 of the OEIS has the square boards (R. Gerbicz to n = 33, others to 39), A089934 the others.",
    examples: &["keima count hard-squares 12x12"],
};

/// The square boards of A006506, as the OEIS has them: n and a(n).
const A006506: &str = include_str!("a006506.txt");

/// The problem that `request` describes: size `"MxN"`, no options.
pub fn open(request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
    size::no_options(request)?;
    let board = size::board(request, 56, 10_000)?;
    Ok(AnyProblem::Narrow(Arc::new(HardSquares { size: request.size.clone(), board })))
}

/// The number of independent sets of a grid as a border-state recurrence.
pub struct HardSquares {
    /// As the user gave it.
    pub size: String,
    /// Filled column by column; at most 63 high.
    pub board: Board,
}

/// Independent sets of a path of `cells` cells: 1, 2, 3, 5, 8, ...
fn paths(cells: u32) -> u128 {
    (0..cells).fold((1, 1), |(count, before): (u128, u128), _| (count + before, count)).0
}

impl ProblemInfo for HardSquares {
    fn name(&self) -> &'static str {
        "hard-squares"
    }
    fn size(&self) -> String {
        self.size.clone()
    }
    fn board(&self) -> Board {
        self.board
    }
    fn identity(&self) -> String {
        format!("hard-squares: independent sets, board {}, encoding 1", self.board)
    }
    fn key_bits(&self) -> u32 {
        self.board.height
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        self.bound_after(self.board.passes() - 1)
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        // The cells so far lie on one path, up one column and down the next: pairs of neighbours, 3 ways each.
        vec![(3, (pass + 1).div_ceil(2))]
    }
    fn functionals(&self) -> Vec<Functional> {
        let Board { height, length } = self.board;
        let square = A006506.lines().filter_map(|line| line.split_once(' ')).find(|(n, _)| *n == height.to_string());
        let column = |index| Functional {
            after_pass: height * index - 1,
            name: format!("H({height},{index})"),
            index,
            answer: index == length,
            known: square.filter(|_| index == height).map(|(_, value)| value.to_owned()),
            formula: None,
        };
        (1..=length).map(column).collect()
    }
    fn family_bits(&self, layout: Layout) -> u32 {
        match layout {
            Layout::Stage(window) => window.len,
            Layout::Canonical => self.board.height,
        }
    }
    fn largest_family(&self, window: Window) -> Option<u128> {
        (0..=window.len).map(|new| paths(new) * paths(window.len - new)).max()
    }
    fn forecast(&self) -> Option<Forecast> {
        let Board { height, .. } = self.board;
        let old = |pass| if pass < height { 0 } else { height - self.board.cell(pass) };
        let states = |pass| paths(self.board.cell(pass)) * paths(old(pass));
        Some(Forecast { states: (0..=self.board.passes()).map(states).collect() })
    }
}

impl Problem<u64> for HardSquares {
    fn start(&self) -> Vec<(u64, u64)> {
        vec![(0, 1)]
    }
    fn leave(&self, _: Window, layout: Layout, keys: &mut [u64]) {
        if let Layout::Stage(window) = layout {
            rotate(keys, self.board.height, window.first);
        }
    }
    fn enter(&self, layout: Layout, _: Window, keys: &mut [u64]) {
        if let Layout::Stage(window) = layout {
            rotate(keys, self.board.height, self.board.height - window.first);
        }
    }
    fn expand(&self, pass: u32, _: Window, keys: &[u64], out: &mut Successors<u64>) {
        let left = 1 << self.board.cell(pass);
        let above = left >> 1;
        for key in keys {
            out.keys.push(key & !left);
            let free = key & (left | above) == 0;
            if free {
                out.keys.push(key | left);
            }
            out.degrees.push(1 + u8::from(free));
        }
    }
    fn weigh(&self, _: usize, _: Window, _: &[u64], weights: &mut [u32]) {
        weights.fill(1);
    }
}

/// Rotates the low `bits` bits of each key to the right.
fn rotate(keys: &mut [u64], bits: u32, by: u32) {
    for key in keys {
        *key = *key >> by | (*key & ((1 << by) - 1)) << (bits - by);
    }
}
