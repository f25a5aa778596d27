//! What a count in memory came to: the number with every check, or the check that failed.

use keima_coordinator::{Check, FunctionalValues, Outcome, Plan, recombine};
use keima_engine::block::Counted;
use keima_model::ProblemInfo;
use keima_runs::TaskTimes;

/// What a count in memory came to.
#[derive(Clone, Debug, PartialEq)]
pub struct InMemoryResult {
    /// The number and its checks. Where a check failed, it holds no counts.
    pub outcome: Outcome,
    /// Why the executor itself ended the count; empty if it did not.
    pub reason: String,
    /// How it was counted.
    pub plan: Plan,
    /// Wall time since the count was planned.
    pub seconds: f64,
    /// Thread time by kind of work.
    pub times: TaskTimes,
    /// Residues of an earlier process that were used, as `"2 of 5 residues"`.
    pub resumed_from: Option<String>,
}

/// Recombines the residues of all boards and adds the executor's own checks.
pub(super) fn outcome(info: &dyn ProblemInfo, plan: &Plan, counted: &Counted) -> Outcome {
    let mut values = FunctionalValues::new();
    for (number, functional) in (0_u32..).zip(info.functionals()) {
        if let Some((_, residues)) = counted.boards.iter().find(|(columns, _)| *columns == functional.index) {
            values.insert(number, vec![residues.clone()]);
        }
    }
    let mut outcome = recombine(info, plan, &values);
    // No window was checked if an earlier check failed.
    let windows = |columns: u32| columns as usize * plan.windows.len();
    let forward = windows(counted.middle.saturating_sub(1));
    let back = if counted.middle > 0 { windows(plan.board.length - counted.middle) } else { 0 };
    if forward + back > 0 {
        let text = match (forward, back) {
            (0, back) => format!("{back} windows of the transposed vector"),
            (forward, 0) => format!("{forward} windows of the forward vector"),
            _ => format!("{forward} windows of the forward vector, and {back} of the transposed one"),
        };
        let text = format!("every family of {text}, modulo every prime that each had");
        outcome.add_check(Check::new("mass_balance", true, text));
        let text = "each window has read what the one before wrote: the sums over all states, modulo one prime, and at \
                    some boundaries keyed fingerprints of one state in 64";
        outcome.add_check(Check::new("exchange", true, text.to_owned()));
    }
    if !counted.two_cuts.is_empty() {
        outcome.add_check(Check::new("two_cuts", true, counted.two_cuts.clone()));
    }
    outcome
}

/// The outcome of a count that a failed check of the executor ended.
pub(super) fn failed_outcome(info: &dyn ProblemInfo, plan: &Plan, reason: &str) -> Outcome {
    let mut outcome = outcome(info, plan, &Counted::default());
    outcome.add_check(Check::new("block_executor", false, reason.to_owned()));
    outcome
}
