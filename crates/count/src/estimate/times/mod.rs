//! From an outline and measured speeds to core-hours and wall time.
//!
//! ```text
//!   core-seconds of a stage   states read x read(K) + state-passes x pass(K) + states written x write(K), and the time of
//!                             tables that are made a part at a time
//!                             in memory and by streams times growth ^ (height, at most 14 or 13, - measured height)
//!   transposed, by blocks     pass(K + 1) x 1.6: the paths to each state are one more lane
//!   wall time of a stage      start + the longer of
//!     all workers             core-seconds / all threads x idle, with disk bytes / speed of all disks
//!     the largest family      its share of the core-seconds / workers that share it, with that of the disk bytes / one disk
//!   x with y                  max(x, y) + min(x, y) / 2
//!   in memory                 state-passes x pass(K, direction) x rest, and tables
//! ```
//!
//! K is the number of lanes. Threads that wait for memory while a large family runs count as if they were at work.
//!
//! With runs on disk, one worker takes a family through its window. It uses one thread, or as many threads as the family's
//! share of all workers' threads is worth. If a family is cut into slices of lanes, each slice pays again what a state
//! costs without lanes; several workers share the slices, and each makes the family's tables, with all threads that find no
//! memory beside it.
//!
//! A task's output is synced while the next task runs. Half of the shorter time still shows, because the same cores do
//! the system's part of writing. The cost of a state changes slowly with the height: vectors leave the caches, and families
//! grow. The growth per cell of height is a constant here; above the heights named here it is taken to be none, which is a
//! guess. Blocks with runs on disk are measured at 12 cells, and growth is taken to be none.

mod speeds;
mod traffic;

use keima_coordinator::Config;
use keima_model::Direction;

pub use self::speeds::{PerState, Speeds, SweepSpeed};
use self::traffic::Traffic;
use super::Offer;
use super::outline::{Outline, StageOutline, Way};

/// In memory: growth of a state's cost per cell of height.
const SWEEP_GROWTH: f64 = 1.10;
/// Stream executor: growth of a state's cost per cell of height.
const STREAM_GROWTH: f64 = 1.06;
/// Block executor with runs on disk: time of a transposed pass over that of a forward pass with one lane more, which holds
/// the paths to each state. Includes the meeting of the two vectors.
const TRANSPOSED: f64 = 1.6;
/// In memory: above this height the cost of a state stays the same.
const MOST_SWEPT_HEIGHT: u32 = 14;
/// By streams: above this height the cost of a state stays the same.
const MOST_STREAMED_HEIGHT: u32 = 13;
/// Stream executor: keys of 128 bits instead of 64.
const WIDE_KEYS: f64 = 1.3;
/// Threads that wait for the last task of a stage, as a factor on its time.
const IDLE: f64 = 1.05;
/// Thread time of a family that several threads do together, over that of one thread. Passes take twice as long, reading
/// and writing 1.2 times; a third of the time is passes.
const TOGETHER: f64 = 1.5;
/// Part of the time for tables in which one thread makes them, however many there are: 0.1 to 0.2 at 15 and 17 cells.
const MADE_ALONE: f64 = 0.2;
/// Part of the shorter of the threads' and the disks' time that the longer one does not hide.
const OVERLAP: f64 = 0.5;
/// Time to list the families of all windows, for tables that are made a part at a time.
const FAMILY_SECONDS_PER_BYTE: f64 = 36e-9;
/// Time to cut, grant and commit a stage.
const STAGE_SECONDS: f64 = 0.005;

/// Times of one stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTime {
    /// Sum over all threads.
    pub core_seconds: f64,
    /// Time of the threads if all work at the same time.
    pub threads_seconds: f64,
    /// Time of the threads that do the largest family; 0 in memory, where all threads share it.
    pub family_seconds: f64,
    /// The part of `core_seconds` in which tables are made a part at a time.
    pub table_seconds: f64,
    /// Time of the disks if all workers' disks work at the same time.
    pub disk_seconds: f64,
    /// From the stage's start to its end.
    pub wall_seconds: f64,
}

impl StageTime {
    /// Whether all other threads wait for the largest family.
    pub fn waits_for_family(&self) -> bool {
        self.family_seconds > self.threads_seconds
    }

