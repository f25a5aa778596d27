//! What users are told of a job. Reads only.

use keima_blocks::sizes::show_bytes;
use keima_orders::{JobId, WorkerId};
use keima_runs::TaskTimes;
use serde::{Deserialize, Serialize};

use super::progress::Position;
use crate::api::{Millis, State};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::job::boundaries::AtRisk;
use crate::job::stage::StageRun;
use crate::outcome::{Outcome, SeriesEntry};
use crate::plan::Plan;
use crate::terms::Terms;

/// A worker as one job sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobWorker {
    /// The worker.
    pub worker: WorkerId,
    /// Tasks of the job that it works on.
    pub running: u32,
    /// Why it gets no tasks, if so.
    pub note: String,
}

/// What is known of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// The job.
    pub id: JobId,
    /// Name of its problem.
    pub problem: String,
    /// Size of its problem, as the problem writes it.
    pub size: String,
    /// Its problem's options, name and value.
    pub options: Vec<(String, String)>,
    /// Its state.
    pub state: State,
    /// Why it is in this state, and what to do; may be empty.
    pub reason: String,
    /// Jobs of higher priority go first.
    pub priority: i32,
    /// Its priority, raised by what it waited: see machine/sharing.rs.
    pub level: i64,
    /// What people say of it.
    pub terms: Terms,
    /// When it was submitted, in milliseconds since the Unix epoch; 0 where that is not known.
    pub submitted_at: Millis,
    /// When it ended; 0 while it is not over, and where that is not known.
    pub ended_at: Millis,
    /// Time of its tasks from grant to end, all workers together.
    pub task_seconds: f64,
    /// What it waits for, as the end of the sentence "it waits for"; empty if it does not.
    pub waits_for: String,
    /// Its plan.
    pub plan: Option<Plan>,
    /// Number of the present sweep, from 0; the number of sweeps when all are done.
    pub sweep: u32,
    /// Number of the stage that is under way or comes next.
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
    /// State-passes per second, lately; 0 where unknown.
    pub states_per_second: f64,
    /// Most states before a pass so far; the forecast while no stage is complete.
    pub peak_states: u64,
    /// Tasks of the present stage.
    pub tasks: u32,
    /// Of these, finished ones.
    pub tasks_done: u32,
    /// Of these, ones that some worker works on.
    pub tasks_running: u32,
    /// Bytes of the job's runs on all workers, without spills and unfinished outputs of running tasks.
    pub disk_bytes: u64,
    /// Most of that so far.
    pub disk_peak_bytes: u64,
    /// Time that the job was under way in all, restarts included.
    pub seconds: f64,
    /// Time left at the present rate; `None` where unknown.
    pub eta_seconds: Option<f64>,
    /// Number of functionals that users may see.
    pub values_known: u32,
    /// Functionals that are known already. Empty where there is an outcome, which has them all: see [`Self::values`]. Empty, too,
    /// in lists, and wherever values are read apart from their job.
    pub series: Vec<SeriesEntry>,
    /// Passes before the newest boundary of which every run has two holders. This much is left if any one worker is lost.
    /// `None` where there is no such boundary.
    pub copied_passes: Option<u32>,
    /// Where the job would go on if the worker were lost now whose loss costs most, and that worker. `None` where there is
    /// nothing to lose yet, or no worker here holds any of it.
    pub at_risk: Option<AtRisk>,
    /// Where a restarted coordinator went on with the job.
    pub resumed_from: Option<String>,
    /// The result, when there is one. After a failed check it has checks and residues, but no counts.
    pub outcome: Option<Outcome>,
    /// What happened on the way, the newest last.
    pub notes: Vec<String>,
    /// Bytes read from runs.
    pub bytes_read: u64,
    /// Bytes written, spills included.
    pub bytes_written: u64,
    /// Bytes of spilled and intermediate runs.
    pub bytes_spilled: u64,
    /// How finished tasks spent their time.
    pub times: TaskTimes,
    /// Workers that work on the job, or cannot.
    pub workers: Vec<JobWorker>,
}

impl JobStatus {
    /// Functionals that users may see: none if a check failed.
    pub fn values(&self) -> &[SeriesEntry] {
        match &self.outcome {
            None => &self.series,
            Some(outcome) if outcome.ok => &outcome.series,
            Some(_) => &[],
        }
    }

    /// Puts values in that were read apart.
    pub fn set_values(&mut self, values: Vec<SeriesEntry>) {
        match &mut self.outcome {
            Some(outcome) if outcome.ok => outcome.series = values,
            _ => self.series = values,
        }
    }
}

/// How much of the stage under way is done.
struct StageProgress {
    tasks: u32,
    tasks_done: u32,
    tasks_running: u32,
    /// States that the stage has read, those of unfinished tasks included.
    states_done: u64,
    /// States that the stage has to read.
    states_stage: u64,
}

impl Job {
    /// Why a worker gets no tasks of this job.
    pub(crate) fn why_not(&self, fleet: &Fleet, worker: &WorkerId) -> Option<String> {
        if let Some(aside) = self.health.aside(worker) {
            return Some(format!("set aside: {}", aside.reason));
        }
        let (has, wants) = (fleet.workers.get(worker)?.task_memory_bytes, self.record.plan.task_memory_bytes);
        (has < wants && fleet.is_here(worker)).then(|| {
            format!(
                "too little memory for a task: the job needs {}, the worker has {}; start it again with more --memory, or \
                 fewer --threads",
                show_bytes(wants),
                show_bytes(has)
            )
        })
    }

