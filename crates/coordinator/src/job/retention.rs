//! Letting go: stages and boundaries that are dropped, and falling back to an older boundary.

use keima_model::{AnyProblem, ProblemInfo};

use super::Job;
use crate::fleet::Fleet;
use crate::store::records::Boundary;
use crate::store::restore::ValueId;

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
        fleet.runs_became_unneeded();
    }

    /// Drops the boundaries from place `from` on.
    pub(crate) fn drop_boundaries(&mut self, fleet: &mut Fleet, from: usize) {
        for boundary in self.boundaries.split_off(from) {
            self.drop_boundary(fleet, &boundary);
        }
    }

    /// Drops every boundary that nothing keeps: see [`super::boundaries`].
    pub(crate) fn drop_superseded(&mut self, fleet: &mut Fleet) {
        for boundary in
            self.boundaries.take_superseded(&self.record.plan, self.copies.boundary(), self.archive.boundaries())
        {
            self.drop_boundary(fleet, &boundary);
        }
    }

    fn drop_boundary(&mut self, fleet: &mut Fleet, boundary: &Boundary) {
        boundary.runs().for_each(|run| self.forget_run(&run.id));
        fleet.runs_became_unneeded();
        fleet.journal.delete_boundary(self.id, boundary);
    }

    pub(super) fn forget_run(&mut self, run: &keima_runs::RunId) {
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
        let why = format!("because run {} is lost: {}", lost.run, lost.why);
        self.go_back(fleet, usable, &why, false);
    }

    /// Drops the stage under way and all boundaries but the oldest `keep`; the job goes on from there. With `doubted`, what
    /// was learned since then is forgotten too; else the repetition is held against it.
    pub(crate) fn go_back(&mut self, fleet: &mut Fleet, keep: usize, why: &str, doubted: bool) {
        let start = |sweep: u32| format!("the start of sweep {}", sweep + 1);
        let from = self.boundaries.last().map_or_else(|| "the start".to_owned(), |b| b.head.to_string());
        self.drop_stage(fleet);
        self.drop_boundaries(fleet, keep);
        self.drop_evidence(fleet);
        self.record.totals.fall_backs += 1;
        self.forget_vain_copies(fleet);
        self.forget_vain_archiving(fleet);
        if doubted {
            self.forget_findings(fleet);
        }
        let to = self.boundaries.last().map_or_else(|| start(self.record.sweep), |b| b.head.to_string());
        self.note(format!("fell back from {from} to {to}, {why}"));
        self.boundaries.forget_missing();
        self.store(fleet);
        fleet.work_changed();
    }

    /// Drops all from a sweep on; the job begins that sweep again.
    pub(crate) fn begin_again(&mut self, fleet: &mut Fleet, sweep: u32, why: &str) {
        let from = self.record.sweep + 1;
        self.drop_stage(fleet);
        self.drop_boundaries(fleet, 0);
        self.forget_vain_copies(fleet);
        self.forget_vain_archiving(fleet);
        for later in sweep..=self.record.sweep {
            self.record.sweep = later;
            self.forget_findings(fleet);
        }
        self.record.sweep = sweep;
        self.drop_evidence(fleet);
        self.record.totals.fall_backs += 1;
        self.record.trusted.truncate(sweep as usize);
        self.note(format!("began again at sweep {} in sweep {from}, {why}", sweep + 1));
        self.boundaries.forget_missing();
        self.store(fleet);
        fleet.work_changed();
    }

    /// Forgets what the present sweep has found since the newest boundary: functionals and, in the first sweep, numbers of
    /// states.
    fn forget_findings(&mut self, fleet: &mut Fleet) {
        let plan = &self.record.plan;
        let (next, sweep) = (self.boundaries.next_stage(), self.record.sweep);
        let from_pass = (next < plan.forward_stages()).then(|| plan.stage(next).first_pass);
        let functionals = self.info().map(ProblemInfo::functionals).unwrap_or_default();
        let passes = plan.board.passes();
        let doubted = |after: u32| after + 1 == passes || from_pass.is_some_and(|from| after >= from || next == 0);
        let numbers = (0..).zip(&functionals).filter(|(_, functional)| doubted(functional.after_pass));
        let numbers: Vec<u32> = numbers.map(|(number, _)| number).collect();
        let info = self.problem.as_ref().map(AnyProblem::info);
        for functional in numbers {
            if self.functionals.remove(ValueId { sweep, functional }, info, &self.record.plan) {
                fleet.journal.delete_value(self.id, sweep, functional);
            }
        }
        if sweep == 0 {
            for stage in next..self.record.plan.stages() {
                let place = self.record.plan.stage(stage);
                let passes = place.first_pass as usize..=place.end_pass() as usize;
                if let Some(states) = self.record.pass_states.get_mut(passes) {
                    states.fill(None);
                }
            }
        }
    }
}
