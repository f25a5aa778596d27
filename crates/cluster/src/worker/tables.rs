//! The block executor's tables: the first task that needs them builds them, and all tasks of the job share them.
//!
//! Only one job has tables at a time: they take seconds to build, and tables and tasks together take all of the worker's
//! memory. A task of another job replaces the tables, after all running tasks with the old tables are done:
//!
//! ```text
//!   job 1   tables, task, task .......|
//!   job 2              task: waits ...|tables, task ....|
//!   job 1                        task: waits ...........|tables, task
//! ```
//!
//! Each job waits for the jobs that asked before it, so none waits for ever. A task of the stream executor frees tables
//! that nobody uses.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use keima_blocks::{parts, process};
use keima_engine::block::Prepared;
use keima_model::{Directions, ProblemInfo, ProblemRequest, Window};
use keima_orders::BlockOrder;

use crate::world;

/// The inputs from which tables are built.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Made {
    problem: ProblemRequest,
    windows: Vec<Window>,
    group_records: u64,
    parted: bool,
    directions: Directions,
}

/// How often a waiting task checks whether other jobs' tables are still in use.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Place of one job's tables. Every task that may use them holds it.
struct Slot {
    built: OnceLock<Result<Arc<Prepared>, String>>,
    /// Other jobs' tables that may still be in use.
    earlier: Vec<Weak<Slot>>,
}

impl Slot {
    fn after(earlier: Vec<Weak<Self>>) -> Arc<Self> {
        Arc::new(Self { built: OnceLock::new(), earlier })
    }

    fn must_wait(&self) -> bool {
        self.earlier.iter().any(|slot| slot.strong_count() > 0)
    }
}

/// The tables of the latest job.
pub struct Tables {
    kept: Mutex<Option<(Made, Arc<Slot>)>>,
    memory_bytes: u64,
    tasks: u32,
}

/// Tables that are built on first use. They count as in use as long as this lives.
pub struct Promise {
    made: Made,
    slot: Arc<Slot>,
    memory_bytes: u64,
    tasks: u32,
}

/// Why there are no tables.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTables {
    /// They cannot be built here.
    #[error("{0}")]
    Refused(String),
    /// The task was to stop while other jobs' tables were in use.
    #[error("stopped while tables of another job were in use")]
    Stopped,
}

impl Tables {
    /// Tables that stay within `memory_bytes` together with `tasks` tasks at a time.
    pub fn new(memory_bytes: u64, tasks: u32) -> Self {
        Self { kept: Mutex::default(), memory_bytes, tasks }
    }

    /// Frees tables that no task uses, and unused memory of others, to make room for a task without tables.
    pub(super) fn let_go(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, slot)) = &*kept else { return };
        match slot.built.get() {
            // Only the slot holds the tables, and no promise is left that could ask for them.
            Some(Ok(prepared)) if Arc::strong_count(prepared) > 1 || Arc::strong_count(slot) > 1 => {
                prepared.free_kept();
            }
            None if Arc::strong_count(slot) > 1 => {}
            _ => *kept = None,
        }
    }

    /// The tables for an order. Does not block.
    pub fn of(&self, problem: &ProblemRequest, order: &BlockOrder) -> Promise {
        let made = Made {
            problem: problem.clone(),
            windows: order.windows.clone(),
            group_records: order.group_records,
            parted: order.parted,
            directions: if order.both_ways { Directions::Both } else { Directions::Forward },
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = match kept.take() {
            Some((have, slot)) if have == made => slot,
            other => Slot::after(other.map(|(_, slot)| in_use(&slot)).unwrap_or_default()),
        };
        *kept = Some((made.clone(), Arc::clone(&slot)));
        Promise { made, slot, memory_bytes: self.memory_bytes, tasks: self.tasks }
    }
}

