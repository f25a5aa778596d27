//! Statuses and evidence as text and as JSON. Big integers are strings in JSON.

use std::collections::BTreeMap;

use keima_coordinator::{JobStatus, Outcome, Plan, SeriesEntry, State};
use keima_model::Direction;
use serde_json::{Value, json};

use crate::result::{Finished, Statistics};
use crate::units::{show_bytes, show_count, show_seconds};

pub(crate) fn series_json(series: &[SeriesEntry]) -> Value {
    series.iter().map(|e| json!({ "index": e.index, "name": e.name, "count": e.count, "ok": e.ok })).collect()
}

pub(crate) fn statistics_json(statistics: &Statistics, plan: Option<&Plan>) -> Value {
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    json!({
        "disk_peak_bytes": statistics.disk_peak_bytes,
        "disk_forecast_bytes": plan.map(|p| p.disk_bytes),
        "bytes_read": statistics.bytes_read,
        "bytes_written": statistics.bytes_written,
        "bytes_spilled": statistics.bytes_spilled,
        "read_seconds": seconds(statistics.times.read_nanos),
        "map_seconds": seconds(statistics.times.map_nanos),
        "write_seconds": seconds(statistics.times.write_nanos),
        "executor": plan.map(|p| p.executor.clone()),
        "why": plan.map(|p| p.why.clone()),
        "windows": plan.map(|p| p.windows.iter().map(|w| w.len).collect::<Vec<_>>()),
        "sweeps": plan.map(|p| p.sweeps.len()),
    })
}

/// Checks and figures for stderr.
pub(crate) fn evidence(count: &Finished<'_>, outcome: &Outcome) -> String {
    let mut text = String::new();
    for check in &outcome.checks {
        text += &format!("  {} {}: {}\n", if check.ok { "ok  " } else { "FAIL" }, check.name, check.detail);
    }
    if let Some(plan) = count.plan {
        text += &format!("  {}\n", executor(plan));
    }
    text += &format!(
        "  {} of counting, at most {} states, {} read, {} written, {} on disk at most\n",
        show_seconds(count.seconds),
        show_count(count.peak_states),
        show_bytes(count.statistics.bytes_read),
        show_bytes(count.statistics.bytes_written),
        show_bytes(count.statistics.disk_peak_bytes),
    );
    text
}

/// Which executor, how it cuts a column, and why this one.
fn executor(plan: &Plan) -> String {
    let windows: Vec<String> = plan.windows.iter().map(|w| w.len.to_string()).collect();
    let why = if plan.why.is_empty() { String::new() } else { format!(": {}", plan.why) };
    format!("{} executor, windows of {} cells{why}", plan.executor, windows.join("+"))
}

pub(crate) fn status_json(status: &JobStatus) -> Value {
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
    json!({
        "job": status.id.to_string(),
        "problem": status.problem,
        "size": status.size,
        "options": status.options.iter().cloned().collect::<BTreeMap<_, _>>(),
        "state": status.state.to_string(),
        "reason": status.reason,
        "priority": status.priority,
        "sweep": status.sweep,
        "sweeps": status.plan.as_ref().map(|p| p.sweeps.len()),
        "stage": status.stage,
        "stage_residues": status.plan.as_ref().map(|p| p.stage_moduli(status.sweep, status.stage).len()),
        "stages": status.plan.as_ref().map(keima_coordinator::Plan::stages),
        "pass": status.pass,
        "passes": status.passes,
        "column": status.column,
        "columns": status.plan.as_ref().map(|p| p.board.length),
        "middle": status.plan.as_ref().and_then(keima_coordinator::Plan::middle),
        "states": status.states,
        "states_done": status.states_done,
        "states_stage": status.states_stage,
        "states_per_second": status.states_per_second,
        "peak_states": status.peak_states,
        "tasks": status.tasks,
        "tasks_done": status.tasks_done,
        "tasks_running": status.tasks_running,
        "disk_bytes": status.disk_bytes,
        "seconds": status.seconds,
        "eta_seconds": finite(status.eta_seconds),
        "copied_passes": status.copied_passes,
        "resumed_from": status.resumed_from,
        "series": series_json(status.values()),
        "moduli": status.plan.as_ref().map(|p| p.moduli.iter().map(u64::to_string).collect::<Vec<_>>()),
        "notes": status.notes,
        "workers": status.workers.iter().map(|w| json!({
            "worker": w.worker.0, "running": w.running, "note": w.note,
        })).collect::<Vec<_>>(),
        "statistics": statistics_json(&Statistics::of_job(status), status.plan.as_ref()),
    })
}

