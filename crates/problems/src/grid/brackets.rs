//! Curves as bracket words: what the engine's second form of blocks needs to know.
//!
//! At a column's end the edges to the right, read from the top, are a word (`mod.rs`). A path's first end is in the first
//! column, and so is the second where it leads along a side of that column. Other paths are read off as those that lead on
//! to the right from the row of the second end. Cost: the first column's states, about 2^m.

use std::collections::BTreeSet;

use keima_model::{BracketProblem, BracketWord, FirstColumn, Reading, Successors};

use super::{Grid, step};

/// Most letters of a word: beyond that no machine's memory holds a vector.
const MOST_LETTERS: u32 = 24;

impl Grid {
    /// Whether there is a bracket form: boards of two columns and more.
    pub(super) fn has_brackets(&self) -> bool {
        (2..=MOST_LETTERS).contains(&self.board.height) && self.board.length >= 2
    }
}

impl BracketProblem for Grid {
    fn ends(&self) -> u32 {
        let in_first = |end: u32| u32::from(end < self.board.height);
        self.curves.ends.map_or(0, |(a, b)| in_first(a) + in_first(b))
    }

    fn covers(&self) -> bool {
        self.curves.hamiltonian
    }

    fn first_column(&self) -> FirstColumn {
        let mut keys = BTreeSet::from([0_u64]);
        for pass in 0..self.board.height {
            let before: Vec<u64> = keys.into_iter().collect();
            let mut after = Successors::default();
            step::CellPass::new(self.board, self.curves, pass).expand(&before, &mut after);
            keys = after.keys.into_iter().collect();
        }
        let complete = u64::from(keys.remove(&step::CLOSED));
        FirstColumn { words: keys.into_iter().map(|key| word(key, self.board.height)).collect(), complete }
    }

    fn reading(&self) -> Reading {
        self.end_row().map_or(Reading::Complete, |row| {
            Reading::Word(word(step::single_end(self.board.height, row), self.board.height))
        })
    }
}

/// The word of a key at a column's end.
fn word(key: u64, height: u32) -> BracketWord {
    let rows = (1 << height) - 1;
    let edges = key >> (height + 2) & rows;
    BracketWord { edges, closing: key >> 2 & rows & edges }
}

#[cfg(test)]
mod tests {
    use keima_model::{Board, WordCounts};

    use super::*;
    use crate::grid::{Curves, border};

    /// In the first column every state has one filling, and all are words with the right number of ends.
    #[test]
    fn a_first_column_is_filled_in_one_way() {
        for height in 2..=6 {
            let board = Board { height, length: 4 };
            for curves in Curves::all(board) {
                let grid = Grid::new(board.to_string(), board, curves);
                let column = grid.first_column();
                let counts = WordCounts::new(height, grid.ends());
                for &word in &column.words {
                    assert!(counts.rank(word, height, grid.ends()).is_some(), "{board} {curves:?} {word:?}");
                }
                let plain =
                    (0..height).fold(border::start(board), |vector, pass| border::pass(board, curves, pass, &vector));
                assert!(plain.values().all(|&count| count == 1), "{board} {curves:?}");
                assert_eq!(plain.len(), column.words.len() + column.complete as usize, "{board} {curves:?}");
            }
        }
    }
}
