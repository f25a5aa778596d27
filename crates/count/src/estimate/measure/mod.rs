//! Speeds of this machine, measured by running the real thing on small boards of the same problem.
//!
//! - In memory: vectors with 1, 2, 4 and 8 lanes through the windows of a column, both ways, and a whole count.
//! - Blocks with runs on disk: vectors with few lanes and with many through the stages of a column, as tasks do it.
//! - Streams: a whole count by one process's coordinator and worker, of whose tasks the times are taken.
//!
//! Runs stay in the system's cache: what the disk adds is [`super::measure_disk`]'s.
//!
//! Cost: five to twenty seconds. Everything else on the machine is measured too.

mod blocks;
mod disk;

pub use self::disk::measure_disk;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keima_blocks::limits::MODULUS_LIMIT;
use keima_blocks::process::PROCESS_OVERHEAD_BYTES;
use keima_coordinator::{Executor, JobSpec, JobStatus, PlanError, State};
use keima_engine::block::{BlockError, Moduli, Row, Rows, Sweep, largest};
use keima_model::{AnyProblem, BlockColumn, Board, Direction, Directions, ProblemRequest, Registry};
use keima_residue::primes_below;
use keima_runs::TaskTimes;

use super::outline::{Outline, Way};
use super::times::{PerState, Speeds, SweepSpeed};
use super::{Offer, Times};
use crate::in_memory::{InMemory, InMemoryError};
use crate::local::{LocalCluster, LocalConfig, LocalError};
use crate::stages::StageError;
use keima_cluster::LinkError;

/// State-passes of a small board: enough to be far above the costs of a stage, and done in two seconds.
const STREAM_STATE_PASSES: u64 = 70_000_000;
/// The same by blocks in memory.
const SWEEP_STATE_PASSES: u64 = 400_000_000;
/// The process that counts small boards has so much memory at least, and each of its threads.
const MEMORY_BYTES: u64 = 512 << 20;
const THREAD_BYTES: u64 = 16 << 20;
/// Stream executor: cost of each further lane, relative to that of a state with one (61 ns with one, 73 ns with five).
/// The small board may need fewer residues than the large one.
const STREAM_LANE: f64 = 0.06;

/// Why there are no speeds.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The problem has no small board to measure on.
    #[error("no smaller board of {0} could be measured: its time is not forecast")]
    NoBoard(String),
    /// A small board could not be planned.
    #[error("cannot plan the small board to be measured: {0}")]
    Plan(#[from] PlanError),
    /// The block executor in memory.
    #[error("cannot measure the block executor: {0}")]
    Block(String),
    /// The small count.
    #[error("cannot count the small board to be measured: {0}")]
    Count(String),
    /// Stages of the block executor.
    #[error(
        "cannot measure the block executor's stages, of which some 1.5 GB are written: {0}; choose another folder with --scratch"
    )]
    Stage(#[from] StageError),
    /// The scratch folder.
    #[error(
        "cannot write and read in the scratch folder to measure its disk: {0}; choose another with --scratch, or give --disk-bandwidth"
    )]
    Disk(#[from] std::io::Error),
}

impl From<BlockError> for MeasureError {
    fn from(error: BlockError) -> Self {
        Self::Block(error.to_string())
    }
}
impl From<InMemoryError> for MeasureError {
    fn from(error: InMemoryError) -> Self {
        Self::Block(error.to_string())
    }
}
impl From<LocalError> for MeasureError {
    fn from(error: LocalError) -> Self {
        Self::Count(error.to_string())
    }
}
impl From<LinkError> for MeasureError {
    fn from(error: LinkError) -> Self {
        Self::Count(error.to_string())
    }
}

/// A board to be measured, and what would be done with it.
struct Small {
    request: ProblemRequest,
    problem: AnyProblem,
    outline: Outline,
}

