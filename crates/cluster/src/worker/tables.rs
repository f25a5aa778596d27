//! Tables of the block executor: built once, by the first task that needs them, and shared by all tasks of a job.
//!
//! One job's tables are there at a time: they take seconds to build, and with their tasks all of the worker's memory. Tasks
//! of another job replace them, and wait until those under way, which keep what they have, are done:
//!
//! ```text
//!   job 1   tables, task, task .......|
//!   job 2              task: waits ...|tables, task ....|
//!   job 1                        task: waits ...........|tables, task
//! ```
//!
//! Each waits for what was asked for before it, so that none waits for ever. Tables that nobody uses make room for a task
//! of the stream executor.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use keima_blocks::{parts, process};
use keima_engine::block::Prepared;
use keima_model::{Directions, ProblemInfo, ProblemRequest, Window};
use keima_orders::BlockOrder;

/// What tables are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Made {
    problem: ProblemRequest,
    windows: Vec<Window>,
    group_records: u64,
    parted: bool,
    directions: Directions,
}

/// How often it is seen to whether others are done with their tables.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Where tables stand once they are built. Whoever may use them holds it.
struct Slot {
    built: OnceLock<Result<Arc<Prepared>, String>>,
    /// Of other jobs' tables, those that may still be in use.
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

/// The tables of the job that was worked for last.
pub struct Tables {
    kept: Mutex<Option<(Made, Arc<Slot>)>>,
    memory_bytes: u64,
    tasks: u32,
}

/// Tables that are there, or will be when they are asked for. They are in use for as long as it lives.
pub struct Promise {
    made: Made,
    slot: Arc<Slot>,
    memory_bytes: u64,
    tasks: u32,
}

/// Why there are no tables.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTables {
    /// They cannot be made here.
    #[error("{0}")]
    Refused(String),
    /// The task was to stop while other jobs' tables were in use.
    #[error("stopped while tables of another job were in use")]
    Stopped,
}

impl Tables {
    /// Tables, and as many tasks at a time, stay within `memory_bytes`.
    pub fn new(memory_bytes: u64, tasks: u32) -> Self {
        Self { kept: Mutex::default(), memory_bytes, tasks }
    }

    /// A task comes that needs none: tables that nobody uses are freed, and of others the memory that no task has.
    pub(super) fn let_go(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, slot)) = &*kept else { return };
        match slot.built.get() {
            // The slot's own, and no promise that could be about to be kept.
            Some(Ok(prepared)) if Arc::strong_count(prepared) > 1 || Arc::strong_count(slot) > 1 => prepared.let_go(),
            None if Arc::strong_count(slot) > 1 => {}
            _ => *kept = None,
        }
    }

    /// The tables of an order. Does not block.
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
    /// Builds the tables, or waits for who does, once other jobs' tables are not in use any more.
    pub fn get(&self, info: &dyn ProblemInfo, stop: &AtomicBool) -> Result<Arc<Prepared>, NoTables> {
        while self.slot.must_wait() {
            if stop.load(Ordering::Relaxed) {
                return Err(NoTables::Stopped);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        self.slot.built.get_or_init(|| self.build(info)).clone().map_err(NoTables::Refused)
    }

    fn build(&self, info: &dyn ProblemInfo) -> Result<Arc<Prepared>, String> {
        let no_blocks =
            || format!("{} {} is not made of blocks here; use the same version of keima", info.name(), info.size());
        let blocks = info.blocks().ok_or_else(no_blocks)?;
        if self.made.parted {
            let made = blocks.parts(&self.made.windows, parts::kept_bytes(self.memory_bytes))?;
            let prepared = Prepared::parted(made, self.made.group_records, self.memory_bytes, self.tasks);
            let parted = blocks.parted_bytes(&self.made.windows);
            let making = parts::making_bytes(parted, self.memory_bytes, self.tasks);
            let left = parts::unmade_bytes(parted, self.memory_bytes, self.tasks);
            return Ok(Arc::new(prepared.leaving(left).making_within(making)));
        }
        let column = blocks.column(&self.made.windows, self.made.directions)?;
        let kept = process::left_over_bytes(column.bytes());
        let prepared = Prepared::new(column, self.made.group_records, self.memory_bytes, self.tasks);
        Ok(Arc::new(prepared.leaving(kept)))
    }
}

/// A slot that is replaced, and those that it waits for.
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
        // Another job's, and the first one's again, which were let go in between.
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
