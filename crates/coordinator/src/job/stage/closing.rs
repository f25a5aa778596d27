//! The end of a stage and of a sweep: checks over all tasks, then the next boundary.
//!
//! ```text
//!   read by this stage = written by the stage before     sums, fingerprint, states     ("boundary")
//!   read by a vector's first stage = the problem's start sums                         ("boundary")
//!   read where two vectors meet = what was kept          the same
//!   states before each pass = in other sweeps and tries                                ("state_counts")
//!   functionals = in earlier tries of the same sweep                                   ("repeated_functional")
//!   functionals = published values modulo each prime; where the moduli suffice: spare, formula   ("functional")
//! ```
//!
//! After one that fails the job goes back once, and ends the second time (`job/failures/second_try.rs`): no single task is to blame.
//! Of a start vector by streams the sums are known; by blocks every entry is 0 or 1.

use std::collections::{BTreeMap, BTreeSet};

use keima_model::{AnyProblem, Direction};
use keima_orders::WorkerId;
use keima_residue::{add_mod, add_row};
use keima_runs::{FunctionalSum, Tally};

use super::StageRun;
use super::evidence::{StageTallies, stage_evidence};
use super::laws::differs;
use crate::certificate::{StageEvidence, VectorEvidence};
use crate::fleet::Fleet;
use crate::job::Job;
use crate::job::failures::second_try::Evidence;
use crate::job::functionals::read_by_stage;
use crate::plan::Plan;
use crate::store::records::{Boundary, Committed, Head};
use crate::store::restore::ValueId;

/// Name of the checks of the whole result, for a second try.
const RESULT: &str = "result";

/// Sums over the tasks of a stage.
struct StageSums {
    input: Tally,
    output: Tally,
    kept: Tally,
    /// Residues of each functional that the stage reads off.
    functionals: BTreeMap<u32, Vec<u64>>,
    /// States before each pass.
    states: Vec<u64>,
}

/// The moduli of a stage's vectors.
struct Moduli {
    input: Vec<u64>,
    output: Vec<u64>,
    kept: Vec<u64>,
}

impl Moduli {
    fn of(plan: &Plan, sweep: u32, stage: u32) -> Self {
        Self {
            input: plan.moduli_read(sweep, stage),
            output: plan.stage_moduli(sweep, stage),
            kept: plan.kept_moduli(sweep),
        }
    }
}

impl StageSums {
    /// Adds up all finished tasks of a stage.
    fn of(stage: &StageRun, plan: &Plan, moduli: &Moduli, functionals: Vec<u32>) -> Self {
        let coefficients = plan.coefficients as usize;
        let lanes = moduli.output.len() * coefficients;
        let mut sums = Self {
            input: Tally::zero(moduli.input.len() * coefficients),
            output: Tally::zero(lanes),
            kept: Tally::zero(moduli.kept.len()),
            functionals: functionals.into_iter().map(|functional| (functional, vec![0; lanes])).collect(),
            states: vec![0; plan.stage(stage.number).window.len as usize],
        };
        for manifest in stage.done().map(|done| &done.manifest) {
            sums.input.add(&manifest.input, &moduli.input);
            sums.output.add(&manifest.output, &moduli.output);
            if let Some(kept) = &manifest.kept {
                sums.kept.add(kept, &moduli.kept);
            }
            for (sum, pass) in sums.states.iter_mut().zip(&manifest.passes) {
                *sum = sum.saturating_add(pass.states);
            }
            for functional in &manifest.functionals {
                if let Some(sum) = sums.functionals.get_mut(&functional.functional) {
                    add_row(sum, &functional.lanes, &moduli.output);
                }
            }
        }
        sums
    }

    /// The exact numbers of states that the stage tells, each with the pass before which they are.
    fn state_counts(&self, stage: &StageRun, plan: &Plan) -> Vec<StateCount> {
        let place = plan.stage(stage.number);
        // Where a family was cut, different tasks count equal states twice after the first pass.
        let exact = if stage.closed { self.states.len() } else { 1 };
        let states_at_end = match place.direction {
            Direction::Forward => self.output.states,
            Direction::Transposed => self.input.states,
        };
        let end = stage.closed.then_some((place.end_pass(), states_at_end));
        let before = (place.first_pass..).zip(self.states.iter().copied()).take(exact);
        before.chain(end).map(|(pass, states)| StateCount { pass, states }).collect()
    }
}

