//! A job's status as text, and the table of jobs.

use keima_coordinator::{AtRisk, JobAccount, JobStatus, Plan, State};

use crate::result::executor;
use crate::terminal::progress::position;
use crate::terminal::units::{show_bytes, show_count, show_seconds};

/// The options of a job's problem, as they are typed after `--option`.
fn options(status: &JobStatus) -> Vec<String> {
    let typed =
        |(name, value): &(String, String)| if value.is_empty() { name.clone() } else { format!("{name}={value}") };
    status.problem.options.iter().map(typed).collect()
}

pub(super) fn status_text(status: &JobStatus) -> String {
    let mut lines = vec![format!("{}  {} {}  {}", status.id, status.problem.name, status.problem.size, status.state)];
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push(format!("  {name:<10} {value}"));
        }
    };
    line("options", options(status).join(", "));
    line("reason", status.reason.clone());
    line("waits for", status.waits_for.clone());
    line("name", status.account.terms.name.clone());
    line("note", status.account.terms.note.clone());
    line("owner", status.account.terms.owner.clone());
    line("priority", priority(status));
    line("caps", caps(status));
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
        line("forecast", forecast(plan));
    }
    if !status.state.is_over() {
        line("position", place(status));
        if is_begun(status) {
            let progress = &status.progress;
            line(
                "tasks",
                format!("{} of {} done, {} running", progress.tasks_done, progress.tasks, progress.tasks_running),
            );
        }
    }
    line(
        "time",
        match status.usage.eta_seconds {
            Some(eta) if status.state == State::Running => {
                format!("{} so far, about {} left", show_seconds(status.usage.seconds), show_seconds(eta))
            }
            _ => show_seconds(status.usage.seconds),
        },
    );
    line(
        "disk",
        format!("{} now, peak {}", show_bytes(status.usage.disk_bytes), show_bytes(status.usage.disk_peak_bytes)),
    );
    if let (Some(passes), false) = (status.durability.copied_passes, status.state.is_over()) {
        line("copied", format!("the boundary after {passes} passes is on two workers"));
    }
    line("at risk", at_risk(status));
    line("resumed", status.durability.resumed_from.clone().unwrap_or_default());
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

/// Whether any task of a job was granted.
fn is_begun(status: &JobStatus) -> bool {
    status.state != State::Queued || status.progress.states > 0 || status.progress.tasks > 0
}

/// How far a job is.
fn place(status: &JobStatus) -> String {
    if is_begun(status) { position(status) } else { "not begun".to_owned() }
}

/// A job's priority where it is not 0, and what waiting has added.
fn priority(status: &JobStatus) -> String {
    let account = &status.account;
    match (account.priority, account.level.saturating_sub(account.priority.into())) {
        (0, 0) => String::new(),
        (priority, 0) => priority.to_string(),
        (priority, days) => format!("{priority}, raised by {days} for as many days of waiting"),
    }
}

/// What the job may take at most.
fn caps(status: &JobStatus) -> String {
    let terms = &status.account.terms;
    let workers = terms.max_workers.map(|most| format!("{most} workers at a time"));
    let disk = terms.max_disk_bytes.map(|most| format!("{} on disk", show_bytes(most)));
    [workers, disk].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The plan's forecast; empty where the problem has none.
fn forecast(plan: &Plan) -> String {
    match (plan.peak_states, plan.disk_bytes) {
        (0, _) => String::new(),
        (states, 0) => format!("peak {} states", show_count(states)),
        (states, bytes) => format!("peak {} states, peak {} on disk", show_count(states), show_bytes(bytes)),
    }
}

/// What the loss of a worker would cost now.
fn at_risk(status: &JobStatus) -> String {
    let text = |risk: &AtRisk| {
        let from = if risk.passes_left == 0 { "the start".to_owned() } else { format!("pass {}", risk.passes_left) };
        let sweeps = status.plan.as_ref().map_or(1, |plan| plan.sweeps.len());
        let of_sweep = if sweeps > 1 && risk.passes_left == 0 { " of the sweep" } else { "" };
        format!(
            "if worker {} is lost now, the job goes on from {from}{of_sweep}, not from pass {}",
            risk.worker, status.position.pass
        )
    };
    status.durability.at_risk.as_ref().map(text).unwrap_or_default()
}

/// The list of jobs as an aligned table.
pub(super) fn jobs_text(jobs: &[JobStatus]) -> String {
    let head = ["job", "problem", "size", "state", "time", "progress", "name", "owner", "priority", "waits for"];
    let rows: Vec<[String; 10]> = std::iter::once(head.map(String::from)).chain(jobs.iter().map(all_cells)).collect();
    aligned(&rows).join("\n")
}

/// The same with what people say of a job.
fn all_cells(job: &JobStatus) -> [String; 10] {
    let [id, problem, size, state, time, progress] = job_cells(job);
    let JobAccount { priority, level, terms, .. } = &job.account;
    let raised = level.saturating_sub((*priority).into());
    let priority = if raised > 0 { format!("{priority}+{raised}") } else { priority.to_string() };
    let (name, owner) = (or_dash(&terms.name), or_dash(&terms.owner));
    [id, problem, size, state, time, or_dash(&progress), name, owner, priority, job.waits_for.clone()]
}

/// An empty cell within a row, so that a row's words can be counted.
fn or_dash(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { text.to_owned() }
}

/// A job's cells in a table.
pub(super) fn job_cells(job: &JobStatus) -> [String; 6] {
    [
        job.id.to_string(),
        job.problem.name.clone(),
        format!("{} {}", job.problem.size, options(job).join(" ")).trim_end().to_owned(),
        job.state.to_string(),
        show_seconds(job.usage.seconds),
        if job.state.is_over() { String::new() } else { place(job) },
    ]
}

/// Rows as lines, each column as wide as its widest cell.
pub(super) fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
