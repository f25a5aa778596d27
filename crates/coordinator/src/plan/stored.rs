//! A plan as it is stored and shown: the executor's name in front, the plan of its blocks near the end.

use keima_model::{Board, Window};
use serde::{Deserialize, Serialize};

use super::{BlockPlan, Execution, Plan};

/// The fields of a [`Plan`], in the order of its record.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPlan {
    executor: String,
    board: Board,
    windows: Vec<Window>,
    key_bytes: u32,
    coefficients: u32,
    moduli: Vec<u64>,
    sweeps: Vec<(u32, u32)>,
    task_memory_bytes: u64,
    task_records: u64,
    min_task_records: u64,
    slots: u32,
    states: Vec<u64>,
    peak_states: u64,
    disk_bytes: u64,
    record_bytes: f64,
    block: Option<BlockPlan>,
    why: String,
}

impl From<Plan> for StoredPlan {
    fn from(plan: Plan) -> Self {
        Self {
            executor: plan.execution.name().to_owned(),
            board: plan.board,
            windows: plan.windows,
            key_bytes: plan.key_bytes,
            coefficients: plan.coefficients,
            moduli: plan.moduli,
            sweeps: plan.sweeps,
            task_memory_bytes: plan.task_memory_bytes,
            task_records: plan.task_records,
            min_task_records: plan.min_task_records,
            slots: plan.slots,
            states: plan.states,
            peak_states: plan.peak_states,
            disk_bytes: plan.disk_bytes,
            record_bytes: plan.record_bytes,
            block: match plan.execution {
                Execution::Blocks(block) => Some(block),
                Execution::Stream | Execution::InMemory => None,
            },
            why: plan.why,
        }
    }
}

impl TryFrom<StoredPlan> for Plan {
    type Error = String;

    fn try_from(stored: StoredPlan) -> Result<Self, String> {
        let execution = Execution::of(&stored.executor, stored.block)
            .ok_or_else(|| format!("expected the executor stream or block, got {:?}", stored.executor))?;
        Ok(Self {
            execution,
            board: stored.board,
            windows: stored.windows,
            key_bytes: stored.key_bytes,
            coefficients: stored.coefficients,
            moduli: stored.moduli,
            sweeps: stored.sweeps,
            task_memory_bytes: stored.task_memory_bytes,
            task_records: stored.task_records,
            min_task_records: stored.min_task_records,
            slots: stored.slots,
            states: stored.states,
            peak_states: stored.peak_states,
            disk_bytes: stored.disk_bytes,
            record_bytes: stored.record_bytes,
            why: stored.why,
        })
    }
}
