//! What a cut of a column needs of a worker's memory, for plans: see [`keima_blocks::out_of_core`].

use keima_blocks::lanes::slices;
use keima_blocks::out_of_core::Needs;
use keima_model::{BlockProblem, Directions, ProblemInfo, Window};

use crate::plan::{Plan, PlanLimits};

/// Columns of a board in which two vectors can meet: one is known, and each has one to go at least.
const LEAST_LENGTH: u32 = 3;

/// A cut of the column, and what it needs.
pub(super) struct Memory {
    pub(super) windows: Vec<Window>,
    pub(super) needs: Needs,
}

impl Memory {
    /// With tables of all families, for forward passes.
    pub(super) fn whole(
        info: &dyn ProblemInfo,
        blocks: &dyn BlockProblem,
        windows: Vec<Window>,
        limits: &PlanLimits,
    ) -> Self {
        let needs = Needs::whole(info, blocks, &windows, Directions::Forward, limits.worker_slots);
        Self { windows, needs }
    }

    /// With tables that are made a part at a time.
    pub(super) fn parted(
        info: &dyn ProblemInfo,
        blocks: &dyn BlockProblem,
        windows: Vec<Window>,
        limits: &PlanLimits,
    ) -> Self {
        let needs = Needs::parted(info, blocks, &windows, limits.task_memory_bytes, limits.worker_slots);
        Self { windows, needs }
    }

    /// The same with tables for transposed passes too, where they are wanted and fit.
    pub(super) fn both_ways(
        &self,
        info: &dyn ProblemInfo,
        blocks: &dyn BlockProblem,
        limits: &PlanLimits,
    ) -> Option<Self> {
        if limits.series || self.needs.is_parted() || info.board().length < LEAST_LENGTH {
            return None;
        }
        let needs = Needs::whole(info, blocks, &self.windows, Directions::Both, limits.worker_slots);
        (needs.least_bytes() <= limits.task_memory_bytes).then(|| Self { windows: self.windows.clone(), needs })
    }

    /// In how many goes the largest family's lanes are done, all stages taken together but the last.
    pub(super) fn goes(&self, plan: &Plan, limits: &PlanLimits) -> usize {
        let fit = self.needs.most_lanes(limits.task_memory_bytes);
        let lanes = plan.block.as_ref().map_or(&[][..], |block| &block.lanes);
        lanes.iter().rev().skip(1).map(|&lanes| slices(lanes, fit).len()).sum()
    }
}
