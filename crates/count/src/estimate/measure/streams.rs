//! Speeds of the stream executor: a whole count by a coordinator and a worker in this process. The times of its tasks count.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keima_coordinator::{Executor, JobSpec, JobStatus, State};
use keima_model::{Board, ProblemRequest, Registry};

use super::{MeasureError, Small, nanos, outline_name, small};
use crate::estimate::{Offer, Outline, PerState, Speeds};
use crate::local::{LocalCluster, LocalConfig};

/// State-passes of the measured board, at most: far more than the fixed costs of a stage, and done in seconds.
const STREAM_STATE_PASSES: u64 = 70_000_000;
/// Cost of each further lane, relative to that of a state with one lane. The small board may need fewer residues than the
/// large one.
const STREAM_LANE: f64 = 0.06;

/// States that a count's tasks read, passed and wrote, weighed by `weight` of their lanes.
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

/// Measures on the highest square board of at most the outline's height.
pub(super) async fn measure(
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
        // A paused job, as with a full disk, waits for a person.
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
