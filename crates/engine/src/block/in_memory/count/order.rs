//! The order and the result of a count in memory.

use std::sync::atomic::AtomicBool;

use keima_model::{BlockColumn, Direction};
use keima_runs::{Balance, TaskTimes};
use serde::{Deserialize, Serialize};

use crate::block::in_memory::family::sums::Masses;

/// What to count, and how.
pub struct CountOrder<'a> {
    /// The tables.
    pub column: &'a dyn BlockColumn,
    /// Cells of a column.
    pub height: u32,
    /// Columns of the board.
    pub length: u32,
    /// Most ways to fill a cell: the base of the bound.
    pub choices: u32,
    /// Primes between 2^59 and 2^60. The last and largest is the spare. The count adds primes where lanes need more.
    pub moduli: &'a [u64],
    /// Key of the fingerprints, any number. It selects the sample of states and their factors.
    pub salt: u64,
    /// Threads.
    pub threads: usize,
    /// Whether to count all shorter boards too. Otherwise only those that the forward vector passes are counted.
    pub series: bool,
    /// Set by the caller to stop the count.
    pub stop: &'a AtomicBool,
    /// Called at the start and before each window, with the number of windows done and the number in all.
    pub progress: &'a (dyn Fn(u32, u32) + Sync),
}

/// What one window of a count in memory has shown: the evidence that goes into the count's certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowEvidence {
    /// Whether the vector goes back from the end of the board.
    pub transposed: bool,
    /// First pass of the window.
    pub first_pass: u32,
    /// Cells that it adds.
    pub cells: u32,
    /// Moduli of the lanes. The last one's sums are compared between windows.
    pub moduli: Vec<u64>,
    /// States of the vector after the window.
    pub states: u64,
    /// Sums and fingerprints of what was read and written, modulo the last of the moduli.
    pub masses: Masses,
    /// Mass balance of all families, in each lane.
    pub balance: Balance,
}

impl WindowEvidence {
    /// Whether it belongs to a forward vector.
    pub const fn direction(&self) -> Direction {
        if self.transposed { Direction::Transposed } else { Direction::Forward }
    }
}

/// The primes of a sweep, and what its windows have shown.
pub type SweepEvidence = (Vec<u64>, Vec<WindowEvidence>);

/// One quantity that was computed at two boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoCuts {
    /// The prime.
    pub modulus: u64,
    /// The inner product where the vectors meet.
    pub one: u64,
    /// The same one window away.
    pub other: u64,
}

/// The result of a count.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// (columns, residues of the board's count modulo the order's moduli). In a count from both ends the last residue
    /// comes from the spare lanes alone.
    pub boards: Vec<(u32, Vec<u64>)>,
    /// State-passes done.
    pub state_passes: u64,
    /// Time of all threads in windows. Reading is the exchange; mapping is the passes.
    pub times: TaskTimes,
    /// Columns of the forward vector, to where the two directions met.
    pub middle: u32,
    /// The windows of each sweep, in order. A count from both ends is one sweep.
    pub evidence: Vec<SweepEvidence>,
    /// The inner products at two boundaries. `None` where all columns were done forward.
    pub cuts: Option<TwoCuts>,
    /// A sentence about the comparison at two boundaries. Empty where all columns were done forward.
    pub two_cuts: String,
}
