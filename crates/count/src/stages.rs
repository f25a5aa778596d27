//! Stages by themselves: runs their tasks on threads of this process, through real files, without coordinator or leases.
//! For measurements. The caller judges the manifests.
//!
//! ```text
//!   stage    0            1   2 | 3   4 | ...     of a vector by blocks, with two windows a column: forward, one task for
//!            start vector read and write          each group of families, the largest first
//! ```
//!
//! Nothing is synced: a stage may read its input from the page cache. Cost: the tasks, and one thread for each that the
//! caller asks for.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use keima_blocks::limits::PLACE_BITS;
use keima_coordinator::Plan;
use keima_engine::block::{Prepared, run_block_task};
use keima_engine::{Buffers, FeedOpener, Task, TaskError};
use keima_model::{BlockColumn, Direction, ProblemInfo, ProblemRequest};
use keima_orders::{AttemptId, BlockOrder, InputRun, JobId, TaskOrder};
use keima_runs::{
    BlockFeed, DiskBudget, LocalRun, RunError, RunHeader, RunId, RunManifest, RunPart, TaskManifest, run_path,
};

const SALT: u64 = 99;
const JOB_TAG: u64 = 77;

/// Why a stage failed.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// A task failed.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A run of the earlier stage cannot be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run of the earlier stage cannot be deleted.
    #[error("cannot remove the run {0}: {1}; check the folder's permissions")]
    Remove(RunId, #[source] io::Error),
    /// The system gives no thread.
    #[error("cannot start a thread: {0}; allow more (ulimit -u, pids.max, or TasksMax in systemd)")]
    NoThread(#[source] io::Error),
    /// A task's thread panicked.
    #[error("a task's thread failed; this is a fault of the program, please report it")]
    Thread,
}

/// Opens runs in the folder for one task. Opened runs stay open, as on a worker: opening checks the index, which takes longer
/// than reading a small section.
struct Local<'a> {
    folder: &'a Path,
    open: Mutex<HashMap<RunId, LocalRun>>,
}

impl FeedOpener for Local<'_> {
    fn open(&self, run: &RunManifest, header: &RunHeader, part: RunPart) -> Result<Box<dyn BlockFeed>, RunError> {
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&run.id).cloned();
        let local = match known {
            Some(local) => local,
            None => LocalRun::open(&run_path(self.folder, &run.id)?, run, header)?,
        };
        let feed = Box::new(local.feed(part));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).entry(run.id.clone()).or_insert(local);
        Ok(feed)
    }
}

/// Runs `work` on `threads` threads, or on as many as the system gives, and returns their results. If several fail, returns
/// an error other than `Stopped`.
pub(crate) fn on_threads<T: Send>(
    threads: u32,
    work: impl Fn() -> Result<T, TaskError> + Sync,
) -> Result<Vec<T>, StageError> {
    let ended = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, &work);
        let first = start(0).map_err(StageError::NoThread)?;
        let others: Vec<_> = (1..threads).map_while(|number| start(number).ok()).collect();
        // Join all threads, even if one fails.
        let all = std::iter::once(first).chain(others);
        Ok::<_, StageError>(all.map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>())
    })?;
    let (mut made, mut stopped) = (Vec::new(), None);
    for end in ended {
        match end.map_err(|_| StageError::Thread)? {
            Ok(one) => made.push(one),
            Err(TaskError::Stopped) => stopped = Some(TaskError::Stopped),
            Err(error) => return Err(error.into()),
        }
    }
    stopped.map_or(Ok(made), |error| Err(error.into()))
}

/// Runs one task.
pub type DoTask<'a> = dyn Fn(&Task<'_>) -> Result<TaskManifest, TaskError> + Sync + 'a;

/// A folder for stages, and the state that their tasks share.
pub struct Stages<'a> {
    folder: &'a Path,
    threads: u32,
    disk: Arc<DiskBudget>,
    buffers: Buffers,
}