/// The number of states before a pass.
struct StateCount {
    pass: u32,
    states: u64,
}

/// Compares the sums, the fingerprint and the states that a stage has read with those that were written. `what` names
/// the vector, `place` the stage.
fn read_as_written(before: &Boundary, read: &Tally, moduli: &[u64], what: &str, place: &str) -> Result<(), Evidence> {
    let totals = &before.head.totals;
    let sums_differ = differs(&totals.sums, &read.sums, moduli).map(|text| ("sums", text));
    let keys_differ = || differs(&totals.fingerprint, &read.fingerprint, moduli).map(|text| ("fingerprint", text));
    if let Some((which, text)) = sums_differ.or_else(keys_differ) {
        return Err(Evidence::new("boundary", format!("{which} read, against {what} ({place}): {text}")));
    }
    if before.head.exact && totals.states != read.states {
        let (expected, got) = (totals.states, read.states);
        return Err(Evidence::new("boundary", format!("states of {what} ({place}): expected {expected}, got {got}")));
    }
    Ok(())
}

impl Job {
    /// All tasks are done: the checks of the whole stage, its evidence, then the next boundary.
    pub(crate) fn complete_stage(&mut self, fleet: &mut Fleet) {
        let Some(number) = self.stage.as_ref().map(|stage| stage.number) else { return };
        let moduli = Moduli::of(&self.record.plan, self.record.sweep, number);
        let sums = match self.check_stage(&moduli) {
            Ok(Some(sums)) => sums,
            Ok(None) => return,
            Err(evidence) => return self.check_failed(fleet, number, &evidence),
        };
        let functionals = sums.functionals.clone();
        if let Err(evidence) = self.take_functionals(fleet, functionals.clone(), &moduli.output) {
            return self.check_failed(fleet, number, &evidence);
        }
        self.resolve_doubts();
        let Some(stage) = self.stage.take() else { return };
        self.record.totals.stages += 1;
        self.record.totals.answers_alone += stage.answers_alone();
        let evidence = self.evidence_of(&stage, &sums, &functionals, &moduli);
        self.keep_evidence(fleet, number, &evidence);
        self.boundaries.count_input(&self.record.plan, number, sums.input.states);
        let stored = self.add_boundary(fleet, stage, sums.output);
        self.update_disk_peak(fleet);
        let plan = &self.record.plan;
        if number + 1 >= plan.stages() {
            return self.complete_sweep(fleet, number);
        }
        let ends_column = plan.stage(number).ends_column(plan.board);
        if ends_column {
            self.copies.column_ended(fleet.now);
            self.start_copies(fleet);
        }
        self.start_archiving(fleet, ends_column);
        self.drop_superseded(fleet);
        if stored {
            self.store(fleet);
        }
        fleet.work_changed();
    }

    /// What the certificate will say of a complete stage.
    fn evidence_of(
        &self,
        stage: &StageRun,
        sums: &StageSums,
        functionals: &BTreeMap<u32, Vec<u64>>,
        moduli: &Moduli,
    ) -> StageEvidence {
        let plan = &self.record.plan;
        let place = plan.stage(stage.number);
        let vector = |moduli: &[u64], tally: &Tally| VectorEvidence { moduli: moduli.to_vec(), tally: tally.clone() };
        let meets = plan.meets(stage.number);
        let reads = Some(vector(&moduli.input, &sums.input));
        let writes = (!meets).then(|| vector(&moduli.output, &sums.output));
        let kept = meets.then(|| vector(&moduli.kept, &sums.kept));
        let tallies = StageTallies::of(stage, place.window.len as usize, &moduli.output);
        let sum = |(&functional, lanes): (&u32, &Vec<u64>)| FunctionalSum { functional, lanes: lanes.clone() };
        StageEvidence {
            moduli: moduli.output.clone(),
            functionals: functionals.iter().map(sum).collect(),
            ..stage_evidence(stage, place, tallies, [reads, writes, kept], plan.starts(stage.number))
        }
    }

