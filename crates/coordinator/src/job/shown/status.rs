//! What users are told of a job.
//!
//! As JSON it is one flat object: the fields of its parts stand in it, in this order. Files of ended jobs hold it so.

use keima_orders::{JobId, WorkerId};
use keima_runs::TaskTimes;
use serde::{Deserialize, Serialize};

use crate::api::{Millis, State};
use crate::job::boundaries::AtRisk;
use crate::outcome::{Outcome, SeriesEntry};
use crate::plan::Plan;
use crate::terms::Terms;

/// What is known of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// The job.
    pub id: JobId,
    /// Its problem.
    #[serde(flatten)]
    pub problem: JobProblem,
    /// Its state.
    pub state: State,
    /// Why it is in this state, and what to do; may be empty.
    pub reason: String,
    /// Its priority, its people's terms, and what it has had.
    #[serde(flatten)]
    pub account: JobAccount,
    /// What it waits for, as the end of the sentence "it waits for"; empty if it does not.
    pub waits_for: String,
    /// Its plan.
    pub plan: Option<Plan>,
    /// Where in its sweeps it is.
    #[serde(flatten)]
    pub position: JobPosition,
    /// States and tasks of the stage under way.
    #[serde(flatten)]
    pub progress: JobProgress,
    /// Disk and time.
    #[serde(flatten)]
    pub usage: JobUsage,
    /// Values of functionals that are known.
    #[serde(flatten)]
    pub values: JobValues,
    /// What is left of it if a worker or the coordinator is lost.
    #[serde(flatten)]
    pub durability: JobDurability,
    /// The result, when there is one. After a failed check it has checks and residues, but no counts.
    pub outcome: Option<Outcome>,
    /// What happened on the way, the newest last.
    pub notes: Vec<String>,
    /// Bytes read and written by its tasks, and their time.
    #[serde(flatten)]
    pub traffic: JobTraffic,
    /// Workers that work on the job, or cannot.
    pub workers: Vec<JobWorker>,
}

/// What is to be counted, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProblem {
    /// Name of the problem.
    #[serde(rename = "problem")]
    pub name: String,
    /// Size, as the problem writes it.
    pub size: String,
    /// Options, name and value.
    pub options: Vec<(String, String)>,
}

/// A job's standing beside other jobs: priority, terms, dates, and the time that it was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobAccount {
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
}

/// Where in its sweeps a job is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobPosition {
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
}

/// How far the stage under way is, in states and in tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobProgress {
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
}

/// Disk that a job takes, and the time that it took and still needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobUsage {
    /// Bytes of the job's runs on all workers, without spills and unfinished outputs of running tasks.
    pub disk_bytes: u64,
    /// Most of that so far.
    pub disk_peak_bytes: u64,
    /// Time that the job was under way in all, restarts included.
    pub seconds: f64,
    /// Time left at the present rate; `None` where unknown.
    pub eta_seconds: Option<f64>,
}

/// Values of functionals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobValues {
    /// Number of functionals that users may see.
    #[serde(rename = "values_known")]
    pub known: u32,
    /// Functionals that are known already. Empty where there is an outcome, which has them all: see [`JobStatus::values`]. Empty,
    /// too, in lists, and wherever values are read apart from their job.
    pub series: Vec<SeriesEntry>,
}

/// What is left of a job if a worker or the coordinator is lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDurability {
    /// Passes before the newest boundary of which every run has two holders. This much is left if any one worker is lost.
    /// `None` where there is no such boundary.
    pub copied_passes: Option<u32>,
    /// Where the job would go on if the worker were lost now whose loss costs most, and that worker. `None` where there is
    /// nothing to lose yet, or no worker here holds any of it.
    pub at_risk: Option<AtRisk>,
    /// Where a restarted coordinator went on with the job.
    pub resumed_from: Option<String>,
}

/// Bytes that a job's tasks read and wrote, and the time that this took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobTraffic {
    /// Bytes read from runs.
    pub bytes_read: u64,
    /// Bytes written, spills included.
    pub bytes_written: u64,
    /// Bytes of spilled and intermediate runs.
    pub bytes_spilled: u64,
    /// How finished tasks spent their time.
    pub times: TaskTimes,
}

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

impl JobStatus {
    /// Functionals that users may see: none if a check failed.
    pub fn values(&self) -> &[SeriesEntry] {
        match &self.outcome {
            None => &self.values.series,
            Some(outcome) if outcome.ok => &outcome.series,
            Some(_) => &[],
        }
    }

    /// Puts values in that were read apart.
    pub fn set_values(&mut self, values: Vec<SeriesEntry>) {
        match &mut self.outcome {
            Some(outcome) if outcome.ok => outcome.series = values,
            _ => self.values.series = values,
        }
    }
}
