//! Failed attempts: who is at fault, and when a job must wait for a person.
//!
//! ```text
//!   Input    damaged: the copy's; another copy is read, or the boundary is lost; out of reach: the reader's or the
//!            holder's (health.rs); of a second copy: the task's on this worker
//!   Disk     the worker's folder; of a second copy: no more copies for a while
//!   Check    nobody knows: once more; the second time the worker's, if only it has failed, else back to an older boundary
//!   Refused  the worker cannot do this job
//!   Stopped  nobody's
//!   Other    the task's on this worker: twice, and the worker is set aside
//! ```

pub(crate) mod doubts;
pub(crate) mod second_try;

use std::collections::BTreeSet;

use keima_orders::{AttemptId, WorkerId};

use self::second_try::Evidence;
use super::Job;
use super::health::{Aside, Remedy, Stuck, Unread};
use crate::api::{Failure, State};
use crate::fleet::Fleet;
use crate::fleet::watched::{About, EventKind};

/// Failed checks of one task that are too many.
const MOST_CHECKS: usize = 2;

/// What those who watch are told of a failure. That a worker stops is none.
fn told(failure: &Failure) -> Option<(EventKind, String)> {
    let kind = match failure {
        Failure::Stopped => return None,
        Failure::Check { .. } => EventKind::CheckFailed,
        _ => EventKind::AttemptFailed,
    };
    Some((kind, failure.to_string()))
}

impl Job {
    /// An attempt has failed.
    pub(crate) fn fail(&mut self, fleet: &mut Fleet, attempt: AttemptId, failure: Failure) {
        let Some(lease) = fleet.end_lease(attempt, false) else { return };
        self.record.totals.failed_attempts += 1;
        if let Some((kind, text)) = told(&failure) {
            fleet.tell(kind, About::attempt(attempt, &lease.worker), &text);
        }
        self.back_to_pending(attempt, fleet);
        if self.archive.round_of(attempt.generation).is_some() {
            self.fail_archive_work(fleet, attempt, &lease.worker, failure);
        } else if lease.copy {
            self.fail_copy(fleet, attempt, &lease.worker, failure);
        } else {
            self.fail_task(fleet, attempt, &lease.worker, failure);
        }
    }

