//! Tables beside the count: small linear combinations of what was read off, with the published values among them.

use keima_model::ProblemInfo;
use keima_residue::Integer;
use serde::{Deserialize, Serialize};

use super::{Check, Outcome, SeriesEntry};

/// A table of a result; see `keima_model::Report`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Name of the table.
    pub name: String,
    /// What the rows' index is, `"fences"`.
    pub index: String,
    /// Index and number of each row, the number in decimal.
    pub rows: Vec<(String, String)>,
}

/// The tables of a good outcome; none of one that failed a check, whose numbers are withheld. Rows whose parts were not
/// read are left out.
pub fn tables(info: &dyn ProblemInfo, outcome: &Outcome) -> Vec<Table> {
    if !outcome.ok {
        return Vec::new();
    }
    rows(info, &outcome.series)
}

fn rows(info: &dyn ProblemInfo, series: &[SeriesEntry]) -> Vec<Table> {
    let functionals = info.functionals();
    let coefficient = |functional: u32, coefficient: u32| -> Option<Integer> {
        let name = &functionals.get(functional as usize)?.name;
        let entry = series.iter().find(|entry| entry.name == *name)?;
        let text = if entry.counts.is_empty() && coefficient == 0 {
            &entry.count
        } else {
            entry.counts.get(coefficient as usize)?
        };
        text.parse().ok()
    };
    let number = |terms: &[(u32, u32, i64)]| -> Option<Integer> {
        terms.iter().map(|&(f, c, weight)| Some(coefficient(f, c)? * weight)).sum()
    };
    let table = |report: keima_model::Report| Table {
        name: report.name,
        index: report.index,
        rows: report.rows.iter().filter_map(|row| Some((row.index.clone(), number(&row.terms)?.to_string()))).collect(),
    };
    info.reports().into_iter().map(table).collect()
}

/// Whether all published values of the tables' rows are met; `None` where there are none.
pub(super) fn known_rows(info: &dyn ProblemInfo, series: &[SeriesEntry]) -> Option<Check> {
    let tables = rows(info, series);
    let mut checked = 0;
    let mut wrong = Vec::new();
    for report in info.reports() {
        for row in report.rows.iter().filter(|row| row.known.is_some()) {
            let table = tables.iter().find(|table| table.name == report.name);
            let got = table.and_then(|t| t.rows.iter().find(|(index, _)| *index == row.index)).map(|(_, count)| count);
            checked += 1;
            if got != row.known.as_ref() {
                wrong.push(format!("{} {}: expected {:?}, got {got:?}", report.index, row.index, row.known));
            }
        }
    }
    let detail = if wrong.is_empty() { format!("{checked} rows equal the published values") } else { wrong.join("; ") };
    (checked > 0).then(|| Check::new("known_rows", wrong.is_empty(), detail))
}
