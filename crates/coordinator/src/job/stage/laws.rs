//! Checks a finished task's manifest: its form, then its laws.
//!
//! ```text
//!   input.sums = sum_d by_degree[d] of pass 0        the first pass takes what was read
//!   new_sums of pass k = sum_d by_degree[d] of k+1   nothing is lost between passes
//!   new_sums = sum_d d * by_degree[d]                mass balance: out = in x successors (one coefficient)
//!   law(by_degree, new_sum, modulus)                 the problem's own
//!   output.sums = new_sums of the last pass = sum over the runs
//! ```
//!
//! All modulo each lane's modulus. Tasks of the block executor have no degrees: they check their families themselves, and
//! only the sum over the runs is checked here. A manifest of a wrong form comes from a broken worker; a manifest that
//! breaks a law is evidence about the numbers. Cost: O(runs + splits + passes x degrees x lanes) per task.

use std::collections::HashSet;

use keima_model::ProblemInfo;
use keima_orders::{AttemptId, TaskOrder};
use keima_residue::{add_mod, add_row, mul_mod};
use keima_runs::{MAX_SPLITS, PassTally, TaskManifest};

/// Most runs of one task. Outputs are merged; several runs hold different ranges of keys.
const MOST_RUNS: usize = 1 << 16;

/// What a finished task's manifest is compared with.
pub(super) struct Asked {
    /// The task's order; the inputs are not looked at.
    pub(super) order: TaskOrder,
    /// Lanes for each modulus.
    pub(super) coefficients: u32,
    /// Indices of the functionals that fall on the passes.
    pub(super) functionals: Vec<u32>,
}

/// What is wrong with a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is no manifest of this task.
    Form(String),
    /// Its numbers contradict each other.
    Law(String),
}

fn form(ok: bool, text: impl FnOnce() -> String) -> Result<(), Fault> {
    if ok { Ok(()) } else { Err(Fault::Form(text())) }
}

impl Asked {
    fn lanes(&self) -> usize {
        self.order.moduli.len() * self.coefficients as usize
    }

    fn lanes_ok(&self, what: &str, lanes: &[u64]) -> Result<(), Fault> {
        self.lanes_modulo(&self.order.moduli, what, lanes)
    }

    fn lanes_modulo(&self, moduli: &[u64], what: &str, lanes: &[u64]) -> Result<(), Fault> {
        let expected = moduli.len() * self.coefficients as usize;
        form(lanes.len() == expected, || format!("{what}: expected {expected} lanes, got {}", lanes.len()))?;
        for (lane, &value) in lanes.iter().enumerate() {
            let modulus = moduli[lane % moduli.len()];
            form(value < modulus, || format!("{what}: lane {lane} is {value}, not below its modulus {modulus}"))?;
        }
        Ok(())
    }

    /// Form and laws of a manifest.
    pub(super) fn check(&self, info: &dyn ProblemInfo, manifest: &TaskManifest) -> Result<(), Fault> {
        self.check_form(manifest)?;
        self.check_laws(info, manifest)
    }

