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

use keima_model::Direction;
use keima_residue::add_row;
use keima_runs::Tally;

use crate::fleet::Common;
use crate::job::Job;
use crate::job::boundaries::{Boundary, Committed, Head};
use crate::job::stage::laws::differs;
use crate::outcome::early;
use crate::store::journal;

/// Name of a failed check, and what was expected and got where.
type Evidence = (&'static str, String);

/// What a stage has read of a boundary has the sums, the fingerprint and the states of what was written there.
fn read_as_written(
    before: &Boundary,
    read: &Tally,
    moduli: &[u64],
    what: &str,
    place_text: &str,
) -> Result<(), Evidence> {
    let totals = &before.head.totals;
    let sums_differ = differs(&totals.sums, &read.sums, moduli).map(|text| ("sums", text));
    let keys_differ = || differs(&totals.fingerprint, &read.fingerprint, moduli).map(|text| ("fingerprint", text));
    if let Some((which, text)) = sums_differ.or_else(keys_differ) {
        return Err(("boundary", format!("{which} of what was read against {what} ({place_text}): {text}")));
    }
    if before.head.exact && totals.states != read.states {
        let (expected, got) = (totals.states, read.states);
        return Err(("boundary", format!("states of {what} ({place_text}): expected {expected}, got {got}")));
    }
    Ok(())
}

/// Sums over the tasks of a stage.
struct Sums {
    input: Tally,
    output: Tally,
    kept: Tally,
    functionals: BTreeMap<u32, Vec<u64>>,
}

impl Job {
    /// All tasks are done: the checks of the whole stage, then the next boundary.
    pub(crate) fn complete_stage(&mut self, common: &mut Common) {
        let sums = match self.check_stage() {
            Ok(Some(sums)) => sums,
            Ok(None) => return,
            Err((check, evidence)) => return self.end_by_check(common, check, &evidence),
        };
        let moduli = self.stage.as_ref().map(|stage| self.stage_moduli(stage.number)).unwrap_or_default();
        if let Err((check, evidence)) = self.take_functionals(common, sums.functionals, &moduli) {
            return self.end_by_check(common, check, &evidence);
        }
        let Some(stage) = self.stage.take() else { return };
        self.record.totals.stages += 1;
        let plan = &self.record.plan;
        let place = plan.stage(stage.number);
        if let Some(before) = self.boundaries.last_mut().filter(|_| !plan.starts(stage.number)) {
            before.head.totals.states = sums.input.states;
            before.head.exact = true;
        }
        let head = Head {
            sweep: self.record.sweep,
            stage: stage.number,
            generation: stage.generation,
            pass: place.boundaries().1,
            direction: place.direction,
            durable: stage.durable,
            copied: false,
            totals: sums.output,
            exact: stage.closed,
            tasks: stage.tasks.len() as u32,
        };
        let (ends_column, ends_sweep) = (place.ends_column(plan.board), stage.number + 1 >= plan.stages());
        let tasks: Vec<Committed> = stage.tasks.into_iter().filter_map(|task| task.done).collect();
        let tasks_stored = common.config.persist_grants;
        let stored = tasks_stored || (stage.durable && !ends_sweep);
        if tasks_stored {
            common.journal.delete(journal::stage_key(self.id));
        } else if stored {
            for task in &tasks {
                common.store_task(self.id, head.sweep, head.generation, task);
            }
        }
        if stage.durable {
            self.last_durable_at = common.now;
        }
        if stored {
            common.store_head(self.id, &head, true);
        }
        self.boundaries.push(Boundary { head, tasks, copies: BTreeSet::new(), stored });
        self.missing.forget();
        let used = self.disk_bytes(common);
        self.record.disk_peak_bytes = self.record.disk_peak_bytes.max(used);
        if ends_sweep {
            self.complete_sweep(common);
            return;
        }
        if ends_column {
            self.start_copies(common);
        }
        self.let_boundaries_go(common);
        if stored {
            common.store_job(self, true);
        }
        common.work_changed();
    }

    fn complete_sweep(&mut self, common: &mut Common) {
        for boundary in std::mem::take(&mut self.boundaries) {
            self.drop_boundary(common, &boundary);
        }
        self.forget_vain_copies(common);
        self.record.sweep += 1;
        if self.record.sweep as usize >= self.record.plan.sweeps.len() {
            self.finish(common);
        } else {
            common.store_job(self, true);
            common.work_changed();
        }
    }

    /// Sums over the stage's tasks, held against the stage before and against other sweeps.
    fn check_stage(&mut self) -> Result<Option<Sums>, Evidence> {
        let Some(stage) = &self.stage else { return Ok(None) };
        let place = self.record.plan.stage(stage.number);
        let (read, moduli) = (self.moduli_read(stage.number), self.stage_moduli(stage.number));
        let kept_moduli = self.kept_moduli();
        let coefficients = self.record.plan.coefficients as usize;
        let lanes = moduli.len() * coefficients;
        let mut sums = Sums {
            input: Tally::zero(read.len() * coefficients),
            output: Tally::zero(lanes),
            kept: Tally::zero(kept_moduli.len()),
            functionals: self.functionals_of(stage.number).into_iter().map(|f| (f, vec![0; lanes])).collect(),
        };
        let mut states = vec![0_u64; place.window.len as usize];
        for manifest in stage.tasks.iter().filter_map(|task| task.done.as_ref()).map(|done| &done.manifest) {
            sums.input.add(&manifest.input, &read);
            sums.output.add(&manifest.output, &moduli);
            if let Some(kept) = &manifest.kept {
                sums.kept.add(kept, &kept_moduli);
            }
            for (sum, pass) in states.iter_mut().zip(&manifest.passes) {
                *sum = sum.saturating_add(pass.states);
            }
            for functional in &manifest.functionals {
                if let Some(sum) = sums.functionals.get_mut(&functional.functional) {
                    add_row(sum, &functional.lanes, &moduli);
                }
            }
        }
        let place_text =
            format!("sweep {}, stage {}, from pass {}", self.record.sweep + 1, stage.number, place.boundaries().0);
        if let Some(before) = self.input_of(stage.number) {
            read_as_written(before, &sums.input, &read, "what the stage before wrote", &place_text)?;
        }
        if self.record.plan.meets(stage.number) {
            let Some(kept) = self.kept() else {
                return Err(("boundary", format!("no vector was kept ({place_text})")));
            };
            read_as_written(kept, &sums.kept, &kept_moduli, "what was kept", &place_text)?;
        }
        // Where a family was cut, equal states of different tasks are counted twice after the first pass.
        let known = if stage.closed { states.len() } else { 1 };
        let states_at_end = match place.direction {
            Direction::Forward => sums.output.states,
            Direction::Backward => sums.input.states,
        };
        let end = stage.closed.then_some((place.end_pass(), states_at_end));
        let counts: Vec<_> = (place.first_pass..).zip(states).take(known).chain(end).collect();
        for (pass, got) in counts {
            let Some(entry) = self.record.pass_states.get_mut(pass as usize) else { continue };
            if let Some(expected) = entry.filter(|&expected| expected != got) {
                let text =
                    format!("states before pass {pass}: expected {expected} as in an earlier sweep or try, got {got}");
                return Err(("state_counts", text));
            }
            *entry = Some(got);
        }
        Ok(Some(sums))
    }

    /// Keeps the functionals of a stage and tells those that can be told.
    fn take_functionals(
        &mut self,
        common: &mut Common,
        functionals: BTreeMap<u32, Vec<u64>>,
        moduli: &[u64],
    ) -> Result<(), Evidence> {
        let sweep = self.record.sweep;
        for (functional, lanes) in functionals {
            if let Some(before) = self.values.get(&(sweep, functional)).filter(|before| **before != lanes) {
                let text = differs(before, &lanes, moduli).unwrap_or_default();
                return Err(("repeated_functional", format!("functional {functional}, sweep {sweep}: {text}")));
            }
            common.journal.put(journal::value_key(self.id, sweep, functional), &lanes);
            self.values.insert((sweep, functional), lanes);
            self.tell_early(functional);
            if let Some(entry) = self.early.get(&functional).filter(|entry| !entry.ok) {
                let failed = entry.checks.iter().filter(|c| !c.ok).map(|c| format!("{}: {}", c.name, c.detail));
                let text = format!("{}: {}", entry.name, failed.collect::<Vec<_>>().join("; "));
                return Err(("functional", text));
            }
        }
        Ok(())
    }

    /// The value of a functional from the sweeps so far, if they suffice.
    pub(crate) fn tell_early(&mut self, functional: u32) {
        let plan = &self.record.plan;
        let known = self.residues_of(functional);
        let info = Self::info(self.problem.as_ref()).filter(|_| plan.coefficients == 1);
        if let Some(entry) = info.and_then(|info| early(info, plan, functional, &known)) {
            self.early.insert(functional, entry);
        }
    }
}
