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
mod error;
mod in_memory;
mod small;
mod streams;

use std::path::Path;
use std::sync::Arc;

use keima_blocks::process::PROCESS_OVERHEAD_BYTES;
use keima_model::{ProblemRequest, Registry};

pub use self::disk::measure_disk;
pub use self::error::MeasureError;
use super::outline::{Outline, Way};
use super::{Offer, Speeds};

/// Least memory of the process that counts small boards.
const MEMORY_BYTES: u64 = 512 << 20;
/// Memory of each of its threads.
const THREAD_BYTES: u64 = 16 << 20;

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

#[cfg(test)]
mod tests {
    use keima_coordinator::Executor;
    use keima_model::AnyProblem;
    use keima_problems::Problems;

    use super::*;

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
