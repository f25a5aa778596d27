//! Counts over bracket words: whether a problem has them, and how its count fits into memory.

use keima_blocks::brackets as words;
use keima_blocks::in_memory::process_bytes;
use keima_coordinator::{Plan, in_memory_plan};
use keima_model::{AnyProblem, BracketProblem, ProblemInfo, Window, WordCounts};

use super::{Fit, MOST_STATE_PASSES};

/// The bracket form of a problem without blocks.
pub(crate) fn brackets(info: &dyn ProblemInfo) -> Option<&dyn BracketProblem> {
    if info.blocks().is_some() { None } else { info.brackets() }
}

/// How a count over bracket words fits into `allowed_bytes`.
pub(super) fn bracket_fit(
    problem: &AnyProblem,
    brackets: &dyn BracketProblem,
    threads: u32,
    allowed_bytes: u64,
) -> Option<Fit> {
    let info = problem.info();
    let board = info.board();
    let plan = in_memory_plan(info, problem.key_bytes(), 0, threads, None).ok()?;
    let takes = words::Count::new(&WordCounts::new(board.height, brackets.ends()));
    let cells = u64::from(board.height) * u64::from(board.length.saturating_sub(1));
    if takes.words.saturating_mul(cells) / u64::from(threads.max(1)) > MOST_STATE_PASSES {
        return None;
    }
    let table_bytes = takes.table_bytes();
    let fit = |lanes| {
        let rows_bytes = takes.rows_bytes(lanes);
        Fit { memory_bytes: process_bytes(rows_bytes, table_bytes), rows_bytes, table_bytes, lanes: Some(lanes) }
    };
    let rows = takes.words.saturating_add(takes.new_pairs);
    words::lanes(plan.moduli.len() as u32, rows).map(fit).find(|fit| fit.memory_bytes <= allowed_bytes)
}

/// The same plan over bracket words, which have a single window.
pub(super) fn bracket_plan(plan: Plan) -> Plan {
    Plan {
        windows: vec![Window { first: 0, len: plan.board.height }],
        why: "its states are bracket words, and a vector of them fits in memory".to_owned(),
        ..plan
    }
}
