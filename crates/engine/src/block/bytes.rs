//! What a count in memory takes: vectors, and each thread's mail.
//!
//! ```text
//!   from both ends (meet)     3 vectors of the lanes at the middle | mail
//!   forward alone (forward)   2 vectors of K residues              | mail
//! ```

use keima_model::{BlockColumn, MOST_ENTRIES};

use super::lanes::MODULUS_LIMIT;
use super::steps::lanes_for;

/// Number of states of the largest vector, and of the largest family.
pub fn largest(column: &dyn BlockColumn) -> (u64, u64) {
    let tables = || (0..column.windows().len()).map(|window| column.tables(window));
    let ends = |window: &keima_model::BlockTables| {
        window.states.first().copied().unwrap_or(0).max(window.states.last().copied().unwrap_or(0))
    };
    let family = tables().flat_map(|t| &t.families).flat_map(|f| f.size.iter().copied()).max().unwrap_or(0);
    (tables().map(ends).max().unwrap_or(0), family)
}

/// Bytes that [`super::count`] takes beside the tables: three vectors, and each thread's mail. One thread at a time has
/// the largest family; the others are at most a third as large (Go: 0.31).
pub fn memory_bytes(states: u64, family: u64, height: u32, length: u32, choices: u32, threads: u64) -> Option<u64> {
    let primes: Vec<u64> = keima_residue::primes_below(MODULUS_LIMIT.into()).take(8).collect();
    let lanes = lanes_for(choices, height * length.div_ceil(2), primes.get(1..)?)? as u64;
    Some((3 * states + mail_rows(family, threads)) * 8 * lanes)
}

/// Rows of all threads' buffers: mail and, for each thread, those of blocks ([`super::workers`]). These have room for
/// three times the largest block that tables allow, of which one is filled by what is read together, with its positions;
/// of the others no more is touched than a block of this column has, a quarter of that and less.
pub(super) fn mail_rows(family: u64, threads: u64) -> u64 {
    family * 7 / 2 + threads.saturating_sub(1) * family * 5 / 4 + threads * 2 * MOST_ENTRIES as u64
}

/// Bytes that [`super::count_forward`] takes beside the tables.
pub fn forward_bytes(states: u64, family: u64, lanes: u64, threads: u64) -> u64 {
    (2 * states + mail_rows(family, threads)) * 8 * lanes
}
