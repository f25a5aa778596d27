//! A plan: the sweeps and stages of a job.
//!
//! ```text
//!   sweep    some of the moduli, through all passes
//!   stage    the passes of one window of a column; stages of a forward vector come first, then those of a transposed one
//!   middle   the forward vector is kept after this column; the transposed one comes from the end and meets it there
//! ```

use keima_model::{Board, Direction, Layout, Window};
use serde::{Deserialize, Serialize};

use super::stored::StoredPlan;

/// Block index and padding, as a factor on a run's length.
pub(super) const INDEX_FACTOR: f64 = 1.01;
/// A vector of this size is made durable at every boundary. Writing it through to the disk costs a few percent of the
/// stage, and no older boundary needs to be kept beside it.
pub const LARGE_VECTOR_BYTES: u64 = 256 << 20;

/// How a job is done. Kept with the job; it changes only at a column end.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(into = "StoredPlan", try_from = "StoredPlan")]
pub struct Plan {
    /// Which executor does it, and what this one needs to know.
    pub execution: Execution,
    /// The board.
    pub board: Board,
    /// Windows of a column, top to bottom; the same in every column.
    pub windows: Vec<Window>,
    /// Width of the keys in bytes: 8 or 16.
    pub key_bytes: u32,
    /// Coefficients of a value.
    pub coefficients: u32,
    /// Distinct primes. The product of all but the last exceeds the proved bound; the last one, the largest, is the
    /// spare.
    pub moduli: Vec<u64>,
    /// For each sweep the range `first .. end` of the moduli that it carries.
    pub sweeps: Vec<(u32, u32)>,
    /// Memory of one task.
    pub task_memory_bytes: u64,
    /// Most records that a task should write: they fit its output buffer.
    pub task_records: u64,
    /// Tasks should not be cut finer than this many records.
    pub min_task_records: u64,
    /// Tasks that run at a time.
    pub slots: u32,
    /// Forecast of the states before each pass and after the last (`passes + 1` entries, saturating); empty where it
    /// is unknown.
    pub states: Vec<u64>,
    /// The largest entry of `states`; 0 where it is unknown.
    pub peak_states: u64,
    /// Forecast of the most that all scratch folders hold together at a time; 0 where it is unknown.
    pub disk_bytes: u64,
    /// Bytes that a record takes in a run, in the sweep with the most lanes.
    pub record_bytes: f64,
    /// Why this executor, for people.
    pub why: String,
}

/// Which executor does a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Execution {
    /// Streams of sorted runs.
    Stream,
    /// Blocks whose vectors stay in the memory of one process.
    InMemory,
    /// Blocks whose vectors are in runs.
    Blocks(BlockPlan),
}

impl Execution {
    /// The executor's name: `"stream"` or `"block"`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::InMemory | Self::Blocks(_) => "block",
        }
    }

    /// From an executor's name and the plan of its blocks; `None` for an unknown name.
    pub fn of(name: &str, block: Option<BlockPlan>) -> Option<Self> {
        match (name, block) {
            ("block", Some(block)) => Some(Self::Blocks(block)),
            ("block", None) => Some(Self::InMemory),
            ("stream", None) => Some(Self::Stream),
            _ => None,
        }
    }
}

/// What stages of the block executor need beside the rest of the plan.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct BlockPlan {
    /// Most records of a group, the families that are done together.
    pub group_records: u64,
    /// For each stage, how many of its sweep's moduli it carries; the last of them is always the spare. Numbers are small
    /// at first. Stages begin with the second column: a state of the first is one filling of it, with the count 1.
    pub lanes: Vec<u32>,
    /// States of a family of which one lane fits a worker, if one task has the memory of all: with more, workers share its
    /// lanes (`job/stage/lanes.rs`). 0 where no lanes are shared.
    #[serde(default)]
    pub room_states: u64,
    /// Whether each group of families makes its own tables, because those of all families do not fit a worker.
    pub parted: bool,
    /// After how many columns (2 or more) the forward vector is kept, to meet a transposed one that comes from the end.
    /// `None` where a vector goes forward all the way.
    pub middle: Option<u32>,
}

