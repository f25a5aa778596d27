//! What to count, and within which limits.

use keima_coordinator::{Executor, Follows, JobId, JobSpec, Terms, WorkerStatus};
use keima_model::ProblemRequest;

use crate::Error;

/// Memory of a task if no worker is connected to say what it offers.
const TASK_MEMORY_BYTES: u64 = 256 << 20;

/// A job to submit. Its options are those of `keima submit`; what is `None` follows the workers that are there when the job
/// begins, or is the planner's choice.
///
/// ```
/// let mut job = keima::Job::new("knight", "6x6").option("closed");
/// job.priority = 5;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The problem, its size, and its own options.
    pub problem: ProblemRequest,
    /// Jobs of higher priority go first.
    pub priority: i32,
    /// Memory of one task.
    pub task_memory_bytes: Option<u64>,
    /// Most bytes of runs on all workers together.
    pub disk_bytes: Option<u64>,
    /// Residues that a sweep carries through all passes.
    pub residues_per_sweep: Option<u32>,
    /// Longest window of a stage, in cells.
    pub window: Option<u32>,
    /// How to count.
    pub executor: Executor,
    /// Keep the counts of all shorter boards.
    pub series: bool,
    /// Its name, note and owner, and its caps.
    pub terms: Terms,
}

impl Job {
    /// A problem of a size, such as `"go"` and `"9x9"`. Nobody looks at them before they are submitted.
    pub fn new(problem: &str, size: &str) -> Self {
        Self::of(ProblemRequest { name: problem.to_owned(), size: size.to_owned(), options: Vec::new() })
    }

    /// The same of a request that has its options.
    pub fn of(problem: ProblemRequest) -> Self {
        Self {
            problem,
            priority: 0,
            task_memory_bytes: None,
            disk_bytes: None,
            residues_per_sweep: None,
            window: None,
            executor: Executor::Auto,
            series: false,
            terms: Terms::default(),
        }
    }

    /// The same with an option of the problem, as after `-o`: `"closed"`, `"max-fences=3"`.
    #[must_use]
    pub fn option(mut self, word: &str) -> Self {
        self.problem.options.push(ProblemRequest::option(word));
        // The order of options does not matter.
        self.problem.options.sort();
        self
    }

    /// What the coordinator is told, for a fleet.
    pub(crate) fn spec(&self, workers: &[WorkerStatus]) -> JobSpec {
        let here = || workers.iter().filter(|worker| worker.here);
        let least_memory = here().map(|worker| worker.task_memory_bytes).min();
        let all_disks: u64 = here().map(|worker| worker.disk_bytes).fold(0, u64::saturating_add);
        let task_memory_bytes = self.task_memory_bytes.or(least_memory).unwrap_or(TASK_MEMORY_BYTES);
        JobSpec {
            priority: self.priority,
            disk_bytes: self.disk_bytes.or((all_disks > 0).then_some(all_disks)),
            residues_per_sweep: self.residues_per_sweep,
            window: self.window,
            // More workers may come later. Tasks cut for one slot would leave a second one idle at the end of each stage.
            slots: here().map(|worker| worker.slots).fold(0, u32::saturating_add).max(2),
            worker_slots: here().map(|worker| worker.slots).min().unwrap_or(0),
            executor: self.executor,
            series: self.series,
            follows: Follows {
                task_memory: self.task_memory_bytes.is_none(),
                disk: self.disk_bytes.is_none(),
                slots: true,
            },
            ..JobSpec::of(self.problem.clone(), task_memory_bytes)
        }
    }
}

/// The job of a name, `"j1"` or `"1"`.
pub fn job_id(text: &str) -> Result<JobId, Error> {
    let digits = text.strip_prefix('j').unwrap_or(text);
    digits.parse().map(JobId).map_err(|_| Error::JobName(text.to_owned()))
}
