//! Functionals: the residues that sweeps have read off, and the values that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use keima_model::{Direction, Functional, ProblemInfo};
use keima_residue::{Integer, crt, residue_of};

use crate::outcome::{FunctionalValues, SeriesEntry, early};
use crate::plan::Plan;
use crate::store::restore::ValueId;

/// Residues of functionals, and values that are known before the job is done.
#[derive(Default)]
pub(crate) struct Functionals {
    /// One residue per lane.
    lanes: BTreeMap<ValueId, Vec<u64>>,
    early: BTreeMap<u32, SeriesEntry>,
}

impl Functionals {
    /// Stored residues of a job that has its values elsewhere, or shows none.
    pub(crate) const fn stored(lanes: BTreeMap<ValueId, Vec<u64>>) -> Self {
        Self { lanes, early: BTreeMap::new() }
    }

    /// From stored residues.
    pub(crate) fn restored(lanes: BTreeMap<ValueId, Vec<u64>>, info: Option<&dyn ProblemInfo>, plan: &Plan) -> Self {
        let functionals: BTreeSet<u32> = lanes.keys().map(|id| id.functional).collect();
        let mut restored = Self { lanes, early: BTreeMap::new() };
        for functional in functionals {
            restored.evaluate(functional, info, plan);
        }
        restored
    }

    /// The residues of a functional in one sweep.
    pub(crate) fn lanes(&self, id: ValueId) -> Option<&[u64]> {
        self.lanes.get(&id).map(Vec::as_slice)
    }

    /// All residues.
    pub(crate) fn residues(&self) -> impl Iterator<Item = (&ValueId, &Vec<u64>)> {
        self.lanes.iter()
    }

    /// Keeps the residues of a functional, and its value if they suffice.
    pub(crate) fn insert(&mut self, id: ValueId, lanes: Vec<u64>, info: Option<&dyn ProblemInfo>, plan: &Plan) {
        self.lanes.insert(id, lanes);
        self.evaluate(id.functional, info, plan);
    }

    /// Forgets the residues of a functional in one sweep; whether there were any.
    pub(crate) fn remove(&mut self, id: ValueId, info: Option<&dyn ProblemInfo>, plan: &Plan) -> bool {
        let known = self.lanes.remove(&id).is_some();
        if known {
            self.early.remove(&id.functional);
            self.evaluate(id.functional, info, plan);
        }
        known
    }

    /// The early value of a functional, with its checks.
    pub(crate) fn early(&self, functional: u32) -> Option<&SeriesEntry> {
        self.early.get(&functional)
    }

    /// Early values that pass their checks.
    pub(crate) fn early_values(&self) -> impl Iterator<Item = &SeriesEntry> {
        self.early.values().filter(|entry| entry.ok)
    }

    /// All residues so far, in the shape that recombination wants. Functionals that lack some are left out.
    pub(crate) fn all(&self, info: Option<&dyn ProblemInfo>, plan: &Plan) -> FunctionalValues {
        let functionals: BTreeSet<u32> = self.lanes.keys().map(|id| id.functional).collect();
        let mut values = FunctionalValues::new();
        for functional in functionals {
            let mut rows = vec![Vec::new(); plan.coefficients as usize];
            for sweep in 0..plan.sweeps.len() as u32 {
                let width = plan.sweep_moduli(sweep).len().max(1);
                let lanes = self.lanes(ValueId { sweep, functional }).unwrap_or(&[]);
                for (row, part) in rows.iter_mut().zip(lanes.chunks(width)) {
                    row.extend_from_slice(part);
                }
            }
            if rows.iter().all(|row| row.len() == plan.moduli.len()) {
                values.insert(functional, rows);
            } else if plan.block().is_some() && rows.len() == 1 {
                values.extend(self.completed(functional, info, plan).map(|row| (functional, vec![row])));
            }
        }
        values
    }

    /// Makes every residue wrong.
    #[cfg(test)]
    pub(crate) fn corrupt(&mut self) {
        self.lanes.values_mut().flatten().for_each(|residue| *residue ^= 1);
    }

    /// The value of a functional from the sweeps so far, if they suffice.
    fn evaluate(&mut self, functional: u32, info: Option<&dyn ProblemInfo>, plan: &Plan) {
        let known = self.residues_of(functional, info, plan);
        let info = info.filter(|_| plan.coefficients == 1);
        if let Some(entry) = info.and_then(|info| early(info, plan, functional, &known)) {
            self.early.insert(functional, entry);
        }
    }

    /// Moduli and residues of a functional with one coefficient, from the sweeps so far. The spare is the last where it
    /// is known.
    fn residues_of(&self, functional: u32, info: Option<&dyn ProblemInfo>, plan: &Plan) -> Vec<(u64, u64)> {
        let sweeps = 0..plan.sweeps.len() as u32;
        sweeps.flat_map(|sweep| self.of_sweep(ValueId { sweep, functional }, info, plan)).collect()
    }

    /// Moduli and residues of a functional with one coefficient, from one sweep.
    fn of_sweep(&self, id: ValueId, info: Option<&dyn ProblemInfo>, plan: &Plan) -> Vec<(u64, u64)> {
        let functionals = info.map(ProblemInfo::functionals).unwrap_or_default();
        let after = functionals.get(id.functional as usize).map(|functional| functional.after_pass);
        // Where two vectors meet, only the last stage reads one.
        let reads = |stage: &u32| after.is_some_and(|pass| pass < plan.stage(*stage).end_pass());
        let stage = (0..plan.forward_stages()).find(reads).or(plan.stages().checked_sub(1));
        let lanes = self.lanes(id).unwrap_or(&[]);
        plan.stage_moduli(id.sweep, stage.unwrap_or(0)).into_iter().zip(lanes.iter().copied()).collect()
    }

