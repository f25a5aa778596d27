//! Stages: their order, what they hand on, how many states there are, and what was read off.

use keima_residue::{Integer, crt, residue_of};

use super::findings::{Check, Findings};
use crate::form::certificate::{Certificate, Head, Sweep};
use crate::form::stage::{Stage, Vector};

/// Each sweep passes every cell once: forward from the start, and where vectors meet, back from the end to the same place.
pub(super) fn order(certificate: &Certificate<'_>) -> Check {
    let mut findings = Findings::new("stages");
    let mut stages = 0;
    for (number, sweep) in certificate.sweeps.iter().enumerate() {
        stages += sweep.stages.len();
        order_of(&certificate.head, number, sweep, &mut findings);
    }
    let sweeps = certificate.sweeps.len();
    if sweeps == 0 && first_pass(&certificate.head) != certificate.head.passes() {
        findings.fail("expected at least one sweep, got none");
    }
    findings
        .check(format!("{stages} stages of {sweeps} sweep{} pass every cell once", if sweeps == 1 { "" } else { "s" }))
}

/// The first pass that a stage does.
fn first_pass(head: &Head) -> u64 {
    // By blocks the first column is one filling for each state.
    if head.by_blocks { u64::from(head.height).min(head.passes()) } else { 0 }
}

fn order_of(head: &Head, number: usize, sweep: &Sweep<'_>, findings: &mut Findings) {
    let (mut forward, mut back) = (first_pass(head), head.passes());
    let (mut started, mut returns) = (false, false);
    for stage in &sweep.stages {
        let place = &stage.place;
        let is_first = if stage.transposed { !returns } else { !started };
        if stage.starts != is_first {
            findings.fail(format!("{place}: expected the start of a vector to be {is_first}, got {}", stage.starts));
        }
        if stage.transposed {
            returns = true;
            findings.equal(&format!("{place}, pass after its last"), &back, &stage.end_pass());
            back = stage.first_pass;
        } else {
            started = true;
            if returns {
                findings.fail(format!("{place}: expected no forward stage after a transposed one"));
            }
            findings.equal(&format!("{place}, first pass"), &forward, &stage.first_pass);
            forward = stage.end_pass();
        }
        for (expected, pass) in (stage.first_pass..).zip(&stage.passes) {
            findings.equal(&format!("{place}, number of a pass"), &expected, &pass.number);
        }
    }
    if forward != back {
        findings.fail(format!("sweep {number}: expected stages up to pass {back}, got them up to {forward}"));
    }
}

/// Each stage has read what the stage before wrote. Where two vectors meet, the kept one is the one that was written.
pub(super) fn boundaries(certificate: &Certificate<'_>) -> Check {
    let mut findings = Findings::new("boundaries");
    let mut compared = 0;
    for sweep in &certificate.sweeps {
        for (before, stage) in sweep.stages.iter().zip(sweep.stages.iter().skip(1)) {
            if !stage.starts {
                compared += 1;
                meet(&stage.place, before, stage.reads.as_ref(), &mut findings);
            }
        }
        for stage in sweep.stages.iter().filter(|stage| stage.kept.is_some()) {
            compared += 1;
            match sweep.stages.iter().rfind(|other| !other.transposed) {
                Some(kept) => meet(&format!("{}, kept vector", stage.place), kept, stage.kept.as_ref(), &mut findings),
                None => findings.fail(format!("{}: expected a forward vector that was kept, got none", stage.place)),
            }
        }
        for stage in &sweep.stages {
            complete(&certificate.head, stage, &mut findings);
            starts_right(&certificate.head, stage, &mut findings);
        }
    }
    findings.check(format!("{compared} vectors were read as they were written: states, sums, fingerprints"))
}

fn meet(place: &str, before: &Stage<'_>, read: Option<&Vector>, findings: &mut Findings) {
    let (Some(wrote), Some(read)) = (&before.writes, read) else {
        return findings.fail(format!("{place}: expected a vector that was written and read, got none"));
    };
    if wrote.moduli != read.moduli {
        return findings.fail(format!("{place}: expected the moduli {:?}, got {:?}", wrote.moduli, read.moduli));
    }
    findings.same_lanes(&format!("{place}, sums read"), &wrote.sums, &read.sums, &read.moduli);
    findings.same_lanes(&format!("{place}, fingerprint read"), &wrote.fingerprint, &read.fingerprint, &read.moduli);
    if before.exact || wrote.states < read.states {
        findings.equal(&format!("{place}, states read"), &wrote.states, &read.states);
    }
}

/// The vector that a forward stage begins with: by blocks entries of 0 and 1, by streams one empty border with the count 1.
/// Without this an empty start would be a count of 0 that no law contradicts.
fn starts_right(head: &Head, stage: &Stage<'_>, findings: &mut Findings) {
    let Some(reads) = stage.reads.as_ref().filter(|_| stage.starts && !stage.transposed) else { return };
    // Quoridor begins with one state for each place of the first pawn's goal, which only its rules tell.
    let single = head.problem != "quoridor";
    if !head.by_blocks && single {
        findings.equal(&format!("{}, states of the start", stage.place), &1, &reads.states);
    }
    if head.by_blocks || single {
        // A number of entries is smaller than any prime.
        let first = reads.sums.first().copied().unwrap_or(0);
        let ones = if head.by_blocks { first.clamp(1, reads.states.max(1)) } else { 1 };
        let one = |(lane, _): (usize, &u64)| if lane < reads.moduli.len() { ones } else { 0 };
        let lanes = reads.sums.len();
        let expected: Vec<u64> = reads.moduli.iter().cycle().take(lanes).enumerate().map(one).collect();
        findings.same_lanes(&format!("{}, sums of the start", stage.place), &expected, &reads.sums, &reads.moduli);
    }
}

