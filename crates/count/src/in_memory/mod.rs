//! A count by the block executor, in the memory of this process: the plan, the count, and the same recombination and
//! checks as of any job.
//!
//! From both ends of the board to the middle where three vectors fit; else forward alone, in sweeps of as many residues
//! at a time as fit. No vector goes to disk: where there are several sweeps an interrupted count goes on after the last one
//! that was done ([`kept`]), else it begins anew.

mod kept;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use keima_blocks::in_memory as memory;
use keima_coordinator::{Check, FunctionalValues, JobId, JobStatus, Plan, PlanError, State, in_memory_plan, recombine};
use keima_engine::block::{BlockError, CountOrder, Counted, count, count_forward, most_lanes};
use keima_model::{AnyProblem, Directions, Window};
use keima_runs::TaskTimes;

use kept::KeptSweeps;

use keima_cluster::random_bits;

/// Why there is no count.
#[derive(Debug, thiserror::Error)]
pub enum InMemoryError {
    /// The problem is not made of blocks, or its tables are too large.
    #[error("the block executor cannot count this: {0}; use --executor stream")]
    NoBlocks(String),
    /// No plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The executor.
    #[error(transparent)]
    Block(#[from] BlockError),
}

/// State-passes of one thread in which a sweep must be done, about an hour: that much is lost when a count is
/// interrupted.
const MOST_STATE_PASSES: u64 = 1_000_000_000_000;

/// How a count is done in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Memory that it takes, tables included.
    pub memory_bytes: u64,
    /// Residues at a time, forward alone; `None` from both ends.
    pub lanes: Option<u32>,
}

/// A count that is planned, and how far it is.
pub struct InMemory {
    problem: AnyProblem,
    options: Vec<(String, String)>,
    plan: Plan,
    /// Residues at a time, forward alone.
    lanes: Option<u32>,
    series: bool,
    started: Instant,
    stop: AtomicBool,
    kept: Mutex<Option<KeptSweeps>>,
    windows_done: AtomicU32,
    windows: AtomicU32,
    /// Of `windows_done`, those of an earlier run.
    windows_kept: AtomicU32,
    /// Residues that were kept.
    residues_found: AtomicUsize,
}

impl InMemory {
    /// Plans a count with `threads` threads in at most `memory_bytes`. `series` asks for the counts of all shorter
    /// boards.
    pub fn new(
        problem: AnyProblem,
        options: Vec<(String, String)>,
        threads: u32,
        memory_bytes: u64,
        series: bool,
    ) -> Result<Self, InMemoryError> {
        let fit = Self::fit(&problem, threads, memory_bytes).ok_or_else(|| {
            InMemoryError::NoBlocks(format!(
                "{} has no dense blocks for this size, or they do not fit {memory_bytes} bytes",
                problem.info().name()
            ))
        })?;
        let plan = in_memory_plan(problem.info(), problem.key_bytes(), fit.memory_bytes, threads, fit.lanes)?;
        Ok(Self {
            problem,
            options,
            plan,
            lanes: fit.lanes,
            series,
            started: Instant::now(),
            stop: AtomicBool::new(false),
            kept: Mutex::new(None),
            windows_done: AtomicU32::new(0),
            windows: AtomicU32::new(1),
            windows_kept: AtomicU32::new(u32::MAX),
            residues_found: AtomicUsize::new(0),
        })
    }

    /// Keeps the residues of each sweep in `folder` until [`InMemory::forget`], which is for when the number has been told,
    /// or until checks fail, and goes on from those that are there. `name` is a word that tells this count from others.
    /// Returns how many residues are there and how many there will be; none where there is only one sweep.
    pub fn keep_in(&self, folder: &Path, name: &str) -> Option<(usize, usize)> {
        let several = self.lanes.is_some() && self.plan.sweeps.len() > 1;
        let kept = several.then(|| KeptSweeps::open(folder, name))?;
        let found = kept.len();
        if let Ok(mut place) = self.kept.lock() {
            *place = Some(kept);
        }
        self.residues_found.store(found, Ordering::Relaxed);
        Some((found, self.plan.moduli.len()))
    }

