//! The stage under way and its tasks.
//!
//! ```text
//!   newest boundary --cutting.rs, lanes.rs--> tasks: pending --grants.rs--> leased --commits.rs--> done
//!                                          a sample --recount.rs--> done again by another worker
//!                                                              all done --closing.rs--> next boundary
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use keima_orders::WorkerId;

use self::opinion::Opinion;
use super::attempts::Attempts;
use crate::api::Millis;
use crate::store::records::{Committed, Shard, StageRecord};

mod certify;
mod closing;
mod commits;
mod cutting;
pub(crate) mod evidence;
mod grants;
mod lanes;
mod laws;
mod opinion;
mod recount;
mod shards;

/// A stage with its tasks.
pub(crate) struct StageRun {
    pub(crate) number: u32,
    pub(crate) generation: u32,
    /// Whether its runs must be on stable storage.
    pub(crate) durable: bool,
    /// Whether no family was cut: then outputs of different tasks are disjoint.
    pub(crate) closed: bool,
    pub(crate) tasks: Vec<Task>,
    pending: BTreeSet<Pending>,
    /// Finished tasks that another worker is to do again before the stage ends.
    recounts: BTreeSet<u32>,
    /// Those of them that nobody works on.
    recounts_left: BTreeSet<u32>,
    /// Open tasks of which workers have made different things.
    disputes: BTreeSet<u32>,
    /// Whether it reads a part of the answer.
    reads_answer: bool,
    /// Numbers of the functionals that it reads off.
    functionals: Vec<u32>,
    /// Tasks that were late when somebody looked last, and when.
    late: Option<(Millis, Vec<u32>)>,
    /// Tasks that are not done.
    left: usize,
    /// How many finished tasks took how long.
    durations: BTreeMap<Millis, usize>,
}

/// A task that nobody works on. The largest come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    records: Reverse<u64>,
    task: u32,
}

/// The work of the stage on one shard.
pub(crate) struct Task {
    pub(crate) shard: Shard,
    pub(crate) attempts: Attempts,
    /// Failed checks: the worker, and the evidence.
    pub(crate) checks: Vec<(WorkerId, String)>,
    pub(crate) done: Option<Committed>,
    /// What workers made of it, while they differ.
    opinions: Vec<Opinion>,
    /// Whether workers ever made different things of it.
    doubted: bool,
}

impl Task {
    fn new(shard: Shard) -> Self {
        let (attempts, checks, opinions) = (Attempts::default(), Vec::new(), Vec::new());
        Self { shard, attempts, checks, done: None, opinions, doubted: false }
    }

    const fn pending(&self, number: u32) -> Pending {
        Pending { records: Reverse(self.shard.records), task: number }
    }
}

impl StageRun {
    /// A stage none of whose tasks is granted or done.
    pub(crate) fn new(number: u32, generation: u32, durable: bool, closed: bool, shards: Vec<Shard>) -> Self {
        let tasks: Vec<Task> = shards.into_iter().map(Task::new).collect();
        let pending = (0..).zip(&tasks).map(|(number, task)| task.pending(number)).collect();
        Self {
            number,
            generation,
            durable,
            closed,
            pending,
            recounts: BTreeSet::new(),
            recounts_left: BTreeSet::new(),
            disputes: BTreeSet::new(),
            reads_answer: false,
            functionals: Vec::new(),
            late: None,
            left: tasks.len(),
            tasks,
            durations: BTreeMap::new(),
        }
    }

    /// Marks tasks on which workers differed before a restart.
    pub(crate) fn doubt(&mut self, tasks: &[u32]) {
        for &number in tasks {
            if let Some(task) = self.tasks.get_mut(number as usize) {
                task.doubted = true;
            }
        }
    }

    /// How it is cut, for the store.
    pub(crate) fn record(&self, sweep: u32) -> StageRecord {
        let Self { number, generation, durable, closed, .. } = *self;
        let shards = self.tasks.iter().map(|t| t.shard).collect();
        let doubted = (0..).zip(&self.tasks).filter(|(_, task)| task.doubted).map(|(number, _)| number).collect();
        StageRecord { sweep, number, generation, durable, closed, shards, doubted }
    }

    /// Finished tasks.
    pub(crate) fn done(&self) -> impl Iterator<Item = &Committed> {
        self.tasks.iter().filter_map(|task| task.done.as_ref())
    }

    /// Number of finished tasks.
    pub(crate) const fn tasks_done(&self) -> usize {
        self.tasks.len() - self.left
    }

    /// Whether all tasks are finished, and those that were drawn are done again.
    pub(crate) fn is_complete(&self) -> bool {
        self.left == 0 && self.recounts.is_empty()
    }

    /// Numbers of the tasks that nobody works on, the largest task first.
    pub(crate) fn pending(&self) -> impl Iterator<Item = u32> {
        self.pending.iter().map(|pending| pending.task)
    }

    /// A task is pending again, unless it is done.
    pub(crate) fn put_back(&mut self, number: u32) {
        if let Some(task) = self.tasks.get(number as usize).filter(|task| task.done.is_none()) {
            self.pending.insert(task.pending(number));
        }
        if self.recounts.contains(&number) {
            self.recounts_left.insert(number);
        }
    }

    /// A task is granted: it is not pending any more.
    pub(crate) fn take_out(&mut self, number: u32) {
        if let Some(task) = self.tasks.get(number as usize) {
            self.pending.remove(&task.pending(number));
            self.recounts_left.remove(&number);
        }
    }

    /// Whether there is such a task, and it is not finished.
    pub(crate) fn is_open(&self, number: u32) -> bool {
        self.tasks.get(number as usize).is_some_and(|task| task.done.is_none())
    }

    /// A task is finished.
    pub(crate) fn finish(&mut self, done: Committed) {
        let number = done.attempt.task;
        self.take_out(number);
        if let Some(task) = self.tasks.get_mut(number as usize).filter(|task| task.done.is_none()) {
            task.done = Some(done);
            self.left -= 1;
        }
    }

    /// Finished tasks that read a part of the answer, and that one worker alone has done.
    fn answers_alone(&self) -> u64 {
        if self.reads_answer { self.done().filter(|done| done.second.is_none()).count() as u64 } else { 0 }
    }

    /// A finished task is open again.
    fn reopen(&mut self, number: u32) -> Option<Committed> {
        let done = self.tasks.get_mut(number as usize)?.done.take()?;
        self.left += 1;
        self.recounts.remove(&number);
        self.recounts_left.remove(&number);
        self.put_back(number);
        Some(done)
    }

    /// Counts how long a finished task took.
    fn add_duration(&mut self, elapsed: Millis) {
        *self.durations.entry(elapsed).or_default() += 1;
    }

    /// The median time of finished tasks; `None` before there is one.
    pub(crate) fn median_duration(&self) -> Option<Millis> {
        let mut left = self.durations.values().sum::<usize>() / 2;
        let middle = self.durations.iter().find(|&(_, &number)| {
            let is_here = left < number;
            left = left.saturating_sub(number);
            is_here
        });
        middle.map(|(&millis, _)| millis)
    }

    /// Lets a worker try every task again.
    pub(crate) fn forgive_worker(&mut self, worker: &keima_orders::WorkerId) {
        self.tasks.iter_mut().for_each(|task| task.attempts.forgive_worker(worker));
    }

    /// Lets every worker try every task again.
    pub(crate) fn forgive(&mut self) {
        self.tasks.iter_mut().for_each(|task| task.attempts.forgive());
    }
}
