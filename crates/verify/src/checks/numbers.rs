//! From residues to numbers, again: primes, recombination, spare prime, bound, sums, tables, published values, formula.

use std::collections::BTreeSet;

use keima_residue::{Integer, add_mod, crt, is_prime, residue_of};

use super::findings::{Check, Findings};
use crate::form::certificate::{Certificate, FunctionalValue, Head};
use crate::known;

/// The moduli are distinct primes, and the spare is the largest. Then no single wrong residue can pass. Each is in one sweep, and
/// the stages of that sweep have it: no sweep is left out.
pub(super) fn primes(certificate: &Certificate<'_>) -> Check {
    let mut findings = Findings::new("primes");
    let moduli = &certificate.head.moduli;
    for (number, &modulus) in moduli.iter().enumerate() {
        if !is_prime(modulus) {
            findings.fail(format!("expected primes, got {modulus}"));
        }
        if moduli[..number].contains(&modulus) {
            findings.fail(format!("expected distinct primes, got {modulus} twice"));
        }
    }
    match moduli.split_last() {
        Some((spare, others)) if !others.is_empty() => {
            if others.iter().any(|other| other > spare) {
                findings.fail(format!("expected the largest prime as the spare, got {spare}"));
            }
        }
        _ => findings.fail(format!("expected at least one prime and a spare, got {}", moduli.len())),
    }
    let mut swept: Vec<u64> = certificate.sweeps.iter().flat_map(|sweep| sweep.moduli.iter().copied()).collect();
    // A board of one column may need no stage, and then no sweep.
    if !swept.is_empty() {
        let mut wanted = moduli.clone();
        swept.sort_unstable();
        wanted.sort_unstable();
        if swept != wanted {
            findings.fail(format!("expected each of {} primes in one sweep, got {swept:?}", moduli.len()));
        }
    }
    for (number, sweep) in certificate.sweeps.iter().enumerate() {
        let carried: BTreeSet<u64> = sweep.stages.iter().flat_map(|stage| stage.moduli.iter().copied()).collect();
        // In memory a vector is summed modulo one of them.
        let is_all = certificate.head.in_memory || carried.len() == sweep.moduli.len();
        if !is_all || !carried.iter().all(|prime| sweep.moduli.contains(prime)) {
            findings
                .fail(format!("sweep {number}: expected stages with its primes {:?}, got {carried:?}", sweep.moduli));
        }
    }
    findings.check(format!("{} distinct primes, the largest as the spare", moduli.len()))
}

/// The numbers of a certificate, made again from its residues.
pub(super) struct Values {
    /// One for each entry of the result: its coefficients.
    counts: Vec<Vec<Integer>>,
    spare: Check,
}

/// Recombines the residues of each functional, and predicts the spare's.
pub(super) fn values(certificate: &Certificate<'_>) -> Values {
    let mut findings = Findings::new("spare_prime");
    let moduli = &certificate.head.moduli;
    let mut counts = Vec::new();
    let mut residues = 0;
    for value in &certificate.result.values {
        let name = &certificate.head.functionals[value.functional].name;
        let mut coefficients = Vec::new();
        for row in &value.residues {
            let pairs: Vec<(u64, u64)> = moduli.iter().copied().zip(row.iter().copied()).collect();
            residues += 1;
            match recombine(&pairs) {
                Ok((count, expected, got)) => {
                    findings.equal(&format!("{name}, residue modulo the spare"), &expected, &got);
                    coefficients.push(count);
                }
                Err(text) => {
                    findings.fail(format!("{name}: {text}"));
                    coefficients.push(Integer::new());
                }
            }
        }
        counts.push(coefficients);
    }
    let spare = moduli.last().copied().unwrap_or(0);
    let others = moduli.len().saturating_sub(1);
    let spare = findings.check(format!("modulo {spare}: residues of {residues} numbers agree with {others} for each"));
    Values { counts, spare }
}

/// The number of all residues but the spare's, the spare's residue as predicted, and as it is.
pub(super) fn recombine(pairs: &[(u64, u64)]) -> Result<(Integer, u64, u64), String> {
    let Some((&(spare, got), others)) = pairs.split_last().filter(|&(&(spare, _), _)| spare > 1) else {
        return Err("expected residues and a spare".to_owned());
    };
    let count = crt(others).map_err(|error| error.to_string())?;
    let expected = residue_of(&count, spare);
    Ok((count, expected, got))
}

