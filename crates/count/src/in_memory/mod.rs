//! Counts in the memory of this process with the block executor, over dense blocks or over bracket words. Recombination and
//! checks are those of any job.
//!
//! If three vectors fit, it counts from both ends of the board to the middle. Else it goes forward alone, in sweeps of as
//! many residues as fit. Over bracket words it always goes forward. No vector goes to disk. If there are several sweeps, an interrupted count resumes after its last
//! complete sweep ([`kept_sweeps`]); else it starts again.

pub(crate) mod brackets;
mod kept_sweeps;
mod progress;
mod result;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use keima_blocks::brackets::RIGHT_LETTERS;
use keima_blocks::in_memory as memory;
use keima_blocks::sizes::show_bytes;
use keima_cluster::{BUILD, random_bits};
use keima_coordinator::{History, Outcome, Plan, PlanError, in_memory_plan};
use keima_engine::block::{
    BlockError, BracketOrder, BracketTables, CountOrder, Counted, count, count_brackets, count_forward, most_lanes,
};
use keima_model::{AnyProblem, BracketProblem, Directions, ProblemInfo, Window};
use keima_runs::TaskTimes;

use self::brackets::{bracket_fit, bracket_plan, brackets};
pub use self::kept_sweeps::OtherSweeps;
pub(crate) use self::kept_sweeps::residues;
use self::kept_sweeps::{KeptSweeps, Spent};
use self::progress::Counters;
pub use self::progress::Progress;
pub use self::result::InMemoryResult;

/// Why a count in memory is impossible, or failed.
#[derive(Debug, thiserror::Error)]
pub enum InMemoryError {
    /// The problem has no dense blocks, or its tables are too large.
    #[error("the block executor cannot count this: {0}; use --executor stream")]
    NoBlocks(String),
    /// The count cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The executor failed.
    #[error(transparent)]
    Block(#[from] BlockError),
}

/// Most state-passes of one thread in a sweep, about an hour. An interrupted count loses at most one sweep.
const MOST_STATE_PASSES: u64 = 1_000_000_000_000;

/// A way to count in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// Memory of the process, with tables.
    pub memory_bytes: u64,
    /// Of that, its vectors and its threads' buffers.
    pub rows_bytes: u64,
    /// Of that, the tables.
    pub table_bytes: u64,
    /// Residues per sweep, forward alone; `None` from both ends.
    pub lanes: Option<u32>,
}

/// A planned count.
pub struct InMemory {
    problem: AnyProblem,
    options: Vec<(String, String)>,
    plan: Plan,
    /// Residues per sweep, forward alone; `None` from both ends.
    lanes: Option<u32>,
    /// Where bracket words are cut: letters that follow left words.
    right_letters: u32,
    series: bool,
    stop: AtomicBool,
    kept: Mutex<Option<KeptSweeps>>,
    counters: Counters,
}

impl InMemory {
    /// Plans a count with `threads` threads in at most `memory_bytes`. With `series` it gives the counts of all shorter boards
    /// too.
    pub fn new(problem: AnyProblem, threads: u32, memory_bytes: u64, series: bool) -> Result<Self, InMemoryError> {
        let fit = Self::fit(&problem, threads, memory_bytes).ok_or_else(|| {
            InMemoryError::NoBlocks(format!(
                "{} has no block form for this size, or it does not fit {}",
                problem.info().name(),
                show_bytes(memory_bytes)
            ))
        })?;
        let plan = in_memory_plan(problem.info(), problem.key_bytes(), fit.memory_bytes, threads, fit.lanes)?;
        let plan = if brackets(problem.info()).is_some() { bracket_plan(plan) } else { plan };
        Ok(Self {
            problem,
            options: Vec::new(),
            plan,
            lanes: fit.lanes,
            right_letters: RIGHT_LETTERS,
            series,
            stop: AtomicBool::new(false),
            kept: Mutex::new(None),
            counters: Counters::new(),
        })
    }

    /// The same with the options of the request, for the certificate.
    #[must_use]
    pub fn with_options(self, options: &[(String, String)]) -> Self {
        Self { options: options.to_vec(), ..self }
    }

