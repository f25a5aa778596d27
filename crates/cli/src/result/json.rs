//! Results as one JSON object. Big integers, residues and the figures beside a number are strings.

use std::collections::BTreeMap;

use keima_coordinator::{Outcome, Table, TableRow};
use serde_json::{Map, Value, json};

use super::choice::COUNT;
use super::finished::{Extra, Finished};
use crate::args::VERSION;

/// The object of a count that has an outcome, good or bad. The count has a field of its own, even if it is among
/// `tables`.
pub(super) fn result(
    count: &Finished<'_>,
    outcome: &Outcome,
    tables: &[Table],
    series: bool,
    objects: Option<&[String]>,
    extra: &Extra,
) -> Value {
    let mut object = json!({
        "problem": count.problem,
        "size": count.size,
        "count": if outcome.ok { Value::from(outcome.count.clone()) } else { Value::Null },
        "residues": outcome.residues,
        "checks": outcome.checks,
        "seconds": count.seconds,
        "peak_states": count.peak_states,
        "job": count.job.to_string(),
        "state": count.state.to_string(),
        "resumed_from": count.resumed_from,
        "notes": count.notes,
        "program": format!("keima {VERSION}"),
        "identity": outcome.identity,
        "builds": outcome.builds,
        "statistics": keima_http::json::statistics(&count.statistics, count.plan),
    });
    if let Value::Object(map) = &mut object {
        let mut tables = tables.iter().filter(|table| table.name != COUNT).peekable();
        if tables.peek().is_some() {
            let remarks: Vec<Value> = tables.clone().flat_map(remarks).collect();
            map.insert("counts".into(), tables.flat_map(counts).collect());
            if !remarks.is_empty() {
                map.insert("remarks".into(), remarks.into());
            }
        }
        if !count.options.is_empty() {
            let options: BTreeMap<_, _> = count.options.iter().cloned().collect();
            map.insert("options".into(), options.into_iter().collect());
        }
        if series {
            map.insert("series".into(), keima_http::json::series(&outcome.series));
        }
        if let Some(objects) = objects {
            map.insert("objects".into(), objects.into());
        }
        if let Some(certificate) = count.certificate {
            map.insert("certificate".into(), certificate.clone());
        }
        for (name, value) in &extra.0 {
            map.insert((*name).into(), value.clone());
        }
    }
    object
}

/// One object per row: the table, the index under its own name, the number, and the figures beside it.
fn counts(table: &Table) -> impl Iterator<Item = Value> {
    table.rows.iter().map(|row: &TableRow| {
        let index = row.index.parse::<u64>().map_or_else(|_| Value::from(row.index.as_str()), Value::from);
        let fixed =
            [("table", table.name.as_str().into()), (&table.index, index), ("count", row.count.as_str().into())];
        let figures = table.columns.iter().zip(&row.figures).filter(|(_, figure)| !figure.is_empty());
        let figures = figures.map(|(name, figure)| (name.clone(), Value::from(figure.as_str())));
        let fields = fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(figures);
        Value::Object(fields.collect::<Map<_, _>>())
    })
}

/// The remarks on a table.
fn remarks(table: &Table) -> impl Iterator<Item = Value> {
    table.remarks.iter().map(|remark| json!({ "table": table.name, "remark": remark }))
}