    /// Makes the boundary that a stage has written; whether it is stored.
    fn add_boundary(&mut self, fleet: &mut Fleet, stage: StageRun, written: Tally) -> bool {
        let plan = &self.record.plan;
        let place = plan.stage(stage.number);
        let head = Head {
            sweep: self.record.sweep,
            stage: stage.number,
            generation: stage.generation,
            pass: place.boundaries().1,
            direction: place.direction,
            durable: stage.durable,
            copied: false,
            archive: None,
            totals: written,
            exact: stage.closed,
            tasks: stage.tasks.len() as u32,
            trusted: self.trusted(&stage),
        };
        let ends_sweep = stage.number + 1 >= plan.stages();
        let mut tasks: Vec<Committed> = stage.tasks.into_iter().filter_map(|task| task.done).collect();
        for task in &mut tasks {
            task.manifest.forget_tallies();
        }
        let tasks_are_stored = fleet.journal.durability().stores_stage_under_way();
        let stored = tasks_are_stored || (stage.durable && !ends_sweep);
        fleet.journal.delete_stage(self.id);
        if stored && !tasks_are_stored {
            for task in &tasks {
                fleet.journal.put_task(task);
            }
        }
        if stage.durable {
            self.boundaries.last_durable_at = fleet.now;
        }
        if stored {
            fleet.journal.put_head(self.id, &head);
        }
        self.boundaries.push(Boundary::new(head, tasks, stored));
        stored
    }

    /// Workers on whose word alone the boundary rests that a stage has written.
    fn trusted(&self, stage: &StageRun) -> Vec<WorkerId> {
        let alone = stage.done().filter(|done| done.second.is_none()).map(|done| &done.writer);
        let before = self.boundaries.last().into_iter().flat_map(|boundary| &boundary.head.trusted);
        let trusted: BTreeSet<&WorkerId> = alone.chain(before).collect();
        trusted.into_iter().cloned().collect()
    }

    fn complete_sweep(&mut self, fleet: &mut Fleet, last_stage: u32) {
        let ends = self.record.sweep as usize + 1 >= self.record.plan.sweeps.len();
        let outcome = if ends { self.outcome() } else { None };
        if let Some(outcome) = outcome.as_ref().filter(|outcome| !outcome.ok && !self.has_tried_again()) {
            let evidence = Evidence::new(RESULT, outcome.failed_checks().join("; "));
            return self.check_failed(fleet, last_stage, &evidence);
        }
        let trusted = self.boundaries.last().map(|boundary| boundary.head.trusted.clone()).unwrap_or_default();
        self.record.trusted.push(trusted);
        self.drop_boundaries(fleet, 0);
        self.forget_vain_copies(fleet);
        self.forget_vain_archiving(fleet);
        if !ends {
            let (sweep, plan) = (self.record.sweep, &self.record.plan);
            let answer = self.functionals.answer_of_sweep(sweep, self.info(), plan);
            let colon = if answer.is_empty() { "" } else { ": " };
            self.note(format!("sweep {} of {} is done{colon}{answer}", sweep + 1, plan.sweeps.len()));
        }
        self.record.sweep += 1;
        if let Some(outcome) = outcome {
            self.finish(fleet, outcome);
        } else {
            self.store(fleet);
            fleet.work_changed();
        }
    }

    /// Whether the checks of the result failed before, and the last stages were repeated. Then they stand as they are.
    fn has_tried_again(&self) -> bool {
        self.record.second_tries.iter().any(|failed| failed.check == RESULT)
    }