    /// Counts modulo other primes, and with other windows where the board is high enough, or with bracket words that are cut
    /// elsewhere: for a second count of one number.
    #[must_use]
    pub fn other_way(self) -> Self {
        let plan = self.plan.with_other_primes(self.problem.info());
        if brackets(self.problem.info()).is_some() {
            return Self { plan, right_letters: self.right_letters - 1, ..self };
        }
        let longest = plan.windows.iter().map(|window| window.len).max().unwrap_or(1);
        let windows = if longest > 2 { Window::cut(plan.board.height, longest - 1) } else { plan.windows };
        Self { plan: Plan { windows, ..plan }, ..self }
    }

    /// Keeps the residues of each sweep in `folder`, and uses those that an earlier process kept there. They stay until a check
    /// fails, or until [`InMemory::forget`], which the caller calls after printing the number. `name` is a word that tells
    /// this count from others. Returns how many residues were kept, and how many the count needs. Returns `None`, and
    /// keeps nothing, if there is only one sweep. Refuses residues of another version.
    pub fn keep_in(&self, folder: &Path, name: &str) -> Result<Option<(usize, usize)>, OtherSweeps> {
        let kept = KeptSweeps::open(folder, name)?;
        if self.lanes.is_none() || self.plan.sweeps.len() <= 1 {
            return Ok(None);
        }
        let found = kept.len();
        if let Ok(mut place) = self.kept.lock() {
            *place = Some(kept);
        }
        self.counters.set_residues_found(found);
        Ok(Some((found, self.plan.moduli.len())))
    }

    /// Number of kept residues of the count `name` in `folder`. Refuses those of another version.
    pub fn kept_in(folder: &Path, name: &str) -> Result<usize, OtherSweeps> {
        KeptSweeps::open(folder, name).map(|kept| kept.len())
    }

    /// Deletes the kept residues in `folder`, of any count and version.
    pub fn forget(folder: &Path) {
        KeptSweeps::forget(folder);
    }

    /// How a count fits into `allowed_bytes`; `None` if it does not, or if the block executor cannot do it.
    pub fn fit(problem: &AnyProblem, threads: u32, allowed_bytes: u64) -> Option<Fit> {
        let info = problem.info();
        if let Some(brackets) = brackets(info) {
            return bracket_fit(problem, brackets, threads, allowed_bytes);
        }
        let blocks = info.blocks()?;
        let board = info.board();
        let plan = in_memory_plan(info, problem.key_bytes(), 0, threads, None).ok()?;
        let families = plan.windows.iter().map(|&window: &Window| info.largest_family(window));
        let family = u64::try_from(families.collect::<Option<Vec<_>>>()?.into_iter().max()?).ok()?;
        // Going forward alone takes one exchange of those of both directions too.
        let table_bytes = blocks.table_bytes(&plan.windows, Directions::Folded);
        if table_bytes == u64::MAX {
            // There are none of all families.
            return None;
        }
        let takes = memory::Count { states: plan.peak_states, family, bounds: blocks.family_bounds(), threads };
        let fit = |rows_bytes, lanes| Fit {
            memory_bytes: memory::process_bytes(rows_bytes, table_bytes),
            rows_bytes,
            table_bytes,
            lanes,
        };
        let both = most_lanes(blocks.choices(), board.height, board.length);
        let both = both.map(|lanes| fit(takes.both_ends_bytes(lanes.into()), None));
        let column = plan.states.iter().rev().take(board.height as usize).fold(0, |sum: u64, &s| sum.saturating_add(s));
        let passes = column.saturating_mul(board.length.saturating_sub(1).into()) / u64::from(threads.max(1));
        let needed = plan.moduli.len() as u64;
        let forward = [8, 4, 2, 1].into_iter().filter(|&lanes| lanes == 1 || lanes < 2 * needed);
        let forward = forward.filter(|_| passes <= MOST_STATE_PASSES);
        let forward = forward.map(|lanes| fit(takes.forward_bytes(lanes), Some(lanes as u32)));
        both.into_iter().chain(forward).find(|fit| fit.memory_bytes <= allowed_bytes)
    }

    /// The plan alone.
    pub(crate) fn into_plan(self) -> Plan {
        self.plan
    }

    /// The problem that it counts.
    pub fn info(&self) -> &dyn ProblemInfo {
        self.problem.info()
    }

