//! The simulated cluster: the real coordinator, fake workers, and a clock that jumps from event to event.
//!
//! ```text
//!   hello ─> a pull for each slot, and one for copies ─> a task takes its share of the stage's forecast ─> report, pull
//!        └─> heartbeats at the interval that the coordinator tells
//!   a pull in vain waits; it asks again when there may be work, and twice a second, as the coordinator's driver does
//! ```
//!
//! Every call goes through the bytes of its message. Calls arrive at once; woken pulls come a millisecond later.

mod life;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use keima_cluster::{Answer, CarriedCall as Call};
use keima_coordinator::{AttemptId, CallError, Config, Coordinator, JobId, JobSpec, Plan, State, StoreId};
use keima_model::Functional;
use keima_model::mix::split_mix;
use keima_orders::TaskOrder;
use keima_runs::{RunId, RunManifest};

use super::meter::{Held, Meter, What, heap_bytes, timed};
use super::plain::Plain;
use super::vector::Fronts;

/// How often the driver lets time pass, and how often a waiting pull asks again.
const TICK_MILLIS: u64 = 250;
const AGAIN_MILLIS: u64 = 500;
/// Delay of a pull that is woken.
const WAKE_MILLIS: u64 = 1;
/// Waiting pulls that the driver wakes for a single task.
const WOKEN_FOR_A_TASK: u64 = 4;
/// Longest time without a report. After it the job counts as stuck.
const STUCK_MILLIS: u64 = 24 * 3_600_000;

/// What the simulated machines are.
#[derive(Clone, Debug)]
pub(super) struct Machines {
    pub(super) workers: u32,
    pub(super) threads: u32,
    pub(super) task_memory_bytes: u64,
    pub(super) disk_bytes_per_second: f64,
    /// Deaths of each worker in an hour, on average.
    pub(super) deaths_per_hour: f64,
    pub(super) seed: u64,
    /// States of a vector's sample.
    pub(super) sample: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Tick,
    Again,
    Wake,
    Beat(u32, u32),
    End(u32, u32, AttemptId),
    Die(u32),
    Return(u32),
}

/// What a fake worker is at.
enum Labour {
    Task(Box<TaskOrder>),
    Copy(Box<RunManifest>),
}

struct At {
    nonce: u64,
    labour: Labour,
}

#[derive(Default)]
struct FakeWorker {
    epoch: u64,
    life: u32,
    lives: bool,
    held: BTreeSet<RunId>,
    disk_used_bytes: u64,
    running: BTreeMap<AttemptId, At>,
    /// Pulls that wait for a task, and one for a copy.
    waiting: u32,
    waits_for_copy: bool,
    pulse: u64,
    store: Option<StoreId>,
}

/// Where a job is: its sweep and its stage.
pub(super) type Place = (u32, u32);

pub(super) struct World {
    machines: Machines,
    coordinator: Coordinator,
    pub(super) job: JobId,
    pub(super) plan: Plan,
    fronts: Fronts,
    functionals: Vec<Functional>,
    /// Seconds of a slot for a state of each stage.
    state_seconds: Vec<f64>,
    pub(super) now: u64,
    random: u64,
    events: Events,
    workers: Vec<FakeWorker>,
    wakes: Wakes,
    heartbeat_millis: u64,
    pub(super) meter: Meter,
    pub(super) held: Held,
    /// The furthest stage of which a task was granted, and when its first one was.
    pub(super) place: Place,
    pub(super) place_at: u64,
    pub(super) counts: Counts,
    /// When a report was last answered.
    moved_at: u64,
    over: bool,
}

/// What is to happen, the next first; at one time in the order in which it was put in.
#[derive(Default)]
struct Events {
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    numbered: u64,
}

/// The coordinator's counters of new work as the driver last saw them, and whether it has a wake-up on its way.
#[derive(Default)]
struct Wakes {
    work_serial: u64,
    few_serial: u64,
    pending: bool,
}

/// What is counted from the start of the measurement on.
#[derive(Default)]
pub(super) struct Counts {
    /// Inputs of granted tasks.
    pub(super) inputs: u64,
    /// Reported tasks.
    pub(super) tasks: u64,
    /// Reported second copies.
    pub(super) copies: u64,
    /// Deaths of workers.
    pub(super) deaths: u64,
}

impl World {
    /// A coordinator with one job and its workers, none of which has said hello. `state_seconds` is the time that a slot
    /// takes for a state of each stage of the plan.
    pub(super) fn new(
        machines: Machines,
        spec: &JobSpec,
        state_seconds: impl FnOnce(&Plan) -> Result<Vec<f64>>,
    ) -> Result<Self> {
        let registry = Arc::new(Plain);
        let config = Config { build: "bench".into(), ..Config::default() };
        let before = heap_bytes();
        let mut coordinator = Coordinator::new(config, Arc::clone(&registry) as _, machines.seed);
        let planned = coordinator.consider(spec).plan(&*registry)?;
        let now = 1_700_000_000_000;
        let job = coordinator.admit(now, planned)?;
        let grown = heap_bytes().zip(before).map_or(0, |(now, before)| now - before);
        let mut held = Held::default();
        held.grow(grown);
        held.store(coordinator.take_changes()?);
        let plan = coordinator.status(now, job)?.plan.context("a job without a plan")?;
        let problem = keima_model::Registry::open(&Plain, &spec.problem)?;
        let mut world = Self {
            random: machines.seed,
            fronts: Fronts::new(problem.clone(), machines.sample),
            functionals: problem.info().functionals(),
            state_seconds: state_seconds(&plan)?,
            plan,
            coordinator,
            job,
            now,
            events: Events::default(),
            workers: (0..machines.workers).map(|_| FakeWorker::default()).collect(),
            wakes: Wakes::default(),
            heartbeat_millis: 1000,
            meter: Meter::begin(),
            held,
            place: (0, 0),
            place_at: now,
            counts: Counts::default(),
            moved_at: now,
            over: false,
            machines,
        };
        world.at(0, Event::Tick);
        world.at(AGAIN_MILLIS, Event::Again);
        for number in 0..world.machines.workers {
            world.at(u64::from(number) % 1000, Event::Return(number));
        }
        Ok(world)
    }

