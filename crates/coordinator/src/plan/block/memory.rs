//! What a cut of a column needs of a worker's memory, for plans: see [`keima_blocks::out_of_core`].

use keima_blocks::lanes::slices;
use keima_blocks::limits::MOST_GROUPS;
use keima_blocks::out_of_core::Needs;
use keima_blocks::rows::buffered_states;
use keima_model::{BlockProblem, Directions, ProblemInfo, Window};

use super::Request;
use crate::plan::{BlockPlan, Plan, PlanLimits};

/// Fewest columns of a board on which two vectors can meet: the first is known, and each vector takes one at least.
const LEAST_LENGTH: u32 = 3;
/// Groups that the planner aims at, for each task that runs at a time.
const GROUPS_PER_SLOT: u64 = 16;
/// The same where each group makes its own tables: each makes all blocks of its rests.
const PARTED_GROUPS_PER_SLOT: u64 = 4;
/// Most groups of a vector that the planner aims at. A window then has fewer than three times as many.
const MOST_PLANNED_GROUPS: u64 = MOST_GROUPS / 4;
/// Tasks are not cut finer than this.
const LEAST_GROUP_RECORDS: u64 = 1 << 14;

/// A cut of the column, and what it needs.
pub(super) struct Memory {
    pub(super) windows: Vec<Window>,
    pub(super) needs: Needs,
}

impl Memory {
    /// With tables of all families, for forward passes.
    pub(super) fn whole(request: &Request<'_>, windows: Vec<Window>) -> Self {
        let Request { info, blocks, limits, .. } = *request;
        let needs = Needs::whole(info, blocks, &windows, Directions::Forward, limits.worker_slots);
        Self { windows, needs }
    }

    /// With tables that are made a part at a time.
    pub(super) fn parted(request: &Request<'_>, windows: Vec<Window>) -> Self {
        let Request { info, blocks, limits, .. } = *request;
        let needs = Needs::parted(info, blocks, &windows, limits.task_memory_bytes, limits.worker_slots);
        Self { windows, needs }
    }

    /// The same with tables for transposed passes too, where they are wanted and fit.
    pub(super) fn both_ways(&self, request: &Request<'_>) -> Option<Self> {
        let Request { info, blocks, limits, .. } = *request;
        if limits.series || self.needs.is_parted() || info.board().length < LEAST_LENGTH {
            return None;
        }
        let needs = Needs::whole(info, blocks, &self.windows, Directions::Both, limits.worker_slots);
        (needs.least_bytes() <= limits.task_memory_bytes).then(|| Self { windows: self.windows.clone(), needs })
    }

    /// In how many rounds all stages but the last pass over the lanes of the largest family.
    pub(super) fn rounds(&self, request: &Request<'_>, plan: &Plan) -> usize {
        let fit = self.needs.most_lanes(request.limits.task_memory_bytes);
        let lanes = plan.block().map_or(&[][..], |block| &block.lanes);
        lanes.iter().rev().skip(1).map(|&lanes| slices(lanes, fit).len()).sum()
    }

    /// Records of a group: they fit a task, and there are groups for all.
    pub(super) fn group_records(&self, request: &Request<'_>, lanes: u32) -> u64 {
        let peak_states = request.peak_states();
        let share_bytes = self.needs.share_bytes(request.limits.task_memory_bytes);
        let bounds = request.blocks.family_bounds();
        let by_memory = buffered_states(&bounds, self.needs.directions(), &self.windows, share_bytes, lanes);
        let groups = if self.needs.is_parted() { PARTED_GROUPS_PER_SLOT } else { GROUPS_PER_SLOT };
        let by_slots = peak_states / (groups * u64::from(request.limits.slots.max(1)));
        let most = by_memory.min(by_slots.max(LEAST_GROUP_RECORDS));
        most.max(peak_states / MOST_PLANNED_GROUPS).max(1)
    }
}

/// What a plan's cut of the column needs, with the limits of other workers.
fn needs_of(
    plan: &Plan,
    block: &BlockPlan,
    info: &dyn ProblemInfo,
    blocks: &dyn BlockProblem,
    limits: &PlanLimits,
) -> Needs {
    let (windows, task_bytes, tasks) = (&plan.windows, limits.task_memory_bytes, limits.worker_slots);
    if block.parted {
        return Needs::parted(info, blocks, windows, task_bytes, tasks);
    }
    let directions = if block.middle.is_some() { Directions::Both } else { Directions::Forward };
    Needs::whole(info, blocks, windows, directions, tasks)
}

/// States of a family of which one lane fits a worker. Vectors that meet have runs with all lanes.
pub(super) fn room_states(
    plan: &Plan,
    block: &BlockPlan,
    info: &dyn ProblemInfo,
    blocks: &dyn BlockProblem,
    limits: &PlanLimits,
) -> u64 {
    if block.middle.is_some() {
        return 0;
    }
    let needs = needs_of(plan, block, info, blocks, limits);
    let room_bytes = needs.room_bytes(limits.task_memory_bytes);
    buffered_states(&blocks.family_bounds(), needs.directions(), &plan.windows, room_bytes, 1).max(1)
}

/// Whether a plan's tables, its largest family and its groups fit a worker with other limits, a lane at a time.
pub(super) fn fits(
    plan: &Plan,
    block: &BlockPlan,
    info: &dyn ProblemInfo,
    blocks: &dyn BlockProblem,
    limits: &PlanLimits,
) -> bool {
    let (windows, task_bytes) = (&plan.windows, limits.task_memory_bytes);
    let needs = needs_of(plan, block, info, blocks, limits);
    // A group that is no larger than the largest family has room where that has.
    let families = windows.iter().filter_map(|&window| info.largest_family(window));
    let largest = families.max().unwrap_or(0);
    let bounds = blocks.family_bounds();
    let room = || buffered_states(&bounds, needs.directions(), windows, needs.share_bytes(task_bytes), 1);
    needs.least_bytes() <= task_bytes && (u128::from(block.group_records) <= largest || block.group_records <= room())
}