impl Promise {
    /// Waits until other jobs' tables are not in use, then builds the tables, or waits for the task that builds them.
    pub fn get(&self, info: &dyn ProblemInfo, stop: &AtomicBool) -> Result<Arc<Prepared>, NoTables> {
        while self.slot.must_wait() {
            if stop.load(Ordering::Relaxed) {
                return Err(NoTables::Stopped);
            }
            world::sleep(LOOK_AGAIN);
        }
        self.slot.built.get_or_init(|| self.build(info)).clone().map_err(NoTables::Refused)
    }

    fn build(&self, info: &dyn ProblemInfo) -> Result<Arc<Prepared>, String> {
        let no_blocks = || {
            format!("{} {} has no block form in this program; use the same version of keima", info.name(), info.size())
        };
        let blocks = info.blocks().ok_or_else(no_blocks)?;
        if self.made.parted {
            let made = blocks.parts(&self.made.windows, parts::kept_bytes(self.memory_bytes))?;
            let prepared = Prepared::by_part(made, self.made.group_records, self.memory_bytes, self.tasks);
            let expected = blocks.parts_bytes(&self.made.windows);
            let left_over = parts::left_over_bytes(&expected, self.memory_bytes, self.tasks);
            return Ok(Arc::new(prepared.reserving(left_over)));
        }
        let column = blocks.column(&self.made.windows, self.made.directions)?;
        let kept = process::left_over_bytes(column.bytes());
        let prepared = Prepared::new(column, self.made.group_records, self.memory_bytes, self.tasks);
        Ok(Arc::new(prepared.reserving(kept)))
    }
}

/// A slot that is replaced, and the slots that it waits for.
fn in_use(slot: &Arc<Slot>) -> Vec<Weak<Slot>> {
    let earlier = slot.earlier.iter().filter(|slot| slot.strong_count() > 0).cloned();
    earlier.chain([Arc::downgrade(slot)]).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};

    use keima_model::{Direction, Registry};
    use keima_problems::Problems;

    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn order(len: u32) -> BlockOrder {
        BlockOrder {
            windows: vec![Window { first: 0, len }, Window { first: len, len: 6 - len }],
            group_records: 1 << 20,
            moduli_in: Vec::new(),
            parted: false,
            slots: 2,
            both_ways: false,
            direction: Direction::Forward,
            lanes: None,
            kept: None,
        }
    }

    #[test]
    fn tables_of_one_job_at_a_time_are_in_use() {
        let request = ProblemRequest { name: "go".to_owned(), size: "6x6".to_owned(), options: Vec::new() };
        let problem = Problems.open(&request).unwrap();
        let tables = Tables::new(1 << 30, 2);
        let first = tables.of(&request, &order(3));
        let prepared = first.get(problem.info(), &NEVER).unwrap();
        let same = tables.of(&request, &order(3));
        assert!(Arc::ptr_eq(&prepared, &same.get(problem.info(), &NEVER).unwrap()), "built once");
        drop((prepared, same));
        // Another job's tables, then the first job's again, which were freed in between.
        let (second, third) = (tables.of(&request, &order(2)), tables.of(&request, &order(3)));
        for waits in [&second, &third] {
            assert_eq!(waits.get(problem.info(), &AtomicBool::new(true)).err(), Some(NoTables::Stopped));
        }
        let (tell, told) = channel();
        std::thread::scope(|scope| {
            for (number, promise) in [(3, third), (2, second)] {
                let (tell, info) = (tell.clone(), problem.info());
                scope.spawn(move || {
                    let made = promise.get(info, &NEVER).map(|prepared| prepared.windows().to_vec());
                    tell.send((number, made)).unwrap();
                });
            }
            let early = told.recv_timeout(LOOK_AGAIN * 5);
            assert_eq!(early.err(), Some(RecvTimeoutError::Timeout), "while the first were in use");
            drop(first);
            assert_eq!(told.recv().unwrap(), (2, Ok(order(2).windows)));
            assert_eq!(told.recv().unwrap(), (3, Ok(order(3).windows)));
        });
    }
}
