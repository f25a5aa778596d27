//! From an outline and measured speeds to core-hours and wall time.
//!
//! ```text
//!   core-seconds of a stage   states read x read(K) + state-passes x pass(K) + states written x write(K),
//!                             in memory and by streams times growth ^ (height, 15 or 13 at most, - measured height); by
//!                             blocks with runs on disk and tables that are made a part at a time, what these take
//!   transposed, by blocks     pass(K + 1) x 1.6: the ways that lead to each state are a lane more
//!   wall time of a stage      start + the longer of
//!     all workers             core-seconds / threads of all x idle, with disk bytes / disk speed of all
//!     the largest family      its share of the core-seconds, with its share of the disk bytes / disk speed of one
//!   x with y                  max(x, y) + min(x, y) / 2
//!   in memory                 state-passes x pass(K, direction) x rest, and tables
//! ```
//!
//! Threads that wait for memory, while a family is done that has that of several tasks, count as if they were at work.
//! With runs on disk a family is done by one worker, however many there are: by one thread, or by as many as it is worth
//! among those of all workers. Where it is done a few lanes at a time, what a state costs without lanes to read it and take
//! it through passes is paid for each slice of them.
//!
//! What a task wrote is made durable while the next one is at work, and half of the shorter time is not hidden all the same:
//! the system's share of writing is done by the same cores (12x12 and 13x13 by blocks). K is the number of lanes. What a
//! state costs changes slowly with the height: vectors leave the caches, families grow and their states lie further apart.
//! The change per cell of height is stated here, from runs of 9x9 to 13x13, in memory to 15x15, on two cores; beyond these
//! heights, and from 14 to 15 cells, it is taken to be none; above, that is a guess. So it is by blocks with runs on disk, which are measured at 12 cells:
//! 13x13 and 14x14 took a tenth more than that.

mod traffic;

use self::traffic::Traffic;
use super::Offer;
use super::outline::{Outline, StageOutline, Way};
use keima_coordinator::Config;
use keima_model::Direction;

/// A state in memory: cost per cell of height, relative to a cell less.
const SWEEP_GROWTH: f64 = 1.10;
/// Stream executor: a state, as above.
const STREAM_GROWTH: f64 = 1.06;
/// Block executor with runs on disk: a transposed pass over a forward one with a lane more, that of the ways that lead to
/// each state; where two vectors meet, with that: 12x12, three pairs of counts from both ends and forward.
const TRANSPOSED: f64 = 1.6;
/// Beyond this height costs are taken to stay: in memory, where a sweep of 15x15 took 0.79 of what it would with another
/// tenth, and by streams, of which nothing higher was compared.
const MOST_SWEPT_HEIGHT: u32 = 14;
const MOST_STREAMED_HEIGHT: u32 = 13;
/// Stream executor: keys of 128 bits instead of 64.
const WIDE_KEYS: f64 = 1.3;
/// Threads that wait for the last task of a stage, as a factor on its time.
const IDLE: f64 = 1.05;
/// Time of several threads that do a family together over that of one, all added up: passes take twice as long, reading
/// and writing 1.2 times (two threads, 13x13), and a third is passes.
const TOGETHER: f64 = 1.5;
/// Of the shorter of the threads' and the disks' time, the part that the other does not hide.
const OVERLAP: f64 = 0.5;
/// To list the families of all windows, where tables are made a part at a time.
const FAMILY_SECONDS_PER_BYTE: f64 = 36e-9;
/// To cut, grant and commit a stage.
const STAGE_SECONDS: f64 = 0.005;

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
        self.in_slices(lanes, 1.0)
    }

    /// With so many lanes, in slices of them.
    fn in_slices(&self, lanes: u32, slices: f64) -> f64 {
        self.lane_nanos.mul_add(f64::from(lanes), self.base_nanos * slices)
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
    /// Tables that are made a part at a time: what that takes, over what the problem estimates; where it was measured.
    pub parts: Option<f64>,
    /// How many columns' worth of states the problem's upper bounds count too much, per cell of height: in the first
    /// columns not all that is possible later has come about. Of the stream executor; blocks are dense from the start.
    pub missing: f64,
}

/// When a stage is done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageTime {
    /// Time of all threads together.
    pub core_seconds: f64,
    /// The same, if they work at the same time.
    pub threads_seconds: f64,
    /// Of it the time of those that do the largest family; 0 in memory, where all threads share it.
    pub family_seconds: f64,
    /// Of the time of all threads together, that in which tables are made a part at a time.
    pub table_seconds: f64,
    /// Time of the disks, if all workers' work at the same time.
    pub disk_seconds: f64,
    /// From its start to its end.
    pub wall_seconds: f64,
}

