//! Speeds of the block executor with runs on disk: forward stages by themselves, with few lanes and with many. Gives the
//! cost of a state that is read, goes through a pass, or is written, as a linear function of the lanes.
//!
//! If the plan makes its tables a part at a time, this makes some parts too, and compares the time with the problem's
//! estimate.
//!
//! Cost: the tables of a board of 12 cells, and a column with each number of lanes. Fewer cells if those tables have no room,
//! or if they would take more than PATIENCE at the speed of a small board. That is five to fifteen seconds and 1.5 GB of
//! disk, and up to three seconds for parts of each window.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use keima_blocks::lanes::{LANES, MOST_LANES};
use keima_blocks::limits::MODULUS_LIMIT;
use keima_blocks::parts::kept_bytes;
use keima_coordinator::Executor;
use keima_engine::block::Prepared;
use keima_model::{AnyProblem, Directions, ProblemRequest, Registry};
use keima_residue::primes_below;

use super::error::MeasureError;
use super::small::nanos;
use crate::estimate::{Offer, Outline, PerState, Speeds};
use crate::stages::{BlockStages, Stages, on_threads};

/// Most cells of a measured column. Its runs have megabytes, like those of larger boards.
const HEIGHT: u32 = 12;
/// The smaller number of lanes.
const FEW_LANES: u32 = 2;
/// Most lanes of the larger number, which is the real board's.
const MANY_LANES: u32 = 8;
/// Windows of at most this length have small blocks, and are measured at their own length. Longer ones cost about the same.
const SHORT_WINDOW: u32 = 4;
/// Up to this height parts of tables are small enough to be made for a forecast.
const MOST_PARTED_HEIGHT: u32 = 13;
/// Memory of the measurement, unless less is offered.
pub(super) const MEMORY_BYTES: u64 = 2 << 30;
/// Cells of the column that is tried first.
const TRIED_HEIGHT: u32 = 8;
/// Expected time of the measured columns and their tables, at most.
const PATIENCE: Duration = Duration::from_secs(8);
/// Time of one measurement. A column that takes longer is finished.
const SOON: Duration = Duration::from_millis(1500);
/// The longest measured board has fewer than 2 ^ so many columns. That is long enough for many residues, even with two
/// cells a column.
const LONGEST: u32 = 10;

/// Measures stages with few lanes and with many.
pub(super) fn measure(
    registry: &dyn Registry,
    request: &ProblemRequest,
    outline: &Outline,
    here: &Offer,
    scratch: &Path,
) -> Result<Speeds, MeasureError> {
    let most = outline.stages.iter().map(|stage| stage.lanes).max().unwrap_or(0);
    let many = LANES.into_iter().find(|&lanes| lanes >= most).unwrap_or(MOST_LANES).clamp(2 * FEW_LANES, MANY_LANES);
    let height = outline.plan.board.height.min(HEIGHT);
    let longest = outline.plan.windows.iter().map(|window| window.len).max().unwrap_or(height);
    let here = Offer { window: (longest <= SHORT_WINDOW).then_some(longest), ..here.clone() };
    let no_board = || MeasureError::NoBoard(request.name.clone());
    let highest = |height| highest(registry, request, height, [FEW_LANES, many], &here);
    let at = |height, lanes, soon| column(registry, request, height, lanes, &here, scratch, soon);
    let mut height = highest(height).ok_or_else(no_board)?;
    if let Some(tried) = highest(height.min(TRIED_HEIGHT)).filter(|&tried| tried < height) {
        let tried = at(tried, FEW_LANES, Duration::ZERO)?;
        let states =
            |height| long(registry, request, height, FEW_LANES, &here).map(|(_, outline)| outline.plan.peak_states);
        while let Ok(states) = states(height)
            && tried.expected_seconds(height, states, &here) > PATIENCE.as_secs_f64()
            && let Some(lower) = highest(height - 1)
        {
            height = lower;
        }
    }
    let (few, many_lanes) = (at(height, FEW_LANES, SOON)?, at(height, many, SOON)?);
    let measured = outline.parted.is_some() && outline.plan.board.height <= MOST_PARTED_HEIGHT;
    let made = if measured { Some(parts(registry, request, outline, &here)?) } else { None };
    let speed = |part: usize| {
        let (few, more) = (few.nanos[part], many_lanes.nanos[part]);
        let lane_nanos = ((more - few) / f64::from(many - FEW_LANES)).clamp(0.0, more / f64::from(many));
        PerState { base_nanos: (few - f64::from(FEW_LANES) * lane_nanos).max(0.0), lane_nanos }
    };
    Ok(Speeds {
        boards: format!("stages of {height} cells"),
        height,
        key_bytes: outline.plan.key_bytes,
        threads: here.threads,
        read: speed(0),
        pass: speed(1),
        write: speed(2),
        table_seconds: few.table_seconds,
        table_bytes: few.table_bytes,
        parts: made,
        ..Speeds::default()
    })
}

