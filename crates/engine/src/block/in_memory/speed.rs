//! The speed of a sweep in memory, for forecasts: full vectors go through all windows of a column.
//!
//! It stands here and not beside the forecast, because a sweep is compiled once for each number of lanes in every crate
//! that names that number.

use std::time::Instant;

use keima_blocks::limits::MODULUS_LIMIT;
use keima_model::{BlockColumn, Direction};
use keima_residue::primes_below;

use crate::block::error::BlockError;
use crate::block::in_memory::sweep::Sweep;
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::tables::largest;
use crate::block::rows::vector::Rows;

/// Nanoseconds of one thread per state-pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepNanos {
    /// Lanes of a row.
    pub lanes: u32,
    /// With the passes.
    pub forward: f64,
    /// Against the passes.
    pub transposed: f64,
}

/// Measures sweeps of 1, 2, 4 and 8 lanes through the windows of a column.
///
/// # Errors
///
/// There is no memory for two vectors, or the tables are not in order.
pub fn sweep_nanos(column: &dyn BlockColumn, threads: usize) -> Result<Vec<SweepNanos>, BlockError> {
    Ok(vec![
        of_lanes::<1>(column, threads)?,
        of_lanes::<2>(column, threads)?,
        of_lanes::<4>(column, threads)?,
        of_lanes::<8>(column, threads)?,
    ])
}

fn of_lanes<const K: usize>(column: &dyn BlockColumn, threads: usize) -> Result<SweepNanos, BlockError> {
    let primes: Vec<u64> = primes_below(MODULUS_LIMIT.into()).take(K).collect();
    let moduli = Row::<K>::try_from(primes).ok().and_then(Moduli::new).ok_or(BlockError::Moduli)?;
    let (states, _) = largest(column);
    let mut front = Rows::<K>::zeroed(states as usize)?;
    let mut back = Rows::<K>::zeroed(states as usize)?;
    front.fill([1; K]);
    back.fill([1; K]);
    let mut sweep = Sweep::<K>::new(column, moduli, threads)?;
    let windows = column.windows().len();
    let passes = |window| {
        let states = &column.tables(window).states;
        states.iter().take(states.len() - 1).sum::<u64>()
    };
    let state_passes = (0..windows).map(passes).sum::<u64>().max(1);
    let mut through = |direction: Direction| {
        let mut least = f64::INFINITY;
        // The first round touches the buffers.
        for _ in 0..2 {
            let started = Instant::now();
            for place in 0..windows {
                let window = if direction == Direction::Forward { place } else { windows - 1 - place };
                sweep.run(direction, window, &front, &mut back, None)?;
                std::mem::swap(&mut front, &mut back);
            }
            least = least.min(started.elapsed().as_nanos() as f64);
        }
        Ok::<f64, BlockError>(least * threads as f64 / state_passes as f64)
    };
    Ok(SweepNanos {
        lanes: K as u32,
        forward: through(Direction::Forward)?,
        transposed: through(Direction::Transposed)?,
    })
}