impl StageTime {
    /// Whether all others wait for those that do the largest family.
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
        let blocks = outline.plan.execution.name() == "block";
        let setup_seconds = if let Some(parted) = &outline.parted {
            FAMILY_SECONDS_PER_BYTE * parted.worker_bytes as f64
        } else if blocks {
            speeds.table_seconds * outline.table_bytes as f64 / speeds.table_bytes.max(1) as f64
        } else {
            0.0
        };
        let in_memory = outline.way == Way::InMemory;
        let most_height = if in_memory { MOST_SWEPT_HEIGHT } else { MOST_STREAMED_HEIGHT };
        let above = f64::from(outline.plan.board.height.min(most_height)) - f64::from(speeds.height);
        let filled = filled(speeds.missing, outline);
        let mut times = Self { setup_seconds, filled, ..Self::default() };
        for stage in &outline.stages {
            let mut time = StageTime::default();
            if in_memory {
                let growth = SWEEP_GROWTH.powf(above);
                time.core_seconds = swept(stage, &speeds.sweeps) * speeds.rest * growth * 1e-9;
                time.threads_seconds = time.core_seconds / cores;
                time.wall_seconds = time.threads_seconds;
            } else {
                let growth = if blocks { 1.0 } else { STREAM_GROWTH };
                let wide = if !blocks && outline.plan.key_bytes > speeds.key_bytes { WIDE_KEYS } else { 1.0 };
                let table_seconds = stage.table_seconds * speeds.parts.unwrap_or(1.0);
                time.table_seconds = table_seconds;
                let core_seconds =
                    |slices| in_runs(stage, speeds, slices) * growth.powf(above) * wide * filled * 1e-9 + table_seconds;
                let traffic = Traffic::of(stage, offer);
                let disk_seconds = |bytes: f64| offer.disk_bytes_per_second.map_or(0.0, |speed| bytes / speed);
                time.core_seconds = core_seconds(stage.slices);
                let slices = f64::from(stage.family_slices);
                // Of a family that had all states. Tables in parts are made by one thread in any case.
                let together = match stage.family_threads {
                    0 | 1 => 1.0,
                    threads => (TOGETHER / f64::from(threads)).min(1.0),
                };
                let as_families = (core_seconds(slices) - table_seconds) * together + table_seconds;
                time.threads_seconds = (time.core_seconds + as_families * stage.waiting) / cores * IDLE;
                let workers = f64::from(offer.workers.max(1));
                let own_bytes = traffic.in_slices(stage.slices) * filled;
                let column_seconds = overlapped(time.threads_seconds, disk_seconds(own_bytes) / workers)
                    * outline.plan.windows.len() as f64;
                // Of columns that are shorter than the time between copies, one in so many.
                let copied = (column_seconds * 1000.0 / Config::default().copy_interval_millis as f64).min(1.0);
                let disk_bytes = own_bytes + traffic.copied_bytes * filled * copied;
                times.disk_bytes += disk_bytes;
                time.disk_seconds = disk_seconds(disk_bytes) / workers;
                time.family_seconds = as_families * stage.family_share;
                let family_bytes = traffic.in_slices(slices) * stage.family_share * filled;
                let all = overlapped(time.threads_seconds, time.disk_seconds);
                let family = overlapped(time.family_seconds, disk_seconds(family_bytes));
                time.wall_seconds = all.max(family) + STAGE_SECONDS;
            }
            times.total.add(&time);
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

/// What threads do while disks work, and the other way round.
fn overlapped(thread_seconds: f64, disk_seconds: f64) -> f64 {
    thread_seconds.max(disk_seconds) + OVERLAP * thread_seconds.min(disk_seconds)
}

/// Nanoseconds of one thread, with the lanes in so many slices.
fn in_runs(stage: &StageOutline, speeds: &Speeds, slices: f64) -> f64 {
    let read = if stage.bytes_before == 0 { 0 } else { stage.states_before };
    let pass_nanos = match stage.direction {
        Direction::Forward => speeds.pass.in_slices(stage.lanes, slices),
        Direction::Backward => speeds.pass.in_slices(stage.lanes + 1, slices) * TRANSPOSED,
    };
    read as f64 * speeds.read.in_slices(stage.lanes, slices)
        + stage.state_passes as f64 * pass_nanos
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

#[cfg(test)]
mod tests {
    use super::*;
    use keima_coordinator::Executor;
    use keima_model::{ProblemRequest, Registry};
    use keima_problems::Problems;

    fn outline(size: &str, offer: &Offer) -> Outline {
        let request = ProblemRequest { name: "go".into(), size: size.into(), options: Vec::new() };
        Outline::new(&Problems.open(&request).unwrap(), offer).unwrap()
    }

    fn offer(workers: u32, threads: u32, disk_bytes_per_second: Option<f64>) -> Offer {
        Offer { disk_bytes_per_second, ..Offer::with_runs(Executor::Block, workers, threads, 8 << 30) }
    }

    fn close<const N: usize>(got: [f64; N], expected: [f64; N]) {
        assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-9), "{got:?}, {expected:?}");
    }

    /// By hand: 10 s to read, 6 s and 12 s of passes with two lanes, 20 s to write; 16 GB are read and 16 GB written.
    #[test]
    fn a_stage_takes_as_long_as_its_largest_family() {
        let speeds = Speeds {
            height: 10,
            read: PerState { base_nanos: 10.0, lane_nanos: 0.0 },
            pass: PerState { base_nanos: 1.0, lane_nanos: 1.0 },
            write: PerState { base_nanos: 20.0, lane_nanos: 0.0 },
            ..Speeds::default()
        };
        let check = |machines: (u32, u32),
                     gigabytes: Option<f64>,
                     share,
                     slices: (u32, f64, bool),
                     expected: [f64; 5]| {
            let offer = offer(machines.0, machines.1, gigabytes.map(|speed| speed * 1e9));
            let mut outline = outline("10x10", &offer);
            outline.stages.truncate(2);
            outline.stages.drain(..1);
            for stage in &mut outline.stages {
                (stage.lanes, stage.states_before, stage.states_after) = (2, 1_000_000_000, 1_000_000_000);
                stage.state_passes = 6_000_000_000;
                (stage.bytes_before, stage.bytes_written, stage.bytes_copied) = (16_000_000_000, 16_000_000_000, 0);
                (stage.family_share, stage.family_slices, stage.slices) = (share, slices.0, slices.1);
                stage.grows = slices.2;
                stage.family_threads = 1;
            }
            let times = Times::new(&outline, &speeds, &offer);
            let [time] = times.stages[..] else { panic!("{}", times.stages.len()) };
            let got =
                [time.core_seconds, time.threads_seconds, time.family_seconds, time.disk_seconds, time.wall_seconds];
            let near = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-9);
            assert!(near, "{machines:?} {gigabytes:?} {share} {slices:?}: {got:?}, expected {expected:?}");
            assert_eq!(time.waits_for_family(), expected[2] > expected[1]);
            // Tables take no time here.
            assert_eq!(times.total, time);
        };
        // Core time, all threads, largest family, disks, wall time.
        check((1, 2), None, 0.25, (1, 1.0, false), [48.0, 25.2, 12.0, 0.0, 25.205]);
        check((1, 16), None, 0.25, (1, 1.0, false), [48.0, 3.15, 12.0, 0.0, 12.005]);
        check((8, 2), None, 0.25, (1, 1.0, false), [48.0, 3.15, 12.0, 0.0, 12.005]);
        check((40, 16), None, 0.02, (1, 1.0, false), [48.0, 0.07875, 0.96, 0.0, 0.965]);
        check((1, 16), None, 0.05, (1, 1.0, false), [48.0, 3.15, 2.4, 0.0, 3.155]);
        check((1, 16), None, 0.0, (1, 1.0, false), [48.0, 3.15, 0.0, 0.0, 3.155]);
        // The family's 8 GB go to one worker's disk; all 32 GB to those of all.
        check((1, 16), Some(1.0), 0.25, (1, 1.0, false), [48.0, 3.15, 12.0, 32.0, 33.58]);
        check((4, 4), Some(1.0), 0.25, (1, 1.0, false), [48.0, 3.15, 12.0, 8.0, 16.005]);
        // Twice to be read and taken through passes without lanes, of all states a quarter more.
        check((1, 16), None, 0.25, (2, 1.25, false), [52.0, 3.4125, 16.0, 0.0, 16.005]);
        check((4, 4), Some(1.0), 0.25, (2, 1.25, false), [52.0, 3.4125, 16.0, 8.0, 20.005]);
        // Where lanes are made of others these are read twice: 12 GB of the family.
        check((4, 4), Some(1.0), 0.25, (2, 1.25, true), [52.0, 3.4125, 16.0, 9.0, 22.005]);
    }

