//! What supports a result: its checks, its plan and what it took, on stderr. A count without a result ends in an error.

use keima_coordinator::{Outcome, Plan, State};
use serde_json::json;

use super::finished::Finished;
use crate::exit::{CANCELLED, CHECK_FAILED, Failed, INTERRUPTED};
use crate::terminal::colour::Paint;
use crate::terminal::events;
use crate::terminal::units::{show_bytes, show_count, show_seconds};

/// The checks, the executor, and what the count took.
pub(super) fn evidence(count: &Finished<'_>, outcome: &Outcome, paint: Paint) -> String {
    let mut text = String::new();
    for check in &outcome.checks {
        let holds = if check.ok { paint.good("ok  ") } else { paint.bad("FAIL") };
        text += &format!("  {holds} {}: {}\n", check.name, check.detail);
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

/// The same as events.
pub(super) fn tell(count: &Finished<'_>, outcome: &Outcome) {
    for check in &outcome.checks {
        events::tell("check", json!({ "name": check.name, "ok": check.ok, "detail": check.detail }));
    }
    tell_done(count.problem, count.size, &outcome.count, count.seconds, count.peak_states);
}

/// The event of a number that was printed.
pub(crate) fn tell_done(problem: &str, size: &str, number: &str, seconds: f64, peak_states: u64) {
    let fields = json!({
        "problem": problem, "size": size, "count": number, "seconds": seconds, "peak_states": peak_states,
    });
    events::tell("done", fields);
}

/// The executor, its windows of a column, and why the planner took it.
pub(crate) fn executor(plan: &Plan) -> String {
    let why = if plan.why.is_empty() { String::new() } else { format!(": {}", plan.why) };
    format!("{} executor, windows of {} cells{why}", plan.execution.name(), windows(plan))
}

/// Cells of the windows of a column: `"3+3+2"`.
pub(crate) fn windows(plan: &Plan) -> String {
    sum(&plan.windows.iter().map(|window| window.len).collect::<Vec<_>>())
}

/// Numbers as a sum, with many equal ones taken together: `"3+3+2"`, `"190x8+6x7"`.
pub(crate) fn sum(numbers: &[u32]) -> String {
    const MANY: usize = 8;
    let equal = |same: &[u32]| match (numbers.len() > MANY, same) {
        (true, [number, _, ..]) => format!("{}x{number}", same.len()),
        (_, same) => same.iter().map(u32::to_string).collect::<Vec<_>>().join("+"),
    };
    numbers.chunk_by(|one, next| one == next).map(equal).collect::<Vec<_>>().join("+")
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
        State::Cancelled => {
            Err(Failed::new(CANCELLED, format!("{name} was {}", with_reason("cancelled", count.reason))))
        }
        State::Paused => {
            // The reason may say what to do first.
            let next = if reason.contains("keima resume") {
                String::new()
            } else {
                format!("; `keima resume {}` continues it", count.job)
            };
            Err(Failed::new(INTERRUPTED, format!("{name} is {}{next}", with_reason("paused", count.reason))))
        }
        State::Queued | State::Running => Err(Failed::new(
            INTERRUPTED,
            format!("{name} is not done yet{reason}; `keima watch {}` follows it", count.job),
        )),
    }
}

/// A state and its reason, which may name the state: `"paused by the user"`, `"paused: the disk is full"`.
fn with_reason(state: &str, reason: &str) -> String {
    match reason {
        "" => state.to_owned(),
        reason if reason.starts_with(state) => reason.to_owned(),
        reason => format!("{state}: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{sum, with_reason};

    #[test]
    fn a_state_is_named_once() {
        for (reason, text) in
            [("", "paused"), ("paused by the user", "paused by the user"), ("no disk", "paused: no disk")]
        {
            assert_eq!(with_reason("paused", reason), text);
        }
    }

    #[test]
    fn many_equal_numbers_are_taken_together() {
        for (numbers, text) in [
            (&[][..], ""),
            (&[7], "7"),
            (&[3, 3, 2], "3+3+2"),
            (&[1; 8], "1+1+1+1+1+1+1+1"),
            (&[1; 21], "21x1"),
            (&[8, 8, 8, 8, 8, 8, 8, 7, 7, 1], "7x8+2x7+1"),
        ] {
            assert_eq!(sum(numbers), text, "{numbers:?}");
        }
    }
}
