//! Passes: mass balance, and Go's own law.
//!
//! ```text
//!   by streams   sum read = sum over d of by_degree[d];   sum over d of d x by_degree[d] = new_sums, after shifts;
//!                new_sums of one pass = sum over d of by_degree[d] of the next;   new_sums of the last = sum written
//!   by blocks    sum of value x ways through the window = sum of what came out
//! ```

use keima_residue::{add_mod, mul_mod};

use super::findings::{Check, Findings};
use crate::form::certificate::Certificate;
use crate::form::stage::{Pass, Stage};

/// Mass balance of every pass and stage, modulo every prime.
pub(super) fn balance(certificate: &Certificate<'_>) -> Check {
    let mut findings = Findings::new("mass_balance");
    let (mut passes, mut stages) = (0, 0);
    for stage in certificate.sweeps.iter().flat_map(|sweep| &sweep.stages) {
        stages += 1;
        match (&stage.balance, certificate.head.by_blocks) {
            (Some([expected, got]), true) => {
                findings.same_lanes(&format!("{}, what came out", stage.place), expected, got, &stage.moduli);
            }
            (None, false) => {
                passes += stage.passes.len();
                balance_of(stage, &mut findings);
            }
            (Some(_), false) => {
                findings.fail(format!("{}: expected a balance of each pass, got one of all", stage.place));
            }
            (None, true) => findings.fail(format!("{}: expected a balance of its passes, got none", stage.place)),
        }
        let states = stage.reads.as_ref().map(|reads| reads.states);
        if let (Some(states), Some(pass), false) = (states, stage.passes.first(), certificate.head.by_blocks) {
            findings.equal(&format!("{}, states of its first pass", stage.place), &states, &pass.states);
        }
    }
    let good = if certificate.head.by_blocks {
        format!("holds in {stages} stages, modulo every prime")
    } else {
        format!("holds in {passes} passes of {stages} stages, modulo every prime")
    };
    findings.check(good)
}

fn balance_of(stage: &Stage<'_>, findings: &mut Findings) {
    let moduli = &stage.moduli;
    let (Some(reads), Some(writes)) = (&stage.reads, &stage.writes) else {
        return findings.fail(format!("{}: expected what it read and wrote, got none", stage.place));
    };
    if stage.passes.is_empty() {
        findings.fail(format!("{}: expected the sums of its passes, got none", stage.place));
    }
    let mut before = reads.sums.clone();
    for (number, pass) in stage.passes.iter().enumerate() {
        let place = format!("{}, pass {}", stage.place, pass.number);
        let lanes = before.len();
        let old = sum_rows(&pass.by_degree, moduli, lanes, |_, value, _| value);
        findings.same_lanes(&format!("{place}, what went in"), &before, &old, moduli);
        let made = sum_rows(&pass.by_degree, moduli, lanes, |degree, value, p| mul_mod(degree % p, value, p));
        let new = moved(pass, &made, moduli, &place, findings);
        let zeros = vec![0; lanes];
        let told = if pass.new_sums.is_empty() { &zeros } else { &pass.new_sums };
        findings.same_lanes(&format!("{place}, what came out"), &new, told, moduli);
        if let Some(next) = stage.passes.get(number + 1)
            && next.states > pass.successors
        {
            let (most, got) = (pass.successors, next.states);
            findings.fail(format!("{place}: expected at most {most} states after it, got {got}"));
        }
        before.clone_from(told);
    }
    findings.same_lanes(&format!("{}, sums written", stage.place), &before, &writes.sums, moduli);
}

/// The sums of all successors after each has moved up by its shift.
fn moved(pass: &Pass, made: &[u64], moduli: &[u64], place: &str, findings: &mut Findings) -> Vec<u64> {
    if pass.by_shift.is_empty() {
        return made.to_vec();
    }
    let lanes = made.len();
    let shifted = sum_rows(&pass.by_shift, moduli, lanes, |_, value, _| value);
    findings.same_lanes(&format!("{place}, successors by shift"), made, &shifted, moduli);
    let mut moved = vec![0; lanes];
    for (shift, row) in pass.by_shift.iter().enumerate() {
        let up = shift * moduli.len();
        for (lane, (&value, &p)) in row.iter().zip(moduli.iter().cycle()).enumerate() {
            // What moves beyond the last coefficient is dropped.
            if let Some(sum) = moved.get_mut(lane + up) {
                *sum = add_mod(*sum, value, p);
            }
        }
    }
    moved
}

/// The sum of rows, each value changed by its row's number and its modulus.
fn sum_rows(rows: &[Vec<u64>], moduli: &[u64], lanes: usize, change: impl Fn(u64, u64, u64) -> u64) -> Vec<u64> {
    let mut sums = vec![0; lanes];
    for (number, row) in (0_u64..).zip(rows) {
        for ((sum, &value), &p) in sums.iter_mut().zip(row).zip(moduli.iter().cycle()) {
            *sum = add_mod(*sum, change(number, value, p), p);
        }
    }
    sums
}

/// Go: every state has three successors, or two where one would leave a stone without a liberty: new + dropped = 3 old.
pub(super) fn law(certificate: &Certificate<'_>) -> Option<Check> {
    let head = &certificate.head;
    if head.problem != "go" || head.by_blocks {
        return None;
    }
    let mut findings = Findings::new("problem_law");
    let mut passes = 0;
    for stage in certificate.sweeps.iter().flat_map(|sweep| &sweep.stages) {
        for pass in &stage.passes {
            passes += 1;
            law_of(head.height.into(), stage, pass, &mut findings);
        }
    }
    Some(findings.check(format!("new + dropped = 3 old holds in {passes} passes, modulo every prime")))
}

fn law_of(height: u64, stage: &Stage<'_>, pass: &Pass, findings: &mut Findings) {
    let place = format!("{}, pass {}", stage.place, pass.number);
    for (lane, &p) in stage.moduli.iter().enumerate() {
        let at = |degree: usize| pass.by_degree.get(degree).and_then(|row| row.get(lane)).copied().unwrap_or(0);
        let least = if pass.number < height { 3 } else { 2 };
        for degree in (0..pass.by_degree.len()).filter(|degree| !(least..=3).contains(degree)) {
            findings.equal(&format!("{place}, states with {degree} successors modulo {p}"), &0, &at(degree));
        }
        let new = pass.new_sums.get(lane).copied().unwrap_or(0);
        let expected = mul_mod(3 % p, add_mod(at(2), at(3), p), p);
        findings.equal(&format!("{place}, 3 old modulo {p}"), &expected, &add_mod(new, at(2), p));
    }
}
