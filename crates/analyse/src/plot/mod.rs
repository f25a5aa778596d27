//! Line charts as SVG: one file without outside resources, readable on light and on dark paper, in print and without colours.
//!
//! ```text
//!   Chart { title, axes, lines }  ->  text that begins with <svg
//! ```
//!
//! A logarithmic axis is given log10 of its values, so that numbers of any length have a place. Lines differ in colour and in
//! dashes. Every text is escaped: names may come out of files that others wrote. Cost: linear in the points.

mod ticks;

use std::fmt::Write as _;

use self::ticks::ticks;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 440.0;
/// Left, right, top, bottom.
const MARGINS: [f64; 4] = [76.0, 20.0, 40.0, 52.0];
/// Room of the legend, right of the lines.
const LEGEND: f64 = 180.0;
/// Of a line with more points only the line is drawn.
const MOST_MARKS: usize = 64;
/// Longest name in the legend, in characters.
const LONGEST_NAME: usize = 22;
/// Up to so many powers of ten a logarithmic axis begins and ends at one, so that it has labels.
const FEW_POWERS: f64 = 3.0;
/// Lines in the legend; further ones are drawn and not named.
const MOST_NAMED: usize = 20;
/// Colours of the lines on light and on dark paper.
const COLOURS: [(&str, &str); 6] = [
    ("#0b5fa5", "#6cb6ff"),
    ("#c2410c", "#ff9d5c"),
    ("#15803d", "#5fd38d"),
    ("#7e22ce", "#cf9bff"),
    ("#a16207", "#f2cc60"),
    ("#be185d", "#ff8ac2"),
];
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// Whether the values are log10 of what is measured.
    pub is_logarithmic: bool,
}

impl Axis {
    /// An axis of plain values.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), is_logarithmic: false }
    }
    /// An axis whose values are log10 of what is measured.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self { label: label.into(), is_logarithmic: true }
    }
}

/// Points that are joined. Those that are no finite numbers are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// What the legend says.
    pub name: String,
    /// (x, y).
    pub points: Vec<(f64, f64)>,
}

/// A chart of lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Stands above.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From below.
    pub y: Axis,
    /// The lines, the first in the first colour.
    pub lines: Vec<Line>,
}

/// Where values stand between two margins.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Room for all `values` of an axis.
    fn of(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let (low, high) =
            if axis.is_logarithmic && high - low < FEW_POWERS { (low.floor(), high.ceil()) } else { (low, high) };
        // One value alone stands in the middle.
        let half = if high > low { 0.0 } else { 0.5_f64.max(low.abs() / 2.0) };
        Self { low: low - half, high: high + half, from, to }
    }
    fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }
}

impl Chart {
    /// The chart as one SVG element and a line end.
    pub fn svg(&self) -> String {
        let [left, right, top, bottom] = MARGINS;
        let names = if self.lines.len() > 1 { LEGEND } else { 0.0 };
        let finite = |point: &&(f64, f64)| point.0.is_finite() && point.1.is_finite();
        let points = || self.lines.iter().flat_map(|line| &line.points).filter(finite);
        let x = Scale::of(&self.x, points().map(|point| point.0), left, WIDTH - right - names);
        let y = Scale::of(&self.y, points().map(|point| point.1), HEIGHT - bottom, top);
        let mut out = self.head();
        for (value, label) in ticks(y.low, y.high, self.y.is_logarithmic) {
            let at = y.at(value);
            let _ = writeln!(
                out,
                "<path class=\"g\" d=\"M{left} {at:.1}H{:.0}\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                x.to,
                left - 8.0,
                at + 4.0
            );
        }
        let foot = HEIGHT - bottom;
        for (value, label) in ticks(x.low, x.high, self.x.is_logarithmic) {
            let at = x.at(value);
            let _ = writeln!(
                out,
                "<path class=\"a\" d=\"M{at:.1} {foot}v5\"/><text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{label}</text>",
                foot + 19.0
            );
        }
        let _ = writeln!(out, "<path class=\"a\" d=\"M{left} {top}V{foot}H{:.0}\"/>", x.to);
        for (number, line) in self.lines.iter().enumerate() {
            let places: Vec<(f64, f64)> = line.points.iter().filter(finite).map(|p| (x.at(p.0), y.at(p.1))).collect();
            let _ = write!(out, "{}", drawn(number, &places));
            if self.lines.len() > 1 && number < MOST_NAMED {
                let (at, height) = (WIDTH - right - LEGEND + 14.0, top + 10.0 + 18.0 * number as f64);
                out += &drawn(number, &[(at, height), (at + 26.0, height)]);
                let _ = writeln!(
                    out,
                    "<text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
                    at + 34.0,
                    height + 4.0,
                    named(&line.name)
                );
            }
        }
        self.labels(&mut out, f64::midpoint(left, x.to), f64::midpoint(top, foot));
        out + "</svg>\n"
    }

