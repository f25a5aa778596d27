//! One round of second copies: every run of one boundary gets another holder.

mod copying;

use std::collections::BTreeMap;

use keima_orders::WorkerId;
use keima_runs::RunId;

use super::batch::{Batch, Item};
use super::health::Health;
use crate::api::Millis;
use crate::fleet::Fleet;
use crate::store::records::Boundary;

/// The second copies of a job.
pub(crate) struct Copies {
    pub(crate) round: Option<CopyRound>,
    /// When the last round began.
    pub(crate) last_at: Millis,
    /// When the last column ended, and how long it took.
    column_at: Millis,
    column_millis: Millis,
}

impl Copies {
    pub(crate) const fn new(now: Millis) -> Self {
        Self { round: None, last_at: now, column_at: now, column_millis: 0 }
    }

    /// Whether the next column end should be copied: the last copies are old, or will be before the column after it ends.
    pub(crate) fn are_due(&self, fleet: &Fleet) -> bool {
        let age = fleet.now.saturating_sub(self.last_at).saturating_add(self.column_millis);
        fleet.config.second_copies && age >= fleet.config.copy_interval_millis
    }

    /// A column has ended.
    pub(crate) fn column_ended(&mut self, now: Millis) {
        self.column_millis = now.saturating_sub(self.column_at);
        self.column_at = now;
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
        if let Some(round) = self.round.as_mut().filter(|round| round.generation == generation) {
            round.batch.failed(task, worker);
        }
    }
}

/// The copying of one boundary.
pub(crate) struct CopyRound {
    /// Generation of the boundary.
    pub(crate) boundary: u32,
    /// Generation of the copies' attempts.
    pub(crate) generation: u32,
    pub(crate) batch: Batch<()>,
    /// The serial of gained runs when it was looked through last.
    as_of: u64,
}

impl CopyRound {
    pub(crate) fn new(boundary: &Boundary, generation: u32) -> Self {
        let batch = Batch::new(boundary.runs().map(|run| (run.clone(), ())));
        Self { boundary: boundary.head.generation, generation, batch, as_of: u64::MAX }
    }

    /// Whether the round cannot end: a run is lost, or every worker that could copy it has failed.
    pub(crate) fn is_vain(&self, health: &Health, fleet: &Fleet) -> bool {
        let anybody_may = |task: &CopyTask| fleet.here().any(|(id, _)| task.may_be_done_by(id, health, fleet));
        let lost = |run: &RunId| health.copies.lost(run, fleet).is_some();
        self.batch.open().any(|task| !anybody_may(task) || lost(&task.run.id))
    }

    /// Marks those of a worker's runs that have two holders.
    pub(crate) fn settle_held(&mut self, held: &BTreeMap<RunId, u64>, health: &Health, fleet: &Fleet) {
        let numbers: Vec<u32> = held.keys().filter_map(|run| self.batch.number_of(run)).collect();
        for number in numbers {
            self.settle_one(number, health, fleet);
        }
    }

    /// Marks all runs that have two holders, if workers came or came back since that was done last.
    pub(crate) fn settle(&mut self, health: &Health, fleet: &Fleet) {
        if self.as_of != fleet.serials.gained {
            self.as_of = fleet.serials.gained;
            (0..self.batch.len()).for_each(|number| self.settle_one(number, health, fleet));
        }
    }

    /// Marks a run if it has two holders.
    pub(crate) fn settle_one(&mut self, number: u32, health: &Health, fleet: &Fleet) {
        let Some(task) = self.batch.get(number).filter(|task| !task.done) else { return };
        if health.copies.has_two_holders(&task.run.id, fleet) {
            self.batch.settle(number);
        }
    }
}

/// The copying of one run.
type CopyTask = Item<()>;

impl CopyTask {
    /// Whether a worker may be asked for the copy.
    fn may_be_done_by(&self, worker: &WorkerId, health: &Health, fleet: &Fleet) -> bool {
        !health.is_aside(worker)
            && !self.attempts.is_hopeless(worker)
            && fleet.workers.get(worker).is_some_and(|w| !w.held.contains_key(&self.run.id))
            && !health.copies.is_bad(&self.run.id, worker)
    }
}