/// The same in a list, which tells no values.
pub(crate) fn listed_json(status: &JobStatus) -> Value {
    let mut job = status_json(status);
    if let Some(map) = job.as_object_mut() {
        map.remove("series");
    }
    job
}

/// A problem's options as they are typed after `--option`.
fn options(status: &JobStatus) -> Vec<String> {
    let typed =
        |(name, value): &(String, String)| if value.is_empty() { name.clone() } else { format!("{name}={value}") };
    status.options.iter().map(typed).collect()
}

pub(crate) fn status_text(status: &JobStatus) -> String {
    let mut lines = vec![format!("{}  {} {}  {}", status.id, status.problem, status.size, status.state)];
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<10} {value}"));
        }
    };
    line("options", options(status).join(", "));
    line("reason", status.reason.clone());
    if let Some(plan) = &status.plan {
        line("executor", executor(plan));
        line(
            "plan",
            format!(
                "{} residues in {} sweep{}, tasks of {}",
                plan.moduli.len(),
                plan.sweeps.len(),
                if plan.sweeps.len() == 1 { "" } else { "s" },
                show_bytes(plan.task_memory_bytes),
            ),
        );
        line("forecast", format!("{} states, {} on disk", show_count(plan.peak_states), show_bytes(plan.disk_bytes)));
    }
    if !status.state.is_over() {
        line("at", position(status));
        line("tasks", format!("{} of {} done, {} running", status.tasks_done, status.tasks, status.tasks_running));
    }
    line(
        "time",
        match status.eta_seconds {
            Some(eta) if status.state == State::Running => {
                format!("{} so far, about {} left", show_seconds(status.seconds), show_seconds(eta))
            }
            _ => show_seconds(status.seconds),
        },
    );
    line("disk", format!("{} now, {} at most", show_bytes(status.disk_bytes), show_bytes(status.disk_peak_bytes)));
    if let (Some(passes), false) = (status.copied_passes, status.state.is_over()) {
        line("copied", format!("what there was after {passes} passes is on two workers"));
    }
    line("resumed", status.resumed_from.clone().unwrap_or_default());
    for entry in status.values().iter().rev().take(1) {
        line("last value", format!("{} = {}", entry.name, entry.count));
    }
    for worker in &status.workers {
        line("worker", format!("{}: {} running {}", worker.worker, worker.running, worker.note));
    }
    for note in &status.notes {
        line("note", note.clone());
    }
    if let Some(outcome) = &status.outcome {
        if outcome.ok {
            line("count", outcome.count.clone());
        }
        for check in &outcome.checks {
            line(if check.ok { "check ok" } else { "CHECK BAD" }, format!("{}: {}", check.name, check.detail));
        }
    }
    lines.join("\n")
}

/// Where a job stands, on one line.
pub(crate) fn position(status: &JobStatus) -> String {
    let plan = status.plan.as_ref();
    let columns = plan.map_or(0, |p| p.board.length);
    let sweeps = plan.map_or(1, |p| p.sweeps.len());
    let mut text = format!("pass {} of {}, column {} of {columns}", status.pass, status.passes, status.column + 1);
    if plan.is_some_and(|p| status.stage < p.stages() && p.stage(status.stage).direction == Direction::Backward) {
        text += " on the way back";
    }
    if sweeps > 1 {
        text += &format!(", sweep {} of {sweeps}", (status.sweep as usize + 1).min(sweeps));
    }
    text += &format!(", {} states", show_count(status.states));
    if status.states_per_second > 0.0 {
        text += &format!(", {} states/s", show_count(status.states_per_second as u64));
    }
    let residues = plan.map_or(0, |p| p.stage_moduli(status.sweep, status.stage).len());
    if residues > 0 {
        text += &format!(", {residues} residues");
    }
    text += &format!(", {} on disk", show_bytes(status.disk_bytes));
    text
}

/// The list of jobs as an aligned table.
pub(crate) fn jobs_text(jobs: &[JobStatus]) -> String {
    let rows: Vec<[String; 6]> =
        std::iter::once(["job", "problem", "size", "state", "time", "progress"].map(String::from))
            .chain(jobs.iter().map(|s| {
                [
                    s.id.to_string(),
                    s.problem.clone(),
                    format!("{} {}", s.size, options(s).join(" ")).trim_end().to_owned(),
                    s.state.to_string(),
                    show_seconds(s.seconds),
                    if s.state.is_over() { String::new() } else { position(s) },
                ]
            }))
            .collect();
    let width = |i: usize| rows.iter().map(|r| r[i].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect();
    lines.join("\n")
}
