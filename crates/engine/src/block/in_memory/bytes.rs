//! What a count in memory takes: vectors, and each thread's mail.
//!
//! ```text
//!   from both ends (meet)     3 vectors of the lanes at the middle | mail
//!   forward alone (forward)   2 vectors of K residues              | mail
//! ```

use keima_blocks::limits::MODULUS_LIMIT;
use keima_model::{BlockColumn, MOST_ENTRIES};

use crate::block::in_memory::by_pass::most_bytes;
use crate::block::in_memory::scheme::Scheme;

/// Number of states of the largest vector, and of the largest family.
pub fn largest(column: &dyn BlockColumn) -> (u64, u64) {
    let tables = || (0..column.windows().len()).map(|window| column.tables(window));
    let ends = |window: &keima_model::BlockTables| {
        window.states.first().copied().unwrap_or(0).max(window.states.last().copied().unwrap_or(0))
    };
    let family = tables().flat_map(|t| &t.families).flat_map(|f| f.size.iter().copied()).max().unwrap_or(0);
    (tables().map(ends).max().unwrap_or(0), family)
}

/// Bytes that [`crate::block::count`] takes beside the tables: three vectors, and each thread's mail. One thread at a time has
/// the largest family; the others are at most a third as large (Go: 0.31).
pub fn memory_bytes(states: u64, family: u64, height: u32, length: u32, choices: u32, threads: u64) -> Option<u64> {
    let spare = keima_residue::primes_below(MODULUS_LIMIT.into()).next()?;
    let lanes = Scheme::new(&[spare], choices, height, length).ok()??.most_lanes as u64;
    Some((3 * states + buffer_rows(family, lanes, threads)) * 8 * lanes)
}

/// Rows of all threads' buffers: mail, or a family that goes pass by pass, and, for each thread, those of blocks
/// ([`crate::block::rows::threads`]). These have room for three times the largest block that tables allow, of which one is filled by
/// what is read together, with its positions; of the others no more is touched than a block of this column has, a quarter
/// of that and less. Mail of the largest family is 1.22 times its rows at most, of the second largest 0.39 (Go, heights 8
/// to 15).
fn buffer_rows(family: u64, lanes: u64, threads: u64) -> u64 {
    let by_pass = (2 * family).min(most_bytes(lanes as usize) as u64 / (8 * lanes));
    let (first, others) = (family * 5 / 4, family * 2 / 5);
    first.max(by_pass) + threads.saturating_sub(1) * others.max(by_pass) + threads * 2 * MOST_ENTRIES as u64
}

/// Bytes that [`crate::block::count_forward`] takes beside the tables.
pub fn forward_bytes(states: u64, family: u64, lanes: u64, threads: u64) -> u64 {
    (2 * states + buffer_rows(family, lanes, threads)) * 8 * lanes
}
