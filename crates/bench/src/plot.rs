//! The plot: nanoseconds per state-pass against the board's side, on a logarithmic scale, a line for each executor,
//! number of residues and number of threads; drawn as SVG.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::sample::Kind;
use crate::table::Row;

const SIZE: (u32, u32) = (960, 600);
/// Colours by residues carried at once.
const COLOURS: [(u32, RGBColor); 4] =
    [(1, RGBColor(31, 119, 180)), (2, RGBColor(44, 160, 44)), (4, RGBColor(255, 127, 14)), (8, RGBColor(214, 39, 40))];

/// One line: what it is, and ns per state-pass by side.
struct Line {
    name: String,
    residues: u32,
    threads: u32,
    points: Vec<(f64, f64)>,
}

/// The lines of all kernels and sweeps, and golegal's.
fn lines(rows: &[Row]) -> Vec<Line> {
    let mut lines: BTreeMap<_, Line> = BTreeMap::new();
    for row in rows {
        let label = row.label;
        let what = match label.kind {
            Kind::BlockForward => "block",
            Kind::Stream => "stream",
            Kind::Golegal => "golegal",
            _ => continue,
        };
        if row.sample.nanos() <= 0.0 {
            continue;
        }
        let plural = if label.threads == 1 { "" } else { "s" };
        let line = lines.entry((label.kind, label.residues, label.threads)).or_insert_with(|| Line {
            name: format!("{what}, K={}, {} thread{plural}", label.residues, label.threads),
            residues: label.residues,
            threads: label.threads,
            points: Vec::new(),
        });
        line.points.push((f64::from(label.height), row.sample.nanos()));
    }
    lines.into_values().collect()
}

/// The plot as the text of an SVG file; of no rows, an empty plot.
pub(crate) fn svg(rows: &[Row]) -> Result<String> {
    let mut text = String::new();
    draw(&lines(rows), &mut text).map_err(|error| anyhow!("the plot cannot be drawn: {error}"))?;
    Ok(text)
}

fn draw(lines: &[Line], text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let range = |pick: fn(&(f64, f64)) -> f64, low: f64, high: f64| {
        let least = points().map(pick).fold(f64::INFINITY, f64::min);
        let most = points().map(pick).fold(f64::NEG_INFINITY, f64::max);
        if least <= most { (least, most) } else { (low, high) }
    };
    let (left, right) = range(|point| point.0, 9.0, 14.0);
    let (low, high) = range(|point| point.1, 1.0, 100.0);
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("ns per state-pass, all K residues together", ("sans-serif", 20))
        .margin(12)
        .margin_right(220)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(left - 0.25..right + 0.25, (low * 0.8..high * 1.25).log_scale())?;
    let sides = (right - left) as usize + 1;
    chart
        .configure_mesh()
        .x_desc("side of the board")
        .y_desc("ns")
        .x_labels(sides + 1)
        .x_label_formatter(&|side| if side.fract().abs() < 1e-6 { format!("{side:.0}") } else { String::new() })
        .y_label_formatter(&|nanos| crate::table::short(*nanos))
        .light_line_style(WHITE)
        .draw()?;
    for line in lines {
        let colour =
            COLOURS.iter().find(|(residues, _)| *residues == line.residues).map_or(BLACK, |(_, colour)| *colour);
        // Two threads are drawn strongly, one thread lightly; golegal, alone of its kind, is black.
        let colour = if line.name.starts_with("golegal") { BLACK } else { colour };
        let style = colour.mix(if line.threads > 1 { 1.0 } else { 0.45 }).stroke_width(2);
        chart
            .draw_series(LineSeries::new(line.points.iter().copied(), style).point_size(3))?
            .label(line.name.clone())
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style));
    }
    if !lines.is_empty() {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::Coordinate(SIZE.0 as i32 - 280, 10))
            .border_style(BLACK.mix(0.2))
            .background_style(WHITE)
            .draw()?;
    }
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Label, Sample};

    #[test]
    fn every_line_is_in_the_plot() {
        let row = |kind, height, residues, nanos: f64| Row {
            label: Label { kind, height, residues, threads: 2 },
            runs: 1,
            sample: Sample { seconds: nanos, state_passes: 1e9, ..Sample::default() },
        };
        let rows = [
            row(Kind::BlockForward, 9, 1, 1.5),
            row(Kind::BlockForward, 10, 1, 1.7),
            row(Kind::Stream, 9, 8, 60.0),
            row(Kind::Golegal, 10, 1, 130.0),
            row(Kind::CountBlock, 10, 4, 130.0),
        ];
        let found = svg(&rows).unwrap();
        assert!(found.starts_with("<svg ") && found.trim_end().ends_with("</svg>"));
        for name in ["block, K=1, 2 threads", "stream, K=8, 2 threads", "golegal, K=1, 2 threads", "side of the board"]
        {
            assert!(found.contains(name), "{name} is missing");
        }
        assert_eq!(lines(&rows).len(), 3);
        assert_eq!(found.matches("<circle").count(), 4);
        assert!(svg(&[]).unwrap().contains("</svg>"));
    }
}
