//! Checks a finished task's manifest: its form, then its laws.
//!
//! ```text
//!   input.sums = sum_d by_degree[d] of pass 0        the first pass takes what was read
//!   new_sums of pass k = sum_d by_degree[d] of k+1   nothing is lost between passes
//!   sum_s by_shift[s] = sum_d d * by_degree[d]       every successor has one shift
//!   new_sums = sum_s x^s * by_shift[s]               mass balance: out = in x successors, without what moves beyond x^(c-1)
//!   law(by_degree, new_sum, modulus)                 the problem's own (one coefficient)
//!   output.sums = new_sums of the last pass = sum over the runs
//!   balance.expected = balance.got                   by blocks, over all families and all passes
//! ```
//!
//! All modulo each lane's modulus, for any number c of coefficients. Where no successor moves, `by_shift` is empty, and all stand
//! for shift 0. Tasks of the block executor have no degrees: they check their families themselves, and
//! only the sum over the runs is checked here. A manifest of a wrong form comes from a broken worker; a manifest that
//! breaks a law is evidence about the numbers. Cost: O(runs + splits + passes x degrees x lanes) per task.

use std::collections::HashSet;
use std::ops::Range;

use keima_model::ProblemInfo;
use keima_orders::{AttemptId, Lanes};
use keima_residue::{add_mod, add_row, mul_mod};
use keima_runs::{KeyGap, MAX_GAPS, MAX_SPLITS, PassTally, TaskManifest};

/// Most runs of one task. Outputs are merged; several runs hold different ranges of keys.
const MOST_RUNS: usize = 1 << 16;
/// A larger figure of one task (bytes, states, nanoseconds) is no figure: sums of them would say nothing any more.
const MOST_FIGURE: u64 = 1 << 58;
/// Most bytes of a run: for itself and for each record; and for each lane of one.
const RUN_BYTES: u64 = 1 << 16;
const RECORD_BYTES: u64 = 64;
const LANE_BYTES: u64 = 16;

/// What a finished task's manifest is compared with.
pub(super) struct Asked<'a> {
    pub(super) attempt: AttemptId,
    pub(super) first_pass: u32,
    pub(super) passes: u32,
    /// Moduli of what is written.
    pub(super) moduli: Vec<u64>,
    /// Lanes for each modulus.
    pub(super) coefficients: u32,
    /// By blocks only.
    pub(super) blocks: Option<AskedBlocks>,
    /// Indices of the functionals that fall on the passes.
    pub(super) functionals: &'a [u32],
}

/// What only tasks of the block executor are asked.
pub(super) struct AskedBlocks {
    /// Moduli of what is read.
    pub(super) moduli_in: Vec<u64>,
    /// Moduli of the kept vector, where two vectors meet.
    pub(super) kept: Option<Vec<u64>>,
    /// The lanes that the task takes, where several share those of a family.
    pub(super) lanes: Option<Lanes>,
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

impl Asked<'_> {
    fn lanes(&self) -> usize {
        self.moduli.len() * self.coefficients as usize
    }

    /// The lanes that the task was to take.
    fn own_lanes(&self) -> Range<usize> {
        let some = self.blocks.as_ref().and_then(|blocks| blocks.lanes);
        some.map_or(0..self.lanes(), Lanes::range)
    }