/// Measured times of a column.
struct Column {
    /// Nanoseconds of a thread to read, pass and write a state.
    nanos: [f64; 3],
    table_seconds: f64,
    /// By the problem's estimate.
    table_bytes: u64,
    /// States of its largest vector.
    states: u64,
}

impl Column {
    /// Time of both measurements on a column of `height` cells with so many states: tables twice, a column with few lanes,
    /// and one with many, which takes up to three times as long.
    fn expected_seconds(&self, height: u32, states: u64, here: &Offer) -> f64 {
        let [read, pass, write] = self.nanos;
        let column = states as f64 * (read + pass * f64::from(height) + write) * 1e-9 / f64::from(here.threads.max(1));
        2.0 * self.table_seconds * states as f64 / self.states.max(1) as f64 + 4.0 * column
    }
}

/// The greatest height, up to `height`, of a board that [`long`] opens for each number of lanes.
fn highest(
    registry: &dyn Registry,
    request: &ProblemRequest,
    height: u32,
    lanes: [u32; 2],
    here: &Offer,
) -> Option<u32> {
    let opens = |height, lanes| long(registry, request, height, lanes, here).is_ok();
    (2..=height).rev().find(|&height| lanes.into_iter().all(|lanes| opens(height, lanes)))
}

/// Opens a board of this height that is long enough to need `lanes` residues. The measurement does not depend on the length
/// otherwise. Refuses boards whose tables would be made in parts because they do not fit.
fn long(
    registry: &dyn Registry,
    request: &ProblemRequest,
    height: u32,
    lanes: u32,
    here: &Offer,
) -> Result<(AnyProblem, Outline), MeasureError> {
    let offer = &Offer { executor: Executor::Block, residues_per_sweep: Some(lanes), series: true, ..here.clone() };
    let long = (2..LONGEST).find_map(|doublings| {
        let size = format!("{height}x{}", 1 << doublings);
        let problem = registry.open(&ProblemRequest { size, ..request.clone() }).ok()?;
        let outline = Outline::new(&problem, offer).ok()?;
        (outline.plan.board.height == height && outline.plan.moduli.len() >= lanes as usize && outline.parted.is_none())
            .then_some((problem, outline))
    });
    long.ok_or_else(|| MeasureError::NoBoard(request.name.clone()))
}

/// Takes a vector with `lanes` lanes through columns of `height` cells, with its runs in files. Does one column, and more
/// until `soon`.
fn column(
    registry: &dyn Registry,
    request: &ProblemRequest,
    height: u32,
    lanes: u32,
    here: &Offer,
    scratch: &Path,
    soon: Duration,
) -> Result<Column, MeasureError> {
    let (problem, outline) = long(registry, request, height, lanes, here)?;
    let (info, plan, states_most) = (problem.info(), outline.plan.clone(), outline.plan.peak_states);
    let blocks = info.blocks().ok_or_else(|| MeasureError::NoBoard(request.name.clone()))?;
    let started = Instant::now();
    let tables = blocks.column(&plan.windows, Directions::Forward).map_err(MeasureError::Block)?;
    let table_seconds = started.elapsed().as_secs_f64();
    let windows = plan.windows.len();
    let moduli = primes_below(MODULUS_LIMIT.into()).take(lanes as usize).collect();
    let folder = scratch.join(format!("cells{height}-lanes{lanes}"));
    let stages =
        BlockStages::new(plan, tables, moduli, here.memory_bytes, Stages::new(&folder, here.threads, u64::MAX));
    // The first stage reads nothing.
    let mut vector = stages.stage(info, 0, 0, &[])?;
    let (mut took, mut states, started) = ([0.0; 3], [0.0; 3], Instant::now());
    let first_sweep = outline.stages.iter().take_while(|stage| stage.sweep == 0);
    for (number, stage) in first_sweep.enumerate().skip(1) {
        let made = stages.stage(info, 0, number as u32, &vector)?;
        stages.delete(&vector)?;
        vector = made;
        let more = [stage.states_before, stage.state_passes, stage.states_after];
        states.iter_mut().zip(more).for_each(|(states, more)| *states += more as f64);
        for task in &vector {
            took.iter_mut().zip(nanos(&task.times)).for_each(|(took, more)| *took += more);
        }
        // Whole columns.
        if number % windows == 0 && started.elapsed() > soon {
            break;
        }
    }
    stages.delete(&vector)?;
    let nanos = std::array::from_fn(|part| took[part] / f64::max(states[part], 1.0));
    Ok(Column { nanos, table_seconds, table_bytes: outline.table_bytes, states: states_most })
}

