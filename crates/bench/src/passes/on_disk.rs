//! Passes of the block executor on disk, in this process and through real files.
//!
//! Tasks take a vector's groups through the windows, as many at a time as there are threads, with a barrier after each
//! window. Measured is all that a worker does for it: it reads and checks runs, passes, writes runs and deletes those that
//! were read. Tables, set-up and the first window, which reads nothing, are not measured. Nothing is synced: what is
//! written may still be in the page cache when it is read.
//!
//! ```text
//!   stage    0            1   2 | 3   4 | ...     two windows a column
//!            start vector measured, in whole columns; after the board's last one it begins anew
//! ```
//!
//! Windows and groups are the planner's. With the memory of a worker ([`MEMORY_MIB`]) a task has room for all residues of
//! its largest family; counts on disk show what little memory costs. All residues are carried from the start, where a
//! count carries as many as its numbers need.
//!
//! Cost: the tables (up to some seconds), then half a second, or a column and a window where that is more; disk for two
//! boundaries.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use keima_blocks::lanes::LANES;
use keima_coordinator::{Plan, PlanLimits, block_plan};
use keima_count::stages::{BlockStages, Stages};
use keima_model::{AnyProblem, Directions};
use keima_residue::primes_below;
use keima_runs::{Tally, TaskManifest};

use crate::board;
use crate::process::{cpu_seconds, forget_peak, peak_bytes};
use crate::sample::{Kind, Label, Line, Sample};

/// Columns run until this many state-passes, or this much time, have gone by.
const MIN_STATE_PASSES: f64 = 1e8;
const MIN_SECONDS: f64 = 0.5;
/// Default memory for tables and tasks: that of a cluster's worker.
pub(crate) const MEMORY_MIB: u64 = 4096;
/// Default limit of two boundaries on disk.
pub(crate) const MAX_BYTES: u64 = 30_000_000_000;
/// Residues below 2^60.
const RESIDUE_BITS: f64 = 60.0;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk {
    pub(crate) height: u32,
    pub(crate) residues: u32,
    pub(crate) threads: u32,
    pub(crate) memory_mib: u64,
    pub(crate) max_bytes: u64,
}

/// One sample, or a note where the boundaries are too large.
pub(crate) fn sample(options: &Disk) -> Result<Line> {
    ensure!(LANES.contains(&options.residues), "rows have {LANES:?} residues, not {}", options.residues);
    ensure!(options.threads > 0, "at least one thread");
    let plan = plan(options)?;
    let needed_bytes = two_boundaries_bytes(&plan);
    if needed_bytes > options.max_bytes as f64 {
        return Ok(Line::Note(format!(
            "two boundaries of {:.1} GB together are more disk than the {:.1} GB of --max-bytes",
            needed_bytes / 1e9,
            options.max_bytes as f64 / 1e9
        )));
    }
    let folder = scratch_folder()?;
    let measured = Sweep::new(options, plan, folder.path())?.measure()?;
    folder.close().context("cannot remove the folder of the runs")?;
    let Disk { height, residues, threads, .. } = *options;
    Ok(Line::Sample(Label { kind: Kind::BlockRuns, height, residues, threads }, measured))
}

/// A folder in $TMPDIR, else in the current folder: /tmp may be in memory. Only a process that is killed leaves it.
fn scratch_folder() -> Result<tempfile::TempDir> {
    let at = std::env::var_os("TMPDIR").filter(|text| !text.is_empty()).unwrap_or_else(|| ".".into());
    tempfile::Builder::new().prefix("keima-bench-").tempdir_in(at).context("a folder for the runs")
}

/// The planner's windows and groups for a board so long that it needs so many residues. Nothing else in a plan depends
/// on the length.
fn plan(options: &Disk) -> Result<Plan> {
    let bits_a_column = f64::from(options.height) * 3_f64.log2();
    let length = (RESIDUE_BITS * f64::from(options.residues) / bits_a_column).ceil() as u32;
    let problem = board::go_of(options.height, length.max(options.height))?;
    let limits = PlanLimits {
        task_memory_bytes: (options.memory_mib << 20) / u64::from(options.threads),
        disk_bytes: None,
        residues_per_sweep: Some(options.residues),
        window: None,
        slots: options.threads,
        worker_slots: options.threads,
        second_copies: false,
        // Forward passes are measured.
        series: true,
    };
    Ok(block_plan(problem.info(), problem.key_bytes(), &limits)?)
}

/// Bytes of the largest two boundaries that follow each other.
fn two_boundaries_bytes(plan: &Plan) -> f64 {
    let states = |pass: u32| plan.states.get(pass as usize).map_or(0.0, |&states| states as f64);
    let stages = (0..plan.stages()).map(|number| plan.stage(number));
    let together = stages.map(|stage| states(stage.first_pass) + states(stage.end_pass()));
    together.fold(0.0, f64::max) * plan.record_bytes
}

