//! Results for papers: text that LaTeX takes without any package. One number stands alone, tables are `tabular`s.
//!
//! ```text
//!   103\allowbreak\,919\allowbreak\,148 ...      three digits a group
//! ```
//!
//! A line may break before a thin space, which then goes. The space is no character: digits that are copied out of the
//! paper stand without gaps. A column of numbers longer than [`WIDE`] is a paragraph, so that they break.

use keima_coordinator::{Table, TableRow};

use super::choice::COUNT;

/// Digits of the longest number that keeps to one line.
const WIDE: usize = 30;

/// The tables, an empty line between two.
pub(super) fn result(tables: &[Table]) -> String {
    let block = |table: &Table| match table.rows.as_slice() {
        [only] if table.name == COUNT => digits(&only.count),
        _ => tabular(table),
    };
    tables.iter().map(block).collect::<Vec<_>>().join("\n\n")
}

fn tabular(table: &Table) -> String {
    // The names of a series say more than its index.
    let is_series = table.name == "series";
    let cells = |row: &TableRow| match row.figures.as_slice() {
        [name] if is_series => vec![format!("${}$", escaped(name)), row.count.clone()],
        figures => [&row.index, &row.count].into_iter().chain(figures).cloned().collect(),
    };
    let header: Vec<&str> = if is_series {
        vec!["board", "count"]
    } else {
        [table.index.as_str(), "count"].into_iter().chain(table.columns.iter().map(String::as_str)).collect()
    };
    let is_wide = table.rows.iter().any(|row| row.count.len() > WIDE);
    let words = is_series || table.rows.iter().any(|row| row.index.parse::<u64>().is_err());
    let paragraph = format!("p{{{}\\linewidth}}", if header.len() > 2 { 0.5 } else { 0.75 });
    let columns = header.iter().enumerate().map(|(place, _)| match place {
        0 if words => "l",
        1 if is_wide => &paragraph,
        _ => "r",
    });
    let mut lines = vec![format!("% {}", one_line(&table.name))];
    lines.push(format!("\\begin{{tabular}}{{{}}}", columns.collect::<String>()));
    lines.push(row(&header.iter().map(|name| escaped(name)).collect::<Vec<_>>()) + " \\hline");
    for cells in table.rows.iter().map(cells) {
        let cell = |(place, text): (usize, &String)| match place {
            0 if is_series => text.clone(),
            1 => number(text, is_wide),
            _ => escaped(text),
        };
        lines.push(row(&cells.iter().enumerate().map(cell).collect::<Vec<_>>()));
    }
    lines.push("\\end{tabular}".to_owned());
    lines.extend(table.remarks.iter().map(|remark| format!("\n{}", escaped(remark))));
    lines.join("\n")
}

fn row(cells: &[String]) -> String {
    format!("{} \\tabularnewline", cells.join(" & "))
}

fn number(text: &str, is_wide: bool) -> String {
    // Justified, a line of digits would leave gaps.
    format!("{}{}", if is_wide { "\\raggedright " } else { "" }, digits(text))
}

/// A whole number in groups of three. Other texts are escaped.
pub(crate) fn digits(text: &str) -> String {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return escaped(text);
    }
    let mut grouped = String::new();
    for (place, digit) in text.chars().enumerate() {
        if place > 0 && (text.len() - place).is_multiple_of(3) {
            grouped += "\\allowbreak\\,";
        }
        grouped.push(digit);
    }
    grouped
}

/// Text in which nothing is a command.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '\\' => escaped += "\\textbackslash{}",
            '<' => escaped += "$<$",
            '>' => escaped += "$>$",
            '\n' | '\r' => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// The first lines of a table of sizes, which grows line by line. How long its numbers are is not known yet.
pub(crate) fn sizes_head() -> String {
    "\\begin{tabular}{lp{0.75\\linewidth}}\nsize & count \\tabularnewline \\hline".to_owned()
}

/// The line of a size.
pub(crate) fn size_line(size: &str, count: &str) -> String {
    row(&[format!("${}$", escaped(size).replace(['x', 'X'], "\\times ")), number(count, true)])
}

/// The line of a size without a number, a comment.
pub(crate) fn size_remark(size: &str, text: &str) -> String {
    one_line(&format!("% {size}: {text}"))
}

/// The last line of a table of sizes.
pub(crate) fn sizes_tail() -> String {
    "\\end{tabular}".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_from_the_right() {
        for (text, expected) in [
            ("7", "7"),
            ("123", "123"),
            ("1234", "1\\allowbreak\\,234"),
            ("123456789", "123\\allowbreak\\,456\\allowbreak\\,789"),
            ("1e5", "1e5"),
            ("-3", "-3"),
            ("", ""),
        ] {
            assert_eq!(digits(text), expected, "{text}");
        }
        let long = "9".repeat(170);
        assert_eq!(digits(&long).replace("\\allowbreak\\,", ""), long);
    }

    #[test]
    fn no_text_is_a_command() {
        let text = "a_b & 100% of {\\x} ~^ #1 $2\n<3>";
        let expected =
            "a\\_b \\& 100\\% of \\{\\textbackslash{}x\\} \\textasciitilde{}\\textasciicircum{} \\#1 \\$2 $<$3$>$";
        assert_eq!(escaped(text), expected);
    }

    #[test]
    fn tables_have_a_column_for_each_figure() {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let table = |count: &str| Table {
            name: "by_k".to_owned(),
            index: "k".to_owned(),
            columns: own(&["the_guess"]),
            rows: vec![TableRow { index: "0".to_owned(), count: count.to_owned(), figures: own(&["1.0e0"]) }],
            remarks: own(&["so & so"]),
        };
        assert_eq!(
            result(&[table("1234")]),
            "% by_k\n\\begin{tabular}{rrr}\nk & count & the\\_guess \\tabularnewline \\hline\n\
             0 & 1\\allowbreak\\,234 & 1.0e0 \\tabularnewline\n\\end{tabular}\n\nso \\& so"
        );
        assert!(result(&[table(&"7".repeat(31))]).contains("{rp{0.5\\linewidth}r}"));
        assert_eq!(size_line("3x5", "489"), "$3\\times 5$ & \\raggedright 489 \\tabularnewline");
    }
}
