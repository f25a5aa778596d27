//! Runs that workers are to bring somewhere, one grant each: those of a round of second copies, and those on their way to the
//! archive or from there.
//!
//! Cost: a look-up for each call.

use std::collections::{BTreeSet, HashMap};

use keima_orders::WorkerId;
use keima_runs::{RunId, RunManifest};

use super::attempts::Attempts;

/// A run to bring, with what the round knows of it.
pub(crate) struct Item<T> {
    pub(crate) run: RunManifest,
    pub(crate) with: T,
    pub(crate) done: bool,
    pub(crate) attempts: Attempts,
}

/// The runs of a round; each is a task, numbered from 0.
pub(crate) struct Batch<T> {
    items: Vec<Item<T>>,
    /// Tasks that are not done, and on which nobody works.
    pending: BTreeSet<u32>,
    /// Tasks that are not done.
    left: usize,
    /// The task of each run.
    by_run: HashMap<RunId, u32>,
}

impl<T> Batch<T> {
    pub(crate) fn new(runs: impl IntoIterator<Item = (RunManifest, T)>) -> Self {
        let item = |(run, with)| Item { run, with, done: false, attempts: Attempts::default() };
        let items: Vec<Item<T>> = runs.into_iter().map(item).collect();
        let by_run = (0..).zip(&items).map(|(number, item)| (item.run.id.clone(), number)).collect();
        Self { pending: (0..items.len() as u32).collect(), left: items.len(), by_run, items }
    }

    pub(crate) fn len(&self) -> u32 {
        self.items.len() as u32
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Item<T>> {
        self.items.get(number as usize)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Item<T>> {
        self.items.get_mut(number as usize)
    }

    /// Tasks that are not done.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Item<T>> {
        self.items.iter().filter(|item| !item.done)
    }

    /// Tasks on which nobody works.
    pub(crate) fn pending(&self) -> impl Iterator<Item = (u32, &Item<T>)> {
        self.pending.iter().filter_map(|&number| Some((number, self.get(number)?)))
    }

    /// The task of a run, if nobody works on it.
    pub(crate) fn pending_of(&self, run: &RunId) -> Option<(u32, &Item<T>)> {
        let number = self.number_of(run).filter(|number| self.pending.contains(number))?;
        Some((number, self.get(number)?))
    }

    /// The task of a run.
    pub(crate) fn number_of(&self, run: &RunId) -> Option<u32> {
        self.by_run.get(run).copied()
    }

    /// A task is granted.
    pub(crate) fn granted(&mut self, number: u32, attempt: u32) {
        self.pending.remove(&number);
        if let Some(item) = self.get_mut(number) {
            item.attempts.granted(attempt);
        }
    }

    /// A task has lost its attempt.
    pub(crate) fn put_back(&mut self, number: u32) {
        if self.get(number).is_some_and(|item| !item.done) {
            self.pending.insert(number);
        }
    }

    /// A worker could not do a task.
    pub(crate) fn failed(&mut self, number: u32, worker: &WorkerId) {
        if let Some(item) = self.get_mut(number) {
            item.attempts.failed(worker);
        }
    }

    /// A task is done.
    pub(crate) fn settle(&mut self, number: u32) {
        if let Some(item) = self.get_mut(number).filter(|item| !item.done) {
            item.done = true;
            self.left -= 1;
            self.pending.remove(&number);
        }
    }

    /// Whether all tasks are done.
    pub(crate) const fn is_done(&self) -> bool {
        self.left == 0
    }
}