    fn add(&mut self, time: &Self) {
        self.core_seconds += time.core_seconds;
        self.threads_seconds += time.threads_seconds;
        self.family_seconds += time.family_seconds;
        self.table_seconds += time.table_seconds;
        self.disk_seconds += time.disk_seconds;
        self.wall_seconds += time.wall_seconds;
    }
}

impl std::iter::Sum for StageTime {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::default(), |mut sum, time| {
            sum.add(&time);
            sum
        })
    }
}

/// Times of a whole count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// One for each stage of the outline.
    pub stages: Vec<StageTime>,
    /// Time to build tables at the start.
    pub setup_seconds: f64,
    /// Sums over the stages and the set-up.
    pub total: StageTime,
    /// Bytes that go to the disks and come from them.
    pub disk_bytes: f64,
    /// Real states and bytes as a share of the outline's; see [`Speeds::missing`].
    pub filled: f64,
}

impl Times {
    /// Forecasts the times of `outline` with the machines of `offer`.
    pub fn new(outline: &Outline, speeds: &Speeds, offer: &Offer) -> Self {
        let blocks = outline.plan.execution.name() == "block";
        let setup_seconds = if let Some(parted) = &outline.parted {
            FAMILY_SECONDS_PER_BYTE * parted.worker_bytes as f64
        } else if blocks {
            speeds.table_seconds * outline.table_bytes as f64 / speeds.table_bytes.max(1) as f64
        } else {
            0.0
        };
        let filled = filled(speeds.missing, outline);
        let stage_times = StageTimes::new(outline, speeds, offer, filled);
        let mut times = Self { setup_seconds, filled, ..Self::default() };
        for stage in &outline.stages {
            let time = if outline.way == Way::InMemory {
                stage_times.in_memory(stage)
            } else {
                let (time, disk_bytes) = stage_times.with_runs(stage);
                times.disk_bytes += disk_bytes;
                time
            };
            times.total.add(&time);
            times.stages.push(time);
        }
        // Every worker builds the tables, with one thread for each window.
        let builders = outline.plan.windows.len().min(offer.threads.max(1) as usize) as f64;
        times.total.core_seconds += setup_seconds * builders * f64::from(offer.workers.max(1));
        times.total.wall_seconds += setup_seconds;
        times
    }
}

/// What the times of all stages depend on.
struct StageTimes<'a> {
    speeds: &'a Speeds,
    offer: &'a Offer,
    /// Threads of all workers.
    cores: f64,
    /// Factors on the measured cost of a state: for the height, and for the width of keys.
    growth: f64,
    wide: f64,
    windows: f64,
    filled: f64,
}

impl<'a> StageTimes<'a> {
    fn new(outline: &Outline, speeds: &'a Speeds, offer: &'a Offer, filled: f64) -> Self {
        let cores = f64::from(offer.threads.max(1)) * f64::from(offer.workers.max(1));
        let in_memory = outline.way == Way::InMemory;
        let blocks = outline.plan.execution.name() == "block";
        let most_height = if in_memory { MOST_SWEPT_HEIGHT } else { MOST_STREAMED_HEIGHT };
        let above = f64::from(outline.plan.board.height.min(most_height)) - f64::from(speeds.height);
        let growth = match (in_memory, blocks) {
            (true, _) => SWEEP_GROWTH.powf(above),
            (false, true) => 1.0,
            (false, false) => STREAM_GROWTH.powf(above),
        };
        let wide = if !blocks && outline.plan.key_bytes > speeds.key_bytes { WIDE_KEYS } else { 1.0 };
        Self { speeds, offer, cores, growth, wide, windows: outline.plan.windows.len() as f64, filled }
    }

    fn in_memory(&self, stage: &StageOutline) -> StageTime {
        let core_seconds = swept(stage, &self.speeds.sweeps) * self.speeds.rest * self.growth * 1e-9;
        let threads_seconds = core_seconds / self.cores;
        StageTime { core_seconds, threads_seconds, wall_seconds: threads_seconds, ..StageTime::default() }
    }

