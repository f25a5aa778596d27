//! Where a task's inputs come from: the own scratch folder, a folder that is visible here, or another worker's service.
//!
//! The places are tried in this order, best holder first, until one opens. Which one it was is remembered, because a
//! feed may fail later: the coordinator must learn whose copy was bad, not only that one was.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use keima_coordinator::{Failure, Holder, InputRun, WorkerId};
use keima_engine::FeedOpener;
use keima_runs::{BlockFeed, LocalRun, RunError, RunHeader, RunId, RunManifest, RunPart, run_path};
use tokio::runtime::Handle;

use crate::failpoint;
use crate::scratch::run_store::{KeptOpen, RunStore, SharedFolders};
use crate::transfer::remote_feed::{Peers, RemoteFeed, is_damage, remote_error};

/// The copy of a run that was used or tried last.
#[derive(Clone)]
struct Used {
    holder: WorkerId,
    damaged: bool,
}

/// Opens the inputs of one task.
pub(crate) struct TaskFeeds {
    pub(super) store: Arc<RunStore>,
    pub(super) shared: Arc<SharedFolders>,
    runtime: Handle,
    pub(super) peers: Peers,
    holders: HashMap<RunId, Vec<Holder>>,
    used: Mutex<HashMap<RunId, Used>>,
    /// Runs in folders of this machine that were opened. Opening checks header, index and footer: that takes longer
    /// than to read a small section.
    open: Mutex<HashMap<RunId, KeptOpen>>,
}

impl TaskFeeds {
    /// For a task that reads `inputs`. To be called within the runtime.
    pub(crate) fn new<'i>(
        store: Arc<RunStore>,
        shared: Arc<SharedFolders>,
        inputs: impl IntoIterator<Item = &'i InputRun>,
    ) -> Self {
        let holders = inputs.into_iter().map(|input| (input.manifest.id.clone(), input.holders.clone())).collect();
        let runtime = Handle::current();
        let (used, open) = (Mutex::default(), Mutex::default());
        Self { store, shared, runtime, peers: Peers::default(), holders, used, open }
    }

    fn note(&self, run: &RunId, holder: &WorkerId, damaged: bool) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert(run.clone(), Used { holder: holder.clone(), damaged });
    }

    /// What to report when `run` could not be read. One that is no input the task itself has written and read back: no
    /// holder is to blame, and the attempt counts as failed.
    pub(crate) fn failure(&self, run: &RunId, error: &RunError) -> Failure {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner).get(run).cloned();
        let first = || self.holders.get(run).and_then(|holders| holders.first()).map(|holder| holder.worker.clone());
        let damaged = error.is_damage() || used.as_ref().is_some_and(|used| used.damaged);
        let Some(holder) = used.map(|used| used.holder).or_else(first) else {
            return Failure::Other { text: format!("cannot read back {run}: {error}", run = run.0) };
        };
        Failure::Input { run: run.clone(), holder, damaged, text: error.to_string() }
    }

    /// Opens the copy of `holder`, or says why it cannot be had and whether it is damaged.
    fn open_at(
        &self,
        holder: &Holder,
        run: &RunManifest,
        header: &RunHeader,
        part: RunPart,
    ) -> Result<Box<dyn BlockFeed>, (RunError, bool)> {
        let local = |error: RunError| {
            let damaged = error.is_damage();
            (error, damaged)
        };
        if holder.worker == *self.store.worker() {
            let here = self.store.open_run(&run.id).unwrap_or_else(|| Err(not_here(&run.id, holder)));
            let file = here.and_then(|file| same(file, run, header)).map_err(local)?;
            return Ok(self.feed(run, &file, part));
        }
        if self.shared.belongs(&holder.folder, &holder.worker) {
            let open = || LocalRun::open(&run_path(Path::new(&holder.folder), &run.id)?, run, header);
            match open() {
                Ok(file) => return Ok(self.feed(run, &Arc::new(file), part)),
                // It may have been deleted there, or the mount may be gone while its owner still serves it.
                Err(error) if !error.is_damage() && !holder.address.is_empty() => {
                    tracing::warn!(run = %run.id, folder = holder.folder, %error, "not readable there; asking its worker");
                }
                Err(error) => return Err(local(error)),
            }
        }
        let asked = self.peers.request(holder, run, Some(&part));
        match self.runtime.block_on(asked) {
            Ok(stream) => Ok(Box::new(RemoteFeed::new(self.runtime.clone(), holder.clone(), stream))),
            Err(status) => Err((remote_error(holder, &status), is_damage(&status))),
        }
    }

    /// Reads a file that was opened, and keeps it open for the next time.
    fn feed(&self, run: &RunManifest, file: &Arc<LocalRun>, part: RunPart) -> Box<dyn BlockFeed> {
        if let Some(kept) = self.store.keep_open(file) {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(run.id.clone(), kept);
        }
        Box::new(file.feed(part))
    }

    /// Holders of `run`, those nearest first.
    pub(super) fn nearest(&self, run: &RunId) -> Vec<Holder> {
        let mut holders = self.holders.get(run).cloned().unwrap_or_default();
        holders.sort_by_key(|holder| {
            if holder.worker == *self.store.worker() {
                0
            } else if self.shared.belongs(&holder.folder, &holder.worker) {
                1
            } else {
                2
            }
        });
        holders
    }
}

fn not_here(run: &RunId, holder: &Holder) -> RunError {
    RunError::Remote { text: format!("run {run} is not held by worker {} (any more)", holder.worker) }
}

/// A held file, if it is what the task expects.
fn same(file: Arc<LocalRun>, run: &RunManifest, header: &RunHeader) -> Result<Arc<LocalRun>, RunError> {
    let other = |what: &'static str, expected: String, got: String| -> Result<Arc<LocalRun>, RunError> {
        Err(RunError::OtherRun { place: format!("run {} in the own scratch folder", run.id), what, expected, got })
    };
    if file.manifest() != run {
        return other("manifest", format!("{run:?}"), format!("{:?}", file.manifest()));
    }
    if file.header() != header {
        return other("header", format!("{header:?}"), format!("{:?}", file.header()));
    }
    Ok(file)
}

impl FeedOpener for TaskFeeds {
    fn open(&self, run: &RunManifest, header: &RunHeader, part: RunPart) -> Result<Box<dyn BlockFeed>, RunError> {
        failpoint::hit("worker.mid_task");
        if let Some(kept) = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&run.id)
            && kept.run.manifest() == run
            && kept.run.header() == header
        {
            return Ok(Box::new(kept.run.feed(part)));
        }
        let mut worst: Option<(RunError, bool)> = None;
        for holder in self.nearest(&run.id) {
            match self.open_at(&holder, run, header, part.clone()) {
                Ok(feed) => {
                    self.note(&run.id, &holder.worker, false);
                    return Ok(feed);
                }
                Err((error, damaged)) => {
                    tracing::warn!(run = %run.id, holder = %holder.worker, %error, damaged, "input not readable there");
                    // A damaged copy is the news that matters; otherwise the nearest holder is to blame.
                    if worst.as_ref().is_none_or(|(_, was)| damaged && !was) {
                        self.note(&run.id, &holder.worker, damaged);
                        worst = Some((error, damaged));
                    }
                }
            }
        }
        let none = || (RunError::Remote { text: format!("run {} has no holders", run.id) }, false);
        Err(worst.unwrap_or_else(none).0)
    }
}
