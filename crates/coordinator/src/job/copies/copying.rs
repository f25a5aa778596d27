//! Second copies: the runs of a column's end get another holder, beside the stages that follow.
//!
//! A column end is copied when the last copied one is old enough (`Config::copy_interval_millis`). One boundary at a time
//! is copied. While that takes longer than a column, column ends are passed over, so that there is always one that gets
//! done; a round that cannot end is given up at the next column end. A vector that is kept for another to meet goes before
//! all that come after it. A worker makes one copy at a time, beside its tasks: a copy mostly waits for the disk. Copies
//! have the run's own name, so every worker that holds a sound file of that name counts as a holder.

use keima_orders::{AttemptId, InputRun, WorkerId};
use keima_runs::TaskManifest;

use super::CopyRound;
use crate::api::{Grant, Verdict, Work};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::store::records::RunCopy;

impl Job {
    /// Starts to copy the newest boundary, or the kept one if that has no longer two holders. Does nothing while another
    /// round goes on, or while copies are not due.
    pub(crate) fn start_copies(&mut self, fleet: &mut Fleet) {
        if !fleet.config.second_copies || fleet.here().count() < 2 {
            self.copies.round = None;
            return;
        }
        if let Some(round) = self.copies.round.as_ref().filter(|round| round.is_vain(&self.health, fleet)) {
            if let Some(boundary) = self.boundaries.of_generation(round.boundary) {
                let what = boundary.head.to_string();
                self.note(format!("gave up second copies of {what}: workers cannot make them, or runs are lost"));
            }
            self.end_copies(fleet);
        }
        if self.copies.round.is_some() || self.boundaries.is_empty() || !self.copies.are_due(fleet) {
            return;
        }
        let generation = self.new_generation(fleet);
        let kept = self.boundaries.kept(&self.record.plan);
        let kept = kept.filter(|kept| !self.health.copies.is_on_two(kept, fleet));
        let Some(newest) = kept.or(self.boundaries.last()) else { return };
        self.copies.round = Some(CopyRound::new(newest, generation));
        self.copies.last_at = fleet.now;
        fleet.work_changed();
        self.look_after_copies(fleet);
    }

    /// Ends a round whose boundary is gone.
    pub(crate) fn forget_vain_copies(&mut self, fleet: &mut Fleet) {
        let boundary = self.copies.boundary();
        if boundary.is_some_and(|generation| self.boundaries.of_generation(generation).is_none()) {
            self.end_copies(fleet);
        }
    }

    /// Ends a round before it is done.
    fn end_copies(&mut self, fleet: &mut Fleet) {
        if let Some(round) = self.copies.round.take() {
            self.end_leases(fleet, |attempt| attempt.generation == round.generation);
        }
    }

    /// A copy for a worker to make.
    pub(crate) fn grant_copy(&mut self, fleet: &mut Fleet, worker: &WorkerId) -> Option<Grant> {
        if !self.is_live() || !self.health.may_have_room(worker, fleet.now) {
            return None;
        }
        let round = self.copies.round.as_ref()?;
        let id =
            |task| AttemptId { job: self.id, sweep: self.record.sweep, generation: round.generation, task, attempt: 0 };
        let (number, task) = round.batch.pending().find(|(number, task)| {
            task.may_be_done_by(worker, &self.health, fleet)
                && fleet.attempts(id(*number)).next().is_none()
                && self.health.copies.is_readable(&task.run.id, fleet)
        })?;
        let holders = self.health.copies.holders(&task.run.id, worker, fleet);
        let work = InputRun { holders, ..InputRun::here(task.run.clone()) };
        let attempt = AttemptId { attempt: task.attempts.next(fleet.life.first_number()), ..id(number) };
        self.copies.round.as_mut()?.batch.granted(number, attempt.attempt);
        Some(fleet.grant(attempt, worker, Work::Copy(Box::new(work))))
    }

    /// A worker reports a copy as made.
    pub(crate) fn commit_copy(&mut self, fleet: &mut Fleet, attempt: AttemptId, manifest: &TaskManifest) -> Verdict {
        let refused = |reason: String| Verdict::Refused { reason: format!("{attempt}: {reason}") };
        let Some(lease) = fleet.end_lease(attempt, false) else {
            return refused("the lease has ended".into());
        };
        let round = self.copies.round_of(attempt.generation);
        let task = round.and_then(|round| Some((round.boundary, round.batch.get(attempt.task)?)));
        let Some((boundary, task)) = task else {
            return refused("the boundary is not copied any more".into());
        };
        let run = task.run.clone();
        if manifest.runs.len() != 1 || manifest.runs.first() != Some(&run) {
            self.copies.failed(attempt.generation, attempt.task, &lease.worker);
            self.back_to_pending(attempt, fleet);
            fleet.work_changed();
            return refused(format!("expected a copy of {}, got {} other runs", run.id, manifest.runs.len()));
        }
        self.health.made_copy(&lease.worker);
        fleet.hold(&lease.worker, &run);
        if let Some(boundary) = self.boundaries.of_generation_mut(boundary) {
            let copy = RunCopy::new(&run.id, &lease.worker);
            if boundary.stored {
                fleet.journal.put_copy(self.id, &copy);
            }
            boundary.copies.insert(copy);
        }
        if let Some(round) = &mut self.copies.round {
            round.settle_one(attempt.task, &self.health, fleet);
        }
        // The copy may be refused by now, or its first holder away: then another one is wanted.
        self.back_to_pending(attempt, fleet);
        self.settle_copies(fleet);
        Verdict::Accepted
    }

    /// A worker's holdings have changed.
    pub(crate) fn note_copies(&mut self, worker: &WorkerId, fleet: &mut Fleet) {
        let Some(held) = fleet.workers.get(worker).map(|worker| &worker.held) else { return };
        let Some(round) = &mut self.copies.round else { return };
        round.settle_held(held, &self.health, fleet);
        self.settle_copies(fleet);
    }

    /// Workers may have come back with runs that are to be copied.
    pub(crate) fn look_after_copies(&mut self, fleet: &mut Fleet) {
        let Some(round) = &mut self.copies.round else { return };
        round.settle(&self.health, fleet);
        self.settle_copies(fleet);
    }

    /// When everything has two holders, the boundary counts as copied and older ones may go.
    fn settle_copies(&mut self, fleet: &mut Fleet) {
        let Some(round) = self.copies.round.as_ref().filter(|round| round.batch.is_done()) else { return };
        let boundary = round.boundary;
        self.end_copies(fleet);
        if let Some(boundary) = self.boundaries.of_generation_mut(boundary) {
            boundary.head.copied = true;
            if boundary.stored {
                fleet.journal.put_head(self.id, &boundary.head);
            }
            self.drop_superseded(fleet);
        }
    }
}
