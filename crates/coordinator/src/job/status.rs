//! What users are told: jobs, workers, progress and the time that is left. Reads only.

use std::fmt;

use keima_orders::{JobId, WorkerId};
use keima_runs::TaskTimes;
use serde::{Deserialize, Serialize};

use super::failures::Stuck;
use crate::api::{CallError, Millis};
use crate::fleet::Common;
use crate::job::Job;
use crate::machine::Coordinator;
use crate::outcome::{Outcome, SeriesEntry};
use crate::plan::Plan;

/// The rate looks back over so many milliseconds, half as far for half the weight.
const HALF_LIFE_MILLIS: f64 = 60_000.0;
/// A rate over less time than this tells nothing of the time that is left.
const SETTLED_MILLIS: f64 = 3_000.0;

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Planned; no task was granted yet.
    Queued,
    /// Under way.
    Running,
    /// Nothing is granted until it is resumed; the reason says why.
    Paused,
    /// Counted, and all checks hold.
    Done,
    /// A check failed; there is evidence but no count.
    CheckFailed,
    /// Ended by the user.
    Cancelled,
}

impl State {
    /// Whether nothing more will happen.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::CheckFailed | Self::Cancelled)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::CheckFailed => "check failed",
            Self::Cancelled => "cancelled",
        })
    }
}

/// States passed per second, the recent past counting most.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    states: f64,
    millis: f64,
}

impl Rate {
    pub(crate) fn add(&mut self, state_passes: u64) {
        self.states += state_passes as f64;
    }
    fn age(&mut self, elapsed: Millis) {
        let keep = 0.5_f64.powf(elapsed as f64 / HALF_LIFE_MILLIS);
        self.states *= keep;
        self.millis = self.millis * keep + elapsed as f64;
    }
    fn per_second(&self) -> Option<f64> {
        (self.states > 0.0 && self.millis > 0.0).then(|| self.states / self.millis * 1000.0)
    }
    /// Whether it has seen enough to tell the future by.
    fn is_settled(&self) -> bool {
        self.millis >= SETTLED_MILLIS
    }
}

/// A worker as one job sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobWorker {
    /// The worker.
    pub worker: WorkerId,
    /// Tasks of the job that it is at.
    pub running: u32,
    /// Why it gets none, if so.
    pub note: String,
}

/// What is known of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// The job.
    pub id: JobId,
    /// Name of its problem.
    pub problem: String,
    /// Size of its problem, as the problem says it.
    pub size: String,
    /// Its problem's options, name and value.
    pub options: Vec<(String, String)>,
    /// Its state.
    pub state: State,
    /// Why it is in this state, and what to do; may be empty.
    pub reason: String,
    /// Higher goes first.
    pub priority: i32,
    /// How it is done.
    pub plan: Option<Plan>,
    /// Sweep, from 0; the number of sweeps when all are done.
    pub sweep: u32,
    /// Stage of the sweep that is under way or comes next.
    pub stage: u32,
    /// Passes that are done before that stage.
    pub pass: u32,
    /// Passes of a sweep.
    pub passes: u32,
    /// Column of that stage, from 0.
    pub column: u32,
    /// States of the newest complete boundary.
    pub states: u64,
    /// States that the present stage has read, those of unfinished tasks included.
    pub states_done: u64,
    /// States that the present stage has to read.
    pub states_stage: u64,
    /// States through a pass per second, lately; 0 where unknown.
    pub states_per_second: f64,
    /// Most states before a pass so far; as forecast before the first stage is through.
    pub peak_states: u64,
    /// Tasks of the present stage.
    pub tasks: u32,
    /// Of these, finished ones.
    pub tasks_done: u32,
    /// Of these, ones that some worker is at.
    pub tasks_running: u32,
    /// Bytes of the job's runs on all workers; spills and unfinished outputs of running tasks do not count.
    pub disk_bytes: u64,
    /// Most of that so far.
    pub disk_peak_bytes: u64,
    /// Time that the job was under way in all, restarts included.
    pub seconds: f64,
    /// Time left at the present rate; `None` where unknown.
    pub eta_seconds: Option<f64>,
    /// Values that could be told already; none where there is an outcome, which has them all: see [`Self::values`].
    pub series: Vec<SeriesEntry>,
    /// Passes that led to the newest boundary of which every run has two holders: what the loss of any one worker leaves;
    /// `None` where there is none.
    pub copied_passes: Option<u32>,
    /// Where a restarted coordinator took the job up again.
    pub resumed_from: Option<String>,
    /// The result, when there is one. Of a failed check there are the checks and residues but no counts.
    pub outcome: Option<Outcome>,
    /// What happened on the way, the newest last.
    pub notes: Vec<String>,
    /// Bytes read from runs.
    pub bytes_read: u64,
    /// Bytes written, spills included.
    pub bytes_written: u64,
    /// Bytes of spilled and intermediate runs.
    pub bytes_spilled: u64,
    /// Where the time of finished tasks went.
    pub times: TaskTimes,
    /// Workers that are at the job, or cannot be.
    pub workers: Vec<JobWorker>,
}