impl Values {
    pub(super) fn checks(self, certificate: &Certificate<'_>) -> Vec<Check> {
        let Self { counts, spare } = self;
        let with_values = || certificate.result.values.iter().zip(&counts);
        let mut checks = vec![spare, bounds(certificate, with_values()), sums(certificate, with_values())];
        checks.extend(tables(certificate, with_values()));
        checks.extend(published(certificate));
        checks.extend(formula(&certificate.head, certificate));
        checks
    }
}

/// The primes determine every number within its bound, and each number is within it.
fn bounds<'c>(
    certificate: &Certificate<'_>,
    values: impl Iterator<Item = (&'c FunctionalValue, &'c Vec<Integer>)>,
) -> Check {
    let mut findings = Findings::new("bound");
    let head = &certificate.head;
    let others = head.moduli.split_last().map_or(&[][..], |(_, others)| others);
    let product: Integer = others.iter().map(|&modulus| Integer::from(modulus)).product();
    let mut own = 0;
    for (value, counts) in values {
        let functional = &head.functionals[value.functional];
        let name = &functional.name;
        let known = known::bound(head, functional.after_pass);
        own += usize::from(known.is_some());
        let powers = known.as_ref().map_or(&functional.bound[..], std::slice::from_ref);
        let Some(bound) = power_below(powers, &product) else {
            findings.fail(format!("{name}: expected primes whose product exceeds {}, got {product}", show(powers)));
            continue;
        };
        // Two lists of powers may be the same number.
        if known.is_some() && power_below(&functional.bound, &product).as_ref() != Some(&bound) {
            findings.fail(format!("bound of {name}: expected {}, got {}", show(powers), show(&functional.bound)));
        }
        if let Some(count) = counts.iter().find(|count| **count > bound) {
            findings.fail(format!("{name}: expected at most {bound}, got {count}"));
        }
    }
    let whose = if own > 0 { "as this program knows it" } else { "as the certificate states it" };
    findings.check(format!("the product of all primes but the spare ({}) exceeds it, {whose}", others.len()))
}

/// A product of powers, if it is below `limit`. It is not made where it would be longer than that: an exponent of a few digits
/// could ask for any amount of memory.
pub(super) fn power_below(powers: &[(u32, u32)], limit: &Integer) -> Option<Integer> {
    let bits = powers.iter().map(|&(base, exponent)| u64::from(base.max(1).ilog2()) * u64::from(exponent));
    if bits.fold(0, u64::saturating_add) > u64::from(limit.significant_bits()) {
        return None;
    }
    let power = powers.iter().map(|&(base, exponent)| Integer::from(Integer::u_pow_u(base, exponent))).product();
    Some(power).filter(|power| power < limit)
}

/// `"3^81 2^7"`.
fn show(powers: &[(u32, u32)]) -> String {
    powers.iter().map(|(base, exponent)| format!("{base}^{exponent}")).collect::<Vec<_>>().join(" ")
}

/// Counts are sums over coefficients and over the parts of the answer.
fn sums<'c>(
    certificate: &Certificate<'_>,
    values: impl Iterator<Item = (&'c FunctionalValue, &'c Vec<Integer>)>,
) -> Check {
    let mut findings = Findings::new("count");
    let (head, result) = (&certificate.head, &certificate.result);
    let mut answer = vec![Integer::new(); head.coefficients];
    let (mut numbers, mut answers, mut seen) = (0, 0, vec![false; head.functionals.len()]);
    for (value, counts) in values {
        let functional = &head.functionals[value.functional];
        if std::mem::replace(&mut seen[value.functional], true) {
            findings.fail(format!("expected {} once, got it again", functional.name));
        }
        let sum: Integer = counts.iter().sum();
        if let Some(count) = &value.count {
            findings.equal(&functional.name, &sum, count);
        }
        if functional.answer {
            answers += 1;
            answer.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
        numbers += 1;
    }
    let wanted = head.functionals.iter().filter(|functional| functional.answer).count();
    if answers != wanted || wanted == 0 {
        findings.fail(format!("expected {} parts of the answer, got {answers}", wanted.max(1)));
    }
    findings.equal("the count", &answer.iter().sum::<Integer>(), &result.count);
    if head.coefficients > 1 {
        let show = |numbers: &[Integer]| numbers.iter().map(Integer::to_string).collect::<Vec<_>>().join(" ");
        findings.equal("the count by coefficient", &show(&answer), &show(&result.counts));
    } else if !result.counts.is_empty() {
        findings.fail("expected no counts by coefficient, got some");
    }
    findings.check(format!("{numbers} numbers follow from their residues"))
}

/// Each row of a table is the sum of its terms.
fn tables<'c>(
    certificate: &Certificate<'_>,
    values: impl Iterator<Item = (&'c FunctionalValue, &'c Vec<Integer>)>,
) -> Option<Check> {
    let mut findings = Findings::new("tables");
    let numbers: Vec<(usize, &Vec<Integer>)> = values.map(|(value, counts)| (value.functional, counts)).collect();
    let mut rows = 0;
    for table in &certificate.result.tables {
        for row in &table.rows {
            let mut sum = Integer::new();
            for &(functional, coefficient, weight) in &row.terms {
                let counts = numbers.iter().find(|(number, _)| *number == functional).map(|(_, counts)| counts);
                match counts.and_then(|counts| counts.get(coefficient)) {
                    Some(count) => sum += Integer::from(weight) * count,
                    None => findings.fail(format!("{} {}: its terms were not counted", table.name, row.index)),
                }
            }
            findings.equal(&format!("{} {}", table.name, row.index), &sum, &row.count);
            rows += 1;
        }
    }
    (rows > 0).then(|| findings.check(format!("{rows} rows follow from the counted numbers")))
}

