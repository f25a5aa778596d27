//! Many runs in parallel: mean and standard error.
//!
//! Runs are cut into batches of fixed size, and batches are added in order. So the result is the same to the last bit for
//! any number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use keima_model::Tree;

use crate::chen::one_run;
use crate::huge::Huge;

/// Runs that one thread does before it takes the next ones.
const BATCH: u64 = 16;

/// What the runs gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Number of runs.
    pub runs: u64,
    /// Their mean: an unbiased estimate.
    pub mean: Huge,
    /// The mean's standard error. `None` where the runs do not tell it: a single one, or all of them 0.
    pub error: Option<Huge>,
}

impl Estimate {
    /// Standard error over mean, where it is known.
    pub fn relative_error(&self) -> Option<f64> {
        self.error.map(|error| error.over(self.mean))
    }
}

/// How often, with which random numbers, and on how many threads.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of runs, at least 1.
    pub runs: u64,
    /// Most nodes that a run keeps for each stratum, at least 1.
    pub kept: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of threads, at least 1. It does not change the result.
    pub threads: usize,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    sum: Huge,
    squares: Huge,
}

/// Samples a tree. `done` hears the number of finished runs, from any thread.
pub fn estimate<T: Tree>(tree: &T, plan: Plan, done: impl Fn(u64) + Sync) -> Estimate {
    let runs = plan.runs.max(1);
    let next = AtomicU64::new(0);
    let finished = AtomicU64::new(0);
    let batches = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..plan.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let batch = next.fetch_add(1, Ordering::Relaxed);
                    let first = batch.saturating_mul(BATCH);
                    if first >= runs {
                        break;
                    }
                    let mut sums = Sums::default();
                    for run in first..runs.min(first + BATCH) {
                        let value = one_run(tree, plan.kept.max(1), plan.seed, run);
                        sums.sum += value;
                        sums.squares += value * value;
                        done(finished.fetch_add(1, Ordering::Relaxed) + 1);
                    }
                    // A thread that panicked ends the scope with its panic anyway.
                    batches.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((batch, sums));
                }
            });
        }
    });
    let mut batches = batches.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    batches.sort_unstable_by_key(|&(batch, _)| batch);
    let mut all = Sums::default();
    for (_, sums) in batches {
        all.sum += sums.sum;
        all.squares += sums.squares;
    }
    let inverse = Huge::new(1.0 / runs as f64, 0);
    let mean = all.sum * inverse;
    let variance = (all.squares * inverse).minus(mean * mean);
    let error = || (variance * Huge::new(1.0 / (runs - 1) as f64, 0)).sqrt();
    Estimate { runs, mean, error: (runs > 1 && !mean.is_zero()).then(error) }
}