    fn lanes_ok(&self, what: &str, lanes: &[u64]) -> Result<(), Fault> {
        self.lanes_modulo(&self.moduli, what, lanes)
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
        form(!self.moduli.is_empty(), || "the sweep has no moduli".into())?;
        form(m.runs.len() <= MOST_RUNS, || format!("expected at most {MOST_RUNS} runs, got {}", m.runs.len()))?;
        let mut names = HashSet::new();
        let lanes = self.own_lanes();
        form(m.first_lane as usize == lanes.start, || {
            format!("expected runs from lane {} on, got them from lane {}", lanes.start, m.first_lane)
        })?;
        let moduli = if lanes.len() == self.lanes() { Some(&self.moduli[..]) } else { self.moduli.get(lanes.clone()) };
        let moduli = moduli.ok_or_else(|| Fault::Form(format!("the stage has no lanes {lanes:?}")))?;
        for run in &m.runs {
            let own = AttemptId::of_run(&run.id) == Some(self.attempt);
            let plain = run.id.0.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'/');
            form(own && plain && run.id.0.len() < 256 && names.insert(&run.id), || {
                format!("expected distinct runs {}/..., got {}", self.attempt, run.id)
            })?;
            form(run.records > 0 && run.first_key <= run.last_key, || {
                format!("run {}: {} records with keys {:x} to {:x}", run.id, run.records, run.first_key, run.last_key)
            })?;
            self.lanes_modulo(moduli, "sums of a run", &run.sums)?;
            let record_bytes = LANE_BYTES.saturating_mul(self.lanes() as u64).saturating_add(RECORD_BYTES);
            let most = run.records.saturating_add(1).saturating_mul(record_bytes).saturating_add(RUN_BYTES);
            form(run.bytes <= most, || {
                let (id, records, bytes) = (&run.id, run.records, run.bytes);
                format!("run {id} of {records} records: expected at most {most} bytes, got {bytes}")
            })?;
        }
        check_figures(m)?;
        form(m.splits.len() <= MAX_SPLITS, || format!("expected at most {MAX_SPLITS} splits, got {}", m.splits.len()))?;
        form(m.splits.is_sorted_by(|a, b| a.key < b.key), || "splits are not ascending".into())?;
        form(m.gaps.len() <= MAX_GAPS, || format!("expected at most {MAX_GAPS} gaps, got {}", m.gaps.len()))?;
        let is_gap = |gap: &KeyGap| gap.after < gap.before;
        form(m.gaps.iter().all(is_gap) && m.gaps.is_sorted_by(|a, b| a.before <= b.after), || {
            "gaps are not ascending".into()
        })?;
        let moduli_in = self.blocks.as_ref().map_or(&self.moduli[..], |blocks| &blocks.moduli_in);
        let asked_kept = self.blocks.as_ref().and_then(|blocks| blocks.kept.as_ref());
        let kept = match (&m.kept, asked_kept) {
            (None, None) => None,
            (Some(tally), Some(kept)) => Some(("kept vector", tally, &kept[..])),
            (tally, _) => {
                let (expected, got) = (asked_kept.is_some(), tally.is_some());
                return Err(Fault::Form(format!("a kept vector was read: expected {expected}, got {got}")));
            }
        };
        let ends = [("input", &m.input, moduli_in), ("output", &m.output, &self.moduli[..])];
        for (what, tally, moduli) in ends.into_iter().chain(kept) {
            self.lanes_modulo(moduli, what, &tally.sums)?;
            self.lanes_modulo(moduli, what, &tally.fingerprint)?;
        }
        let passes = self.passes as usize;
        form(m.passes.len() == passes, || format!("expected {passes} passes, got {}", m.passes.len()))?;
        for pass in m.passes.iter().filter(|_| self.blocks.is_none()) {
            form(pass.by_degree.len() <= 256, || format!("{} degrees", pass.by_degree.len()))?;
            form(pass.by_shift.len() <= 256, || format!("{} shifts", pass.by_shift.len()))?;
            self.lanes_ok("sums after a pass", &pass.new_sums)?;
            pass.by_degree.iter().try_for_each(|sums| self.lanes_ok("sums by degree", sums))?;
            pass.by_shift.iter().try_for_each(|sums| self.lanes_ok("sums by shift", sums))?;
        }
        form(m.balance.is_some() == self.blocks.is_some(), || {
            let (expected, got) = (self.blocks.is_some(), m.balance.is_some());
            format!("a mass balance of the whole window: expected {expected}, got {got}")
        })?;
        if let Some(balance) = &m.balance {
            self.lanes_ok("mass balance", &balance.expected)?;
            self.lanes_ok("mass balance", &balance.got)?;
        }
        let mut told: Vec<u32> = m.functionals.iter().map(|f| f.functional).collect();
        told.sort_unstable();
        form(told == *self.functionals, || format!("expected functionals {:?}, got {told:?}", self.functionals))?;
        m.functionals.iter().try_for_each(|f| self.lanes_ok("a functional", &f.lanes))?;
        self.check_own_lanes(m)
    }

    /// A task with some of the lanes tells nothing of the others, and states only with the first: other tasks tell them.
    fn check_own_lanes(&self, m: &TaskManifest) -> Result<(), Fault> {
        let own = self.own_lanes();
        let balance = m.balance.iter().flat_map(|balance| [&balance.expected, &balance.got]);
        let functionals = m.functionals.iter().map(|functional| &functional.lanes);
        for row in [&m.output.sums, &m.output.fingerprint].into_iter().chain(balance).chain(functionals) {
            let other = row.iter().enumerate().find(|(lane, value)| **value != 0 && !own.contains(lane));
            form(other.is_none(), || format!("expected sums of lanes {own:?} alone, got {row:?}"))?;
        }
        let tells = m.input.states > 0 || m.output.states > 0 || !m.splits.is_empty();
        form(own.start == 0 || !tells, || {
            let (read, written) = (m.input.states, m.output.states);
            format!("expected states of the task with lane 0 alone, got {read} and {written} with lane {}", own.start)
        })
    }

    fn check_laws(&self, info: &dyn ProblemInfo, m: &TaskManifest) -> Result<(), Fault> {
        if self.blocks.is_some() {
            // The worker checked the laws of each family.
            if let Some(balance) = &m.balance {
                self.equal(&balance.expected, &balance.got, || "mass balance of the whole window".into())?;
            }
            return self.check_written(m);
        }
        let wrote =
            |pass: Option<u32>| pass.map_or_else(|| "the input".into(), |pass| format!("what pass {pass} wrote"));
        let (mut sums, mut last) = (&m.input.sums, None);
        for (pass, tally) in (self.first_pass..).zip(&m.passes) {
            let mut old = vec![0; self.lanes()];
            tally.by_degree.iter().for_each(|sums| add_row(&mut old, sums, &self.moduli));
            self.equal(sums, &old, || format!("what pass {pass} read against {}", wrote(last)))?;
            self.check_balance(pass, tally)?;
            if self.coefficients == 1 {
                self.check_own_law(info, pass, tally)?;
            }
            (sums, last) = (&tally.new_sums, Some(pass));
        }
        self.equal(sums, &m.output.sums, || format!("output against {}", wrote(last)))?;
        self.check_written(m)?;
        let first = m.passes.first().map_or(m.input.states, |p| p.states);
        if first != m.input.states {
            return Err(Fault::Law(format!(
                "states that pass {} read: expected {}, as in the input, got {first}",
                self.first_pass, m.input.states
            )));
        }
        Ok(())
    }

    fn check_written(&self, m: &TaskManifest) -> Result<(), Fault> {
        let (mut written, lanes) = (vec![0; self.lanes()], self.own_lanes());
        if let (Some(own), Some(moduli)) = (written.get_mut(lanes.clone()), self.moduli.get(lanes.start..)) {
            m.runs.iter().for_each(|run| add_row(own, &run.sums, moduli));
        }
        self.equal(&m.output.sums, &written, || "sum of the runs against the output".into())
    }

    /// Mass balance of one pass, in every lane.
    fn check_balance(&self, pass: u32, tally: &PassTally) -> Result<(), Fault> {
        let moduli = &self.moduli;
        let mut made = vec![0; self.lanes()];
        for (degree, sums) in (0_u64..).zip(&tally.by_degree) {
            for ((sum, &value), &p) in made.iter_mut().zip(sums).zip(moduli.iter().cycle()) {
                *sum = add_mod(*sum, mul_mod(degree, value, p), p);
            }
        }
        if tally.by_shift.is_empty() {
            return self
                .equal(&made, &tally.new_sums, || format!("mass balance of pass {pass}, sum of d x by_degree[d]"));
        }
        let (mut shifted, mut moved) = (vec![0; self.lanes()], vec![0; self.lanes()]);
        for (shift, sums) in tally.by_shift.iter().enumerate() {
            add_row(&mut shifted, sums, moduli);
            let up = (shift * moduli.len()).min(moved.len());
            add_row(&mut moved[up..], sums, moduli);
        }
        self.equal(&made, &shifted, || format!("successors of pass {pass} by shift, sum of d x by_degree[d]"))?;
        self.equal(&moved, &tally.new_sums, || format!("mass balance of pass {pass}, sum of x^s x by_shift[s]"))
    }

    fn check_own_law(&self, info: &dyn ProblemInfo, pass: u32, tally: &PassTally) -> Result<(), Fault> {
        let mut by_degree = Vec::with_capacity(tally.by_degree.len());
        for (lane, &modulus) in self.moduli.iter().enumerate() {
            by_degree.clear();
            by_degree.extend(tally.by_degree.iter().map(|sums| sums[lane]));
            let new = tally.new_sums[lane];
            info.law(pass, &by_degree, new, modulus)
                .unwrap_or(Ok(()))
                .map_err(|text| Fault::Law(format!("law of pass {pass} modulo {modulus}: {text}")))?;
        }
        Ok(())
    }

    /// Two rows are equal. `what` names them, if they are not.
    fn equal(&self, expected: &[u64], got: &[u64], what: impl FnOnce() -> String) -> Result<(), Fault> {
        differs(expected, got, &self.moduli).map_or(Ok(()), |text| Err(Fault::Law(format!("{}: {text}", what()))))
    }
}

