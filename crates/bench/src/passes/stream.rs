//! Passes of the stream executor, in this process and through real files.
//!
//! As many tasks of a stage run at a time as there are threads. The first column, in which the vector grows, is not
//! measured. From there the sweep goes on until enough states have gone through passes, or to the end of the board.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use keima_blocks::limits::LEAST_TASK_BYTES;
use keima_count::stages::Stages;
use keima_engine::run_task;
use keima_model::{AnyProblem, Layout, ProblemRequest, Window};
use keima_orders::{AttemptId, InputRun, JobId, TaskOrder};
use keima_residue::primes_below;
use keima_runs::TaskManifest;

use crate::board;
use crate::process::{cpu_seconds, forget_peak, peak_bytes};
use crate::sample::{Kind, Label, Sample};

/// Longest window, the planner's.
const LONGEST_WINDOW: u32 = 4;
/// Fewest tasks of a stage for each thread.
const TASKS_A_THREAD: u64 = 4;
/// Least memory of a task that is not tight.
const TASK_MEMORY_BYTES: u64 = 256 << 20;
/// What a task writes is to take this share of its memory, a little less than its output buffer.
const OUTPUT_PERCENT: u64 = 30;
/// A tight sweep has this part of the largest measured vector as memory.
const TIGHT: u64 = 10;

/// What stays the same from stage to stage.
struct Sweep<'a> {
    problem: &'a AnyProblem,
    windows: Vec<Window>,
    stages: Stages<'a>,
    moduli: Vec<u64>,
    task_memory_bytes: u64,
}

/// One sweep of at least `least` state-passes, if the board has so many.
pub(crate) fn sample(height: u32, residues: u32, threads: u32, tight: bool, least: f64) -> Result<(Label, Sample)> {
    forget_peak();
    let problem = board::go(height)?;
    let record_bytes = u64::from(problem.key_bytes()) + 8 * u64::from(residues);
    let vector_bytes = largest_vector(&board::states(height)?, height, least) * record_bytes;
    let scratch = tempfile::tempdir().context("a folder for the runs")?;
    let threads = threads.max(1);
    let mut sweep = Sweep::new(&problem, scratch.path(), residues, threads);
    sweep.task_memory_bytes = task_memory_bytes(vector_bytes, threads, tight);
    let measured = sweep.run(height, least)?;
    let kind = if tight { Kind::StreamTight } else { Kind::Stream };
    Ok((Label { kind, height, residues, threads }, Sample { peak_bytes: peak_bytes(None), ..measured }))
}

/// States of the largest vector of a sweep that ends after `least` state-passes, not counting the first column. `states`
/// has an entry for each pass.
fn largest_vector(states: &[u64], height: u32, least: f64) -> u64 {
    let mut done = 0.0;
    let measured = states.iter().skip(height as usize).take_while(|&&states| {
        let goes_on = done < least;
        done += states as f64;
        goes_on
    });
    measured.copied().max().unwrap_or(0)
}

/// All threads together have as much memory as the vector has bytes, or a tenth of it.
fn task_memory_bytes(vector_bytes: u64, threads: u32, tight: bool) -> u64 {
    let (part, least) = if tight { (TIGHT, LEAST_TASK_BYTES) } else { (1, TASK_MEMORY_BYTES) };
    (vector_bytes / part / u64::from(threads)).max(least)
}

/// The same work on every machine and in every run, on one thread: so many columns after the first. Returns their
/// state-passes.
pub(crate) fn fixed_work(height: u32, residues: u32, columns: u32) -> Result<f64> {
    let problem = board::go(height)?;
    let scratch = tempfile::tempdir().context("a folder for the runs")?;
    let sweep = Sweep::new(&problem, scratch.path(), residues, 1);
    Ok(sweep.run(1 + columns, f64::INFINITY)?.state_passes)
}

impl<'a> Sweep<'a> {
    /// With `threads` threads, runs below the folder `scratch` and enough memory for all that tasks write.
    fn new(problem: &'a AnyProblem, scratch: &'a Path, residues: u32, threads: u32) -> Self {
        Self {
            problem,
            windows: Window::cut(problem.info().board().height, LONGEST_WINDOW),
            stages: Stages::new(scratch, threads, u64::MAX),
            moduli: primes_below(1 << 64).take(residues as usize).collect(),
            task_memory_bytes: TASK_MEMORY_BYTES,
        }
    }

    /// Through the first columns of the board. Measured is what comes after the first one, up to the stage in which
    /// `least` state-passes are reached.
    fn run(&self, columns: u32, least: f64) -> Result<Sample> {
        let first = self.windows.len();
        let (mut total, mut started, mut cpu_before) = (Sample::default(), Instant::now(), cpu_seconds().0);
        let mut vector = Vec::new();
        for stage in 0..first * columns as usize {
            if stage == first {
                (started, cpu_before) = (Instant::now(), cpu_seconds().0);
            }
            let made = self.stage(stage, &vector)?;
            self.stages.delete(&vector)?;
            vector = made;
            if stage >= first {
                total.add_stage(&vector);
                if total.state_passes >= least {
                    break;
                }
            }
        }
        total.seconds = started.elapsed().as_secs_f64();
        total.cpu_seconds = cpu_seconds().0 - cpu_before;
        Ok(total)
    }

