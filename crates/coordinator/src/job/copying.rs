//! Second copies: every run of a column's end gets another holder, beside the stages that follow.
//!
//! A column end is copied when the last that was is old enough (`Config::copy_interval_millis`). One boundary at a time is
//! copied; while that takes longer, column ends are passed over, so that there is always one that gets done; what will not
//! be done is given up at the next column end. A vector that is kept for another to meet goes before all that come after
//! it. A worker makes one copy at a time, beside its tasks: most of a copy's time is spent on waiting for the disk. Copies
//! go under the run's own name, so whoever holds a sound file of that name counts, however it came there.

use std::collections::BTreeMap;

use keima_model::Direction;
use keima_orders::{AttemptId, InputRun, WorkerId};
use keima_runs::{RunId, RunManifest, TaskManifest};

use crate::api::{Grant, Verdict, Work};
use crate::fleet::Common;
use crate::job::Job;
use crate::job::boundaries::Boundary;

/// A copy that fails so often on one worker is not asked of it again.
const MOST_FAILURES: u32 = 2;

/// The copying of one boundary.
pub(crate) struct CopyRound {
    /// Generation of the boundary.
    pub(crate) boundary: u32,
    /// Generation of the copies' attempts.
    pub(crate) generation: u32,
    pub(crate) tasks: Vec<CopyTask>,
}

/// The copying of one run.
pub(crate) struct CopyTask {
    run: RunManifest,
    done: bool,
    attempts: u32,
    failed: BTreeMap<WorkerId, u32>,
}

impl Job {
    /// Whether it is time for copies of the next column end.
    pub(crate) fn copies_are_due(&self, common: &Common) -> bool {
        let age = common.now.saturating_sub(self.last_copies_at);
        common.config.second_copies && age >= common.config.copy_interval_millis
    }

    /// Starts to copy the newest boundary, or one before it that is kept and has not two holders (any more), if that is wanted
    /// and due, and no other is being copied.
    pub(crate) fn start_copies(&mut self, common: &mut Common) {
        if !common.config.second_copies || common.workers_here() < 2 {
            self.copying = None;
            return;
        }
        if let Some(round) = self.copying.as_ref().filter(|round| self.is_vain(round, common)) {
            if let Some(boundary) = self.boundaries.iter().find(|b| b.head.generation == round.boundary) {
                let what = boundary.head.to_string();
                self.note(format!("second copies of {what} are given up: workers cannot make them, or runs are lost"));
            }
            self.end_copies(common);
        }
        if self.copying.is_some() || self.boundaries.is_empty() || !self.copies_are_due(common) {
            return;
        }
        let generation = self.new_generation(common);
        let kept = self.kept().filter(|kept| !self.is_on_two(kept, common));
        let Some(newest) = kept.or(self.boundaries.last()) else { return };
        let tasks = newest
            .runs()
            .map(|run| CopyTask { run: run.clone(), done: false, attempts: 0, failed: BTreeMap::new() })
            .collect();
        self.copying = Some(CopyRound { boundary: newest.head.generation, generation, tasks });
        self.last_copies_at = common.now;
        common.work_changed();
        self.settle_copies(common);
    }

    /// Forgets a round whose boundary is gone.
    pub(crate) fn forget_vain_copies(&mut self, common: &mut Common) {
        let Some(round) = &self.copying else { return };
        let boundary = round.boundary;
        if self.boundaries.iter().all(|b| b.head.generation != boundary) {
            self.end_copies(common);
        }
    }

    /// Lets go of a round before its end.
    fn end_copies(&mut self, common: &mut Common) {
        if let Some(round) = self.copying.take() {
            self.end_leases(common, |attempt| attempt.generation == round.generation);
        }
    }

    /// Passes that led to the newest boundary of which every run has two holders now; `None` where there is none.
    pub(crate) fn copied_passes(&self, common: &Common) -> Option<u32> {
        // A transposed vector is worth nothing without the one that it is to meet.
        let kept = self.kept().is_none_or(|kept| self.is_on_two(kept, common));
        let useful = |b: &&Boundary| kept || b.head.direction == Direction::Forward;
        let copied = |b: &&Boundary| b.head.copied && self.is_on_two(b, common);
        let newest = self.boundaries.iter().rev().filter(useful).find(copied)?;
        Some(self.record.plan.passes_before(newest.head.stage + 1))
    }

    /// Whether every run of a boundary has two holders now.
    fn is_on_two(&self, boundary: &Boundary, common: &Common) -> bool {
        boundary.runs().all(|run| self.has_two_holders(&run.id, common))
    }

    /// Whether two workers that are here hold sound copies of a run.
    fn has_two_holders(&self, run: &RunId, common: &Common) -> bool {
        common.holders_of(run).iter().filter(|(id, worker)| worker.here && !self.is_bad(run, id)).count() >= 2
    }

    /// Whether a round will not get to its end: a run is lost, or whoever could copy it has failed.
    fn is_vain(&self, round: &CopyRound, common: &Common) -> bool {
        let can = |copy: &CopyTask| common.workers.iter().any(|(id, w)| w.here && self.may_copy(copy, id, common));
        round.tasks.iter().any(|copy| !copy.done && (!can(copy) || self.lost(&copy.run.id, common).is_some()))
    }

