//! The worker: pulls tasks, runs them, reports, keeps its leases alive, and tidies its scratch folder on the
//! coordinator's word.
//!
//! ```text
//!   hello ─> per slot for tasks, and once for copies:
//!                        pull ─> run on a thread of its own ─> report until taken ─> pull ...
//!                        where runs must be on stable storage they get there, and are reported, during the next task
//!        └─> heartbeat every few seconds: attempts at work, runs held
//!   every answer may bring housekeeping (stop this, delete that), or "who are you": then hello again
//! ```
//!
//! What must not go wrong: an attempt stands in the table of running ones from its grant until the coordinator's
//! verdict on its report, and nothing below its folder is deleted in that time. So neither a heartbeat that crossed a
//! report on its way, nor a coordinator that was restarted in between, can cost a run that stands in a manifest. A
//! coordinator that is away is waited for, for ever, with growing waits; tasks go on meanwhile.

mod attempt;
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

use keima_blocks::process::{PROCESS_OVERHEAD_BYTES, task_memory_bytes};
use keima_coordinator::{AttemptId, CallError, Hello, Holder, Housekeeping, Wanted, WorkerId};
use keima_model::Registry;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use self::table::Table;
pub use self::tables::{NoTables, Promise, Tables};
use crate::open_problems::OpenProblems;
use crate::scratch::ScratchError;
use crate::scratch::run_store::{RunStore, SharedFolders};
use crate::transport::link::{Backoff, CoordinatorLink, LinkError};

/// Longest wait between two attempts to reach the coordinator.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long a stopping worker waits for its threads to notice.
const STOP_WAIT: Duration = Duration::from_secs(20);

/// What a worker may use.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Its scratch folder; made where it is missing.
    pub scratch: PathBuf,
    /// Memory of the whole process.
    pub memory_bytes: u64,
    /// Cap on the scratch folder.
    pub disk_bytes: u64,
    /// Tasks at a time.
    pub slots: u32,
    /// URL under which other workers reach its run service; empty where it serves none.
    pub advertise: String,
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
    /// The memory does not suffice.
    #[error(
        "{memory_bytes} bytes of memory are too little: {PROCESS_OVERHEAD_BYTES} for the process, and for each of {slots} \
         tasks at least {least_bytes}; give it more (--memory) or fewer threads (--threads)"
    )]
    Memory {
        /// What was given.
        memory_bytes: u64,
        /// Tasks at a time.
        slots: u32,
        /// What the engine asks for per task.
        least_bytes: u64,
    },
}

/// A worker with its scratch folder open, not yet connected.
pub struct Worker {
    config: WorkerConfig,
    problems: OpenProblems,
    store: Arc<RunStore>,
}

impl Worker {
    /// Takes the scratch folder for this process and lists what is in it.
    pub fn open(config: WorkerConfig, registry: Arc<dyn Registry>) -> Result<Self, WorkerError> {
        let least_bytes = keima_engine::MIN_TASK_MEMORY_BYTES;
        let (memory_bytes, slots) = (config.memory_bytes, config.slots.max(1));
        if task_memory_bytes(memory_bytes, slots) < least_bytes {
            return Err(WorkerError::Memory { memory_bytes, slots, least_bytes });
        }
        let store = Arc::new(RunStore::open(&config.scratch, config.disk_bytes)?);
        Ok(Self { config, problems: OpenProblems::new(registry), store })
    }

    /// Its runs, for `serve_worker_runs`.
    pub fn store(&self) -> &Arc<RunStore> {
        &self.store
    }
    /// Its name.
    pub fn id(&self) -> &WorkerId {
        self.store.worker()
    }

