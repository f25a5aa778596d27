//! What a count in memory came to: the number with every check, or the check that failed.

use keima_coordinator::{
    Certified, Check, FunctionalValues, History, Outcome, Plan, StageEvidence, SweepEvidence, VectorEvidence,
    certificate, recombine,
};
use keima_engine::block::{Counted, WindowEvidence};
use keima_model::ProblemInfo;
use keima_runs::{PassTally, Tally, TaskTimes};
use serde_json::Value;

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
    /// The evidence, see `docs/reference/certificate.md`. `None` if a check failed.
    pub certificate: Option<Value>,
}

/// The residues of all boards.
fn values(info: &dyn ProblemInfo, counted: &Counted) -> FunctionalValues {
    let board = |(number, functional): (u32, keima_model::Functional)| {
        let (_, residues) = counted.boards.iter().find(|(columns, _)| *columns == functional.index)?;
        Some((number, vec![residues.clone()]))
    };
    (0_u32..).zip(info.functionals()).filter_map(board).collect()
}

/// The certificate of a count that has passed all checks.
pub(super) fn certified(
    info: &dyn ProblemInfo,
    options: &[(String, String)],
    plan: &Plan,
    counted: &Counted,
    outcome: &Outcome,
    history: History,
) -> Value {
    let sweep = |(moduli, windows): &'_ (Vec<u64>, Vec<WindowEvidence>)| SweepEvidence {
        moduli: moduli.clone(),
        stages: windows.iter().enumerate().map(|(number, window)| stage(windows, number, window)).collect(),
    };
    let sweeps: Vec<SweepEvidence> = counted.evidence.iter().map(sweep).collect();
    certificate(&Certified {
        info,
        options,
        plan,
        outcome,
        values: &values(info, counted),
        sweeps: &sweeps,
        cuts: counted.cuts.map(|cuts| [cuts.modulus, cuts.one, cuts.other]),
        history,
    })
}

/// One window as a stage. Its vectors are compared modulo the last prime.
fn stage(windows: &[WindowEvidence], number: usize, window: &WindowEvidence) -> StageEvidence {
    let before = number.checked_sub(1).and_then(|before| windows.get(before));
    let before = before.filter(|before| before.transposed == window.transposed);
    let last: Vec<u64> = window.moduli.last().copied().into_iter().collect();
    let vector = |states: u64, sum: u64, fingerprint: u64| VectorEvidence {
        moduli: last.clone(),
        tally: Tally { states, sums: vec![sum], fingerprint: vec![fingerprint] },
    };
    let masses = window.masses;
    StageEvidence {
        transposed: window.transposed,
        first_pass: window.first_pass,
        cells: window.cells,
        moduli: window.moduli.clone(),
        starts: before.is_none(),
        exact: true,
        tasks: 1,
        recounted: 0,
        reads: before.map(|before| vector(before.states, masses.read, masses.read_fingerprint)),
        writes: Some(vector(window.states, masses.written, masses.written_fingerprint)),
        kept: None,
        passes: Vec::<PassTally>::new(),
        balance: Some(window.balance.clone()),
        functionals: Vec::new(),
        manifest: None,
    }
}

/// Recombines the residues of all boards and adds the executor's own checks.
pub(super) fn outcome(info: &dyn ProblemInfo, plan: &Plan, counted: &Counted) -> Outcome {
    let mut outcome = recombine(info, plan, &values(info, counted));
    // No window was checked if an earlier check failed.
    let windows = |columns: u32| columns as usize * plan.windows.len();
    let forward = windows(counted.middle.saturating_sub(1));
    let back = if counted.middle > 0 { windows(plan.board.length - counted.middle) } else { 0 };
    if forward + back > 0 {
        let text = match (forward, back) {
            (0, back) => format!("{} of the transposed vector", windows_text(back)),
            (forward, 0) => format!("{} of the forward vector", windows_text(forward)),
            _ => format!("{} of the forward vector, and {back} of the transposed one", windows_text(forward)),
        };
        let text = format!("holds in every family of {text}, for every prime");
        outcome.add_check(Check::new("mass_balance", true, text));
        let text = "each window read what the one before wrote, by sums of all states modulo one prime, and at some \
                    boundaries by keyed fingerprints of one state in 64";
        outcome.add_check(Check::new("exchange", true, text.to_owned()));
    }
    if !counted.two_cuts.is_empty() {
        outcome.add_check(Check::new("two_cuts", true, counted.two_cuts.clone()));
    }
    outcome
}

/// `"1 window"`, `"9 windows"`.
fn windows_text(number: usize) -> String {
    format!("{number} window{}", if number == 1 { "" } else { "s" })
}

/// The outcome of a count that a failed check of the executor ended.
pub(super) fn failed_outcome(info: &dyn ProblemInfo, plan: &Plan, reason: &str) -> Outcome {
    let mut outcome = outcome(info, plan, &Counted::default());
    outcome.add_check(Check::new("block_executor", false, reason.to_owned()));
    outcome
}
