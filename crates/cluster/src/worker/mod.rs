//! The worker: pulls tasks, runs them, reports them, keeps its leases alive, and deletes files when the coordinator says
//! so.
//!
//! ```text
//!   hello ─> for each task slot, and once for copies:
//!                        pull ─> run on a thread ─> report until answered ─> pull ...
//!                        (durable runs are synced and reported during the next task)
//!        └─> heartbeat every few seconds: running attempts, held runs
//!   every answer may bring housekeeping (stop this, delete that), or "who are you": then hello again
//! ```
//!
//! Invariant: an attempt is in the table of running attempts from its grant until the coordinator's verdict on its report.
//! Nothing below its folder is deleted in that time. So no run of a manifest is lost when a heartbeat crosses a report, or
//! when the coordinator restarts in between. If the coordinator is away, the worker retries for ever, with growing waits;
//! its tasks go on meanwhile.

mod attempt;
mod seen;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod threads;

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keima_blocks::limits::LEAST_TASK_BYTES;
use keima_blocks::process::{PROCESS_OVERHEAD_BYTES, process_memory_bytes, task_memory_bytes};
use keima_blocks::sizes::show_bytes;
use keima_coordinator::{AttemptId, CallError, Hello, Holder, Housekeeping, Wanted, WorkerId};
use keima_model::Registry;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use self::seen::Seen;
pub use self::seen::{WorkerSums, WorkerWatch};
use self::table::Table;
pub use self::tables::{NoTables, Promise, Tables};
use crate::BUILD;
use crate::access::identity::Fingerprint;
use crate::access::secret::Secret;
use crate::archive::Archive;
use crate::open_problems::OpenProblems;
use crate::scratch::ScratchError;
use crate::scratch::run_store::RunStore;
use crate::scratch::shared::SharedFolders;
use crate::transport::link::{Backoff, CoordinatorLink, LinkError, random_bits};
use crate::world;

/// Longest wait between two attempts to reach the coordinator.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long a stopping worker waits for its threads.
const STOP_WAIT: Duration = Duration::from_secs(20);

/// What a worker may use.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Its scratch folder. Made if it is missing.
    pub scratch: PathBuf,
    /// Memory of the whole process.
    pub memory_bytes: u64,
    /// Cap on the scratch folder.
    pub disk_bytes: u64,
    /// Tasks at a time.
    pub slots: u32,
    /// URL of its run service for other workers; empty if it has none.
    pub advertise: String,
}

/// What a worker has in a cluster with TLS.
#[derive(Clone, Debug)]
pub struct RunGuard {
    /// Of the certificate of its run service.
    pub fingerprint: Fingerprint,
    /// The token that it shows to other workers, and that they show to it.
    pub token: Secret,
}

/// Why a worker cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The scratch folder cannot be used.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// The coordinator refuses this worker for good.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The memory is too small.
    #[error(
        "{} of memory are too little: the process itself needs {}, and each of {slots} tasks at least {}; raise --memory to \
         {}{}",
        show_bytes(*memory_bytes),
        show_bytes(PROCESS_OVERHEAD_BYTES),
        show_bytes(LEAST_TASK_BYTES),
        show_bytes(process_memory_bytes(LEAST_TASK_BYTES, *slots)),
        if *slots > 1 { ", or use fewer --threads" } else { "" }
    )]
    Memory {
        /// The memory of the process.
        memory_bytes: u64,
        /// Tasks at a time.
        slots: u32,
    },
}

/// A worker with an open scratch folder that is not connected yet.
pub struct Worker {
    config: WorkerConfig,
    problems: OpenProblems,
    build: String,
    guard: Option<RunGuard>,
    archive: Option<Archive>,
    store: Arc<RunStore>,
    /// Whether a coordinator has answered its hello.
    known: watch::Sender<bool>,
    seen: Arc<Seen>,
}

impl Worker {
    /// Opens and locks the scratch folder, and lists the runs in it.
    pub fn open(config: WorkerConfig, registry: Arc<dyn Registry>) -> Result<Self, WorkerError> {
        let (memory_bytes, slots) = (config.memory_bytes, config.slots.max(1));
        if task_memory_bytes(memory_bytes, slots) < LEAST_TASK_BYTES {
            return Err(WorkerError::Memory { memory_bytes, slots });
        }
        let store = Arc::new(RunStore::open(&config.scratch, config.disk_bytes)?);
        Ok(Self {
            config,
            problems: OpenProblems::new(registry),
            build: BUILD.to_owned(),
            guard: None,
            archive: None,
            store,
            known: watch::channel(false).0,
            seen: Arc::default(),
        })
    }

    /// The same worker as another build of the program would have it; for tests.
    #[must_use]
    pub fn of_build(mut self, build: &str) -> Self {
        build.clone_into(&mut self.build);
        self
    }

