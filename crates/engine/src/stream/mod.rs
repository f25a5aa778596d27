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
//! The conserved part stands first in the key, so a stage's families come one after the other, and no pass of the
//! stage leads from one to another: a group of whole families small enough for the cache goes through all passes
//! before the next is read. Where a family (or, with nothing conserved, the vector) is larger than a table, the passes
//! of that group go through sorted temporary runs instead, one pass at a time, as in a plain map-reduce.
//!
//! Memory: see `budget`. Cost: per state and pass one expansion and about 2.8 combined successors for Go; per state and
//! stage one merge, one sort and two fingerprints.

pub(crate) mod budget;
pub(crate) mod buffers;
mod input;
mod laws;
mod output;
pub(crate) mod spill;
mod table;
mod task;

use keima_model::AnyProblem;
use keima_runs::TaskManifest;

use crate::stream::budget::MIN_TASK_BYTES;
use crate::stream::task::Stage;
use crate::{Task, TaskError};

/// Does one task: reads its shard, runs the stage's passes, writes the result, checks every law on the way.
///
/// Blocking; uses one thread. On an error all temporary files are gone; complete output runs may be left in the
/// attempt's folder, for its owner to delete.
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
            "passes {}.. over cells {}..{} are no stage of the {board} board",
            order.first_pass,
            order.window.first,
            order.window.end()
        ));
    }
    if order.moduli.is_empty() || order.moduli.iter().any(|&p| p < 2) {
        return refuse(format!("moduli {:?} are not usable; they must be primes", order.moduli));
    }
    if order.task_memory_bytes < MIN_TASK_BYTES {
        return refuse(format!(
            "a task needs at least {MIN_TASK_BYTES} bytes of memory, but was given {}; use fewer threads or more memory",
            order.task_memory_bytes
        ));
    }
    match problem {
        AnyProblem::Narrow(p) => Stage::new(p.as_ref(), task).run(),
        AnyProblem::Wide(p) => Stage::new(p.as_ref(), task).run(),
    }
}
