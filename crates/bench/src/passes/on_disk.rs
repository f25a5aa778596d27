//! Passes of the block executor out of core, in this process and through real files: tasks take a vector's groups
//! through the windows, as many at a time as there are threads, with a barrier after each window. Measured is all that
//! a worker does for it: reading and checking runs, passes, writing runs, deleting those that were read. Tables, set-up
//! and the first window, into which nothing is read, are not; nor is anything synced: what is written may be in the
//! page cache still when it is read.
//!
//! ```text
//!   stage    0            1   2 | 3   4 | ...     two windows a column
//!            start vector measured, in whole columns; after the board's last whole one it begins anew
//! ```
//!
//! Windows and groups are the planner's, for so many residues, threads and so much memory. With the memory of a worker
//! ([`MEMORY_MIB`]) a task has room for all residues of its largest family: what little memory costs is what counts out
//! of core show. All residues are carried from the start, where a count carries as many as its numbers need.
//!
//! Checked: states of every boundary and before every pass against the tables; number, sum and fingerprint of what a
//! stage reads against what the stage before has written; published values at columns' ends.
//!
//! Cost: the tables (up to some seconds), then half a second, or a column and a window where that is more; disk for two
//! boundaries.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use keima_blocks::lanes::LANES;
use keima_coordinator::{Plan, PlanLimits, block_plan};
use keima_count::stages::{BlockStages, Stages};
use keima_model::{AnyProblem, BlockColumn, Directions, ProblemInfo};
use keima_residue::{Integer, add_row, primes_below, residue_of};
use keima_runs::{Tally, TaskManifest};

use crate::board;
use crate::process::{cpu_seconds, forget_peak, peak_bytes};
use crate::sample::{Kind, Label, Line, Sample};

/// Columns are done until this many state-passes, or this much time, have gone by.
const LEAST_STATE_PASSES: f64 = 1e8;
const LEAST_SECONDS: f64 = 0.5;
/// Memory for tables and tasks, unless something else is asked for: that of the cluster rows' workers.
pub(crate) const MEMORY_MIB: u64 = 4096;
/// What two boundaries may take on disk, unless something else is asked for.
pub(crate) const BYTES_MOST: u64 = 30_000_000_000;
/// Residues below 2^60.
const RESIDUE_BITS: f64 = 60.0;

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk {
    pub(crate) height: u32,
    pub(crate) residues: u32,
    pub(crate) threads: u32,
    pub(crate) memory_mib: u64,
    pub(crate) bytes_most: u64,
}

/// One sample, or a note where the boundaries would be too large.
pub(crate) fn sample(wish: &Disk) -> Result<Line> {
    ensure!(LANES.contains(&wish.residues), "rows of {LANES:?} residues, not of {}", wish.residues);
    ensure!(wish.threads > 0, "at least one thread");
    let plan = plan(wish)?;
    let needed_bytes = two_boundaries_bytes(&plan);
    if needed_bytes > wish.bytes_most as f64 {
        return Ok(Line::Note(format!(
            "two boundaries of {:.1} GB together are more disk than the {:.1} GB of --bytes-most",
            needed_bytes / 1e9,
            wish.bytes_most as f64 / 1e9
        )));
    }
    let folder = scratch_folder()?;
    let measured = Sweep::new(wish, plan, folder.path())?.measure()?;
    folder.close().context("the folder of the runs is not gone")?;
    let label = Label { kind: Kind::BlockRuns, height: wish.height, residues: wish.residues, threads: wish.threads };
    Ok(Line::Sample(label, measured))
}

/// In $TMPDIR if there is one, else in the current folder: /tmp may be in memory. It goes when it is dropped, whatever
/// fails; only a process that is killed leaves it.
fn scratch_folder() -> Result<tempfile::TempDir> {
    let at = std::env::var_os("TMPDIR").filter(|text| !text.is_empty()).unwrap_or_else(|| ".".into());
    tempfile::Builder::new().prefix("keima-bench-").tempdir_in(at).context("a folder for the runs")
}

/// Windows, groups and moduli as the planner has them for a board that is long enough to need so many residues:
/// nothing else in a plan depends on the length.
fn plan(wish: &Disk) -> Result<Plan> {
    let bits_a_column = f64::from(wish.height) * 3_f64.log2();
    let length = (RESIDUE_BITS * f64::from(wish.residues) / bits_a_column).ceil() as u32;
    let problem = board::go_of(wish.height, length.max(wish.height))?;
    let limits = PlanLimits {
        task_memory_bytes: (wish.memory_mib << 20) / u64::from(wish.threads),
        disk_bytes: None,
        residues_per_sweep: Some(wish.residues),
        window: None,
        slots: wish.threads,
        worker_slots: wish.threads,
        second_copies: false,
        // Forward passes are measured.
        series: true,
    };
    Ok(block_plan(problem.info(), problem.key_bytes(), &limits)?)
}

