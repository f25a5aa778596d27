//! Recombination: from residues to counts, and every check that a count must pass before anybody sees it.
//!
//! A functional's residues modulo all moduli but the spare give one integer below their product (Chinese remainder
//! theorem). It must leave the spare's residue, lie within the proved bound, equal the published value where there is
//! one, and agree with the problem's estimate. A count that fails any check is withheld; the texts of the checks and the
//! residues remain. All functions are pure and total. Cost: O(M(d) log d) for numbers of d digits.

use std::collections::BTreeMap;

use keima_model::ProblemInfo;
use keima_residue::{Integer, add_mod};
use serde::{Deserialize, Serialize};

use self::entry::{pair_up, recover, written_apart};
use crate::plan::{Plan, bound_product};

pub use self::formula::formula_error;
pub use self::tables::{Table, TableRow, tables};

mod decimal;
mod entry;
mod formula;
mod tables;
#[cfg(test)]
mod tests;

/// Entries of a series that are kept where a check failed and the series is read apart.
const MOST_FAILED: usize = 16;

/// Residues of functionals, by their index in the problem's list: `[coefficient][index of the modulus in the plan]`.
pub type FunctionalValues = BTreeMap<u32, Vec<Vec<u64>>>;

/// One check and its finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// `"spare_prime"`, `"known_value"`, `"formula"`, `"bound"`, `"column_values"`, `"mass_balance"` ...
    pub name: String,
    /// Whether it holds.
    pub ok: bool,
    /// What was compared; for a failed check, what was expected and what came.
    pub detail: String,
}

impl Check {
    /// A check of this name that holds or not.
    pub fn new(name: &str, ok: bool, detail: impl Into<String>) -> Self {
        Self { name: name.into(), ok, detail: detail.into() }
    }
}

/// The value of one functional (Go: L(m,k) at the end of column k).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesEntry {
    /// Place in the series.
    pub index: u32,
    /// The functional's name.
    pub name: String,
    /// The value in decimal, summed over the coefficients; empty where a check failed.
    pub count: String,
    /// The value by coefficient; empty where there is only one, or a check failed.
    pub counts: Vec<String>,
    /// What was checked.
    pub checks: Vec<Check>,
    /// Whether all checks hold.
    pub ok: bool,
}

/// A number modulo one prime. Serialized as decimal strings: many readers of JSON keep integers only up to 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residue {
    /// The prime.
    #[serde(with = "decimal")]
    pub modulus: u64,
    /// The residue.
    #[serde(with = "decimal")]
    pub residue: u64,
}

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The problem's name.
    pub problem: String,
    /// The problem's size, as the user gave it.
    pub size: String,
    /// The answer in decimal, summed over the coefficients; empty where any check failed.
    pub count: String,
    /// The answer by coefficient; empty where there is only one, or a check failed.
    pub counts: Vec<String>,
    /// Residues of the answer, summed over the coefficients; the spare prime is the last.
    pub residues: Vec<Residue>,
    /// All functionals with residues, the answer's among them.
    pub series: Vec<SeriesEntry>,
    /// Checks of the answer and of the whole run.
    pub checks: Vec<Check>,
    /// Whether all checks hold.
    pub ok: bool,
    /// What was counted: [`keima_model::AnyProblem::identity`]. Empty until somebody fills it in.
    pub identity: String,
    /// The builds of keima that took part, the one that began the job first.
    pub builds: Vec<String>,
}

impl Outcome {
    /// The same with what was counted, and by which builds.
    #[must_use]
    pub fn of(mut self, identity: &str, builds: &[String]) -> Self {
        identity.clone_into(&mut self.identity);
        self.builds = builds.to_vec();
        self
    }

    /// The same without its series, but for the first entries that failed a check: these are evidence.
    #[must_use]
    pub(crate) fn without_series(&self) -> Self {
        Self {
            problem: self.problem.clone(),
            size: self.size.clone(),
            count: self.count.clone(),
            counts: self.counts.clone(),
            residues: self.residues.clone(),
            series: self.series.iter().filter(|entry| !entry.ok).take(MOST_FAILED).cloned().collect(),
            checks: self.checks.clone(),
            ok: self.ok,
            identity: self.identity.clone(),
            builds: self.builds.clone(),
        }
    }

    /// Adds a check of the run; a failed one withholds every count.
    pub fn add_check(&mut self, check: Check) {
        self.checks.push(check);
        self.settle();
    }

    /// The checks that fail, a line each.
    pub(crate) fn failed_checks(&self) -> Vec<String> {
        self.checks.iter().filter(|c| !c.ok).map(|c| format!("{}: {}", c.name, c.detail)).collect()
    }

    fn settle(&mut self) {
        self.ok = self.checks.iter().all(|check| check.ok);
        if !self.ok {
            self.count.clear();
            self.counts.clear();
            for entry in &mut self.series {
                entry.count.clear();
                entry.counts.clear();
            }
        }
    }
}

