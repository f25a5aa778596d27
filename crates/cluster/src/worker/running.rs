//! A running worker: hello, work, heartbeats, what answers ask for, goodbye.
//!
//! Every loop goes on until the worker stops or the coordinator refuses it for good. A call that fails is repeated after a
//! wait that grows to [`LONGEST_WAIT`].

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keima_blocks::process::task_memory_bytes;
use keima_coordinator::{AttemptId, CallError, Hello, Holder, Housekeeping, Used, Wanted};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use super::config::{RunGuard, WorkerConfig};
use super::seen::Seen;
use super::table::Table;
use super::tables::Tables;
use super::threads::TaskThreads;
use crate::archive::Archive;
use crate::open_problems::OpenProblems;
use crate::resident::resident_bytes;
use crate::scratch::run_store::RunStore;
use crate::scratch::visible_folders::SharedFolders;
use crate::spans;
use crate::transport::link::{Backoff, CoordinatorLink, LinkError, random_bits};
use crate::world;

/// Longest wait between two attempts to reach the coordinator.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long a stopping worker waits for its threads.
pub(super) const STOP_WAIT: Duration = Duration::from_secs(20);

/// The state of a running worker.
pub(super) struct Shared<L> {
    pub(super) config: WorkerConfig,
    pub(super) problems: OpenProblems,
    /// Build of this program.
    pub(super) build: String,
    pub(super) store: Arc<RunStore>,
    pub(super) session: Session<L>,
    pub(super) exchange: RunExchange,
    pub(super) reused: Reused,
    /// The attempts that run here.
    pub(super) table: Table,
    /// Deletions under way.
    pub(super) deletions: Mutex<JoinSet<()>>,
    pub(super) stopping: watch::Sender<bool>,
    /// For those who watch.
    pub(super) seen: Arc<Seen>,
}

/// The worker's session with its coordinator: how it calls, and what the last hello agreed on.
pub(super) struct Session<L> {
    pub(super) link: L,
    /// Drawn at the start: tells this process from others of the worker's name.
    incarnation: u64,
    /// The coordinator gave it at the last hello; 0 before the first.
    pub(super) epoch: AtomicU64,
    /// Time between two heartbeats, as the coordinator wants it.
    heartbeat_millis: AtomicU64,
    /// Held during a hello: one hello answers for all tasks that were asked "who are you".
    introduction: tokio::sync::Mutex<()>,
    /// Reports lock it for reading, heartbeats and hellos for writing. So a heartbeat never tells an older state than a report
    /// that overtook it.
    pub(super) in_order: tokio::sync::RwLock<()>,
    /// Whether a coordinator has answered a hello.
    known: watch::Sender<bool>,
}

impl<L> Session<L> {
    /// One before the first hello. `known` becomes true with the first answer.
    pub(super) fn new(link: L, known: watch::Sender<bool>) -> Self {
        Self {
            link,
            incarnation: random_bits(),
            epoch: AtomicU64::new(0),
            heartbeat_millis: AtomicU64::new(1000),
            introduction: tokio::sync::Mutex::new(()),
            in_order: tokio::sync::RwLock::new(()),
            known,
        }
    }
}

/// How runs come from others and go to them.
#[derive(Default)]
pub(super) struct RunExchange {
    /// URL of this worker's run service for other workers; empty if it has none.
    pub(super) address: String,
    /// Certificate and token, in a cluster with TLS.
    pub(super) guard: Option<RunGuard>,
    pub(super) archive: Option<Archive>,
    /// Folders of other workers that this machine sees.
    pub(super) folders: Arc<SharedFolders>,
}

impl RunExchange {
    /// Fingerprint of the run service's certificate; empty without TLS.
    fn fingerprint(&self) -> String {
        self.guard.as_ref().map(|guard| guard.fingerprint.to_string()).unwrap_or_default()
    }
}

/// What is costly to make, and kept from task to task.
pub(super) struct Reused {
    /// The block executor's tables.
    pub(super) tables: Tables,
    /// The engine's large buffers.
    pub(super) buffers: Arc<keima_engine::Buffers>,
    pub(super) threads: Arc<TaskThreads>,
}

impl<L: CoordinatorLink> Shared<L> {
    pub(super) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(super) async fn stopped(&self) {
        // The sender lives as long as `self`.
        let _ = self.stopping.subscribe().wait_for(|&stopping| stopping).await;
    }

    /// Waits for `time`, or until the worker stops.
    pub(super) async fn pause(&self, time: Duration) {
        tokio::select! {
            biased;
            () = self.stopped() => {}
            () = world::pause(self.store.root(), time) => {}
        }
    }

