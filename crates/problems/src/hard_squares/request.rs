//! Reads a user's request for hard squares.

use std::sync::Arc;

use keima_model::{About, AnyProblem, ProblemError, ProblemRequest};

use super::HardSquares;
use crate::size;

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

/// The problem that `request` describes: size `"MxN"`, no options.
pub fn open(request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
    size::no_options(request)?;
    // At 56 there are some 10^12 states, at 63 the keys would be full.
    let board = size::board(request, 56, 10_000)?;
    Ok(AnyProblem::Narrow(Arc::new(HardSquares { board })))
}

/// The same number on the turned board; `None` for a square board, or one that would be too high.
pub(crate) fn turned(request: &ProblemRequest) -> Option<AnyProblem> {
    let board = size::turned(request, 56, 10_000)?;
    Some(AnyProblem::Narrow(Arc::new(HardSquares { board })))
}
