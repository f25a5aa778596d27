//! What a cut of the column needs of a worker out of core: tables, and a buffer for the largest family.
//!
//! ```text
//!   tables    of all families, for passes one way or both; or what parts are made of, and a task's largest part
//!   buffer    rows of a window's largest family x (8 bytes for each lane at a time, and 5 where passes go both ways)
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// For each window its largest family.
    largest: Vec<LargestFamily>,
    /// Tables of a worker: those of all families, or what parts are made of.
    table_bytes: u64,
    /// Whether tables are made a part at a time.
    parted: bool,
    /// Tasks that share a worker's memory.
    tasks: u64,
    directions: Directions,
}

/// What a task needs for the largest family of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LargestFamily {
    /// Rows of its buffer.
    buffer_rows: u64,
    /// Tables that are made for it.
    part_bytes: u64,
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
        let rows = |&window| largest_buffer_rows(info, blocks, directions, window);
        let largest = windows.iter().map(|window| LargestFamily { buffer_rows: rows(window), part_bytes: 0 });
        Self {
            largest: largest.collect(),
            table_bytes: blocks.table_bytes(windows, directions),
            parted: false,
            tasks: tasks.max(1).into(),
            directions,
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
        let parts = blocks.parts_bytes(windows);
        let directions = Directions::Forward;
        let rows = windows.iter().map(|&window| largest_buffer_rows(info, blocks, directions, window));
        let largest = rows.zip(&parts.largest_bytes);
        Self {
            largest: largest.map(|(buffer_rows, &part_bytes)| LargestFamily { buffer_rows, part_bytes }).collect(),
            table_bytes: beside_tasks_bytes(&parts, task_memory_bytes.saturating_mul(tasks.into()), tasks),
            parted: true,
            tasks: tasks.into(),
            directions,
        }
    }

    /// Whether tables are made a part at a time.
    pub fn is_parted(&self) -> bool {
        self.parted
    }

    /// The ways in which passes go.
    pub fn directions(&self) -> Directions {
        self.directions
    }

    /// Bytes of a row of `lanes` lanes.
    fn row_bytes(&self, lanes: u64) -> u64 {
        8 * lanes + if self.directions.transposed() { BOTH_WAYS_BYTES } else { 0 }
    }

    /// What is left to a task's states.
    pub fn share_bytes(&self, task_memory_bytes: u64) -> u64 {
        let part_bytes = self.largest.iter().map(|family| family.part_bytes).max().unwrap_or(0);
        share_bytes(task_memory_bytes, self.table_bytes.div_ceil(self.tasks), part_bytes)
    }

    /// What one task has beside tables and the largest part, with the memory of all.
    pub fn room_bytes(&self, task_memory_bytes: u64) -> u64 {
        let part_bytes = self.largest.iter().map(|family| family.part_bytes).max().unwrap_or(0);
        let all_bytes = task_memory_bytes.saturating_mul(self.tasks);
        all_bytes.saturating_sub(self.table_bytes).saturating_sub(part_bytes)
    }

    /// Memory of each task, if one at a time is to do a lane of the largest family with the memory of all.
    pub fn least_bytes(&self) -> u64 {
        let row_bytes = self.row_bytes(1);
        let bytes =
            |family: &LargestFamily| family.buffer_rows.saturating_mul(row_bytes).saturating_add(family.part_bytes);
        let most_bytes = self.largest.iter().map(bytes).max().unwrap_or(0);
        most_bytes.saturating_add(self.table_bytes).div_ceil(self.tasks)
    }

    /// Lanes of the largest family at a time, if one task does it with the memory of all.
    pub fn most_lanes(&self, task_memory_bytes: u64) -> u32 {
        let all_bytes = task_memory_bytes.saturating_mul(self.tasks).saturating_sub(self.table_bytes);
        let lanes = |family: &LargestFamily| {
            let beside_bytes = family.buffer_rows.saturating_mul(self.row_bytes(0)).saturating_add(family.part_bytes);
            all_bytes.saturating_sub(beside_bytes) / family.buffer_rows.saturating_mul(8).max(1)
        };
        u32::try_from(self.largest.iter().map(lanes).min().unwrap_or(0)).unwrap_or(u32::MAX)
    }
}
