//! Counting again: a sample of the tasks is done by a second worker, whose outcome is held against the first one's.
//!
//! ```text
//!   done by A --drawn--> done again by B --equal--> both vouch for it
//!                                        --else---> open again: A and B repeat, then others, until two workers agree
//!                                                   who never agreed: set aside, and what it did alone is done again
//! ```
//!
//! A finished task is drawn if another worker could repeat it, and for one of these reasons. Its stage reads a part of the
//! answer. A lottery picks it that no worker can foresee. It is its worker's first task. Or less than one part in
//! [`Config::recount_one_in`] of the worker's work was repeated so far. After a failed check all tasks of the repeated stages are
//! drawn, so that the worker that errs is found and does not fail the check again. A stage ends when all drawn tasks are done
//! again. A task that no other worker is left to repeat is let off.
//!
//! An outcome is all that later stages and the answer rest on: states, sums and fingerprints of what was read and written, and the
//! functionals. Two attempts at a task have the same outcome whatever their memory, threads and spills.
//!
//! [`Config::recount_one_in`]: crate::Config::recount_one_in

use std::collections::BTreeSet;

use keima_model::mix::split_mix;
use keima_orders::{AttemptId, WorkerId};
use keima_runs::TaskManifest;

use super::opinion::Opinion;
use super::{StageRun, Task};
use crate::api::State;
use crate::fleet::Fleet;
use crate::job::Job;
use crate::job::functionals::read_by_stage;
use crate::store::records::Committed;

/// A worker with this many different opinions is not asked again.
const MOST_OPINIONS: usize = 2;

/// How a finished attempt stands to what others made of its task.
pub(super) enum Finding {
    /// Nobody else has done it.
    Alone,
    /// The same as the finished task.
    Agrees,
    /// The same as another worker's, after a difference.
    Settles(WorkerId),
    /// Something else.
    Differs,
}

impl Job {
    /// Whether a stage reads a part of the answer, and the numbers of all functionals that it reads off.
    fn reads(&self, stage: u32) -> (bool, Vec<u32>) {
        let functionals = self.info().map(keima_model::ProblemInfo::functionals).unwrap_or_default();
        let answers = |number: &u32| functionals.get(*number as usize).is_some_and(|functional| functional.answer);
        let numbers = read_by_stage(self.info(), &self.record.plan, stage);
        (numbers.iter().any(answers), numbers)
    }

    /// Draws a finished task, or not.
    pub(super) fn draw(&mut self, fleet: &mut Fleet, number: u32) {
        let one_in = fleet.config.recount_one_in;
        let Some(stage) = &self.stage else { return };
        let Some(task) = stage.tasks.get(number as usize).filter(|_| one_in > 0) else { return };
        let Some(done) = task.done.as_ref().filter(|done| done.second.is_none()) else { return };
        let mut seed = self.record.lot ^ u64::from(stage.generation) << 32 ^ u64::from(number);
        let lot = split_mix(&mut seed).is_multiple_of(one_in);
        let certain = lot || task.doubted || stage.reads_answer || self.repeats(stage.number);
        let (writer, states) = (done.writer.clone(), done.manifest.input.states);
        let drawn = self.health.draw(&writer, states, one_in, certain);
        if let Some(stage) = self.stage.as_mut().filter(|_| drawn) {
            stage.recounts.insert(number);
            stage.recounts_left.insert(number);
            fleet.a_task_came();
        }
    }

    /// Whether a stage is done once more because a check failed.
    fn repeats(&self, stage: u32) -> bool {
        self.record.second_tries.iter().any(|failed| failed.sweep == self.record.sweep && failed.stage >= stage)
    }

    /// Draws the finished tasks of a restored stage.
    pub(crate) fn draw_again(&mut self, fleet: &mut Fleet) {
        let Some(number) = self.stage.as_ref().map(|stage| stage.number) else { return };
        let (reads_answer, functionals) = self.reads(number);
        let Some(stage) = &mut self.stage else { return };
        (stage.reads_answer, stage.functionals) = (reads_answer, functionals);
        for task in 0..stage.tasks.len() as u32 {
            self.draw(fleet, task);
        }
    }

