//! The planner: from a problem and a user's limits to moduli, sweeps, windows and a forecast of disk.
//!
//! Everything here is a pure function of its arguments: the same submission gives the same plan everywhere. The order
//! of choice is, for streams (for blocks see [`block`]): moduli (by the proved bound); then, for each number of sweeps,
//! fewest first, the windows that the task memory allows and the disk that follows from both. The first plan that fits
//! is taken. Cost: microseconds, and a search for a few primes.

use keima_blocks::limits::OUTPUT_PERCENT;
use keima_model::{Board, Direction, Layout, ProblemInfo, Window};
use keima_runs::MAX_LANES;
use serde::{Deserialize, Serialize};

pub use self::block::{block_plan, choose_plan, in_memory_plan};
pub use self::error::PlanError;
use self::forecast::Usage;
pub(crate) use self::moduli::{bound_product, bound_text};

mod block;
mod error;
#[cfg(test)]
pub(crate) mod example;
mod forecast;
mod moduli;
#[cfg(test)]
mod tests;

/// Most residues that the planner carries at once of its own accord: beyond this, keys and expansion are so small a
/// part of a record's cost that more residues save nothing.
const MOST_RESIDUES_PER_SWEEP: u32 = 8;
/// Longest window that the planner chooses of its own accord: longer ones save few shuffles and make families large.
const LONGEST_WINDOW: u32 = 4;
/// Below this a task's memory goes to block buffers and not to states.
const LEAST_TASK_MEMORY_BYTES: u64 = 8 << 20;
/// A task must be able to buffer this many records, however many lanes they have.
const LEAST_TASK_RECORDS: u64 = 256;
/// Granting and committing a task that writes fewer records than this costs more than doing it.
const MIN_TASK_RECORDS: u64 = 4096;
/// A vector of this size is made durable at every boundary: writing it through to the disk costs a few percent of the
/// stage (12x12, 480 MB a vector: 5 %), and no older boundary needs to be kept beside it.
pub const LARGE_VECTOR_BYTES: u64 = 256 << 20;
/// A family may be this large, in percent of the records that a task is meant to write.
const FAMILY_PERCENT: u128 = 150;
/// A buffered record's place in the order of the output.
const SORT_INDEX_BYTES: u64 = 8;
/// A sorted key on disk, with its share of the block's head. One figure for all problems: keys take 0.3 bytes for Go
/// (compressed), 1.3 for Quoridor and 2.2 for knights (gaps that do not compress).
const KEY_BYTES_ON_DISK: f64 = 1.15;
/// Block index and padding, as a factor on a run's length.
const INDEX_FACTOR: f64 = 1.01;

/// What a user allows and asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanLimits {
    /// Memory of one task.
    pub task_memory_bytes: u64,
    /// Cap on the sum of all scratch folders; `None` for no cap.
    pub disk_bytes: Option<u64>,
    /// Residues carried at once; `None` lets the planner choose.
    pub residues_per_sweep: Option<u32>,
    /// Longest window, in cells; `None` lets the planner choose.
    pub window: Option<u32>,
    /// Tasks that run at a time on all workers together.
    pub slots: u32,
    /// Tasks that the worker with the fewest runs at a time; 0 for one.
    pub worker_slots: u32,
    /// Whether column ends get a second copy on another worker.
    pub second_copies: bool,
    /// Whether the counts of all shorter boards are wanted.
    pub series: bool,
}

/// How a job is done. Kept with the job; it changes only at a column end.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Plan {
    /// `"stream"` or `"block"`.
    pub executor: String,
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
    /// A task should write no more records than this: so many fit its output buffer.
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
    /// For the block executor out of core.
    pub block: Option<BlockPlan>,
    /// Why this executor, for people.
    pub why: String,
}

/// What the block executor's stages need beside.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct BlockPlan {
    /// Families are done together up to so many records.
    pub group_records: u64,
    /// For each stage how many of its sweep's moduli are carried, the last of which is always the spare: numbers are
    /// small at first. Stages begin with the second column: a state of the first is a colouring, with the count 1.
    pub lanes: Vec<u32>,
    /// Whether tables are made for each group of families: those of all of them would not fit a worker.
    pub parted: bool,
    /// Where two vectors meet: after so many columns, 2 or more, a forward one is kept, and a transposed one comes from
    /// the end. `None` where a vector goes forward all the way.
    pub middle: Option<u32>,
}

/// One stage of a plan: the passes `first_pass .. first_pass + window.len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Which way: transposed passes are done from the last to the first.
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
        self.first_pass + self.window.len
    }
    /// The number of the boundary that the stage begins at, and of the one that it ends at: passes that are before them.
    pub const fn boundaries(&self) -> (u32, u32) {
        match self.direction {
            Direction::Forward => (self.first_pass, self.end_pass()),
            Direction::Backward => (self.end_pass(), self.first_pass),
        }
    }
    /// Whether it ends where a column of `board` does.
    pub const fn ends_column(&self, board: Board) -> bool {
        match self.direction {
            Direction::Forward => self.window.end() >= board.height,
            Direction::Backward => self.window.first == 0,
        }
    }
}

