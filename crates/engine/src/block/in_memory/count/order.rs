//! The order and the result of a count in memory.

use std::sync::atomic::AtomicBool;

use keima_model::BlockColumn;
use keima_runs::TaskTimes;

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
    /// A sentence about the comparison at two boundaries. Empty where all columns were done forward.
    pub two_cuts: String,
}
