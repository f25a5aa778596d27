//! Speeds of the stream executor: a whole count by a coordinator and a worker in this process. The times of its tasks count.
//!
//! ```text
//!   work      state-passes, each weighed by its lanes: residues x coefficients
//!   first     a small board, done in a tenth of a second
//!   second    the largest board that is done in SOON at the first one's speed; given up at LATE
//! ```
//!
//! The first board's speed stands where no larger board is done in time. Cost: SOON as a rule, LATE at most.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keima_coordinator::{Executor, Follows, JobSpec, JobStatus, State};
use keima_model::{Board, ProblemRequest, Registry};

use super::error::MeasureError;
use super::small::{Small, nanos, outline_name, smaller};
use crate::estimate::{Offer, Outline, PerState, Speeds};
use crate::local::{LocalCluster, LocalConfig};

/// State-passes of the measured board, at most: far more than the fixed costs of a stage, and done in seconds.
const STREAM_STATE_PASSES: u64 = 70_000_000;
/// Work of the first board, at most.
const FIRST_WORK: f64 = 1e6;
/// Expected time of the second board, at most.
const SOON: Duration = Duration::from_secs(7);
/// Time after which a board is given up.
const LATE: Duration = Duration::from_secs(11);
/// Cost of each further lane, relative to that of a state with one lane. The small board may need fewer residues than the
/// large one.
const STREAM_LANE: f64 = 0.06;

/// Cost of a state with `lanes` lanes, relative to one with a single lane.
fn cost(lanes: u32) -> f64 {
    STREAM_LANE.mul_add(f64::from(lanes) - 1.0, 1.0)
}

/// States that a count's tasks read, passed and wrote, weighed by their lanes.
fn work(outline: &Outline) -> [f64; 3] {
    outline.stages.iter().fold([0.0; 3], |[read, pass, write], stage| {
        let (cost, read_states) = (cost(stage.lanes), if stage.bytes_read == 0 { 0 } else { stage.states_before });
        [
            read + read_states as f64 * cost,
            pass + stage.state_passes as f64 * cost,
            write + stage.states_after as f64 * cost,
        ]
    })
}

/// State-passes of a count, weighed by their lanes.
fn passes(outline: &Outline) -> f64 {
    work(outline)[1]
}

/// Measures on boards of at most the outline's height.
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
    let few = |outline: &Outline| (1..=STREAM_STATE_PASSES).contains(&outline.totals().0);
    let boards: Vec<Small> = smaller(registry.as_ref(), request, outline.plan.board.height, &offer)
        .filter(|board| few(&board.outline))
        .collect();
    let highest_with = |most: f64| boards.iter().find(|board| passes(&board.outline) <= most);
    let first =
        highest_with(FIRST_WORK).or(boards.last()).ok_or_else(|| MeasureError::NoBoard(request.name.clone()))?;
    let started = Instant::now();
    let status = run(registry, first, &offer, &scratch.join("first"), started + LATE).await?;
    let status = status.ok_or_else(|| MeasureError::TooSlow(outline_name(&first.outline)))?;
    let rate = passes(&first.outline) / started.elapsed().as_secs_f64().max(1e-3);
    let (mut board, mut status) = (first, status);
    let second =
        highest_with(rate * SOON.as_secs_f64()).filter(|second| passes(&second.outline) > passes(&first.outline));
    if let Some(second) = second
        && let Some(done) = run(registry, second, &offer, &scratch.join("second"), started + LATE).await?
    {
        (board, status) = (second, done);
    }
    let is_highest = boards.first().is_some_and(|highest| highest.request == board.request);
    let (took, work) = (nanos(&status.traffic.times), work(&board.outline));
    let (_, _, expected_bytes, _) = board.outline.totals();
    let written = (status.traffic.bytes_written as f64 / expected_bytes.max(1) as f64).clamp(0.5, 1.0);
    let Board { height, length } = board.outline.plan.board;
    let missing = (1.0 - written) * f64::from(length) / f64::from(height.max(1));
    let speed = |part: usize| {
        let one = took[part] / (work[part] * written).max(1.0);
        PerState { base_nanos: one * (1.0 - STREAM_LANE), lane_nanos: one * STREAM_LANE }
    };
    let name = outline_name(&board.outline);
    Ok(Speeds {
        note: (!is_highest)
            .then(|| format!("speeds are extrapolated from {name}: a larger board takes too long to be measured")),
        boards: name,
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

/// Counts a small board in this process. `None` if it is not done at `late`.
async fn run(
    registry: &Arc<dyn Registry>,
    small: &Small,
    offer: &Offer,
    scratch: &Path,
    late: Instant,
) -> Result<Option<JobStatus>, MeasureError> {
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
        other_primes: false,
        follows: Follows::default(),
    };
    let job = cluster.coordinator().submit(spec).await.map_err(|error| MeasureError::Count(error.to_string()))?;
    let ended = loop {
        let status = cluster.coordinator().status(job).await.map_err(|error| MeasureError::Count(error.to_string()))?;
        if Instant::now() > late && !status.state.is_over() {
            cluster.stop().await?;
            return Ok(None);
        }
        // A paused job, as with a full disk, waits for a person.
        if status.state.is_over() || status.state == State::Paused || !cluster.is_working() {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    cluster.stop().await?;
    match ended.state {
        State::Done => Ok(Some(ended)),
        state => {
            Err(MeasureError::Count(format!("{} {}: {state} {}", ended.problem.name, ended.problem.size, ended.reason)))
        }
    }
}

#[cfg(test)]
mod tests {
    use keima_problems::Problems;

    use super::*;

    /// A count that is not done in time is given up, and leaves the folder free for the next one.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_board_that_takes_too_long_is_given_up() {
        let registry: Arc<dyn Registry> = Arc::new(Problems);
        let request = ProblemRequest { name: "go".into(), size: "8x8".into(), options: Vec::new() };
        let offer = Offer::with_runs(Executor::Stream, 1, 1, 512 << 20);
        let board = smaller(registry.as_ref(), &request, 8, &offer).next().unwrap();
        assert_eq!(board.request, request);
        let folder = tempfile::tempdir().unwrap();
        let now = Instant::now();
        for (late, is_done) in [(now, false), (now + Duration::from_secs(1000), true)] {
            let done = run(&registry, &board, &offer, folder.path(), late).await.unwrap();
            assert_eq!(done.is_some_and(|status| status.state == State::Done), is_done);
        }
    }
}
