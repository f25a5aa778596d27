//! The forecast of disk, from the number of states before each pass.
//!
//! While a stage runs, scratch folders hold
//!
//! ```text
//!   the vector at its start  +  the written part of the vector at its end  +  the retained durable boundary, if any
//! ```
//!
//! and the peak is the maximum over stages. What is retained:
//!
//! - On one machine a boundary becomes durable about every [`DURABLE_INTERVAL_SECONDS`], and the newest durable one
//!   stays until the next is complete. It counts as the largest vector of an earlier boundary, or not at all if the
//!   whole job should take less than the interval. A stage that reads a large vector writes durably: then nothing older
//!   is retained.
//! - Where two vectors meet, the kept one stays from the middle on.
//! - Where column ends get second copies, the newest column end with two copies stays until the next has them.
//!
//! Not in the forecast: spills of running tasks, and equal states that the parts of a cut family write.

use keima_model::ProblemInfo;

use super::limits::MOST_PASSES;
use super::{LARGE_VECTOR_BYTES, Plan, PlanError};

/// Time between durable boundaries.
const DURABLE_INTERVAL_SECONDS: f64 = 60.0;
/// Time of the stream executor, on one slot, for one state with one lane through one pass.
const STATE_PASS_SECONDS: f64 = 100e-9;
/// Time for each further lane.
const LANE_SECONDS: f64 = 6e-9;

/// The problem's forecast in 64 bits; empty where it has none. A board that is too large for a plan is refused.
pub(super) fn saturated_states(info: &dyn ProblemInfo) -> Result<Vec<u64>, PlanError> {
    let board = info.board();
    let cells = u64::from(board.height) * u64::from(board.length);
    if cells > u64::from(MOST_PASSES) {
        return Err(PlanError::Board { cells, most: MOST_PASSES });
    }
    let Some(forecast) = info.forecast() else { return Ok(Vec::new()) };
    let expected = info.board().passes() as usize + 1;
    if forecast.states.len() != expected {
        let what = format!("forecast of {} state counts", forecast.states.len());
        return Err(PlanError::Problem { what, expected: format!("{expected}, one per pass and one for the end") });
    }
    Ok(forecast.states.iter().map(|&n| u64::try_from(n).unwrap_or(u64::MAX)).collect())
}

/// Forecasts for one sweep of a plan.
pub(super) struct Usage<'a> {
    plan: &'a Plan,
    /// Most lanes of a sweep.
    lanes: u32,
    state_pass_seconds: f64,
}

impl<'a> Usage<'a> {
    /// For the plan's sweep with the most lanes, `lanes`.
    pub(super) fn of(plan: &'a Plan, lanes: u32) -> Self {
        let more = f64::from(lanes.saturating_sub(1));
        let state_pass_seconds = LANE_SECONDS.mul_add(more, STATE_PASS_SECONDS) / f64::from(plan.slots);
        Self { plan, lanes, state_pass_seconds }
    }

    /// Most bytes in all scratch folders at a time; 0 where the numbers of states are unknown.
    pub(super) fn peak_disk_bytes(&self, second_copies: bool) -> u64 {
        if self.plan.states.is_empty() {
            return 0;
        }
        let keeps_boundaries = self.job_seconds() >= DURABLE_INTERVAL_SECONDS;
        let (mut largest, mut peak, mut before) = (0.0_f64, 0.0_f64, 0.0_f64);
        for number in 0..self.plan.stages() {
            if self.plan.starts(number) {
                // Of the vector before, only the kept boundary remains.
                (largest, before) = (0.0, 0.0);
            }
            let (start, end) = (self.written(self.before(number)), self.written(Some(number)));
            let retained = if second_copies {
                self.copied(number)
            } else if keeps_boundaries && before < LARGE_VECTOR_BYTES as f64 {
                largest
            } else {
                0.0
            };
            peak = peak.max(start + end + retained + self.kept(number, second_copies));
            (before, largest) = (start, largest.max(start));
        }
        // Saturates, as float casts do.
        peak.ceil() as u64
    }

    /// The stage whose vector a stage reads.
    fn before(&self, number: u32) -> Option<u32> {
        number.checked_sub(1).filter(|_| !self.plan.starts(number))
    }

    /// Bytes that a stage writes.
    fn written(&self, number: Option<u32>) -> f64 {
        let Some(number) = number.filter(|&number| !self.plan.meets(number)) else { return 0.0 };
        let lanes = self.plan.block().and_then(|block| block.lanes.get(number as usize));
        let record_bytes = self.plan.record_bytes_with(lanes.map_or(self.lanes, |&lanes| lanes.min(self.lanes)));
        self.states(self.plan.stage(number).boundaries().1) * record_bytes
    }

    /// Bytes of the vector that is kept for another to meet, while that one is under way.
    fn kept(&self, number: u32, second_copies: bool) -> f64 {
        let kept = self.plan.kept_stage().filter(|&kept| number > kept);
        self.written(kept) * if second_copies { 2.0 } else { 1.0 }
    }

    /// Bytes of column ends and their copies, without the one copy that stage `number` reads.
    fn copied(&self, number: u32) -> f64 {
        // The last stage of the column before, and of the column before that.
        let columns = |count: u32| {
            let mut at = Some(number);
            let mut left = count;
            while let Some(before) = at.and_then(|at| self.before(at)) {
                at = Some(before);
                if self.plan.stage(before).ends_column(self.plan.board) {
                    left -= 1;
                    if left == 0 {
                        return Some(before);
                    }
                }
            }
            None
        };
        let (newest, older) = (columns(1), columns(2));
        // Copies are made beside the column's tasks, which go first. Until the column is well under way, both copies of
        // the older column end are there, and both of the newest. The first stage reads one of the newest.
        let own = if newest.is_some() && newest == self.before(number) { 1.0 } else { 2.0 };
        2.0 * self.written(older) + own * self.written(newest)
    }

    fn job_seconds(&self) -> f64 {
        let state_passes: f64 = (0..self.plan.board.passes()).map(|pass| self.states(pass)).sum();
        state_passes * self.state_pass_seconds * self.plan.sweeps.len() as f64
    }

    fn states(&self, boundary: u32) -> f64 {
        self.plan.states.get(boundary as usize).copied().unwrap_or(0) as f64
    }
}
