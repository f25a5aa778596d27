//! Several results of one number: they agree, though their primes and cuts differ.

use keima_residue::Integer;

use super::findings::{Check, Findings};
use crate::form::certificate::Certificate;
use crate::form::result::Results;
use crate::verdict::Verified;

/// Options for which a turned board is another question.
const FIXED_BY: [&str; 3] = ["side", "from", "to"];

/// What results are compared by.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    /// Problem, options and board: results with the same are of one number.
    subject: String,
    count: Integer,
    moduli: Vec<u64>,
    /// Numbers of functionals by name.
    values: Vec<(String, Integer)>,
}

impl Number {
    pub(crate) fn of(certificate: &Certificate<'_>) -> Self {
        let head = &certificate.head;
        let value = |value: &crate::form::certificate::FunctionalValue| {
            Some((head.functionals[value.functional].name.clone(), value.count.clone()?))
        };
        Self {
            subject: subject(&head.problem, &head.options, &head.size),
            count: certificate.result.count.clone(),
            moduli: head.moduli.clone(),
            values: certificate.result.values.iter().filter_map(value).collect(),
        }
    }

    pub(crate) fn of_result(results: &Results) -> Self {
        Self {
            subject: subject(&results.problem, &results.options, &results.size),
            count: results.count.clone(),
            moduli: results.residues.iter().map(|(modulus, _)| *modulus).collect(),
            values: results.series.clone(),
        }
    }
}

/// What was counted, with its options.
fn subject(problem: &str, options: &[(String, String)], size: &str) -> String {
    let mut texts: Vec<String> = options.iter().map(|(name, value)| format!(" {name}={value}")).collect();
    texts.sort_unstable();
    format!("{problem} {}{}", board(size, options), texts.concat())
}

/// A size, the smaller side first: a board and the same board turned are one. It stays as it is where an option names a side or
/// cells of it.
pub(super) fn board(size: &str, options: &[(String, String)]) -> String {
    let is_fixed = options.iter().any(|(name, _)| FIXED_BY.contains(&name.as_str()));
    let sides = size.split_once(['x', 'X']).filter(|_| !is_fixed);
    let sides = sides.and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
    sides.map_or_else(|| size.to_ascii_lowercase(), |(a, b)| format!("{}x{}", a.min(b), a.max(b)))
}

/// Compares results of one number. A check for each number that several results have; none where no two are of one.
pub fn compare(results: &[&Verified]) -> Vec<Check> {
    let mut checks = Vec::new();
    for (place, first) in results.iter().enumerate() {
        let own = |other: &&&Verified| other.number.subject == first.number.subject;
        if results[..place].iter().any(|other| own(&other)) {
            continue;
        }
        let others: Vec<&&Verified> = results[place + 1..].iter().filter(own).collect();
        if others.is_empty() {
            continue;
        }
        let mut findings = Findings::new("agreement");
        let mut primes = first.number.moduli.clone();
        for other in &others {
            findings.equal(&first.number.subject, &first.number.count, &other.number.count);
            for (name, count) in &other.number.values {
                if let Some((_, own)) = first.number.values.iter().find(|(own, _)| own == name) {
                    findings.equal(name, own, count);
                }
            }
            primes.extend(&other.number.moduli);
        }
        primes.sort_unstable();
        primes.dedup();
        let (subject, results) = (&first.number.subject, others.len() + 1);
        checks.push(
            findings.check(format!("{results} results of {subject} agree, over {} different primes", primes.len())),
        );
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_board_is_the_same_unless_an_option_names_a_side_of_it() {
        let check = |one: &str, other: &str, option: Option<&str>, expected: bool| {
            let options: Vec<_> = option.into_iter().map(|name| (name.to_owned(), String::new())).collect();
            assert_eq!(board(one, &options) == board(other, &options), expected, "{one}, {other}, {option:?}");
        };
        check("4x5", "4x5", None, true);
        check("4x5", "5X4", None, true);
        check("4x5", "5x4", Some("hamiltonian"), true);
        check("4x5", "4X5", Some("side"), true);
        check("4x5", "5x4", Some("side"), false);
        check("4x5", "5x4", Some("from"), false);
        check("4x5", "4x6", None, false);
        check("5", "5", None, true);
    }
}
