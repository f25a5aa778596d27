//! Hard squares: `hard-squares MxN`, the sets of cells of a grid in which no two are neighbours.
//!
//! The simplest problem of all. `docs/problems/tutorial.md` writes it from nothing, and quotes this code. A state is the m
//! cells last filled, one bit each: bit i is row i. A cell may be taken if the ones above it and to its left are not. The
//! ladder: [`brute`], [`border`], [`HardSquares`]; [`published`] values.
//!
//! ```text
//!   Canonical, and the working form     | row m-1 ...... row 0 |                      m bits
//!   Stage(window of rows f .. f+w)      | rows outside | rows f+w-1 ... f |           rotated right by f
//!                                       |<- m-w bits ->|<---- w bits ---->|           no pass changes the first
//! ```
//!
//! Numbers of states are products of two Fibonacci numbers: the rows filled in this column and the rest are two
//! independent paths. Cost: a few instructions a state and pass.

pub mod border;
pub mod brute;
pub mod published;
mod request;

use keima_model::{Board, Forecast, Functional, Layout, Problem, ProblemInfo, Successors, Window};

pub(crate) use request::turned;
pub use request::{ABOUT, open};

/// The number of independent sets of a grid as a border-state recurrence.
pub struct HardSquares {
    /// Filled column by column; at most 63 high.
    pub board: Board,
}

impl ProblemInfo for HardSquares {
    fn name(&self) -> &'static str {
        "hard-squares"
    }
    fn board(&self) -> Board {
        self.board
    }
    fn key_bits(&self) -> u32 {
        self.board.height
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        // All cells lie on one path, up one column and down the next: pairs of neighbours, with 3 sets of each.
        vec![(3, self.board.passes().div_ceil(2))]
    }
    fn functionals(&self) -> Vec<Functional> {
        Functional::column_ends(self.board, "H", |length| published::known(self.board.height, length))
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        vec![(3, (pass + 1).div_ceil(2))]
    }
    fn family_bits(&self, layout: Layout) -> u32 {
        if let Layout::Stage(window) = layout { window.len } else { self.board.height }
    }
    fn largest_family(&self, window: Window) -> Option<u128> {
        Some(1 << window.len)
    }
    fn forecast(&self) -> Option<Forecast> {
        let states = (0..=self.board.passes()).map(|pass| border::states(self.board, pass));
        Some(Forecast { states: states.collect() })
    }
}

impl Problem<u64> for HardSquares {
    fn expand(&self, pass: u32, _: Window, keys: &[u64], out: &mut Successors<u64>) {
        let left = 1 << self.board.cell(pass);
        for key in keys {
            let free = key & (left | left >> 1) == 0;
            out.keys.push(key & !left);
            out.keys.extend(free.then_some(key | left));
            out.degrees.push(1 + u8::from(free));
        }
    }
    fn leave(&self, _: Window, layout: Layout, keys: &mut [u64]) {
        rotate(keys, self.board.height, first(layout));
    }
    fn enter(&self, layout: Layout, _: Window, keys: &mut [u64]) {
        rotate(keys, self.board.height, self.board.height - first(layout));
    }
}

/// The row that stands in the lowest bit.
fn first(layout: Layout) -> u32 {
    if let Layout::Stage(window) = layout { window.first } else { 0 }
}

/// Rotates the low `bits` bits of each key to the right.
fn rotate(keys: &mut [u64], bits: u32, by: u32) {
    for key in keys {
        *key = *key >> by | (*key & ((1 << by) - 1)) << (bits - by);
    }
}
