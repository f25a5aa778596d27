//! One table of results over its index, such as the placements of Quoridor by the number of fences.
//!
//! The index is the field that is a number: counts and figures are texts. Numbers above [`LINEAR`] stand on a logarithmic axis,
//! on which zeros have no place.

use keima_analyse::plot::{Axis, Chart, Line, log10};
use serde_json::{Map, Value};

use super::input::Counted;
use crate::exit::Failed;

/// Largest number on a linear axis.
const LINEAR: f64 = 1000.0;

pub(super) fn chart(results: &[Counted], name: &str) -> Result<Chart, Failed> {
    let mut label = None;
    let mut all: Vec<(String, Vec<(f64, &str)>)> = Vec::new();
    for result in results {
        let rows = rows(&result.value).filter(|row| row.get("table").and_then(Value::as_str) == Some(name));
        let mut points = Vec::new();
        for row in rows {
            let (index, at) = row.iter().find_map(|(name, value)| Some((name, value.as_f64()?))).ok_or_else(|| {
                Failed::usage(format!(
                    "the rows of {name} have words for an index, which is no axis: choose another --table, or print it with \
                     --format csv"
                ))
            })?;
            label.get_or_insert_with(|| index.clone());
            points.push((at, row.get("count").and_then(Value::as_str).unwrap_or_default()));
        }
        if points.is_empty() {
            return Err(Failed::usage(format!(
                "{} has no table {name:?}: --table takes {}",
                result.subject(),
                names(result)
            )));
        }
        all.push((result.subject(), points));
    }
    let highest = all.iter().flat_map(|(_, points)| points).filter_map(|(_, count)| log10(count)).fold(0.0, f64::max);
    let is_logarithmic = highest > LINEAR.log10();
    let value = |count: &str| if is_logarithmic { log10(count) } else { count.parse().ok() };
    let line = |(name, points): (String, Vec<(f64, &str)>)| Line {
        name,
        points: points.into_iter().filter_map(|(at, count)| Some((at, value(count)?))).collect(),
    };
    let title = match results {
        [only] => format!("{}: {name}", only.subject()),
        _ => name.to_owned(),
    };
    Ok(Chart {
        title,
        x: Axis::linear(label.unwrap_or_default()),
        y: Axis { label: "count".to_owned(), is_logarithmic },
        lines: all.into_iter().map(line).collect(),
    })
}

fn rows(result: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    result.get("counts").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn names(result: &Counted) -> String {
    let mut names: Vec<&str> = rows(&result.value).filter_map(|row| row.get("table")?.as_str()).collect();
    names.dedup();
    if names.is_empty() { "none, since it has no tables".to_owned() } else { names.join(", ") }
}