/// Recombines the residues of all sweeps, and checks the counts.
///
/// The series leaves out functionals without residues. If the answer is one of them, or if residues do not fit the plan,
/// a check named `residues` fails.
pub fn recombine(info: &dyn ProblemInfo, plan: &Plan, values: &FunctionalValues) -> Outcome {
    let functionals = info.functionals();
    let mut checks = Vec::new();
    let mut missing = Vec::new();
    let mut series = Vec::new();
    let mut answers = Vec::new();
    for (number, functional) in (0_u32..).zip(&functionals) {
        if let Some(rows) = values.get(&number) {
            let recovered = recover(info, functional, &pair_up(plan, rows));
            if functional.answer {
                answers.push((recovered.counts, rows));
                checks.extend(recovered.entry.checks.iter().cloned().map(|check| (functional.name.as_str(), check)));
            }
            series.push(recovered.entry);
        } else {
            missing.push(functional.name.as_str());
            if functional.answer {
                let text = "expected its residues, but the sweeps read none";
                checks.push((functional.name.as_str(), Check::new("residues", false, text)));
            }
        }
    }
    if !functionals.iter().any(|functional| functional.answer) {
        let text = format!("expected functionals that make up the answer, but {} names none", info.name());
        checks.push(("answer", Check::new("residues", false, text)));
    }
    if let Some(number) = values.keys().find(|&&number| number as usize >= functionals.len()) {
        let text =
            format!("expected functionals 0 to {}, got residues of {number}", functionals.len().saturating_sub(1));
        checks.push(("answer", Check::new("residues", false, text)));
    }
    let mut checks = merged(checks);
    checks.push(column_values(&series, &missing));
    checks.extend(tables::known_rows(info, &series));

    let counts = sum_by_coefficient(answers.iter().map(|(counts, _)| counts.as_slice()));
    let mut outcome = Outcome {
        problem: info.name().into(),
        size: info.size(),
        count: counts.iter().sum::<Integer>().to_string(),
        counts: written_apart(&counts),
        residues: total_residues(plan, answers.iter().flat_map(|(_, rows)| rows.iter())),
        series,
        checks,
        ok: true,
        identity: String::new(),
        builds: Vec::new(),
    };
    outcome.settle();
    outcome
}

/// A functional's value before the job is done. It needs moduli whose product exceeds the bound on this functional, and
/// one more as the spare.
///
/// `known` holds modulus and residue of every sweep so far. `None` where they do not suffice yet, where there is no such
/// functional, or where values have several coefficients (these wait for the end).
pub fn early(info: &dyn ProblemInfo, plan: &Plan, functional: u32, known: &[(u64, u64)]) -> Option<SeriesEntry> {
    let functional = info.functionals().into_iter().nth(functional as usize)?;
    if plan.coefficients != 1 {
        return None;
    }
    // With the largest prime as the spare, no single wrong residue passes (see the choice of moduli).
    let mut known = known.to_vec();
    known.sort_unstable();
    let (_, others) = known.split_last()?;
    let product: Integer = others.iter().map(|&(modulus, _)| modulus).product();
    let enough = product > bound_product(&info.bound_after(functional.after_pass));
    enough.then(|| recover(info, &functional, &Ok(vec![known])).entry)
}

/// One check per name, in the order of first occurrence. If checks come from several functionals, their texts name these.
fn merged(parts: Vec<(&str, Check)>) -> Vec<Check> {
    let several = parts.iter().any(|(label, _)| Some(label) != parts.first().map(|(label, _)| label));
    let mut checks: Vec<Check> = Vec::new();
    for (label, mut part) in parts {
        if several {
            part.detail = format!("{label}: {}", part.detail);
        }
        if let Some(check) = checks.iter_mut().find(|check| check.name == part.name) {
            check.ok &= part.ok;
            check.detail = format!("{}; {}", check.detail, part.detail);
        } else {
            checks.push(part);
        }
    }
    checks
}

/// The summary of all checks of the whole series.
fn column_values(series: &[SeriesEntry], missing: &[&str]) -> Check {
    let failed: Vec<_> = series.iter().filter(|entry| !entry.ok).collect();
    let passed = |name| series.iter().flat_map(|e| &e.checks).filter(|c| c.ok && c.name == name).count();
    let kinds = [("spare prime", "spare_prime"), ("published", "known_value"), ("formula", "formula")];
    let kinds = kinds.into_iter().map(|(text, name)| (text, passed(name))).filter(|(_, passed)| *passed > 0);
    let kinds: Vec<String> = kinds.map(|(text, passed)| format!("{text} {passed}")).collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let verified = series.len() - failed.len();
    let mut parts = vec![format!("{verified} of {} intermediate counts verified{kinds}", series.len())];
    for entry in &failed {
        for check in entry.checks.iter().filter(|check| !check.ok) {
            parts.push(format!("{} fails {}: {}", entry.name, check.name, check.detail));
        }
    }
    if !missing.is_empty() {
        parts.push(format!("not read: {}", missing.join(", ")));
    }
    Check::new("column_values", failed.is_empty(), parts.join("; "))
}

fn sum_by_coefficient<'a>(parts: impl Iterator<Item = &'a [Integer]>) -> Vec<Integer> {
    let mut sums = Vec::new();
    for part in parts {
        if sums.len() < part.len() {
            sums.resize(part.len(), Integer::new());
        }
        for (sum, count) in sums.iter_mut().zip(part) {
            *sum += count;
        }
    }
    sums
}

/// The answer's residues: sums over its functionals and their coefficients. Values of a wrong shape fail a check; here
/// they are left out as far as they do not fit.
fn total_residues<'a>(plan: &Plan, rows: impl Iterator<Item = &'a Vec<u64>>) -> Vec<Residue> {
    let mut totals: Vec<_> = plan.moduli.iter().map(|&modulus| Residue { modulus, residue: 0 }).collect();
    for row in rows {
        for (total, &residue) in totals.iter_mut().zip(row) {
            let modulus = total.modulus;
            total.residue = add_mod(total.residue, residue.checked_rem(modulus).unwrap_or(0), modulus);
        }
    }
    totals
}
