//! What a cut of the column needs of a worker out of core: tables, and a buffer for the largest family.
//!
//! ```text
//!   tables    of all families, for passes one way or both; or what parts are made of, and a task's largest part
//!   buffer    rows of the largest family x (8 bytes for each lane at a time, and 5 where passes go both ways)
//! ```

use keima_model::{BlockProblem, Directions, ProblemInfo, Window};

use crate::parts::beside_tasks_bytes;
use crate::process::share_bytes;
use crate::rows::largest_buffer_rows;

/// Bytes of a row beside its lanes where passes go both ways. Four hold the ways that lead to it. The fifth is its part
/// of the buffer in which two vectors meet, one lane at a time.
const BOTH_WAYS_BYTES: u64 = 5;
/// The same in lanes, for forecasts.
pub const BOTH_WAYS_LANES: f64 = 0.5;

/// Words for the ways that lead to `states` states of a transposed vector, two to a word.
pub const fn ways_words(states: usize) -> usize {
    states.div_ceil(2)
}

/// Words for the product with a kept vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptProductWords {
    /// For each lane.
    pub per_lane: usize,
    /// Beside the lanes.
    pub beside: usize,
}

/// Words for the product of `states` states with those of a kept vector. Each state has a bit. One in 64 is in the sample,
/// with its place, in lists that may have twice the room.
pub const fn kept_product_words(states: usize) -> KeptProductWords {
    KeptProductWords { per_lane: states / 32, beside: states / 64 * 3 }
}

/// What a cut of the column into windows needs of each worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Rows of a task's buffer for the largest family.
    buffer_rows: u64,
    /// Tables of a worker: those of all families, or what parts are made of.
    table_bytes: u64,
    /// Where tables are made a part at a time: those of a task's largest part.
    part_bytes: Option<u64>,
    /// Tasks that share a worker's memory.
    tasks: u64,
    /// Whether passes go both ways.
    both_ways: bool,
}

impl Needs {
    /// With tables of all families, where `tasks` tasks share a worker.
    pub fn whole(
        info: &dyn ProblemInfo,
        blocks: &dyn BlockProblem,
        windows: &[Window],
        directions: Directions,
        tasks: u32,
    ) -> Self {
        Self {
            buffer_rows: largest_buffer_rows(info, blocks, windows),
            table_bytes: blocks.table_bytes(windows, directions),
            part_bytes: None,
            tasks: tasks.max(1).into(),
            both_ways: directions.transposed(),
        }
    }

    /// With tables that are made a part at a time, where each of `tasks` tasks of a worker has `task_memory_bytes`.
    pub fn parted(
        info: &dyn ProblemInfo,
        blocks: &dyn BlockProblem,
        windows: &[Window],
        task_memory_bytes: u64,
        tasks: u32,
    ) -> Self {
        let tasks = tasks.max(1);
        let parted = blocks.parts_bytes(windows);
        let memory_bytes = task_memory_bytes.saturating_mul(tasks.into());
        Self {
            buffer_rows: largest_buffer_rows(info, blocks, windows),
            table_bytes: beside_tasks_bytes(parted, memory_bytes, tasks),
            part_bytes: Some(parted.task_bytes),
            tasks: tasks.into(),
            both_ways: false,
        }
    }

    /// Whether tables are made a part at a time.
    pub fn is_parted(&self) -> bool {
        self.part_bytes.is_some()
    }

    /// The buffer of the largest family with `lanes` lanes at a time.
    fn family_bytes(&self, lanes: u32) -> u64 {
        self.buffer_rows.saturating_mul(8 * u64::from(lanes) + if self.both_ways { BOTH_WAYS_BYTES } else { 0 })
    }

    /// What is left to a task's states.
    pub fn share_bytes(&self, task_memory_bytes: u64) -> u64 {
        share_bytes(task_memory_bytes, self.table_bytes.div_ceil(self.tasks), self.part_bytes.unwrap_or(0))
    }

    /// Memory of each task, if one at a time is to do a lane of the largest family with the memory of all.
    pub fn least_bytes(&self) -> u64 {
        let one = self.family_bytes(1).saturating_add(self.part_bytes.unwrap_or(0));
        one.saturating_add(self.table_bytes).div_ceil(self.tasks)
    }

    /// Lanes of the largest family at a time, if one task does it with the memory of all.
    pub fn most_lanes(&self, task_memory_bytes: u64) -> u32 {
        let all_bytes = task_memory_bytes.saturating_mul(self.tasks).saturating_sub(self.table_bytes);
        let left = all_bytes.saturating_sub(self.family_bytes(0));
        u32::try_from(left / self.buffer_rows.saturating_mul(8).max(1)).unwrap_or(u32::MAX)
    }
}
