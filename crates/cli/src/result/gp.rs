//! Results for PARI/GP. One number stands alone, a table is a matrix; several tables are assignments, one a line, since GP
//! ends a statement at the end of a line.
//!
//! ```text
//!   489                              the count
//!   [1, 3; 2, 5; 3, 15]              a table or a series: index, count
//!   Mat([1, 3])                      the same with one row: GP reads [1, 3] as a vector
//!   count = 489;                     the count and its tables, under their names
//!   by_fences = [0, 1; 1, 128];
//! ```
//!
//! Integers of GP are exact at any length. Figures beside a number are texts for people and are left out.

use keima_coordinator::{Table, TableRow};

use super::choice::COUNT;

/// The tables as text that `read` of GP evaluates.
pub(super) fn result(tables: &[Table]) -> String {
    match tables {
        [only] => value(only),
        several => {
            let lines: Vec<String> =
                several.iter().map(|table| format!("{} = {};", name(&table.name), value(table))).collect();
            lines.join("\n")
        }
    }
}

fn value(table: &Table) -> String {
    match table.rows.as_slice() {
        [only] if table.name == COUNT => only.count.clone(),
        // A matrix without rows.
        [] => "[;]".to_owned(),
        [only] => format!("Mat([{}])", entries(only)),
        rows => format!("[{}]", rows.iter().map(entries).collect::<Vec<_>>().join("; ")),
    }
}

/// Index and number of a row.
fn entries(row: &TableRow) -> String {
    format!("{}, {}", index(&row.index), row.count)
}

/// A whole number, or a text.
fn index(text: &str) -> String {
    if text.parse::<u64>().is_ok() { text.to_owned() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " "))
}

/// A name that GP takes: letters, digits and underscores, a letter first.
fn name(text: &str) -> String {
    let name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("table_{name}") }
}

/// The first line of a table of sizes, which grows line by line: a map from sizes to counts.
pub(crate) fn sizes_head() -> String {
    "counts = Map();".to_owned()
}

/// The line of a size: `mapput(counts, [3, 5], 489);`.
pub(crate) fn size_line(size: &str, count: &str) -> String {
    format!("mapput(counts, {}, {count});", key(size))
}

/// The line of a size without a number, a comment.
pub(crate) fn size_remark(size: &str, text: &str) -> String {
    format!("\\\\ {size}: {}", text.replace('\n', " "))
}

/// `[3, 5]` of 3x5, `3` of 3, else a text.
fn key(size: &str) -> String {
    let parts: Vec<&str> = size.split(['x', 'X']).collect();
    match parts.as_slice() {
        parts if parts.iter().any(|part| part.parse::<u64>().is_err()) => quoted(size),
        [only] => (*only).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, rows: &[(&str, &str)]) -> Table {
        let row =
            |row: &(&str, &str)| TableRow { index: row.0.to_owned(), count: row.1.to_owned(), figures: Vec::new() };
        let rows = rows.iter().map(row).collect();
        Table { name: name.to_owned(), index: "k".to_owned(), columns: Vec::new(), rows, remarks: Vec::new() }
    }

    #[test]
    fn tables_are_expressions() {
        let count = || table(COUNT, &[("9x9", "103919148791293834318983090438798793469")]);
        for (tables, expected) in [
            (vec![count()], "103919148791293834318983090438798793469"),
            (vec![table("series", &[("1", "3"), ("2", "5")])], "[1, 3; 2, 5]"),
            (vec![table("series", &[("1", "1")])], "Mat([1, 1])"),
            (vec![table("by_k", &[("0", "1")])], "Mat([0, 1])"),
            (vec![table("by_k", &[])], "[;]"),
            (
                vec![count(), table("by k", &[("all, \"a\" \\", "7")]), table("2nd", &[])],
                "count = 103919148791293834318983090438798793469;\nby_k = Mat([\"all, \\\"a\\\" \\\\\", 7]);\ntable_2nd = [;];",
            ),
        ] {
            assert_eq!(result(&tables), expected);
        }
    }

    #[test]
    fn sizes_are_keys() {
        for (size, expected) in [("3x5", "[3, 5]"), ("4", "4"), ("3x3X3", "[3, 3, 3]"), ("a\"b", "\"a\\\"b\"")] {
            assert_eq!(size_line(size, "7"), format!("mapput(counts, {expected}, 7);"), "{size}");
        }
        assert_eq!(size_remark("3x5", "no\nmemory"), "\\\\ 3x5: no memory");
    }
}