impl<'a> Stages<'a> {
    /// Stages on `threads` threads, with at most `bytes_most` bytes of runs below `folder`.
    pub fn new(folder: &'a Path, threads: u32, bytes_most: u64) -> Self {
        Self {
            folder,
            threads: threads.max(1),
            disk: Arc::new(DiskBudget::new(bytes_most)),
            buffers: Buffers::default(),
        }
    }

    /// Tasks at a time.
    pub const fn threads(&self) -> u32 {
        self.threads
    }

    /// Runs all tasks of a stage in this order, one on each thread at a time. If one fails, stops the others and returns its
    /// error.
    pub fn all_tasks(&self, orders: &[TaskOrder], task: &DoTask<'_>) -> Result<Vec<TaskManifest>, StageError> {
        let (taken, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || {
            let mut made = Vec::new();
            while !stop.load(Ordering::Relaxed)
                && let Some(order) = orders.get(taken.fetch_add(1, Ordering::Relaxed))
            {
                let done = task(&Task {
                    order,
                    feeds: &Local { folder: self.folder, open: Mutex::default() },
                    scratch: self.folder,
                    disk: &self.disk,
                    stop: &stop,
                    states_done: &AtomicU64::new(0),
                    pulse: &AtomicU64::new(0),
                    buffers: &self.buffers,
                });
                made.push(done.inspect_err(|_| stop.store(true, Ordering::Relaxed))?);
            }
            Ok(made)
        };
        Ok(on_threads(self.threads, work)?.into_iter().flatten().collect())
    }

    /// Deletes the runs of a boundary.
    pub fn delete(&self, vector: &[TaskManifest]) -> Result<(), StageError> {
        for run in vector.iter().flat_map(|task| &task.runs) {
            let path = run_path(self.folder, &run.id)?;
            std::fs::remove_file(path).map_err(|error| StageError::Remove(run.id.clone(), error))?;
            self.disk.refund(run.bytes);
        }
        Ok(())
    }
}

/// Forward stages of the block executor that carry all moduli from the start.
pub struct BlockStages<'a> {
    plan: Plan,
    group_records: u64,
    prepared: Prepared,
    moduli: Vec<u64>,
    stages: Stages<'a>,
}

impl<'a> BlockStages<'a> {
    /// Stages of `plan`, a plan for blocks, with the tables `column` for the same windows. Tables and tasks stay within
    /// `memory_bytes`.
    pub fn new(
        plan: Plan,
        column: Box<dyn BlockColumn>,
        moduli: Vec<u64>,
        memory_bytes: u64,
        stages: Stages<'a>,
    ) -> Self {
        let group_records = plan.block().map_or(u64::MAX, |block| block.group_records);
        let prepared = Prepared::new(column, group_records, memory_bytes, stages.threads());
        Self { plan, group_records, prepared, moduli, stages }
    }

    /// Its moduli.
    pub fn moduli(&self) -> &[u64] {
        &self.moduli
    }

    /// Its plan.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Deletes the runs of a boundary.
    pub fn delete(&self, vector: &[TaskManifest]) -> Result<(), StageError> {
        self.stages.delete(vector)
    }

