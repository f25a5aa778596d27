//! What a count in memory is given, and what it tells.

use std::sync::atomic::AtomicBool;

use keima_model::BlockColumn;
use keima_runs::TaskTimes;

/// What to count, and with what.
pub struct CountOrder<'a> {
    /// The tables.
    pub column: &'a dyn BlockColumn,
    /// Cells of a column.
    pub height: u32,
    /// Columns of the board.
    pub length: u32,
    /// Ways to fill a cell, at most: the base of the bound.
    pub choices: u32,
    /// Primes between 2^59 and 2^60; the last, the largest, is the spare. What lanes need beyond these is chosen here.
    pub moduli: &'a [u64],
    /// Key of the fingerprints, any number: what states are looked at, and with what factors.
    pub salt: u64,
    /// Threads.
    pub threads: usize,
    /// Whether to tell the counts of all shorter boards too, not only of those that the forward vector passes.
    pub series: bool,
    /// Set from outside to stop.
    pub stop: &'a AtomicBool,
    /// Called at the start and before each window, with (windows done, windows in all).
    pub progress: &'a (dyn Fn(u32, u32) + Sync),
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// (columns, residues of the board's count modulo the order's moduli). From both ends the last one comes from the spare
    /// lanes alone.
    pub boards: Vec<(u32, Vec<u64>)>,
    /// State-passes done.
    pub state_passes: u64,
    /// Time of all threads in windows: reading is the exchange, mapping the passes.
    pub times: TaskTimes,
    /// Where the two directions met: columns that the forward vector went.
    pub middle: u32,
    /// For people: what was compared at two boundaries; empty where all columns were done forward.
    pub two_cuts: String,
}
