//! Results as comma-separated values (RFC 4180, but with LF line ends). The header is `table,index,count` and the further
//! columns of the tables; then follows one row per number.

use keima_coordinator::Table;

/// The header and all rows.
pub(super) fn result(tables: &[Table]) -> String {
    let mut columns: Vec<&str> = Vec::new();
    for column in tables.iter().flat_map(|table| &table.columns) {
        if !columns.contains(&column.as_str()) {
            columns.push(column);
        }
    }
    let mut lines = vec![line(["table", "index", "count"].into_iter().chain(columns.iter().copied()))];
    for table in tables {
        for row in &table.rows {
            let figure = |name: &&str| {
                let place = table.columns.iter().position(|column| column == name);
                place.and_then(|place| row.figures.get(place)).map_or("", String::as_str)
            };
            let fixed = [table.name.as_str(), &row.index, &row.count];
            lines.push(line(fixed.into_iter().chain(columns.iter().map(figure))));
        }
    }
    lines.join("\n")
}

/// One line.
pub(crate) fn csv_line(fields: &[&str]) -> String {
    line(fields.iter().copied())
}

fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    fields.map(quoted).collect::<Vec<_>>().join(",")
}

/// Quotes a field that has a comma, a quote or a line break, and doubles its quotes.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use keima_coordinator::TableRow;

    use super::*;

    #[test]
    fn rows_of_all_tables_have_the_same_columns() {
        let table = |name: &str, columns: &[&str], figures: &[&str], index: &str| Table {
            name: name.to_owned(),
            index: "k".to_owned(),
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: vec![TableRow {
                index: index.to_owned(),
                count: "7".to_owned(),
                figures: figures.iter().map(|figure| (*figure).to_owned()).collect(),
            }],
            remarks: vec!["left out".to_owned()],
        };
        let tables = [
            table("count", &[], &[], "9x9"),
            table("a", &["x", "y"], &["1", "2"], "both, really"),
            table("b", &["y"], &["3"], "say \"b\"\nor \r"),
        ];
        let expected =
            "table,index,count,x,y\ncount,9x9,7,,\na,\"both, really\",7,1,2\nb,\"say \"\"b\"\"\nor \r\",7,,3";
        assert_eq!(result(&tables), expected);
    }
}
