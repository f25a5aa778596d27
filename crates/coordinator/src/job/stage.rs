//! The stage under way and its tasks.
//!
//! ```text
//!   newest boundary --cutting.rs--> tasks: pending --grants.rs--> leased --commits.rs--> done
//!                                                              all done --closing.rs--> next boundary
//! ```

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::attempts::Attempts;
use crate::api::Millis;
use crate::store::records::{Committed, Shard, StageRecord};

mod closing;
mod commits;
mod cutting;
mod grants;
mod laws;
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
    /// Tasks that are not done.
    left: usize,
    /// How long finished tasks took, ascending.
    durations: Vec<Millis>,
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
    /// Evidence of failed checks.
    pub(crate) checks: Vec<String>,
    pub(crate) done: Option<Committed>,
}

impl Task {
    fn new(shard: Shard) -> Self {
        Self { shard, attempts: Attempts::default(), checks: Vec::new(), done: None }
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
        Self { number, generation, durable, closed, pending, left: tasks.len(), tasks, durations: Vec::new() }
    }

    /// How it is cut, for the store.
    pub(crate) fn record(&self, sweep: u32) -> StageRecord {
        let Self { number, generation, durable, closed, .. } = *self;
        StageRecord { sweep, number, generation, durable, closed, shards: self.tasks.iter().map(|t| t.shard).collect() }
    }

    /// Finished tasks.
    pub(crate) fn done(&self) -> impl Iterator<Item = &Committed> {
        self.tasks.iter().filter_map(|task| task.done.as_ref())
    }

    /// Number of finished tasks.
    pub(crate) const fn tasks_done(&self) -> usize {
        self.tasks.len() - self.left
    }

    /// Whether all tasks are finished.
    pub(crate) const fn is_complete(&self) -> bool {
        self.left == 0
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
    }

    /// A task is granted: it is not pending any more.
    pub(crate) fn take_out(&mut self, number: u32) {
        if let Some(task) = self.tasks.get(number as usize) {
            self.pending.remove(&task.pending(number));
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

    /// Counts how long a finished task took.
    fn add_duration(&mut self, elapsed: Millis) {
        let place = self.durations.partition_point(|&duration| duration < elapsed);
        self.durations.insert(place, elapsed);
    }

    /// The median time of finished tasks; `None` before there is one.
    fn median_duration(&self) -> Option<Millis> {
        self.durations.get(self.durations.len() / 2).copied()
    }

    /// Lets every worker try every task again.
    pub(crate) fn forgive(&mut self) {
        self.tasks.iter_mut().for_each(|task| task.attempts.forgive());
    }
}