    /// Runs stage `number` of the plan on `vector`, the output of the stage before. `sweep` only names the runs; it must be the
    /// same for all stages of a vector.
    pub fn stage(
        &self,
        info: &dyn ProblemInfo,
        sweep: u32,
        number: u32,
        vector: &[TaskManifest],
    ) -> Result<Vec<TaskManifest>, StageError> {
        let groups = self.prepared.groups(number as usize % self.plan.windows.len());
        let stage = self.plan.stage(number);
        let mut largest_first: Vec<usize> = (0..groups).collect();
        let records = records(vector, groups);
        largest_first.sort_by_key(|&group| std::cmp::Reverse(records[group]));
        let inputs: Vec<InputRun> =
            vector.iter().flat_map(|task| task.runs.iter().cloned().map(InputRun::here)).collect();
        let request = ProblemRequest { name: info.name().to_owned(), size: info.size(), options: Vec::new() };
        let attempt = |group| AttemptId { job: JobId(1), sweep, generation: number, task: group as u32, attempt: 0 };
        let order = |group: usize| TaskOrder {
            job_tag: JOB_TAG,
            salt: SALT,
            moduli: self.moduli.clone(),
            first_pass: stage.first_pass,
            layout_in: stage.layout_in,
            layout_out: stage.layout_out,
            from_start: number == 0,
            low: (group as u128) << PLACE_BITS,
            high: (group + 1 < groups).then_some((group as u128 + 1) << PLACE_BITS),
            inputs: inputs.clone(),
            task_memory_bytes: self.plan.task_memory_bytes,
            block: Some(BlockOrder {
                windows: self.plan.windows.clone(),
                group_records: self.group_records,
                moduli_in: self.moduli.clone(),
                parted: false,
                slots: self.plan.slots,
                both_ways: false,
                direction: Direction::Forward,
                lanes: None,
                kept: None,
            }),
            ..TaskOrder::of(attempt(group), request.clone(), stage.window)
        };
        let orders: Vec<TaskOrder> = largest_first.into_iter().map(order).collect();
        self.stages.all_tasks(&orders, &|task| run_block_task(&self.prepared, info, task))
    }
}

/// Records that each group will read, by the splits of the runs.
fn records(vector: &[TaskManifest], groups: usize) -> Vec<u64> {
    let mut records = vec![0; groups];
    for split in vector.iter().flat_map(|task| &task.splits) {
        let group = (split.key >> PLACE_BITS).checked_sub(1).and_then(|group| usize::try_from(group).ok());
        if let Some(records) = group.and_then(|group| records.get_mut(group)) {
            *records += split.records;
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use keima_model::Window;

    use super::*;

    fn order(number: u32) -> TaskOrder {
        let attempt = AttemptId { job: JobId(1), sweep: 0, generation: 0, task: number, attempt: 0 };
        let problem = ProblemRequest { name: "none".to_owned(), size: "1x1".to_owned(), options: Vec::new() };
        TaskOrder { first_pass: number, ..TaskOrder::of(attempt, problem, Window { first: 0, len: 1 }) }
    }

    /// The error of a failed task is returned. Its thread starts no other task, and other threads' tasks are told to stop.
    #[test]
    fn a_task_that_fails_ends_its_stage() {
        let folder = tempfile::tempdir().unwrap();
        let orders: Vec<TaskOrder> = (0..9).map(order).collect();
        let check = |threads, failing: Option<u32>, begun: usize| {
            let count = AtomicUsize::new(0);
            let done = Stages::new(folder.path(), threads, 1).all_tasks(&orders, &|task| {
                count.fetch_add(1, Ordering::Relaxed);
                if Some(task.order.first_pass) == failing {
                    return Err(TaskError::Refused(format!("task {}", task.order.attempt.task)));
                }
                // With two threads the other one's task lasts until it is told to stop, and says that it was.
                if threads == 2 && failing.is_some() {
                    while !task.stop.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                    return Err(TaskError::Stopped);
                }
                Ok(TaskManifest::default())
            });
            let what = format!("{threads} threads, {failing:?} fails: {done:?}");
            assert_eq!(count.load(Ordering::Relaxed), begun, "{what}");
            match (failing, done) {
                (None, Ok(manifests)) => assert_eq!(manifests.len(), orders.len(), "{what}"),
                (Some(number), Err(StageError::Task(TaskError::Refused(told)))) => {
                    assert_eq!(told, format!("task {number}"), "{what}");
                }
                _ => panic!("{what}"),
            }
        };
        check(1, None, 9);
        check(2, None, 9);
        check(1, Some(0), 1);
        check(1, Some(4), 5);
        check(2, Some(1), 2);
    }

    #[test]
    fn a_task_that_panics_is_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        let stages = Stages::new(folder.path(), 2, 1);
        let done = stages.all_tasks(&[order(0), order(1)], &|task| {
            assert!(task.order.first_pass == 1, "meant to fail");
            Ok(TaskManifest::default())
        });
        assert!(matches!(done, Err(StageError::Thread)), "{done:?}");
    }
}
