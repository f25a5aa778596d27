//! The large buffers of tasks, kept from one task to the next.
//!
//! A task fills a few vectors of tens of megabytes. If each task allocated and freed them, they would fragment the
//! heap, and the process would hold much more than its tasks were given. There are never more sets of buffers than
//! tasks at a time.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use crate::MemoryRefused;
use crate::memory::reserved;
use crate::stream::budget::Budget;
use crate::stream::spill::EngineKey;
use crate::stream::table::Table;

/// Buffers that the tasks of one process share, one set for each running task. Make one, and pass it to every task.
#[derive(Default)]
pub struct Buffers(Mutex<Vec<Box<dyn Any + Send>>>);

/// The buffers of one task.
pub(crate) struct Set<K> {
    budget: Budget,
    lanes: usize,
    pub(crate) front: Table<K>,
    pub(crate) back: Table<K>,
    /// Output: keys in the next stage's layout with the places of their rows, and the rows.
    pub(crate) order: Vec<(K, u32)>,
    pub(crate) rows: Vec<u64>,
    /// Sort order of a table that is spilled.
    pub(crate) spill_order: Vec<(K, u32)>,
}

impl Buffers {
    /// Takes a set that fits, or makes a new one. Frees sets of another size: they belong to a finished job or sweep.
    pub(crate) fn take<K: EngineKey>(&self, budget: Budget, lanes: usize) -> Result<Set<K>, MemoryRefused> {
        let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(set) = sets.pop() {
            if let Ok(set) = set.downcast::<Set<K>>()
                && set.budget == budget
                && set.lanes == lanes
            {
                return Ok(*set);
            }
        }
        Ok(Set {
            budget,
            lanes,
            front: Table::with_room(lanes, budget.table_records)?,
            back: Table::with_room(lanes, budget.table_records)?,
            order: reserved(budget.output_records)?,
            rows: reserved(budget.output_records.saturating_mul(lanes))?,
            spill_order: Vec::new(),
        })
    }

    /// Frees the unused sets.
    pub fn let_go(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn give_back<K: EngineKey>(&self, mut set: Set<K>) {
        set.order.clear();
        set.rows.clear();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(set));
    }
}
