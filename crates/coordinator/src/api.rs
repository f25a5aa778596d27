//! The words that pass between the coordinator, its workers and its clients, free of any transport.
//!
//! `cluster` translates them from and to the generated gRPC types. Times are milliseconds of a clock that the caller
//! owns and passes in (`now`), so that the whole crate runs under a simulated clock.

use std::fmt;

use keima_model::ProblemRequest;
use keima_orders::{AttemptId, Holder, InputRun, JobId, TaskOrder, WorkerId};
use keima_runs::{RunId, TaskManifest};
use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, by the caller's clock.
pub type Millis = u64;

/// What a worker asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A task of a stage.
    Task,
    /// A second copy to make.
    Copy,
}

/// What a worker is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// A task of a stage.
    Stage(Box<TaskOrder>),
    /// Make a second copy of a run, under the same run id, fsynced; reported with an empty task manifest but for the
    /// one run.
    Copy(Box<InputRun>),
}

/// A worker's time-limited right to do a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Which attempt at which task.
    pub attempt: AttemptId,
    /// Told back with every report; a report with another nonce is refused.
    pub nonce: u64,
    /// The lease runs out this long after the grant or the last heartbeat that names the attempt.
    pub lease_millis: Millis,
    /// The work.
    pub work: Work,
}

/// An attempt that a worker is at, with its right to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Running {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its nonce.
    pub nonce: u64,
    /// States read so far, for progress.
    pub states_done: u64,
}

/// Name of one coordinator's store, drawn when its data folder was new and kept as long as that. Numbers of jobs mean
/// something only together with it: job 1 of another store is another job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StoreId(pub u64);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A worker introduces itself: at its start, and whenever the coordinator does not know it (any more).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Where it is and who it is.
    pub holder: Holder,
    /// Tasks that it does at a time.
    pub slots: u32,
    /// Memory that one task may use.
    pub task_memory_bytes: u64,
    /// Cap on the scratch folder, all jobs together. The worker never writes beyond it; a task that would is reported
    /// as [`Failure::Disk`], and a job that finds no room anywhere is paused, to go on when there is more.
    pub disk_bytes: u64,
    /// Complete runs in its scratch folder.
    pub held: Vec<RunId>,
    /// Attempts that it is at.
    pub running: Vec<Running>,
    /// Whose runs these are: as the coordinator that it last worked for called itself. `None` in a new scratch folder.
    pub store: Option<StoreId>,
}

/// Answer to [`Hello`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// To be told with each later call; a call with an older epoch is answered with [`CallError::WhoAreYou`].
    pub epoch: u64,
    /// What to stop and what to delete.
    pub housekeeping: Housekeeping,
    /// How often to send heartbeats.
    pub heartbeat_millis: Millis,
    /// Whose runs the worker's are from now on. To be noted on disk before anything of `housekeeping` is done.
    pub store: StoreId,
}

/// What a worker is to stop and to delete; rides on every answer to a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Housekeeping {
    /// Attempts whose results nobody wants: stop, and delete the attempt's folder.
    pub abandon: Vec<AttemptId>,
    /// Runs to delete. Repeated until a heartbeat or [`Hello`] no longer counts them as held.
    pub release: Vec<RunId>,
}

/// Why an attempt failed. The class decides what the coordinator does; the text is for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// An input could not be had from a holder: gone, unreachable, or damaged. Not the fault of the worker that says
    /// so.
    Input {
        /// The run.
        run: RunId,
        /// Where it was looked for.
        holder: WorkerId,
        /// Whether it was read but its checks failed: this copy is never to be used again.
        damaged: bool,
        /// What happened.
        text: String,
    },
    /// The scratch folder is full, or at its cap.
    Disk {
        /// What happened.
        text: String,
    },
    /// A check of the numbers failed (mass balance, order of keys ...).
    Check {
        /// What was expected and what came.
        text: String,
    },
    /// The worker cannot do this task at all (too little memory, unknown problem, another version).
    Refused {
        /// Why.
        text: String,
    },
    /// The worker is stopping, or was told to abandon the attempt; nobody's fault.
    Stopped,
    /// Anything else.
    Other {
        /// What happened.
        text: String,
    },
}

/// How the coordinator takes a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The attempt's runs stand in the manifest, or its failure is noted.
    Accepted,
    /// The attempt is not (any more) the coordinator's: its runs are to be deleted.
    Refused {
        /// Why.
        reason: String,
    },
}

/// What a worker reports of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// It is done.
    Done(Box<TaskManifest>),
    /// It failed.
    Failed(Failure),
}

/// Why a call was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum CallError {
    /// The worker must introduce itself (again).
    #[error("worker {0} is not known under this epoch; it must say hello again")]
    WhoAreYou(WorkerId),
    /// The worker holds runs of another coordinator's jobs, which this one would have deleted.
    #[error(
        "scratch folder {folder} of worker {worker} holds {runs} runs or tasks of coordinator {theirs}, this is \
         coordinator {ours}: it has another data folder, or its own was lost. Nothing was deleted. Start the worker with \
         an empty scratch folder (--scratch DIR), or start the coordinator on the data folder that belongs to these runs; \
         if nobody needs them any more, delete the folders j1, j2, ... and the file coordinator.id in the scratch folder"
    )]
    OtherCoordinator {
        /// The worker.
        worker: WorkerId,
        /// Its scratch folder.
        folder: String,
        /// Runs that it holds and tasks that it is at.
        runs: usize,
        /// Whose they are.
        theirs: StoreId,
        /// Who this is.
        ours: StoreId,
    },
    /// No such job.
    #[error("there is no job {0}; `keima jobs` lists them")]
    NoSuchJob(JobId),
    /// The job's state does not allow it.
    #[error("job {job} is {state}: {why}")]
    WrongState {
        /// The job.
        job: JobId,
        /// Its state.
        state: String,
        /// What would be possible.
        why: String,
    },
    /// The job cannot be planned within its limits, or its words name no problem.
    #[error("{0}")]
    Invalid(String),
}

/// What a user asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The problem.
    pub problem: ProblemRequest,
    /// Higher goes first.
    pub priority: i32,
    /// Memory of one task; fixed for the job's life between column ends.
    pub task_memory_bytes: u64,
    /// Most bytes that the job may take in all scratch folders together, by its forecast: the planner takes more sweeps
    /// of fewer residues to stay below it, and refuses the job where that does not help. While the job runs it is the
    /// workers' own caps that hold, on what is really written: see [`Hello::disk_bytes`]. `None` for no limit.
    pub disk_bytes: Option<u64>,
    /// Residues carried at once; `None` lets the planner choose.
    pub residues_per_sweep: Option<u32>,
    /// Longest window; `None` lets the planner choose.
    pub window: Option<u32>,
    /// Tasks that will run at a time, for the planner (threads of all workers).
    pub slots: u32,
    /// Tasks that the worker with the fewest runs at a time: so many share what a process keeps once. 0 for one.
    #[serde(default)]
    pub worker_slots: u32,
    /// How to count.
    pub executor: Executor,
    /// Whether the counts of all shorter boards are wanted too: then no vectors meet in the middle, where only those are
    /// known that the forward one passes.
    #[serde(default)]
    pub series: bool,
}

/// How a job is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Executor {
    /// By blocks where the problem is made of them and a task's memory suffices, else as a stream.
    #[default]
    Auto,
    /// Sorted runs, for any problem and any size.
    Stream,
    /// Dense blocks.
    Block,
}
