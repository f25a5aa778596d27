//! What a cut of a column needs of a worker's memory: tables, and a buffer for the largest family.
//!
//! ```text
//!   tables    of all families, for passes one way or both; or what parts are made of, and a task's largest part
//!   buffer    rows of the largest family x (8 bytes for each lane at a time, and 5 where passes go both ways)
//! ```

use keima_blocks::lanes::slices;
use keima_blocks::parts::beside_tasks_bytes;
use keima_blocks::process::share_bytes;
use keima_blocks::rows::largest_buffer_rows;
use keima_model::{BlockProblem, Directions, ProblemInfo, Window};

use crate::plan::{Plan, PlanLimits};

/// Columns of a board in which two vectors can meet: one is known, and each has one to go at least.
const LEAST_LENGTH: u32 = 3;
/// Bytes of a state beside its lanes where passes go both ways: the ways that lead to it, 4; and, with one lane at a time,
/// its part of what the meeting of two vectors takes.
const BOTH_WAYS_BYTES: u64 = 5;

/// What a cut of the column needs.
pub(super) struct Memory {
    pub(super) windows: Vec<Window>,
    /// Rows of a task's buffer for it.
    buffer_rows: u64,
    /// Tables of a worker: those of all families, or what parts are made of.
    table_bytes: u64,
    /// Where tables are made a part at a time: those of a task's largest part.
    pub(super) parted: Option<u64>,
    /// Tasks that share a worker's memory.
    tasks: u64,
    /// Whether passes go both ways.
    both_ways: bool,
}

impl Memory {
    pub(super) fn of(
        info: &dyn ProblemInfo,
        blocks: &dyn BlockProblem,
        windows: Vec<Window>,
        limits: &PlanLimits,
        parted: bool,
    ) -> Self {
        let tasks = u64::from(limits.worker_slots.max(1));
        let buffer_rows = largest_buffer_rows(info, &windows);
        let (table_bytes, part_bytes) = if parted {
            let parted = blocks.parted_bytes(&windows);
            let memory_bytes = limits.task_memory_bytes.saturating_mul(tasks);
            (beside_tasks_bytes(parted, memory_bytes, limits.worker_slots.max(1)), Some(parted.task_bytes))
        } else {
            (blocks.table_bytes(&windows, Directions::Forward), None)
        };
        Self { windows, buffer_rows, table_bytes, parted: part_bytes, tasks, both_ways: false }
    }

    /// The same with tables for transposed passes too, where they are wanted and fit.
    pub(super) fn both_ways(
        &self,
        info: &dyn ProblemInfo,
        blocks: &dyn BlockProblem,
        limits: &PlanLimits,
    ) -> Option<Self> {
        if limits.series || self.parted.is_some() || info.board().length < LEAST_LENGTH {
            return None;
        }
        let (windows, table_bytes) = (self.windows.clone(), blocks.table_bytes(&self.windows, Directions::Both));
        let both = Self { windows, table_bytes, both_ways: true, ..*self };
        (both.least_bytes() <= limits.task_memory_bytes).then_some(both)
    }

    /// In how many goes the largest family's lanes are done, all stages taken together but the last.
    pub(super) fn goes(&self, plan: &Plan, limits: &PlanLimits) -> usize {
        let all_bytes = limits.task_memory_bytes.saturating_mul(self.tasks).saturating_sub(self.table_bytes);
        let left = all_bytes.saturating_sub(self.family_bytes(0));
        let fit = u32::try_from(left / self.buffer_rows.saturating_mul(8).max(1)).unwrap_or(u32::MAX);
        let lanes = plan.block().map_or(&[][..], |block| &block.lanes);
        lanes.iter().rev().skip(1).map(|&lanes| slices(lanes, fit).len()).sum()
    }

    /// The buffer of the largest family.
    pub(super) fn family_bytes(&self, lanes: u32) -> u64 {
        self.buffer_rows.saturating_mul(8 * u64::from(lanes) + if self.both_ways { BOTH_WAYS_BYTES } else { 0 })
    }

    /// What is left to a task.
    pub(super) fn share_bytes(&self, task_memory_bytes: u64) -> u64 {
        share_bytes(task_memory_bytes, self.table_bytes.div_ceil(self.tasks), self.parted.unwrap_or(0))
    }

    /// Memory of each task, if one at a time is to do a lane of the largest family with the memory of all.
    pub(super) fn least_bytes(&self) -> u64 {
        let one = self.family_bytes(1).saturating_add(self.parted.unwrap_or(0));
        one.saturating_add(self.table_bytes).div_ceil(self.tasks)
    }
}
