//! The speed of a vector of bracket words, for forecasts: full vectors go through a column.
//!
//! Cost: three columns for each number of lanes.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use keima_blocks::limits::MODULUS_LIMIT;
use keima_residue::primes_below;

use super::column::{Vector, Way};
use super::tables::BracketTables;
use crate::block::error::BlockError;
use crate::block::in_memory::speed::SweepNanos;
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::vector::Rows;

/// Nanoseconds of one thread for one word and cell, with 1, 2, 4, 6 and 8 lanes. Nothing is transposed.
///
/// # Errors
///
/// There is no memory for a vector.
pub fn bracket_nanos(tables: &BracketTables, threads: usize) -> Result<Vec<SweepNanos>, BlockError> {
    Ok(vec![
        of_lanes::<1>(tables, threads)?,
        of_lanes::<2>(tables, threads)?,
        of_lanes::<4>(tables, threads)?,
        of_lanes::<6>(tables, threads)?,
        of_lanes::<8>(tables, threads)?,
    ])
}

fn of_lanes<const K: usize>(tables: &BracketTables, threads: usize) -> Result<SweepNanos, BlockError> {
    let primes: Vec<u64> = primes_below(MODULUS_LIMIT.into()).take(K).collect();
    let moduli = Row::<K>::try_from(primes).ok().and_then(Moduli::new).ok_or(BlockError::Moduli)?;
    let (rows, new_pairs) = (Rows::zeroed(tables.words())?, Rows::zeroed(tables.new_pairs())?);
    let mut vector = Vector { rows, new_pairs, complete: [0; K] };
    vector.rows.fill([1; K]);
    let way = Way { tables, moduli, threads, stop: &AtomicBool::new(false) };
    let mut least = f64::INFINITY;
    // The first round touches the memory.
    for _ in 0..3 {
        let started = Instant::now();
        way.column(&mut vector)?;
        least = least.min(started.elapsed().as_nanos() as f64);
    }
    let cells = tables.words() as f64 * f64::from(tables.counts.letters());
    let nanos = least * threads as f64 / cells.max(1.0);
    Ok(SweepNanos { lanes: K as u32, forward: nanos, transposed: nanos })
}
