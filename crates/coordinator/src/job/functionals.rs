//! Functionals: the residues that sweeps have read off, and the values that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use keima_model::{Direction, Functional, ProblemInfo};
use keima_residue::{crt, residue_of};

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
        let functionals = info.map(ProblemInfo::functionals).unwrap_or_default();
        let after = functionals.get(functional as usize).map(|functional| functional.after_pass);
        // Where two vectors meet, only the last stage reads one.
        let reads = |stage: &u32| after.is_some_and(|pass| pass < plan.stage(*stage).end_pass());
        let stage = (0..plan.forward_stages()).find(reads).or(plan.stages().checked_sub(1));
        let mut known = Vec::new();
        for sweep in 0..plan.sweeps.len() as u32 {
            if let Some(lanes) = self.lanes(ValueId { sweep, functional }) {
                known.extend(plan.stage_moduli(sweep, stage.unwrap_or(0)).into_iter().zip(lanes.iter().copied()));
            }
        }
        known
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