    /// Works for the coordinator behind `link` until `shutdown`, then stops its tasks and says goodbye. Ends early only
    /// where the coordinator refuses this worker for good.
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
            folders: Arc::default(),
            table: Table::default(),
            tables: Tables::new(task_memory_bytes(self.config.memory_bytes, 1), slots),
            config: self.config,
            buffers: Arc::default(),
            threads: Arc::default(),
            epoch: AtomicU64::new(0),
            heartbeat_millis: AtomicU64::new(1000),
            deletions: Mutex::default(),
            introduction: tokio::sync::Mutex::new(()),
            in_order: tokio::sync::RwLock::new(()),
            stopping: watch::channel(false).0,
        });
        let mut tasks = JoinSet::new();
        // A copy is made beside the tasks.
        let slots = std::iter::repeat_n(Wanted::Task, slots as usize);
        for wanted in slots.chain([Wanted::Copy]) {
            let shared = Arc::clone(&shared);
            tasks.spawn(async move { shared.pull_work(wanted).await });
        }
        let beating = Arc::clone(&shared);
        tasks.spawn(async move { beating.send_heartbeats().await });

        let ended = tokio::select! {
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

/// What the parts of a running worker share.
struct Shared<L> {
    link: L,
    store: Arc<RunStore>,
    problems: OpenProblems,
    config: WorkerConfig,
    folders: Arc<SharedFolders>,
    table: Table,
    /// Tables of the block executor, kept from task to task.
    tables: Tables,
    /// Large buffers of the engine, kept from task to task.
    buffers: Arc<keima_engine::Buffers>,
    threads: Arc<threads::TaskThreads>,
    /// As the coordinator gave it; 0 before the first hello.
    epoch: AtomicU64,
    heartbeat_millis: AtomicU64,
    /// Threads that delete.
    deletions: Mutex<JoinSet<()>>,
    /// Held while saying hello: one of many that were asked "who are you" answers for all.
    introduction: tokio::sync::Mutex<()>,
    /// Reports share it, a heartbeat or hello has it alone: what those say must not be older than a report that
    /// overtook them.
    in_order: tokio::sync::RwLock<()>,
    stopping: watch::Sender<bool>,
}

impl<L: CoordinatorLink> Shared<L> {
    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    async fn stopped(&self) {
        // The sender lives as long as `self`.
        let _ = self.stopping.subscribe().wait_for(|&stopping| stopping).await;
    }

    /// Waits, or returns early when the worker stops.
    async fn pause(&self, time: Duration) {
        tokio::select! {
            () = self.stopped() => {}
            () = tokio::time::sleep(time) => {}
        }
    }

    /// The current epoch, after an introduction if `known` is still the newest: 0 for none yet. `Err` is final.
    async fn introduce(self: &Arc<Self>, known: u64) -> Result<(), LinkError> {
        let _one_at_a_time = self.introduction.lock().await;
        let mut backoff = Backoff::new(LONGEST_WAIT);
        while self.epoch.load(Ordering::Acquire) == known && !self.is_stopping() {
            let answer = {
                let _in_order = self.in_order.write().await;
                let (running, held) = self.table.snapshot(&self.store);
                let hello = Hello {
                    holder: Holder {
                        worker: self.store.worker().clone(),
                        address: self.config.advertise.clone(),
                        folder: self.store.root().to_string_lossy().into_owned(),
                    },
                    slots: self.config.slots.max(1),
                    task_memory_bytes: task_memory_bytes(self.config.memory_bytes, self.config.slots),
                    disk_bytes: self.config.disk_bytes,
                    held,
                    running,
                    store: self.store.owner(),
                };
                self.link.hello(hello).await
            };
            match answer {
                Ok(welcome) => {
                    // A name that cannot be kept may cost the runs later: nothing is taken on before.
                    if let Err(error) = self.store.set_owner(welcome.store) {
                        tracing::warn!(%error, "cannot note whose runs these are");
                        self.pause(backoff.step()).await;
                        continue;
                    }
                    tracing::info!(worker = %self.store.worker(), epoch = welcome.epoch, "the coordinator knows this worker");
                    self.heartbeat_millis.store(welcome.heartbeat_millis.clamp(50, 600_000), Ordering::Relaxed);
                    self.tidy(welcome.housekeeping);
                    self.epoch.store(welcome.epoch, Ordering::Release);
                }
                Err(error) if error.may_pass() => {
                    let wait = backoff.step();
                    tracing::warn!(%error, retry_millis = wait.as_millis() as u64, "cannot say hello");
                    self.pause(wait).await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes what is wanted, one after the other. Where what a task has written must be durable it is concluded beside the
    /// next one, but not beside that after it: what is written waits in the system's memory.
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
            // A conclusion that fails is noticed while there is nothing to do: what is to be done next may wait for it.
            let mut pulling = pin!(self.link.pull(self.store.worker(), epoch, wanted));
            let pulled = loop {
                tokio::select! {
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
            match answer {
                Ok(housekeeping) => {
                    backoff.reset();
                    self.tidy(housekeeping);
                }
                Err(error) => self.overcome(error, epoch, &mut backoff).await?,
            }
        }
    }

    /// Does what an error of a call asks for, so that the call can be tried again; hands on what is final.
    async fn overcome(self: &Arc<Self>, error: LinkError, epoch: u64, backoff: &mut Backoff) -> Result<(), LinkError> {
        if error.is_who_are_you() {
            return self.introduce(epoch).await;
        }
        // A single call may be refused for what is in it; the worker goes on. Only another version is hopeless.
        if matches!(error, LinkError::Version(_)) {
            return Err(error);
        }
        let wait = backoff.step();
        tracing::warn!(%error, retry_millis = wait.as_millis() as u64, "a call to the coordinator failed");
        self.pause(wait).await;
        Ok(())
    }

    /// The last words: what is still to be deleted, then goodbye. The runs of a job's last task go only now, where the
    /// worker stops as soon as the job is done.
    async fn leave(self: &Arc<Self>) {
        let epoch = self.epoch.load(Ordering::Acquire);
        let (running, held) = self.table.snapshot(&self.store);
        let used = self.store.disk().used();
        let told = match self.link.heartbeat(self.store.worker(), epoch, running, held, used).await {
            Ok(housekeeping) => {
                self.tidy(housekeeping);
                self.link.goodbye(self.store.worker()).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = told {
            tracing::debug!(%error, "no goodbye; the coordinator will notice");
        }
    }

    /// Stops what the coordinator does not want any more at once, and deletes it on a thread that may block: heartbeats
    /// do not wait for a slow disk. Releases that come meanwhile are left to the next answer, which repeats them.
    fn tidy(self: &Arc<Self>, housekeeping: Housekeeping) {
        // One that is in the table tidies up after itself, once its thread is out of the folder.
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
        deletions.spawn_blocking(move || {
            for attempt in abandon.iter().filter(|attempt| !shared.store.holds_of(attempt)) {
                shared.store.remove_attempt(attempt);
            }
            for run in release.iter().filter(|run| !shared.table.protects(run)) {
                shared.store.release(run);
            }
        });
    }

    /// Waits, though not for ever, until nothing is being deleted: then the folder is free for the next worker.
    async fn finish_deletions(&self) {
        let mut deletions = std::mem::take(&mut *self.deletions.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = tokio::time::timeout(STOP_WAIT, async { while deletions.join_next().await.is_some() {} }).await;
    }

    /// Deletes what an attempt has written, off the threads that must not block.
    async fn delete_attempt(&self, attempt: AttemptId) {
        let store = Arc::clone(&self.store);
        if let Err(error) = tokio::task::spawn_blocking(move || store.remove_attempt(&attempt)).await {
            tracing::warn!(%attempt, %error, "not all of it could be deleted");
        }
    }
}

/// Waits for what is being concluded.
async fn concluded(concluding: &mut JoinSet<Result<(), LinkError>>) -> Result<(), LinkError> {
    while let Some(ended) = concluding.join_next().await {
        succeeded(ended)?;
    }
    Ok(())
}

/// What a part of the worker came to, a panic included.
fn succeeded(ended: Result<Result<(), LinkError>, JoinError>) -> Result<(), LinkError> {
    ended.unwrap_or_else(|panic| Err(LinkError::Broken(format!("a part of the worker failed: {panic}"))))
}

/// Whether an error is the coordinator's word that a call was wrong, as opposed to one that did not arrive.
fn is_refusal(error: &LinkError) -> bool {
    matches!(error, LinkError::Refused(_) | LinkError::Message(_) | LinkError::Call(CallError::Invalid(_)))
}
