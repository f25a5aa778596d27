//! Letting go: stages and boundaries that are dropped, and falling back to an older boundary.

use super::Job;
use crate::fleet::Fleet;
use crate::store::records::Boundary;

impl Job {
    /// Drops the stage under way: its leases, its finished tasks, its records.
    pub(crate) fn drop_stage(&mut self, fleet: &mut Fleet) {
        let Some(stage) = self.stage.take() else { return };
        self.end_leases(fleet, |attempt| attempt.generation == stage.generation);
        fleet.journal.delete_stage(self.id);
        for done in stage.done() {
            fleet.journal.delete_task_under_way(done.attempt);
            done.manifest.runs.iter().for_each(|run| self.forget_run(&run.id));
        }
    }

    /// Drops the boundaries from place `from` on.
    pub(crate) fn drop_boundaries(&mut self, fleet: &mut Fleet, from: usize) {
        for boundary in self.boundaries.split_off(from) {
            self.drop_boundary(fleet, &boundary);
        }
    }

    /// Drops every boundary that nothing keeps: see [`super::boundaries`].
    pub(crate) fn drop_superseded(&mut self, fleet: &mut Fleet) {
        for boundary in self.boundaries.take_superseded(&self.record.plan, self.copies.boundary()) {
            self.drop_boundary(fleet, &boundary);
        }
    }

    fn drop_boundary(&mut self, fleet: &mut Fleet, boundary: &Boundary) {
        boundary.runs().for_each(|run| self.forget_run(&run.id));
        fleet.journal.delete_boundary(self.id, boundary);
    }

    fn forget_run(&mut self, run: &keima_runs::RunId) {
        self.boundaries.forget_run(run);
        self.health.forget_run(run);
    }

    /// Brings the list of runs that cannot be read up to date.
    pub(crate) fn refresh_missing(&mut self, fleet: &Fleet) {
        let number = self.stage.as_ref().map_or_else(|| self.boundaries.next_stage(), |stage| stage.number);
        self.boundaries.refresh_missing(&self.record.plan, number, &self.health.copies, fleet);
    }

    /// If an input run is lost, drops everything after the newest usable boundary; the job goes on from there.
    pub(crate) fn fall_back_if_lost(&mut self, fleet: &mut Fleet) {
        self.refresh_missing(fleet);
        let Some(lost) = self.boundaries.first_lost(&self.health.copies, fleet) else { return };
        let usable = self.boundaries.usable(&self.record.plan, &self.health.copies, fleet);
        let from = self.boundaries.last().map_or_else(|| "the start".to_owned(), |b| b.head.to_string());
        self.drop_stage(fleet);
        self.drop_boundaries(fleet, usable);
        self.forget_vain_copies(fleet);
        let start = || format!("the start of sweep {}", self.record.sweep + 1);
        let to = self.boundaries.last().map_or_else(start, |b| b.head.to_string());
        self.note(format!("fell back from {from} to {to}, because run {} is lost: {}", lost.run, lost.why));
        self.boundaries.forget_missing();
        self.store(fleet);
        fleet.work_changed();
    }
}