    /// Notes what a stage that was just cut reads off.
    pub(super) fn note_answer(&self, stage: &mut StageRun) {
        (stage.reads_answer, stage.functionals) = self.reads(stage.number);
    }

    /// A finished task that a worker can do again.
    pub(super) fn task_to_recount(&self, fleet: &Fleet, worker: &WorkerId) -> Option<u32> {
        let stage = self.stage.as_ref()?;
        let by_other = |task: &Task| task.done.as_ref().is_some_and(|done| done.writer != *worker);
        let may = |number: &u32| {
            stage.tasks.get(*number as usize).is_some_and(by_other)
                && fleet.attempts(self.attempt(stage, *number, 0)).next().is_none()
                && self.can_do(fleet, stage, *number, worker)
        };
        stage.recounts_left.iter().copied().find(may)
    }

    /// Holds a finished attempt against what others made of its task.
    pub(super) fn hold_against(&self, attempt: AttemptId, worker: &WorkerId, manifest: &TaskManifest) -> Finding {
        let stage = self.stage.as_ref().filter(|stage| stage.generation == attempt.generation);
        let Some(task) = stage.and_then(|stage| stage.tasks.get(attempt.task as usize)) else { return Finding::Alone };
        if task.done.is_none() && task.opinions.is_empty() {
            return Finding::Alone;
        }
        let Opinion { outcome, .. } = Opinion::of(worker, manifest);
        if let Some(done) = &task.done {
            let same = Opinion::of(&done.writer, &done.manifest).outcome == outcome;
            return if same { Finding::Agrees } else { Finding::Differs };
        }
        let same = task.opinions.iter().find(|opinion| opinion.worker != *worker && opinion.outcome == outcome);
        match same {
            Some(opinion) => Finding::Settles(opinion.worker.clone()),
            None => Finding::Differs,
        }
    }

    /// Another worker has counted a finished task, and found the same.
    pub(super) fn agree(&mut self, fleet: &mut Fleet, number: u32, second: WorkerId) {
        let Some(stage) = &mut self.stage else { return };
        let done = stage.tasks.get_mut(number as usize).and_then(|task| task.done.as_mut());
        if let Some(done) = done.filter(|done| done.writer != second) {
            stage.recounts.remove(&number);
            stage.recounts_left.remove(&number);
            done.second = Some(second);
            fleet.journal.put_task_under_way(done);
            self.record.totals.recounts += 1;
        }
    }

    /// A worker has counted a task otherwise than the others: nobody's outcome stands until two agree.
    pub(super) fn disagree(
        &mut self,
        fleet: &mut Fleet,
        attempt: AttemptId,
        worker: &WorkerId,
        manifest: &TaskManifest,
    ) {
        let number = attempt.task;
        let opinion = Opinion::of(worker, manifest);
        if let Some(first) = self.reopen(fleet, number) {
            let first = Opinion::of(&first.writer, &first.manifest);
            let difference = first.outcome.difference(&opinion.outcome, &self.moduli_written());
            let (one, two) = (&first.worker, worker);
            self.note(format!(
                "workers {one} and {two} count {} differently ({difference}); it is done again",
                of(attempt)
            ));
            if let Some(task) = self.task_mut(attempt) {
                (task.opinions, task.doubted) = (vec![first], true);
            }
        }
        if let Some(task) = self.task_mut(attempt) {
            task.opinions.push(opinion);
        }
        if let Some(stage) = &mut self.stage {
            stage.disputes.insert(number);
            fleet.journal.put_stage(self.id, &stage.record(self.record.sweep));
        }
        self.back_to_pending(attempt, fleet);
        fleet.work_changed();
    }