    /// All tasks of a stage.
    fn stage(&self, stage: usize, vector: &[TaskManifest]) -> Result<Vec<TaskManifest>> {
        let info = self.problem.info();
        let window = self.windows[stage % self.windows.len()];
        let next = self.windows[(stage + 1) % self.windows.len()];
        let first_pass = (stage / self.windows.len()) as u32 * info.board().height + window.first;
        let family_bits = if window.len == 1 { 128 } else { info.family_bits(Layout::Stage(window)) };
        let shards = if stage == 0 { vec![(0, None)] } else { cut(vector, self.tasks(vector), family_bits) };
        let request = ProblemRequest { name: info.name().to_owned(), size: info.size(), options: Vec::new() };
        let attempt = |task| AttemptId { job: JobId(1), sweep: 0, generation: stage as u32, task, attempt: 0 };
        let orders: Vec<TaskOrder> = (0..)
            .zip(shards)
            .map(|(number, (low, high))| TaskOrder {
                job_tag: 77,
                salt: 99,
                moduli: self.moduli.clone(),
                first_pass,
                layout_out: Layout::Stage(next),
                from_start: stage == 0,
                low,
                high,
                inputs: vector.iter().flat_map(|task| task.runs.iter().cloned().map(InputRun::here)).collect(),
                task_memory_bytes: self.task_memory_bytes,
                ..TaskOrder::of(attempt(number), request.clone(), window)
            })
            .collect();
        Ok(self.stages.all_tasks(&orders, &|task| run_task(self.problem, task))?)
    }

    /// Number of tasks: enough for all threads, and so many that what a task writes fits its memory.
    fn tasks(&self, vector: &[TaskManifest]) -> usize {
        let bytes: u64 = vector.iter().flat_map(|task| &task.runs).map(|run| run.bytes).sum();
        let by_memory = bytes / (self.task_memory_bytes * OUTPUT_PERCENT / 100).max(1);
        (u64::from(self.stages.threads()) * TASKS_A_THREAD).max(by_memory + 1) as usize
    }
}

/// Cuts a vector's keys between families, into about `tasks` ranges.
fn cut(vector: &[TaskManifest], tasks: usize, family_bits: u32) -> Vec<(u128, Option<u128>)> {
    let mut keys: Vec<u128> = vector.iter().flat_map(|task| &task.splits).map(|split| split.key).collect();
    keys.sort_unstable();
    let mut cuts: Vec<u128> = (1..tasks)
        .filter_map(|i| keys.get(i * keys.len() / tasks))
        .map(|&key| if family_bits >= 128 { key } else { key >> family_bits << family_bits })
        .filter(|&key| key > 0)
        .collect();
    cuts.dedup();
    let lows = std::iter::once(0).chain(cuts.iter().copied());
    lows.zip(cuts.iter().copied().map(Some).chain([None])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::job::stream_state_passes;

    #[test]
    fn tight_is_a_tenth_of_the_vector_that_is_measured() {
        let states = [1, 3, 9, 20, 30, 40, 50];
        for (least, largest) in [(f64::INFINITY, 50), (1.0, 9), (9.0, 9), (10.0, 20), (29.5, 30)] {
            assert_eq!(largest_vector(&states, 2, least), largest, "{least}");
        }
        for (height, residues, threads) in [(12, 1, 2), (12, 8, 2), (13, 1, 2), (13, 8, 2), (14, 1, 2), (14, 8, 2)] {
            let states = largest_vector(&board::states(height).unwrap(), height, stream_state_passes(height));
            let [roomy, tight] =
                [false, true].map(|tight| task_memory_bytes(states * (8 * residues + 8), threads, tight));
            let what = format!("{height}x{height}, K={residues}: {states} states, {roomy} and {tight} bytes a task");
            assert!(2 * tight <= roomy && tight > LEAST_TASK_BYTES, "{what}");
        }
    }

    #[test]
    fn threads_and_memory_do_not_change_what_is_done() {
        let (_, one) = sample(6, 2, 1, false, f64::INFINITY).unwrap();
        for (threads, tight) in [(2, false), (1, true), (2, true)] {
            let (label, other) = sample(6, 2, threads, tight, f64::INFINITY).unwrap();
            assert_eq!(label.kind == Kind::StreamTight, tight);
            assert_eq!(other.state_passes.to_bits(), one.state_passes.to_bits(), "{label:?}");
            assert!(other.bytes_written > 0.0 && other.bytes_read > 0.0, "{other:?}");
        }
        let work = |columns| fixed_work(6, 2, columns).unwrap();
        assert_eq!(work(0).to_bits(), 0_f64.to_bits());
        assert_eq!(work(5).to_bits(), one.state_passes.to_bits(), "all columns");
        assert!(work(1) > 1.0 && work(1) < work(2));
        // A part of it.
        let (_, part) = sample(6, 2, 1, false, 1.0).unwrap();
        assert!(part.state_passes > 1.0 && part.state_passes < one.state_passes);
    }
}
