//! Measures the speeds of this machine: runs the real executors on small boards of the same problem.
//!
//! - In memory: vectors with 1, 2, 4 and 8 lanes go through the windows of a column, both ways; then a whole count.
//! - Blocks with runs on disk: vectors with few and with many lanes go through the stages of a column, as tasks do it.
//! - Streams: a coordinator and a worker in this process do a whole count; the times of its tasks count.
//!
//! Runs stay in the page cache. [`measure_disk`] measures the disk.
//!
//! Cost: five to twenty seconds. Other programs on the machine distort the result.

mod blocks;
mod disk;
mod in_memory;
mod streams;

use std::path::Path;
use std::sync::Arc;

use keima_blocks::process::PROCESS_OVERHEAD_BYTES;
use keima_cluster::LinkError;
use keima_coordinator::PlanError;
use keima_engine::block::BlockError;
use keima_model::{AnyProblem, ProblemRequest, Registry};
use keima_runs::TaskTimes;

pub use self::disk::measure_disk;
use super::outline::{Outline, Way};
use super::{Offer, Speeds};
use crate::in_memory::InMemoryError;
use crate::local::LocalError;
use crate::stages::StageError;

/// Least memory of the process that counts small boards.
const MEMORY_BYTES: u64 = 512 << 20;
/// Memory of each of its threads.
const THREAD_BYTES: u64 = 16 << 20;

/// Why the speeds are unknown.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The problem has no small board.
    #[error("no smaller board of {0} could be measured: its time is not forecast")]
    NoBoard(String),
    /// Even a small board takes too long.
    #[error(
        "the board {0} could not be counted in time: the time of larger ones is not forecast; other programs may have kept the machine busy"
    )]
    TooSlow(String),
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
        "cannot measure the block executor's stages, which write some 1.5 GB: {0}; choose another folder with --scratch"
    )]
    Stage(#[from] StageError),
    /// The scratch folder.
    #[error(
        "cannot measure the disk of the scratch folder: {0}; choose another folder with --scratch, or give --disk-bandwidth"
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

/// A small board to measure, and its plan.
struct Small {
    request: ProblemRequest,
    problem: AnyProblem,
    outline: Outline,
}

/// Measures the speeds on which `outline` depends, with at most as many threads as the machine has cores. `request` names
/// the outline's problem. The measurement keeps to `machine_bytes` of memory, whatever the offer is. `scratch` is an empty
/// folder for runs; the caller deletes it afterwards.
pub async fn measure(
    registry: Arc<dyn Registry>,
    request: &ProblemRequest,
    outline: &Outline,
    offer: &Offer,
    machine_bytes: u64,
    scratch: &Path,
) -> Result<Speeds, MeasureError> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let threads = offer.threads.clamp(1, cores);
    let here = Offer {
        cache_bytes: u64::MAX,
        out_of_core: outline.way != Way::InMemory,
        ..Offer::with_runs(offer.executor, 1, threads, memory_bytes(threads).min(machine_bytes))
    };
    match (outline.way, outline.plan.block()) {
        (Way::InMemory, _) => {
            let (registry, request) = (Arc::clone(&registry), request.clone());
            let height = outline.plan.board.height;
            let here = Offer { memory_bytes: machine_bytes, ..here };
            blocking(move || in_memory::measure(registry.as_ref(), &request, height, &here)).await
        }
        (_, Some(_)) => {
            let (registry, request) = (Arc::clone(&registry), request.clone());
            let (outline, scratch) = (outline.clone(), scratch.to_path_buf());
            let most = here.memory_bytes.max(blocks::MEMORY_BYTES.min(machine_bytes));
            let here = Offer { memory_bytes: offer.memory_bytes.clamp(here.memory_bytes, most), ..here };
            blocking(move || blocks::measure(registry.as_ref(), &request, &outline, &here, &scratch)).await
        }
        (_, None) => streams::measure(&registry, request, outline, &here, scratch).await,
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

/// Square boards of at most `height` cells that can be planned, the highest first, down to two cells.
fn smaller<'a>(
    registry: &'a dyn Registry,
    request: &'a ProblemRequest,
    height: u32,
    offer: &'a Offer,
) -> impl Iterator<Item = Small> + 'a {
    let sizes = (2..=height.max(2)).rev().map(|height| [format!("{height}x{height}"), height.to_string()]);
    let plan = |size| {
        let request = ProblemRequest { size, ..request.clone() };
        let problem = registry.open(&request).ok()?;
        let outline = Outline::new(&problem, offer).ok()?;
        Some(Small { request, problem, outline })
    };
    sizes.filter_map(move |sizes| sizes.into_iter().find_map(plan))
}

fn outline_name(outline: &Outline) -> String {
    outline.plan.board.to_string()
}

/// Nanoseconds to read, pass and write.
fn nanos(times: &TaskTimes) -> [f64; 3] {
    [times.read_nanos as f64, times.map_nanos as f64, times.write_nanos as f64]
}

#[cfg(test)]
mod tests {
    use keima_coordinator::Executor;

    use super::*;
    use keima_problems::Problems;

    /// With any number of threads, a task has the memory that plans ask for.
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