/// Numbers that others have published.
fn published(certificate: &Certificate<'_>) -> Option<Check> {
    let mut findings = Findings::new("known_value");
    let (head, result) = (&certificate.head, &certificate.result);
    let mut known = 0;
    let mut meet = |what: &str, published: Option<Integer>, got: &Integer| {
        if let Some(published) = published {
            known += 1;
            findings.equal(what, &published, got);
        }
    };
    meet("the count", known::count(&head.problem, &head.options, head.height, head.length), &result.count);
    for value in &result.values {
        let functional = &head.functionals[value.functional];
        if let Some(count) = &value.count {
            meet(&functional.name, known::board(&head.problem, head.height, functional.index), count);
        }
    }
    for table in &result.tables {
        for row in &table.rows {
            let published = known::row(&head.problem, head.height, head.length, &table.name, &row.index);
            meet(&format!("{} {}", table.name, row.index), published, &row.count);
        }
    }
    (known > 0).then(|| findings.check(format!("{known} numbers equal published ones")))
}

/// Go's asymptotic formula, for each board.
fn formula(head: &Head, certificate: &Certificate<'_>) -> Option<Check> {
    let mut findings = Findings::new("formula");
    let mut compared = 0;
    for value in &certificate.result.values {
        let functional = &head.functionals[value.functional];
        let Some(count) = value.count.as_ref().filter(|_| head.problem == "go") else { continue };
        match known::formula::agrees(head.height, functional.index, count) {
            None => {}
            Some(Ok(())) => compared += 1,
            Some(Err(text)) => findings.fail(format!("{}: {text}", functional.name)),
        }
    }
    let any = compared > 0 || findings.any();
    any.then(|| findings.check(format!("{compared} numbers agree with A B^(m+n) L^(mn)")))
}

/// Sums of the answer's residues over its functionals and coefficients, with their primes.
pub(super) fn total_residues(certificate: &Certificate<'_>) -> Vec<(u64, u64)> {
    let head = &certificate.head;
    let answers = || certificate.result.values.iter().filter(|value| head.functionals[value.functional].answer);
    let total = |(lane, &modulus): (usize, &u64)| {
        let residues = answers().flat_map(|value| &value.residues).filter_map(|row| row.get(lane));
        (modulus, residues.fold(0, |sum, &residue| add_mod(sum, residue % modulus, modulus)))
    };
    head.moduli.iter().enumerate().map(total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Powers and a limit in bits; whether the power is made. The last ones would take gigabytes.
    #[test]
    fn only_powers_below_the_limit_are_made() {
        for (powers, bits, expected) in [
            (&[][..], 1, Some("1")),
            (&[(3, 4)], 7, Some("81")),
            (&[(3, 4)], 6, None),
            (&[(2, 7)], 7, None),
            (&[(2, 3), (3, 1)], 5, Some("24")),
            (&[(1, u32::MAX), (0, 5)], 5, Some("0")),
            (&[(3, u32::MAX)], 1000, None),
            (&[(u32::MAX, u32::MAX), (u32::MAX, u32::MAX)], 1000, None),
        ] {
            let limit = Integer::from(Integer::u_pow_u(2, bits));
            let got = power_below(powers, &limit).map(|power| power.to_string());
            assert_eq!(got.as_deref(), expected, "{powers:?} below 2^{bits}");
        }
    }
}
