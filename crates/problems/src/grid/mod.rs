//! Paths and cycles of the grid graph: `grid-paths MxN` and `grid-cycles MxN`.
//!
//! The cells of the board are the vertices, and edges join neighbours in a row or column. A path leads from corner to
//! corner, and a cycle from a cell back to it. Neither enters a cell twice; a Hamiltonian one enters all.
//!
//! A state is the edges that cut the border: one to the right from each row's last cell, one down from the last cell of
//! all. Partial paths do not cross, and they end in corners, on the rim. So their ends, read from the top, are brackets.
//! The ends of one path are a matching pair. A path from an end of the curve is a closing bracket without a partner, and no
//! pair encloses it.
//!
//! ```text
//!   Canonical, and the working form    | edges, row m-1 ... 0 |   | is closing, row m-1 ... 0 | down: is closing, edge |
//!   Stage(window of rows f .. f+w)     | edges outside | edges f+w-1 ... f | (the rest as it is)            2m+2 bits
//!                                      |<-- m-w bits ->|<---------------- w+m+2 bits ---------------->|
//! ```
//!
//! No pass of a stage adds or removes an edge in another row, but it may change the edge's partner, and with it the
//! bracket. A complete curve is the state without edges whose edge down "is closing".
//!
//! The ladder: [`brute`], [`border`], [`Grid`]; [`step`] has the successors, [`batch`] those of many states at a time,
//! [`brackets`] the form without keys, [`words`] the numbers of states, [`published`] the published values, [`bound`] proves
//! how many there are at most. Cost: about 3^m states.

mod batch;
pub mod border;
pub mod bound;
mod brackets;
pub mod brute;
mod curves;
pub mod published;
mod request;
pub mod step;
pub mod words;

use keima_model::{Board, BracketProblem, Forecast, Functional, Layout, Problem, ProblemInfo, Successors, Window};

pub use curves::Curves;
pub use request::{CYCLES, MAX_HEIGHT, MAX_LENGTH, PATHS, open_cycles, open_paths};

/// The number of curves as a border-state recurrence.
pub struct Grid {
    size: String,
    board: Board,
    curves: Curves,
    /// Prefix of the functionals' names, and whether they name the columns first.
    series: (&'static str, bool),
}

impl Grid {
    /// The problem on `board`; `size` is how the user calls it.
    ///
    /// # Panics
    /// If the keys do not fit, or [`Curves::all`] does not have the ends. [`open_paths`] checks requests.
    pub fn new(size: String, board: Board, curves: Curves) -> Self {
        assert!((1..=MAX_HEIGHT).contains(&board.height), "{board}: height must be 1 to {MAX_HEIGHT}");
        assert!(Curves::all(board).contains(&curves), "{board}: {curves:?} are not counted");
        let along_length = |(_, b)| b != 0 && b == board.passes() - board.height;
        let series = match curves.ends {
            None => ("C", false),
            Some(ends) if board.height > 1 && along_length(ends) => ("S", true),
            Some((_, b)) if b + 1 == board.height => ("S", false),
            Some(_) => ("P", false),
        };
        Self { size, board, curves, series }
    }

    /// The row in which paths of shorter boards end in their last column. Before the board's last column they are read off
    /// as paths that go on to the right there. None if curves are complete on shorter boards.
    fn end_row(&self) -> Option<u32> {
        let (_, b) = self.curves.ends?;
        (b >= self.board.height).then(|| self.board.cell(b))
    }
}

impl ProblemInfo for Grid {
    fn name(&self) -> &'static str {
        if self.curves.ends.is_some() { "grid-paths" } else { "grid-cycles" }
    }
    fn size(&self) -> String {
        self.size.clone()
    }
    fn board(&self) -> Board {
        self.board
    }
    fn identity(&self) -> String {
        let which = if self.curves.hamiltonian { "through all cells" } else { "through any cells" };
        let curves = match self.curves.ends {
            Some((a, b)) => format!("paths {which} from cell {a} to cell {b}"),
            None => format!("cycles {which}"),
        };
        format!("{}: {curves}, board {}, encoding 1", self.name(), self.board)
    }
    fn key_bits(&self) -> u32 {
        2 * self.board.height + 2
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        bound::bound(self.board, self.curves.hamiltonian)
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        let columns = self.board.column(pass);
        if self.board.ends_column(pass) {
            return bound::bound(Board { length: columns + 1, ..self.board }, self.curves.hamiltonian);
        }
        // The faces of the columns so far and the present one.
        vec![(2, (self.board.height - 1) * columns)]
    }
    fn functionals(&self) -> Vec<Functional> {
        let Board { height, length } = self.board;
        let (name, columns_first) = self.series;
        let column = |index| Functional {
            after_pass: height * index - 1,
            name: if columns_first { format!("{name}({index},{height})") } else { format!("{name}({height},{index})") },
            index,
            answer: index == length,
            known: published::known(Board { height, length: index }, name, self.curves.hamiltonian),
            formula: None,
        };
        (1..=length).map(column).collect()
    }
    fn family_bits(&self, layout: Layout) -> u32 {
        if let Layout::Stage(window) = layout { window.len + self.board.height + 2 } else { self.key_bits() }
    }
    fn largest_family(&self, window: Window) -> Option<u128> {
        Some(words::largest_family(self.board, self.curves, window))
    }
    fn forecast(&self) -> Option<Forecast> {
        Some(Forecast { states: words::states(self.board, self.curves) })
    }
    fn brackets(&self) -> Option<&dyn BracketProblem> {
        self.has_brackets().then_some(self as &dyn BracketProblem)
    }
    fn why_no_blocks(&self) -> &'static str {
        "curves have a form without keys only for counts in memory, on boards of 2 to 24 rows and two columns or more"
    }
}

impl Problem<u64> for Grid {
    fn start(&self) -> Vec<(u64, u64)> {
        vec![(0, 1)]
    }
    fn leave(&self, _: Window, layout: Layout, keys: &mut [u64]) {
        if let Layout::Stage(window) = layout {
            rotate_edges(keys, self.board.height, window.first);
        }
    }
    fn enter(&self, layout: Layout, _: Window, keys: &mut [u64]) {
        if let Layout::Stage(window) = layout {
            rotate_edges(keys, self.board.height, self.board.height - window.first);
        }
    }
    fn expand(&self, pass: u32, _: Window, keys: &[u64], out: &mut Successors<u64>) {
        step::CellPass::new(self.board, self.curves, pass).expand(keys, out);
    }
    fn weigh(&self, functional: usize, _: Window, keys: &[u64], weights: &mut [u32]) {
        let is_answer = functional + 1 == self.board.length as usize;
        let complete = match self.end_row() {
            Some(row) if !is_answer => step::single_end(self.board.height, row),
            _ => step::CLOSED,
        };
        for (weight, &key) in weights.iter_mut().zip(keys) {
            *weight = u32::from(key == complete);
        }
    }
}

/// Rotates the edges' bits, the upper `height` of a key's, to the right.
fn rotate_edges(keys: &mut [u64], height: u32, by: u32) {
    let shift = height + 2;
    for key in keys {
        let edges = *key >> shift & ((1 << height) - 1);
        let rotated = edges >> by | (edges & ((1 << by) - 1)) << (height - by);
        *key = *key & ((1 << shift) - 1) | rotated << shift;
    }
}
