//! Tables beside the count: small linear combinations of functionals, some with known values.

use keima_model::{ProblemInfo, Report, ReportColumn, ReportRow};
use keima_residue::Integer;
use serde::{Deserialize, Serialize};

use super::{Check, Outcome, SeriesEntry};

/// A table of a result; see `keima_model::Report`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Name of the table.
    pub name: String,
    /// Name of the rows' index, such as `"fences"`.
    pub index: String,
    /// Names of the columns beside the numbers.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<TableRow>,
    /// The meaning of the columns, for people.
    pub remarks: Vec<String>,
}

/// A row of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRow {
    /// Its index.
    pub index: String,
    /// The number in decimal.
    pub count: String,
    /// A figure per column of the table.
    pub figures: Vec<String>,
}

/// The tables of a result, without those that are checks only. None if a check failed: then numbers are withheld. A row is
/// left out if one of its functionals was not read.
pub fn tables(info: &dyn ProblemInfo, outcome: &Outcome) -> Vec<Table> {
    if !outcome.ok {
        return Vec::new();
    }
    let shown = info.reports().into_iter().filter(|report| !report.check_only).collect();
    filled(info, shown, &outcome.series)
}

fn filled(info: &dyn ProblemInfo, reports: Vec<Report>, series: &[SeriesEntry]) -> Vec<Table> {
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
    let row = |place: usize, row: &ReportRow, columns: &[ReportColumn]| {
        let figure = |column: &ReportColumn| column.figures.get(place).cloned().unwrap_or_default();
        let count = number(&row.terms)?.to_string();
        Some(TableRow { index: row.index.clone(), count, figures: columns.iter().map(figure).collect() })
    };
    let table = |report: Report| Table {
        rows: report.rows.iter().enumerate().filter_map(|(place, r)| row(place, r, &report.columns)).collect(),
        columns: report.columns.into_iter().map(|column| column.name).collect(),
        name: report.name,
        index: report.index,
        remarks: report.remarks,
    };
    reports.into_iter().map(table).collect()
}

/// Whether the tables' rows equal their known values, tables that are checks only included. `None` without known values.
pub(super) fn known_rows(info: &dyn ProblemInfo, series: &[SeriesEntry]) -> Option<Check> {
    let tables = filled(info, info.reports(), series);
    let mut checked = 0;
    let mut wrong = Vec::new();
    for report in info.reports() {
        for row in report.rows.iter().filter(|row| row.known.is_some()) {
            let table = tables.iter().find(|table| table.name == report.name);
            let got = table.and_then(|t| t.rows.iter().find(|r| r.index == row.index)).map(|r| &r.count);
            checked += 1;
            if got != row.known.as_ref() {
                wrong.push(format!("{} {}: expected {:?}, got {got:?}", report.index, row.index, row.known));
            }
        }
    }
    let detail = if wrong.is_empty() { format!("{checked} rows equal their known values") } else { wrong.join("; ") };
    (checked > 0).then(|| Check::new("known_rows", wrong.is_empty(), detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::example::Example;

    fn row(index: &str, terms: &[(u32, u32, i64)], known: Option<&str>) -> ReportRow {
        ReportRow { index: index.to_owned(), terms: terms.to_vec(), known: known.map(str::to_owned) }
    }

    fn report(name: &str, rows: &[ReportRow], check_only: bool) -> Report {
        let figures = (0..rows.len()).map(|place| format!("{place}.5")).collect();
        Report {
            name: name.to_owned(),
            index: "k".to_owned(),
            rows: rows.to_vec(),
            columns: vec![ReportColumn { name: "guess".to_owned(), figures }],
            remarks: vec!["a guess".to_owned()],
            check_only,
        }
    }

    /// L(2,1) = 5 and L(2,3) = 489 were read, L(2,2) was not.
    fn outcome(ok: bool) -> Outcome {
        let entry = |index, count: &str| SeriesEntry {
            index,
            name: format!("L(2,{index})"),
            count: count.to_owned(),
            counts: Vec::new(),
            checks: Vec::new(),
            ok,
        };
        Outcome {
            problem: "example".to_owned(),
            size: "2x3".to_owned(),
            count: "489".to_owned(),
            counts: Vec::new(),
            residues: Vec::new(),
            series: vec![entry(1, "5"), entry(3, "489")],
            checks: Vec::new(),
            ok,
            identity: String::new(),
            builds: Vec::new(),
        }
    }

    #[test]
    fn rows_that_were_not_read_are_left_out_and_laws_are_not_shown() {
        let mut example = Example::new(2, 3);
        let rows =
            [row("0", &[(0, 0, 1)], None), row("1", &[(1, 0, 1)], None), row("2", &[(2, 0, 2), (0, 0, -1)], None)];
        example.reports = vec![report("shown", &rows, false), report("law", &rows[..1], true)];
        let got = tables(&example, &outcome(true));
        assert_eq!(got.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(), ["shown"]);
        let rows: Vec<_> = got[0].rows.iter().map(|r| (r.index.as_str(), r.count.as_str(), &r.figures[..])).collect();
        // A figure stays beside the row that it was given for.
        assert_eq!(rows, [("0", "5", &["0.5".to_owned()][..]), ("2", "973", &["2.5".to_owned()])]);
        assert_eq!(
            (&got[0].columns[..], &got[0].remarks[..]),
            (&["guess".to_owned()][..], &["a guess".to_owned()][..])
        );
        assert!(tables(&example, &outcome(false)).is_empty());
    }

    #[test]
    fn known_values_are_met_in_tables_that_nobody_sees() {
        for (known, check_only, ok) in [
            (None, true, None),
            (Some("5"), true, Some(true)),
            (Some("6"), true, Some(false)),
            (Some("6"), false, Some(false)),
        ] {
            let mut example = Example::new(2, 3);
            example.reports = vec![report("law", &[row("1", &[(0, 0, 1)], known)], check_only)];
            let check = known_rows(&example, &outcome(true).series);
            assert_eq!(check.map(|check| check.ok), ok, "{known:?} {check_only}");
        }
    }
}
