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
//! itself, with the reason, when no worker can go on with it, and goes on by itself when one can.

use keima_model::{AnyProblem, ProblemInfo};
use keima_orders::{AttemptId, JobId};
use keima_runs::RunId;

use self::archive::Archive;
use self::boundaries::Boundaries;
use self::copies::Copies;
use self::failures::doubts::Doubts;
use self::functionals::Functionals;
use self::health::Health;
use self::lives::unstored::{DiskSeen, Replanning};
use self::shown::progress::Rate;
use self::stage::StageRun;
use self::stage::evidence::Evidence;
use crate::api::{Millis, State};
use crate::fleet::Fleet;
use crate::fleet::watched::{About, EventKind};
use crate::outcome::{Check, Outcome, recombine};
use crate::store::records::{Account, Record};

pub(crate) mod archive;
mod attempts;
mod batch;
pub(crate) mod boundaries;
pub(crate) mod copies;
pub(crate) mod failures;
pub(crate) mod functionals;
pub(crate) mod health;
pub(crate) mod lives;
mod retention;
pub(crate) mod shown;
pub(crate) mod stage;

pub(crate) use self::lives::reopen;

/// Time under way after which a running job's record is stored, whatever else happens.
const MOST_UNSTORED_MILLIS: Millis = 10_000;

/// A job and everything that is under way for it.
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) record: Record,
    pub(crate) account: Account,
    /// `None` where this program cannot open the problem (any more).
    pub(crate) problem: Option<AnyProblem>,
    pub(crate) stage: Option<StageRun>,
    pub(crate) boundaries: Boundaries,
    pub(crate) functionals: Functionals,
    pub(crate) evidence: Evidence,
    /// Of `record.active_millis`, what is stored.
    pub(crate) stored_millis: Millis,
    pub(crate) copies: Copies,
    pub(crate) archive: Archive,
    pub(crate) health: Health,
    pub(crate) rate: Rate,
    pub(crate) resumed_from: Option<String>,
    /// What a failed check has put in doubt, until it is repeated.
    pub(crate) doubts: Doubts,
    pub(crate) replanning: Replanning,
    pub(crate) disk_seen: DiskSeen,
}

