//! A plot of the formula's relative error, as SVG without outside resources.
//!
//! ```text
//!   log10 |count / formula - 1|  over n, for n x n and n x (n+1)
//! ```

use std::fmt::Write as _;

use rug::Integer;

use super::{Constants, Errors, SCALE};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
/// Left, right, top, bottom.
const MARGINS: [f64; 4] = [64.0, 20.0, 40.0, 48.0];

/// log10 of the absolute value of a number of this scale; `None` for 0.
pub fn exponent(error: &Integer) -> Option<f64> {
    let text = Integer::from(error.abs_ref()).to_string();
    let head: f64 = text.get(..text.len().min(15))?.parse().ok()?;
    (head > 0.0).then(|| head.log10() + (text.len() - text.len().min(15)) as f64 - f64::from(SCALE))
}

/// The plot.
pub fn svg(constants: &Constants) -> String {
    let points = |of: &dyn Fn(&Errors) -> Option<f64>, shift: f64| -> Vec<(f64, f64)> {
        let all = (1..).zip(&constants.errors);
        all.filter_map(|(n, errors)| Some((f64::from(n) + shift, of(errors)?))).collect()
    };
    let squares = points(&|errors| exponent(&errors.0), 0.0);
    let oblongs = points(&|errors| errors.1.as_ref().and_then(exponent), 0.5);
    let all = || squares.iter().chain(&oblongs);
    let most = all().map(|point| point.0).fold(2.0, f64::max);
    let lowest = all().map(|point| point.1).fold(-1.0, f64::min).floor();
    let [left, right, top, bottom] = MARGINS;
    let x = |n: f64| left + (n - 1.0) / (most - 1.0) * (WIDTH - left - right);
    let y = |value: f64| top + value / lowest * (HEIGHT - top - bottom);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"{left}\" y=\"22\" font-size=\"15\">|count / (A B^(m+n) L^(mn)) - 1|</text>\n"
    );
    let mut decade = 0.0;
    while decade >= lowest {
        let (at, label) = (y(decade), decade as i64);
        let _ = writeln!(
            out,
            "<line x1=\"{left}\" x2=\"{:.0}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">1e{label}</text>",
            WIDTH - right,
            left - 8.0,
            at + 4.0
        );
        decade -= (-lowest / 8.0).ceil().max(1.0);
    }
    for n in 1..=most as u32 {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{n}</text>",
            x(f64::from(n)),
            HEIGHT - bottom + 20.0
        );
    }
    for (name, colour, series, line) in [("n x n", "#0b5fa5", &squares, 22.0), ("n x (n+1)", "#c2410c", &oblongs, 38.0)]
    {
        let path: Vec<String> = series.iter().map(|(n, value)| format!("{:.1},{:.1}", x(*n), y(*value))).collect();
        let _ = writeln!(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>", path.join(" "));
        for (n, value) in series {
            let _ = writeln!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>", x(*n), y(*value));
        }
        let at = WIDTH - right - 90.0;
        let _ = writeln!(
            out,
            "<circle cx=\"{at}\" cy=\"{:.0}\" r=\"4\" fill=\"{colour}\"/><text x=\"{:.0}\" y=\"{line:.0}\">{name}</text>",
            line - 4.0,
            at + 10.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">n</text>\n</svg>",
        f64::midpoint(left, WIDTH),
        HEIGHT - 8.0
    );
    out
}
