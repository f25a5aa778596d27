//! The choice between the executors.

use keima_blocks::lanes::LANES;
use keima_model::ProblemInfo;

use super::block::{block_plan, longest_window};
use super::stream::plan;
use super::{Plan, PlanError, PlanLimits};
use crate::api::Executor;

/// Plans a job for the executor that the user asks for; else by blocks if the problem and the memory allow it.
pub fn choose_plan(
    info: &dyn ProblemInfo,
    key_bytes: u32,
    limits: &PlanLimits,
    executor: Executor,
) -> Result<Plan, PlanError> {
    let because = |plan: Plan, why: String| Plan { why, ..plan };
    match executor {
        Executor::Stream => Ok(because(plan(info, key_bytes, limits)?, "asked for".into())),
        Executor::Block => {
            let plan = block_plan(info, key_bytes, limits)?;
            let why = format!("asked for{}", taken_otherwise(&plan, limits));
            Ok(because(plan, why))
        }
        Executor::Auto => match block_plan(info, key_bytes, limits) {
            Ok(plan) => {
                let otherwise = taken_otherwise(&plan, limits);
                let parts = plan.block().is_some_and(|block| block.parted);
                let parts = if parts { ", with tables made in parts" } else { "" };
                let why =
                    format!("this problem has a block form, and its largest family fits a task{parts}{otherwise}");
                Ok(because(plan, why))
            }
            Err(PlanError::NoBlocks { why, .. }) => Ok(because(plan(info, key_bytes, limits)?, why.into())),
            Err(error @ PlanError::Family { .. }) => {
                Ok(because(plan(info, key_bytes, limits)?, format!("by blocks: {error}")))
            }
            Err(error) => Err(error),
        },
    }
}

/// Requests that blocks meet only nearly, and where vectors meet.
fn taken_otherwise(plan: &Plan, limits: &PlanLimits) -> String {
    let mut text = String::new();
    let longest = longest_window(plan.board.height);
    if limits.window.is_some_and(|window| window > longest) {
        text += &format!("; its windows have at most {longest} cells");
    }
    let largest = plan.sweeps.first().map_or(0, |&(first, end)| end - first);
    if limits.residues_per_sweep.is_some_and(|asked| asked != largest) {
        text +=
            &format!("; {largest} residues a sweep, since it takes {}, and no more than are needed", one_of(&LANES));
    }
    if let Some(middle) = plan.middle() {
        text += &format!("; vectors from both ends meet after column {middle}");
    }
    text
}

/// As "1, 2 or 4".
fn one_of(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match texts.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => texts.concat(),
    }
}
