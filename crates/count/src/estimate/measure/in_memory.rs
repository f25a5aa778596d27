//! Speeds in memory: vectors with 1, 2, 4 and 8 lanes go through the windows of a column, both ways, then a whole count.
//!
//! A small board is counted first. The measured board is the largest whose count then takes SOON at most.

use std::time::{Duration, Instant};

use keima_blocks::brackets::RIGHT_LETTERS;
use keima_blocks::in_memory::process_bytes;
use keima_engine::block::{BracketTables, SweepNanos, bracket_nanos, sweep_nanos};
use keima_model::{Directions, ProblemRequest, Registry};

use super::error::MeasureError;
use super::small::{Small, outline_name, smaller};
use crate::estimate::{Offer, Outline, Speeds, SweepSpeed, Times, Way};
use crate::in_memory::InMemory;
use crate::in_memory::brackets::brackets;

/// State-passes of the measured board, at most: far more than the fixed costs of a stage, and done in seconds.
const SWEEP_STATE_PASSES: u64 = 400_000_000;
/// State-passes of the board that is counted first, at most.
const FIRST_STATE_PASSES: u64 = 10_000_000;
/// Expected time of one count of the measured board, at most. The whole measurement takes about five times as long.
const SOON: Duration = Duration::from_secs(3);
/// Bytes of a state in the two vectors of the widest sweep.
const SWEEP_STATE_BYTES: u64 = 2 * 8 * 8;

/// Measures on the highest square board of at most `height` cells.
pub(super) fn measure(
    registry: &dyn Registry,
    request: &ProblemRequest,
    height: u32,
    offer: &Offer,
) -> Result<Speeds, MeasureError> {
    let no_blocks = || MeasureError::NoBoard(request.name.clone());
    let count = |board: &Small| {
        let started = Instant::now();
        InMemory::new(board.problem.clone(), offer.threads, offer.memory_bytes, false)?.count()?;
        Ok::<f64, MeasureError>(started.elapsed().as_secs_f64())
    };
    let passes = |board: &Small| board.outline.totals().0;
    let boards: Vec<Small> = smaller(registry, request, height, offer).filter(|board| suits(board, offer)).collect();
    let highest_with = |most: u64| boards.iter().find(|board| passes(board) <= most);
    let first = highest_with(FIRST_STATE_PASSES).or(boards.last()).ok_or_else(no_blocks)?;
    let rate = passes(first) as f64 / count(first)?.max(1e-6);
    let board = highest_with((rate * SOON.as_secs_f64()) as u64).unwrap_or(first);
    let Small { problem, outline, .. } = board;
    let threads = offer.threads as usize;
    let started = Instant::now();
    let (table_seconds, nanos) = if let Some(brackets) = brackets(problem.info()) {
        let tables = BracketTables::new(brackets, RIGHT_LETTERS);
        (started.elapsed().as_secs_f64(), bracket_nanos(&tables, threads)?)
    } else {
        let blocks = problem.info().blocks().ok_or_else(no_blocks)?;
        let column = blocks.column(&outline.plan.windows, Directions::Folded).map_err(MeasureError::Block)?;
        (started.elapsed().as_secs_f64(), sweep_nanos(column.as_ref(), threads)?)
    };
    let speed = |nanos: SweepNanos| SweepSpeed {
        lanes: nanos.lanes,
        forward_nanos: nanos.forward,
        backward_nanos: nanos.transposed,
    };
    let sweeps = nanos.into_iter().map(speed).collect();
    let mut speeds = Speeds {
        boards: outline_name(outline),
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
        whole = whole.min(count(board)?);
    }
    let alone = Times::new(outline, &speeds, offer);
    let sweeps = alone.total.wall_seconds - alone.setup_seconds;
    speeds.rest = ((whole - alone.setup_seconds) / sweeps).clamp(0.5, 2.0);
    Ok(speeds)
}

/// Whether a board is small enough to be measured, in the memory that is offered.
fn suits(board: &Small, offer: &Offer) -> bool {
    let Outline { way, plan, table_bytes, .. } = &board.outline;
    let sweep_bytes = plan.peak_states.saturating_mul(SWEEP_STATE_BYTES).saturating_add(*table_bytes);
    *way == Way::InMemory
        && (1..=SWEEP_STATE_PASSES).contains(&board.outline.totals().0)
        && process_bytes(sweep_bytes, 0) <= offer.memory_bytes
}
