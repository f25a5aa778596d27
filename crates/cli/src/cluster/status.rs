//! A job's status as text and as JSON, and the table of jobs. Big integers are strings in JSON.

use std::collections::BTreeMap;

use keima_coordinator::{JobStatus, Plan, State};
use serde_json::{Value, json};

use crate::result::{Statistics, executor, series_json, statistics_json};
use crate::terminal::progress::position;
use crate::terminal::units::{show_bytes, show_count, show_seconds};

pub(super) fn status_json(status: &JobStatus) -> Value {
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
        "stages": status.plan.as_ref().map(Plan::stages),
        "pass": status.pass,
        "passes": status.passes,
        "column": status.column,
        "columns": status.plan.as_ref().map(|p| p.board.length),
        "middle": status.plan.as_ref().and_then(Plan::middle),
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

/// The same for the list of jobs, without the values.
pub(super) fn listed_json(status: &JobStatus) -> Value {
    let mut job = status_json(status);
    if let Some(map) = job.as_object_mut() {
        map.remove("series");
    }
    job
}

/// The options of a job's problem, as they are typed after `--option`.
fn options(status: &JobStatus) -> Vec<String> {
    let typed =
        |(name, value): &(String, String)| if value.is_empty() { name.clone() } else { format!("{name}={value}") };
    status.options.iter().map(typed).collect()
}

pub(super) fn status_text(status: &JobStatus) -> String {
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
                "{} residues in {} sweep{}, {} a task",
                plan.moduli.len(),
                plan.sweeps.len(),
                if plan.sweeps.len() == 1 { "" } else { "s" },
                show_bytes(plan.task_memory_bytes),
            ),
        );
        line(
            "forecast",
            format!("peak {} states, peak {} on disk", show_count(plan.peak_states), show_bytes(plan.disk_bytes)),
        );
    }
    if !status.state.is_over() {
        line("position", position(status));
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
    line("disk", format!("{} now, peak {}", show_bytes(status.disk_bytes), show_bytes(status.disk_peak_bytes)));
    if let (Some(passes), false) = (status.copied_passes, status.state.is_over()) {
        line("copied", format!("the boundary after {passes} passes is on two workers"));
    }
    line("resumed", status.resumed_from.clone().unwrap_or_default());
    for entry in status.values().iter().rev().take(1) {
        line("last value", format!("{} = {}", entry.name, entry.count));
    }
    for worker in &status.workers {
        let note = if worker.note.is_empty() { String::new() } else { format!("; {}", worker.note) };
        line("worker", format!("{}: {} running{note}", worker.worker, worker.running));
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

/// The list of jobs as an aligned table.
pub(super) fn jobs_text(jobs: &[JobStatus]) -> String {
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