    /// Begins to measure anew.
    pub(super) fn measure_from_here(&mut self) {
        self.meter = Meter::begin();
        self.counts = Counts::default();
    }

    /// The job's state, and why.
    pub(super) fn state(&mut self) -> Result<(State, String)> {
        let status = self.coordinator.status(self.now, self.job)?;
        let notes = status.notes.last().cloned().unwrap_or_default();
        Ok((status.state, format!("{} {notes}", status.reason)))
    }

    pub(super) const fn workers(&self) -> u32 {
        self.machines.workers
    }

    /// Whether the job is over.
    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    /// Whether nothing was granted and reported for very long.
    pub(super) const fn is_stuck(&self) -> bool {
        self.now > self.moved_at + STUCK_MILLIS
    }

    /// One event.
    pub(super) fn step(&mut self) -> Result<()> {
        let Some(Reverse((at, _, event))) = self.events.queue.pop() else { bail!("nothing will happen any more") };
        self.now = at;
        match event {
            Event::Tick => {
                self.tick()?;
                self.over = self.coordinator.state(self.job).is_none_or(State::is_over);
                self.at(TICK_MILLIS, Event::Tick);
            }
            Event::Again => {
                self.pull_waiting()?;
                self.at(AGAIN_MILLIS, Event::Again);
            }
            Event::Wake => {
                self.wakes.pending = false;
                self.pull_waiting()?;
            }
            Event::Beat(worker, life) => self.beat(worker, life)?,
            Event::End(worker, life, attempt) => self.end(worker, life, attempt)?,
            Event::Die(worker) => self.die(worker),
            Event::Return(worker) => self.come(worker)?,
        }
        if self.coordinator.work_serial() != self.wakes.work_serial {
            self.wakes.work_serial = self.coordinator.work_serial();
            if !self.wakes.pending {
                self.wakes.pending = true;
                self.at(WAKE_MILLIS, Event::Wake);
            }
        }
        let few_serial = self.coordinator.few_serial();
        let few = few_serial - std::mem::replace(&mut self.wakes.few_serial, few_serial);
        self.wake_few(few * WOKEN_FOR_A_TASK)
    }

    fn at(&mut self, millis: u64, event: Event) {
        let events = &mut self.events;
        events.numbered += 1;
        events.queue.push(Reverse((self.now + millis, events.numbered, event)));
    }

    /// Between 0 and 1.
    fn chance(&mut self) -> f64 {
        (split_mix(&mut self.random) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn tick(&mut self) -> Result<()> {
        let (now, before) = (self.now, heap_bytes());
        let (changes, time) = timed(|| {
            self.coordinator.tick(now);
            self.coordinator.take_changes()
        });
        let changes = changes?;
        self.meter.add(What::Tick, time, Duration::ZERO, 0, 0);
        self.meter.add_changes(&changes);
        self.held.store(changes);
        self.grown(before);
        Ok(())
    }

    fn grown(&mut self, before: Option<i64>) {
        self.held.grow(heap_bytes().zip(before).map_or(0, |(now, before)| now - before));
    }

    /// A call with its message and its answer's. `None` where the worker is to say hello again.
    fn call(&mut self, call: &Call) -> Result<Option<Answer>> {
        let bytes = call.to_bytes();
        let (now, kind, before) = (self.now, call.kind(), heap_bytes());
        let (read, mut messages) = timed(|| Call::from_bytes(kind, &bytes));
        let read = read?;
        let ((answer, changes), machine) = timed(|| {
            let answer = answer(&mut self.coordinator, now, read);
            (answer, self.coordinator.take_changes())
        });
        let (changes, answer) = (
            changes?,
            match answer {
                Ok(answer) => answer,
                Err(CallError::WhoAreYou(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            },
        );
        let (bytes_out, time) = timed(|| answer.to_bytes().len() as u64);
        messages += time;
        self.meter.add_changes(&changes);
        let granted = matches!(answer, Answer::Pulled(Some(_)));
        self.meter.add(What::of(kind, granted), machine, messages, bytes.len() as u64, bytes_out);
        // What the coordinator's process would free after sending is freed in its name.
        let between = heap_bytes();
        let (theirs, puts) = (answer.clone(), changes.clone());
        let copied = heap_bytes().zip(between).map_or(0, |(now, before)| now - before);
        drop((answer, changes));
        self.grown(before.map(|before| before + copied));
        self.held.store(puts);
        Ok(Some(theirs))
    }
}

/// What the coordinator's driver does with a call.
fn answer(coordinator: &mut Coordinator, now: u64, call: Call) -> Result<Answer, CallError> {
    Ok(match call {
        Call::Hello(hello) => Answer::Welcome(coordinator.hello(now, hello)?),
        Call::Pull { worker, epoch, wanted } => Answer::Pulled(coordinator.pull(now, &worker, epoch, wanted)?),
        Call::Heartbeat { worker, epoch, running, held, used } => {
            Answer::Heard(coordinator.heartbeat(now, &worker, epoch, &running, &held, used)?)
        }
        Call::Report { worker, epoch, attempt, nonce, report } => {
            let (verdict, housekeeping) = coordinator.report(now, &worker, epoch, attempt, nonce, report)?;
            Answer::Told(verdict, housekeeping)
        }
    })
}
