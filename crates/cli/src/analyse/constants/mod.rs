//! `keima analyse PROBLEM --constants`: A, B and L of A B^(m+n) L^(mn), from the counts that are known and those of a file.
//!
//! ```text
//!   check    counts of a file against the formula
//!   text     for people
//!   json     for programs
//!   bounds   theorem 3 beside the counts
//! ```

mod bounds;
mod check;
mod json;
mod text;

use keima_analyse::Integer;
use keima_analyse::constants::Constants;
use keima_analyse::constants::plot::{exponent, svg};
use keima_analyse::constants::table::{Row, Table, rows};
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;
use keima_problems::go::published::RECTANGLES;

use crate::args::{AnalyseArgs, AnalysisFormat};
use crate::exit::{CHECK_FAILED, Failed};
use crate::terminal::input;
use crate::terminal::output::hand_over;

/// Largest square that is asked for.
const MOST: u32 = 64;
/// Largest file that is read.
const MOST_BYTES: u64 = 1 << 28;

/// What is printed.
struct Report {
    /// The problem's name.
    name: String,
    table: Table,
    found: Constants,
}

/// The published count of a board; `None` if there is none.
fn known(name: &str, options: &[(String, String)], m: u32, n: u32) -> Option<Integer> {
    let request = ProblemRequest { name: name.to_owned(), size: format!("{m}x{n}"), options: options.to_vec() };
    let problem = Problems.open(&request).ok()?;
    let answer = problem.info().functionals().into_iter().rfind(|functional| functional.answer)?;
    answer.known?.parse().ok()
}

/// All counts that are known, and those of the user's file.
fn table(args: &AnalyseArgs, name: &str) -> Result<Table, Failed> {
    let options: Vec<_> = args.options.iter().map(|word| ProblemRequest::option(word)).collect();
    // An unknown problem is told as such.
    Problems.open(&ProblemRequest { name: name.to_owned(), size: "5x5".to_owned(), options: options.clone() })?;
    let mut table = Table::default();
    for longer in [0, 1] {
        for (n, count) in (1..=MOST).map_while(|n| Some((n, known(name, &options, n, n + longer)?))) {
            let added = table.add(0, (n, n + longer), count);
            added.map_err(|error| Failed::other(format!("published counts of {name}: {error}")))?;
        }
    }
    if name == "go" {
        table.read(RECTANGLES).map_err(|error| Failed::other(format!("counted rectangles of go: {error}")))?;
    }
    if let Some(path) = &args.from {
        let file = input::read(path, MOST_BYTES, "; give fewer counts")?;
        let wrong = |text: String| Failed::usage(format!("{}: {text}", file.name));
        let mut number = 0;
        for row in rows(&file.text) {
            let Row { line, sides: (m, n), count } = row.map_err(|error| wrong(error.to_string()))?;
            if name == "go" && table.get(m, n).is_none() {
                check::by_formula(m, n, &count)
                    .map_err(|text| wrong(format!("line {line}: {text}; correct the table")))?;
            }
            table.add(line, (m, n), count).map_err(|error| wrong(error.to_string()))?;
            number += 1;
        }
        if number == 0 {
            return Err(wrong(
                "expected counts, rows `m,n,count` or what a count of a series prints as CSV, got none".to_owned(),
            ));
        }
        args.tell(&format!("{}: {number} counts", file.name));
    }
    Ok(table)
}

pub(super) fn constants(args: &AnalyseArgs) -> Result<(), Failed> {
    let name = args.problem.clone().unwrap_or_default();
    let table = table(args, &name)?;
    let found = Constants::of(&table).map_err(|error| Failed::usage(format!("{name}: {error}")))?;
    if let Some(path) = &args.svg {
        std::fs::write(path, svg(&found))
            .map_err(|error| Failed::other(format!("cannot write {}: {error}", path.display())))?;
    }
    let report = Report { name, table, found };
    let is_json = args.format() == AnalysisFormat::Json;
    hand_over(&if is_json { report.json().to_string() } else { report.text() })?;
    report.broken().map_or(Ok(()), |text| Err(Failed::new(CHECK_FAILED, text)))
}

/// A small number as people read it: `-1.2e-9`.
fn shown(error: &Integer) -> String {
    let Some(exponent) = exponent(error) else { return "0".to_owned() };
    let sign = if *error < 0 { "-" } else { "" };
    let whole = exponent.floor();
    format!("{sign}{:.1}e{whole}", 10_f64.powf(exponent - whole))
}