/// Measures what `outline`, of the problem that `request` names, depends on: with no more threads than the machine has
/// cores. `scratch` is an empty folder for runs; what is in it afterwards may go.
pub async fn measure(
    registry: Arc<dyn Registry>,
    request: &ProblemRequest,
    outline: &Outline,
    offer: &Offer,
    scratch: &Path,
) -> Result<Speeds, MeasureError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let threads = offer.threads.clamp(1, cores);
    let here = Offer {
        cache_bytes: u64::MAX,
        out_of_core: outline.way != Way::InMemory,
        ..Offer::with_runs(offer.executor, 1, threads, memory_bytes(threads))
    };
    match (outline.way, outline.plan.block()) {
        (Way::InMemory, _) => {
            let (registry, request) = (Arc::clone(&registry), request.clone());
            let height = outline.plan.board.height;
            blocking(move || in_memory(registry.as_ref(), &request, height, &here)).await
        }
        (_, Some(_)) => {
            let (registry, request) = (Arc::clone(&registry), request.clone());
            let (outline, scratch) = (outline.clone(), scratch.to_path_buf());
            let here = Offer {
                memory_bytes: offer.memory_bytes.clamp(here.memory_bytes, here.memory_bytes.max(blocks::MEMORY_BYTES)),
                ..here
            };
            blocking(move || blocks::measure(registry.as_ref(), &request, &outline, &here, &scratch)).await
        }
        (_, None) => stream(&registry, request, outline, &here, scratch).await,
    }
}

/// Measures on a thread that may block.
async fn blocking(
    measure: impl FnOnce() -> Result<Speeds, MeasureError> + Send + 'static,
) -> Result<Speeds, MeasureError> {
    let measured = tokio::task::spawn_blocking(measure).await;
    measured.map_err(|panic| MeasureError::Block(panic.to_string()))?
}

/// Memory of the process that counts small boards.
fn memory_bytes(threads: u32) -> u64 {
    MEMORY_BYTES.max(PROCESS_OVERHEAD_BYTES + u64::from(threads) * THREAD_BYTES)
}

/// The highest square board of no more than `state_passes`, two cells high at least.
fn small(
    registry: &dyn Registry,
    request: &ProblemRequest,
    height: u32,
    offer: &Offer,
    state_passes: u64,
) -> Result<Small, MeasureError> {
    for height in (2..=height.max(2)).rev() {
        for size in [format!("{height}x{height}"), height.to_string()] {
            let request = ProblemRequest { size, ..request.clone() };
            let Ok(problem) = registry.open(&request) else { continue };
            let Ok(outline) = Outline::new(&problem, offer) else { continue };
            if (1..=state_passes).contains(&outline.totals().0) {
                return Ok(Small { request, problem, outline });
            }
        }
    }
    Err(MeasureError::NoBoard(request.name.clone()))
}

fn in_memory(
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
    // The whole count, over what its sweeps alone would take: the faster of two.
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

fn outline_name(outline: &Outline) -> String {
    outline.plan.board.to_string()
}

/// Takes a vector through the windows of a column, both ways: nanoseconds of a thread per state-pass.
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
        // The first time touches the buffers.
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
        backward_nanos: through(Direction::Backward)?,
    })
}

/// Nanoseconds of tasks: reading, passes, writing.
fn nanos(times: &TaskTimes) -> [f64; 3] {
    [times.read_nanos as f64, times.map_nanos as f64, times.write_nanos as f64]
}

/// What a count's tasks did, each thing weighed by `weight` of the lanes.
fn work(outline: &Outline, weight: impl Fn(u32) -> f64) -> [f64; 3] {
    outline.stages.iter().fold([0.0; 3], |[read, pass, write], stage| {
        let (weight, read_states) = (weight(stage.lanes), if stage.bytes_read == 0 { 0 } else { stage.states_before });
        [
            read + read_states as f64 * weight,
            pass + stage.state_passes as f64 * weight,
            write + stage.states_after as f64 * weight,
        ]
    })
}

