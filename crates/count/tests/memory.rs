//! The memory model against what real counts take.
//!
//! ```text
//!   taken       peak of the heap, by this binary's allocator + peak of the rows' pages that were touched
//!   predicted   the model, without what it grants to the program itself
//! ```
//!
//! Nothing else of the process is counted: neither its file nor its threads' stacks. Rows are the only mappings that ask for
//! large pages, by which the system's table of mappings tells them. Large pages are off here: a page that is touched
//! counts for no more than itself.

#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keima_blocks::in_memory::process_bytes;
use keima_blocks::limits::LEAST_TASK_BYTES;
use keima_blocks::process::{PROCESS_OVERHEAD_BYTES, process_memory_bytes, task_memory_bytes};
use keima_coordinator::{Executor, JobSpec, PlanLimits, State, block_plan};
use keima_count::{InMemory, LocalCluster, LocalConfig};
use keima_engine::block::most_lanes;
use keima_model::{AnyProblem, MOST_ENTRIES, ProblemRequest, Registry};
use keima_problems::Problems;
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// One count at a time.
static ALONE: Mutex<()> = Mutex::new(());

const MIB: u64 = 1 << 20;
/// Of what a process is granted for itself: its heap, in a count out of core.
const HEAP_BYTES: u64 = 4 * MIB;
/// What is predicted is at most so many times what is taken.
const MOST_RATIO: f64 = 1.4;
/// The same of tables in memory: what is predicted for them includes what an allocator keeps after they are built, which is
/// not counted here.
const MOST_TABLE_RATIO: f64 = 1.8;

/// Pages at the ends of the arrays of a count over bracket words.
const LAST_PAGES_BYTES: u64 = 4 * 4096;

/// Bytes that were touched of all rows that there are.
fn rows_bytes() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut sum_kib, mut touched_kib) = (0, 0);
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("Rss:") => touched_kib = words.next().unwrap().parse().unwrap(),
            Some("VmFlags:") if words.any(|flag| flag == "hg") => sum_kib += touched_kib,
            _ => {}
        }
    }
    sum_kib * 1024
}

/// Set when it goes, by a panic too.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What `count` takes at most: of the heap, and of rows.
fn taken(count: impl FnOnce()) -> (u64, u64) {
    rustix::thread::disable_transparent_huge_pages(true).unwrap();
    HEAP.reset_peak_usage();
    let (heap, rows) = (HEAP.current_usage() as u64, AtomicU64::new(0));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Rows are kept until a count ends: what is touched of them only grows, but for the last moment.
            while !done.load(Ordering::Relaxed) {
                rows.fetch_max(rows_bytes(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        // The other thread ends even if the count fails.
        let _done = SetAtEnd(&done);
        count();
    });
    let heap = HEAP.peak_usage() as u64 - heap;
    (heap, rows.into_inner())
}

fn open(size: &str) -> (ProblemRequest, AnyProblem) {
    open_named("go", size)
}

fn open_named(name: &str, size: &str) -> (ProblemRequest, AnyProblem) {
    let request = ProblemRequest { name: name.into(), size: size.into(), options: Vec::new() };
    let problem = Problems.open(&request).unwrap();
    (request, problem)
}

/// No more is taken than was predicted; and what was predicted, `room_bytes` left out, is at most `most_ratio`
/// times that.
fn check(what: &str, (predicted, room_bytes): (u64, u64), taken: u64, most_ratio: f64) {
    let told =
        format!("{what}: {taken} bytes taken, {predicted} predicted, {room_bytes} of them for what may be larger");
    assert!(taken <= predicted, "{told}");
    assert!(predicted.saturating_sub(room_bytes) as f64 <= most_ratio * taken as f64, "{told}");
}

/// From both ends, and forward with as many residues as fit where that does not.
#[test]
fn counts_in_memory_take_what_is_predicted() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (size, threads, ways) in [("8x8", 1, 1), ("9x9", 2, 2), ("10x10", 1, 3), ("10x10", 4, 1), ("11x11", 2, 1)] {
        let (_, problem) = open(size);
        let mut allowed = u64::MAX;
        for _ in 0..ways {
            let fit = InMemory::fit(&problem, threads, allowed).unwrap();
            allowed = fit.memory_bytes - 1;
            // Of its two blocks a thread touches as much as the board's are large.
            let board = problem.info().board();
            let lanes = fit.lanes.or_else(|| most_lanes(3, board.height, board.length)).unwrap();
            let room_bytes = u64::from(threads) * 2 * MOST_ENTRIES as u64 * 8 * u64::from(lanes);
            let (heap, rows) = taken(|| {
                let count = InMemory::new(problem.clone(), threads, fit.memory_bytes, false).unwrap();
                count.count().unwrap();
            });
            let what = format!("{size}, {threads} threads, {:?} lanes", fit.lanes);
            check(&format!("{what}: rows"), (fit.rows_bytes, room_bytes), rows, MOST_RATIO);
            let beside = fit.memory_bytes - fit.rows_bytes - process_bytes(0, 0);
            check(&format!("{what}: tables"), (beside, beside - fit.table_bytes), heap, MOST_TABLE_RATIO);
        }
    }
}