    /// By hand: three lanes and that of the ways, 5 ns each, 1.6 times.
    #[test]
    fn transposed_passes_have_a_lane_more_and_take_longer() {
        let speeds = Speeds { pass: PerState { base_nanos: 0.0, lane_nanos: 5.0 }, ..Speeds::default() };
        let offer = offer(1, 2, None);
        let mut outline = outline("10x10", &offer);
        outline.stages.truncate(1);
        (outline.stages[0].lanes, outline.stages[0].state_passes) = (3, 1_000_000_000);
        for (direction, expected) in [(Direction::Forward, 15.0), (Direction::Backward, 32.0)] {
            outline.stages[0].direction = direction;
            let got = Times::new(&outline, &speeds, &offer).stages[0].core_seconds;
            assert!((got - expected).abs() < 1e-9, "{direction:?}: {got}, expected {expected}");
        }
    }

    /// Tables in parts are made by the threads that do the families; here in one and a half times what is estimated.
    #[test]
    fn tables_in_parts_are_added() {
        let offer = offer(1, 2, None);
        let mut outline = outline("10x10", &offer);
        outline.stages.truncate(1);
        (outline.stages[0].table_seconds, outline.stages[0].family_share) = (8.0, 0.75);
        outline.stages[0].family_threads = 2;
        let speeds = Speeds { parts: Some(1.5), ..Speeds::default() };
        let [time] = Times::new(&outline, &speeds, &offer).stages[..] else { panic!("one stage") };
        let got = [time.core_seconds, time.threads_seconds, time.family_seconds];
        close(got, [12.0, 6.3, 9.0]);
    }

