//! The chosen job: facts, pictures, tasks, checks, values, notes.

use std::fmt::Write as _;

use keima_blocks::sizes::show_bytes;
use keima_coordinator::{Check, JobStatus, JobView, RunningTask, State};

use super::{escape, pictures};
use crate::share::part;
use crate::units::{show_count, show_seconds};

/// Running tasks in the table, the slow ones first.
const MOST_TASKS: usize = 40;
/// Values of shorter boards; the API has all.
const MOST_VALUES: usize = 24;
/// Newest notes.
const MOST_NOTES: usize = 20;

/// The class of a state.
pub(super) const fn class(state: State) -> &'static str {
    match state {
        State::Done | State::Running => "good",
        State::Queued | State::Cancelled => "soft",
        State::Paused | State::CheckFailed => "bad",
    }
}

pub(super) fn section(page: &mut String, view: &JobView, now: u64) {
    let job = &view.status;
    let done = part(job);
    let _ = write!(
        page,
        "<section aria-labelledby=\"h-job\"><h1 id=\"h-job\">{} {} {}<span class=\"badge {}\">{}</span></h1>",
        job.id,
        escape(&job.problem.name),
        escape(&job.problem.size),
        class(job.state),
        job.state
    );
    if !job.reason.is_empty() {
        let _ = write!(page, "<p class=\"reason\">{}</p>", escape(&job.reason));
    }
    if let Some(outcome) = job.outcome.as_ref().filter(|outcome| outcome.ok) {
        let _ = write!(page, "<p class=\"big\" id=\"count\">{}</p>", escape(&outcome.count));
    }
    let _ = write!(
        page,
        "<progress aria-label=\"part done\" max=\"1\" value=\"{done:.4}\">{:.0} %</progress><dl>",
        (done * 100.0).floor()
    );
    for (name, value) in facts(view, now) {
        let _ = write!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value));
    }
    *page += "</dl></section>\n";
    pictures::board(page, job);
    pictures::states(page, view);
    tasks(page, view);
    checks(page, view);
    values(page, job);
    notes(page, job);
}

/// What is known in numbers.
fn facts(view: &JobView, now: u64) -> Vec<(&'static str, String)> {
    let job = &view.status;
    let mut facts = vec![("done", format!("{:.1} %", (part(job) * 1000.0).floor() / 10.0))];
    let mut add = |name, value: String| facts.push((name, value));
    if let (Some(plan), false) = (&job.plan, job.state.is_over()) {
        let JobStatus { position, progress, .. } = job;
        add("pass", format!("{} of {}", position.pass, position.passes));
        add("stage", format!("{} of {}", position.stage.saturating_add(1).min(plan.stages()), plan.stages()));
        if plan.sweeps.len() > 1 {
            add("sweep", format!("{} of {}", (position.sweep as usize + 1).min(plan.sweeps.len()), plan.sweeps.len()));
        }
        let part_read = 100.0 * progress.states_done as f64 / progress.states_stage.max(1) as f64;
        add("of this stage read", format!("{part_read:.0} % of {} states", show_count(progress.states_stage)));
        add(
            "tasks of this stage",
            format!("{} of {} done, {} running", progress.tasks_done, progress.tasks, progress.tasks_running),
        );
        let rate = if progress.states_per_second > 0.0 {
            show_count(progress.states_per_second as u64)
        } else {
            "-".to_owned()
        };
        add("states a second", rate);
        add("left", job.usage.eta_seconds.map_or_else(|| "unknown".to_owned(), show_seconds));
    }
    add("under way for", show_seconds(job.usage.seconds));
    let most = job.plan.as_ref().map_or(0, |plan| plan.peak_states);
    let forecast = if most > 0 { format!(" (forecast {})", show_count(most)) } else { String::new() };
    add("most states", format!("{}{forecast}", show_count(job.progress.peak_states)));
    let disk_forecast = job.plan.as_ref().map_or(0, |plan| plan.disk_bytes);
    let forecast = if disk_forecast > 0 { format!(" (forecast {})", show_bytes(disk_forecast)) } else { String::new() };
    add(
        "disk",
        format!("{}, at most {}{forecast}", show_bytes(job.usage.disk_bytes), show_bytes(job.usage.disk_peak_bytes)),
    );
    add("read, written", format!("{}, {}", show_bytes(job.traffic.bytes_read), show_bytes(job.traffic.bytes_written)));
    if let Some(plan) = &job.plan {
        add("executor", format!("{}, {} residues", plan.execution.name(), plan.moduli.len()));
    }
    if let Some(durable) = view.durable {
        let ago = show_seconds(now.saturating_sub(durable.at) as f64 / 1000.0);
        add("newest durable boundary", format!("after {} passes, {ago} ago", durable.passes));
    }
    add("tasks so far", show_count(view.tasks_finished));
    if view.failed_attempts > 0 || view.fall_backs > 0 {
        add("failed attempts, falls back", format!("{}, {}", view.failed_attempts, view.fall_backs));
    }
    facts
}

