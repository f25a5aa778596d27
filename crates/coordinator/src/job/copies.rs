//! One round of second copies: every run of one boundary gets another holder.

use std::collections::BTreeMap;

use keima_orders::WorkerId;
use keima_runs::{RunId, RunManifest};

use super::attempts::Attempts;
use super::health::Health;
use crate::api::Millis;
use crate::fleet::Fleet;
use crate::store::records::Boundary;

/// The second copies of a job.
pub(crate) struct Copies {
    pub(crate) round: Option<CopyRound>,
    /// When the last round began.
    pub(crate) last_at: Millis,
}

impl Copies {
    pub(crate) const fn new(now: Millis) -> Self {
        Self { round: None, last_at: now }
    }

    /// Whether it is time for copies of the next column end.
    pub(crate) fn are_due(&self, fleet: &Fleet) -> bool {
        let age = fleet.now.saturating_sub(self.last_at);
        fleet.config.second_copies && age >= fleet.config.copy_interval_millis
    }

    /// Generation of the boundary that is being copied.
    pub(crate) fn boundary(&self) -> Option<u32> {
        self.round.as_ref().map(|round| round.boundary)
    }

    /// The round of this generation, if it is not over.
    pub(crate) fn round_of(&self, generation: u32) -> Option<&CopyRound> {
        self.round.as_ref().filter(|round| round.generation == generation)
    }

    /// A copy could not be made on a worker.
    pub(crate) fn failed(&mut self, generation: u32, task: u32, worker: &WorkerId) {
        let round = self.round.as_mut().filter(|round| round.generation == generation);
        if let Some(task) = round.and_then(|round| round.tasks.get_mut(task as usize)) {
            task.attempts.failed(worker);
        }
    }
}

/// The copying of one boundary.
pub(crate) struct CopyRound {
    /// Generation of the boundary.
    pub(crate) boundary: u32,
    /// Generation of the copies' attempts.
    pub(crate) generation: u32,
    pub(crate) tasks: Vec<CopyTask>,
}

impl CopyRound {
    pub(crate) fn new(boundary: &Boundary, generation: u32) -> Self {
        let task = |run: &RunManifest| CopyTask { run: run.clone(), done: false, attempts: Attempts::default() };
        Self { boundary: boundary.head.generation, generation, tasks: boundary.runs().map(task).collect() }
    }

    /// Whether the round cannot end: a run is lost, or every worker that could copy it has failed.
    pub(crate) fn is_vain(&self, health: &Health, fleet: &Fleet) -> bool {
        let anybody_may = |task: &CopyTask| fleet.here().any(|(id, _)| task.may_be_done_by(id, health, fleet));
        let lost = |run: &RunId| health.copies.lost(run, fleet).is_some();
        self.tasks.iter().any(|task| !task.done && (!anybody_may(task) || lost(&task.run.id)))
    }

    /// Whether a worker now holds a run that is still to be copied.
    pub(crate) fn wants_any_of(&self, held: &BTreeMap<RunId, u64>) -> bool {
        self.tasks.iter().any(|task| !task.done && held.contains_key(&task.run.id))
    }

    /// Marks runs that have two holders; `true` when all have.
    pub(crate) fn settle(&mut self, health: &Health, fleet: &Fleet) -> bool {
        for task in self.tasks.iter_mut().filter(|task| !task.done) {
            task.done = health.copies.has_two_holders(&task.run.id, fleet);
        }
        self.tasks.iter().all(|task| task.done)
    }
}

/// The copying of one run.
pub(crate) struct CopyTask {
    pub(crate) run: RunManifest,
    pub(crate) done: bool,
    pub(crate) attempts: Attempts,
}

impl CopyTask {
    /// Whether a worker may be asked for the copy.
    pub(crate) fn may_be_done_by(&self, worker: &WorkerId, health: &Health, fleet: &Fleet) -> bool {
        !health.is_aside(worker)
            && !self.attempts.is_hopeless(worker)
            && fleet.workers.get(worker).is_some_and(|w| !w.held.contains_key(&self.run.id))
            && !health.copies.is_bad(&self.run.id, worker)
    }
}