    /// Threads that do the largest family take 1.5 times as long together as one alone; tables are one's.
    #[test]
    fn threads_share_the_largest_family() {
        let pass = PerState { base_nanos: 1.0, lane_nanos: 0.0 };
        let speeds = Speeds { height: 10, pass, ..Speeds::default() };
        let offer = offer(1, 16, None);
        let mut outline = outline("10x10", &offer);
        outline.stages.truncate(1);
        let stage = &mut outline.stages[0];
        (stage.state_passes, stage.table_seconds, stage.family_share) = (96_000_000_000, 8.0, 0.5);
        for (threads, expected) in [(0, 52.0), (1, 52.0), (2, 40.0), (6, 16.0), (12, 10.0)] {
            outline.stages[0].family_threads = threads;
            let time = Times::new(&outline, &speeds, &offer).stages[0];
            assert!((time.family_seconds - expected).abs() < 1e-9, "{threads} threads: {time:?}");
            assert!((time.core_seconds - 104.0).abs() < 1e-9, "{time:?}");
        }
    }

    /// While a family with a quarter of the states is done one thread of two waits: its time counts twice.
    #[test]
    fn threads_that_wait_for_memory_count_as_if_at_work() {
        let pass = PerState { base_nanos: 1.0, lane_nanos: 0.0 };
        let speeds = Speeds { height: 10, pass, ..Speeds::default() };
        let offer = offer(1, 2, None);
        let mut outline = outline("10x10", &offer);
        outline.stages.truncate(1);
        let stage = &mut outline.stages[0];
        (stage.state_passes, stage.slices, stage.waiting) = (40_000_000_000, 1.5, 0.25);
        (stage.family_share, stage.family_slices, stage.family_threads) = (0.25, 2, 1);
        let time = Times::new(&outline, &speeds, &offer).stages[0];
        let got = [time.core_seconds, time.threads_seconds, time.family_seconds];
        close(got, [60.0, 42.0, 20.0]);
    }

    /// In memory threads share the largest family.
    #[test]
    fn nobody_waits_for_a_family_in_memory() {
        let offer = Offer { executor: Executor::Auto, out_of_core: false, ..offer(1, 64, None) };
        let speed = SweepSpeed { lanes: 1, forward_nanos: 1.0, backward_nanos: 1.0 };
        let outline = outline("12x12", &offer);
        let times = Times::new(&outline, &Speeds { sweeps: vec![speed], rest: 1.0, ..Speeds::default() }, &offer);
        assert_eq!(outline.way, Way::InMemory);
        assert!(times.total.core_seconds > 0.0 && times.total.family_seconds == 0.0, "{:?}", times.total);
        assert!((times.total.wall_seconds - times.total.core_seconds / 64.0).abs() < 1e-9, "{:?}", times.total);
    }
}
