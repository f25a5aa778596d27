//! What stages of both executors have in common where their vectors are in runs: tasks on threads, runs of this
//! machine, and what is told of a stage. No cost of its own beside a thread for each of those asked for.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use keima_engine::{FeedOpener, TaskError, TaskOrder};
use keima_runs::{BlockFeed, DiskBudget, LocalRun, RunError, RunHeader, RunId, RunManifest, TaskManifest, run_path};

use crate::sample::Sample;

/// Reads runs from the scratch folder. Those that were opened stay open, as on a worker: that checks their indices, and
/// takes longer than to read a small section.
pub(crate) struct Local<'a> {
    folder: &'a Path,
    open: Mutex<HashMap<RunId, LocalRun>>,
}

impl<'a> Local<'a> {
    pub(crate) fn new(folder: &'a Path) -> Self {
        Self { folder, open: Mutex::default() }
    }
}

impl FeedOpener for Local<'_> {
    fn open(
        &self,
        run: &RunManifest,
        header: &RunHeader,
        low: u128,
        high: Option<u128>,
    ) -> Result<Box<dyn BlockFeed>, RunError> {
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&run.id).cloned();
        let local = match known {
            Some(local) => local,
            None => LocalRun::open(&run_path(self.folder, &run.id)?, run, header)?,
        };
        let feed = Box::new(local.feed(low, high));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).entry(run.id.clone()).or_insert(local);
        Ok(feed)
    }
}

/// Does one task; the second argument is to stop it.
pub(crate) type DoTask<'a> = dyn Fn(&TaskOrder, &AtomicBool) -> Result<TaskManifest, TaskError> + Sync + 'a;

/// All tasks of a stage, in this order, as many at a time as there are threads. Where one fails the others are stopped,
/// and its error is told.
pub(crate) fn all_tasks(orders: &[TaskOrder], threads: u64, task: &DoTask<'_>) -> Result<Vec<TaskManifest>> {
    let (taken, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (made, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
    let work = || {
        while let Some(order) = orders.get(taken.fetch_add(1, Ordering::Relaxed)) {
            match task(order, &stop) {
                Ok(manifest) => made.lock().unwrap_or_else(PoisonError::into_inner).push(manifest),
                Err(error) => {
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        // All are joined, whichever fails.
        let ended: Vec<bool> = threads.into_iter().map(|thread| thread.join().is_ok()).collect();
        anyhow::ensure!(ended.into_iter().all(|well| well), "a task's thread failed");
        Ok(())
    })?;
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error.into()),
        None => Ok(made.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// Deletes a boundary that was read.
pub(crate) fn delete(vector: &[TaskManifest], scratch: &Path, disk: &DiskBudget) -> Result<()> {
    for run in vector.iter().flat_map(|task| &task.runs) {
        std::fs::remove_file(run_path(scratch, &run.id)?)?;
        disk.refund(run.bytes);
    }
    Ok(())
}

/// Adds what a stage's tasks tell of themselves.
pub(crate) fn add_up(total: &mut Sample, made: &[TaskManifest]) {
    for task in made {
        total.state_passes += task.passes.iter().map(|pass| pass.states as f64).sum::<f64>();
        total.state_boundaries += task.output.states as f64;
        total.bytes_read += task.bytes_read as f64;
        total.bytes_written += task.runs.iter().map(|run| run.bytes as f64).sum::<f64>() + task.bytes_spilled as f64;
        total.read_seconds += task.times.read_nanos as f64 / 1e9;
        total.map_seconds += task.times.map_nanos as f64 / 1e9;
        total.write_seconds += task.times.write_nanos as f64 / 1e9;
    }
}
