//! Tables of the block executor: built once, by the first task that needs them, and shared by all tasks of a job.
//!
//! One job's tables are kept at a time: they take seconds to build and a part of the memory of a vector. Tasks of
//! another job replace them; those under way keep what they have, so while two jobs take turns there may be two. Tables
//! that nobody uses make room for a task of the stream executor.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use keima_coordinator::BlockOrder;
use keima_engine::block::Prepared;
use keima_model::{Directions, PartedBytes, ProblemInfo, ProblemRequest, Window};

/// Of the tables' size one part in so many is left to the allocator, which keeps some of what was freed while they were
/// built and of tasks' buffers: 13 MB more than a process is granted for itself, beside 94 MB of tables (13x13, windows 7,6,
/// two tasks, glibc's allocator).
const LEFT_ONE_IN: u64 = 6;

/// What tables are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Made {
    problem: ProblemRequest,
    windows: Vec<Window>,
    group_records: u64,
    parted: bool,
    directions: Directions,
}

type Slot = Arc<OnceLock<Result<Arc<Prepared>, String>>>;

/// The tables of the job that was worked for last.
pub(crate) struct Tables {
    kept: Mutex<Option<(Made, Slot)>>,
    memory_bytes: u64,
    tasks: u32,
}

/// Tables that are there, or will be when they are asked for.
pub(crate) struct Promise {
    made: Made,
    slot: Slot,
    memory_bytes: u64,
    tasks: u32,
}

impl Tables {
    /// Tables, and as many tasks at a time, stay within `memory_bytes`.
    pub(crate) fn new(memory_bytes: u64, tasks: u32) -> Self {
        Self { kept: Mutex::default(), memory_bytes, tasks }
    }

    /// A task comes that needs none: tables that nobody uses are freed, and of others the memory that no task has.
    pub(super) fn let_go(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, slot)) = &*kept else { return };
        match slot.get() {
            // The slot's own, and no promise that could be about to be kept.
            Some(Ok(prepared)) if Arc::strong_count(prepared) > 1 || Arc::strong_count(slot) > 1 => prepared.let_go(),
            None if Arc::strong_count(slot) > 1 => {}
            _ => *kept = None,
        }
    }

    /// The tables of an order. Does not block.
    pub(crate) fn of(&self, problem: &ProblemRequest, order: &BlockOrder) -> Promise {
        let made = Made {
            problem: problem.clone(),
            windows: order.windows.clone(),
            group_records: order.group_records,
            parted: order.parted,
            directions: if order.both_ways { Directions::Both } else { Directions::Forward },
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = match &*kept {
            Some((have, slot)) if *have == made => Arc::clone(slot),
            _ => Arc::clone(&kept.insert((made.clone(), Slot::default())).1),
        };
        Promise { made, slot, memory_bytes: self.memory_bytes, tasks: self.tasks }
    }
}

impl Promise {
    /// Builds the tables, or waits for who does. `Err` says why there are none.
    pub(crate) fn get(&self, info: &dyn ProblemInfo) -> Result<Arc<Prepared>, String> {
        let built = self.slot.get_or_init(|| {
            let no_blocks =
                || format!("{} {} is not made of blocks here; use the same version of keima", info.name(), info.size());
            let blocks = info.blocks().ok_or_else(no_blocks)?;
            if self.made.parted {
                let parts = blocks.parts(&self.made.windows, PartedBytes::kept(self.memory_bytes))?;
                let prepared = Prepared::parted(parts, self.made.group_records, self.memory_bytes, self.tasks);
                let parted = blocks.parted_bytes(&self.made.windows);
                let making = parted.making(self.memory_bytes, self.tasks);
                let left = making + PartedBytes::left_over(self.memory_bytes);
                return Ok(Arc::new(prepared.leaving(left).making_within(making)));
            }
            let column = blocks.column(&self.made.windows, self.made.directions)?;
            let kept = column.bytes() / LEFT_ONE_IN;
            let prepared = Prepared::new(column, self.made.group_records, self.memory_bytes, self.tasks);
            Ok(Arc::new(prepared.leaving(kept)))
        });
        built.clone()
    }
}
