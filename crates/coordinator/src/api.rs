//! What the coordinator, its workers and its clients tell each other, free of any transport.
//!
//! `cluster` translates them from and to the generated gRPC types. Times are milliseconds of a clock that the caller
//! owns and passes in (`now`), so that the whole crate runs under a simulated clock.

use std::fmt;

use keima_orders::{AttemptId, Holder, InputRun, JobId, TaskOrder, WorkerId};
use keima_runs::{RunId, RunManifest, TaskManifest};
use serde::{Deserialize, Serialize};

pub use crate::spec::{Executor, Follows, JobSpec, Replan, State};

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
    /// A second copy of a run: of the same name, fsynced. The report is a task manifest that holds only this run.
    Copy(Box<InputRun>),
    /// A run to bring to the archive, or from there. The report is the same.
    Archive(Box<ArchiveWork>),
}

/// Which way a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Toward {
    /// From the worker's scratch folder to the archive.
    Archive,
    /// From the archive to the worker's scratch folder.
    Workers,
}

/// A run to bring to the archive, or from there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveWork {
    /// Which way.
    pub toward: Toward,
    /// The run.
    pub run: RunManifest,
    /// Name of its object below the archive's root: parts of `[a-z0-9.-]` joined by slashes.
    pub object: String,
}

/// A checkpoint to put into the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// The job.
    pub job: JobId,
    /// Generation of the round that it ends.
    pub generation: u32,
    /// Name below the archive's root.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
}

/// A worker's time-limited right to do a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Which attempt at which task.
    pub attempt: AttemptId,
    /// Every report repeats it; a report with another nonce is refused.
    pub nonce: u64,
    /// The lease ends this long after the grant or the last heartbeat that names the attempt.
    pub lease_millis: Millis,
    /// The work.
    pub work: Work,
}

/// An attempt that a worker works on, with its right to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Running {
    /// The attempt.
    pub attempt: AttemptId,
    /// Its nonce.
    pub nonce: u64,
    /// States read so far, for progress.
    pub states_done: u64,
    /// Counts up as long as the attempt gets on, whatever it does. A lease is kept by progress, not by life.
    pub pulse: u64,
}

/// Name of one coordinator's store, drawn when its data folder is new and never changed. Job numbers are unique only
/// within a store: job 1 of another store is another job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StoreId(pub u64);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A worker introduces itself: at its start, and whenever the coordinator does not know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its name and address.
    pub holder: Holder,
    /// Drawn at the start of its process: tells two processes of one name apart.
    pub incarnation: u64,
    /// Where its scratch folder is: the machine's present life, device and inode. Two processes in one place cannot live at a
    /// time, for the folder is locked. Empty where that is not known.
    pub place: String,
    /// Most tasks at a time.
    pub slots: u32,
    /// Memory that one task may use.
    pub task_memory_bytes: u64,
    /// Cap on the scratch folder, all jobs together. The worker never writes beyond it: it reports such a task as
    /// [`Failure::Disk`]. A job that finds no room anywhere is paused.
    pub disk_bytes: u64,
    /// Complete runs in its scratch folder.
    pub held: Vec<RunId>,
    /// Attempts that it works on.
    pub running: Vec<Running>,
    /// The store of the coordinator that it last worked for, to which its runs belong. `None` in a new scratch folder.
    pub store: Option<StoreId>,
    /// Build of its program.
    pub build: String,
    /// Whether it reaches the archive.
    pub archive: bool,
}

/// What a worker uses of its machine, as its heartbeats tell. For people only: no decision of the coordinator depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// Bytes in its scratch folder.
    pub disk_bytes: u64,
    /// Memory of its process that is in use. `None` where its system does not tell.
    pub memory_bytes: Option<u64>,
}

/// Answer to [`Hello`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Every later call repeats it; the answer to a call with an older epoch is [`CallError::WhoAreYou`].
    pub epoch: u64,
    /// What to stop and what to delete.
    pub housekeeping: Housekeeping,
    /// Time between heartbeats.
    pub heartbeat_millis: Millis,
    /// The store to which the worker's runs belong from now on. The worker must note it on disk before it deletes anything.
    pub store: StoreId,
}

