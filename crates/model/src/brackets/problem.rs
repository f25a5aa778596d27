//! A problem of curves whose states are bracket words.
//!
//! A column begins and ends with the edges that lead right from its cells. On the way a cell joins what comes from above
//! and from the left:
//!
//! ```text
//!   none  none    the cell stays empty, if it may; or a new pair leaves it, ( to the right and ) down
//!   one bracket   it leads on, to the right or down
//!   ) (           both go; their partners are each other's now
//!   ( (           both go; the partner of the lower one opens now
//!   ) )           both go; the partner of the upper one closes now, or is an end of the curve
//!   ( )           a cycle is complete, if nothing else is left; likewise for two ends of a curve, ) )
//! ```
//!
//! Cost: [`BracketProblem::first_column`] lists about 2^m words.

use crate::ProblemInfo;

/// A word of brackets: one bit for each letter, the top letter lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BracketWord {
    /// Where there is a bracket.
    pub edges: u64,
    /// Which of them are closing.
    pub closing: u64,
}

impl BracketWord {
    /// The letter at a place: 0 for none, 1 for an opening bracket, 2 for a closing one.
    pub const fn letter(self, place: u32) -> u32 {
        ((self.edges >> place & 1) + (self.closing >> place & 1)) as u32
    }

    /// The same word with another letter at a place.
    #[must_use]
    pub const fn with(self, place: u32, letter: u32) -> Self {
        let (edge, closing) = ((letter > 0) as u64, (letter > 1) as u64);
        Self {
            edges: self.edges & !(1 << place) | edge << place,
            closing: self.closing & !(1 << place) | closing << place,
        }
    }
}

/// What is known after the first column. Each word there is one way to fill it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FirstColumn {
    /// The words, each once.
    pub words: Vec<BracketWord>,
    /// Curves that are complete.
    pub complete: u64,
}

/// Where the number of curves of a board is read off, after its last column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It is the number of curves that are complete by then.
    Complete,
    /// It is the value of this word: the curve leads on to the right.
    Word(BracketWord),
}

/// A problem of curves.
pub trait BracketProblem: ProblemInfo {
    /// Closing brackets without a partner in every word, 0 to 2: ends of the curve in the first column.
    fn ends(&self) -> u32;
    /// Whether every cell lies on the curve. Then a curve is complete at the end of a column only.
    fn covers(&self) -> bool;
    /// What is known after the first column.
    fn first_column(&self) -> FirstColumn;
    /// Where the numbers of this board and of all shorter ones are read off.
    fn reading(&self) -> Reading;
}
