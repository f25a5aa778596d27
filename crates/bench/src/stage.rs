//! What stages of both executors have in common where their vectors are in runs: tasks on threads, runs of this
//! machine, and what is told of a stage. No cost of its own beside a thread for each of those asked for.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use keima_engine::{Buffers, FeedOpener, Task, TaskError, TaskOrder};
use keima_runs::{
    BlockFeed, DiskBudget, LocalRun, RunError, RunHeader, RunId, RunManifest, RunPart, TaskManifest, run_path,
};

use crate::sample::Sample;

/// Reads runs from the scratch folder. Those that were opened stay open, as on a worker: that checks their indices, and
/// takes longer than to read a small section.
struct Local<'a> {
    folder: &'a Path,
    open: Mutex<HashMap<RunId, LocalRun>>,
}

impl<'a> Local<'a> {
    fn new(folder: &'a Path) -> Self {
        Self { folder, open: Mutex::default() }
    }
}

impl FeedOpener for Local<'_> {
    fn open(&self, run: &RunManifest, header: &RunHeader, part: RunPart) -> Result<Box<dyn BlockFeed>, RunError> {
        let known = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&run.id).cloned();
        let local = match known {
            Some(local) => local,
            None => LocalRun::open(&run_path(self.folder, &run.id)?, run, header)?,
        };
        let feed = Box::new(local.feed(part));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).entry(run.id.clone()).or_insert(local);
        Ok(feed)
    }
}

/// Does one task.
pub(crate) type DoTask<'a> = dyn Fn(&Task<'_>) -> Result<TaskManifest, TaskError> + Sync + 'a;

/// Where stages are done: a folder, and what tasks share.
pub(crate) struct Scratch<'a> {
    folder: &'a Path,
    pub(crate) threads: u64,
    disk: Arc<DiskBudget>,
    buffers: Buffers,
}

impl<'a> Scratch<'a> {
    pub(crate) fn new(folder: &'a Path, threads: u64, bytes_most: u64) -> Self {
        Self { folder, threads, disk: Arc::new(DiskBudget::new(bytes_most)), buffers: Buffers::default() }
    }

    /// All tasks of a stage, in this order, as many at a time as there are threads. Where one fails the others are
    /// stopped, and its error is told.
    pub(crate) fn all_tasks(&self, orders: &[TaskOrder], task: &DoTask<'_>) -> Result<Vec<TaskManifest>> {
        let (taken, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (made, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
        let work = || {
            while let Some(order) = orders.get(taken.fetch_add(1, Ordering::Relaxed)) {
                let done = task(&Task {
                    order,
                    feeds: &Local::new(self.folder),
                    scratch: self.folder,
                    disk: &self.disk,
                    stop: &stop,
                    states_done: &AtomicU64::new(0),
                    buffers: &self.buffers,
                });
                match done {
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
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
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
    pub(crate) fn delete(&self, vector: &[TaskManifest]) -> Result<()> {
        for run in vector.iter().flat_map(|task| &task.runs) {
            std::fs::remove_file(run_path(self.folder, &run.id)?)?;
            self.disk.refund(run.bytes);
        }
        Ok(())
    }
}

/// Adds what a stage's tasks tell of themselves.
pub(crate) fn add_up(total: &mut Sample, made: &[TaskManifest]) {
    for task in made {
        total.state_passes += task.passes.iter().map(|pass| pass.states as f64).sum::<f64>();
        total.state_boundaries += task.output.states as f64;
        total.bytes_read += task.bytes_read as f64;
        total.bytes_written += task.bytes_written as f64;
        total.read_seconds += task.times.read_nanos as f64 / 1e9;
        total.map_seconds += task.times.map_nanos as f64 / 1e9;
        total.write_seconds += task.times.write_nanos as f64 / 1e9;
    }
}
