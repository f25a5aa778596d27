//! Blocks of Go, in windows of given lengths.

use keima_model::{BlockColumn, BlockParts, BlockProblem, Board, Directions, Window};
use keima_problems::go::Go;

/// Windows from the top of a column to its end.
pub(crate) fn windows(lengths: &[u32]) -> Vec<Window> {
    let mut first = 0;
    let window = |&len: &u32| {
        first += len;
        Window { first: first - len, len }
    };
    lengths.iter().map(window).collect()
}

/// Their tables.
pub(crate) fn column(height: u32, lengths: &[u32], directions: Directions) -> Box<dyn BlockColumn> {
    let board = Board { height, length: height };
    Go::<u64>::new(String::new(), board).column(&windows(lengths), directions).unwrap()
}

/// What makes them a part at a time.
#[allow(dead_code)] // Not every test binary does.
pub(crate) fn parts(height: u32, lengths: &[u32]) -> Box<dyn BlockParts> {
    let board = Board { height, length: height };
    Go::<u64>::new(String::new(), board).parts(&windows(lengths), 1 << 20).unwrap()
}
