//! The ends of a window, and the directions in which vectors pass it.
//!
//! Forward a vector enters at step 0 and leaves at the last step; transposed it is the other way round. Cost: none.

use serde::{Deserialize, Serialize};

/// Which end of a window: step 0, or its last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Before the first pass.
    First,
    /// After the last pass.
    Last,
}

impl End {
    /// The window that shares this end of window number `window`, in a column of `count` windows. The first follows the
    /// last.
    pub fn neighbour(self, window: usize, count: usize) -> usize {
        let step = if self == Self::First { count - 1 } else { 1 };
        (window + step) % count
    }
}

/// The direction of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// From the first column to the last: a state's value is the number of ways to it.
    Forward,
    /// By the transposed passes, from the accepting states to the first column: a state's value is the number of its
    /// completions.
    Transposed,
}

impl Direction {
    /// The end of a window at which a vector enters.
    pub fn enters(self) -> End {
        match self {
            Self::Forward => End::First,
            Self::Transposed => End::Last,
        }
    }

    /// The end of a window at which a vector leaves.
    pub fn leaves(self) -> End {
        match self {
            Self::Forward => End::Last,
            Self::Transposed => End::First,
        }
    }
}

/// The directions that the tables of a column serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Forward passes only: about half of the memory. [`PassTable::rows`](crate::PassTable::rows) are empty, and there is
    /// no exchange with the window before ([`BlockColumn::positions`](crate::BlockColumn::positions) at [`End::First`]).
    Forward,
    /// Forward and transposed passes.
    Both,
    /// The same, and only one of two states that are images of each other enters a column, where the problem can do that:
    /// see [`BlockColumn::images`](crate::BlockColumn::images).
    Folded,
}

impl Directions {
    /// Whether there are transposed passes.
    pub fn transposed(self) -> bool {
        self != Self::Forward
    }
}
