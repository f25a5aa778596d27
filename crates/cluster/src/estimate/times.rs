//! From an outline and measured speeds to core-hours and wall time.
//!
//! ```text
//!   core-seconds of a stage   states read x read(K) + state-passes x pass(K) + states written x write(K),
//!                             times growth ^ (height, 13 or in memory 15 at most, - measured height)
//!   wall time of a stage      start + max(threads, disks) + min(threads, disks) / 2, of core-seconds / threads of all
//!                             workers x idle and disk bytes / disk speed of all
//!   in memory                 state-passes x pass(K, direction) x rest, and tables
//! ```
//!
//! A task waits while what it wrote is made durable, and half of that is hidden behind other tasks: 12x12 and 13x13 by
//! blocks. K is the number of lanes. What a state costs changes slowly with the height: vectors leave the caches,
//! families grow and their states lie further apart. The change per cell of height is stated here, from runs of 9x9 to
//! 13x13, in memory to 15x15, on two cores; beyond these heights it is taken to be none, which is a guess.

use super::Offer;
use super::outline::{Outline, StageOutline, Way};
use keima_engine::block::Direction;

/// A state in memory: cost per cell of height, relative to a cell less.
const SWEEP_GROWTH: f64 = 1.10;
/// The same with runs on disk, block executor: passes take longer, but what a group of families costs is shared by more
/// states.
const BLOCK_GROWTH: f64 = 0.92;
/// The same, stream executor.
const STREAM_GROWTH: f64 = 1.06;
/// Beyond this height nothing was compared, and costs are taken to stay: in memory, and with runs on disk.
const MOST_SWEPT_HEIGHT: u32 = 15;
const MOST_RUN_HEIGHT: u32 = 13;
/// Stream executor: keys of 128 bits instead of 64.
const WIDE_KEYS: f64 = 1.3;
/// Threads that wait for the last task of a stage, as a factor on its time.
const IDLE: f64 = 1.05;
/// Of the shorter of the threads' and the disks' time, the part that the other does not hide.
const OVERLAP: f64 = 0.5;
/// To cut, grant and commit a stage.
const STAGE_SECONDS: f64 = 0.005;
/// A vector of this size is written through to the disk at every boundary; smaller ones mostly never get there.
const DURABLE_BYTES: u64 = 256 << 20;

/// Nanoseconds of one thread, linear in the lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerState {
    /// With no lane.
    pub base_nanos: f64,
    /// For each lane.
    pub lane_nanos: f64,
}

impl PerState {
    /// With so many lanes.
    pub fn at(&self, lanes: u32) -> f64 {
        self.lane_nanos.mul_add(f64::from(lanes), self.base_nanos)
    }
}

/// A state-pass over dense blocks in memory, with the exchange between windows, in nanoseconds of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SweepSpeed {
    /// Lanes.
    pub lanes: u32,
    /// Forward.
    pub forward_nanos: f64,
    /// Transposed.
    pub backward_nanos: f64,
}

/// What was measured, or is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speeds {
    /// Boards on which it was measured, for people.
    pub boards: String,
    /// Their height.
    pub height: u32,
    /// Width of their keys, in bytes.
    pub key_bytes: u32,
    /// Threads with which it was measured.
    pub threads: u32,
    /// Runs on disk: a state that is read.
    pub read: PerState,
    /// A state through a pass.
    pub pass: PerState,
    /// A state that is written.
    pub write: PerState,
    /// In memory: by lanes.
    pub sweeps: Vec<SweepSpeed>,
    /// A whole count in memory, tables left out, over its sweeps alone: growth of numbers, inner products, weighing, the
    /// first touch of memory; less what folding saves, since outlines count the states of columns that are not folded.
    pub rest: f64,
    /// Block executor: to build tables ...
    pub table_seconds: f64,
    /// ... that the problem estimates at so many bytes.
    pub table_bytes: u64,
    /// How many columns' worth of states the problem's upper bounds count too much, per cell of height: in the first
    /// columns not all that is possible later has come about. Of the stream executor; blocks are dense from the start.
    pub missing: f64,
}

/// When a stage is done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTime {
    /// Time of all threads together.
    pub core_seconds: f64,
    /// Time of the disks, if all workers' work at the same time.
    pub disk_seconds: f64,
    /// From its start to its end.
    pub wall_seconds: f64,
}

/// When all is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// As many as the outline has stages.
    pub stages: Vec<StageTime>,
    /// Tables.
    pub setup_seconds: f64,
    /// Sums of the stages and the set-up.
    pub total: StageTime,
    /// Bytes that go to the disks and come from them.
    pub disk_bytes: f64,
    /// Share of the outline's states and bytes that there will be, see [`Speeds::missing`].
    pub filled: f64,
}

