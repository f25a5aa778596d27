//! A job from submission to its end: states, and what may be asked of it in each.
//!
//! ```text
//!            submit            first grant           last sweep, all checks hold
//!   (user) ---------> Queued --------------> Running ----------------------------> Done
//!                        |  pause  ^  resume   |  \-- a check fails ------------> CheckFailed
//!                        +------> Paused <-----+  \-- cancel (from any of these) -> Cancelled
//! ```
//!
//! A pause takes effect at once: nothing more is granted, tasks under way are finished and committed. A job pauses by
//! itself, with the reason, when no worker can go on with it.

pub(crate) mod boundaries;
pub(crate) mod copying;
pub(crate) mod failures;
pub(crate) mod stage;
pub(crate) mod status;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use keima_model::{AnyProblem, ProblemInfo};
use keima_orders::{AttemptId, JobId, WorkerId};
use keima_residue::{crt, residue_of};
use keima_runs::{RunId, TaskTimes};
use serde::{Deserialize, Serialize};

use crate::api::{JobSpec, Millis};
use crate::fleet::Common;
use crate::job::boundaries::{Boundary, Missing, Strike};
use crate::job::copying::CopyRound;
use crate::job::failures::Aside;
use crate::job::stage::StageRun;
use crate::job::status::{Rate, State};
use crate::outcome::{Check, FunctionalValues, Outcome, SeriesEntry, recombine};
use crate::plan::Plan;

/// Most notes that a job keeps; the oldest go first.
const MOST_NOTES: usize = 64;

/// Sums over all tasks of a job, repeated ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) bytes_spilled: u64,
    pub(crate) times: TaskTimes,
    pub(crate) tasks: u64,
    pub(crate) stages: u64,
}

/// What is stored of a job itself; boundaries, tasks, grants and functionals have records of their own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) spec: JobSpec,
    pub(crate) identity: String,
    pub(crate) size: String,
    pub(crate) plan: Plan,
    pub(crate) tag: u64,
    pub(crate) salt: u64,
    pub(crate) state: State,
    pub(crate) reason: String,
    pub(crate) sweep: u32,
    /// Generation of the newest stage or round of copies.
    pub(crate) generation: u32,
    pub(crate) active_millis: Millis,
    pub(crate) totals: Totals,
    /// States before each pass, as far as they are known exactly.
    pub(crate) pass_states: Vec<Option<u64>>,
    pub(crate) notes: VecDeque<String>,
    pub(crate) disk_peak_bytes: u64,
    pub(crate) outcome: Option<Outcome>,
}

