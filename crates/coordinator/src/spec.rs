//! A job as it is submitted, and the states that it goes through.
//!
//! What people say of it beside that, its name and its caps, stands in `terms`.

use std::fmt;

use keima_model::ProblemRequest;
use serde::{Deserialize, Serialize};

/// A job as a user submits it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// The problem.
    pub problem: ProblemRequest,
    /// Jobs of higher priority go first.
    pub priority: i32,
    /// Memory of one task; fixed for the job's life.
    pub task_memory_bytes: u64,
    /// Most bytes that the job may take in all scratch folders together, by its forecast; `None` for no limit. The planner
    /// takes more sweeps of fewer residues to stay below it, and refuses the job if that does not help. While the job runs
    /// only the workers' own caps hold, on what is really written: see [`Hello::disk_bytes`](crate::Hello::disk_bytes).
    pub disk_bytes: Option<u64>,
    /// Residues carried at once; `None` lets the planner choose.
    pub residues_per_sweep: Option<u32>,
    /// Longest window; `None` lets the planner choose.
    pub window: Option<u32>,
    /// Tasks that will run at a time, for the planner: threads of all workers.
    pub slots: u32,
    /// Tasks that the worker with the fewest runs at a time: they share what a process keeps once. 0 counts as one.
    pub worker_slots: u32,
    /// How to count.
    pub executor: Executor,
    /// Whether the counts of all shorter boards are wanted too. Then no vectors meet in the middle: only a forward vector
    /// passes the ends of shorter boards.
    pub series: bool,
    /// Whether to count modulo other primes than those that the planner takes first: for a second count of one number.
    pub other_primes: bool,
    /// Which of these figures follow the workers that are there, as long as no task is granted.
    pub follows: Follows,
}

impl JobSpec {
    /// A job that leaves everything to the planner but the memory of a task.
    pub const fn of(problem: ProblemRequest, task_memory_bytes: u64) -> Self {
        Self {
            problem,
            priority: 0,
            task_memory_bytes,
            disk_bytes: None,
            residues_per_sweep: None,
            window: None,
            slots: 2,
            worker_slots: 0,
            executor: Executor::Auto,
            series: false,
            other_primes: false,
            follows: Follows { task_memory: false, disk: false, slots: false },
        }
    }
}

/// What of a job's limits is not the user's wish but what the workers offer. Until its first task is granted, the job is
/// planned anew when other workers are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follows {
    /// The memory of one task is the least that any worker offers.
    pub task_memory: bool,
    /// The disk is that of all workers together.
    pub disk: bool,
    /// The numbers of tasks at a time are those of the workers.
    pub slots: bool,
}

impl Follows {
    /// Nothing was typed: all of it.
    pub const ALL: Self = Self { task_memory: true, disk: true, slots: true };

    /// Whether anything follows the workers.
    pub const fn any(self) -> bool {
        self.task_memory || self.disk || self.slots
    }
}

/// Limits for the rest of a job, which is planned anew. What is not given follows the workers that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replan {
    /// Memory of one task.
    pub task_memory_bytes: Option<u64>,
    /// Most bytes in all scratch folders together.
    pub disk_bytes: Option<u64>,
}

/// The executor that a user asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Executor {
    /// Blocks where the problem has a block form and a task's memory suffices, else streams.
    #[default]
    Auto,
    /// Sorted runs, for any problem and any size.
    Stream,
    /// Dense blocks.
    Block,
}

/// State of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// It is planned; no task was granted yet.
    Queued,
    /// Its tasks are under way.
    Running,
    /// No task is granted until a person resumes it; the reason says why.
    Paused,
    /// It is counted, and all checks hold.
    Done,
    /// A check failed; there is evidence but no count.
    CheckFailed,
    /// Ended by the user.
    Cancelled,
}

impl State {
    /// All states, as they are listed.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Paused, Self::Done, Self::CheckFailed, Self::Cancelled];

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