impl Times {
    /// Multiplies.
    pub fn new(outline: &Outline, speeds: &Speeds, offer: &Offer) -> Self {
        let cores = f64::from(offer.threads.max(1)) * f64::from(offer.workers.max(1));
        let blocks = outline.plan.executor == "block";
        let setup_seconds = if blocks {
            speeds.table_seconds * outline.table_bytes as f64 / speeds.table_bytes.max(1) as f64
        } else {
            0.0
        };
        let in_memory = outline.way == Way::InMemory;
        let most_height = if in_memory { MOST_SWEPT_HEIGHT } else { MOST_RUN_HEIGHT };
        let above = f64::from(outline.plan.board.height.min(most_height)) - f64::from(speeds.height);
        let filled = filled(speeds.missing, outline);
        let mut times = Self { setup_seconds, filled, ..Self::default() };
        for stage in &outline.stages {
            let mut time = StageTime::default();
            if in_memory {
                time.core_seconds = swept(stage, &speeds.sweeps) * speeds.rest * SWEEP_GROWTH.powf(above) * 1e-9;
                time.wall_seconds = time.core_seconds / cores;
            } else {
                let growth = if blocks { BLOCK_GROWTH } else { STREAM_GROWTH };
                let wide = if !blocks && outline.plan.key_bytes > speeds.key_bytes { WIDE_KEYS } else { 1.0 };
                time.core_seconds = in_runs(stage, speeds) * growth.powf(above) * wide * filled * 1e-9;
                let disk_bytes = through_the_disk(stage, offer) as f64 * filled;
                times.disk_bytes += disk_bytes;
                let speed = offer.disk_bytes_per_second.map(|speed| speed * f64::from(offer.workers.max(1)));
                time.disk_seconds = speed.map_or(0.0, |speed| disk_bytes / speed);
                let threads = time.core_seconds / cores * IDLE;
                let together = threads.max(time.disk_seconds) + OVERLAP * threads.min(time.disk_seconds);
                time.wall_seconds = together + STAGE_SECONDS;
            }
            times.total.core_seconds += time.core_seconds;
            times.total.disk_seconds += time.disk_seconds;
            times.total.wall_seconds += time.wall_seconds;
            times.stages.push(time);
        }
        // Every worker builds the tables, a thread for each window.
        let builders = outline.plan.windows.len().min(offer.threads.max(1) as usize) as f64;
        times.total.core_seconds += setup_seconds * builders * f64::from(offer.workers.max(1));
        times.total.wall_seconds += setup_seconds;
        times
    }
}

/// Share of the states that an outline counts that there will be, if so many columns' worth are missing per cell of
/// height.
pub(super) fn filled(missing: f64, outline: &Outline) -> f64 {
    let board = outline.plan.board;
    (1.0 - missing * f64::from(board.height) / f64::from(board.length.max(1))).clamp(0.5, 1.0)
}

/// Nanoseconds of one thread.
fn in_runs(stage: &StageOutline, speeds: &Speeds) -> f64 {
    let read = if stage.bytes_read == 0 { 0 } else { stage.states_before };
    read as f64 * speeds.read.at(stage.lanes)
        + stage.state_passes as f64 * speeds.pass.at(stage.lanes)
        + stage.states_after as f64 * speeds.write.at(stage.lanes)
}

/// The same in memory.
fn swept(stage: &StageOutline, sweeps: &[SweepSpeed]) -> f64 {
    let nearest = sweeps.iter().min_by_key(|speed| speed.lanes.abs_diff(stage.lanes)).copied().unwrap_or_default();
    let nanos = match stage.direction {
        Direction::Forward => nearest.forward_nanos,
        Direction::Backward => nearest.backward_nanos,
    };
    stage.state_passes as f64 * nanos
}

/// Bytes of a stage that the disks see: what is written of large vectors, and what does not stay in memory beside.
fn through_the_disk(stage: &StageOutline, offer: &Offer) -> u64 {
    let held = stage.bytes_read.saturating_add(stage.bytes_written);
    let cached = held <= offer.cache_bytes.saturating_mul(offer.workers.max(1).into());
    let read = if cached { 0 } else { stage.bytes_read };
    let written = if stage.bytes_read < DURABLE_BYTES && cached { 0 } else { stage.bytes_written };
    read.saturating_add(written).saturating_add(stage.bytes_copied.saturating_mul(2))
}