    fn check_form(&self, m: &TaskManifest) -> Result<(), Fault> {
        form(!self.order.moduli.is_empty(), || "the sweep has no moduli".into())?;
        form(m.runs.len() <= MOST_RUNS, || format!("expected at most {MOST_RUNS} runs, got {}", m.runs.len()))?;
        let mut names = HashSet::new();
        for run in &m.runs {
            let own = AttemptId::of_run(&run.id) == Some(self.order.attempt);
            let plain = run.id.0.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'/');
            form(own && plain && run.id.0.len() < 256 && names.insert(&run.id), || {
                format!("expected distinct runs {}/..., got {}", self.order.attempt, run.id)
            })?;
            form(run.records > 0 && run.first_key <= run.last_key, || {
                format!("run {}: {} records with keys {:x} to {:x}", run.id, run.records, run.first_key, run.last_key)
            })?;
            self.lanes_ok("sums of a run", &run.sums)?;
        }
        form(m.splits.len() <= MAX_SPLITS, || format!("expected at most {MAX_SPLITS} splits, got {}", m.splits.len()))?;
        form(m.splits.is_sorted_by(|a, b| a.key < b.key), || "splits are not ascending".into())?;
        let kept = match (&m.kept, self.order.kept()) {
            (None, None) => None,
            (Some(tally), Some(kept)) => Some(("kept vector", tally, &kept.moduli[..])),
            (tally, _) => {
                let (expected, got) = (self.order.kept().is_some(), tally.is_some());
                return Err(Fault::Form(format!("a kept vector was read: expected {expected}, got {got}")));
            }
        };
        let ends = [("input", &m.input, self.order.moduli_in()), ("output", &m.output, &self.order.moduli[..])];
        for (what, tally, moduli) in ends.into_iter().chain(kept) {
            self.lanes_modulo(moduli, what, &tally.sums)?;
            self.lanes_modulo(moduli, what, &tally.fingerprint)?;
        }
        let passes = self.order.window.len as usize;
        form(m.passes.len() == passes, || format!("expected {passes} passes, got {}", m.passes.len()))?;
        for pass in m.passes.iter().filter(|_| self.order.block.is_none()) {
            form(pass.by_degree.len() <= 256, || format!("{} degrees", pass.by_degree.len()))?;
            self.lanes_ok("sums after a pass", &pass.new_sums)?;
            for sums in &pass.by_degree {
                self.lanes_ok("sums by degree", sums)?;
            }
        }
        let mut told: Vec<u32> = m.functionals.iter().map(|f| f.functional).collect();
        told.sort_unstable();
        form(told == self.functionals, || format!("expected functionals {:?}, got {told:?}", self.functionals))?;
        m.functionals.iter().try_for_each(|f| self.lanes_ok("a functional", &f.lanes))
    }

    fn check_laws(&self, info: &dyn ProblemInfo, m: &TaskManifest) -> Result<(), Fault> {
        if self.order.block.is_some() {
            // The worker checked the laws of each family.
            return self.check_written(m);
        }
        let mut before = (&m.input.sums, "the input".to_string());
        for (pass, tally) in (self.order.first_pass..).zip(&m.passes) {
            let mut old = vec![0; self.lanes()];
            tally.by_degree.iter().for_each(|sums| add_row(&mut old, sums, &self.order.moduli));
            self.equal(&format!("what pass {pass} read against {}", before.1), before.0, &old)?;
            if self.coefficients == 1 {
                self.check_degrees(info, pass, tally)?;
            }
            before = (&tally.new_sums, format!("what pass {pass} wrote"));
        }
        self.equal(&format!("output against {}", before.1), before.0, &m.output.sums)?;
        self.check_written(m)?;
        let first = m.passes.first().map_or(m.input.states, |p| p.states);
        if first != m.input.states {
            return Err(Fault::Law(format!(
                "states that pass {} read: expected {}, as in the input, got {first}",
                self.order.first_pass, m.input.states
            )));
        }
        Ok(())
    }

    fn check_written(&self, m: &TaskManifest) -> Result<(), Fault> {
        let mut written = vec![0; self.lanes()];
        m.runs.iter().for_each(|run| add_row(&mut written, &run.sums, &self.order.moduli));
        self.equal("sum of the runs against the output", &m.output.sums, &written)
    }

    fn check_degrees(&self, info: &dyn ProblemInfo, pass: u32, tally: &PassTally) -> Result<(), Fault> {
        for (lane, &modulus) in self.order.moduli.iter().enumerate() {
            let by_degree: Vec<u64> = tally.by_degree.iter().map(|sums| sums[lane]).collect();
            let expected = (0..).zip(&by_degree).fold(0, |sum, (d, &s)| add_mod(sum, mul_mod(d, s, modulus), modulus));
            let new = tally.new_sums[lane];
            if expected != new {
                return Err(Fault::Law(format!(
                    "mass balance of pass {pass} modulo {modulus}: expected {expected} = sum of d x by_degree[d], got {new}"
                )));
            }
            info.law(pass, &by_degree, new, modulus)
                .unwrap_or(Ok(()))
                .map_err(|text| Fault::Law(format!("law of pass {pass} modulo {modulus}: {text}")))?;
        }
        Ok(())
    }

    fn equal(&self, what: &str, expected: &[u64], got: &[u64]) -> Result<(), Fault> {
        differs(expected, got, &self.order.moduli).map_or(Ok(()), |text| Err(Fault::Law(format!("{what}: {text}"))))
    }
}

/// The first lane in which two rows differ, in words; `None` where they are equal.
pub(super) fn differs(expected: &[u64], got: &[u64], moduli: &[u64]) -> Option<String> {
    if expected.len() != got.len() {
        return Some(format!("expected {} lanes, got {}", expected.len(), got.len()));
    }
    let lane = expected.iter().zip(got).position(|(e, g)| e != g)?;
    let modulus = moduli.get(lane % moduli.len().max(1)).copied().unwrap_or(0);
    Some(format!("lane {lane}, modulus {modulus}: expected {}, got {}", expected[lane], got[lane]))
}
