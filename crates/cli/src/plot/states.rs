//! Border states at each boundary between two passes, from the certificate of a result.
//!
//! ```text
//!   streams   a number for each pass
//!   blocks    a number for each stage; a count from both ends has a line for each direction
//! ```
//!
//! All sweeps have the same states: the first one is drawn. Where a family was split, a stage's numbers after its first pass
//! count some states twice, and are left out.

use std::collections::BTreeMap;

use keima_analyse::plot::{Axis, Chart, Line, log10};
use serde_json::Value;

use super::input::Counted;
use crate::exit::Failed;

/// Boundary and states, by direction.
#[derive(Default)]
struct Boundaries {
    forward: BTreeMap<u64, f64>,
    transposed: BTreeMap<u64, f64>,
}

pub(super) fn chart(results: &[Counted]) -> Result<Chart, Failed> {
    let mut lines = Vec::new();
    for result in results {
        let found = boundaries(&result.value).unwrap_or_default();
        for (boundaries, way) in [(found.forward, ""), (found.transposed, ", transposed")] {
            if !boundaries.is_empty() {
                let points = boundaries.into_iter().map(|(pass, states)| (pass as f64, states)).collect();
                lines.push(Line { name: format!("{}{way}", result.subject()), points });
            }
        }
    }
    if lines.is_empty() {
        return Err(Failed::usage(
            "no result has a certificate with states: `keima count PROBLEM SIZE --json` makes one; --what formula and \
             --table NAME need none",
        ));
    }
    let title = match results {
        [only] => format!("States of {}", only.subject()),
        _ => "States at each boundary".to_owned(),
    };
    Ok(Chart { title, x: Axis::linear("passes done"), y: Axis::logarithmic("border states"), lines })
}

/// Those of the first sweep; `None` where there is no such certificate.
fn boundaries(result: &Value) -> Option<Boundaries> {
    let stages = result.pointer("/certificate/sweeps/0/stages")?.as_array()?;
    let mut found = Boundaries::default();
    for stage in stages {
        let first = number(stage.get("first_pass")?)?;
        let end = first.checked_add(number(stage.get("cells")?)?)?;
        let is_transposed = stage.get("direction")?.as_str()? == "transposed";
        let is_exact = stage.get("exact").and_then(Value::as_bool).unwrap_or_default();
        let (into, reads_at, writes_at) =
            if is_transposed { (&mut found.transposed, end, first) } else { (&mut found.forward, first, end) };
        let mut add = |at: u64, states: Option<&Value>| {
            if let Some(states) = states.and_then(Value::as_str).and_then(log10) {
                into.insert(at, states);
            }
        };
        add(reads_at, stage.pointer("/reads/states"));
        if !is_exact {
            continue;
        }
        add(writes_at, stage.pointer("/writes/states"));
        for pass in stage.get("passes").and_then(Value::as_array).into_iter().flatten() {
            if let Some(at) = pass.get("pass").and_then(number) {
                add(if is_transposed { at.saturating_add(1) } else { at }, pass.get("states"));
            }
        }
    }
    Some(found)
}

fn number(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stages_become_boundaries() {
        let stage = |direction: &str, first: &str, exact: bool, passes: Value| {
            json!({
                "direction": direction, "first_pass": first, "cells": "2", "exact": exact, "passes": passes,
                "reads": { "states": "10" }, "writes": { "states": "1000" },
            })
        };
        let passes = json!([{ "pass": "3", "states": "10" }, { "pass": "4", "states": "100" }]);
        for (stage, forward, transposed) in [
            (stage("forward", "3", true, json!([])), vec![(3, 1.0), (5, 3.0)], vec![]),
            (stage("forward", "3", true, passes.clone()), vec![(3, 1.0), (4, 2.0), (5, 3.0)], vec![]),
            (stage("forward", "3", false, passes), vec![(3, 1.0)], vec![]),
            (stage("transposed", "3", true, json!([])), vec![], vec![(3, 3.0), (5, 1.0)]),
        ] {
            let result = json!({ "certificate": { "sweeps": [{ "stages": [stage] }] } });
            let found = boundaries(&result).unwrap();
            assert_eq!(found.forward.into_iter().collect::<Vec<_>>(), forward);
            assert_eq!(found.transposed.into_iter().collect::<Vec<_>>(), transposed);
        }
        for other in [json!({}), json!({ "certificate": { "sweeps": [] } }), json!({ "certificate": null })] {
            assert!(boundaries(&other).is_none(), "{other}");
        }
    }
}
