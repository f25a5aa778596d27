//! One functional: from its residues to its value, with the checks of this value.

use keima_model::{Functional, ProblemInfo};
use keima_residue::{Integer, crt, residue_of};

use super::formula::relative_error;
use super::{Check, SeriesEntry};
use crate::plan::{Plan, bound_product, bound_text};

/// Modulus and residue of one coefficient; the spare is the last.
pub(super) type Pairs = Vec<(u64, u64)>;

/// A value with its checks.
pub(super) struct Recovered {
    /// The value as users see it.
    pub(super) entry: SeriesEntry,
    /// The value by coefficient; empty where a check failed.
    pub(super) counts: Vec<Integer>,
}

/// Puts each residue beside its modulus. The error says how the shape is wrong.
pub(super) fn pair_up(plan: &Plan, rows: &[Vec<u64>]) -> Result<Vec<Pairs>, String> {
    if rows.len() != plan.coefficients as usize {
        return Err(format!("expected {} coefficients, got {}", plan.coefficients, rows.len()));
    }
    let pair_row = |row: &Vec<u64>| {
        if row.len() == plan.moduli.len() {
            Ok(plan.moduli.iter().copied().zip(row.iter().copied()).collect())
        } else {
            Err(format!("expected residues modulo {} primes, got {}", plan.moduli.len(), row.len()))
        }
    };
    rows.iter().map(pair_row).collect()
}

/// Recombines the coefficients of one functional and checks the value.
pub(super) fn recover(
    info: &dyn ProblemInfo,
    functional: &Functional,
    coefficients: &Result<Vec<Pairs>, String>,
) -> Recovered {
    let bound = info.bound_after(functional.after_pass);
    let mut checks = Vec::new();
    let mut counts = Vec::new();
    match coefficients {
        Err(text) => checks.push(Check::new("residues", false, text)),
        Ok(coefficients) => {
            let (spare, recovered) = spare_prime(coefficients);
            checks.push(spare);
            counts = recovered;
        }
    }
    if let (Ok(coefficients), false) = (coefficients, counts.is_empty()) {
        let total: Integer = counts.iter().sum();
        checks.push(within_bound(&bound, coefficients, &counts));
        checks.extend(functional.known.as_ref().map(|known| known_value(known, &total)));
        if let Some(formula) = &functional.formula {
            let found = relative_error(formula, &total);
            let ok = found.as_ref().is_ok_and(|found| found.accepted);
            let detail = match found {
                Ok(found) => format!(
                    "relative difference {:.1e} from {}, accepted up to {:.1e}",
                    found.error.abs(),
                    formula.text,
                    formula.tolerance
                ),
                Err(text) => format!("{}: {text}", formula.text),
            };
            checks.push(Check::new("formula", ok, detail));
        }
    }
    let ok = checks.iter().all(|check| check.ok);
    if !ok {
        counts.clear();
    }
    let entry = SeriesEntry {
        index: functional.index,
        name: functional.name.clone(),
        count: if ok { counts.iter().sum::<Integer>().to_string() } else { String::new() },
        counts: written_apart(&counts),
        checks,
        ok,
    };
    Recovered { entry, counts }
}

/// Several coefficients in decimal; none where there is only one, which the sum shows.
pub(super) fn written_apart(counts: &[Integer]) -> Vec<String> {
    if counts.len() > 1 { counts.iter().map(Integer::to_string).collect() } else { Vec::new() }
}

/// Recombines each coefficient without the spare, and checks it against the spare's residue. No counts if some
/// coefficient cannot be recombined at all.
fn spare_prime(coefficients: &[Pairs]) -> (Check, Vec<Integer>) {
    let mut counts = Vec::new();
    let mut failures = Vec::new();
    let mut agreed = String::new();
    for (number, pairs) in coefficients.iter().enumerate() {
        let fail = |text: String| format!("coefficient {number}: {text}");
        let Some((&(spare, got), others)) = pairs.split_last().filter(|(_, others)| !others.is_empty()) else {
            failures.push(fail(format!("expected at least one modulus and a spare, got {}", pairs.len())));
            continue;
        };
        // A modulus of 0 would divide by zero; a modulus of 1 agrees with everything.
        if let Some(&(modulus, _)) = pairs.iter().find(|(modulus, _)| *modulus < 2) {
            failures.push(fail(format!("expected primes as moduli, got {modulus}")));
            continue;
        }
        if others.iter().any(|&(modulus, _)| modulus == spare) {
            failures.push(fail(format!("expected a spare of its own, but {spare} is among the other moduli")));
            continue;
        }
        match crt(others) {
            Ok(count) => {
                let expected = residue_of(&count, spare);
                if expected == got {
                    let others = match others.len() {
                        1 => "the other residue".to_owned(),
                        number => format!("the {number} other residues"),
                    };
                    agreed = format!("residue {got} modulo {spare} agrees with {others}");
                } else {
                    failures.push(fail(format!("the others predict residue {expected} modulo {spare}, got {got}")));
                }
                counts.push(count);
            }
            Err(error) => failures.push(fail(error.to_string())),
        }
    }
    if coefficients.len() != 1 {
        agreed = format!("{agreed}; and so for all {} coefficients", coefficients.len());
    }
    if counts.len() != coefficients.len() {
        counts.clear();
    }
    let ok = failures.is_empty();
    (Check::new("spare_prime", ok, if ok { agreed } else { failures.join("; ") }), counts)
}

/// Whether the moduli determine every number within the bound, and each coefficient is within it.
fn within_bound(bound: &[(u32, u32)], coefficients: &[Pairs], counts: &[Integer]) -> Check {
    let (limit, text) = (bound_product(bound), bound_text(bound));
    let mut failures = Vec::new();
    for (number, (pairs, count)) in coefficients.iter().zip(counts).enumerate() {
        let others = pairs.split_last().map_or(&[][..], |(_, others)| others);
        let product: Integer = others.iter().map(|&(modulus, _)| modulus).product();
        if product <= limit {
            let primes = others.len();
            failures.push(format!("coefficient {number}: the product of {primes} moduli does not exceed {text}"));
        } else if *count > limit {
            failures.push(format!("coefficient {number}: expected at most {text}, got {count}"));
        }
    }
    let ok = failures.is_empty();
    Check::new("bound", ok, if ok { format!("at most {text}, as proved") } else { failures.join("; ") })
}

fn known_value(known: &str, total: &Integer) -> Check {
    let (ok, detail) = match known.parse::<Integer>() {
        Ok(published) if published == *total => (true, "equals the published value".into()),
        Ok(published) => (false, format!("expected the published {published}, got {total}")),
        Err(error) => (false, format!("the published value {known:?} is not a number: {error}")),
    };
    Check::new("known_value", ok, detail)
}