    /// How many residues of the count called `name` are kept in `folder`.
    pub fn kept_in(folder: &Path, name: &str) -> usize {
        KeptSweeps::open(folder, name).len()
    }

    /// Forgets them.
    pub fn forget(folder: &Path, name: &str) {
        KeptSweeps::open(folder, name).remove();
    }

    /// How a count fits `memory_bytes`; `None` where the block executor cannot do it, or it does not fit.
    pub fn fit(problem: &AnyProblem, threads: u32, allowed_bytes: u64) -> Option<Fit> {
        let info = problem.info();
        let blocks = info.blocks()?;
        let board = info.board();
        let plan = in_memory_plan(info, problem.key_bytes(), 0, threads, None).ok()?;
        let families = plan.windows.iter().map(|&window: &Window| info.largest_family(window));
        let family = u64::try_from(families.collect::<Option<Vec<_>>>()?.into_iter().max()?).ok()?;
        // Going forward alone takes one exchange of those of both directions too.
        let tables = blocks.table_bytes(&plan.windows, Directions::Folded);
        if tables == u64::MAX {
            // There are none of all families.
            return None;
        }
        let takes = memory::Count { states: plan.peak_states, family, bounds: blocks.family_bounds(), threads };
        let both = most_lanes(blocks.choices(), board.height, board.length).map(|lanes| Fit {
            memory_bytes: memory::process_bytes(takes.both_ends_bytes(lanes.into()), tables),
            lanes: None,
        });
        let column = plan.states.iter().rev().take(board.height as usize).fold(0, |sum: u64, &s| sum.saturating_add(s));
        let passes = column.saturating_mul(board.length.saturating_sub(1).into()) / u64::from(threads.max(1));
        let needed = plan.moduli.len() as u64;
        let forward = [8, 4, 2, 1].into_iter().filter(|&lanes| lanes == 1 || lanes < 2 * needed);
        let forward = forward.filter(|_| passes <= MOST_STATE_PASSES);
        let forward = forward.map(|lanes| Fit {
            memory_bytes: memory::process_bytes(takes.forward_bytes(lanes), tables),
            lanes: Some(lanes as u32),
        });
        both.into_iter().chain(forward).find(|fit| fit.memory_bytes <= allowed_bytes)
    }

    /// The plan alone.
    pub(crate) fn into_plan(self) -> Plan {
        self.plan
    }