async fn stream(
    registry: &Arc<dyn Registry>,
    request: &ProblemRequest,
    outline: &Outline,
    here: &Offer,
    scratch: &Path,
) -> Result<Speeds, MeasureError> {
    let lanes = outline.stages.iter().map(|stage| stage.lanes).max().unwrap_or(1);
    let residues = (lanes / outline.plan.coefficients.max(1)).max(1);
    let offer = Offer { executor: Executor::Stream, residues_per_sweep: Some(residues), ..here.clone() };
    let height = outline.plan.board.height;
    let board = small(registry.as_ref(), request, height, &offer, STREAM_STATE_PASSES)?;
    let status = run(registry, &board, &offer, scratch).await?;
    let of_one = |lanes: u32| STREAM_LANE.mul_add(f64::from(lanes) - 1.0, 1.0);
    let (took, work) = (nanos(&status.times), work(&board.outline, of_one));
    let (_, _, expected_bytes, _) = board.outline.totals();
    let written = (status.bytes_written as f64 / expected_bytes.max(1) as f64).clamp(0.5, 1.0);
    let Board { height, length } = board.outline.plan.board;
    let missing = (1.0 - written) * f64::from(length) / f64::from(height.max(1));
    let speed = |part: usize| {
        let one = took[part] / (work[part] * written).max(1.0);
        PerState { base_nanos: one * (1.0 - STREAM_LANE), lane_nanos: one * STREAM_LANE }
    };
    Ok(Speeds {
        boards: outline_name(&board.outline),
        height: board.outline.plan.board.height,
        key_bytes: board.outline.plan.key_bytes,
        threads: offer.threads,
        read: speed(0),
        pass: speed(1),
        write: speed(2),
        missing,
        ..Speeds::default()
    })
}

/// Counts a small board in this process.
async fn run(
    registry: &Arc<dyn Registry>,
    small: &Small,
    offer: &Offer,
    scratch: &Path,
) -> Result<JobStatus, MeasureError> {
    let config = LocalConfig {
        data: scratch.join("data"),
        scratch: scratch.join("runs"),
        memory_bytes: offer.memory_bytes,
        disk_bytes: u64::MAX,
        slots: offer.threads,
        durable_interval_millis: 3_600_000,
    };
    let cluster = LocalCluster::start(Arc::clone(registry), config)?;
    let spec = JobSpec {
        problem: small.request.clone(),
        priority: 0,
        task_memory_bytes: small.outline.plan.task_memory_bytes,
        disk_bytes: None,
        residues_per_sweep: offer.residues_per_sweep,
        window: None,
        slots: offer.threads,
        worker_slots: offer.threads,
        executor: offer.executor,
        series: offer.series,
    };
    let job = cluster.coordinator().submit(spec).await.map_err(|error| MeasureError::Count(error.to_string()))?;
    let ended = loop {
        let status = cluster.coordinator().status(job).await.map_err(|error| MeasureError::Count(error.to_string()))?;
        // Paused, as for want of disk, it waits for a person.
        if status.state.is_over() || status.state == State::Paused || !cluster.is_working() {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    cluster.stop().await?;
    match ended.state {
        State::Done => Ok(ended),
        state => Err(MeasureError::Count(format!("{} {}: {state} {}", ended.problem, ended.size, ended.reason))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keima_problems::Problems;

    /// However many threads a machine has, tasks have the memory that plans ask for.
    #[test]
    fn small_boards_are_measured_with_any_number_of_threads() {
        let open = |size: &str| -> AnyProblem {
            Problems.open(&ProblemRequest { name: "go".into(), size: size.into(), options: Vec::new() }).unwrap()
        };
        for executor in [Executor::Stream, Executor::Block] {
            for threads in [1, 60, 61, 120, 121, 1024] {
                let offer = Offer::with_runs(executor, 1, threads, memory_bytes(threads));
                let planned = Outline::new(&open("8x8"), &offer);
                assert!(planned.is_ok(), "{executor:?}, {threads} threads: {planned:?}");
            }
        }
    }
}