    /// Sums over the stage's tasks, compared with the stage before and with other sweeps.
    fn check_stage(&mut self, moduli: &Moduli) -> Result<Option<StageSums>, Evidence> {
        let Some(stage) = &self.stage else { return Ok(None) };
        let plan = &self.record.plan;
        let sums = StageSums::of(stage, plan, moduli, read_by_stage(self.info(), plan, stage.number));
        let pass = plan.stage(stage.number).boundaries().0;
        let place = format!("sweep {}, stage {}, from pass {pass}", self.record.sweep + 1, stage.number);
        if let Some(before) = self.boundaries.input_of(plan, stage.number) {
            read_as_written(before, &sums.input, &moduli.input, "what the stage before wrote", &place)?;
        } else if let Some(expected) = self.start_sums(stage.number, &sums.input, &moduli.input)
            && let Some(text) = differs(&expected, &sums.input.sums, &moduli.input)
        {
            return Err(Evidence::new("boundary", format!("sums of the start vector ({place}): {text}")));
        }
        if plan.meets(stage.number) {
            let no_kept = || Evidence::new("boundary", format!("no vector was kept ({place})"));
            let kept = self.boundaries.kept(plan).ok_or_else(no_kept)?;
            let of_kept = |evidence| Evidence { of_kept: true, ..evidence };
            read_as_written(kept, &sums.kept, &moduli.kept, "what was kept", &place).map_err(of_kept)?;
        }
        for StateCount { pass, states } in sums.state_counts(stage, plan) {
            let Some(entry) = self.record.pass_states.get_mut(pass as usize) else { continue };
            if let Some(expected) = entry.filter(|&expected| expected != states) {
                let text = format!(
                    "states before pass {pass}: expected {expected} as in an earlier sweep or try, got {states}"
                );
                return Err(Evidence::new("state_counts", text));
            }
            *entry = Some(states);
        }
        Ok(Some(sums))
    }

    /// The sums of the vector that a forward stage begins with; `None` for other stages. Without this an empty start would
    /// make a count of 0 that no law contradicts.
    fn start_sums(&self, number: u32, read: &Tally, moduli: &[u64]) -> Option<Vec<u64>> {
        let plan = &self.record.plan;
        if !plan.starts(number) || plan.stage(number).direction != Direction::Forward {
            return None;
        }
        if plan.block().is_some() {
            // Every entry is 0 or 1, and some are 1. Their number is the same modulo every prime.
            let ones = read.sums.first().copied().unwrap_or(0).clamp(1, read.states.max(1));
            return Some(vec![ones; moduli.len()]);
        }
        let counts: Vec<u64> = match self.problem.as_ref()? {
            AnyProblem::Narrow(problem) => problem.start().into_iter().map(|(_, count)| count).collect(),
            AnyProblem::Wide(problem) => problem.start().into_iter().map(|(_, count)| count).collect(),
        };
        let sum = |modulus: u64| counts.iter().fold(0, |sum, count| add_mod(sum, count % modulus, modulus));
        let lanes = moduli.len() * plan.coefficients as usize;
        // The counts stand in coefficient 0.
        Some(moduli.iter().map(|&modulus| sum(modulus)).chain(std::iter::repeat(0)).take(lanes).collect())
    }

    /// Keeps the functionals of a stage, and checks the values of those that can be computed.
    fn take_functionals(
        &mut self,
        fleet: &mut Fleet,
        functionals: BTreeMap<u32, Vec<u64>>,
        moduli: &[u64],
    ) -> Result<(), Evidence> {
        let (sweep, plan) = (self.record.sweep, &self.record.plan);
        let info = self.problem.as_ref().map(AnyProblem::info);
        for (functional, lanes) in functionals {
            let id = ValueId { sweep, functional };
            if let Some(before) = self.functionals.lanes(id).filter(|before| **before != lanes) {
                let text = differs(before, &lanes, moduli).unwrap_or_default();
                let text = format!("functional {functional}, sweep {sweep}: {text}");
                return Err(Evidence::new("repeated_functional", text));
            }
            fleet.journal.put_value(self.id, sweep, functional, &lanes);
            self.functionals.insert(id, lanes, info, plan);
            if let Some(text) = self.functionals.contradicted(id, info, plan) {
                return Err(Evidence::new("functional", text));
            }
            if let Some(entry) = self.functionals.early(functional).filter(|entry| !entry.ok) {
                let failed = entry.checks.iter().filter(|c| !c.ok).map(|c| format!("{}: {}", c.name, c.detail));
                let text = format!("{}: {}", entry.name, failed.collect::<Vec<_>>().join("; "));
                return Err(Evidence::new("functional", text));
            }
        }
        Ok(())
    }
}
