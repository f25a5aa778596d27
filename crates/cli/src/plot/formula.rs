//! How the problem's formula comes closer to its counts: log10 |count / formula - 1| over the length of the board.
//!
//! ```text
//!   a series           one line
//!   sizes n x n        one line
//!   other sizes        a line for each shorter side
//! ```
//!
//! Boards on which the formula is too far off to be a check have no point.

use std::collections::{BTreeMap, BTreeSet};

use keima_analyse::Integer;
use keima_analyse::plot::{Axis, Chart, Line};
use keima_coordinator::formula_error;
use keima_model::{Formula, Registry};
use keima_problems::Problems;
use serde_json::Value;

use super::input::Counted;
use crate::exit::Failed;

/// Longest count that is compared with a formula, in digits.
const MOST_DIGITS: usize = 1_000_000;

/// A board, shorter or fixed side first, with the error of its formula.
struct Point {
    height: u32,
    length: u32,
    error: f64,
}

pub(super) fn chart(results: &[Counted]) -> Result<Chart, Failed> {
    let mut lines: BTreeMap<String, BTreeMap<u32, f64>> = BTreeMap::new();
    let mut singles = Vec::new();
    let mut texts = BTreeSet::new();
    for result in results {
        let problem = Problems.open(&result.request)?;
        let (info, board) = (problem.info(), problem.info().board());
        let functionals = info.functionals();
        let mut error = |formula: &Option<Formula>, count: &str| {
            let formula = formula.as_ref()?;
            texts.insert(formula.text.clone());
            error(formula, count)
        };
        for entry in result.value.get("series").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str);
            let functional = functionals.iter().find(|functional| Some(functional.name.as_str()) == text("name"));
            if let Some(functional) = functional
                && let Some(error) = error(&functional.formula, text("count").unwrap_or_default())
            {
                let name = format!("{} {}xn", result.request.name, board.height);
                lines.entry(name).or_default().insert(functional.index, error);
            }
        }
        if let [answer] = functionals.iter().filter(|functional| functional.answer).collect::<Vec<_>>().as_slice()
            && result.value.get("series").is_none()
            && let Some(error) = error(&answer.formula, &result.count)
        {
            let (height, length) = (board.height.min(board.length), board.height.max(board.length));
            singles.push((&result.request.name, Point { height, length, error }));
        }
    }
    let squares = singles.iter().all(|(_, point)| point.height == point.length);
    for (name, Point { height, length, error }) in singles {
        let line = if squares { format!("{name} nxn") } else { format!("{name} {height}xn") };
        lines.entry(line).or_default().insert(length, error);
    }
    if lines.is_empty() {
        return Err(Failed::usage(
            "no result can be compared with a formula: of the problems go has one, where boards are not too small; plot \
             for example `keima count go 7x9 --series --json`",
        ));
    }
    let line = |(name, points): (String, BTreeMap<u32, f64>)| Line {
        name,
        points: points.into_iter().map(|(n, error)| (f64::from(n), error)).collect(),
    };
    let formulas = texts.into_iter().collect::<Vec<_>>().join(", ");
    Ok(Chart {
        title: format!("|count / ({formulas}) - 1|"),
        x: Axis::linear("n"),
        y: Axis::logarithmic("relative error"),
        lines: lines.into_iter().map(line).collect(),
    })
}

/// log10 of the error's size; `None` where there is none, or the count is no number.
fn error(formula: &Formula, count: &str) -> Option<f64> {
    let is_number = !count.is_empty() && count.len() <= MOST_DIGITS && count.bytes().all(|byte| byte.is_ascii_digit());
    let count: Integer = is_number.then(|| count.parse().ok()).flatten()?;
    let error = formula_error(formula, &count)?.abs();
    (error > 0.0).then(|| error.log10())
}