/// Of the largest two that follow each other.
fn two_boundaries_bytes(plan: &Plan) -> f64 {
    let states = |pass: u32| plan.states.get(pass as usize).map_or(0.0, |&states| states as f64);
    let together = (0..plan.stages()).map(|number| plan.stage(number));
    let together = together.map(|stage| states(stage.first_pass) + states(stage.end_pass()));
    together.fold(0.0, f64::max) * plan.record_bytes
}

/// What does not change from stage to stage.
struct Sweep<'a> {
    stages: BlockStages<'a>,
    problem: AnyProblem,
    /// States before each pass of a window, and after its last.
    states: Vec<Vec<u64>>,
    published: Vec<Published>,
}

impl<'a> Sweep<'a> {
    fn new(wish: &Disk, plan: Plan, scratch: &'a Path) -> Result<Self> {
        let problem = board::go(wish.height)?;
        let blocks = problem.info().blocks().context("no blocks of this height")?;
        let column = blocks.column(&plan.windows, Directions::Forward).map_err(anyhow::Error::msg)?;
        let moduli: Vec<u64> = primes_below(1 << 60).take(wish.residues as usize).collect();
        let states = (0..plan.windows.len()).map(|window| states(column.as_ref(), window)).collect();
        let published = published(problem.info(), &moduli)?;
        let stages = Stages::new(scratch, wish.threads, wish.bytes_most);
        let stages = BlockStages::new((plan, column), moduli, wish.memory_mib << 20, stages);
        Ok(Self { stages, problem, states, published })
    }