    fn fail_task(&mut self, fleet: &mut Fleet, attempt: AttemptId, worker: &WorkerId, failure: Failure) {
        let (needed_bytes, notes) = (self.record.plan.disk_bytes, &mut self.record.notes);
        match failure {
            Failure::Stopped => {}
            Failure::Input { run, holder, damaged, text } => {
                let unread = Unread { run: &run, holder: &holder, reader: worker, text: &text };
                self.fail_input(fleet, unread, damaged);
            }
            Failure::Disk { text } => self.health.full_disk(fleet, worker, &text, needed_bytes, notes),
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

    /// An attempt does not get on, though its worker lives. The task is pending again, or done by another worker.
    pub(crate) fn stalled(&mut self, fleet: &Fleet, attempt: AttemptId, worker: &WorkerId) {
        if let Some(round) = self.archive.round_of_mut(attempt.generation) {
            round.batch.failed(attempt.task, worker);
            self.note(format!("worker {worker} does not get on with the archive, {attempt}"));
        } else if self.copies.round_of(attempt.generation).is_some() {
            self.note(format!("worker {worker} does not get on with the second copy {attempt}"));
            self.copies.failed(attempt.generation, attempt.task, worker);
        } else {
            self.health.hangs(fleet, worker, attempt, &mut self.record.notes);
        }
    }

    /// A worker is silent: says so, if it worked on the job or holds what the job needs.
    pub(crate) fn note_missed(&mut self, fleet: &Fleet, id: &WorkerId) {
        let Some(worker) = fleet.workers.get(id) else { return };
        let tasks = fleet.attempts_of_job_on(self.id, id);
        let needed = worker.held.keys().filter(|run| self.needs(run)).count();
        if tasks + needed > 0 {
            let seconds = fleet.now.saturating_sub(worker.last_heard) / 1000;
            self.note(format!(
                "worker {id} has been silent for {seconds} s and counts as away: its tasks ({tasks}) go to others, and its \
                 runs ({needed} of this job) are awaited"
            ));
        }
    }

    /// A worker's process was started again: what it failed in before does not count.
    pub(crate) fn forgive_worker(&mut self, worker: &WorkerId) {
        self.health.forgive_worker(worker);
        if let Some(stage) = &mut self.stage {
            stage.forgive_worker(worker);
        }
    }

    /// A task failed on a worker for no known reason.
    pub(crate) fn failed_there(&mut self, attempt: AttemptId, worker: &WorkerId, text: &str) {
        let Some(task) = self.task_mut(attempt) else { return };
        let failures = task.attempts.failed(worker);
        if task.attempts.is_hopeless(worker) {
            let reason = format!("task {attempt} failed {failures} times there, last: {text}");
            self.health.set_aside_unless_alone(worker, reason, &mut self.record.notes);
        } else {
            self.note(format!("{attempt} failed on worker {worker}: {text}"));
        }
    }

    /// A law of the numbers failed in a task.
    pub(crate) fn broke_law(&mut self, fleet: &mut Fleet, attempt: AttemptId, worker: &WorkerId, text: &str) {
        let text = format!("{attempt} on worker {worker}: {text}");
        let Some(task) = self.task_mut(attempt) else { return };
        task.checks.push((worker.clone(), text.clone()));
        if task.checks.len() < MOST_CHECKS {
            return self.note(format!("a check failed, the task is repeated once: {text}"));
        }
        let by_others = task.checks.iter().any(|(other, _)| other != worker);
        let evidence = task.checks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("; ");
        // It may be the worker, as long as nobody else has failed.
        if !by_others && fleet.here().any(|(id, _)| id != worker && self.may_use(fleet, id)) {
            let reason = format!("a check failed there every time: {evidence}; check its program and its memory");
            return self.health.set_aside_for_good(worker, reason, &mut self.record.notes);
        }
        let Some(stage) = self.stage.as_ref().map(|stage| stage.number) else { return };
        self.check_failed(fleet, stage, &Evidence::new("task", evidence));
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
        let ended = self.health.end_asides(fleet);
        if !ended.is_empty() {
            fleet.work_changed();
        }
        // It may do a task again that failed there too often, or it would stand idle beside it.
        if let Some(stage) = &mut self.stage {
            for worker in &ended {
                stage.forgive_worker(worker);
            }
        }
        self.go_on_if_possible(fleet);
        if self.record.state == State::Running {
            self.fall_back_if_lost(fleet);
        }
        self.look_after_recounts(fleet);
        self.look_after_disputes(fleet);
        if self.record.state == State::Running {
            self.pause_if_stuck(fleet);
        }
        self.look_after_copies(fleet);
        self.look_after_archive(fleet);
        self.watch_disk_peak(fleet);
        self.look_after_disk_cap(fleet);
    }

    /// Pauses the job if no worker can go on with it.
    fn pause_if_stuck(&mut self, fleet: &mut Fleet) {
        if let Some(stuck) = self.stuck(fleet) {
            self.health.try_again_later(fleet);
            let id = self.id;
            self.wait(
                fleet,
                format!("{stuck}. The job goes on by itself when a worker can; `keima resume {id}` tries at once"),
            );
        }
    }

    /// Goes on after a pause that nobody asked for, if a worker may do the job's tasks again: it came, it was started again,
    /// or its time aside is over. Where workers differ, it must be one that can tell who is right.
    fn go_on_if_possible(&mut self, fleet: &mut Fleet) {
        let waits = self.record.state == State::Paused && self.record.waits && self.problem.is_some();
        if waits && self.undecided(fleet).is_none() && fleet.here().any(|(id, _)| self.may_use(fleet, id)) {
            self.go_on(fleet);
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