    /// Whether a worker may be asked for a copy of a run.
    fn may_copy(&self, copy: &CopyTask, worker: &WorkerId, common: &Common) -> bool {
        !self.aside.contains_key(worker)
            && copy.failed.get(worker).is_none_or(|&failures| failures < MOST_FAILURES)
            && common.workers.get(worker).is_some_and(|w| !w.held.contains_key(&copy.run.id))
            && !self.is_bad(&copy.run.id, worker)
    }

    /// A copy for a worker to make.
    pub(crate) fn grant_copy(&mut self, common: &mut Common, worker: &WorkerId) -> Option<Grant> {
        let no_room = self.no_room.get(worker).is_some_and(|&until| common.now < until);
        if !self.is_live() || no_room {
            return None;
        }
        let first = common.first_number();
        let round = self.copying.as_ref()?;
        let id =
            |task| AttemptId { job: self.id, sweep: self.record.sweep, generation: round.generation, task, attempt: 0 };
        let (task, copy) = (0..).zip(&round.tasks).find(|(task, copy)| {
            !copy.done
                && self.may_copy(copy, worker, common)
                && common.attempts(id(*task)).next().is_none()
                && self.is_readable(&copy.run.id, common)
        })?;
        let work = InputRun { manifest: copy.run.clone(), holders: self.copies_of(&copy.run.id, worker, common) };
        let attempt = AttemptId { attempt: copy.attempts.max(first), ..id(task) };
        let task = self.copying.as_mut()?.tasks.get_mut(task as usize)?;
        task.attempts = attempt.attempt.saturating_add(1);
        Some(common.grant(attempt, worker, Work::Copy(Box::new(work))))
    }

    /// A copy is made.
    pub(crate) fn commit_copy(&mut self, common: &mut Common, attempt: AttemptId, manifest: &TaskManifest) -> Verdict {
        let Some(lease) = common.end_lease(attempt, false) else {
            return Verdict::Refused { reason: format!("{attempt}: the lease has ended") };
        };
        let round = self.copying.as_ref().filter(|round| round.generation == attempt.generation);
        let Some((boundary, copy)) =
            round.and_then(|round| Some((round.boundary, round.tasks.get(attempt.task as usize)?)))
        else {
            return Verdict::Refused { reason: format!("{attempt}: the boundary is not copied any more") };
        };
        if manifest.runs.len() != 1 || manifest.runs.first() != Some(&copy.run) {
            let reason =
                format!("{attempt}: expected a copy of {}, got {} other runs", copy.run.id, manifest.runs.len());
            self.fail_copy(attempt, &lease.worker);
            return Verdict::Refused { reason };
        }
        let run = copy.run.clone();
        self.no_room.remove(&lease.worker);
        common.hold(&lease.worker, &run);
        common.holdings_changed();
        let id = self.id;
        if let Some(boundary) = self.boundaries.iter_mut().find(|b| b.head.generation == boundary) {
            if boundary.stored {
                common
                    .journal
                    .put(crate::store::journal::copy_key(id, &run.id, &lease.worker), &(&run.id, &lease.worker));
            }
            boundary.copies.insert((run.id, lease.worker));
        }
        self.settle_copies(common);
        Verdict::Accepted
    }

    /// A copy could not be made on a worker.
    pub(crate) fn fail_copy(&mut self, attempt: AttemptId, worker: &WorkerId) {
        let round = self.copying.as_mut().filter(|round| round.generation == attempt.generation);
        if let Some(task) = round.and_then(|round| round.tasks.get_mut(attempt.task as usize)) {
            *task.failed.entry(worker.clone()).or_default() += 1;
        }
    }

    /// A worker's holdings have changed.
    pub(crate) fn note_copies(&mut self, worker: &WorkerId, common: &mut Common) {
        let Some(held) = common.workers.get(worker).map(|w| &w.held) else { return };
        if self.copying.as_ref().is_some_and(|r| r.tasks.iter().any(|t| !t.done && held.contains_key(&t.run.id))) {
            self.settle_copies(common);
        }
    }

    /// Marks what has two holders; when everything has, the boundary counts as copied and older ones may go.
    fn settle_copies(&mut self, common: &mut Common) {
        let Some(mut round) = self.copying.take() else { return };
        for task in round.tasks.iter_mut().filter(|t| !t.done) {
            task.done = self.has_two_holders(&task.run.id, common);
        }
        if round.tasks.iter().any(|t| !t.done) {
            self.copying = Some(round);
            return;
        }
        self.end_leases(common, |attempt| attempt.generation == round.generation);
        if let Some(at) = self.boundaries.iter().position(|b| b.head.generation == round.boundary) {
            self.boundaries[at].head.copied = true;
            let boundary: &Boundary = &self.boundaries[at];
            if boundary.stored {
                common.store_head(self.id, &boundary.head, true);
            }
            self.let_boundaries_go(common);
        }
    }
}
