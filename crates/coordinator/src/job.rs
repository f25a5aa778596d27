//! A job from submission to its end: states, and what each allows.
//!
//! ```text
//!            submit            first grant           last sweep, all checks hold
//!   (user) ---------> Queued --------------> Running ----------------------------> Done
//!                        |  pause  ^  resume   |  \-- a check fails ------------> CheckFailed
//!                        +------> Paused <-----+  \-- cancel (from any of these) -> Cancelled
//! ```
//!
//! A pause takes effect at once: no more tasks are granted; tasks under way finish and are committed. A job pauses by
//! itself, with the reason, when no worker can go on with it.

use keima_model::{AnyProblem, ProblemInfo};
use keima_orders::{AttemptId, JobId};
use keima_runs::RunId;

use self::boundaries::Boundaries;
use self::copies::Copies;
use self::functionals::Functionals;
use self::health::Health;
use self::progress::Rate;
use self::stage::StageRun;
use crate::api::{Millis, State};
use crate::fleet::Fleet;
use crate::outcome::{Check, Outcome, recombine};
use crate::store::records::Record;

mod attempts;
pub(crate) mod boundaries;
pub(crate) mod copies;
mod copying;
mod failures;
pub(crate) mod functionals;
pub(crate) mod health;
pub(crate) mod progress;
mod restore;
mod retention;
pub(crate) mod stage;
pub(crate) mod status;

pub(crate) use self::restore::reopen;

/// A job and everything that is under way for it.
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) record: Record,
    /// `None` where this program cannot open the problem (any more).
    pub(crate) problem: Option<AnyProblem>,
    pub(crate) stage: Option<StageRun>,
    pub(crate) boundaries: Boundaries,
    pub(crate) functionals: Functionals,
    pub(crate) copies: Copies,
    pub(crate) health: Health,
    pub(crate) rate: Rate,
    pub(crate) resumed_from: Option<String>,
}

impl Job {
    pub(crate) fn new(id: JobId, record: Record, problem: Option<AnyProblem>, now: Millis) -> Self {
        Self {
            id,
            record,
            problem,
            stage: None,
            boundaries: Boundaries::new(now),
            functionals: Functionals::default(),
            copies: Copies::new(now),
            health: Health::default(),
            rate: Rate::default(),
            resumed_from: None,
        }
    }

    /// The problem, while this program knows it.
    pub(crate) fn info(&self) -> Option<&dyn ProblemInfo> {
        self.problem.as_ref().map(AnyProblem::info)
    }