    /// Two workers agree on a task that was in doubt, so they are right. A worker that said otherwise, and repeated it or is
    /// gone, is no longer trusted. One that changed its outcome has erred once.
    pub(super) fn resolve_dispute(
        &mut self,
        fleet: &mut Fleet,
        attempt: AttemptId,
        worker: &WorkerId,
        manifest: &TaskManifest,
    ) {
        let settled = Opinion::of(worker, manifest);
        let moduli = self.moduli_written();
        let Some(task) = self.task_mut(attempt) else { return };
        let mut opinions = std::mem::take(&mut task.opinions);
        if let Some(stage) = &mut self.stage {
            stage.disputes.remove(&attempt.task);
        }
        opinions.push(settled.clone());
        let right: BTreeSet<&WorkerId> =
            opinions.iter().filter(|o| o.outcome == settled.outcome).map(|o| &o.worker).collect();
        let names: Vec<String> = right.iter().map(ToString::to_string).collect();
        let mut wrong = BTreeSet::new();
        for opinion in opinions.iter().filter(|opinion| opinion.outcome != settled.outcome) {
            if !wrong.insert(&opinion.worker) {
                continue;
            }
            let difference = opinion.outcome.difference(&settled.outcome, &moduli);
            let text = format!("{}, against workers {}: {difference}", of(attempt), names.join(" and "));
            if right.contains(&opinion.worker) {
                self.note(format!("worker {} was wrong once in {text}; check its memory", opinion.worker));
            } else {
                self.distrust(fleet, &opinion.worker, &text);
            }
        }
    }

    /// Opens a finished task again, and drops its runs.
    fn reopen(&mut self, fleet: &mut Fleet, number: u32) -> Option<Committed> {
        let done = self.stage.as_mut()?.reopen(number)?;
        fleet.journal.delete_task_under_way(done.attempt);
        done.manifest.runs.iter().for_each(|run| self.forget_run(&run.id));
        fleet.runs_became_unneeded();
        fleet.work_changed();
        Some(done)
    }

    /// A worker counts wrongly: it is set aside, and all that rests on its word alone is done again.
    fn distrust(&mut self, fleet: &mut Fleet, worker: &WorkerId, text: &str) {
        let reason = format!("it counts wrongly: {text}; check that its program and its memory are sound");
        self.health.set_aside_for_good(worker, reason, &mut self.record.notes);
        let granted: Vec<AttemptId> = fleet
            .attempts_of_job(self.id)
            .filter(|(_, lease)| lease.worker == *worker && !lease.copy)
            .map(|(attempt, _)| *attempt)
            .collect();
        for attempt in granted {
            fleet.end_lease(attempt, true);
            self.back_to_pending(attempt, fleet);
        }
        fleet.work_changed();
        let why = format!("because worker {worker} counts wrongly");
        if let Some(sweep) = self.record.trusted.iter().position(|trusted| trusted.contains(worker)) {
            return self.begin_again(fleet, sweep as u32, &why);
        }
        let clean = self.boundaries.iter().take_while(|boundary| !boundary.head.trusted.contains(worker)).count();
        if clean < self.boundaries.iter().count() {
            return self.go_back(fleet, clean, &why, true);
        }
        let alone =
            |task: &Task| task.done.as_ref().is_some_and(|done| done.writer == *worker && done.second.is_none());
        let tasks = self.stage.iter().flat_map(|stage| (0..).zip(&stage.tasks));
        let doubtful: Vec<u32> = tasks.filter(|(_, task)| alone(task)).map(|(number, _)| number).collect();
        for number in doubtful {
            self.reopen(fleet, number);
        }
    }

    /// Moduli of what the stage under way writes.
    fn moduli_written(&self) -> Vec<u64> {
        let stage = self.stage.as_ref().map(|stage| stage.number);
        stage.map(|stage| self.record.plan.stage_moduli(self.record.sweep, stage)).unwrap_or_default()
    }

    /// Whether a worker is to do a task on which workers differ: first those who have done it once, then others.
    pub(super) fn may_speak(&self, fleet: &Fleet, task: &Task, worker: &WorkerId) -> bool {
        let said = |id: &WorkerId| task.opinions.iter().filter(|opinion| opinion.worker == *id).count();
        match said(worker) {
            _ if task.opinions.is_empty() => true,
            0 => !fleet.here().any(|(id, _)| {
                (1..MOST_OPINIONS).contains(&said(id)) && self.may_use(fleet, id) && !task.attempts.is_hopeless(id)
            }),
            opinions => opinions < MOST_OPINIONS,
        }
    }

