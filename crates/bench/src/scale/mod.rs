//! The coordinator at scale: the real state machine and fake workers without bytes, in virtual time.
//!
//! ```text
//!   vector    a sample of the states, carried on by the problem's own recurrence: what tasks read and write
//!   labour    a task's manifest
//!   world     coordinator, workers, clock, events
//!   meter     processor time, memory, records, messages
//!   plain     the problem without published values
//! ```
//!
//! The plan is the planner's own. A task takes its share of the time that the forecast reckons for its stage on these
//! machines, 10 % more or less by chance. Not simulated: HTTP/2, TLS, the store's writes, and the time that the coordinator
//! itself takes.

mod labour;
mod meter;
mod plain;
mod vector;
mod world;

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Result, bail, ensure};
use clap::Args;
use keima_blocks::process::task_memory_bytes;
use keima_coordinator::{Executor, Follows, JobSpec, Plan};
use keima_count::estimate::{Offer, Outline, PerState, Speeds, Times};
use keima_model::{ProblemRequest, Registry};
use serde::{Deserialize, Serialize};

use self::plain::Plain;
use self::world::{Machines, World};
use crate::process::{forget_peak, peak_bytes};
use crate::sample::rounded;

const GIB: f64 = (1_u64 << 30) as f64;
const MIB: f64 = (1_u64 << 20) as f64;
/// Nanoseconds of a thread to read, pass and write a state on 9x9, without lanes and for each lane: what `keima estimate`
/// measured on two cores of an AMD EPYC (Zen 5).
const READ: PerState = PerState { base_nanos: 67.2, lane_nanos: 4.29 };
const PASS: PerState = PerState { base_nanos: 95.7, lane_nanos: 6.11 };
const WRITE: PerState = PerState { base_nanos: 222.5, lane_nanos: 14.2 };
const MEASURED_HEIGHT: u32 = 9;
/// What the forecast adds to each stage to cut, grant and commit it: the coordinator's time, not a worker's.
const STAGE_SECONDS: f64 = 0.005;

/// What is simulated.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Problem
    #[arg(long, default_value = "go")]
    pub(crate) problem: String,
    /// Size of its board
    #[arg(long, default_value = "19x19")]
    pub(crate) size: String,
    /// Numbers of workers, one simulation for each
    #[arg(long, value_delimiter = ',', default_value = "40,400,2000")]
    pub(crate) workers: Vec<u32>,
    /// Threads of each
    #[arg(long, default_value_t = 16)]
    pub(crate) threads: u32,
    /// Memory of each
    #[arg(long, value_name = "GIB", default_value_t = 64)]
    pub(crate) memory: u64,
    /// Speed of each worker's disk
    #[arg(long, value_name = "GIB_PER_SECOND", default_value_t = 2.0)]
    pub(crate) disk_bandwidth: f64,
    /// Stage from which is measured
    #[arg(long, default_value_t = 0)]
    pub(crate) from_stage: u32,
    /// Stage before which a simulation ends [default: the whole job]
    #[arg(long)]
    pub(crate) to_stage: Option<u32>,
    /// Ends a simulation when the coordinator has taken so much processor time
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    pub(crate) processor_seconds: f64,
    /// Deaths of each worker in an hour; it comes back with its disk
    #[arg(long, default_value_t = 0.0)]
    pub(crate) deaths_per_hour: f64,
    /// States of a vector's sample
    #[arg(long, default_value_t = 1 << 20)]
    pub(crate) sample: usize,
    /// Seed of all chance
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// A row of the report.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    what: String,
    board: String,
    workers: u32,
    threads: u32,
    /// First stage that was measured, and the one before which that ended; of all sweeps, counted through.
    stages: (u32, u32),
    /// Why it ended.
    ended: String,
    tasks: u64,
    second_copies: u64,
    deaths: u64,
    inputs_per_task: f64,
    virtual_seconds: f64,
    /// Virtual time of whole stages over what the forecast says of them; none without a whole stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    over_estimate: Option<f64>,
    tasks_per_second: f64,
    /// Of the coordinator's thread.
    processor_seconds: f64,
    /// Processor time over virtual time.
    share_of_a_core: f64,
    microseconds_per_task: f64,
    /// Most of the coordinator's heap after any call.
    #[serde(skip_serializing_if = "Option::is_none")]
    heap_peak_mebibytes: Option<f64>,
    /// Of the whole process, fake workers included.
    process_peak_mebibytes: f64,
    records_stored_per_task: f64,
    bytes_stored_per_task: f64,
    /// Most of keys and values in the store.
    store_peak_mebibytes: f64,
    message_bytes_in_per_task: f64,
    message_bytes_out_per_task: f64,
    calls: BTreeMap<String, CallRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallRow {
    number: u64,
    /// In the state machine.
    microseconds: f64,
    /// To read its message and to write the answer's.
    message_microseconds: f64,
    longest_milliseconds: f64,
    bytes_in: f64,
    bytes_out: f64,
}