    /// Asks [`InMemory::count`] to return soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Counts. Blocking. Failed checks are in the status; an error means that there is nothing to tell.
    pub fn count(&self) -> Result<JobStatus, InMemoryError> {
        let info = self.problem.info();
        let blocks = info.blocks().ok_or_else(|| InMemoryError::NoBlocks(format!("{} has no blocks", info.name())))?;
        let column = blocks.column(&self.plan.windows, Directions::Folded).map_err(InMemoryError::NoBlocks)?;
        let progress = |done, windows| {
            self.windows_kept.fetch_min(done, Ordering::Relaxed);
            self.windows_done.store(done, Ordering::Relaxed);
            self.windows.store(windows, Ordering::Relaxed);
        };
        let order = CountOrder {
            column: column.as_ref(),
            height: self.plan.board.height,
            length: self.plan.board.length,
            choices: blocks.choices(),
            moduli: &self.plan.moduli,
            salt: random_bits(),
            threads: self.plan.slots as usize,
            series: self.series,
            stop: &self.stop,
            progress: &progress,
        };
        let mut kept = self.kept.lock().map_or(None, |mut kept| kept.take());
        let counted = match (self.lanes, &mut kept) {
            (None, _) => count(&order),
            (Some(lanes), None) => count_forward(&order, lanes as usize, &mut ()),
            (Some(lanes), Some(kept)) => count_forward(&order, lanes as usize, kept),
        };
        match counted {
            Ok(counted) => {
                let status = self.ended(&counted);
                if status.state != State::Done {
                    // What was kept may be at fault: to be counted anew.
                    kept.iter_mut().for_each(KeptSweeps::remove);
                }
                Ok(status)
            }
            Err(
                error @ (BlockError::Balance { .. }
                | BlockError::Exchange { .. }
                | BlockError::Fingerprint { .. }
                | BlockError::Spare { .. }
                | BlockError::TwoCuts { .. }),
            ) => {
                let mut status = self.ended(&Counted::default());
                status.reason = error.to_string();
                if let Some(outcome) = &mut status.outcome {
                    outcome.add_check(Check::new("block_executor", false, error.to_string()));
                }
                Ok(status)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The result, with every check.
    fn ended(&self, counted: &Counted) -> JobStatus {
        let info = self.problem.info();
        let mut values = FunctionalValues::new();
        for (number, functional) in (0_u32..).zip(info.functionals()) {
            if let Some((_, residues)) = counted.boards.iter().find(|(columns, _)| *columns == functional.index) {
                values.insert(number, vec![residues.clone()]);
            }
        }
        let mut outcome = recombine(info, &self.plan, &values);
        // None where a check failed.
        let windows = |columns: u32| columns as usize * self.plan.windows.len();
        let forward = windows(counted.middle.saturating_sub(1));
        let back = if counted.middle > 0 { windows(self.plan.board.length - counted.middle) } else { 0 };
        if forward + back > 0 {
            let text = match (forward, back) {
                (0, back) => format!("{back} windows of the transposed vector"),
                (forward, 0) => format!("{forward} windows of the forward vector"),
                _ => format!("{forward} windows of the forward vector, and {back} of the transposed one"),
            };
            let text = format!("every family of {text}, modulo every prime that each had");
            outcome.add_check(Check::new("mass_balance", true, text));
            let text = "each window has read what the one before wrote: the sums over all states, modulo one prime, and at \
                        some boundaries keyed fingerprints of one state in 64";
            outcome.add_check(Check::new("exchange", true, text.to_owned()));
        }
        if !counted.two_cuts.is_empty() {
            outcome.add_check(Check::new("two_cuts", true, counted.two_cuts.clone()));
        }
        let mut status = self.status();
        status.state = if outcome.ok { State::Done } else { State::CheckFailed };
        status.times = counted.times;
        status.outcome = Some(outcome);
        status
    }

    /// How far it is.
    pub fn status(&self) -> JobStatus {
        let info = self.problem.info();
        let seconds = self.started.elapsed().as_secs_f64();
        let (done, windows) = (self.windows_done.load(Ordering::Relaxed), self.windows.load(Ordering::Relaxed));
        let first = self.windows_kept.load(Ordering::Relaxed).min(done);
        let board = self.plan.board;
        let per_column = self.plan.windows.len() as u32;
        // Columns are done from both ends; what is shown is how many are done.
        let in_sweep = (per_column * board.length.saturating_sub(1)).max(1);
        let sweep = match self.lanes {
            // What is done twice, for the second cut, shows as the last window.
            None => 0,
            Some(_) => done.saturating_sub(1) / in_sweep,
        };
        let done_here = (done - sweep * in_sweep).min(in_sweep);
        let pass = (done_here * board.height / per_column).min(board.passes());
        JobStatus {
            id: JobId(1),
            problem: info.name().into(),
            size: info.size(),
            options: self.options.clone(),
            state: State::Running,
            reason: String::new(),
            priority: 0,
            plan: Some(self.plan.clone()),
            sweep,
            stage: done,
            pass,
            passes: board.passes().saturating_sub(board.height).max(1),
            column: done_here / per_column,
            states: self.plan.peak_states,
            states_done: 0,
            states_stage: 1,
            states_per_second: 0.0,
            peak_states: self.plan.peak_states,
            tasks: 0,
            tasks_done: 0,
            tasks_running: self.plan.slots,
            disk_bytes: 0,
            disk_peak_bytes: 0,
            seconds,
            eta_seconds: (done > first)
                .then(|| seconds * f64::from(windows - done.min(windows)) / f64::from(done - first)),
            series: Vec::new(),
            copied_passes: None,
            resumed_from: match self.residues_found.load(Ordering::Relaxed) {
                0 => None,
                found => Some(format!("{found} of {} residues", self.plan.moduli.len())),
            },
            outcome: None,
            notes: Vec::new(),
            bytes_read: 0,
            bytes_written: 0,
            bytes_spilled: 0,
            times: TaskTimes::default(),
            workers: Vec::new(),
        }
    }
}
