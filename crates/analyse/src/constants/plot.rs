//! A plot of the formula's relative error.
//!
//! ```text
//!   log10 |count / formula - 1|  over n, for n x n and n x (n+1)
//! ```

use rug::Integer;

use super::{Constants, Errors, SCALE};
use crate::plot::{Axis, Chart, Line, log10};

/// log10 of the absolute value of a number of this scale; `None` for 0.
pub fn exponent(error: &Integer) -> Option<f64> {
    Some(log10(&Integer::from(error.abs_ref()).to_string())? - f64::from(SCALE))
}

/// The plot.
pub fn svg(constants: &Constants) -> String {
    let points = |of: &dyn Fn(&Errors) -> Option<f64>| -> Vec<(f64, f64)> {
        let all = (1..).zip(&constants.errors);
        all.filter_map(|(n, errors)| Some((f64::from(n), of(errors)?))).collect()
    };
    let squares = points(&|errors| exponent(&errors.0));
    let oblongs = points(&|errors| errors.1.as_ref().and_then(exponent));
    let line = |name: &str, points| Line { name: name.to_owned(), points };
    Chart {
        title: "|count / (A B^(m+n) L^(mn)) - 1|".to_owned(),
        x: Axis::linear("n"),
        y: Axis::logarithmic("relative error"),
        lines: vec![line("n x n", squares), line("n x (n+1)", oblongs)],
    }
    .svg()
}
