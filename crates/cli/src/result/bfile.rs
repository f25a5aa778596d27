//! Results as b-files of the OEIS: lines `n a(n)` with consecutive n, numbers of at most 1000 digits, LF line ends.

use keima_coordinator::Table;
use keima_model::ProblemInfo;

use super::choice::COUNT;
use crate::exit::Failed;
use crate::terminal::output::say;

/// Most digits of a number in a b-file.
const MOST_DIGITS: usize = 1000;

/// Refuses a count that may be too long, by its proved bound. Tables and series end before the first number that is too
/// long.
pub(super) fn check_length(table: &Table, info: &dyn ProblemInfo) -> Result<(), Failed> {
    let bound = info.bound();
    let digits: f64 = bound.iter().map(|&(base, exponent)| f64::from(base).log10() * f64::from(exponent)).sum();
    if table.name == COUNT && digits >= MOST_DIGITS as f64 {
        return Err(Failed::usage(format!(
            "a b-file holds numbers of at most {MOST_DIGITS} digits, and this count may have {digits:.0}; use --format text"
        )));
    }
    Ok(())
}

/// The lines up to the first number that is too long.
pub(super) fn result(table: &Table) -> String {
    let rows = table.rows.iter().take_while(|row| row.count.len() <= MOST_DIGITS);
    let lines: Vec<String> = rows.map(|row| format!("{} {}", row.index, row.count)).collect();
    if let Some(row) = table.rows.get(lines.len()) {
        say(format_args!("the b-file ends before n = {}: that number has more than {MOST_DIGITS} digits", row.index));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use keima_coordinator::TableRow;

    use super::*;

    #[test]
    fn lines_end_before_the_first_long_number() {
        let row = |(index, digits): (usize, &usize)| TableRow {
            index: index.to_string(),
            count: "7".repeat(*digits),
            figures: Vec::new(),
        };
        for (digits, lines) in [(&[1, 2, 3][..], 3), (&[1000], 1), (&[1, 1000, 1001, 3], 2), (&[1001], 0)] {
            let table = Table {
                name: "series".to_owned(),
                index: "n".to_owned(),
                columns: Vec::new(),
                rows: digits.iter().enumerate().map(row).collect(),
                remarks: Vec::new(),
            };
            let text = result(&table);
            assert_eq!(text.lines().count(), lines, "{digits:?}");
            for (index, line) in text.lines().enumerate() {
                assert_eq!(line, format!("{index} {}", "7".repeat(digits[index])));
            }
        }
    }
}
