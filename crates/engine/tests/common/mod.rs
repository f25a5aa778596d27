//! A coordinator in 100 lines: runs all stages of a sweep by calling the engine, one task after the other.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use keima_engine::{Buffers, FeedOpener, Task, TaskError, run_task};
use keima_model::{AnyProblem, Layout, ProblemRequest, Window};
use keima_orders::{AttemptId, InputRun, JobId, TaskOrder};
use keima_runs::{
    BlockFeed, DiskBudget, KeyGap, LocalRun, RunError, RunHeader, RunManifest, RunPart, Tally, TaskManifest,
    parts_between, publish_durably, run_path,
};

/// Reads runs from the scratch folder.
pub(crate) struct Local<'a>(pub(crate) &'a Path);

impl FeedOpener for Local<'_> {
    fn open(&self, run: &RunManifest, header: &RunHeader, part: RunPart) -> Result<Box<dyn BlockFeed>, RunError> {
        let local = LocalRun::open(&run_path(self.0, &run.id)?, run, header)?;
        Ok(Box::new(local.feed(part)))
    }
}

/// Settings that must not change the result.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) window: u32,
    pub(crate) shards: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) moduli: Vec<u64>,
}

/// The result of a sweep.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sweep {
    /// Lanes of each functional.
    pub(crate) functionals: BTreeMap<u32, Vec<u64>>,
    /// Distinct states, sums and fingerprint at each column end.
    pub(crate) columns: Vec<Tally>,
    /// Distinct states before each pass, where families are whole.
    pub(crate) states: Vec<u64>,
    pub(crate) bytes_spilled: u64,
}

pub(crate) fn task(
    problem: &AnyProblem,
    order: &TaskOrder,
    scratch: &Path,
    disk: &Arc<DiskBudget>,
) -> Result<TaskManifest, TaskError> {
    run_task(
        problem,
        &Task {
            order,
            feeds: &Local(scratch),
            scratch,
            disk,
            stop: &AtomicBool::new(false),
            states_done: &AtomicU64::new(0),
            pulse: &AtomicU64::new(0),
            buffers: &Buffers::default(),
        },
    )
}

/// Cuts a vector's key space into about `shards` ranges at family boundaries.
fn cut(manifests: &[TaskManifest], shards: usize, family_bits: u32) -> Vec<(u128, Option<u128>)> {
    let mut keys: Vec<u128> = manifests.iter().flat_map(|m| &m.splits).map(|s| s.key).collect();
    keys.sort_unstable();
    let mut cuts: Vec<u128> = (1..shards)
        .filter_map(|i| keys.get(i * keys.len() / shards))
        .map(|&k| if family_bits >= 128 { k } else { k >> family_bits << family_bits })
        .filter(|&k| k > 0)
        .collect();
    cuts.dedup();
    let lows = std::iter::once(0).chain(cuts.iter().copied());
    lows.zip(cuts.iter().copied().map(Some).chain([None])).collect()
}

/// The runs that may have keys of a shard, by their gaps too.
fn inputs(vector: &[TaskManifest], low: u128, high: Option<u128>) -> Vec<InputRun> {
    let runs = vector.iter().flat_map(|task| task.runs.iter().map(|run| (run, &task.gaps)));
    let reads = |&(run, gaps): &(&RunManifest, &Vec<KeyGap>)| {
        let mut parts = parts_between(run.first_key, run.last_key, gaps).into_iter();
        parts.any(|(first, last)| last >= low && high.is_none_or(|high| first < high))
    };
    runs.filter(reads).map(|(run, _)| InputRun::here(run.clone())).collect()
}

/// Runs a whole sweep, and passes every task's manifest to `show`. Checks that each stage reads what the stage before
/// wrote.
pub(crate) fn sweep_with(
    problem: &AnyProblem,
    settings: &Settings,
    show: &mut dyn FnMut(&TaskManifest),
) -> Result<Sweep, TaskError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = Arc::new(DiskBudget::new(u64::MAX));
    let info = problem.info();
    let board = info.board();
    let windows = Window::cut(board.height, settings.window);
    let mut found = Sweep::default();
    let mut vector: Vec<TaskManifest> = Vec::new();
    for stage in 0..board.length as usize * windows.len() {
        let window = windows[stage % windows.len()];
        let next = windows[(stage + 1) % windows.len()];
        let column_ends = (stage + 1) % windows.len() == 0;
        let last = stage + 1 == board.length as usize * windows.len();
        let first_pass = (stage / windows.len()) as u32 * board.height + window.first;
        let family_bits = if window.len == 1 { 128 } else { info.family_bits(Layout::Stage(window)) };
        let shards = if stage == 0 { vec![(0, None)] } else { cut(&vector, settings.shards, family_bits) };
        let mut made = Vec::new();
        for (number, &(low, high)) in shards.iter().enumerate() {
            let attempt =
                AttemptId { job: JobId(1), sweep: 0, generation: stage as u32, task: number as u32, attempt: 0 };
            let request = ProblemRequest { name: info.name().to_owned(), size: info.size(), options: Vec::new() };
            let order = TaskOrder {
                job_tag: 77,
                salt: 99,
                moduli: settings.moduli.clone(),
                first_pass,
                layout_out: if last { Layout::Canonical } else { Layout::Stage(next) },
                from_start: stage == 0,
                low,
                high,
                inputs: inputs(&vector, low, high),
                task_memory_bytes: settings.memory_bytes,
                // Must not change the result. Runs left to be published are readable here.
                durable: number % 2 == 0,
                ..TaskOrder::of(attempt, request, window)
            };
            let manifest = task(problem, &order, folder.path(), &disk)?;
            if order.durable {
                publish_durably(folder.path(), manifest.runs.iter().map(|run| &run.id)).expect("runs that are there");
            }
            show(&manifest);
            made.push(manifest);
        }
        let total = |pick: fn(&TaskManifest) -> &Tally, of: &[TaskManifest]| {
            let lanes = settings.moduli.len() * info.coefficients() as usize;
            let mut sum = Tally::zero(lanes);
            for manifest in of {
                sum.add(pick(manifest), &settings.moduli);
            }
            sum
        };
        let read = total(|m| &m.input, &made);
        if stage > 0 {
            let written = total(|m| &m.output, &vector);
            assert_eq!((&read.sums, &read.fingerprint), (&written.sums, &written.fingerprint), "stage {stage}");
            if stage % windows.len() == 0 {
                found.columns.push(read.clone());
            }
        }
        if last && column_ends {
            found.columns.push(Tally { states: 0, ..total(|m| &m.output, &made) });
        }
        for step in 0..window.len as usize {
            found.states.push(made.iter().map(|m| m.passes.get(step).map_or(0, |p| p.states)).sum());
        }
        for manifest in &made {
            found.bytes_spilled += manifest.bytes_spilled;
            for sum in &manifest.functionals {
                let lanes = found.functionals.entry(sum.functional).or_insert_with(|| vec![0; sum.lanes.len()]);
                keima_residue::add_row(lanes, &sum.lanes, &settings.moduli);
            }
        }
        for run in vector.iter().flat_map(|m| &m.runs) {
            std::fs::remove_file(run_path(folder.path(), &run.id).expect("a run's name")).expect("a run to delete");
            disk.refund(run.bytes);
        }
        vector = made;
        let alive: u64 = vector.iter().flat_map(|m| &m.runs).map(|r| r.bytes).sum();
        assert_eq!(disk.used(), alive, "temporary runs are gone after stage {stage}");
    }
    Ok(found)
}