/// A stage has what its kind must have.
fn complete(head: &Head, stage: &Stage<'_>, findings: &mut Findings) {
    let place = &stage.place;
    if stage.writes.is_some() == stage.kept.is_some() {
        findings.fail(format!("{place}: expected a vector that was written, or one that was met, got both or none"));
    }
    if let (Some(records), Some(writes)) = (stage.records, &stage.writes)
        && records < writes.states
    {
        findings.fail(format!("{place}: expected runs of at least {} records, got {records}", writes.states));
    }
    if !head.in_memory && stage.writes.is_some() != stage.records.is_some() {
        findings.fail(format!("{place}: expected the hash of the runs that it wrote"));
    }
    let is_own = |moduli: &[u64]| moduli.iter().all(|modulus| stage.moduli.contains(modulus));
    if stage.writes.as_ref().is_some_and(|writes| !is_own(&writes.moduli)) {
        findings.fail(format!("{place}: expected to write modulo its own primes"));
    }
}

/// Sweeps have the same numbers of states. `None` where there is one sweep.
pub(super) fn state_counts(certificate: &Certificate<'_>) -> Option<Check> {
    let (first, others) = certificate.sweeps.split_first()?;
    let mut findings = Findings::new("state_counts");
    for sweep in others {
        findings.equal("stages of a sweep", &first.stages.len(), &sweep.stages.len());
        for (one, other) in first.stages.iter().zip(&sweep.stages) {
            for ((what, expected), (_, got)) in states(one).into_iter().zip(states(other)) {
                findings.equal(&format!("{}, {what}", other.place), &expected, &got);
            }
        }
    }
    let sweeps = certificate.sweeps.len();
    (!others.is_empty()).then(|| findings.check(format!("{sweeps} sweeps have the same numbers of states")))
}

/// The numbers of states of a stage that do not depend on how it was cut.
fn states(stage: &Stage<'_>) -> Vec<(String, u64)> {
    let vector = |what: &str, vector: &Option<Vector>| Some((what.to_owned(), vector.as_ref()?.states));
    let exact = if stage.exact { stage.passes.len() } else { 1 };
    let passes = stage.passes.iter().take(exact);
    let passes = passes.map(|pass| (format!("states before pass {}", pass.number), pass.states));
    let made = stage.passes.iter().filter(|_| stage.exact);
    let made = made.map(|pass| (format!("successors of pass {}", pass.number), pass.successors));
    let read = vector("states read", &stage.reads);
    let written = if stage.exact { vector("states written", &stage.writes) } else { None };
    read.into_iter().chain(written).chain(passes).chain(made).collect()
}

/// What stages read off is what the numbers leave as residues. `None` for counts in memory: there stages read nothing off.
pub(super) fn readings(certificate: &Certificate<'_>) -> Option<Check> {
    let (head, result) = (&certificate.head, &certificate.result);
    if head.in_memory {
        return None;
    }
    let mut findings = Findings::new("functionals");
    let mut compared = 0;
    for value in &result.values {
        let functional = &head.functionals[value.functional];
        // The number again, from all residues but the spare's.
        let others = head.moduli.len().saturating_sub(1);
        let number = |row: &Vec<u64>| {
            let pairs: Vec<(u64, u64)> = head.moduli.iter().copied().zip(row.iter().copied()).take(others).collect();
            crt(&pairs).ok()
        };
        let Some(numbers) = value.residues.iter().map(number).collect::<Option<Vec<Integer>>>() else { continue };
        for (sweep_number, sweep) in certificate.sweeps.iter().enumerate() {
            let mut read = 0;
            for stage in &sweep.stages {
                for (_, lanes) in stage.readings.iter().filter(|(functional, _)| *functional == value.functional) {
                    let expected: Vec<u64> = numbers
                        .iter()
                        .flat_map(|number| stage.moduli.iter().map(|&modulus| residue_of(number, modulus)))
                        .collect();
                    let what = format!("{}, {}", stage.place, functional.name);
                    findings.same_lanes(&what, &expected, lanes, &stage.moduli);
                    read += 1;
                }
            }
            if read != 1 {
                let name = &functional.name;
                findings.fail(format!("sweep {sweep_number}, {name}: expected it to be read once, got {read} times"));
            }
            compared += read;
        }
    }
    let told = certificate.sweeps.iter().flat_map(|sweep| &sweep.stages).flat_map(|stage| &stage.readings);
    for (number, _) in told {
        if !result.values.iter().any(|value| value.functional == *number) {
            findings.fail(format!("{}: it was read, but has no number", head.functionals[*number].name));
        }
    }
    Some(findings.check(format!("{compared} values that stages read off are those of the numbers")))
}

/// One number from two boundaries. `None` where it was computed at one.
pub(super) fn cuts(certificate: &Certificate<'_>) -> Option<Check> {
    let cuts = certificate.cuts.as_ref()?;
    let mut findings = Findings::new("two_cuts");
    findings.equal("the count at a second boundary", &cuts.one, &cuts.other);
    let spare = certificate.head.moduli.last().copied().unwrap_or(0);
    findings.equal("the prime, which is the spare", &spare, &cuts.modulus);
    if cuts.modulus >= 2 {
        let expected = residue_of(&certificate.result.count, cuts.modulus);
        findings.equal(&format!("the count modulo {}", cuts.modulus), &expected, &cuts.one);
    }
    Some(findings.check(format!("two inner products modulo {} are the count", cuts.modulus)))
}