    /// The element's beginning: size, colours, paper.
    fn head(&self) -> String {
        let mut light =
            "text{fill:#1f2328}.p{fill:#fff}.a{stroke:#1f2328;fill:none}.g{stroke:#d8dee4;fill:none}".to_owned();
        let mut dark = "text{fill:#e6edf3}.p{fill:#0d1117}.a{stroke:#e6edf3}.g{stroke:#30363d}".to_owned();
        for (number, (on_light, on_dark)) in COLOURS.iter().enumerate() {
            let _ = write!(light, ".l{number}{{stroke:{on_light};fill:none}}.d{number}{{fill:{on_light}}}");
            let _ = write!(dark, ".l{number}{{stroke:{on_dark}}}.d{number}{{fill:{on_dark}}}");
        }
        let title = escaped(&self.title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"13\" role=\"img\">\n<title>{title}</title>\n\
             <style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>\n\
             <rect class=\"p\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n"
        )
    }

    /// The title and the labels of the axes.
    fn labels(&self, out: &mut String, middle_x: f64, middle_y: f64) {
        let _ = writeln!(out, "<text x=\"{}\" y=\"24\" font-size=\"15\">{}</text>", MARGINS[0], escaped(&self.title));
        let _ = writeln!(
            out,
            "<text x=\"{middle_x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 10.0,
            escaped(&self.x.label)
        );
        let _ = writeln!(
            out,
            "<text transform=\"translate(18 {middle_y:.0}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.y.label)
        );
    }
}

/// A line with its marks.
fn drawn(number: usize, places: &[(f64, f64)]) -> String {
    let colour = number % COLOURS.len();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dashes = match DASHES[number % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    };
    let mut out =
        format!("<polyline class=\"l{colour}\" stroke-width=\"1.6\"{dashes} points=\"{}\"/>\n", path.join(" "));
    if places.len() <= MOST_MARKS {
        for (x, y) in places {
            let _ = writeln!(out, "<circle class=\"d{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\"/>");
        }
    }
    out
}

/// A name of the legend, cut where it would leave the picture.
fn named(name: &str) -> String {
    let is_long = name.chars().count() > LONGEST_NAME;
    let short: String = name.chars().take(if is_long { LONGEST_NAME - 3 } else { LONGEST_NAME }).collect();
    escaped(&short) + if is_long { "..." } else { "" }
}

/// Text between tags. Characters that XML forbids become blanks.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// log10 of a whole number in decimal; `None` for 0 and what is no number.
pub fn log10(digits: &str) -> Option<f64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    let head = digits.len().min(15);
    let value: f64 = digits.get(..head)?.parse().ok()?;
    Some(value.log10() + (digits.len() - head) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(lines: Vec<Line>) -> Chart {
        Chart { title: "a < b & \"c\"\u{1}".to_owned(), x: Axis::linear("n"), y: Axis::logarithmic("count"), lines }
    }

    fn line(points: &[(f64, f64)]) -> Line {
        Line { name: "<script>".to_owned(), points: points.to_vec() }
    }

    /// Whatever the points are, all numbers are finite and within the picture, and texts are escaped.
    #[test]
    fn every_chart_is_whole() {
        for (lines, marks) in [
            (vec![], 0),
            (vec![line(&[])], 0),
            (vec![line(&[(3.0, 5.0)])], 1),
            (vec![line(&[(0.0, 0.0)])], 1),
            (vec![line(&[(1.0, 0.0), (2.0, 170.0), (3.0, f64::NAN), (f64::INFINITY, 1.0)])], 2),
            (vec![line(&[(1.0, -90.0), (2.0, -3.0)]), line(&[(1.5, 7.0)])], 3 + 2 * 2),
            (vec![line(&(0..65).map(|n| (f64::from(n), 1.0)).collect::<Vec<_>>())], 0),
        ] {
            let svg = chart(lines).svg();
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("<script"), "{svg}");
            assert!(svg.contains("a &lt; b &amp; &quot;c&quot; <"), "{svg}");
            assert!(!svg.contains("href") && !svg.contains("url("), "nothing from outside: {svg}");
            assert_eq!(svg.matches("<circle").count(), marks, "{svg}");
            for y in svg.split(" cy=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let y: f64 = y.parse().unwrap();
                assert!((MARGINS[2]..=HEIGHT - MARGINS[3]).contains(&y), "{y}: {svg}");
            }
        }
    }

    #[test]
    fn numbers_of_any_length_have_a_logarithm() {
        for (digits, expected) in [("1", Some(0.0)), ("1000", Some(3.0)), ("007", Some(7_f64.log10())), ("0", None)] {
            assert_eq!(log10(digits).map(f64::abs), expected, "{digits}");
        }
        for bad in ["", "-1", "1e5", "x"] {
            assert_eq!(log10(bad), None, "{bad}");
        }
        let long = log10(&format!("2{}", "0".repeat(170))).unwrap();
        assert!((long - 170.301_03).abs() < 1e-6, "{long}");
    }
}
