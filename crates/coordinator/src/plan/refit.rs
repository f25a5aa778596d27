//! The rest of a job under other limits: a plan whose tasks fit other workers.
//!
//! ```text
//!   stays     executor, windows, groups, moduli, sweeps, lanes: keys, layouts and rows of the runs that are there
//!   changes   memory of a task, records of a task, tasks at a time, forecast of disk
//! ```
//!
//! By streams smaller tasks are cut finer, and a family that is too large for one is cut inside. By blocks a family that does
//! not fit goes through a few lanes at a time. Cost: that of a plan, mostly the sizes of tables.

use keima_model::ProblemInfo;

use super::forecast::Usage;
use super::stream::{MIN_TASK_RECORDS, task_records};
use super::{Execution, Plan, PlanError, PlanLimits, block};

/// Fits a plan to other limits. The error says which limit is too low and what to do.
pub fn refit(old: &Plan, info: &dyn ProblemInfo, key_bytes: u32, limits: &PlanLimits) -> Result<Plan, PlanError> {
    limits.check()?;
    let residues = old.sweeps.iter().map(|&(first, end)| end.saturating_sub(first)).max().unwrap_or(1);
    let mut plan = Plan {
        task_memory_bytes: limits.task_memory_bytes,
        slots: limits.slots.max(1),
        why: "planned anew for the rest".to_owned(),
        ..old.clone()
    };
    let lanes = if plan.block().is_some() {
        plan.execution = Execution::Blocks(block::refit(&plan, info, limits)?);
        residues
    } else {
        let lanes = residues.saturating_mul(plan.coefficients);
        plan.task_records = task_records(limits.task_memory_bytes, key_bytes, lanes)?;
        plan.min_task_records = MIN_TASK_RECORDS.min(plan.task_records);
        lanes
    };
    plan.disk_bytes = Usage::of(&plan, lanes).peak_disk_bytes(limits.second_copies);
    match limits.disk_bytes {
        Some(allowed_bytes) if plan.disk_bytes > allowed_bytes => {
            Err(PlanError::Disk { needed_bytes: plan.disk_bytes, allowed_bytes, residues_per_sweep: residues })
        }
        _ => Ok(plan),
    }
}
