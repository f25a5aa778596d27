//! The forecast of disk, from the numbers of states before each pass.
//!
//! While a stage runs, scratch folders hold
//!
//! ```text
//!   the vector at its start  +  what is written of the vector at its end  +  the retained durable boundary, if any
//! ```
//!
//! and the peak is the maximum over stages. What is retained:
//!
//! - On one machine a boundary becomes durable about every [`DURABLE_INTERVAL_SECONDS`], and the newest durable one
//!   stays until the next is complete: counted as the largest vector of an earlier boundary. It is left out where the
//!   whole job is expected to take less than the interval. What a stage makes of a large vector is durable, and nothing
//!   older is retained.
//! - Where column ends get second copies, the newest column end with two copies stays until the next has them.
//!
//! Not in the forecast: spills of running tasks, and equal states that the parts of a cut family write.

use super::{LARGE_VECTOR_BYTES, Plan, Stage};

/// Time between durable boundaries.
const DURABLE_INTERVAL_SECONDS: f64 = 60.0;
/// Stream executor: a state through a pass with one lane, on one slot.
const STATE_PASS_SECONDS: f64 = 100e-9;
/// Each further lane.
const LANE_SECONDS: f64 = 6e-9;

/// Forecasts for one sweep of a plan.
pub(super) struct Usage<'a> {
    plan: &'a Plan,
    state_pass_seconds: f64,
}

impl<'a> Usage<'a> {
    /// For the plan's sweep with the most lanes, `lanes`.
    pub(super) fn of(plan: &'a Plan, lanes: u32) -> Self {
        let lanes = f64::from(lanes.saturating_sub(1));
        let state_pass_seconds = LANE_SECONDS.mul_add(lanes, STATE_PASS_SECONDS) / f64::from(plan.slots);
        Self { plan, state_pass_seconds }
    }

    /// Most bytes in all scratch folders at a time; 0 where the numbers of states are unknown.
    pub(super) fn peak_disk_bytes(&self, second_copies: bool) -> u64 {
        if self.plan.states.is_empty() {
            return 0;
        }
        let keeps_boundaries = self.job_seconds() >= DURABLE_INTERVAL_SECONDS;
        let (mut largest, mut peak, mut before) = (0.0_f64, 0.0_f64, 0.0_f64);
        for stage in (0..self.plan.stages()).map(|number| self.plan.stage(number)) {
            let (start, end) = (self.states(stage.first_pass), self.states(stage.end_pass()));
            let retained = if second_copies {
                self.copied(&stage)
            } else if keeps_boundaries && before * self.plan.record_bytes < LARGE_VECTOR_BYTES as f64 {
                largest
            } else {
                0.0
            };
            peak = peak.max(start + end + retained);
            (before, largest) = (start, largest.max(start));
        }
        // Saturates, as float casts do.
        (peak * self.plan.record_bytes).ceil() as u64
    }

    /// States of column ends, each as often as it is held besides the vector that `stage` reads.
    fn copied(&self, stage: &Stage) -> f64 {
        let height = self.plan.board.height;
        let column = self.plan.board.column(stage.first_pass);
        let end_of = |columns: u32| if columns == 0 { 0.0 } else { self.states(columns * height) };
        // Copies are made beside the column's tasks, which go first: until the column is well under way both copies of
        // the column end before are there, and both of this one, of which the first stage reads one.
        let own = if self.plan.board.cell(stage.first_pass) == 0 { 1.0 } else { 2.0 };
        2.0 * end_of(column.saturating_sub(1)) + own * end_of(column)
    }

    fn job_seconds(&self) -> f64 {
        let state_passes: f64 = (0..self.plan.board.passes()).map(|pass| self.states(pass)).sum();
        state_passes * self.state_pass_seconds * self.plan.sweeps.len() as f64
    }

    fn states(&self, boundary: u32) -> f64 {
        self.plan.states.get(boundary as usize).copied().unwrap_or(0) as f64
    }
}
