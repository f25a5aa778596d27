//! How far a count in memory is: what its threads count up, and what a user sees of it.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use keima_coordinator::Plan;

/// How far a count in memory is, at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Windows that a vector has passed, in all sweeps together. Windows of an earlier process count as passed.
    pub windows_done: u32,
    /// Windows of all sweeps; at least 1.
    pub windows: u32,
    /// Columns of the present sweep that are complete. A count from both ends adds up the columns of both vectors.
    pub columns_done: u32,
    /// Columns of the board.
    pub columns: u32,
    /// The present sweep, from 0.
    pub sweep: u32,
    /// Sweeps of the count.
    pub sweeps: u32,
    /// States of the largest vector.
    pub states: u64,
    /// Residues that the present sweep finds.
    pub residues: u32,
    /// Seconds since the count was planned.
    pub seconds: f64,
    /// Seconds left at the rate so far; `None` before the first window is done.
    pub eta_seconds: Option<f64>,
}

/// What the counting threads count up.
pub(super) struct Counters {
    started: Instant,
    windows_done: AtomicU32,
    windows: AtomicU32,
    /// Those of `windows_done` that an earlier process did.
    windows_kept: AtomicU32,
    /// Residues that an earlier process kept.
    residues_found: AtomicUsize,
}

impl Counters {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            windows_done: AtomicU32::new(0),
            windows: AtomicU32::new(1),
            windows_kept: AtomicU32::new(u32::MAX),
            residues_found: AtomicUsize::new(0),
        }
    }

    /// `done` of `windows` windows are done. The first call tells what an earlier process did.
    pub(super) fn set_windows(&self, done: u32, windows: u32) {
        self.windows_kept.fetch_min(done, Ordering::Relaxed);
        self.windows_done.store(done, Ordering::Relaxed);
        self.windows.store(windows, Ordering::Relaxed);
    }

    pub(super) fn set_residues_found(&self, found: usize) {
        self.residues_found.store(found, Ordering::Relaxed);
    }

    pub(super) fn residues_found(&self) -> usize {
        self.residues_found.load(Ordering::Relaxed)
    }

    pub(super) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// `one_way`: whether every sweep goes forward alone, as opposed to one sweep from both ends.
    pub(super) fn progress(&self, plan: &Plan, one_way: bool) -> Progress {
        let (done, windows) = (self.windows_done.load(Ordering::Relaxed), self.windows.load(Ordering::Relaxed));
        let here = done - self.windows_kept.load(Ordering::Relaxed).min(done);
        let seconds = self.seconds();
        let per_column = (plan.windows.len() as u32).max(1);
        let per_sweep = (per_column * plan.board.length.saturating_sub(1)).max(1);
        let sweeps = (plan.sweeps.len() as u32).max(1);
        // A count from both ends goes through some windows twice, for a second cut: they show as the last column.
        let sweep = if one_way { (done.saturating_sub(1) / per_sweep).min(sweeps - 1) } else { 0 };
        let (first, end) = plan.sweeps.get(sweep as usize).copied().unwrap_or_default();
        Progress {
            windows_done: done,
            windows,
            columns_done: (done - sweep * per_sweep).min(per_sweep) / per_column,
            columns: plan.board.length,
            sweep,
            sweeps,
            states: plan.peak_states,
            residues: end.saturating_sub(first),
            seconds,
            eta_seconds: (here > 0).then(|| seconds * f64::from(windows - done.min(windows)) / f64::from(here)),
        }
    }
}