/// What stays the same from stage to stage.
struct Sweep<'a> {
    stages: BlockStages<'a>,
    problem: AnyProblem,
}

impl<'a> Sweep<'a> {
    fn new(options: &Disk, plan: Plan, scratch: &'a Path) -> Result<Self> {
        let problem = board::go(options.height)?;
        let blocks = problem.info().blocks().context("no blocks of this height")?;
        let column = blocks.column(&plan.windows, Directions::Forward).map_err(anyhow::Error::msg)?;
        let moduli: Vec<u64> = primes_below(1 << 60).take(options.residues as usize).collect();
        let stages = Stages::new(scratch, options.threads, options.max_bytes);
        let stages = BlockStages::new(plan, column, moduli, options.memory_mib << 20, stages);
        Ok(Self { stages, problem })
    }

    fn measure(&self) -> Result<Sample> {
        let windows = self.stages.plan().windows.len() as u32;
        // The whole columns that a board has after its first stage.
        let stages = (self.problem.info().board().length - 1).saturating_sub(1) * windows;
        ensure!(stages > 0, "the board is too small");
        forget_peak();
        let mut total = Sample::default();
        let is_enough =
            |total: &Sample, more: f64| total.state_passes >= MIN_STATE_PASSES || total.seconds + more >= MIN_SECONDS;
        let mut sweep = 0;
        while !is_enough(&total, 0.0) {
            let mut vector = self.stage(sweep, 0, &[])?;
            let (started, before) = (Instant::now(), cpu_seconds().0);
            for stage in 1..=stages {
                let made = self.stage(sweep, stage, &vector)?;
                self.stages.delete(&vector)?;
                total.add_stage(&made);
                vector = made;
                if stage % windows == 0 && is_enough(&total, started.elapsed().as_secs_f64()) {
                    break;
                }
            }
            total.seconds += started.elapsed().as_secs_f64();
            total.cpu_seconds += cpu_seconds().0 - before;
            self.stages.delete(&vector)?;
            sweep += 1;
        }
        total.peak_bytes = peak_bytes(None);
        Ok(total)
    }

    /// All tasks of a stage. They must read what the stage before wrote.
    fn stage(&self, sweep: u32, number: u32, vector: &[TaskManifest]) -> Result<Vec<TaskManifest>> {
        let made = self.stages.stage(self.problem.info(), sweep, number, vector)?;
        if !vector.is_empty() {
            let (written, read) = (self.tally(vector, |task| &task.output), self.tally(&made, |task| &task.input));
            ensure!(written == read, "stage {number} read {read:?}, and {written:?} was written");
        }
        Ok(made)
    }

    /// Sum over tasks: number of states, sums and fingerprints.
    fn tally(&self, tasks: &[TaskManifest], pick: fn(&TaskManifest) -> &Tally) -> Tally {
        let moduli = self.stages.moduli();
        let mut sum = Tally::zero(moduli.len());
        for task in tasks {
            sum.add(pick(task), moduli);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Disk = Disk { height: 5, residues: 4, threads: 1, memory_mib: 64, max_bytes: MAX_BYTES };

    #[test]
    fn whole_columns_are_measured() {
        for (residues, threads) in [(1, 1), (2, 2), (4, 2), (8, 1)] {
            let Line::Sample(label, found) = sample(&Disk { residues, threads, ..SMALL }).unwrap() else { panic!() };
            assert_eq!((label.kind, label.residues, label.threads), (Kind::BlockRuns, residues, threads));
            assert!(found.state_passes >= MIN_STATE_PASSES || found.seconds >= MIN_SECONDS, "{found:?}");
            assert!(found.bytes_read > 0.0 && found.bytes_written > 0.0, "{found:?}");
        }
        assert!(sample(&Disk { residues: 3, ..SMALL }).is_err());
        assert!(sample(&Disk { threads: 0, ..SMALL }).is_err());
        // The memory is more than there is, but is not taken.
        let line = sample(&Disk { height: 14, residues: 8, memory_mib: 1 << 20, max_bytes: 1 << 30, ..SMALL }).unwrap();
        assert!(matches!(&line, Line::Note(text) if text.contains("more disk than the 1.1 GB")), "{line:?}");
    }

    #[test]
    fn what_was_not_written_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let sweep = Sweep::new(&SMALL, plan(&SMALL).unwrap(), folder.path()).unwrap();
        let mut vector = sweep.stage(0, 0, &[]).unwrap();
        vector[0].output.fingerprint[3] ^= 1;
        let text = sweep.stage(0, 1, &vector).unwrap_err().to_string();
        assert!(text.contains("stage 1 read"), "{text}");
    }
}