    /// Asks [`InMemory::count`] to return soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Counts; blocks until it is done. A failed check is in the result; an error means that there is no result.
    pub fn count(&self) -> Result<InMemoryResult, InMemoryError> {
        let info = self.problem.info();
        let mut kept = self.kept.lock().map_or(None, |mut kept| kept.take());
        let counted = match brackets(info) {
            Some(brackets) => Ok(self.count_words(brackets, kept.as_mut())),
            None => self.count_blocks(kept.as_mut()),
        };
        match counted? {
            Ok(counted) => {
                let outcome = result::outcome(info, &self.plan, &counted);
                let mut result = self.result(outcome, String::new(), counted.times);
                let own = Spent { milliseconds: (result.seconds * 1000.0) as u64, lives: 1 };
                let Spent { milliseconds, lives } = kept.as_ref().map_or(own, KeptSweeps::spent);
                let windows = counted.evidence.iter().map(|(_, windows)| windows.len() as u64).sum();
                let history = History { lives, milliseconds, stages: windows, ..History::default() };
                if result.outcome.ok {
                    let plan = &self.plan;
                    let made = result::certified(info, &self.options, plan, &counted, &result.outcome, history);
                    result.certificate = Some(made);
                } else {
                    // The kept residues may be at fault: the next count starts from none.
                    kept.iter_mut().for_each(KeptSweeps::remove);
                }
                Ok(result)
            }
            Err(
                error @ (BlockError::Balance { .. }
                | BlockError::Exchange { .. }
                | BlockError::Fingerprint { .. }
                | BlockError::Spare { .. }
                | BlockError::TwoCuts { .. }),
            ) => {
                let reason = error.to_string();
                let outcome = result::failed_outcome(info, &self.plan, &reason);
                Ok(self.result(outcome, reason, TaskTimes::default()))
            }
            Err(error) => {
                // Lost time counts too.
                kept.iter().for_each(KeptSweeps::note_time);
                Err(error.into())
            }
        }
    }

    /// Counts over dense blocks.
    fn count_blocks(&self, kept: Option<&mut KeptSweeps>) -> Result<Result<Counted, BlockError>, InMemoryError> {
        let info = self.problem.info();
        let blocks = info.blocks().ok_or_else(|| InMemoryError::NoBlocks(format!("{} has no blocks", info.name())))?;
        let column = blocks.column(&self.plan.windows, Directions::Folded).map_err(InMemoryError::NoBlocks)?;
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
            progress: &|done, windows| self.counters.set_windows(done, windows),
        };
        Ok(match (self.lanes, kept) {
            (None, _) => count(&order),
            (Some(lanes), None) => count_forward(&order, lanes as usize, &mut ()),
            (Some(lanes), Some(kept)) => count_forward(&order, lanes as usize, kept),
        })
    }

    /// Counts over bracket words.
    fn count_words(&self, brackets: &dyn BracketProblem, kept: Option<&mut KeptSweeps>) -> Result<Counted, BlockError> {
        let tables = BracketTables::new(brackets, self.right_letters);
        let order = BracketOrder {
            tables: &tables,
            first_column: &brackets.first_column(),
            length: self.plan.board.length,
            moduli: &self.plan.moduli,
            salt: random_bits(),
            threads: self.plan.slots as usize,
            stop: &self.stop,
            progress: &|done, columns| self.counters.set_windows(done, columns),
        };
        let lanes = self.lanes.unwrap_or(1) as usize;
        match kept {
            None => count_brackets(&order, lanes, &mut ()),
            Some(kept) => count_brackets(&order, lanes, kept),
        }
    }

    fn result(&self, outcome: Outcome, reason: String, times: TaskTimes) -> InMemoryResult {
        let resumed_from = match self.counters.residues_found() {
            0 => None,
            found => Some(format!("{found} of {} residues", self.plan.moduli.len())),
        };
        let (plan, seconds) = (self.plan.clone(), self.counters.seconds());
        let outcome = outcome.of(&self.problem.identity(), &[BUILD.to_owned()]);
        InMemoryResult { outcome, reason, plan, seconds, times, resumed_from, certificate: None }
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.counters.progress(&self.plan, self.lanes.is_some())
    }
}
