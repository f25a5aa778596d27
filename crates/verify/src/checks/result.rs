//! The result beside a certificate, and results without one.

use keima_residue::{Integer, is_prime};

use super::agreement::board;
use super::findings::{Check, Findings};
use super::numbers::{power_below, recombine, total_residues};
use crate::form::certificate::Certificate;
use crate::form::read::{At, FormError};
use crate::form::result::Results;
use crate::known;

/// The check that `--double-check` adds to a result after its certificate was made.
const ADDED: &str = "double_check";

/// What the result says is what its certificate says.
pub(super) fn beside(certificate: &Certificate<'_>, results: &Results) -> Check {
    let mut findings = Findings::new("result");
    let (head, numbers) = (&certificate.head, &certificate.result);
    findings.equal("count", &numbers.count, &results.count);
    findings.equal("problem", &head.problem, &results.problem);
    if board(&head.size, &head.options) != board(&results.size, &head.options) {
        findings.fail(format!("size: expected {}, got {}", head.size, results.size));
    }
    let sorted = |options: &[(String, String)]| {
        let mut texts: Vec<String> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        texts.sort_unstable();
        texts.join(" ")
    };
    findings.equal("options", &sorted(&head.options), &sorted(&results.options));
    let pairs = |pairs: &[(u64, u64)]| {
        pairs.iter().map(|(modulus, residue)| format!("{residue} mod {modulus}")).collect::<Vec<_>>().join(", ")
    };
    findings.equal("residues", &pairs(&total_residues(certificate)), &pairs(&results.residues));
    if let Some(identity) = &results.identity {
        findings.equal("identity", &head.identity, identity);
    }
    if let Some(builds) = &results.builds {
        findings.equal("builds", &head.builds.join(", "), &builds.join(", "));
    }
    if let (Some(notes), false) = (&results.notes, head.in_memory) {
        findings.equal("notes", &certificate.notes.join("\n"), &notes.join("\n"));
    }
    if let (Some(seconds), false) = (results.seconds, head.in_memory) {
        findings.equal("milliseconds", &certificate.milliseconds, &((seconds * 1000.0).round() as u64));
    }
    let own: Vec<_> = results.checks.iter().filter(|(name, ..)| name != ADDED).collect();
    let show = |checks: &[&(String, bool, String)]| {
        checks.iter().map(|(name, ok, detail)| format!("{name} {ok}: {detail}")).collect::<Vec<_>>().join("; ")
    };
    findings.equal("checks", &show(&numbers.checks.iter().collect::<Vec<_>>()), &show(&own));
    if let Some((name, ..)) = results.checks.iter().find(|(_, ok, _)| !ok) {
        findings.fail(format!("check {name}: expected it to hold, got that it does not"));
    }
    rows(certificate, results, &mut findings);
    for (name, count) in &results.series {
        let value = numbers.values.iter().find(|value| head.functionals[value.functional].name == *name);
        match value.and_then(|value| value.count.as_ref()) {
            Some(expected) => findings.equal(name, expected, count),
            None => findings.fail(format!("{name}: expected a number of the certificate, got {count}")),
        }
    }
    findings.check("count, residues, tables and checks beside the certificate are those in it")
}

/// What `--double-check` says is what both certificates say, and they are of two counts.
pub(crate) fn second(first: &Certificate<'_>, second: &Certificate<'_>, told: &At<'_>) -> Result<Check, FormError> {
    let mut findings = Findings::new("second_count");
    findings.equal("count", &second.result.count, &told.field("count")?.integer()?);
    for (name, certificate) in [("hash", second), ("first_hash", first)] {
        findings.equal(name, &certificate.hash, &told.field(name)?.text()?);
    }
    if first.hash == second.hash || first.head.moduli == second.head.moduli {
        findings.fail("expected another count, with primes of its own, got the first one again".to_owned());
    }
    Ok(findings.check("what is said of it is what its certificate says, and its primes are others"))
}

fn rows(certificate: &Certificate<'_>, results: &Results, findings: &mut Findings) {
    for (table, texts, count) in &results.rows {
        let tables = certificate.result.tables.iter().filter(|known| known.name == *table);
        let mut rows = tables.flat_map(|known| &known.rows);
        match rows.find(|row| texts.contains(&row.index)) {
            Some(row) => findings.equal(&format!("{table} {}", row.index), &row.count, count),
            None => {
                findings.fail(format!("{table} {}: expected a row of the certificate, got {count}", texts.join(" ")));
            }
        }
    }
}

/// The checks that a result without a certificate allows.
pub(super) fn alone(results: &Results) -> Vec<Check> {
    let none = "none: an older keima printed this result. Its stages cannot be checked, what follows can";
    let mut checks = vec![Check { name: "certificate", ok: true, detail: none.to_owned() }];
    let mut spare = Findings::new("spare_prime");
    match recombine(&results.residues) {
        Ok((count, expected, got)) => {
            spare.equal("residue modulo the spare", &expected, &got);
            spare.equal("the count", &count, &results.count);
        }
        Err(text) => spare.fail(text),
    }
    if let Some((modulus, _)) = results.residues.iter().find(|(modulus, _)| !is_prime(*modulus)) {
        spare.fail(format!("expected primes, got {modulus}"));
    }
    checks.push(spare.check(format!("{} residues give the count, the last as the spare", results.residues.len())));
    let mut ended = Findings::new("checks");
    for (name, _, detail) in results.checks.iter().filter(|(_, ok, _)| !ok) {
        ended.fail(format!("{name}: expected it to hold, got {detail}"));
    }
    checks.push(ended.check(format!("{} checks held when it was counted", results.checks.len())));
    let Some((height, length)) = sides(&results.size) else { return checks };
    if let Some(published) = known::count(&results.problem, &results.options, height, length) {
        let mut findings = Findings::new("known_value");
        findings.equal("the count", &published, &results.count);
        checks.push(findings.check("equals the published value"));
    }
    if results.problem == "go" {
        checks.push(go_bound(results, height, length));
        let agrees = known::formula::agrees(height, length, &results.count);
        checks.extend(agrees.map(|agrees| {
            let mut findings = Findings::new("formula");
            agrees.unwrap_or_else(|text| findings.fail(text));
            findings.check("agrees with A B^(m+n) L^(mn)")
        }));
    }
    checks
}

fn go_bound(results: &Results, height: u32, length: u32) -> Check {
    let mut findings = Findings::new("bound");
    let others = results.residues.split_last().map_or(&[][..], |(_, others)| others);
    let product: Integer = others.iter().map(|&(modulus, _)| Integer::from(modulus)).product();
    // Sides have at most five digits each.
    let points = height * length;
    match power_below(&[(3, points)], &product) {
        None => findings.fail(format!("expected primes whose product exceeds 3^{points}, got {product}")),
        Some(bound) if results.count > bound => {
            findings.fail(format!("expected at most 3^{points}, got {}", results.count));
        }
        Some(_) => {}
    }
    findings.check(format!("at most 3^{points}, and the primes exceed it"))
}

/// Both sides of a board, the smaller one first.
fn sides(size: &str) -> Option<(u32, u32)> {
    let (first, second) = size.split_once(['x', 'X'])?;
    let (first, second) = (first.parse::<u32>().ok()?, second.parse::<u32>().ok()?);
    let most = 10_000;
    (first.max(second) <= most && first.min(second) > 0).then_some((first.min(second), first.max(second)))
}
