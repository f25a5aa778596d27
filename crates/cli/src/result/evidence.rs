//! What supports a result: its checks, its plan and what it took, on stderr. A count without a result ends in an error.

use keima_coordinator::{Outcome, Plan, State};

use super::Finished;
use crate::exit::{CANCELLED, CHECK_FAILED, Failed, INTERRUPTED};
use crate::terminal::units::{show_bytes, show_count, show_seconds};

/// The checks, the executor, and what the count took.
pub(super) fn evidence(count: &Finished<'_>, outcome: &Outcome) -> String {
    let mut text = String::new();
    for check in &outcome.checks {
        text += &format!("  {} {}: {}\n", if check.ok { "ok  " } else { "FAIL" }, check.name, check.detail);
    }
    if let Some(plan) = count.plan {
        text += &format!("  {}\n", executor(plan));
    }
    text += &format!(
        "  counted in {}; peak {} states; {} read, {} written, peak {} on disk",
        show_seconds(count.seconds),
        show_count(count.peak_states),
        show_bytes(count.statistics.bytes_read),
        show_bytes(count.statistics.bytes_written),
        show_bytes(count.statistics.disk_peak_bytes),
    );
    text
}

/// The executor, its windows of a column, and why the planner took it.
pub(crate) fn executor(plan: &Plan) -> String {
    let why = if plan.why.is_empty() { String::new() } else { format!(": {}", plan.why) };
    format!("{} executor, windows of {} cells{why}", plan.execution.name(), windows(plan))
}

/// Cells of the windows of a column: `"3+3+2"`.
pub(crate) fn windows(plan: &Plan) -> String {
    let cells: Vec<String> = plan.windows.iter().map(|window| window.len.to_string()).collect();
    cells.join("+")
}

/// `Ok` for a count that is done; for all others the error that ends the program.
pub(super) fn ended(count: &Finished<'_>) -> Result<(), Failed> {
    let reason = if count.reason.is_empty() { String::new() } else { format!(": {}", count.reason) };
    let name = format!("{} {} ({})", count.problem, count.size, count.job);
    match count.state {
        State::Done => Ok(()),
        State::CheckFailed => {
            let mut text = format!("{name}: a check failed, so the number is withheld{reason}");
            for check in count.outcome.iter().flat_map(|o| &o.checks).filter(|c| !c.ok) {
                text += &format!("\n  {}: {}", check.name, check.detail);
            }
            text += "\nCount again, if possible on another machine. If the same check fails again, please report it.";
            Err(Failed::new(CHECK_FAILED, text))
        }
        State::Cancelled => Err(Failed::new(CANCELLED, format!("{name} was cancelled{reason}"))),
        State::Paused => Err(Failed::new(INTERRUPTED, format!("{name} is paused{reason}"))),
        State::Queued | State::Running => Err(Failed::new(
            INTERRUPTED,
            format!("{name} is not done yet{reason}; `keima watch {}` follows it", count.job),
        )),
    }
}