/// What a worker is to stop and to delete; part of every answer to a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Housekeeping {
    /// Attempts to stop, because nobody wants their results. The worker deletes their folders.
    pub abandon: Vec<AttemptId>,
    /// Runs to delete. They are repeated until a heartbeat or [`Hello`] no longer lists them.
    pub release: Vec<RunId>,
}

/// Why an attempt failed. The kind decides what the coordinator does; the text is for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The worker could not read an input from a holder: it was gone, out of reach, or damaged.
    Input {
        /// The run.
        run: RunId,
        /// The worker that should have it.
        holder: WorkerId,
        /// Whether it was read but its checks failed. Such a copy is never used again.
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
    /// The worker is stopping, or was told to stop the attempt.
    Stopped,
    /// Anything else.
    Other {
        /// What happened.
        text: String,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input { run, holder, damaged, text } => {
                let what = if *damaged { "is damaged" } else { "cannot be read" };
                write!(f, "input: run {run} of worker {holder} {what}: {text}")
            }
            Self::Disk { text } => write!(f, "disk: {text}"),
            Self::Refused { text } => write!(f, "refused: {text}"),
            Self::Stopped => f.write_str("stopped"),
            Self::Check { text } | Self::Other { text } => f.write_str(text),
        }
    }
}

/// The coordinator's answer to a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The attempt's runs belong to the manifest, or its failure is noted.
    Accepted,
    /// The coordinator does not want the attempt's result. The worker deletes its runs.
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

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum CallError {
    /// The worker must introduce itself (again).
    #[error("worker {0} is not known under this epoch; it must say hello again")]
    WhoAreYou(WorkerId),
    /// The worker holds runs of another coordinator's jobs, which this one would have deleted.
    #[error(
        "scratch folder {folder} of worker {worker} holds {runs} runs or tasks of coordinator {theirs}, but this is \
         coordinator {ours}: it has another data folder, or its own was lost. Nothing was deleted. Start the worker with \
         an empty scratch folder (--scratch DIR), or start the coordinator on the data folder that belongs to these runs. \
         If nobody needs them, delete the folders j1, j2, ... and the file coordinator.id in the scratch folder"
    )]
    OtherCoordinator {
        /// The worker.
        worker: WorkerId,
        /// Its scratch folder.
        folder: String,
        /// Number of runs that it holds and of tasks that it works on.
        runs: usize,
        /// The store to which they belong.
        theirs: StoreId,
        /// The store of this coordinator.
        ours: StoreId,
    },
    /// The worker's program is another build of keima. It might count otherwise.
    #[error(
        "worker {worker} is build {theirs:?} of keima, this coordinator is build {ours:?}: they might count differently; install the \
         same keima on both machines and start the worker again. Its runs stay"
    )]
    OtherBuild {
        /// The worker.
        worker: WorkerId,
        /// Its build.
        theirs: String,
        /// The coordinator's.
        ours: String,
    },
    /// Another living process has the worker's name.
    #[error(
        "worker {worker} is at work already: another process of that name has its scratch folder at {other}. This one, with \
         scratch folder {folder}, gets no tasks, and nothing was changed. If its folder is a copy of the other one (a cloned \
         disk, say), delete the files worker.id and worker.lock in it and start the worker again: it takes a name of its own"
    )]
    NameTaken {
        /// The worker.
        worker: WorkerId,
        /// The scratch folder of the process that is refused.
        folder: String,
        /// Address and scratch folder of the other one.
        other: String,
    },
    /// Another process has the worker's name, and may have died.
    #[error(
        "another process is worker {worker}, and was heard of {silent_millis} ms ago; if it stays silent, this one takes its \
         place"
    )]
    NameContested {
        /// The worker.
        worker: WorkerId,
        /// Since when the other one is silent.
        silent_millis: Millis,
    },
    /// As many workers are here as are taken on.
    #[error(
        "{most} workers are here already, and no more are taken on; stop some, or wait until dead ones are forgotten"
    )]
    TooManyWorkers {
        /// The limit.
        most: usize,
    },
    /// As many jobs are not over as are taken.
    #[error(
        "{live} jobs are not over, and no more than {most} are taken; wait until some are over, or cancel some with `keima cancel`"
    )]
    TooManyJobs {
        /// Jobs that are not over.
        live: usize,
        /// The limit.
        most: usize,
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
    /// There is no such problem, or no plan keeps the job's limits.
    #[error("{0}")]
    Invalid(String),
}
