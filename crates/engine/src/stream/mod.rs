//! The stream executor: one task of one stage, for any problem, within its memory.
//!
//! ```text
//!   runs --merge--> families, in key order --+
//!                                            v
//!            group of families: table --expand, combine--> table --...--> table     (one step a pass)
//!                                            v
//!            canonical keys -> fingerprint;  next stage's keys -> output buffer --sort--> runs
//! ```
//!
//! The conserved part comes first in the key. So the families of a stage follow one another, and no pass leads from
//! one family to another. A group of whole families, small enough for the cache, goes through all passes before the
//! next is read. A family larger than a table goes through sorted temporary runs instead, one pass at a time, as in a
//! plain map-reduce. So does the whole vector where nothing is conserved.
//!
//! Memory: see `budget`. Cost: one expansion for each state and pass, one table operation for each successor; one
//! merge, one sort and two fingerprints for each state and stage.

// Code for vector instructions must be inlined into the function that is dispatched to.
#![allow(clippy::inline_always)]

pub(crate) mod budget;
pub(crate) mod buffers;
mod input;
mod laws;
mod output;
mod rows;
pub(crate) mod spill;
mod table;
mod task;

use keima_blocks::limits::LEAST_TASK_BYTES;
use keima_blocks::sizes::show_bytes;
use keima_model::AnyProblem;
use keima_runs::TaskManifest;

use crate::stream::task::StreamTask;
use crate::{Task, TaskError};

/// Does one task: reads its shard, runs the stage's passes, writes the result, and checks every law.
///
/// Blocks the caller, and uses one thread. After an error all temporary files are gone, but complete output runs may
/// remain in the attempt's folder. Its owner deletes them.
pub fn run_task(problem: &AnyProblem, task: &Task<'_>) -> Result<TaskManifest, TaskError> {
    let order = task.order;
    let refuse = |text: String| Err(TaskError::Refused(text));
    let info = problem.info();
    let board = info.board();
    if order.window.len == 0
        || order.window.end() > board.height
        || order.first_pass.checked_add(order.window.len).is_none_or(|end| end > board.passes())
        || board.cell(order.first_pass) != order.window.first
    {
        return refuse(format!(
            "the passes from {} on over cells {}..{} are not a stage of the {board} board",
            order.first_pass,
            order.window.first,
            order.window.end()
        ));
    }
    if order.moduli.is_empty() || order.moduli.iter().any(|&p| p < 2) {
        return refuse(format!("moduli {:?} are not usable; they must be primes", order.moduli));
    }
    if order.task_memory_bytes < LEAST_TASK_BYTES {
        return refuse(format!(
            "a task needs at least {} of memory, but was given {}; raise --memory, or use fewer --threads",
            show_bytes(LEAST_TASK_BYTES),
            show_bytes(order.task_memory_bytes)
        ));
    }
    match problem {
        AnyProblem::Narrow(p) => StreamTask::new(p.as_ref(), task)?.run(),
        AnyProblem::Wide(p) => StreamTask::new(p.as_ref(), task)?.run(),
    }
}