    /// Times of a stage with runs on disk, and the bytes that the disks see.
    fn with_runs(&self, stage: &StageOutline) -> (StageTime, f64) {
        let (speeds, offer, filled) = (self.speeds, self.offer, self.filled);
        let table_seconds = stage.table_seconds * speeds.parts.unwrap_or(1.0);
        let core_seconds_in =
            |slices| in_runs(stage, speeds, slices) * self.growth * self.wide * filled * 1e-9 + table_seconds;
        let traffic = Traffic::of(stage, offer);
        let disk_seconds_of = |bytes: f64| offer.disk_bytes_per_second.map_or(0.0, |speed| bytes / speed);
        let core_seconds = core_seconds_in(stage.slices);
        let slices = f64::from(stage.family_slices);
        // The time that all states would take as one family.
        let together = match stage.family_threads {
            0 | 1 => 1.0,
            threads => (TOGETHER / f64::from(threads)).min(1.0),
        };
        let making_seconds = table_seconds * (MADE_ALONE + (1.0 - MADE_ALONE) / f64::from(stage.family_makers.max(1)));
        // Workers that share the family's lanes make its tables each.
        let sharers = f64::from(stage.family_workers.max(1));
        let passes_seconds = (core_seconds_in(slices) - table_seconds) * together;
        let as_families = passes_seconds / sharers + making_seconds;
        let core_seconds = core_seconds + (sharers - 1.0) * table_seconds * stage.family_share;
        let threads_seconds = (core_seconds + as_families * sharers * stage.waiting) / self.cores * IDLE;
        let workers = f64::from(offer.workers.max(1));
        let own_bytes = traffic.in_slices(stage.slices) * filled;
        let column_seconds = overlapped(threads_seconds, disk_seconds_of(own_bytes) / workers) * self.windows;
        // If a column takes less than the time between copies, only some columns are copied.
        let copied = (column_seconds * 1000.0 / Config::default().copy_interval_millis as f64).min(1.0);
        let disk_bytes = own_bytes + traffic.copied_bytes * filled * copied;
        let disk_seconds = disk_seconds_of(disk_bytes) / workers;
        let family_seconds = as_families * stage.family_share;
        let family_bytes = traffic.in_slices(slices) * stage.family_share * filled / sharers;
        let all = overlapped(threads_seconds, disk_seconds);
        let family = overlapped(family_seconds, disk_seconds_of(family_bytes));
        let wall_seconds = all.max(family) + STAGE_SECONDS;
        let time =
            StageTime { core_seconds, threads_seconds, family_seconds, table_seconds, disk_seconds, wall_seconds };
        (time, disk_bytes)
    }
}

/// Real states as a share of the outline's, if `missing` columns' worth of states are missing per cell of height.
pub(super) fn filled(missing: f64, outline: &Outline) -> f64 {
    let board = outline.plan.board;
    (1.0 - missing * f64::from(board.height) / f64::from(board.length.max(1))).clamp(0.5, 1.0)
}

/// Wall time of threads and disks that work at the same time.
fn overlapped(thread_seconds: f64, disk_seconds: f64) -> f64 {
    thread_seconds.max(disk_seconds) + OVERLAP * thread_seconds.min(disk_seconds)
}

/// Nanoseconds of one thread for a stage with runs on disk, its lanes in `slices` slices.
fn in_runs(stage: &StageOutline, speeds: &Speeds, slices: f64) -> f64 {
    let read = if stage.bytes_before == 0 { 0 } else { stage.states_before };
    let pass_nanos = match stage.direction {
        Direction::Forward => speeds.pass.in_slices(stage.lanes, slices),
        Direction::Transposed => speeds.pass.in_slices(stage.lanes + 1, slices) * TRANSPOSED,
    };
    read as f64 * speeds.read.in_slices(stage.lanes, slices)
        + stage.state_passes as f64 * pass_nanos
        + stage.states_after as f64 * speeds.write.at(stage.lanes)
}

/// Nanoseconds of one thread for a stage in memory.
fn swept(stage: &StageOutline, sweeps: &[SweepSpeed]) -> f64 {
    let nearest = sweeps.iter().min_by_key(|speed| speed.lanes.abs_diff(stage.lanes)).copied().unwrap_or_default();
    let nanos = match stage.direction {
        Direction::Forward => nearest.forward_nanos,
        Direction::Transposed => nearest.backward_nanos,
    };
    stage.state_passes as f64 * nanos
}

#[cfg(test)]
mod tests;