    /// A worker that is away, and awaited to repeat what is left of the stage.
    pub(crate) fn awaited_to_repeat<'a>(&self, fleet: &'a Fleet) -> Option<&'a WorkerId> {
        self.stage.as_ref().filter(|stage| stage.left == 0 && !stage.recounts.is_empty())?;
        let mut away = fleet.workers.iter().filter(|(_, worker)| worker.epoch == 0 && fleet.is_awaited(worker));
        away.next().map(|(id, _)| id)
    }

    /// Lets off what no other worker can do again, and ends the stage if nothing else was left.
    pub(crate) fn look_after_recounts(&mut self, fleet: &mut Fleet) {
        let Some(stage) = self.stage.as_ref().filter(|stage| stage.left == 0 && !stage.recounts.is_empty()) else {
            return;
        };
        if fleet.here().next().is_none() {
            return;
        }
        let may_come = |writer: &WorkerId, task: &Task| {
            fleet.workers.iter().any(|(id, worker)| {
                let there = worker.here && self.fits(fleet, id) || worker.epoch == 0 && fleet.is_awaited(worker);
                id != writer && there && !self.health.is_aside(id) && !task.attempts.is_hopeless(id)
            })
        };
        let nobody = |number: &u32| {
            let task = stage.tasks.get(*number as usize);
            task.is_none_or(|task| task.done.as_ref().is_none_or(|done| !may_come(&done.writer, task)))
                && fleet.attempts(self.attempt(stage, *number, 0)).next().is_none()
        };
        let let_off: Vec<u32> = stage.recounts.iter().copied().filter(nobody).collect();
        if let_off.is_empty() {
            return;
        }
        if fleet.workers.len() > 1 {
            self.record.notes.add_once("nothing is counted again while no other worker is here to do it");
        }
        let Some(stage) = &mut self.stage else { return };
        stage.recounts.retain(|number| !let_off.contains(number));
        stage.recounts_left.retain(|number| !let_off.contains(number));
        if stage.is_complete() {
            self.complete_stage(fleet);
        }
    }

    /// Pauses a job in which workers differ and nobody is left to tell who is right.
    pub(crate) fn look_after_disputes(&mut self, fleet: &mut Fleet) {
        if self.record.state == State::Running
            && let Some(reason) = self.undecided(fleet)
        {
            self.wait(fleet, reason);
        }
    }

    /// A task on which workers differ, and that nobody can do any more; in words, with what to do.
    pub(crate) fn undecided(&self, fleet: &Fleet) -> Option<String> {
        let stage = self.stage.as_ref()?;
        let here = |task: &Task| {
            fleet.here().any(|(id, _)| {
                self.may_use(fleet, id) && !task.attempts.is_hopeless(id) && self.may_speak(fleet, task, id)
            })
        };
        let nobody =
            |number: u32, task: &Task| fleet.attempts(self.attempt(stage, number, 0)).next().is_none() && !here(task);
        fleet.here_since?;
        let disputed = stage.disputes.iter().filter_map(|&number| Some((number, stage.tasks.get(number as usize)?)));
        let (number, task) = disputed.into_iter().find(|(number, task)| nobody(*number, task))?;
        let workers: BTreeSet<String> = task.opinions.iter().map(|opinion| opinion.worker.to_string()).collect();
        let workers: Vec<String> = workers.into_iter().collect();
        Some(format!(
            "workers {} count {} differently, and each repeats its own; start one more worker: it tells who is right, and \
             the job goes on by itself",
            workers.join(" and "),
            of(self.attempt(stage, number, 0))
        ))
    }
}

/// The task of an attempt, for people.
fn of(attempt: AttemptId) -> String {
    let AttemptId { job, sweep, generation, task, .. } = attempt;
    format!("task {job}/s{sweep}/g{generation}/t{task}")
}