/// Simulates each number of workers.
pub(crate) fn rows(options: &Options) -> Result<Vec<Row>> {
    options.workers.iter().map(|&workers| row(options, workers)).collect()
}

/// The job as `keima submit` would send it with these machines typed in.
fn spec(options: &Options, workers: u32) -> JobSpec {
    JobSpec {
        problem: ProblemRequest { name: options.problem.clone(), size: options.size.clone(), options: Vec::new() },
        priority: 0,
        task_memory_bytes: task_memory_bytes(options.memory << 30, options.threads),
        disk_bytes: None,
        residues_per_sweep: None,
        window: None,
        slots: workers * options.threads,
        worker_slots: options.threads,
        executor: Executor::Stream,
        series: false,
        other_primes: false,
        follows: Follows::default(),
    }
}

/// The forecast's seconds of each stage of all sweeps.
fn stage_seconds(options: &Options, workers: u32) -> Result<Vec<f64>> {
    let problem = Plain.open(&spec(options, workers).problem)?;
    let offer = Offer {
        disk_bytes_per_second: Some(options.disk_bandwidth * GIB),
        ..Offer::with_runs(Executor::Stream, workers, options.threads, options.memory << 30)
    };
    let outline = Outline::new(&problem, &offer)?;
    let speeds = Speeds {
        height: MEASURED_HEIGHT,
        key_bytes: 8,
        threads: 2,
        read: READ,
        pass: PASS,
        write: WRITE,
        ..Speeds::default()
    };
    Ok(Times::new(&outline, &speeds, &offer).stages.iter().map(|time| time.wall_seconds).collect())
}

/// Seconds of a slot for a state of each stage of a sweep.
fn state_seconds(seconds: &[f64], slots: u32, plan: &Plan) -> Result<Vec<f64>> {
    let stages = plan.stages() as usize;
    ensure!(seconds.len() >= stages, "the forecast has {} stages, the plan {stages}", seconds.len());
    let states = |stage: usize| plan.states.get(plan.stage(stage as u32).first_pass as usize).copied().unwrap_or(1);
    let work = |stage: usize| (seconds[stage] - STAGE_SECONDS).max(0.0) * f64::from(slots);
    Ok((0..stages).map(|stage| work(stage) / states(stage).max(1) as f64).collect())
}

fn row(options: &Options, workers: u32) -> Result<Row> {
    forget_peak();
    let machines = Machines {
        workers,
        threads: options.threads,
        task_memory_bytes: task_memory_bytes(options.memory << 30, options.threads),
        disk_bytes_per_second: options.disk_bandwidth * GIB,
        deaths_per_hour: options.deaths_per_hour,
        seed: options.seed,
        sample: options.sample,
    };
    let seconds = stage_seconds(options, workers)?;
    let slots = workers * options.threads;
    let mut world = World::new(machines, &spec(options, workers), |plan| state_seconds(&seconds, slots, plan))?;
    let stages = world.plan.stages();
    let number = |world: &World| world.place.0 * stages + world.place.1;
    let (mut from, mut from_at, mut last) = (0, world.now, 0);
    let mut measured = options.from_stage == 0;
    let ended = loop {
        world.step()?;
        if number(&world) != last {
            last = number(&world);
            eprintln!(
                "{workers} workers, stage {last}: {:.1} s of the coordinator, {:.0} virtual seconds",
                world.meter.total().as_secs_f64(),
                (world.now - from_at) as f64 / 1000.0
            );
            if !measured && last >= options.from_stage {
                measured = true;
                (from, from_at) = (last, world.place_at);
                world.measure_from_here();
            }
            if options.to_stage.is_some_and(|to| last >= to) {
                break "at the stage that was asked for".to_owned();
            }
        }
        if world.meter.total().as_secs_f64() > options.processor_seconds {
            break format!("after {} s of processor time", options.processor_seconds);
        }
        if world.is_over() {
            let (state, reason) = world.state()?;
            ensure!(state == keima_coordinator::State::Done, "the job is {state}: {reason}");
            break "with the job".to_owned();
        }
        if world.is_stuck() {
            let (state, reason) = world.state()?;
            bail!("the job does not get on; it is {state}: {reason}");
        }
    };
    let whole = if ended == "with the job" { stages * world.plan.sweeps.len() as u32 } else { last };
    Ok(report(options, &world, &ended, from..whole, from_at, &seconds))
}