    fn stage_progress(&self, fleet: &Fleet, number: u32) -> StageProgress {
        let plan = &self.record.plan;
        let made = || {
            // Blocks are dense from the start: a stage that reads nothing makes this many.
            let before = plan.stage(number).boundaries().0;
            plan.block().and_then(|_| plan.states.get(before as usize).copied()).unwrap_or(1)
        };
        let states_stage = self.boundaries.input_of(plan, number).map_or_else(made, |b| b.head.totals.states);
        let done = self.stage.iter().flat_map(StageRun::done).map(|done| done.manifest.input.states);
        let under_way = fleet.tasks_of_job(self.id).map(|lease| lease.states_done);
        StageProgress {
            tasks: self.stage.as_ref().map_or(0, |stage| stage.tasks.len()) as u32,
            tasks_done: self.stage.as_ref().map_or(0, StageRun::tasks_done) as u32,
            tasks_running: fleet.tasks_of_job(self.id).count() as u32,
            states_done: done.chain(under_way).fold(0, u64::saturating_add).min(states_stage),
            states_stage,
        }
    }

    /// Functionals that users may see. The outcome has the early ones, or withholds them with the rest.
    pub(crate) fn values(&self) -> impl Iterator<Item = &SeriesEntry> {
        let outcome = self.record.outcome.as_ref();
        let is_early = outcome.is_none() && self.record.state != State::CheckFailed;
        let early = is_early.then(|| self.functionals.early_values()).into_iter().flatten();
        early.chain(outcome.filter(|outcome| outcome.ok).into_iter().flat_map(|outcome| &outcome.series))
    }

    /// What is known of the job, without its values.
    pub(crate) fn status(&self, fleet: &Fleet) -> JobStatus {
        let record = &self.record;
        let plan = &record.plan;
        let number = record.last_stage.unwrap_or_else(|| self.boundaries.next_stage());
        let passes = plan.board.passes();
        // A first column that needs no stage is there from the start, but not before it.
        let (pass, at) = match number {
            _ if record.generation == 0 => (0, 0),
            number if number >= plan.stages() => (plan.passes_before(number), passes),
            number => (plan.passes_before(number), plan.stage(number).first_pass),
        };
        let StageProgress { tasks, tasks_done, tasks_running, states_done, states_stage } =
            self.stage_progress(fleet, number);
        let position = Position { record, stage: number, states_done, states_stage };
        let seen = record.pass_states.iter().flatten().copied().max().unwrap_or(0);
        let disk_bytes = self.boundaries.disk_bytes(fleet);
        JobStatus {
            id: self.id,
            problem: record.spec.problem.name.clone(),
            size: record.size.clone(),
            options: record.spec.problem.options.clone(),
            state: record.state,
            reason: record.reason.clone(),
            priority: record.spec.priority,
            level: record.spec.priority.into(),
            terms: self.account.terms.clone(),
            submitted_at: self.account.submitted_at,
            ended_at: self.account.ended_at,
            task_seconds: self.account.task_millis as f64 / 1000.0,
            waits_for: String::new(),
            plan: Some(plan.clone()),
            sweep: record.sweep,
            stage: number,
            pass,
            passes,
            column: plan.board.column(at.min(passes.saturating_sub(1))),
            states: self.boundaries.last().map_or(0, |boundary| boundary.head.totals.states),
            states_done,
            states_stage,
            states_per_second: self.rate.per_second().unwrap_or(0.0),
            peak_states: if seen > 0 { seen } else { plan.peak_states },
            tasks,
            tasks_done,
            tasks_running,
            disk_bytes,
            disk_peak_bytes: record.disk_peak_bytes.max(disk_bytes),
            seconds: record.active_millis as f64 / 1000.0,
            eta_seconds: if self.is_over() { None } else { position.seconds_left(&self.rate) },
            values_known: self.values().count() as u32,
            series: Vec::new(),
            copied_passes: self.boundaries.copied_passes(plan, &self.health.copies, fleet),
            at_risk: if self.is_over() { None } else { self.boundaries.at_risk(plan, &self.health.copies, fleet) },
            resumed_from: self.resumed_from.clone(),
            outcome: record.outcome.as_ref().map(Outcome::without_series),
            notes: record.notes.to_vec(),
            bytes_read: record.totals.bytes_read,
            bytes_written: record.totals.bytes_written,
            bytes_spilled: record.totals.bytes_spilled,
            times: record.totals.times,
            workers: self.workers(fleet),
        }
    }

    /// Workers that work on the job, or cannot.
    fn workers(&self, fleet: &Fleet) -> Vec<JobWorker> {
        let one = |id: &WorkerId| {
            let running = fleet.attempts_of_job_on(self.id, id) as u32;
            let silent = || silent_at_work(fleet, id).filter(|_| running > 0);
            let note = if self.is_over() { None } else { self.why_not(fleet, id).or_else(silent) }.unwrap_or_default();
            JobWorker { worker: id.clone(), running, note }
        };
        fleet.workers.keys().map(one).filter(|worker| worker.running > 0 || !worker.note.is_empty()).collect()
    }
}

/// What to say of a worker that has tasks and is silent for several heartbeats.
fn silent_at_work(fleet: &Fleet, worker: &WorkerId) -> Option<String> {
    let silent_millis = fleet.now.saturating_sub(fleet.workers.get(worker)?.last_heard);
    let left_millis = fleet.config.lease_millis.saturating_sub(silent_millis);
    (silent_millis > fleet.config.lease_millis / 2).then(|| {
        let (silent, left) = (silent_millis / 1000, left_millis.div_ceil(1000));
        format!("silent for {silent} s; its tasks go to others in {left} s")
    })
}