impl Job {
    pub(crate) fn new(id: JobId, record: Record, problem: Option<AnyProblem>, now: Millis) -> Self {
        let archive = Archive::new(now, record.totals.stages);
        Self {
            id,
            record,
            account: Account::default(),
            problem,
            stage: None,
            boundaries: Boundaries::new(now),
            functionals: Functionals::default(),
            evidence: Evidence::default(),
            stored_millis: 0,
            copies: Copies::new(now),
            archive,
            health: Health::default(),
            rate: Rate::default(),
            resumed_from: None,
            doubts: Doubts::default(),
            replanning: Replanning::default(),
            disk_seen: DiskSeen::default(),
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

    /// Whether no stage was ever cut: then it may get another plan.
    pub(crate) fn is_not_begun(&self) -> bool {
        self.record.state == State::Queued && self.record.generation == 0
    }

    /// Whether it is to be planned for the workers that are here before it begins.
    pub(crate) fn wants_plan(&self, fleet: &Fleet) -> bool {
        let stale = || fleet.offer().is_some_and(|offer| self.replanning.planned_for != Some(offer));
        self.is_not_begun() && self.record.spec.follows.any() && !self.replanning.is_under_way && stale()
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

    /// Tells those who watch that the job is in another state.
    pub(crate) fn tell_state(&self, fleet: &mut Fleet) {
        let (state, reason) = (self.record.state, &self.record.reason);
        let text = if reason.is_empty() { state.to_string() } else { format!("{state}: {reason}") };
        fleet.tell(EventKind::Job, About::job(self.id), &text);
    }

    /// Stores the job's own record, on stable storage.
    pub(crate) fn store(&self, fleet: &mut Fleet) {
        self.store_account(fleet);
        fleet.journal.put_job_durably(self.id, &self.record);
    }

    /// Adds to the time that the job is under way.
    pub(crate) fn age(&mut self, elapsed: Millis, fleet: &mut Fleet) {
        self.wait_behind(elapsed, fleet);
        if elapsed > 0 && self.record.state == State::Running && fleet.attempts_of_job(self.id).next().is_some() {
            self.record.active_millis = self.record.active_millis.saturating_add(elapsed);
            self.rate.age(elapsed);
            // A kill must not hide more time than this.
            if self.record.active_millis.saturating_sub(self.stored_millis) >= MOST_UNSTORED_MILLIS {
                self.stored_millis = self.record.active_millis;
                self.store_account(fleet);
                fleet.journal.put_job(self.id, &self.record);
            }
        }
    }

    /// Brings the most bytes on disk up to date.
    pub(crate) fn update_disk_peak(&mut self, fleet: &Fleet) {
        self.disk_seen = DiskSeen::new(fleet.now, self.boundaries.disk_bytes(fleet));
        self.record.disk_peak_bytes = self.record.disk_peak_bytes.max(self.disk_seen.bytes());
    }

    /// The same while a stage is under way, as often as a worker says what it holds. What it writes counts in full at its end.
    pub(crate) fn watch_disk_peak(&mut self, fleet: &Fleet) {
        if !self.is_over() && self.disk_seen.is_older_than(fleet.config.heartbeat_millis, fleet.now) {
            self.update_disk_peak(fleet);
        }
    }

    /// Stops granting; tasks under way may finish.
    pub(crate) fn pause(&mut self, fleet: &mut Fleet, reason: String) {
        (self.record.state, self.record.waits) = (State::Paused, false);
        self.record.reason = reason;
        self.tell_state(fleet);
        self.store(fleet);
    }

    /// Pauses until a worker may do its tasks again.
    pub(crate) fn wait(&mut self, fleet: &mut Fleet, reason: String) {
        self.pause(fleet, reason);
        self.record.waits = true;
        self.store(fleet);
    }

    /// Goes on after a pause. Workers that were set aside get another try.
    pub(crate) fn resume(&mut self, fleet: &mut Fleet) {
        self.health.forgive();
        self.stage.iter_mut().for_each(StageRun::forgive);
        self.go_on(fleet);
    }

    /// Goes on after a pause.
    pub(crate) fn go_on(&mut self, fleet: &mut Fleet) {
        (self.record.waits, self.account.over_disk) = (false, false);
        self.record.state = if self.record.generation == 0 { State::Queued } else { State::Running };
        self.record.reason.clear();
        self.tell_state(fleet);
        self.store(fleet);
        fleet.work_changed();
    }

    /// Ends the job: calls back its leases, drops its runs and the records of what was under way.
    pub(crate) fn end(&mut self, fleet: &mut Fleet, state: State, reason: String) {
        let all_swept = self.record.sweep as usize >= self.record.plan.sweeps.len();
        let stage = if all_swept { self.record.plan.stages() } else { self.boundaries.next_stage() };
        self.record.last_stage = Some(stage);
        (self.record.state, self.record.waits) = (state, false);
        self.record.reason = reason;
        (self.account.ended_at, self.account.over_disk) = (fleet.now.max(1), false);
        self.tell_state(fleet);
        self.end_leases(fleet, |_| true);
        self.drop_stage(fleet);
        self.drop_boundaries(fleet, 0);
        self.copies.round = None;
        self.archive = Archive::new(fleet.now, self.record.totals.stages);
        fleet.publications.retain(|publication| publication.job != self.id);
        self.leave_archive(fleet);
        self.boundaries.forget_all_runs();
        fleet.runs_became_unneeded();
        self.health = Health::default();
        if state != State::Done {
            self.drop_all_evidence(fleet);
        }
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
                identity: self.record.identity.clone(),
                builds: self.record.builds.clone(),
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
        fleet.work_changed();
    }

    /// After the last sweep: ends the job with its count, or with the checks that fail.
    pub(crate) fn finish(&mut self, fleet: &mut Fleet, outcome: Outcome) {
        let failed = outcome.failed_checks();
        let ok = outcome.ok;
        self.record.outcome = Some(outcome);
        if ok {
            self.end(fleet, State::Done, String::new());
        } else {
            self.end(fleet, State::CheckFailed, failed.join("; "));
        }
    }

    /// The count and its checks, from the residues so far.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        let info = self.info()?;
        let values = self.functionals.all(Some(info), &self.record.plan);
        let outcome = recombine(info, &self.record.plan, &values);
        let mut outcome = outcome.of(&self.record.identity, &self.record.builds);
        self.checks_on_the_way(info).into_iter().for_each(|check| outcome.add_check(check));
        Some(outcome)
    }

    /// The laws that held in every task and stage. A job that breaks one ends at once: it does not come here.
    fn checks_on_the_way(&self, info: &dyn ProblemInfo) -> Vec<Check> {
        let (tasks, stages) = (self.record.totals.tasks, self.record.totals.stages);
        let sweeps = self.record.plan.sweeps.len();
        let by_blocks = self.record.plan.block().is_some();
        let (balance, fingerprint) = if by_blocks {
            (
                format!("holds in {tasks} tasks, for every family and every prime"),
                format!(
                    "{stages} stages read what was written, by sums of all states and keyed fingerprints of one in {}",
                    keima_model::SAMPLE_ONE_IN
                ),
            )
        } else {
            (
                format!("holds in {tasks} tasks, for every pass and every prime"),
                format!("{stages} stages read what was written, by sums and keyed fingerprints of all states"),
            )
        };
        let mut checks = vec![Check::new("mass_balance", true, balance)];
        if !by_blocks && info.has_law() {
            let law = format!("the law of {} holds in {tasks} tasks, for every pass and every prime", info.name());
            checks.push(Check::new("problem_law", true, law));
        }
        checks.push(Check::new("fingerprint", true, fingerprint));
        if sweeps > 1 {
            let detail = format!(
                "{sweeps} sweeps have the same numbers of states, at every boundary and before every pass that tasks count"
            );
            checks.push(Check::new("state_counts", true, detail));
        }
        if self.record.totals.recounts > 0 {
            let (recounts, alone) = (self.record.totals.recounts, self.record.totals.answers_alone);
            let answers = match alone {
                0 => "all that read a part of the answer among them".to_owned(),
                _ => format!("but not {alone} of those that read a part of the answer"),
            };
            let detail = format!("{recounts} tasks were each done by two workers, with the same outcome, {answers}");
            checks.push(Check::new("recount", true, detail));
        }
        checks
    }
}