/// What is known of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStatus {
    /// The worker.
    pub id: WorkerId,
    /// Base URL of its run service.
    pub address: String,
    /// Its scratch folder.
    pub folder: String,
    /// Whether it was heard of within the time of a lease.
    pub here: bool,
    /// Milliseconds since it was last heard of.
    pub silent_millis: Millis,
    /// Tasks that it does at a time.
    pub slots: u32,
    /// Tasks that it is at.
    pub running: u32,
    /// Memory of one task.
    pub task_memory_bytes: u64,
    /// Cap on its scratch folder.
    pub disk_bytes: u64,
    /// Bytes in its scratch folder, as of its last heartbeat.
    pub disk_used_bytes: u64,
    /// Runs that it holds.
    pub runs: u64,
    /// Jobs that it gets no tasks of, and why.
    pub set_aside: Vec<(JobId, String)>,
}

impl JobStatus {
    /// Values that are told.
    pub fn values(&self) -> &[SeriesEntry] {
        match &self.outcome {
            None => &self.series,
            Some(outcome) if outcome.ok => &outcome.series,
            Some(_) => &[],
        }
    }

    /// The same without values, which may be megabytes: for lists of many jobs.
    fn without_values(mut self) -> Self {
        self.series.clear();
        self.outcome.iter_mut().for_each(|outcome| outcome.series.clear());
        self
    }
}

impl Coordinator {
    /// All jobs, the oldest first, without their values.
    pub fn jobs(&self) -> Vec<JobStatus> {
        self.jobs.values().map(|job| job.status(&self.common).without_values()).collect()
    }

    /// One job.
    pub fn status(&mut self, now: Millis, id: JobId) -> Result<JobStatus, CallError> {
        self.advance(now);
        self.jobs.get(&id).map(|job| job.status(&self.common)).ok_or(CallError::NoSuchJob(id))
    }

    /// Why no worker can go on with a job; `None` if one can, or the coordinator has forgotten since.
    pub fn stuck(&self, id: JobId) -> Option<Stuck> {
        self.jobs.get(&id)?.stuck(&self.common)
    }

    /// All workers that are remembered.
    pub fn workers(&mut self, now: Millis) -> Vec<WorkerStatus> {
        self.advance(now);
        let aside = |id: &WorkerId| -> Vec<(JobId, String)> {
            let live = self.jobs.values().filter(|job| !job.is_over());
            live.filter_map(|job| Some((job.id, job.why_not(&self.common, id)?))).collect()
        };
        let status = |(id, w): (&WorkerId, &crate::machine::workers::Worker)| WorkerStatus {
            id: id.clone(),
            address: w.holder.address.clone(),
            folder: w.holder.folder.clone(),
            here: w.here,
            silent_millis: self.common.now.saturating_sub(w.last_heard),
            slots: w.slots,
            running: self.common.attempts_on(id).count() as u32,
            task_memory_bytes: w.task_memory_bytes,
            disk_bytes: w.disk_bytes,
            disk_used_bytes: w.disk_used_bytes,
            runs: w.held.len() as u64,
            set_aside: aside(id),
        };
        self.common.workers.iter().map(status).collect()
    }
}

impl Job {
    /// The job is under way for so much longer.
    pub(crate) fn age(&mut self, elapsed: Millis, common: &Common) {
        if elapsed > 0 && self.record.state == State::Running && common.attempts_of_job(self.id).next().is_some() {
            self.record.active_millis = self.record.active_millis.saturating_add(elapsed);
            self.rate.age(elapsed);
        }
    }

    /// Why a worker gets no tasks of this job.
    fn why_not(&self, common: &Common, worker: &WorkerId) -> Option<String> {
        if let Some(aside) = self.aside.get(worker) {
            return Some(format!("set aside: {}", aside.reason));
        }
        let (has, wants) = (common.workers.get(worker)?.task_memory_bytes, self.record.plan.task_memory_bytes);
        (has < wants && common.workers.get(worker)?.here).then(|| {
            format!(
                "too little memory for a task: the job wants {wants} bytes, the worker has {has}; restart it with more"
            )
        })
    }

