//! The states of a column and their transitions as lists of indices.
//!
//! After a few columns the set of states at each of the m passes of a column no longer changes, and neither do the
//! transitions. [`Graph::discover`] asks the problem for the states once, up to there. Every later column is the same sparse
//! linear map, so that a term of the series costs one gather per transition and no look-up of a key.
//!
//! ```text
//!   columns[0], columns[1], ..., columns[last], columns[last], columns[last], ...        (Tromp, Farnebäck 2016, section 5.8)
//! ```
//!
//! That the last column repeats is checked and not assumed: two columns in a row and one near the end of the board must have
//! the same states, transitions and weights. Cost: 4 bytes a transition, and a sort of the keys while they are discovered.

mod classes;
mod discover;
mod exact;
mod hub;
pub(crate) mod lanes;
mod level;
mod pairs;
pub(crate) mod pass;
mod tiles;

use keima_model::mix::split_mix;

pub use exact::Exact;
pub use hub::Hub;
pub use lanes::Residues;
pub use level::{Column, Level};
pub use pairs::Pairs;

/// The transitions of a series: the first columns, the last of which repeats for ever.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Counts of the states before the first column.
    pub(crate) start: Vec<u64>,
    /// The columns. The states before the last are numbered as those after it.
    pub(crate) columns: Vec<Column>,
    /// Index of the first term, the number of columns of its board: 1.
    pub(crate) first: u32,
}

/// Why there is no graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// The problem has no number for each length.
    #[error(
        "expected a series: a number for boards of 1, 2, 3 ... columns; got {got}. `keima problems` lists problems; go, \
             grid-cycles, grid-paths and hard-squares have a series"
    )]
    NoSeries {
        /// What there is instead.
        got: String,
    },
    /// Values are polynomials.
    #[error(
        "expected one number per board, got a polynomial with {coefficients} coefficients, one for each number of what is counted \
             by: that is no series of numbers"
    )]
    Polynomial {
        /// Number of coefficients.
        coefficients: u32,
    },
    /// The passes differ from column to column.
    #[error(
        "the states after a column differ from those after the next one, in all of {columns} columns: no recurrence is made from \
             such states. The numbers may follow one all the same: analyse them (--from FILE)"
    )]
    Unsettled {
        /// Number of columns that were looked at.
        columns: u32,
    },
    /// The transitions of some late column are others.
    #[error(
        "the transitions of column {column} differ from those of column {settled}: they depend on the board's length. \
             Analyse the numbers themselves (--from FILE)"
    )]
    Aperiodic {
        /// The column that was checked.
        column: u32,
        /// The column where the states had settled.
        settled: u32,
    },
    /// Too many transitions.
    #[error("a column has more than {most} transitions, which take too much memory; analyse a smaller height")]
    TooLarge {
        /// Most transitions that are kept.
        most: usize,
    },
}

impl Graph {
    /// The column of this number, from 0.
    pub(crate) fn column(&self, number: usize) -> &Column {
        &self.columns[number.min(self.columns.len() - 1)]
    }
    /// The column that repeats.
    pub(crate) fn periodic(&self) -> &Column {
        self.column(usize::MAX)
    }
    /// Number of states between two columns that repeat.
    pub fn states(&self) -> usize {
        self.periodic().weights.len()
    }
    /// Transitions of a column that repeats.
    pub fn transitions(&self) -> usize {
        self.periodic().levels.iter().map(|level| level.sources.len()).sum()
    }
    /// Columns before the one that repeats.
    pub fn settled_after(&self) -> usize {
        self.columns.len() - 1
    }
    /// A bound on the order of the recurrence modulo two primes below 2^28: the numbers from some column on are values of a
    /// linear map on that many classes of states (Cayley, Hamilton), and the columns before add one each. Proved for all
    /// states; for [`classes`] up to chances below 2^-80.
    pub fn order_bound(&self, primes: [u64; 2]) -> usize {
        let by_classes = classes::order_bound(&pairs::Operator::new(self, primes));
        by_classes.unwrap_or(usize::MAX).min(self.states() + self.settled_after())
    }
    /// A number that another graph has by chance once in 2^64 cases.
    pub fn fingerprint(&self) -> u64 {
        let mut state = self.columns.len() as u64;
        let mut take = |number: u64| state = split_mix(&mut (state ^ number));
        self.start.iter().for_each(|&count| take(count));
        for column in &self.columns {
            for level in &column.levels {
                level.buckets.iter().for_each(|&(degree, states)| take(u64::from(degree) << 32 | u64::from(states)));
                level.sources.iter().for_each(|&source| take(source.into()));
            }
            column.weights.iter().for_each(|&weight| take(weight.into()));
        }
        state
    }
    /// Index of the first term.
    pub fn first(&self) -> u32 {
        self.first
    }
}

#[cfg(test)]
mod tests;
