//! Opens a task's inputs: from the worker's own scratch folder, from a folder that is visible on this machine, or from
//! another worker's service.
//!
//! It tries the holders in this order until one opens, and remembers which one it was. If the feed fails later, the
//! coordinator learns whose copy was bad.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use keima_coordinator::{Failure, Holder, InputRun, WorkerId};
use keima_engine::FeedOpener;
use keima_runs::{BlockFeed, LocalRun, RunError, RunHeader, RunId, RunManifest, RunPart};
use tokio::runtime::Handle;
use tracing::Span;

use crate::access::secret::Secret;
use crate::failpoint;
use crate::scratch::run_store::{KeptOpen, RunStore};
use crate::scratch::visible_folders::{SharedFolders, shared_run};
use crate::transfer::remote_feed::{Peers, RemoteFeed, Unread};
use crate::world;

/// The copy of a run that was tried last.
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
    pub(super) peers: Arc<Peers>,
    holders: HashMap<RunId, Vec<Holder>>,
    used: Mutex<HashMap<RunId, Used>>,
    /// Open files of runs on this machine. Opening checks header, index and footer, which takes longer than reading a small
    /// section.
    open: Mutex<HashMap<RunId, KeptOpen>>,
    /// What lines of the log are about, on whichever thread the task opens an input.
    about: Span,
}

impl TaskFeeds {
    /// Feeds of a task that reads `inputs`. Call it within the runtime, and in the attempt's span.
    pub(crate) fn new<'i>(
        store: Arc<RunStore>,
        shared: Arc<SharedFolders>,
        inputs: impl IntoIterator<Item = &'i InputRun>,
    ) -> Self {
        let holders = inputs.into_iter().map(|input| (input.manifest.id.clone(), input.holders.clone())).collect();
        let runtime = Handle::current();
        let (used, open) = (Mutex::default(), Mutex::default());
        let peers = Arc::new(Peers::new(store.root()));
        Self { store, shared, runtime, peers, holders, used, open, about: Span::current() }
    }

    /// The same in a cluster with TLS: holders are shown this token.
    pub(crate) fn with_token(self, token: Option<&Secret>) -> Self {
        let peers = Peers::new(self.store.root()).with_token(token.cloned());
        Self { peers: Arc::new(peers), ..self }
    }

    fn note(&self, run: &RunId, holder: &WorkerId, damaged: bool) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert(run.clone(), Used { holder: holder.clone(), damaged });
    }

    /// The failure to report when `run` could not be read. If `run` is not an input, the task wrote it itself: no holder is
    /// to blame, and the attempt failed.
    pub(crate) fn failure(&self, run: &RunId, error: &RunError) -> Failure {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner).get(run).cloned();
        let first = || self.holders.get(run).and_then(|holders| holders.first()).map(|holder| holder.worker.clone());
        let damaged = error.is_damage() || used.as_ref().is_some_and(|used| used.damaged);
        let Some(holder) = used.map(|used| used.holder).or_else(first) else {
            return Failure::Other { text: format!("cannot read back {run}: {error}", run = run.0) };
        };
        Failure::Input { run: run.clone(), holder, damaged, text: error.to_string() }
    }

    /// Opens the copy of `holder`. An error says why not, and whether the copy is damaged.
    fn open_at(
        &self,
        holder: &Holder,
        run: &RunManifest,
        header: &RunHeader,
        part: RunPart,
    ) -> Result<Box<dyn BlockFeed>, Unread> {
        if holder.worker == *self.store.worker() {
            let here = self.store.open_run(&run.id).unwrap_or_else(|| Err(not_here(&run.id, holder)));
            let file = here.and_then(|file| same(file, run, header))?;
            return Ok(self.feed(run, &file, part));
        }
        if self.shared.belongs(&holder.folder, &holder.worker) {
            let open = || LocalRun::open(&shared_run(&holder.folder, &run.id)?, run, header);
            match open() {
                Ok(file) => return Ok(self.feed(run, &Arc::new(file), part)),
                // It may have been deleted there, or the mount may be gone while its owner still serves it.
                Err(error) if !error.is_damage() && !holder.address.is_empty() => {
                    tracing::warn!(run = %run.id, folder = holder.folder, %error, "cannot read a shared folder; asking its worker");
                }
                Err(error) => return Err(error.into()),
            }
        }
        let (peers, to, run) = (Arc::clone(&self.peers), holder.clone(), run.clone());
        let asked = async move { peers.request(&to, &run, Some(&part)).await };
        match world::wait_for(&self.runtime, asked) {
            Ok(stream) => Ok(Box::new(RemoteFeed::new(self.runtime.clone(), holder.clone(), stream))),
            Err(status) => Err(Unread::remote(holder, &status)),
        }
    }

    /// A feed of an open file, which stays open for the next part.
    fn feed(&self, run: &RunManifest, file: &Arc<LocalRun>, part: RunPart) -> Box<dyn BlockFeed> {
        if let Some(kept) = self.store.keep_open(file) {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(run.id.clone(), kept);
        }
        Box::new(file.feed(part))
    }

    /// Holders of `run`, the nearest first.
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
    RunError::Remote { text: format!("run {run} is not (or no longer) held by worker {}", holder.worker) }
}

/// Checks that a held file is the run that the task expects.
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
        let _inside = self.about.enter();
        if let Some(kept) = self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&run.id)
            && kept.run.manifest() == run
            && kept.run.header() == header
        {
            return Ok(Box::new(kept.run.feed(part)));
        }
        let mut worst: Option<Unread> = None;
        for holder in self.nearest(&run.id) {
            match self.open_at(&holder, run, header, part.clone()) {
                Ok(feed) => {
                    self.note(&run.id, &holder.worker, false);
                    return Ok(feed);
                }
                Err(unread) => {
                    let Unread { error, damaged } = &unread;
                    tracing::warn!(run = %run.id, holder = %holder.worker, %error, damaged, "cannot open an input");
                    // Report a damaged copy first; else blame the nearest holder.
                    if worst.as_ref().is_none_or(|worst| *damaged && !worst.damaged) {
                        self.note(&run.id, &holder.worker, *damaged);
                        worst = Some(unread);
                    }
                }
            }
        }
        let none = || RunError::Remote { text: format!("run {} has no holders", run.id) };
        Err(worst.map_or_else(none, |worst| worst.error))
    }
}