/// Figures that only statistics and progress use: each is possible, so that sums of many are.
fn check_figures(m: &TaskManifest) -> Result<(), Fault> {
    let times = m.times;
    let records = m.runs.iter().map(|run| run.records).chain(m.splits.iter().map(|split| split.records));
    let states = [m.input.states, m.output.states].into_iter().chain(m.passes.iter().map(|pass| pass.states));
    let bytes = [m.bytes_read, m.bytes_written, m.bytes_spilled];
    let nanos = [times.read_nanos, times.map_nanos, times.write_nanos];
    let largest = records.chain(states).chain(bytes).chain(nanos).max().unwrap_or(0);
    form(largest <= MOST_FIGURE, || format!("expected figures up to {MOST_FIGURE}, got {largest}"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use keima_orders::JobId;
    use keima_runs::{Balance, RunId, RunManifest, Tally};

    /// A task that was to take lanes 2 and 3 of four, and what it may tell.
    #[test]
    fn tasks_tell_of_their_own_lanes_alone() {
        type Change = fn(&mut TaskManifest);
        let attempt = AttemptId { job: JobId(1), sweep: 0, generation: 2, task: 3, attempt: 4 };
        let moduli = vec![101, 103, 107, 109];
        let lanes = Some(Lanes { first: 2, end: 4 });
        let blocks = Some(AskedBlocks { moduli_in: moduli.clone(), kept: None, lanes });
        let asked = Asked { attempt, first_pass: 3, passes: 1, moduli, coefficients: 1, blocks, functionals: &[] };
        let run = RunManifest {
            id: RunId(format!("{attempt}/r0")),
            bytes: 300,
            records: 5,
            first_key: 1,
            last_key: 9,
            sums: vec![7, 8],
            checksum: 9,
        };
        let tally = Tally { states: 0, sums: vec![0, 0, 7, 8], fingerprint: vec![0, 0, 1, 2] };
        let manifest = TaskManifest {
            runs: vec![run],
            first_lane: 2,
            input: tally.clone(),
            output: tally,
            passes: vec![PassTally::default()],
            balance: Some(Balance { expected: vec![0, 0, 3, 4], got: vec![0, 0, 3, 4] }),
            ..TaskManifest::default()
        };
        let check = |change: Change, expected: &str| {
            let mut changed = manifest.clone();
            change(&mut changed);
            let checked = asked.check_form(&changed).and_then(|()| asked.check_written(&changed));
            let got = checked.map_or_else(|(Fault::Form(text) | Fault::Law(text))| text, |()| String::new());
            assert!(
                got.contains(expected) && got.is_empty() == expected.is_empty(),
                "expected {expected:?}, got {got:?}"
            );
        };
        check(|_| (), "");
        check(|m| m.first_lane = 0, "expected runs from lane 2 on, got them from lane 0");
        check(|m| m.runs[0].sums.push(0), "sums of a run: expected 2 lanes, got 3");
        check(|m| m.runs[0].sums[1] = 109, "lane 1 is 109, not below its modulus 109");
        check(|m| m.runs[0].sums[1] = 5, "sum of the runs against the output: lane 3");
        check(|m| m.output.sums[0] = 1, "expected sums of lanes 2..4 alone");
        check(|m| m.output.fingerprint[1] = 1, "expected sums of lanes 2..4 alone");
        check(|m| m.balance = Some(Balance { expected: vec![0, 1, 3, 4], got: vec![0; 4] }), "lanes 2..4 alone");
        check(|m| m.input.states = 5, "states of the task with lane 0 alone, got 5 and 0 with lane 2");
        check(|m| m.splits = vec![keima_runs::Split { key: 10, records: 5 }], "states of the task with lane 0 alone");
    }
}