impl Plan {
    /// Number of stages of a sweep: columns x windows of a column.
    pub fn stages(&self) -> u32 {
        (self.board.length - self.first_column()) * self.windows_per_column()
    }
    /// Columns that need no stage.
    fn first_column(&self) -> u32 {
        u32::from(self.block.is_some() && self.board.length > 0)
    }
    /// Columns after which a forward vector is kept for a transposed one, where that is done.
    pub fn middle(&self) -> Option<u32> {
        self.block.as_ref().and_then(|block| block.middle)
    }
    /// Stages of a sweep that go forward, all of them before those that are transposed.
    pub fn forward_stages(&self) -> u32 {
        self.middle().map_or(self.stages(), |middle| {
            middle.saturating_sub(self.first_column()).saturating_mul(self.windows_per_column())
        })
    }
    /// Whether a stage is the first on its way, so that it reads no runs.
    pub fn starts(&self, number: u32) -> bool {
        number == 0 || self.middle().is_some() && number == self.forward_stages()
    }
    /// Whether a stage brings a transposed vector to the forward one that was kept.
    pub fn meets(&self, number: u32) -> bool {
        self.middle().is_some() && number + 1 == self.stages()
    }
    /// Number of the stage that makes the vector that is kept.
    pub fn kept_stage(&self) -> Option<u32> {
        self.middle().and_then(|_| self.forward_stages().checked_sub(1))
    }
    /// Passes of a sweep that are done before a stage begins.
    pub fn passes_before(&self, number: u32) -> u32 {
        let (stage, passes) = (self.stage(number), self.board.passes());
        match stage.direction {
            _ if number >= self.stages() => passes,
            Direction::Forward => stage.first_pass,
            Direction::Backward => {
                let kept = self.middle().unwrap_or(0).saturating_mul(self.board.height);
                kept.saturating_add(passes.saturating_sub(stage.end_pass()))
            }
        }
    }
    /// Stage number `number`, from 0. Numbers from [`Plan::stages`] on go on past the board's end, or stay in front of it.
    pub fn stage(&self, number: u32) -> Stage {
        let (count, forward) = (self.windows_per_column(), self.forward_stages());
        if self.middle().is_some() && number >= forward {
            let back = number - forward;
            let (column, place) = (back / count, count - 1 - back % count);
            let column = self.board.length.saturating_sub(1 + column);
            return self.stage_at(Direction::Backward, column, place, number);
        }
        self.stage_at(Direction::Forward, number / count + self.first_column(), number % count, number)
    }
    fn stage_at(&self, direction: Direction, column: u32, place: u32, number: u32) -> Stage {
        let window = self.window(place);
        let next = direction.leaves().neighbour(place as usize, self.windows_per_column() as usize);
        let last = number + 1 >= self.stages();
        Stage {
            direction,
            first_pass: column * self.board.height + window.first,
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
        let lanes = self.block.as_ref().and_then(|block| block.lanes.get(stage as usize));
        match (lanes, all.split_last()) {
            (Some(&lanes), Some((&spare, others))) if (lanes as usize) < all.len() => {
                others.iter().copied().take((lanes as usize).saturating_sub(1)).chain([spare]).collect()
            }
            _ => all.to_vec(),
        }
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

/// Plans a job over keys of `key_bytes`, or says which limit stands in the way and what to do.
pub fn plan(info: &dyn ProblemInfo, key_bytes: u32, limits: &PlanLimits) -> Result<Plan, PlanError> {
    let board = info.board();
    let coefficients = info.coefficients();
    if board.height == 0 || board.length == 0 || coefficients == 0 {
        let what = format!("board {board} with {coefficients} coefficients");
        return Err(PlanError::Problem { what, expected: "at least one cell and one coefficient".into() });
    }
    for (option, value) in [("residues-per-sweep", limits.residues_per_sweep), ("window", limits.window)] {
        if value == Some(0) {
            return Err(PlanError::Zero { option });
        }
    }
    let most_lanes = MAX_LANES as u32;
    if coefficients > most_lanes {
        return Err(PlanError::Coefficients { coefficients, most: most_lanes });
    }
    let states = saturated_states(info)?;
    let moduli = moduli::choose(&bound_product(&info.bound()));
    let total = moduli.len() as u32;
    let asked = limits.residues_per_sweep.map(|r| r.min(total));
    let fewest = total.div_ceil(asked.unwrap_or(MOST_RESIDUES_PER_SWEEP).min(most_lanes / coefficients));
    let most = if asked.is_some() { fewest } else { total };

    let attempt = |sweep_count: u32| {
        let sweeps = balanced(total, sweep_count);
        let lanes = total.div_ceil(sweep_count).saturating_mul(coefficients);
        let task_records = task_records(limits.task_memory_bytes, key_bytes, lanes)?;
        let windows = windows(info, limits, task_records, states.iter().max().copied());
        let record_bytes = (8.0 * f64::from(lanes) + KEY_BYTES_ON_DISK) * INDEX_FACTOR;
        let mut plan = Plan {
            executor: "stream".into(),
            board,
            windows,
            key_bytes,
            coefficients,
            moduli: moduli.clone(),
            sweeps,
            task_memory_bytes: limits.task_memory_bytes,
            task_records,
            min_task_records: MIN_TASK_RECORDS.min(task_records),
            slots: limits.slots.max(1),
            states: states.clone(),
            peak_states: states.iter().max().copied().unwrap_or(0),
            disk_bytes: 0,
            record_bytes,
            block: None,
            why: String::new(),
        };
        plan.disk_bytes = Usage::of(&plan, lanes).peak_disk_bytes(limits.second_copies);
        match limits.disk_bytes {
            Some(allowed) if plan.disk_bytes > allowed => Err(PlanError::Disk {
                needed_bytes: plan.disk_bytes,
                allowed_bytes: allowed,
                residues_per_sweep: total.div_ceil(sweep_count),
            }),
            _ => Ok(plan),
        }
    };
    let mut refusal = None;
    for sweep_count in fewest..=most {
        match attempt(sweep_count) {
            Ok(plan) => return Ok(plan),
            Err(error) => refusal = Some(error),
        }
    }
    Err(refusal.unwrap_or(PlanError::Zero { option: "residues-per-sweep" }))
}

/// The problem's forecast in 64 bits; empty where it has none.
fn saturated_states(info: &dyn ProblemInfo) -> Result<Vec<u64>, PlanError> {
    let Some(forecast) = info.forecast() else { return Ok(Vec::new()) };
    let expected = info.board().passes() as usize + 1;
    if forecast.states.len() != expected {
        let what = format!("forecast of {} state counts", forecast.states.len());
        return Err(PlanError::Problem { what, expected: format!("{expected}, one per pass and one for the end") });
    }
    Ok(forecast.states.iter().map(|&n| u64::try_from(n).unwrap_or(u64::MAX)).collect())
}

/// Cuts `total` moduli into `count` sweeps whose sizes differ by at most one, the larger ones first.
fn balanced(total: u32, count: u32) -> Vec<(u32, u32)> {
    Window::cut(total, total.div_ceil(count.max(1))).into_iter().map(|w| (w.first, w.end())).collect()
}

/// Records that fit a task's output buffer.
fn task_records(task_memory_bytes: u64, key_bytes: u32, lanes: u32) -> Result<u64, PlanError> {
    let record_bytes = u64::from(key_bytes) + 8 * u64::from(lanes) + SORT_INDEX_BYTES;
    let least_for_records = (LEAST_TASK_RECORDS * record_bytes).div_ceil(OUTPUT_PERCENT) * 100;
    let least_bytes = LEAST_TASK_MEMORY_BYTES.max(least_for_records);
    if task_memory_bytes < least_bytes {
        return Err(PlanError::TaskMemory { got_bytes: task_memory_bytes, least_bytes, lanes });
    }
    Ok(task_memory_bytes / 100 * OUTPUT_PERCENT / record_bytes)
}

/// Windows of a column: the user's, or the longest whose families fit a task.
///
/// Longer windows mean fewer shuffles, but a family that is larger than a task spills in every pass, and its task is
/// the one that the others wait for at the stage's end: 12x12 with tasks of 80 MiB takes 137 s with windows of four
/// cells (largest family: 1.9 tasks), 65 s with three (1.4 tasks) and 93 s with two (1.0 tasks). Where no length keeps
/// families small enough, windows are single cells. Where the problem does not know its families, none is larger than
/// the vector.
fn windows(info: &dyn ProblemInfo, limits: &PlanLimits, task_records: u64, peak_states: Option<u64>) -> Vec<Window> {
    let height = info.board().height;
    if let Some(len) = limits.window {
        return Window::cut(height, len);
    }
    let most = u128::from(task_records) * FAMILY_PERCENT / 100;
    let fits = |window: &Window| {
        let family = info.largest_family(*window).or(peak_states.map(u128::from));
        family.is_none_or(|states| states <= most)
    };
    let mut cuts = (1..=LONGEST_WINDOW.min(height)).rev().map(|len| Window::cut(height, len));
    cuts.find(|windows| windows.iter().all(fits)).unwrap_or_else(|| Window::cut(height, 1))
}