/// One stage of a plan: the passes `first_pass .. first_pass + window.len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The vector's direction: transposed passes go from the last to the first.
    pub direction: Direction,
    /// First pass.
    pub first_pass: u32,
    /// Cells that the stage adds.
    pub window: Window,
    /// Layout of the runs that it reads.
    pub layout_in: Layout,
    /// Layout of the runs that it writes: that of the next stage, and canonical after the last.
    pub layout_out: Layout,
}

impl Stage {
    /// One past the last pass.
    pub const fn end_pass(&self) -> u32 {
        self.first_pass.saturating_add(self.window.len)
    }
    /// Where the stage begins and ends, as numbers of passes before that boundary.
    pub const fn boundaries(&self) -> (u32, u32) {
        match self.direction {
            Direction::Forward => (self.first_pass, self.end_pass()),
            Direction::Transposed => (self.end_pass(), self.first_pass),
        }
    }
    /// Whether it ends where a column of `board` does.
    pub const fn ends_column(&self, board: Board) -> bool {
        match self.direction {
            Direction::Forward => self.window.end() >= board.height,
            Direction::Transposed => self.window.first == 0,
        }
    }
}

impl Plan {
    /// The plan of the blocks whose vectors are in runs; `None` for streams and in memory.
    pub const fn block(&self) -> Option<&BlockPlan> {
        match &self.execution {
            Execution::Blocks(block) => Some(block),
            Execution::Stream | Execution::InMemory => None,
        }
    }
    /// Number of stages of a sweep: columns x windows of a column.
    pub fn stages(&self) -> u32 {
        (self.board.length - self.first_column()) * self.windows_per_column()
    }
    /// Columns that need no stage.
    fn first_column(&self) -> u32 {
        u32::from(self.block().is_some() && self.board.length > 0)
    }
    /// Columns after which a forward vector is kept for a transposed one, where that is done.
    pub fn middle(&self) -> Option<u32> {
        self.block().and_then(|block| block.middle)
    }
    /// Number of forward stages of a sweep; transposed ones follow.
    pub fn forward_stages(&self) -> u32 {
        self.middle().map_or(self.stages(), |middle| {
            middle.saturating_sub(self.first_column()).saturating_mul(self.windows_per_column())
        })
    }
    /// Whether a stage is the first of a vector, so that it reads no runs.
    pub fn starts(&self, number: u32) -> bool {
        number == 0 || self.middle().is_some() && number == self.forward_stages()
    }
    /// Whether a stage brings a transposed vector to the forward one that was kept.
    pub fn meets(&self, number: u32) -> bool {
        self.middle().is_some() && number.checked_add(1) == Some(self.stages())
    }
    /// Number of the stage that writes the kept vector.
    pub fn kept_stage(&self) -> Option<u32> {
        self.middle().and_then(|_| self.forward_stages().checked_sub(1))
    }
    /// Passes of a sweep that are done before a stage begins.
    pub fn passes_before(&self, number: u32) -> u32 {
        let (stage, passes) = (self.stage(number), self.board.passes());
        match stage.direction {
            _ if number >= self.stages() => passes,
            Direction::Forward => stage.first_pass,
            Direction::Transposed => {
                let kept = self.middle().unwrap_or(0).saturating_mul(self.board.height);
                kept.saturating_add(passes.saturating_sub(stage.end_pass()))
            }
        }
    }
    /// Stage number `number`, from 0. Numbers from [`Plan::stages`] on lie past the board's end, or before its start.
    pub fn stage(&self, number: u32) -> Stage {
        let (count, forward) = (self.windows_per_column(), self.forward_stages());
        if self.middle().is_some() && number >= forward {
            let back = number - forward;
            let (column, place) = (back / count, count - 1 - back % count);
            let column = self.board.length.saturating_sub(1 + column);
            return self.stage_at(Direction::Transposed, column, place, number);
        }
        let column = (number / count).saturating_add(self.first_column());
        self.stage_at(Direction::Forward, column, number % count, number)
    }
    fn stage_at(&self, direction: Direction, column: u32, place: u32, number: u32) -> Stage {
        let window = self.window(place);
        let next = direction.leaves().neighbour(place as usize, self.windows_per_column() as usize);
        let last = number >= self.stages().saturating_sub(1);
        Stage {
            direction,
            first_pass: column.saturating_mul(self.board.height).saturating_add(window.first),
            window,
            layout_in: Layout::Stage(window),
            layout_out: if last { Layout::Canonical } else { Layout::Stage(self.window(next as u32)) },
        }
    }
    /// Moduli that sweep number `sweep` carries; none beyond the last sweep.
    pub fn sweep_moduli(&self, sweep: u32) -> &[u64] {
        let range = self.sweeps.get(sweep as usize).map(|&(first, end)| first as usize..end as usize);
        range.and_then(|range| self.moduli.get(range)).unwrap_or(&[])
    }
    /// Moduli that stage number `stage` of a sweep carries: all of the sweep's, or the first ones and the last.
    pub fn stage_moduli(&self, sweep: u32, stage: u32) -> Vec<u64> {
        let all = self.sweep_moduli(sweep);
        let lanes = self.block().and_then(|block| block.lanes.get(stage as usize));
        match (lanes, all.split_last()) {
            (Some(&lanes), Some((&spare, others))) if (lanes as usize) < all.len() => {
                others.iter().copied().take((lanes as usize).saturating_sub(1)).chain([spare]).collect()
            }
            _ => all.to_vec(),
        }
    }
    /// Cuts tasks of about `most` records, and shares the lanes of families that have more.
    pub(crate) fn cut_finer(&mut self, most: u64) {
        (self.task_records, self.min_task_records) = (self.task_records.min(most), 1);
        if let Execution::Blocks(block) = &mut self.execution {
            block.room_states = block.room_states.min(most);
        }
    }
    /// Whether workers may share the lanes of a stage's large families: the next stage reads each lane where it is. Rows that
    /// are to be widened need all their lanes. Where vectors meet there is no room for sharing.
    pub fn may_share_lanes(&self, sweep: u32, stage: u32) -> bool {
        let next = stage.saturating_add(1);
        self.block().is_some_and(|block| block.room_states > 0)
            && !self.starts(stage)
            && next < self.stages()
            && self.stage_moduli(sweep, next) == self.stage_moduli(sweep, stage)
    }
    /// Moduli of the vector that a stage reads.
    pub fn moduli_read(&self, sweep: u32, stage: u32) -> Vec<u64> {
        self.stage_moduli(sweep, if self.starts(stage) { stage } else { stage.saturating_sub(1) })
    }
    /// Moduli of the forward vector that is kept for a transposed one.
    pub fn kept_moduli(&self, sweep: u32) -> Vec<u64> {
        self.stage_moduli(sweep, self.kept_stage().unwrap_or(0))
    }
    /// Bytes that a record with so many lanes takes in a run.
    pub fn record_bytes_with(&self, lanes: u32) -> f64 {
        let most = self.sweeps.iter().map(|&(first, end)| end.saturating_sub(first)).max().unwrap_or(0);
        let fewer = f64::from(most) * f64::from(self.coefficients) - f64::from(lanes);
        (-8.0 * INDEX_FACTOR).mul_add(fewer, self.record_bytes)
    }
    fn windows_per_column(&self) -> u32 {
        (self.windows.len() as u32).max(1)
    }
    fn window(&self, place: u32) -> Window {
        self.windows.get(place as usize).copied().unwrap_or(Window { first: 0, len: self.board.height })
    }
}
