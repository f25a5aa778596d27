//! The end of a stage and of a sweep: checks over all tasks, then the next boundary.
//!
//! ```text
//!   read by this stage = written by the stage before     sums, fingerprint, states     ("boundary")
//!   read where two vectors meet = what was kept          the same
//!   states before each pass = in other sweeps and tries                                ("state_counts")
//!   functionals = in earlier tries of the same sweep                                   ("repeated_functional")
//!   functionals whose moduli suffice: spare, known value, formula                      ("functional")
//! ```
//!
//! A stage that fails one of them ends the job with the evidence: no single task is to blame. The start vector is
//! trusted.

use std::collections::{BTreeMap, BTreeSet};

use keima_model::{AnyProblem, Direction};
use keima_residue::add_row;
use keima_runs::Tally;

use super::StageRun;
use super::laws::differs;
use crate::fleet::Fleet;
use crate::job::Job;
use crate::job::functionals::read_by_stage;
use crate::plan::Plan;
use crate::store::records::{Boundary, Committed, Head};
use crate::store::restore::ValueId;

/// A failed check.
struct Evidence {
    check: &'static str,
    /// What was expected, what came, and where.
    text: String,
}

impl Evidence {
    const fn new(check: &'static str, text: String) -> Self {
        Self { check, text }
    }
}

/// Sums over the tasks of a stage.
struct Sums {
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

impl Sums {
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
    /// All tasks are done: the checks of the whole stage, then the next boundary.
    pub(crate) fn complete_stage(&mut self, fleet: &mut Fleet) {
        let Some(number) = self.stage.as_ref().map(|stage| stage.number) else { return };
        let moduli = Moduli::of(&self.record.plan, self.record.sweep, number);
        let sums = match self.check_stage(&moduli) {
            Ok(Some(sums)) => sums,
            Ok(None) => return,
            Err(Evidence { check, text }) => return self.end_by_check(fleet, check, &text),
        };
        if let Err(Evidence { check, text }) = self.take_functionals(fleet, sums.functionals, &moduli.output) {
            return self.end_by_check(fleet, check, &text);
        }
        let Some(stage) = self.stage.take() else { return };
        self.record.totals.stages += 1;
        self.boundaries.count_input(&self.record.plan, number, sums.input.states);
        let stored = self.add_boundary(fleet, stage, sums.output);
        self.update_disk_peak(fleet);
        let plan = &self.record.plan;
        if number + 1 >= plan.stages() {
            return self.complete_sweep(fleet);
        }
        if plan.stage(number).ends_column(plan.board) {
            self.start_copies(fleet);
        }
        self.drop_superseded(fleet);
        if stored {
            self.store(fleet);
        }
        fleet.work_changed();
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
            totals: written,
            exact: stage.closed,
            tasks: stage.tasks.len() as u32,
        };
        let ends_sweep = stage.number + 1 >= plan.stages();
        let tasks: Vec<Committed> = stage.tasks.into_iter().filter_map(|task| task.done).collect();
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
        self.boundaries.push(Boundary { head, tasks, copies: BTreeSet::new(), stored });
        stored
    }

    fn complete_sweep(&mut self, fleet: &mut Fleet) {
        self.drop_boundaries(fleet, 0);
        self.forget_vain_copies(fleet);
        self.record.sweep += 1;
        if self.record.sweep as usize >= self.record.plan.sweeps.len() {
            self.finish(fleet);
        } else {
            self.store(fleet);
            fleet.work_changed();
        }
    }

    /// Sums over the stage's tasks, compared with the stage before and with other sweeps.
    fn check_stage(&mut self, moduli: &Moduli) -> Result<Option<Sums>, Evidence> {
        let Some(stage) = &self.stage else { return Ok(None) };
        let plan = &self.record.plan;
        let sums = Sums::of(stage, plan, moduli, read_by_stage(self.info(), plan, stage.number));
        let pass = plan.stage(stage.number).boundaries().0;
        let place = format!("sweep {}, stage {}, from pass {pass}", self.record.sweep + 1, stage.number);
        if let Some(before) = self.boundaries.input_of(plan, stage.number) {
            read_as_written(before, &sums.input, &moduli.input, "what the stage before wrote", &place)?;
        }
        if plan.meets(stage.number) {
            let no_kept = || Evidence::new("boundary", format!("no vector was kept ({place})"));
            let kept = self.boundaries.kept(plan).ok_or_else(no_kept)?;
            read_as_written(kept, &sums.kept, &moduli.kept, "what was kept", &place)?;
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
            if let Some(entry) = self.functionals.early(functional).filter(|entry| !entry.ok) {
                let failed = entry.checks.iter().filter(|c| !c.ok).map(|c| format!("{}: {}", c.name, c.detail));
                let text = format!("{}: {}", entry.name, failed.collect::<Vec<_>>().join("; "));
                return Err(Evidence::new("functional", text));
            }
        }
        Ok(())
    }
}