/// Over bracket words: with all residues in one sweep, and with fewer where that does not fit.
#[test]
fn counts_over_words_take_what_is_predicted() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, size, threads, ways) in [("grid-paths", "14x14", 1, 3), ("grid-cycles", "14x14", 2, 1)] {
        let (_, problem) = open_named(name, size);
        let mut allowed = u64::MAX;
        for _ in 0..ways {
            let fit = InMemory::fit(&problem, threads, allowed).unwrap();
            allowed = fit.memory_bytes - 1;
            let (heap, rows) = taken(|| {
                let count = InMemory::new(problem.clone(), threads, fit.memory_bytes, false).unwrap();
                count.count().unwrap();
            });
            let what = format!("{name} {size}, {threads} threads, {:?} lanes", fit.lanes);
            check(&format!("{what}: rows"), (fit.rows_bytes + LAST_PAGES_BYTES, LAST_PAGES_BYTES), rows, MOST_RATIO);
            let beside = fit.memory_bytes - fit.rows_bytes - process_bytes(0, 0);
            // Tables of small boards are far smaller than their bound.
            check(&format!("{what}: tables"), (beside, beside), heap, MOST_TABLE_RATIO);
        }
    }
}

/// What a count with runs takes, planned within these limits.
fn taken_with_runs(request: &ProblemRequest, executor: Executor, memory_bytes: u64, limits: &PlanLimits) -> u64 {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = LocalConfig {
        data: folder.path().join("data"),
        scratch: folder.path().join("scratch"),
        memory_bytes,
        disk_bytes: 8 << 30,
        slots: limits.slots,
        durable_interval_millis: 60_000,
    };
    let spec = JobSpec {
        window: limits.window,
        slots: limits.slots,
        worker_slots: limits.slots,
        executor,
        ..JobSpec::of(request.clone(), limits.task_memory_bytes)
    };
    let size = &request.size;
    let (heap, rows) = taken(|| {
        runtime.block_on(async {
            let cluster = LocalCluster::start(Arc::new(Problems), config).unwrap();
            let job = cluster.coordinator().submit(spec).await.unwrap();
            let state = loop {
                let status = cluster.coordinator().status(job).await.unwrap();
                assert_ne!(status.state, State::Paused, "{size}: {}", status.reason);
                if status.state.is_over() {
                    break status.state;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            assert_eq!(state, State::Done, "{size}");
            cluster.stop().await.unwrap();
        });
    });
    heap + rows
}

/// The limits of a plan for a process with so much memory.
fn limits(memory_bytes: u64, slots: u32, window: Option<u32>) -> PlanLimits {
    PlanLimits {
        task_memory_bytes: task_memory_bytes(memory_bytes, slots),
        disk_bytes: None,
        residues_per_sweep: None,
        window,
        slots,
        worker_slots: slots,
        second_copies: false,
        series: false,
    }
}

/// The memory of a process whose tasks have the least. A worker with less does not start.
fn least_mib(slots: u32) -> u64 {
    process_memory_bytes(LEAST_TASK_BYTES, slots).div_ceil(MIB)
}

/// No more is taken than a process has, but for what is the program's own; and most of it.
fn check_all(what: &str, memory_bytes: u64, taken: u64) {
    let predicted = memory_bytes - PROCESS_OVERHEAD_BYTES + HEAP_BYTES;
    check(what, (predicted, HEAP_BYTES), taken, MOST_RATIO);
}

/// Out of core with the least memory for which there is a plan: with tables of all families, for vectors from both ends, and
/// with tables in parts.
#[test]
fn counts_out_of_core_take_what_they_are_given() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for (size, slots, window, parted, meets) in [
        ("10x10", 1, None, false, false),
        ("10x10", 2, None, false, true),
        ("10x10", 2, Some(3), true, false),
        ("11x11", 2, None, false, false),
    ] {
        let (request, problem) = open(size);
        let limits = |mib| (mib * MIB, limits(mib * MIB, slots, window));
        let plans = (least_mib(slots)..4096).map(limits).filter_map(|(memory_bytes, limits)| {
            let plan = block_plan(problem.info(), problem.key_bytes(), &limits).ok()?;
            let block = plan.block()?;
            (block.parted == parted && block.middle.is_some() == meets).then_some((memory_bytes, limits, plan))
        });
        let (memory_bytes, limits, plan) = { plans }.next().unwrap();
        let taken = taken_with_runs(&request, Executor::Block, memory_bytes, &limits);
        let what = format!("{size}, {slots} tasks, {} windows in {} MiB", plan.windows.len(), memory_bytes / MIB);
        check_all(&what, memory_bytes, taken);
    }
}

/// By streams with the least memory: tasks spill, and fill what they have.
#[test]
fn counts_by_streams_take_what_they_are_given() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for slots in [1, 2] {
        let (request, _) = open("9x9");
        let memory_bytes = least_mib(slots) * MIB;
        let taken = taken_with_runs(&request, Executor::Stream, memory_bytes, &limits(memory_bytes, slots, None));
        check_all(&format!("9x9 by streams, {slots} tasks, {} MiB", memory_bytes / MIB), memory_bytes, taken);
    }
}
