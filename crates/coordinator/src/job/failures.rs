//! Failed attempts: who is at fault, and when a job must wait for a person.
//!
//! ```text
//!   Input    damaged: the copy's; another copy is read, or the boundary is lost; out of reach: the reader's or the
//!            holder's (health.rs); of a second copy: the task's on this worker
//!   Disk     the worker's folder; of a second copy: no more copies for a while
//!   Check    nobody knows: once more; the second time the job ends with the evidence
//!   Refused  the worker cannot do this job
//!   Stopped  nobody's
//!   Other    the task's on this worker: twice, and the worker is set aside
//! ```

use std::collections::BTreeSet;

use keima_orders::{AttemptId, WorkerId};

use super::Job;
use super::health::{Aside, Remedy, Stuck, Unread};
use crate::api::{Failure, State};
use crate::fleet::Fleet;

/// So many failed checks of one task end the job.
const MOST_CHECKS: usize = 2;

impl Job {
    /// An attempt has failed.
    pub(crate) fn fail(&mut self, fleet: &mut Fleet, attempt: AttemptId, failure: Failure) {
        let Some(lease) = fleet.end_lease(attempt, false) else { return };
        self.back_to_pending(attempt, fleet);
        if lease.copy {
            self.fail_copy(fleet, attempt, &lease.worker, failure);
        } else {
            self.fail_task(fleet, attempt, &lease.worker, failure);
        }
    }

    fn fail_task(&mut self, fleet: &mut Fleet, attempt: AttemptId, worker: &WorkerId, failure: Failure) {
        let notes = &mut self.record.notes;
        match failure {
            Failure::Stopped => {}
            Failure::Input { run, holder, damaged, text } => {
                let unread = Unread { run: &run, holder: &holder, reader: worker, text: &text };
                self.fail_input(fleet, unread, damaged);
            }
            Failure::Disk { text } => self.health.full_disk(fleet, worker, &text, notes),
            Failure::Refused { text } => self.refused(worker, &text),
            Failure::Check { text } => self.broke_law(fleet, attempt, worker, &text),
            Failure::Other { text } => self.failed_there(attempt, worker, &text),
        }
    }

    fn fail_copy(&mut self, fleet: &Fleet, attempt: AttemptId, worker: &WorkerId, failure: Failure) {
        match failure {
            Failure::Stopped => {}
            Failure::Input { run, holder, damaged: true, text } => {
                let unread = Unread { run: &run, holder: &holder, reader: worker, text: &text };
                self.fail_input(fleet, unread, true);
            }
            Failure::Input { .. } => self.copies.failed(attempt.generation, attempt.task, worker),
            Failure::Disk { text } => self.health.no_room(fleet, worker, &text, &mut self.record.notes),
            Failure::Refused { text } => self.refused(worker, &text),
            Failure::Check { text } | Failure::Other { text } => {
                self.note(format!("{attempt} on worker {worker}: {text}"));
                self.copies.failed(attempt.generation, attempt.task, worker);
            }
        }
    }

    fn refused(&mut self, worker: &WorkerId, text: &str) {
        self.health.set_aside_for_good(worker, format!("refuses the job: {text}"), &mut self.record.notes);
    }

    /// A reader could not have an input from a holder.
    fn fail_input(&mut self, fleet: &Fleet, unread: Unread<'_>, damaged: bool) {
        let (boundaries, notes) = (&self.boundaries, &mut self.record.notes);
        if boundaries.needs(unread.run) && fleet.workers.contains_key(unread.holder) {
            if damaged {
                self.health.damaged(unread, notes);
            } else {
                self.health.unread(fleet, unread, |run| boundaries.needs(run), notes);
            }
        }
        self.boundaries.forget_missing();
    }

    /// A task failed on a worker for no known reason.
    pub(crate) fn failed_there(&mut self, attempt: AttemptId, worker: &WorkerId, text: &str) {
        let Some(task) = self.task_mut(attempt) else { return };
        let failures = task.attempts.failed(worker);
        if task.attempts.is_hopeless(worker) {
            let reason = format!("task {attempt} failed {failures} times there, last: {text}");
            self.health.set_aside_for_good(worker, reason, &mut self.record.notes);
        } else {
            self.note(format!("{attempt} failed on worker {worker}: {text}"));
        }
    }

    /// A law of the numbers failed in a task.
    pub(crate) fn broke_law(&mut self, fleet: &mut Fleet, attempt: AttemptId, worker: &WorkerId, text: &str) {
        let text = format!("{attempt} on worker {worker}: {text}");
        let Some(task) = self.task_mut(attempt) else { return };
        task.checks.push(text.clone());
        if task.checks.len() >= MOST_CHECKS {
            let evidence = task.checks.join("; ");
            self.end_by_check(fleet, "task", &evidence);
        } else {
            self.note(format!("a check failed, the task is repeated once: {text}"));
        }
    }

    /// Whether a worker has the memory that a task of this job needs.
    pub(crate) fn fits(&self, fleet: &Fleet, worker: &WorkerId) -> bool {
        fleet.workers.get(worker).is_some_and(|w| w.task_memory_bytes >= self.record.plan.task_memory_bytes)
    }

    /// Whether a worker may be given tasks of this job.
    pub(crate) fn may_use(&self, fleet: &Fleet, worker: &WorkerId) -> bool {
        !self.health.is_aside(worker) && self.fits(fleet, worker)
    }

    /// Handles what time and reports have brought about: workers that may try again, inputs that are lost, nobody who
    /// can go on.
    pub(crate) fn look_after(&mut self, fleet: &mut Fleet) {
        if self.health.end_asides(fleet) {
            fleet.work_changed();
        }
        if self.record.state == State::Running {
            self.fall_back_if_lost(fleet);
            self.pause_if_stuck(fleet);
        }
        self.update_disk_peak(fleet);
    }

    /// Pauses the job if no worker can go on with it.
    fn pause_if_stuck(&mut self, fleet: &mut Fleet) {
        if let Some(stuck) = self.stuck(fleet) {
            self.pause(fleet, format!("{stuck}, then `keima resume {}`", self.id));
        }
    }

    /// Why no worker can go on; `None` if some worker works on the job, or if one that is here and large enough is not
    /// set aside for long.
    pub(crate) fn stuck(&self, fleet: &Fleet) -> Option<Stuck> {
        if fleet.tasks_of_job(self.id).next().is_some() {
            return None;
        }
        // Workers that went away a short while ago may come back and go on.
        let awaited = fleet.workers.iter().filter(|(id, w)| w.here || !self.health.is_aside(id) && fleet.is_awaited(w));
        let candidates = awaited.filter(|(id, w)| w.epoch == 0 || self.fits(fleet, id)).map(|(id, _)| id);
        let long_aside = |id| self.health.aside(id).filter(|aside| !aside.short);
        let asides: Option<Vec<(&WorkerId, &Aside)>> = candidates.map(|id| Some((id, long_aside(id)?))).collect();
        let asides = asides.filter(|asides| !asides.is_empty())?;
        let remedies: BTreeSet<Remedy> = asides.iter().map(|(_, aside)| aside.remedy).collect();
        let workers = asides.into_iter().map(|(id, aside)| (id.clone(), aside.reason.clone())).collect();
        Some(Stuck { workers, remedies: remedies.into_iter().collect() })
    }
}