    fn status(&self, common: &Common) -> JobStatus {
        let record = &self.record;
        let plan = &record.plan;
        let number = if self.is_over() { plan.stages() } else { self.next_stage() };
        let passes = plan.board.passes();
        let at = if number >= plan.stages() { passes } else { plan.stage(number).first_pass };
        let newest = self.boundaries.last();
        // Blocks are dense from the start of a way, where nothing is read.
        let made = plan.block.as_ref().and_then(|_| plan.states.get(plan.stage(number).boundaries().0 as usize));
        let states_stage = self.input_of(number).map_or(made.copied().unwrap_or(1), |b| b.head.totals.states);
        let leases = common.attempts_of_job(self.id).filter(|(_, lease)| !lease.copy);
        let (running, under_way) =
            leases.fold((0, 0_u64), |(n, sum), (_, lease)| (n + 1, sum.saturating_add(lease.states_done)));
        let tasks = self.stage.as_ref().map_or(&[][..], |stage| &stage.tasks);
        let done = tasks.iter().filter_map(|task| task.done.as_ref());
        let read = done.fold(0_u64, |sum, done| sum.saturating_add(done.manifest.input.states));
        let states_done = read.saturating_add(under_way).min(states_stage);
        let seen = record.pass_states.iter().flatten().copied().max().unwrap_or(0);
        let disk_bytes = self.disk_bytes(common);
        let per_second = self.rate.per_second();
        JobStatus {
            id: self.id,
            problem: record.spec.problem.name.clone(),
            size: record.size.clone(),
            options: record.spec.problem.options.clone(),
            state: record.state,
            reason: record.reason.clone(),
            priority: record.spec.priority,
            plan: Some(plan.clone()),
            sweep: record.sweep,
            stage: number,
            pass: plan.passes_before(number),
            passes,
            column: plan.board.column(at.min(passes.saturating_sub(1))),
            states: newest.map_or(0, |b| b.head.totals.states),
            states_done,
            states_stage,
            states_per_second: per_second.unwrap_or(0.0),
            peak_states: if seen > 0 { seen } else { plan.peak_states },
            tasks: tasks.len() as u32,
            tasks_done: tasks.iter().filter(|task| task.done.is_some()).count() as u32,
            tasks_running: running,
            disk_bytes,
            disk_peak_bytes: record.disk_peak_bytes.max(disk_bytes),
            seconds: record.active_millis as f64 / 1000.0,
            eta_seconds: self
                .foreseeable_rate()
                .and_then(|rate| Some(self.state_passes_left(states_done, states_stage)? / rate)),
            // What was told on the way is in the outcome, or withheld with the rest.
            series: if record.outcome.is_some() || record.state == State::CheckFailed {
                Vec::new()
            } else {
                self.early.values().filter(|entry| entry.ok).cloned().collect()
            },
            copied_passes: self.copied_passes(common),
            resumed_from: self.resumed_from.clone(),
            outcome: record.outcome.clone(),
            notes: record.notes.iter().cloned().collect(),
            bytes_read: record.totals.bytes_read,
            bytes_written: record.totals.bytes_written,
            bytes_spilled: record.totals.bytes_spilled,
            times: record.totals.times,
            workers: self.job_workers(common),
        }
    }

    /// The rate to tell the time left by: lately, or after a restart that of the job's whole life.
    fn foreseeable_rate(&self) -> Option<f64> {
        if self.rate.is_settled() {
            return self.rate.per_second();
        }
        let record = &self.record;
        let millis = record.active_millis as f64;
        let sum = |states: &[Option<u64>]| states.iter().flatten().map(|&n| n as f64).sum::<f64>();
        let done = |stage: u32| {
            let place = record.plan.stage(stage);
            let range = place.first_pass as usize..(place.end_pass() as usize).min(record.pass_states.len());
            sum(record.pass_states.get(range).unwrap_or_default())
        };
        let this_sweep: f64 = (0..self.next_stage()).map(done).sum();
        let passed = f64::from(record.sweep) * sum(&record.pass_states) + this_sweep;
        (millis >= SETTLED_MILLIS && passed > 0.0).then(|| passed / millis * 1000.0)
    }

    fn job_workers(&self, common: &Common) -> Vec<JobWorker> {
        let one = |id: &WorkerId| {
            let running = common.attempts_of_job(self.id).filter(|(_, lease)| lease.worker == *id).count() as u32;
            let note = if self.is_over() { String::new() } else { self.why_not(common, id).unwrap_or_default() };
            JobWorker { worker: id.clone(), running, note }
        };
        common.workers.keys().map(one).filter(|w| w.running > 0 || !w.note.is_empty()).collect()
    }

    /// States times passes that are left, by what was seen in an earlier sweep or else by the forecast; `None` where
    /// some pass is unknown.
    fn state_passes_left(&self, done: u64, stage: u64) -> Option<f64> {
        let record = &self.record;
        let plan = &record.plan;
        if self.is_over() {
            return None;
        }
        let states = |pass: u32| {
            let seen = |pass: u32| record.pass_states.get(pass as usize).copied().flatten();
            let forecast = || plan.states.get(pass as usize).copied();
            // Passes inside a stage may not be known even after a sweep; the pass before them is near enough.
            let near = || (0..pass).rev().filter(|_| record.sweep > 0).find_map(seen);
            seen(pass).or_else(forecast).or_else(near).map(|states| states as f64)
        };
        let sum = |passes: std::ops::Range<u32>| passes.map(states).sum::<Option<f64>>();
        let of = |stage: u32| sum(plan.stage(stage).first_pass..plan.stage(stage).end_pass());
        let part = 1.0 - (done as f64 / stage.max(1) as f64).min(1.0);
        let this_stage = of(self.next_stage())? * part;
        let this_sweep = (self.next_stage() + 1..plan.stages()).map(of).sum::<Option<f64>>()?;
        let sweeps = (plan.sweeps.len() as u32).saturating_sub(record.sweep + 1);
        Some(this_stage + this_sweep + f64::from(sweeps) * sum(0..plan.board.passes())?)
    }
}