    /// How a sweep's residues contradict the published value of their functional, if they do.
    pub(crate) fn contradicted(&self, id: ValueId, info: Option<&dyn ProblemInfo>, plan: &Plan) -> Option<String> {
        let functionals = info.filter(|_| plan.coefficients == 1)?.functionals();
        let Functional { name, known, .. } = functionals.get(id.functional as usize)?;
        let published: Integer = known.as_ref()?.parse().ok()?;
        self.of_sweep(id, info, plan).into_iter().find_map(|(modulus, got)| {
            let expected = residue_of(&published, modulus);
            (expected != got).then(|| format!("{name}: expected {expected} modulo {modulus}, as published, got {got}"))
        })
    }

    /// The residues of a sweep for the answer, for people; empty for problems with several coefficients or parts.
    pub(crate) fn answer_of_sweep(&self, sweep: u32, info: Option<&dyn ProblemInfo>, plan: &Plan) -> String {
        let functionals = info.filter(|_| plan.coefficients == 1).map(ProblemInfo::functionals).unwrap_or_default();
        let mut answers = (0..).zip(&functionals).filter(|(_, functional)| functional.answer);
        let (Some((functional, Functional { name, known, .. })), None) = (answers.next(), answers.next()) else {
            return String::new();
        };
        let id = ValueId { sweep, functional };
        let residues = self.of_sweep(id, info, plan).into_iter();
        let residues: Vec<String> = residues.map(|(modulus, got)| format!("{got} modulo {modulus}")).collect();
        if residues.is_empty() {
            return String::new();
        }
        let agrees = known.is_some() && self.contradicted(id, info, plan).is_none();
        format!("{name} is {}{}", residues.join(", "), if agrees { ", as published" } else { "" })
    }

    /// The residues of a functional modulo all primes of the plan. Where its stage carried fewer, the others follow from
    /// those, its spare left out. `None` where there are too few.
    fn completed(&self, functional: u32, info: Option<&dyn ProblemInfo>, plan: &Plan) -> Option<Vec<u64>> {
        let known = self.residues_of(functional, info, plan);
        let (_, others) = known.split_last()?;
        let value = crt(others).ok()?;
        let residue = |&modulus: &u64| {
            known.iter().find(|(known, _)| *known == modulus).map_or_else(|| residue_of(&value, modulus), |&(_, r)| r)
        };
        Some(plan.moduli.iter().map(residue).collect())
    }
}

/// Numbers of the functionals that a stage reads off.
pub(crate) fn read_by_stage(info: Option<&dyn ProblemInfo>, plan: &Plan, stage: u32) -> Vec<u32> {
    let functionals = info.map(ProblemInfo::functionals).unwrap_or_default();
    let place = plan.stage(stage);
    let reads = |functional: &Functional| match place.direction {
        // Where two vectors meet, the last stage reads the whole board's; the stages before read nothing.
        Direction::Transposed => plan.meets(stage) && functional.after_pass + 1 == plan.board.passes(),
        // The first column of blocks has no stage of its own.
        Direction::Forward if stage == 0 => functional.after_pass < place.end_pass(),
        Direction::Forward => (place.first_pass..place.end_pass()).contains(&functional.after_pass),
    };
    (0..).zip(&functionals).filter(|(_, functional)| reads(functional)).map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::example::Example;
    use crate::plan::{PlanLimits, plan};

    /// The published number of positions on 6x7 points.
    const KNOWN: &str = "41945191530093646965";

    #[test]
    fn a_sweep_is_held_against_the_published_value() {
        let mut board = Example::new(6, 7);
        board.functionals[6].known = Some(KNOWN.to_owned());
        let limits = PlanLimits {
            task_memory_bytes: 1 << 30,
            disk_bytes: None,
            residues_per_sweep: Some(1),
            window: None,
            slots: 1,
            worker_slots: 1,
            second_copies: false,
            series: false,
        };
        let plan = plan(&board, 8, &limits).unwrap();
        let modulus = plan.sweep_moduli(1)[0];
        let residue = residue_of(&KNOWN.parse().unwrap(), modulus);
        let check = |functional: u32, residue: u64, contradiction: Option<&str>, answer: &str| {
            let id = ValueId { sweep: 1, functional };
            let mut functionals = Functionals::default();
            functionals.insert(id, vec![residue], Some(&board), &plan);
            assert_eq!(functionals.contradicted(id, Some(&board), &plan).as_deref(), contradiction);
            assert_eq!(functionals.answer_of_sweep(1, Some(&board), &plan), answer);
        };
        check(6, residue, None, &format!("L(6,7) is {residue} modulo {modulus}, as published"));
        let wrong = residue ^ 1;
        let text = format!("L(6,7): expected {residue} modulo {modulus}, as published, got {wrong}");
        check(6, wrong, Some(&text), &format!("L(6,7) is {wrong} modulo {modulus}"));
        // Of a shorter board no value is published here.
        check(5, 17, None, "");
    }
}
