//! Tables of Go for tests, in windows of given lengths.

use keima_model::{BlockColumn, BlockParts, BlockProblem, Board, Directions, Window};
use keima_problems::go::Go;

/// Tables of windows of these lengths.
pub(crate) fn column(height: u32, lengths: &[u32], directions: Directions) -> Box<dyn BlockColumn> {
    let board = Board { height, length: height };
    Go::<u64>::new(String::new(), board).column(&Window::of_lengths(lengths), directions).unwrap()
}

/// The source of their partial tables.
#[allow(dead_code)] // Not every test binary does.
pub(crate) fn parts(height: u32, lengths: &[u32]) -> Box<dyn BlockParts> {
    let board = Board { height, length: height };
    Go::<u64>::new(String::new(), board).parts(&Window::of_lengths(lengths), 1 << 20).unwrap()
}