    /// Whether the job wants work.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.record.state, State::Queued | State::Running) && self.problem.is_some()
    }

    /// Whether nothing more will happen.
    pub(crate) const fn is_over(&self) -> bool {
        self.record.state.is_over()
    }

    /// Whether a worker must keep a run for this job, as far as this worker's copy is sound.
    pub(crate) fn needs(&self, run: &RunId) -> bool {
        self.boundaries.needs(run)
    }

    /// A number for a stage or a round of copies that no other has had.
    pub(crate) fn new_generation(&mut self, fleet: &Fleet) -> u32 {
        self.record.generation = self.record.generation.saturating_add(1).max(fleet.life.first_number());
        self.record.generation
    }

    /// Keeps a line for people.
    pub(crate) fn note(&mut self, text: String) {
        self.record.notes.add(text);
    }

    /// Stores the job's own record, on stable storage.
    pub(crate) fn store(&self, fleet: &mut Fleet) {
        fleet.journal.put_job_durably(self.id, &self.record);
    }

    /// The job is under way for so much longer.
    pub(crate) fn age(&mut self, elapsed: Millis, fleet: &Fleet) {
        if elapsed > 0 && self.record.state == State::Running && fleet.attempts_of_job(self.id).next().is_some() {
            self.record.active_millis = self.record.active_millis.saturating_add(elapsed);
            self.rate.age(elapsed);
        }
    }

    /// Brings the most bytes on disk up to date.
    pub(crate) fn update_disk_peak(&mut self, fleet: &Fleet) {
        self.record.disk_peak_bytes = self.record.disk_peak_bytes.max(self.boundaries.disk_bytes(fleet));
    }

    /// Stops granting; tasks under way may finish.
    pub(crate) fn pause(&mut self, fleet: &mut Fleet, reason: String) {
        self.record.state = State::Paused;
        self.record.reason = reason;
        self.store(fleet);
    }

    /// Goes on after a pause. Workers that were set aside get another try.
    pub(crate) fn resume(&mut self, fleet: &mut Fleet) {
        self.health.forgive();
        self.stage.iter_mut().for_each(StageRun::forgive);
        self.record.state = if self.record.generation == 0 { State::Queued } else { State::Running };
        self.record.reason.clear();
        self.store(fleet);
        fleet.work_changed();
    }

    /// Ends the job: calls back its leases, drops its runs and the records of what was under way.
    pub(crate) fn end(&mut self, fleet: &mut Fleet, state: State, reason: String) {
        self.record.state = state;
        self.record.reason = reason;
        self.end_leases(fleet, |_| true);
        self.drop_stage(fleet);
        self.drop_boundaries(fleet, 0);
        self.copies.round = None;
        self.boundaries.forget_all_runs();
        self.health = Health::default();
        self.store(fleet);
    }

    /// Ends the job because a check failed, and keeps the evidence.
    pub(crate) fn end_by_check(&mut self, fleet: &mut Fleet, check: &str, evidence: &str) {
        if self.record.outcome.is_none() {
            self.record.outcome = self.info().map(|info| Outcome {
                problem: info.name().into(),
                size: info.size(),
                count: String::new(),
                counts: Vec::new(),
                residues: Vec::new(),
                series: Vec::new(),
                checks: vec![Check::new(check, false, evidence)],
                ok: false,
            });
        }
        self.end(fleet, State::CheckFailed, format!("{check}: {evidence}"));
    }

    /// Calls back the leases that `which` picks.
    pub(crate) fn end_leases(&mut self, fleet: &mut Fleet, which: impl Fn(AttemptId) -> bool) {
        let attempts: Vec<AttemptId> =
            fleet.attempts_of_job(self.id).map(|(attempt, _)| *attempt).filter(|a| which(*a)).collect();
        for attempt in attempts {
            fleet.end_lease(attempt, true);
        }
    }

    /// After the last sweep: computes the count and checks it.
    pub(crate) fn finish(&mut self, fleet: &mut Fleet) {
        let Some(info) = self.info() else { return };
        let values = self.functionals.all(Some(info), &self.record.plan);
        let mut outcome = recombine(info, &self.record.plan, &values);
        self.checks_on_the_way(info).into_iter().for_each(|check| outcome.add_check(check));
        let failed: Vec<String> =
            outcome.checks.iter().filter(|c| !c.ok).map(|c| format!("{}: {}", c.name, c.detail)).collect();
        let ok = outcome.ok;
        self.record.outcome = Some(outcome);
        if ok {
            self.end(fleet, State::Done, String::new());
        } else {
            self.end(fleet, State::CheckFailed, failed.join("; "));
        }
    }

    /// The laws that held in every task and stage. A job that breaks one ends at once: it does not come here.
    fn checks_on_the_way(&self, info: &dyn ProblemInfo) -> Vec<Check> {
        let (tasks, stages) = (self.record.totals.tasks, self.record.totals.stages);
        let sweeps = self.record.plan.sweeps.len();
        let by_blocks = self.record.plan.block().is_some();
        let (balance, fingerprint) = if by_blocks {
            (
                format!("every family of {tasks} tasks, modulo every prime that it had"),
                format!(
                    "what {stages} stages read has the sums of what was written, and keyed fingerprints of one state in {}",
                    keima_model::SAMPLE_ONE_IN
                ),
            )
        } else {
            (
                format!("every pass of {tasks} tasks, modulo every prime"),
                format!("what {stages} stages read has the sums and keyed fingerprints of what was written"),
            )
        };
        let mut checks = vec![Check::new("mass_balance", true, balance)];
        if !by_blocks && info.has_law() {
            let law = format!("{}'s own law, every pass of {tasks} tasks, modulo every prime", info.name());
            checks.push(Check::new("problem_law", true, law));
        }
        checks.push(Check::new("fingerprint", true, fingerprint));
        if sweeps > 1 {
            let detail = format!(
                "the number of states at every boundary, and before the passes between them where tasks know it, is the same in \
                 {sweeps} sweeps"
            );
            checks.push(Check::new("state_counts", true, detail));
        }
        checks
    }
}