    /// Says hello until the coordinator answers, unless the epoch is newer than `known` already. Epoch 0 stands for no hello
    /// yet. An error is final.
    pub(super) async fn introduce(self: &Arc<Self>, known: u64) -> Result<(), LinkError> {
        let _one_at_a_time = self.session.introduction.lock().await;
        let mut backoff = Backoff::new(LONGEST_WAIT);
        if known != 0 {
            // A coordinator that forgets this worker again and again must not be asked without a pause.
            self.pause(backoff.step()).await;
        }
        while self.session.epoch.load(Ordering::Acquire) == known && !self.is_stopping() {
            let answer = {
                let _in_order = self.session.in_order.write().await;
                let (running, held) = self.table.snapshot(&self.store);
                let hello = Hello {
                    incarnation: self.session.incarnation,
                    place: self.store.place().to_owned(),
                    holder: Holder {
                        worker: self.store.worker().clone(),
                        address: self.exchange.address.clone(),
                        folder: self.store.root().to_string_lossy().into_owned(),
                        fingerprint: self.exchange.fingerprint(),
                    },
                    slots: self.config.slots.max(1),
                    task_memory_bytes: task_memory_bytes(self.config.memory_bytes, self.config.slots),
                    disk_bytes: self.config.disk_bytes,
                    held,
                    running,
                    store: self.store.owner(),
                    build: self.build.clone(),
                    archive: self.exchange.archive.is_some(),
                };
                self.session.link.hello(hello).await
            };
            match answer {
                Ok(welcome) => {
                    // Take no work before the name is on disk: without it the runs could be lost later.
                    if let Err(error) = self.store.set_owner(welcome.store) {
                        tracing::warn!(%error, "cannot write the name of the coordinator's store");
                        self.pause(backoff.step()).await;
                        continue;
                    }
                    tracing::info!(worker = %self.store.worker(), epoch = welcome.epoch, "the coordinator knows this worker");
                    self.session.heartbeat_millis.store(welcome.heartbeat_millis.clamp(50, 600_000), Ordering::Relaxed);
                    self.tidy(welcome.housekeeping);
                    self.session.epoch.store(welcome.epoch, Ordering::Release);
                    self.session.known.send_replace(true);
                    self.seen.answered(true);
                }
                // A coordinator that is known does not change its certificate: somebody stands in between, for now.
                Err(error) if error.may_pass() || (known != 0 && matches!(error, LinkError::Untrusted(_))) => {
                    self.seen.answered(false);
                    let wait = backoff.step();
                    tracing::warn!(%error, retry_millis = wait.as_millis() as u64, "cannot say hello");
                    self.pause(wait).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Pulls and runs tasks or copies, one after the other. A durable task is synced and reported beside the next task, but
    /// not longer: its output occupies the page cache.
    pub(super) async fn pull_work(self: &Arc<Self>, wanted: Wanted) -> Result<(), LinkError> {
        let mut concluding = JoinSet::new();
        let pulled = self.pull_until_stopped(wanted, &mut concluding).await;
        concluded(&mut concluding).await?;
        pulled
    }

    pub(super) async fn pull_until_stopped(
        self: &Arc<Self>,
        wanted: Wanted,
        concluding: &mut JoinSet<Result<(), LinkError>>,
    ) -> Result<(), LinkError> {
        let mut backoff = Backoff::new(LONGEST_WAIT);
        self.introduce(0).await?;
        while !self.is_stopping() {
            let epoch = self.session.epoch.load(Ordering::Acquire);
            // Watch the conclusion while pulling: the next work may depend on its report.
            let mut pulling = pin!(self.session.link.pull(self.store.worker(), epoch, wanted));
            let pulled = loop {
                tokio::select! {
                    biased;
                    () = self.stopped() => return Ok(()),
                    Some(ended) = concluding.join_next() => succeeded(ended)?,
                    pulled = &mut pulling => break pulled,
                }
            };
            match pulled {
                Ok(None) => backoff.reset(),
                Ok(Some(grant)) => {
                    backoff.reset();
                    let performed = self.perform(grant).await;
                    concluded(concluding).await?;
                    if performed.durable {
                        let shared = Arc::clone(self);
                        concluding.spawn(async move { shared.conclude(performed).await });
                    } else {
                        self.conclude(performed).await?;
                    }
                }
                Err(error) => self.overcome(error, epoch, &mut backoff).await?,
            }
        }
        Ok(())
    }

    /// Keeps the leases alive.
    pub(super) async fn send_heartbeats(self: &Arc<Self>) -> Result<(), LinkError> {
        let mut backoff = Backoff::new(LONGEST_WAIT);
        self.introduce(0).await?;
        loop {
            self.pause(Duration::from_millis(self.session.heartbeat_millis.load(Ordering::Relaxed))).await;
            if self.is_stopping() {
                return Ok(());
            }
            let epoch = self.session.epoch.load(Ordering::Acquire);
            let answer = {
                let _in_order = self.session.in_order.write().await;
                let (running, held) = self.table.snapshot(&self.store);
                let used = self.used();
                self.session.link.heartbeat(self.store.worker(), epoch, running, held, used).await
            };
            self.seen.answered(answer.is_ok());
            match answer {
                Ok(housekeeping) => {
                    backoff.reset();
                    self.tidy(housekeeping);
                }
                Err(error) => self.overcome(error, epoch, &mut backoff).await?,
            }
        }
    }

    /// What a heartbeat tells of this process.
    fn used(&self) -> Used {
        Used { disk_bytes: self.store.disk().used(), memory_bytes: resident_bytes() }
    }

    /// Does what a failed call needs before the next try: a hello, or a wait. Returns a final error.
    pub(super) async fn overcome(
        self: &Arc<Self>,
        error: LinkError,
        epoch: u64,
        backoff: &mut Backoff,
    ) -> Result<(), LinkError> {
        if error.is_who_are_you() {
            return self.introduce(epoch).await;
        }
        // A refusal may concern this one call only. Another version is hopeless.
        if matches!(error, LinkError::Version(_)) {
            return Err(error);
        }
        let wait = backoff.step();
        tracing::warn!(%error, retry_millis = wait.as_millis() as u64, "a call to the coordinator failed");
        self.pause(wait).await;
        Ok(())
    }

    /// A last heartbeat, the deletions that it brings, then goodbye. If the worker stops as soon as the job is done, the runs
    /// of the last task are deleted here.
    pub(super) async fn leave(self: &Arc<Self>) {
        let epoch = self.session.epoch.load(Ordering::Acquire);
        let (running, held) = self.table.snapshot(&self.store);
        let used = self.used();
        let told = match self.session.link.heartbeat(self.store.worker(), epoch, running, held, used).await {
            Ok(housekeeping) => {
                self.tidy(housekeeping);
                self.session.link.goodbye(self.store.worker(), epoch).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = told {
            tracing::debug!(%error, "cannot say goodbye; the coordinator will notice");
        }
    }

    /// Stops abandoned attempts at once, and deletes files on another thread, so that heartbeats do not wait for a slow disk.
    /// Ignores releases that come while a deletion is under way: the next answer repeats them.
    pub(super) fn tidy(self: &Arc<Self>, housekeeping: Housekeeping) {
        // A running attempt deletes its files itself, once its thread has stopped.
        let Housekeeping { mut abandon, mut release } = housekeeping;
        abandon.retain(|attempt| !self.table.abandon(*attempt));
        let mut deletions = self.deletions.lock().unwrap_or_else(PoisonError::into_inner);
        while deletions.try_join_next().is_some() {}
        if !deletions.is_empty() {
            release.clear();
        }
        if abandon.is_empty() && release.is_empty() {
            return;
        }
        let shared = Arc::clone(self);
        let work = move || {
            for attempt in abandon.iter().filter(|attempt| !shared.store.holds_of(attempt)) {
                spans::about_attempt(attempt).in_scope(|| shared.store.remove_attempt(attempt));
            }
            for run in release.iter().filter(|run| !shared.table.protects(run)) {
                shared.store.release(run);
            }
        };
        deletions.spawn(async move {
            if let Err(error) = world::blocking(work).await {
                tracing::warn!(%error, "cannot delete all files that nobody needs");
            }
        });
    }

    /// Waits until all deletions are done, but not longer than [`STOP_WAIT`]. Then the folder is free for the next worker.
    pub(super) async fn finish_deletions(&self) {
        let mut deletions = std::mem::take(&mut *self.deletions.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = tokio::time::timeout(STOP_WAIT, async { while deletions.join_next().await.is_some() {} }).await;
    }

    /// Deletes an attempt's files, on a thread that may block.
    pub(super) async fn delete_attempt(&self, attempt: AttemptId) {
        let store = Arc::clone(&self.store);
        if let Err(error) = world::blocking(move || store.remove_attempt(&attempt)).await {
            tracing::warn!(%error, "cannot delete all files of an attempt");
        }
    }
}

/// Waits for all conclusions under way.
async fn concluded(concluding: &mut JoinSet<Result<(), LinkError>>) -> Result<(), LinkError> {
    while let Some(ended) = concluding.join_next().await {
        succeeded(ended)?;
    }
    Ok(())
}

/// The result of a part of the worker; a panic becomes an error.
pub(super) fn succeeded(ended: Result<Result<(), LinkError>, JoinError>) -> Result<(), LinkError> {
    ended.unwrap_or_else(|panic| Err(LinkError::Broken(format!("a part of the worker failed: {panic}"))))
}

/// Whether the coordinator refused the call, as opposed to a call that did not arrive.
pub(super) fn is_refusal(error: &LinkError) -> bool {
    matches!(error, LinkError::Refused(_) | LinkError::Message(_) | LinkError::Call(CallError::Invalid(_)))
}