/// Measured thread time of tables that are made a part at a time, over the problem's estimate. Makes some groups of each
/// window.
fn parts(
    registry: &dyn Registry,
    request: &ProblemRequest,
    outline: &Outline,
    here: &Offer,
) -> Result<f64, MeasureError> {
    let (plan, no_board) = (&outline.plan, || MeasureError::NoBoard(request.name.clone()));
    let problem = registry.open(request).map_err(|_| no_board())?;
    let blocks = problem.info().blocks().ok_or_else(no_board)?;
    let (windows, group_records) = (&plan.windows, plan.block().map_or(u64::MAX, |block| block.group_records));
    let parts = blocks.parts(windows, kept_bytes(here.memory_bytes)).map_err(MeasureError::Block)?;
    let prepared = Prepared::by_part(parts, group_records, here.memory_bytes, 1);
    let (mut took, mut estimated) = (0.0, 0.0);
    for window in 0..windows.len() {
        let groups = spread(prepared.groups(window) as u32);
        // The first round also makes what all parts share. A count makes that once for all its columns.
        make(&prepared, window, &groups, here.threads)?;
        let (seconds, states) = make(&prepared, window, &groups, here.threads)?;
        took += seconds / f64::max(states as f64, 1.0);
        estimated += blocks.parts_seconds(windows, window, plan.peak_states, group_records) / plan.peak_states as f64;
    }
    Ok(took / estimated)
}

/// The numbers below `count`, in an order whose every section is spread over the whole range.
fn spread(count: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    numbers.sort_by_key(|number| number.reverse_bits());
    numbers
}

/// Makes the tables of groups of a window until [`SOON`]. Returns the time of all threads together, and the groups' states.
fn make(prepared: &Prepared, window: usize, groups: &[u32], threads: u32) -> Result<(f64, u64), MeasureError> {
    let (next, started) = (AtomicUsize::new(0), Instant::now());
    let make = || {
        let (mut took, mut states) = (0.0, 0);
        while started.elapsed() < SOON
            && let Some(&group) = groups.get(next.fetch_add(1, Ordering::Relaxed))
        {
            let started = Instant::now();
            states += prepared.make(window, group)?;
            took += started.elapsed().as_secs_f64();
        }
        Ok((took, states))
    };
    let sum = |(took, states), (more, others)| (took + more, states + others);
    Ok(on_threads(threads, make)?.into_iter().fold((0.0, 0), sum))
}

#[cfg(test)]
mod tests {
    use keima_problems::Problems;

    use super::*;

    /// Short windows have large tables. If a board's tables have no room, a smaller board is measured.
    #[test]
    fn boards_whose_tables_have_no_room_are_not_measured() {
        let request = ProblemRequest { name: "go".into(), size: "13x13".into(), options: Vec::new() };
        let highest_with = |window, memory_bytes| {
            let offer = Offer { window, ..Offer::with_runs(Executor::Block, 1, 2, memory_bytes) };
            highest(&Problems, &request, HEIGHT, [FEW_LANES, MANY_LANES], &offer)
        };
        assert_eq!(highest_with(None, 2 << 30), Some(HEIGHT));
        let found = highest_with(Some(2), 512 << 20).unwrap();
        assert!((4..HEIGHT).contains(&found), "{found}");
        assert_eq!(highest_with(None, 1 << 20), None);
    }
}
