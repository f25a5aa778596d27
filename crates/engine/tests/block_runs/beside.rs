//! Two tasks of one worker at a time: if both do not fit its memory the second waits. Tables made for a task count as
//! its memory.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use keima_blocks::limits::PLACE_BITS;
use keima_engine::block::{Prepared, run_block_task};
use keima_engine::{Buffers, FeedOpener, Task, TaskError};
use keima_model::{BlockPart, BlockParts, FamilyBounds, FamilyList, ProblemInfo, Window};
use keima_orders::{AttemptId, TaskOrder};
use keima_runs::{BlockFeed, RunError, RunHeader, RunManifest, RunPart, TaskManifest};

use crate::blocks;
use crate::common::Local;
use crate::run::{Cut, Parted, Run, cut};
use crate::states::go;

/// Runs an action before a task opens its first run, when it has its memory.
struct Meanwhile<'a, F> {
    runs: Local<'a>,
    what: Mutex<Option<F>>,
}

impl<F: FnOnce() + Send> FeedOpener for Meanwhile<'_, F> {
    fn open(&self, run: &RunManifest, header: &RunHeader, part: RunPart) -> Result<Box<dyn BlockFeed>, RunError> {
        if let Some(what) = self.what.lock().unwrap().take() {
            what();
        }
        self.runs.open(run, header, part)
    }
}

/// Two tasks of a stage with shared memory.
struct Pair<'a> {
    run: &'a Run,
    info: &'a dyn ProblemInfo,
    prepared: Prepared,
    orders: [TaskOrder; 2],
}

impl Pair<'_> {
    fn task(
        &self,
        number: usize,
        stop: &AtomicBool,
        meanwhile: impl FnOnce() + Send,
    ) -> Result<TaskManifest, TaskError> {
        let folder = self.run.folder.path();
        let task = Task {
            order: &self.orders[number],
            feeds: &Meanwhile { runs: Local(folder), what: Mutex::new(Some(meanwhile)) },
            scratch: folder,
            disk: &self.run.disk,
            stop,
            states_done: &AtomicU64::new(0),
            pulse: &AtomicU64::new(0),
            buffers: &Buffers::default(),
        };
        run_block_task(&self.prepared, self.info, &task)
    }

    fn alone(&self, number: usize) -> Result<TaskManifest, TaskError> {
        self.task(number, &AtomicBool::new(false), || ())
    }

    /// While the first task reads, starts the second. Stops it if it gets no memory within `patience`.
    fn second_beside_first(&self, patience: Duration) -> Result<TaskManifest, TaskError> {
        let mut second = None;
        let first = self.task(0, &AtomicBool::new(false), || {
            let (stop, (tell, told)) = (AtomicBool::new(false), mpsc::channel());
            std::thread::scope(|scope| {
                let other = scope.spawn(|| self.task(1, &stop, move || tell.send(()).unwrap()));
                stop.store(told.recv_timeout(patience).is_err(), Ordering::Relaxed);
                second = Some(other.join().unwrap());
            });
        });
        self.run.delete(&[first.unwrap()]);
        second.expect("the first task reads runs")
    }
}

/// Parts that say beforehand that they take nothing. The first two are made at the same time.
struct Understated {
    parts: Box<dyn BlockParts>,
    both: Barrier,
    made: Arc<AtomicUsize>,
}

impl BlockParts for Understated {
    fn windows(&self) -> &[Window] {
        self.parts.windows()
    }
    fn families(&self, window: usize) -> &FamilyList {
        self.parts.families(window)
    }
    fn bytes(&self) -> u64 {
        self.parts.bytes()
    }
    fn family_bounds(&self) -> FamilyBounds {
        self.parts.family_bounds()
    }
    fn part_bytes(&self, _: usize, _: Range<u32>) -> u64 {
        0
    }
    fn part(&self, window: usize, families: Range<u32>, threads: usize) -> Result<Box<dyn BlockPart + '_>, String> {
        if self.made.fetch_add(1, Ordering::Relaxed) < 2 {
            self.both.wait();
        }
        self.parts.part(window, families, threads)
    }
    fn one_column(&self) -> u64 {
        self.parts.one_column()
    }
}