/// A job and everything that is under way for it.
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) record: Record,
    /// `None` where this program cannot open the problem (any more).
    pub(crate) problem: Option<AnyProblem>,
    pub(crate) stage: Option<StageRun>,
    /// Kept boundaries of the present sweep, the oldest first.
    pub(crate) boundaries: Vec<Boundary>,
    /// Runs of all manifests that stand, with their lengths.
    pub(crate) runs: HashMap<RunId, u64>,
    /// Residues by sweep and functional, one per lane.
    pub(crate) values: BTreeMap<(u32, u32), Vec<u64>>,
    /// Values of functionals that could be told already.
    pub(crate) early: BTreeMap<u32, SeriesEntry>,
    pub(crate) copying: Option<CopyRound>,
    pub(crate) aside: BTreeMap<WorkerId, Aside>,
    /// Full disks in a row by worker, since it last finished a task.
    pub(crate) disk_failures: BTreeMap<WorkerId, u32>,
    /// Workers without room for second copies, and until when they are not asked to make any.
    pub(crate) no_room: BTreeMap<WorkerId, Millis>,
    /// Damaged copies in all by worker.
    pub(crate) damage: BTreeMap<WorkerId, u32>,
    /// Copies that are never to be used again.
    pub(crate) bad: BTreeSet<(RunId, WorkerId)>,
    /// Copies that could not be had lately.
    pub(crate) strikes: BTreeMap<(RunId, WorkerId), Strike>,
    pub(crate) missing: Missing,
    pub(crate) last_durable_at: Millis,
    /// When the last round of second copies began.
    pub(crate) last_copies_at: Millis,
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
            boundaries: Vec::new(),
            runs: HashMap::new(),
            values: BTreeMap::new(),
            early: BTreeMap::new(),
            copying: None,
            aside: BTreeMap::new(),
            disk_failures: BTreeMap::new(),
            no_room: BTreeMap::new(),
            damage: BTreeMap::new(),
            bad: BTreeSet::new(),
            strikes: BTreeMap::new(),
            missing: Missing::default(),
            last_durable_at: now,
            last_copies_at: now,
            rate: Rate::default(),
            resumed_from: None,
        }
    }

    /// The problem, while this program knows it.
    pub(crate) fn info(problem: Option<&AnyProblem>) -> Option<&dyn ProblemInfo> {
        problem.map(AnyProblem::info)
    }

    /// Whether the job wants work.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.record.state, State::Queued | State::Running) && self.problem.is_some()
    }

    /// Whether the job is over.
    pub(crate) fn is_over(&self) -> bool {
        !matches!(self.record.state, State::Queued | State::Running | State::Paused)
    }

    /// Whether a run stands in a kept manifest.
    pub(crate) fn needs(&self, run: &RunId) -> bool {
        self.runs.contains_key(run)
    }

    /// A run of this job with its length.
    pub(crate) fn size_of(&self, run: &RunId) -> Option<(RunId, u64)> {
        self.runs.get(run).map(|&bytes| (run.clone(), bytes))
    }

    /// Moduli that a stage of the present sweep carries.
    pub(crate) fn stage_moduli(&self, stage: u32) -> Vec<u64> {
        self.record.plan.stage_moduli(self.record.sweep, stage)
    }

    /// Moduli and residues of a functional with one coefficient, from the sweeps so far; the spare is the last where it
    /// is known.
    pub(crate) fn residues_of(&self, functional: u32) -> Vec<(u64, u64)> {
        let plan = &self.record.plan;
        let after = Self::info(self.problem.as_ref())
            .and_then(|info| info.functionals().get(functional as usize).map(|functional| functional.after_pass));
        // Only the last is read off where two vectors meet.
        let reads = |stage: &u32| after.is_some_and(|pass| pass < plan.stage(*stage).end_pass());
        let stage = (0..plan.forward_stages()).find(reads).or(plan.stages().checked_sub(1));
        let mut known = Vec::new();
        for sweep in 0..plan.sweeps.len() as u32 {
            if let Some(lanes) = self.values.get(&(sweep, functional)) {
                known.extend(plan.stage_moduli(sweep, stage.unwrap_or(0)).into_iter().zip(lanes.iter().copied()));
            }
        }
        known
    }

    /// The residues of a functional modulo all primes of the plan: where its stage carried fewer, the others follow
    /// from those, its spare left out. `None` where there are too few.
    fn completed(&self, functional: u32) -> Option<Vec<u64>> {
        let (plan, known) = (&self.record.plan, self.residues_of(functional));
        let (_, others) = known.split_last()?;
        let value = crt(others).ok()?;
        let residue = |&modulus: &u64| {
            known.iter().find(|(known, _)| *known == modulus).map_or_else(|| residue_of(&value, modulus), |&(_, r)| r)
        };
        Some(plan.moduli.iter().map(residue).collect())
    }

    /// A number for a stage or a round of copies that no other has had.
    pub(crate) fn new_generation(&mut self, common: &Common) -> u32 {
        self.record.generation = self.record.generation.saturating_add(1).max(common.first_number());
        self.record.generation
    }

    /// Keeps a line for people.
    pub(crate) fn note(&mut self, text: String) {
        if self.record.notes.back() != Some(&text) {
            self.record.notes.push_back(text);
        }
        while self.record.notes.len() > MOST_NOTES {
            self.record.notes.pop_front();
        }
    }

    /// Stops granting; what is under way may finish.
    pub(crate) fn pause(&mut self, common: &mut Common, reason: String) {
        self.record.state = State::Paused;
        self.record.reason = reason;
        common.store_job(self, true);
    }

    /// The end: leases are called back, runs and records of what was under way go.
    pub(crate) fn end(&mut self, common: &mut Common, state: State, reason: String) {
        self.record.state = state;
        self.record.reason = reason;
        self.end_leases(common, |_| true);
        self.drop_stage(common);
        for boundary in std::mem::take(&mut self.boundaries) {
            self.drop_boundary(common, &boundary);
        }
        self.copying = None;
        self.runs.clear();
        self.aside.clear();
        self.disk_failures.clear();
        self.no_room.clear();
        self.damage.clear();
        self.bad.clear();
        self.strikes.clear();
        common.store_job(self, true);
    }

    /// Ends the job because a check failed, and keeps the evidence.
    pub(crate) fn end_by_check(&mut self, common: &mut Common, check: &str, evidence: &str) {
        if self.record.outcome.is_none() {
            let info = Self::info(self.problem.as_ref());
            self.record.outcome = info.map(|info| Outcome {
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
        self.end(common, State::CheckFailed, format!("{check}: {evidence}"));
    }

    /// Calls back the leases that `which` picks.
    pub(crate) fn end_leases(&mut self, common: &mut Common, which: impl Fn(AttemptId) -> bool) {
        let attempts: Vec<AttemptId> =
            common.attempts_of_job(self.id).map(|(attempt, _)| *attempt).filter(|a| which(*a)).collect();
        for attempt in attempts {
            common.end_lease(attempt, true);
        }
    }

    /// All residues so far, in the shape that recombination wants; functionals that lack some are left out.
    fn functional_values(&self) -> FunctionalValues {
        let plan = &self.record.plan;
        let functionals: BTreeSet<u32> = self.values.keys().map(|&(_, functional)| functional).collect();
        let mut values = FunctionalValues::new();
        for functional in functionals {
            let mut rows = vec![Vec::new(); plan.coefficients as usize];
            for sweep in 0..plan.sweeps.len() as u32 {
                let width = plan.sweep_moduli(sweep).len().max(1);
                let lanes = self.values.get(&(sweep, functional)).map_or(&[][..], Vec::as_slice);
                for (row, part) in rows.iter_mut().zip(lanes.chunks(width)) {
                    row.extend_from_slice(part);
                }
            }
            if rows.iter().all(|row| row.len() == plan.moduli.len()) {
                values.insert(functional, rows);
            } else if let Some(row) = self.completed(functional).filter(|_| plan.block.is_some() && rows.len() == 1) {
                values.insert(functional, vec![row]);
            }
        }
        values
    }

    /// After the last sweep: the count and its checks.
    pub(crate) fn finish(&mut self, common: &mut Common) {
        let values = self.functional_values();
        let Some(info) = Self::info(self.problem.as_ref()) else { return };
        let mut outcome = recombine(info, &self.record.plan, &values);
        let totals = &self.record.totals;
        // A job that broke one of these laws ended when it did: it does not come here.
        let (tasks, stages) = (totals.tasks, totals.stages);
        let sweeps = self.record.plan.sweeps.len();
        let by_blocks = self.record.plan.block.is_some();
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
        outcome.add_check(Check::new("mass_balance", true, balance));
        if !by_blocks && info.has_law() {
            let law = format!("{}'s own law, every pass of {tasks} tasks, modulo every prime", outcome.problem);
            outcome.add_check(Check::new("problem_law", true, law));
        }
        outcome.add_check(Check::new("fingerprint", true, fingerprint));
        if sweeps > 1 {
            let detail = format!(
                "the number of states at every boundary, and before the passes between them where tasks know it, is the same in \
                 {sweeps} sweeps"
            );
            outcome.add_check(Check::new("state_counts", true, detail));
        }
        let failed: Vec<String> =
            outcome.checks.iter().filter(|c| !c.ok).map(|c| format!("{}: {}", c.name, c.detail)).collect();
        let ok = outcome.ok;
        self.record.outcome = Some(outcome);
        if ok {
            self.end(common, State::Done, String::new());
        } else {
            self.end(common, State::CheckFailed, failed.join("; "));
        }
    }
}
