//! A plan as it is stored and shown: the executor's name in front, the plan of its blocks near the end.

use keima_model::{Board, Window};
use serde::{Deserialize, Serialize};

use super::limits::MOST_PASSES;
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
        let plan = Self {
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
        };
        plan.check().map_err(|flaw| flaw.to_string())?;
        Ok(plan)
    }
}

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {got}")]
pub struct PlanFlaw {
    /// What a sound plan has.
    pub expected: String,
    /// What this one has.
    pub got: String,
}

impl Plan {
    /// Checks what other code divides and counts by. A plan out of a file or a message may be damaged.
    pub fn check(&self) -> Result<(), PlanFlaw> {
        let flaw = |expected: String, got: String| Err(PlanFlaw { expected, got });
        let board = self.board;
        if !(1..=MOST_PASSES.into()).contains(&(u64::from(board.height) * u64::from(board.length))) {
            return flaw(format!("a board of 1 to {MOST_PASSES} cells"), board.to_string());
        }
        if !tile(&self.windows, board.height) {
            let expected = format!("windows that make up a column of {} cells", board.height);
            return flaw(expected, format!("{:?}", self.windows));
        }
        let moduli = self.moduli.len();
        if !self.sweeps.iter().all(|&(first, end)| first < end && end as usize <= moduli) {
            return flaw(format!("sweeps that carry some of {moduli} moduli"), format!("{:?}", self.sweeps));
        }
        Ok(())
    }
}

/// Whether the windows make up a column, from the top to the bottom. Without any, a column is one.
fn tile(windows: &[Window], height: u32) -> bool {
    let end = windows.iter().try_fold(0, |end: u32, window| {
        (window.first == end && window.len > 0).then(|| end.checked_add(window.len)).flatten()
    });
    windows.is_empty() || end == Some(height)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(execution: Execution) -> Plan {
        Plan {
            execution,
            board: Board { height: 2, length: 3 },
            windows: vec![Window { first: 0, len: 2 }],
            key_bytes: 8,
            coefficients: 1,
            moduli: vec![5, 7, 11],
            sweeps: vec![(0, 2), (2, 3)],
            task_memory_bytes: 1 << 30,
            task_records: 1000,
            min_task_records: 10,
            slots: 4,
            states: vec![1, 2, 3],
            peak_states: 3,
            disk_bytes: 300,
            record_bytes: 17.5,
            why: "asked for".to_owned(),
        }
    }

    /// The record has the fields of older stores in their order; JSON shows the executor by name.
    #[test]
    fn a_plan_is_stored_with_an_executor_name_and_an_optional_block() {
        let block = BlockPlan { group_records: 9, lanes: vec![2, 3], room_states: 70, parted: true, middle: Some(2) };
        let check = |execution: Execution, name: &str, block: Option<&BlockPlan>| {
            let plan = plan(execution);
            let bytes = postcard::to_stdvec(&plan).unwrap();
            let (first, second) = (
                (name, plan.board, &plan.windows, plan.key_bytes, plan.coefficients, &plan.moduli, &plan.sweeps),
                (plan.task_memory_bytes, plan.task_records, plan.min_task_records, plan.slots, &plan.states),
            );
            let third = (plan.peak_states, plan.disk_bytes, plan.record_bytes, block, &plan.why);
            assert_eq!(bytes, postcard::to_stdvec(&(first, second, third)).unwrap());
            assert_eq!(postcard::from_bytes::<Plan>(&bytes).unwrap(), plan);
            let json = serde_json::to_value(&plan).unwrap();
            assert_eq!(json["executor"], name);
            assert_eq!(json["block"].is_null(), block.is_none());
        };
        check(Execution::Stream, "stream", None);
        check(Execution::InMemory, "block", None);
        check(Execution::Blocks(block.clone()), "block", Some(&block));
        // A stream has no blocks, and other executors are not known.
        for (name, block) in [("stream", Some(block)), ("other", None)] {
            let stored = StoredPlan { executor: name.to_owned(), block, ..plan(Execution::Stream).into() };
            let bytes = postcard::to_stdvec(&stored).unwrap();
            assert!(postcard::from_bytes::<Plan>(&bytes).is_err(), "{name}");
        }
    }

    /// Plans out of stores and archives may be damaged. Later code divides by what stands in them.
    #[test]
    fn plans_that_cannot_be_are_refused() {
        type Change = fn(&mut StoredPlan);
        let check = |change: Change, expected: &str| {
            let mut stored = StoredPlan::from(plan(Execution::Stream));
            change(&mut stored);
            let got = Plan::try_from(stored).map_or_else(|error| error, |_| "a plan".to_owned());
            assert!(got.starts_with(expected), "expected {expected:?}, got {got:?}");
        };
        check(|_| (), "a plan");
        check(|plan| plan.windows.clear(), "a plan");
        let board = "expected a board of 1 to 4194304 cells, got";
        check(|plan| plan.board.height = 0, board);
        check(|plan| plan.board.length = 0, board);
        check(|plan| plan.board.length = u32::MAX, board);
        check(|plan| plan.board.length = MOST_PASSES / 2 + 1, board);
        check(|plan| plan.board.length = MOST_PASSES / 2, "a plan");
        let windows = "expected windows that make up a column of 2 cells, got";
        check(|plan| plan.windows = vec![Window { first: 0, len: 1 }], windows);
        check(|plan| plan.windows = vec![Window { first: 1, len: 1 }], windows);
        check(|plan| plan.windows = vec![Window { first: 0, len: 2 }, Window { first: 2, len: 0 }], windows);
        check(|plan| plan.windows = vec![Window { first: 0, len: 1 }, Window { first: 1, len: u32::MAX }], windows);
        let sweeps = "expected sweeps that carry some of 3 moduli, got";
        check(|plan| plan.sweeps = vec![(0, 4)], sweeps);
        check(|plan| plan.sweeps = vec![(2, 2)], sweeps);
    }
}