    fn measure(&self) -> Result<Sample> {
        let windows = self.stages.plan().windows.len() as u32;
        // As many whole columns as a board has after its first stage.
        let stages = (self.problem.info().board().length - 1).saturating_sub(1) * windows;
        ensure!(stages > 0, "the board is too small");
        forget_peak();
        let mut total = Sample::default();
        let enough = |total: &Sample, more: f64| {
            total.state_passes >= LEAST_STATE_PASSES || total.seconds + more >= LEAST_SECONDS
        };
        let mut sweep = 0;
        while !enough(&total, 0.0) {
            let mut vector = self.stage(sweep, 0, &[])?;
            let (started, before) = (Instant::now(), cpu_seconds().0);
            for stage in 1..=stages {
                let made = self.stage(sweep, stage, &vector)?;
                self.stages.delete(&vector)?;
                total.add_up(&made);
                vector = made;
                if stage % windows == 0 && enough(&total, started.elapsed().as_secs_f64()) {
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

    fn stage(&self, sweep: u32, number: u32, vector: &[TaskManifest]) -> Result<Vec<TaskManifest>> {
        let made = self.stages.stage(self.problem.info(), (sweep, number), vector)?;
        let plan = self.stages.plan();
        let (window, end) = (number as usize % plan.windows.len(), plan.stage(number).end_pass());
        self.check(window, vector, &made).with_context(|| format!("after pass {end}"))?;
        Ok(made)
    }

    /// Every state of the tables went through, what was read is what had been written, and counts are the published
    /// ones.
    fn check(&self, window: usize, vector: &[TaskManifest], made: &[TaskManifest]) -> Result<()> {
        let Some((&at_end, before)) = self.states.get(window).and_then(|states| states.split_last()) else {
            bail!("no window number {window}");
        };
        let mut passes = vec![0; before.len()];
        for pass in made.iter().map(|task| &task.passes) {
            passes.iter_mut().zip(pass).for_each(|(sum, pass)| *sum += pass.states);
        }
        ensure!(passes == before, "{passes:?} states went through passes, the tables have {before:?}");
        let written = tally(made, |task| &task.output, self.stages.moduli());
        ensure!(written.states == at_end, "{} states were written, the tables have {at_end}", written.states);
        if !vector.is_empty() {
            let (before, read) = (
                tally(vector, |task| &task.output, self.stages.moduli()),
                tally(made, |task| &task.input, self.stages.moduli()),
            );
            ensure!(before == read, "what was read is not what was written: {read:?} and {before:?}");
        }
        for Published { functional, name, residues } in &self.published {
            let own = made.iter().flat_map(|task| &task.functionals).filter(|sum| sum.functional == *functional);
            let sum = own.map(|sum| &sum.lanes).fold(None, |sum: Option<Vec<u64>>, lanes| {
                let mut sum = sum.unwrap_or_else(|| vec![0; self.stages.moduli().len()]);
                add_row(&mut sum, lanes, self.stages.moduli());
                Some(sum)
            });
            if let Some(sum) = sum.filter(|sum| sum != residues) {
                bail!("{name} is {sum:?} modulo {:?}, published is {residues:?}", self.stages.moduli());
            }
        }
        Ok(())
    }
}

/// States before each pass of a window and after its last. Those of a family without an outside stand there in both
/// colourings, and the one that is its own image once.
fn states(column: &dyn BlockColumn, window: usize) -> Vec<u64> {
    let tables = column.tables(window);
    let mut states = vec![0; tables.states.len()];
    for family in &tables.families {
        let single = column.weight(window, family.blocks.start) == 1;
        for (states, &size) in states.iter_mut().zip(&family.size) {
            *states += if single { size.div_ceil(2) } else { size };
        }
    }
    states
}

fn tally(of: &[TaskManifest], pick: fn(&TaskManifest) -> &Tally, moduli: &[u64]) -> Tally {
    let mut sum = Tally::zero(moduli.len());
    for manifest in of {
        sum.add(pick(manifest), moduli);
    }
    sum
}

/// A published count, and its residues.
struct Published {
    functional: u32,
    name: String,
    residues: Vec<u64>,
}

/// All of the board's columns' ends.
fn published(info: &dyn ProblemInfo, moduli: &[u64]) -> Result<Vec<Published>> {
    let mut found = Vec::new();
    for (functional, told) in (0..).zip(info.functionals()) {
        let Some(known) = told.known else { continue };
        let known: Integer = known.parse().with_context(|| format!("{known} is not a number"))?;
        let residues = moduli.iter().map(|&modulus| residue_of(&known, modulus)).collect();
        found.push(Published { functional, name: told.name, residues });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(residues: u32, threads: u32) -> Disk {
        Disk { height: 5, residues, threads, memory_mib: 64, bytes_most: BYTES_MOST }
    }

    fn sweep<'a>(wish: &Disk, scratch: &'a Path) -> Sweep<'a> {
        Sweep::new(wish, plan(wish).unwrap(), scratch).unwrap()
    }

    #[test]
    fn whole_columns_are_measured_whatever_the_residues_and_threads() {
        for (residues, threads) in [(1, 1), (2, 2), (4, 2), (8, 1)] {
            let wish = wish(residues, threads);
            let Line::Sample(label, found) = sample(&wish).unwrap() else { panic!("{wish:?}") };
            assert_eq!((label.kind, label.residues, label.threads), (Kind::BlockRuns, residues, threads));
            assert!(found.state_passes >= LEAST_STATE_PASSES || found.seconds >= LEAST_SECONDS, "{found:?}");
            assert!(found.bytes_read > 0.0 && found.bytes_written > 0.0, "{found:?}");
            let column: u64 = states_of_column(&wish).iter().flat_map(|states| &states[..states.len() - 1]).sum();
            let columns = found.state_passes / column as f64;
            assert!((columns - columns.round()).abs() < 1e-9 && columns >= 1.0, "{columns} columns");
        }
        assert!(sample(&wish(3, 1)).is_err());
        assert!(sample(&wish(1, 0)).is_err());
    }

    fn states_of_column(wish: &Disk) -> Vec<Vec<u64>> {
        sweep(wish, Path::new("none")).states
    }

    #[test]
    fn what_is_too_large_is_a_note() {
        let large = Disk { height: 14, bytes_most: 1 << 30, ..wish(8, 1) };
        // More memory than there is: it is not taken.
        let line = sample(&Disk { memory_mib: 1 << 20, ..large }).unwrap();
        assert!(matches!(&line, Line::Note(text) if text.contains("more disk than the 1.1 GB")), "{line:?}");
    }

    #[test]
    fn states_that_are_missing_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let sweep = sweep(&wish(4, 1), folder.path());
        let before = sweep.stage(0, 0, &[]).unwrap();
        let made = sweep.stage(0, 1, &before).unwrap();
        let refused = |vector: &[TaskManifest], made: &[TaskManifest]| {
            format!("{:#}", sweep.check(1 % sweep.stages.plan().windows.len(), vector, made).unwrap_err())
        };
        assert!(refused(&before, &made[1..]).contains("went through passes"));
        let (mut less, mut other) = (made.clone(), made.clone());
        less[0].output.states -= 1;
        assert!(refused(&before, &less).contains("were written"));
        other[0].input.fingerprint[3] ^= 1;
        assert!(refused(&before, &other).contains("is not what was written"));
        // The fourth column's end, the first of this height that is published.
        let mut vector = made;
        let last = 3 * sweep.stages.plan().windows.len() as u32 - 1;
        for stage in 2..=last {
            vector = sweep.stage(0, stage, &vector).unwrap();
        }
        vector[0].functionals[0].lanes[1] ^= 1;
        let text =
            format!("{:#}", sweep.check(last as usize % sweep.stages.plan().windows.len(), &[], &vector).unwrap_err());
        assert!(text.contains("L(5,4) is ") && text.contains("published"), "{text}");
    }
}