fn tasks(page: &mut String, view: &JobView) {
    if view.status.state.is_over() {
        return;
    }
    *page += "<section class=\"half\" aria-labelledby=\"h-tasks\"><h2 id=\"h-tasks\">Tasks at work</h2>";
    if view.running.is_empty() {
        *page += "<p>None.</p></section>";
        return;
    }
    let mut running: Vec<&RunningTask> = view.running.iter().collect();
    running.sort_by_key(|task| (!task.slow, std::cmp::Reverse(task.millis)));
    let median = view.median_millis.map(|millis| show_seconds(millis as f64 / 1000.0));
    let _ = write!(
        page,
        "<p class=\"soft\">{} at work; half of this stage's finished tasks took up to {}.</p>\
         <div class=\"scroll\" id=\"tasks\"><table><thead><tr><th>task<th>worker<th class=\"n\">for<th class=\"n\">read\
         <th></tr></thead><tbody>",
        running.len(),
        median.as_deref().unwrap_or("(none yet)")
    );
    for task in running.iter().take(MOST_TASKS) {
        let read = if task.states == 0 {
            "-".to_owned()
        } else {
            format!("{:.0} %", (100.0 * task.states_done as f64 / task.states as f64).min(100.0))
        };
        let word = match (task.slow, task.copy) {
            (true, _) => "<strong class=\"bad\">slow</strong>",
            (false, true) => "second copy",
            (false, false) => "",
        };
        let _ = write!(
            page,
            "<tr><td class=\"nb\">{}<td>{}<td class=\"n\">{}<td class=\"n\">{read}<td>{word}</tr>",
            task.attempt,
            escape(&task.worker.0),
            show_seconds(task.millis as f64 / 1000.0),
        );
    }
    *page += "</tbody></table></div></section>\n";
}

fn checks(page: &mut String, view: &JobView) {
    let outcome = view.status.outcome.as_ref();
    let checks: &[Check] = outcome.map_or(&view.checks, |outcome| &outcome.checks);
    let title = if outcome.is_some() { "Checks" } else { "Checks passed so far" };
    // Beside the tasks, if there can be any.
    let class = if view.status.state.is_over() { "" } else { " class=\"half\"" };
    let _ = write!(page, "<section{class} aria-labelledby=\"h-checks\"><h2 id=\"h-checks\">{title}</h2>");
    if checks.is_empty() {
        *page += "<p>None yet: no task is finished.</p></section>";
        return;
    }
    *page += "<ul>";
    for check in checks {
        let (class, word) = if check.ok { ("good", "ok") } else { ("bad", "FAILED") };
        let _ = write!(
            page,
            "<li><strong class=\"{class}\">{word}</strong> {}: {}",
            escape(&check.name),
            escape(&check.detail)
        );
    }
    *page += "</ul></section>\n";
}

fn values(page: &mut String, job: &JobStatus) {
    let values = job.values();
    if values.is_empty() {
        return;
    }
    *page += "<section aria-labelledby=\"h-values\"><h2 id=\"h-values\">Results on the way</h2>\
              <div class=\"scroll\" id=\"values\"><table><tbody>";
    for value in values.iter().rev().take(MOST_VALUES) {
        let _ =
            write!(page, "<tr><td class=\"nb\">{}<td class=\"w\">{}</tr>", escape(&value.name), escape(&value.count));
    }
    *page += "</tbody></table></div></section>\n";
}

fn notes(page: &mut String, job: &JobStatus) {
    if job.notes.is_empty() {
        return;
    }
    *page += "<section aria-labelledby=\"h-notes\"><h2 id=\"h-notes\">Notes</h2><ul>";
    for note in job.notes.iter().rev().take(MOST_NOTES) {
        let _ = write!(page, "<li>{}", escape(note));
    }
    *page += "</ul></section>\n";
}
