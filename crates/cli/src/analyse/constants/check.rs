//! Counts of Go that nobody has published, against the formula that the published ones gave.
//!
//! ```text
//!   |count / (A B^(m+n) L^(mn)) - 1|  is at most what d(m), d(n), e(m) and e(n) allow
//! ```
//!
//! Boards that are one or two points wide are left out: the formula says little of them.

use keima_analyse::Integer;
use keima_coordinator::formula_error;
use keima_model::{Decimal, Formula};
use keima_problems::go::published::formula;

use super::bounds::scientific;

/// What was expected of a count and what came, if the formula refuses it.
pub(super) fn by_formula(m: u32, n: u32, count: &Integer) -> Result<(), String> {
    let Some(formula) = formula(m, n) else { return Ok(()) };
    let Some(error) = formula_error(&formula, count).filter(|error| error.abs() > formula.tolerance) else {
        return Ok(());
    };
    let (expected, got) = (about(log10(&formula)), scientific(count));
    Err(format!(
        "expected a count of {m}x{n} within {:.1e} of {}, which is about {expected}, got about {got}, which is off by {error:.1e}",
        formula.tolerance, formula.text
    ))
}

/// log10 of the formula.
fn log10(formula: &Formula) -> f64 {
    let log = |Decimal(digits): &Decimal| digits.parse::<f64>().map_or(0.0, f64::log10);
    formula.factors.iter().map(|(base, exponent)| log(base) * f64::from(*exponent)).sum()
}

/// `1.2e190` of its logarithm.
fn about(log: f64) -> String {
    let mut exponent = log.floor();
    let mut digits = format!("{:.3}", 10_f64.powf(log - exponent));
    // 9.9996 becomes 10.000.
    if digits.starts_with("10") {
        exponent += 1.0;
        "1.000".clone_into(&mut digits);
    }
    format!("{digits}e{exponent}")
}

#[cfg(test)]
mod tests {
    use keima_problems::go::published::known;

    use super::*;

    #[test]
    fn counts_are_near_the_formula_or_refused() {
        let published = |m, n| known(m, n).and_then(|digits| digits.parse::<Integer>().ok()).unwrap_or_default();
        for (m, n, count, expected) in [
            (19, 19, published(19, 19), None),
            (19, 20, published(19, 20), None),
            (20, 19, published(19, 20), None),
            (20, 20, Integer::from(1_234_567), Some("expected a count of 20x20 within")),
            (20, 20, published(19, 20), Some("A B^(m+n) L^(mn), which is about")),
            (19, 19, published(19, 19) * 2_u32, Some("off by 1.0e0")),
            (19, 19, published(19, 20), Some("off by")),
            // Of so narrow boards it says nothing.
            (1, 150, Integer::from(7), None),
        ] {
            let got = by_formula(m, n, &count).err();
            assert_eq!(got.is_some(), expected.is_some(), "{m}x{n}: {got:?}");
            assert!(got.as_ref().is_none_or(|got| got.contains(expected.unwrap_or_default())), "{m}x{n}: {got:?}");
        }
        for (log, expected) in [(2.0, "1.000e2"), (190.301_03, "2.000e190"), (0.999_999, "1.000e1")] {
            assert_eq!(about(log), expected);
        }
    }
}