/// The memory, a power of two, in which each of two tasks can be done, but not both at a time.
fn memory_of_one(parted: Parted) -> u64 {
    let cut = cut(&[3, 3, 2], 2000, 1, &[4]);
    let run = Run::new(8, 8, &cut);
    let vector = run.stage(0, &[]);
    let order = run.order(1, &vector);
    let groups = run.prepared.groups(1) as u32;
    let large = |group: &u32| run.prepared.make(1, *group).unwrap();
    let mut by_size: Vec<u32> = (0..groups).collect();
    by_size.sort_by_key(large);
    // The two largest have similar sizes.
    let orders = [by_size[by_size.len() - 1], by_size[by_size.len() - 2]].map(|group| TaskOrder {
        attempt: AttemptId { task: group, ..order.attempt },
        low: u128::from(group) << PLACE_BITS,
        high: Some(u128::from(group + 1) << PLACE_BITS),
        durable: false,
        ..order.clone()
    });
    let problem = go(8, 8);
    let pair = |memory_bytes: u64| {
        let Run { prepared: whole, parted, .. } =
            Run::new(8, 8, &Cut { memory_bytes: memory_bytes / 2, threads: 2, parted, ..cut.clone() });
        Pair { run: &run, info: problem.info(), prepared: parted.unwrap_or(whole), orders: orders.clone() }
    };
    let clean = |made: Result<TaskManifest, TaskError>| {
        let made = made.unwrap();
        run.delete(std::slice::from_ref(&made));
        (made.input, made.output)
    };
    let fits = |&bytes: &u64| {
        let made = [0, 1].map(|number| pair(bytes).alone(number));
        let fits = made.iter().all(Result::is_ok);
        for made in made {
            match made {
                Err(TaskError::Refused(_)) => (),
                made => drop(clean(made)),
            }
        }
        fits
    };
    let bytes = (10..30).map(|power| 1 << power).find(fits).unwrap();
    let small = pair(bytes);
    let alone = clean(small.alone(1));
    let second = small.second_beside_first(Duration::from_millis(100));
    assert!(matches!(second, Err(TaskError::Stopped)), "{parted:?}, {bytes} bytes: {second:?}");
    assert_eq!(clean(small.alone(1)), alone, "nothing is left behind by who was stopped");
    if parted == Parted::Every {
        // Both have reserved a share when they find that they need more. One gives way, and makes its part again.
        let (parts, made) = (blocks::parts(8, &cut.lengths), Arc::new(AtomicUsize::new(0)));
        let memory_bytes = bytes + parts.bytes();
        let parts = Understated { parts, both: Barrier::new(2), made: Arc::clone(&made) };
        let prepared = Prepared::by_part(Box::new(parts), cut.group_records, memory_bytes, 2);
        let pair = Pair { prepared, ..pair(bytes) };
        let [first, second] = std::thread::scope(|scope| {
            let second = scope.spawn(|| pair.alone(1));
            [pair.alone(0), second.join().unwrap()].map(clean)
        });
        assert_eq!(made.load(Ordering::Relaxed), 3, "one part was made twice");
        assert_eq!([first, second], [clean(small.alone(0)), alone.clone()]);
    }
    let second = pair(2 * bytes).second_beside_first(Duration::from_mins(1));
    assert_eq!(clean(second), alone, "{parted:?}, {bytes} bytes for each");
    bytes
}

#[test]
fn tasks_wait_for_memory_of_which_their_tables_are_a_part() {
    let (whole, parts) = (memory_of_one(Parted::Nobody), memory_of_one(Parted::Every));
    assert!(parts > whole, "{parts} bytes with tables in parts, {whole} without");
}
