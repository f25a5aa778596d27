//! Results for people: the count, then tables with aligned columns.

use keima_coordinator::Table;

use super::choice::COUNT;
use crate::terminal::colour::Paint;
use crate::terminal::wrap::{WIDTH, wrapped_at};

/// The tables and objects, with an empty line between two.
pub(super) fn result(tables: &[Table], objects: Option<&[String]>, paint: Paint) -> String {
    let block = |table: &Table| match table.rows.as_slice() {
        [only] if table.name == COUNT => paint.strong(&only.count),
        _ if table.name == "series" => series(table),
        _ => titled(table, paint),
    };
    let mut blocks: Vec<String> = tables.iter().map(block).collect();
    blocks.extend_from_slice(objects.unwrap_or_default());
    blocks.join("\n\n")
}

/// Names and numbers, without a header: `L(5,9) 1067...`.
fn series(table: &Table) -> String {
    let cells = |row: &keima_coordinator::TableRow| row.figures.iter().chain([&row.count]).cloned().collect();
    aligned(&table.rows.iter().map(cells).collect::<Vec<_>>(), true)
}

/// The table's name, a header, the rows and the remarks.
fn titled(table: &Table, paint: Paint) -> String {
    let header = [&table.index, &"count".to_owned()].into_iter().chain(&table.columns).cloned().collect();
    let row = |row: &keima_coordinator::TableRow| {
        [&row.index, &row.count].into_iter().chain(&row.figures).cloned().collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(table.rows.iter().map(row)).collect();
    let words = table.rows.iter().any(|row| row.index.parse::<u64>().is_err());
    let mut text = format!("{}\n{}", paint.strong(&table.name), aligned(&rows, words));
    for remark in &table.remarks {
        text += &format!("\n{}", wrapped_at(remark, WIDTH));
    }
    text
}

/// Columns aligned to the right; the first column to the left if it holds words.
fn aligned(rows: &[Vec<String>], words: bool) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cell = |(column, (cell, width)): (usize, (&String, &usize))| {
            if column == 0 && words { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        };
        let cells: Vec<String> = row.iter().zip(&widths).enumerate().map(cell).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use keima_coordinator::TableRow;

    use super::*;

    fn table(name: &str, columns: &[&str], rows: &[&[&str]]) -> Table {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let row =
            |row: &&[&str]| TableRow { index: row[0].to_owned(), count: row[1].to_owned(), figures: own(&row[2..]) };
        Table {
            name: name.to_owned(),
            index: "k".to_owned(),
            columns: own(columns),
            rows: rows.iter().map(row).collect(),
            remarks: if columns.is_empty() { Vec::new() } else { vec!["so it is".to_owned()] },
        }
    }

    #[test]
    fn numbers_are_aligned_to_the_right() {
        for (table, expected) in [
            (table("count", &[], &[&["9x9", "123"]]), "123"),
            (table("series", &["name"], &[&["9", "1", "L(9)"], &["10", "23", "L(10)"]]), "L(9)    1\nL(10)  23"),
            (table("by_k", &[], &[&["0", "1"], &["10", "12345678"]]), "by_k\n k     count\n 0         1\n10  12345678"),
            (
                table("by_k", &["guess"], &[&["0", "1", "1.0e0"], &["1", "2", ""]]),
                "by_k\nk  count  guess\n0      1  1.0e0\n1      2\nso it is",
            ),
            (
                table("w", &[], &[&["all", "10"], &["some of it", "5"]]),
                "w\nk           count\nall            10\nsome of it      5",
            ),
        ] {
            assert_eq!(result(&[table], None, Paint::new(false)), expected);
        }
        let count = table("count", &[], &[&["1", "2"]]);
        let objects = ["x".to_owned(), "o".to_owned()];
        assert_eq!(result(&[count], Some(&objects), Paint::new(false)), "2\n\nx\n\no");
    }
}
