//! One round of storing or fetching: its runs, and who may do which.
//!
//! Cost: a look through a worker's runs for each grant, and through all that is left once a heartbeat.

use keima_orders::WorkerId;
use keima_runs::RunManifest;

use crate::api::{Millis, Toward};
use crate::fleet::Fleet;
use crate::job::batch::{Batch, Item};
use crate::job::health::Health;

/// Where a run's object is, and whose run it is.
#[derive(Clone)]
pub(crate) struct Place {
    /// Folder within the archive.
    pub(crate) folder: String,
    /// Generation of its boundary.
    pub(crate) boundary: u32,
}

/// The runs of a boundary on their way to the archive, or runs on their way from it.
pub(crate) struct Round {
    pub(crate) toward: Toward,
    /// Generations of the boundaries that are being stored, the newest last; none while fetching.
    pub(crate) boundaries: Vec<u32>,
    /// Generation of the attempts.
    pub(crate) generation: u32,
    pub(crate) batch: Batch<Place>,
    /// Whether all runs are stored, and the checkpoint is on its way.
    pub(crate) publishing: bool,
    /// When somebody looked last whether it can end.
    looked_at: Millis,
}

impl Item<Place> {
    /// Whether a worker may be asked for it.
    fn may_be_done_by(&self, toward: Toward, worker: &WorkerId, health: &Health, fleet: &Fleet) -> bool {
        let Some(known) = fleet.workers.get(worker).filter(|known| known.here && known.archive) else { return false };
        if health.is_aside(worker) || self.attempts.is_hopeless(worker) {
            return false;
        }
        match toward {
            Toward::Archive => known.held.contains_key(&self.run.id) && !health.copies.is_bad(&self.run.id, worker),
            Toward::Workers => health.may_have_room(worker, fleet.now),
        }
    }
}

impl Round {
    pub(crate) fn new(
        toward: Toward,
        boundaries: Vec<u32>,
        generation: u32,
        runs: impl IntoIterator<Item = (RunManifest, Place)>,
        now: Millis,
    ) -> Self {
        Self { toward, boundaries, generation, batch: Batch::new(runs), publishing: false, looked_at: now }
    }

    /// A task on which nobody works and that a worker may do, with its number.
    pub(crate) fn next_for(&self, worker: &WorkerId, health: &Health, fleet: &Fleet) -> Option<(u32, &Item<Place>)> {
        let may = |(_, task): &(u32, &Item<Place>)| task.may_be_done_by(self.toward, worker, health, fleet);
        match self.toward {
            // A worker holds few of all runs.
            Toward::Archive => {
                let held = fleet.workers.get(worker)?.held.keys();
                held.filter_map(|run| self.batch.pending_of(run)).find(may)
            }
            Toward::Workers => self.batch.pending().find(may),
        }
    }

    /// Whether the round cannot end: nobody may do some task on which nobody works. Looks once a heartbeat.
    pub(crate) fn is_vain(&mut self, health: &Health, fleet: &Fleet) -> bool {
        if fleet.now.saturating_sub(self.looked_at) < fleet.config.heartbeat_millis {
            return false;
        }
        self.looked_at = fleet.now;
        let may = |task: &Item<Place>, worker: &WorkerId| task.may_be_done_by(self.toward, worker, health, fleet);
        let anybody = |task: &Item<Place>| match self.toward {
            // A holder that is awaited may come back.
            Toward::Archive => fleet
                .holders_of(&task.run.id)
                .into_iter()
                .any(|(id, worker)| may(task, id) || !worker.here && fleet.is_awaited(worker)),
            Toward::Workers => fleet.here().any(|(id, _)| may(task, id)),
        };
        self.batch.pending().any(|(_, task)| !anybody(task))
    }
}
