//! The numbers of a result as tables, and the choice among them: the count, the tables of the problem, the series.

use keima_coordinator::{Outcome, Table, TableRow};
use keima_model::ProblemInfo;

use crate::exit::Failed;

/// Name of the table that holds the count alone.
pub(super) const COUNT: &str = "count";

/// Which numbers of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The count and the tables beside it.
    All,
    /// The numbers of the boards up to this length.
    Series,
    /// One table; `count` is the count alone.
    Table(String),
}

/// All numbers of a result. Before the count the numbers are empty texts, and everything else is known.
pub(super) struct Numbers {
    /// Problem and size, for messages.
    what: String,
    /// One row, whose index is the size.
    count: Table,
    /// The tables of the problem.
    tables: Vec<Table>,
    /// The boards up to this length; `None` if their lengths are not consecutive.
    series: Option<Table>,
}

/// A board of the series.
struct Board<'a> {
    length: u32,
    name: &'a str,
    count: &'a str,
}

fn row(index: impl Into<String>, count: impl Into<String>, figures: Vec<String>) -> TableRow {
    TableRow { index: index.into(), count: count.into(), figures }
}

fn numbers(what: String, size: &str, count: &str, tables: Vec<Table>, series: &[Board<'_>]) -> Numbers {
    let table = |name: &str, index: &str, columns: Vec<String>, rows| Table {
        name: name.to_owned(),
        index: index.to_owned(),
        columns,
        rows,
        remarks: Vec::new(),
    };
    let consecutive = series.is_sorted_by(|one, next| one.length.checked_add(1) == Some(next.length));
    let rows = series.iter().map(|board| row(board.length.to_string(), board.count, vec![board.name.to_owned()]));
    let rows: Vec<TableRow> = rows.collect();
    Numbers {
        what,
        count: table(COUNT, "size", Vec::new(), vec![row(size, count, Vec::new())]),
        tables,
        series: consecutive.then(|| table("series", "index", vec!["name".to_owned()], rows)),
    }
}

impl Numbers {
    /// The numbers that a result of this problem will have.
    pub(super) fn to_come(info: &dyn ProblemInfo) -> Self {
        let functionals = info.functionals();
        let tables = info.reports().into_iter().filter(|report| !report.check_only).map(|report| Table {
            rows: report.rows.iter().map(|r| row(r.index.as_str(), "", Vec::new())).collect(),
            columns: report.columns.into_iter().map(|column| column.name).collect(),
            name: report.name,
            index: report.index,
            remarks: report.remarks,
        });
        let series: Vec<_> = functionals.iter().map(|f| Board { length: f.index, name: &f.name, count: "" }).collect();
        let size = info.size();
        numbers(format!("{} {size}", info.name()), &size, "", tables.collect(), &series)
    }

    /// The numbers of a result.
    pub(super) fn of(outcome: &Outcome, tables: Vec<Table>) -> Self {
        let series = outcome.series.iter().map(|e| Board { length: e.index, name: &e.name, count: &e.count });
        let what = format!("{} {}", outcome.problem, outcome.size);
        numbers(what, &outcome.size, &outcome.count, tables, &series.collect::<Vec<_>>())
    }

    /// The tables to print, the count among them as a table named [`COUNT`].
    pub(super) fn chosen(&self, part: &Part) -> Result<Vec<Table>, Failed> {
        match part {
            Part::All => Ok([&self.count].into_iter().chain(&self.tables).cloned().collect()),
            Part::Series => match &self.series {
                Some(series) => Ok(vec![series.clone()]),
                None => Err(Failed::usage(format!(
                    "{} has no series of shorter boards, or was submitted without --series: leave out --series, or submit \
                     it with --series",
                    self.what
                ))),
            },
            Part::Table(name) => {
                let mut tables = [&self.count].into_iter().chain(&self.tables);
                tables.find(|table| table.name == *name).map(|table| vec![table.clone()]).ok_or_else(|| {
                    Failed::usage(format!("{} has no table {name:?}: --table takes {}", self.what, self.names()))
                })
            }
        }
    }

    fn names(&self) -> String {
        let tables = self.tables.iter().map(|table| table.name.as_str());
        tables.chain([COUNT]).collect::<Vec<_>>().join(", ")
    }

    /// The table of a b-file, whose indices are consecutive integers. The error says what to ask for instead.
    pub(super) fn sequence(&self, part: &Part) -> Result<Table, Failed> {
        let table = match (part, self.tables.as_slice()) {
            (Part::All, []) => &self.count,
            (Part::All, [table]) => table,
            (Part::All, _) => {
                let advice = match self.sequences().as_slice() {
                    [] => "use --format csv".to_owned(),
                    names => format!("choose one with --table, one of {}", names.join(", ")),
                };
                return Err(Failed::usage(format!(
                    "a b-file holds one table, and {} has several: {advice}",
                    self.what
                )));
            }
            (part, _) => &self.chosen(part)?.remove(0),
        };
        running(table).ok_or_else(|| {
            Failed::usage(if table.name == COUNT {
                let series = match &self.series {
                    Some(series) if series.rows.len() > 1 => "use --series for the boards up to this length, ",
                    _ => "",
                };
                format!(
                    "a b-file has one index, and the size of {} has two numbers: {series}count a square board, or use \
                     --format csv",
                    self.what
                )
            } else {
                let others = match self.sequences().as_slice() {
                    [] => String::new(),
                    names => format!(", or --table with one of {}", names.join(", ")),
                };
                format!(
                    "a b-file needs consecutive indices, and {} does not have them: use --format csv{others}",
                    table.name
                )
            })
        })
    }

    /// The tables that a b-file can hold.
    fn sequences(&self) -> Vec<&str> {
        let tables = self.tables.iter().chain([&self.count]);
        tables.filter(|table| running(table).is_some()).map(|table| table.name.as_str()).collect()
    }
}

/// A table with the indices of a b-file, consecutive integers: for the count the side of a square board. `None` if it has
/// no such.
fn running(table: &Table) -> Option<Table> {
    let mut table = table.clone();
    if table.name == COUNT {
        for row in &mut table.rows {
            row.index = side(&row.index)?;
        }
    }
    let indices: Vec<u64> = table.rows.iter().map(|row| row.index.parse().ok()).collect::<Option<_>>()?;
    indices.is_sorted_by(|one, next| one.checked_add(1) == Some(*next)).then_some(table)
}

/// The side of a square board: `"9"` of `"9"` and of `"9x9"`.
fn side(size: &str) -> Option<String> {
    let (side, other) = size.split_once(['x', 'X']).unwrap_or((size, size));
    (side.parse::<u64>().is_ok() && side == other).then(|| side.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, indices: &[&str]) -> Table {
        let rows = indices.iter().map(|index| row(*index, "1", Vec::new())).collect();
        Table { name: name.to_owned(), index: "k".to_owned(), columns: Vec::new(), rows, remarks: Vec::new() }
    }

    /// The indices of the b-file, or a word of the message.
    fn check(size: &str, tables: &[Table], series: &[u32], part: &Part, expected: Result<&[&str], &str>) {
        let series: Vec<_> = series.iter().map(|&length| Board { length, name: "L", count: "1" }).collect();
        let numbers = numbers("p 1".to_owned(), size, "1", tables.to_vec(), &series);
        match (numbers.sequence(part), expected) {
            (Ok(table), Ok(indices)) => {
                assert_eq!(table.rows.iter().map(|row| row.index.as_str()).collect::<Vec<_>>(), indices);
            }
            (Err(failed), Err(text)) => {
                assert!(failed.code == crate::exit::USAGE && failed.text.contains(text), "{text}: {}", failed.text);
            }
            (got, _) => panic!("{size} {part:?}: {:?}, expected {expected:?}", got.map(|table| table.rows)),
        }
    }

    #[test]
    fn b_files_have_one_running_index() {
        let of = |name: &str| Part::Table(name.to_owned());
        let (by_k, words) = (table("by_k", &["0", "1", "2"]), table("words", &["all", "some"]));
        for (size, expected) in [
            ("9x9", Ok(&["9"][..])),
            ("7", Ok(&["7"])),
            ("9x5", Err("count a square board")),
            ("3x3x3", Err("count a square board")),
            ("", Err("count a square board")),
        ] {
            check(size, &[], &[], &Part::All, expected);
            check(size, std::slice::from_ref(&words), &[], &of("count"), expected);
        }
        check("9x5", &[], &[1, 2], &Part::All, Err("use --series"));
        check("9x5", &[], &[1, 2], &Part::Series, Ok(&["1", "2"]));
        check("9x5", &[], &[0, 1, 3], &Part::Series, Err("no series"));
        check("9x5", &[], &[2, 1], &Part::Series, Err("no series"));
        check("9x5", &[], &[5, 5], &Part::Series, Err("no series"));
        check("9x5", std::slice::from_ref(&by_k), &[], &Part::All, Ok(&["0", "1", "2"]));
        check("9x9", std::slice::from_ref(&words), &[], &Part::All, Err("needs consecutive indices"));
        check("9x9", &[table("gap", &["0", "2"])], &[], &Part::All, Err("needs consecutive indices"));
        check("9x9", &[table("two", &["1,2", "1,3"])], &[], &Part::All, Err("needs consecutive indices"));
        check("9x9", &[table("one", &["x"])], &[], &Part::All, Err("needs consecutive indices"));
        check("9x9", &[by_k.clone(), words.clone()], &[], &Part::All, Err("--table, one of by_k, count"));
        // What would be refused is not proposed.
        check("9x9", &[by_k.clone(), words.clone()], &[], &of("words"), Err("--table with one of by_k, count"));
        check("9x5", &[by_k.clone(), words.clone()], &[], &Part::All, Err("one of by_k"));
        check("9x5", &[by_k.clone(), words.clone()], &[], &of("words"), Err("csv, or --table with one of by_k"));
        check("9x5", &[words.clone(), words.clone()], &[], &Part::All, Err("has several: use --format csv"));
        check("9x5", std::slice::from_ref(&words), &[], &of("words"), Err("does not have them: use --format csv"));
        check("9x9", &[by_k.clone(), words.clone()], &[], &of("by_k"), Ok(&["0", "1", "2"]));
        check("9x9", &[by_k, words], &[], &of("more"), Err("--table takes by_k, words, count"));
    }
}