    /// The same worker in a cluster with TLS.
    #[must_use]
    pub fn guarded(mut self, guard: RunGuard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// The same worker where it reaches an archive.
    #[must_use]
    pub fn with_archive(mut self, archive: Option<Archive>) -> Self {
        self.archive = archive;
        self
    }

    /// Its runs, for `serve_worker_runs`.
    pub fn store(&self) -> &Arc<RunStore> {
        &self.store
    }
    /// Becomes true once a coordinator knows this worker.
    pub fn known(&self) -> watch::Receiver<bool> {
        self.known.subscribe()
    }
    /// For those who watch it while it runs.
    pub fn watch(&self) -> WorkerWatch {
        WorkerWatch::new(Arc::clone(&self.seen), Arc::clone(&self.store))
    }
    /// Its name.
    pub fn id(&self) -> &WorkerId {
        self.store.worker()
    }

    /// Works for the coordinator behind `link` until `shutdown`, then stops its tasks and says goodbye. Ends earlier only if
    /// the coordinator refuses this worker for good.
    pub async fn run<L: CoordinatorLink>(
        self,
        link: L,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), WorkerError> {
        let slots = self.config.slots.max(1);
        let shared = Arc::new(Shared {
            link,
            store: self.store,
            problems: self.problems,
            build: self.build,
            guard: self.guard,
            archive: self.archive,
            folders: Arc::default(),
            table: Table::default(),
            tables: Tables::new(task_memory_bytes(self.config.memory_bytes, 1), slots),
            config: self.config,
            buffers: Arc::default(),
            threads: Arc::default(),
            incarnation: random_bits(),
            epoch: AtomicU64::new(0),
            heartbeat_millis: AtomicU64::new(1000),
            deletions: Mutex::default(),
            introduction: tokio::sync::Mutex::new(()),
            in_order: tokio::sync::RwLock::new(()),
            stopping: watch::channel(false).0,
            known: self.known,
            seen: self.seen,
        });
        let mut tasks = JoinSet::new();
        // One copy at a time is made beside the tasks.
        let slots = std::iter::repeat_n(Wanted::Task, slots as usize);
        for wanted in slots.chain([Wanted::Copy]) {
            let shared = Arc::clone(&shared);
            tasks.spawn(async move { shared.pull_work(wanted).await });
        }
        let beating = Arc::clone(&shared);
        tasks.spawn(async move { beating.send_heartbeats().await });

        let ended = tokio::select! {
            biased;
            () = shutdown => Ok(()),
            ended = tasks.join_next() => ended.map_or(Ok(()), succeeded).map_err(WorkerError::Link),
        };
        shared.stopping.send_replace(true);
        shared.table.stop_all();
        let _ = tokio::time::timeout(STOP_WAIT, async { while tasks.join_next().await.is_some() {} }).await;
        shared.finish_deletions().await;
        if ended.is_ok() {
            shared.leave().await;
            shared.finish_deletions().await;
        }
        ended
    }
}

/// The state of a running worker.
struct Shared<L> {
    link: L,
    store: Arc<RunStore>,
    problems: OpenProblems,
    /// Build of this program.
    build: String,
    guard: Option<RunGuard>,
    archive: Option<Archive>,
    config: WorkerConfig,
    folders: Arc<SharedFolders>,
    table: Table,
    /// The block executor's tables, kept from task to task.
    tables: Tables,
    /// The engine's large buffers, kept from task to task.
    buffers: Arc<keima_engine::Buffers>,
    threads: Arc<threads::TaskThreads>,
    /// Drawn at the start: tells this process from others of the worker's name.
    incarnation: u64,
    /// The coordinator gave it at the last hello; 0 before the first.
    epoch: AtomicU64,
    heartbeat_millis: AtomicU64,
    /// Deletions under way.
    deletions: Mutex<JoinSet<()>>,
    /// Held during a hello: one hello answers for all tasks that were asked "who are you".
    introduction: tokio::sync::Mutex<()>,
    /// Reports lock it for reading, heartbeats and hellos for writing. So a heartbeat never tells an older state than a report
    /// that overtook it.
    in_order: tokio::sync::RwLock<()>,
    stopping: watch::Sender<bool>,
    /// Whether a coordinator has answered a hello.
    known: watch::Sender<bool>,
    /// For those who watch.
    seen: Arc<Seen>,
}

impl<L: CoordinatorLink> Shared<L> {
    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    async fn stopped(&self) {
        // The sender lives as long as `self`.
        let _ = self.stopping.subscribe().wait_for(|&stopping| stopping).await;
    }

    /// Waits for `time`, or until the worker stops.
    async fn pause(&self, time: Duration) {
        tokio::select! {
            biased;
            () = self.stopped() => {}
            () = tokio::time::sleep(time) => {}
        }
    }

