//! Speeds in memory: vectors with 1, 2, 4 and 8 lanes go through the windows of a column, both ways, then a whole count.

use std::time::Instant;

use keima_blocks::limits::MODULUS_LIMIT;
use keima_engine::block::{BlockError, Moduli, Row, Rows, Sweep, largest};
use keima_model::{BlockColumn, Direction, Directions, ProblemRequest, Registry};
use keima_residue::primes_below;

use super::{MeasureError, Small, outline_name, small};
use crate::estimate::{Offer, Speeds, SweepSpeed, Times};
use crate::in_memory::InMemory;

/// State-passes of the measured board, at most: far more than the fixed costs of a stage, and done in seconds.
const SWEEP_STATE_PASSES: u64 = 400_000_000;

/// Measures on the highest square board of at most `height` cells.
pub(super) fn measure(
    registry: &dyn Registry,
    request: &ProblemRequest,
    height: u32,
    offer: &Offer,
) -> Result<Speeds, MeasureError> {
    let offer = Offer { out_of_core: false, memory_bytes: u64::MAX, ..offer.clone() };
    let Small { problem, outline, .. } = small(registry, request, height, &offer, SWEEP_STATE_PASSES)?;
    let no_blocks = || MeasureError::NoBoard(request.name.clone());
    let blocks = problem.info().blocks().ok_or_else(no_blocks)?;
    let started = Instant::now();
    let column = blocks.column(&outline.plan.windows, Directions::Folded).map_err(MeasureError::Block)?;
    let table_seconds = started.elapsed().as_secs_f64();
    let threads = offer.threads as usize;
    let sweeps = vec![
        sweep::<1>(column.as_ref(), threads)?,
        sweep::<2>(column.as_ref(), threads)?,
        sweep::<4>(column.as_ref(), threads)?,
        sweep::<8>(column.as_ref(), threads)?,
    ];
    drop(column);
    let mut speeds = Speeds {
        boards: outline_name(&outline),
        height: outline.plan.board.height,
        key_bytes: outline.plan.key_bytes,
        threads: offer.threads,
        sweeps,
        rest: 1.0,
        table_seconds,
        table_bytes: outline.table_bytes,
        ..Speeds::default()
    };
    // Time of the whole count, the faster of two, over the time of its sweeps alone.
    let mut whole = f64::INFINITY;
    for _ in 0..2 {
        let started = Instant::now();
        InMemory::new(problem.clone(), offer.threads, u64::MAX, false)?.count()?;
        whole = whole.min(started.elapsed().as_secs_f64());
    }
    let alone = Times::new(&outline, &speeds, &offer);
    let sweeps = alone.total.wall_seconds - alone.setup_seconds;
    speeds.rest = ((whole - alone.setup_seconds) / sweeps).clamp(0.5, 2.0);
    Ok(speeds)
}

/// Takes a vector through the windows of a column, both ways. Returns nanoseconds of one thread per state-pass.
fn sweep<const K: usize>(column: &dyn BlockColumn, threads: usize) -> Result<SweepSpeed, BlockError> {
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
    Ok(SweepSpeed {
        lanes: K as u32,
        forward_nanos: through(Direction::Forward)?,
        backward_nanos: through(Direction::Transposed)?,
    })
}