fn report(options: &Options, world: &World, ended: &str, stages: Range<u32>, from_at: u64, seconds: &[f64]) -> Row {
    let meter = &world.meter;
    let on_core = meter.on_core();
    let virtual_seconds = (world.now - from_at) as f64 / 1000.0;
    let whole_seconds =
        if ended == "with the job" { virtual_seconds } else { (world.place_at - from_at) as f64 / 1000.0 };
    let forecast: f64 = seconds.get(stages.start as usize..stages.end as usize).unwrap_or_default().iter().sum();
    let processor_seconds = meter.total().as_secs_f64() * on_core;
    let tasks = world.counts.tasks.max(1) as f64;
    let per_task = |value: u64| rounded(value as f64 / tasks);
    let sum = |of: fn(&meter::Calls) -> u64| meter.calls.values().map(of).sum::<u64>();
    let calls = meter.calls.iter().map(|(what, calls)| {
        let each = |value: f64| rounded(value / calls.number.max(1) as f64);
        let row = CallRow {
            number: calls.number,
            microseconds: each(calls.machine.as_secs_f64() * on_core * 1e6),
            message_microseconds: each(calls.messages.as_secs_f64() * on_core * 1e6),
            longest_milliseconds: rounded(calls.longest.as_secs_f64() * 1e3),
            bytes_in: each(calls.bytes_in as f64),
            bytes_out: each(calls.bytes_out as f64),
        };
        (what.name().to_owned(), row)
    });
    Row {
        what: "coordinator at scale".into(),
        board: format!("{} {}", options.problem, options.size),
        workers: world.workers(),
        threads: options.threads,
        stages: (stages.start, stages.end),
        ended: ended.into(),
        tasks: world.counts.tasks,
        second_copies: world.counts.copies,
        deaths: world.counts.deaths,
        inputs_per_task: per_task(world.counts.inputs),
        virtual_seconds: rounded(virtual_seconds),
        over_estimate: (forecast > 0.0).then(|| rounded(whole_seconds / forecast)),
        tasks_per_second: rounded(world.counts.tasks as f64 / virtual_seconds.max(1e-3)),
        processor_seconds: rounded(processor_seconds),
        share_of_a_core: rounded(processor_seconds / virtual_seconds.max(1e-3)),
        microseconds_per_task: rounded(processor_seconds * 1e6 / tasks),
        heap_peak_mebibytes: meter::heap_bytes().map(|_| rounded(world.held.heap_peak as f64 / MIB)),
        process_peak_mebibytes: rounded(peak_bytes(None) / MIB),
        records_stored_per_task: per_task(meter.records_put),
        bytes_stored_per_task: per_task(meter.bytes_put),
        store_peak_mebibytes: rounded(world.held.store_peak as f64 / MIB),
        message_bytes_in_per_task: per_task(sum(|calls| calls.bytes_in)),
        message_bytes_out_per_task: per_task(sum(|calls| calls.bytes_out)),
        calls: calls.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(size: &str, deaths_per_hour: f64) -> Options {
        Options {
            problem: "go".into(),
            size: size.into(),
            workers: vec![10],
            threads: 2,
            memory: 1,
            disk_bandwidth: 2.0,
            from_stage: 0,
            to_stage: None,
            processor_seconds: f64::INFINITY,
            deaths_per_hour,
            sample: 1 << 12,
            seed: 7,
        }
    }

    #[test]
    fn ten_workers_come_to_the_end_of_a_job() {
        for deaths_per_hour in [0.0, 3000.0] {
            let rows = rows(&options("9x9", deaths_per_hour)).unwrap_or_else(|error| panic!("seed 7: {error}"));
            let [row] = rows.as_slice() else { panic!("{rows:?}") };
            assert_eq!(row.ended, "with the job");
            assert_eq!(row.deaths > 0, deaths_per_hour > 0.0, "{row:?}");
            assert!(row.tasks > u64::from(row.stages.1), "{row:?}");
            assert!(row.over_estimate.is_some_and(|over| over > 0.9), "{row:?}");
            assert!(row.store_peak_mebibytes > 0.0 && row.bytes_stored_per_task > 0.0, "{row:?}");
            assert!(row.calls.contains_key("report") && row.calls.contains_key("heartbeat"), "{row:?}");
        }
    }
}