    /// Says hello until the coordinator answers, unless the epoch is newer than `known` already. Epoch 0 stands for no hello
    /// yet. An error is final.
    async fn introduce(self: &Arc<Self>, known: u64) -> Result<(), LinkError> {
        let _one_at_a_time = self.introduction.lock().await;
        let mut backoff = Backoff::new(LONGEST_WAIT);
        if known != 0 {
            // A coordinator that forgets this worker again and again must not be asked without a pause.
            self.pause(backoff.step()).await;
        }
        while self.epoch.load(Ordering::Acquire) == known && !self.is_stopping() {
            let answer = {
                let _in_order = self.in_order.write().await;
                let (running, held) = self.table.snapshot(&self.store);
                let hello = Hello {
                    incarnation: self.incarnation,
                    place: self.store.place().to_owned(),
                    holder: Holder {
                        worker: self.store.worker().clone(),
                        address: self.config.advertise.clone(),
                        folder: self.store.root().to_string_lossy().into_owned(),
                        fingerprint: self.guard.as_ref().map(|guard| guard.fingerprint.to_string()).unwrap_or_default(),
                    },
                    slots: self.config.slots.max(1),
                    task_memory_bytes: task_memory_bytes(self.config.memory_bytes, self.config.slots),
                    disk_bytes: self.config.disk_bytes,
                    held,
                    running,
                    store: self.store.owner(),
                    build: self.build.clone(),
                    archive: self.archive.is_some(),
                };
                self.link.hello(hello).await
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
                    self.heartbeat_millis.store(welcome.heartbeat_millis.clamp(50, 600_000), Ordering::Relaxed);
                    self.tidy(welcome.housekeeping);
                    self.epoch.store(welcome.epoch, Ordering::Release);
                    self.known.send_replace(true);
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
    async fn pull_work(self: &Arc<Self>, wanted: Wanted) -> Result<(), LinkError> {
        let mut concluding = JoinSet::new();
        let pulled = self.pull_until_stopped(wanted, &mut concluding).await;
        concluded(&mut concluding).await?;
        pulled
    }

    async fn pull_until_stopped(
        self: &Arc<Self>,
        wanted: Wanted,
        concluding: &mut JoinSet<Result<(), LinkError>>,
    ) -> Result<(), LinkError> {
        let mut backoff = Backoff::new(LONGEST_WAIT);
        self.introduce(0).await?;
        while !self.is_stopping() {
            let epoch = self.epoch.load(Ordering::Acquire);
            // Watch the conclusion while pulling: the next work may depend on its report.
            let mut pulling = pin!(self.link.pull(self.store.worker(), epoch, wanted));
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
    async fn send_heartbeats(self: &Arc<Self>) -> Result<(), LinkError> {
        let mut backoff = Backoff::new(LONGEST_WAIT);
        self.introduce(0).await?;
        loop {
            self.pause(Duration::from_millis(self.heartbeat_millis.load(Ordering::Relaxed))).await;
            if self.is_stopping() {
                return Ok(());
            }
            let epoch = self.epoch.load(Ordering::Acquire);
            let answer = {
                let _in_order = self.in_order.write().await;
                let (running, held) = self.table.snapshot(&self.store);
                let used = self.store.disk().used();
                self.link.heartbeat(self.store.worker(), epoch, running, held, used).await
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

    /// Does what a failed call needs before the next try: a hello, or a wait. Returns a final error.
    async fn overcome(self: &Arc<Self>, error: LinkError, epoch: u64, backoff: &mut Backoff) -> Result<(), LinkError> {
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
    async fn leave(self: &Arc<Self>) {
        let epoch = self.epoch.load(Ordering::Acquire);
        let (running, held) = self.table.snapshot(&self.store);
        let used = self.store.disk().used();
        let told = match self.link.heartbeat(self.store.worker(), epoch, running, held, used).await {
            Ok(housekeeping) => {
                self.tidy(housekeeping);
                self.link.goodbye(self.store.worker(), epoch).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = told {
            tracing::debug!(%error, "cannot say goodbye; the coordinator will notice");
        }
    }

    /// Stops abandoned attempts at once, and deletes files on another thread, so that heartbeats do not wait for a slow disk.
    /// Ignores releases that come while a deletion is under way: the next answer repeats them.
    fn tidy(self: &Arc<Self>, housekeeping: Housekeeping) {
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
                shared.store.remove_attempt(attempt);
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
    async fn finish_deletions(&self) {
        let mut deletions = std::mem::take(&mut *self.deletions.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = tokio::time::timeout(STOP_WAIT, async { while deletions.join_next().await.is_some() {} }).await;
    }

    /// Deletes an attempt's files, on a thread that may block.
    async fn delete_attempt(&self, attempt: AttemptId) {
        let store = Arc::clone(&self.store);
        if let Err(error) = world::blocking(move || store.remove_attempt(&attempt)).await {
            tracing::warn!(%attempt, %error, "cannot delete all files of an attempt");
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
fn succeeded(ended: Result<Result<(), LinkError>, JoinError>) -> Result<(), LinkError> {
    ended.unwrap_or_else(|panic| Err(LinkError::Broken(format!("a part of the worker failed: {panic}"))))
}

/// Whether the coordinator refused the call, as opposed to a call that did not arrive.
fn is_refusal(error: &LinkError) -> bool {
    matches!(error, LinkError::Refused(_) | LinkError::Message(_) | LinkError::Call(CallError::Invalid(_)))
}
