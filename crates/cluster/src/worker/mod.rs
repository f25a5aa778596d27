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
mod config;
mod running;
mod seen;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod threads;

use std::future::Future;
use std::sync::{Arc, Mutex};

use keima_blocks::limits::LEAST_TASK_BYTES;
use keima_blocks::process::task_memory_bytes;
use keima_coordinator::{Wanted, WorkerId};
use keima_model::Registry;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use self::config::{RunGuard, WorkerConfig, WorkerError};
use self::running::{Reused, RunExchange, STOP_WAIT, Session, Shared, succeeded};
use self::seen::Seen;
pub use self::seen::{WorkerSums, WorkerWatch};
use self::table::Table;
pub use self::tables::{NoTables, Promise, Tables};
use crate::BUILD;
use crate::archive::Archive;
use crate::open_problems::OpenProblems;
use crate::scratch::run_store::RunStore;
use crate::transport::link::CoordinatorLink;

/// A worker with an open scratch folder that is not connected yet.
pub struct Worker {
    config: WorkerConfig,
    problems: OpenProblems,
    build: String,
    exchange: RunExchange,
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
            exchange: RunExchange::default(),
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
        self.exchange.guard = Some(guard);
        self
    }

    /// The same worker with a run service, which others reach at this URL.
    #[must_use]
    pub fn reached_at(mut self, address: String) -> Self {
        self.exchange.address = address;
        self
    }

    /// The same worker where it reaches an archive.
    #[must_use]
    pub fn with_archive(mut self, archive: Option<Archive>) -> Self {
        self.exchange.archive = archive;
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
            problems: self.problems,
            build: self.build,
            store: self.store,
            session: Session::new(link, self.known),
            exchange: self.exchange,
            reused: Reused {
                tables: Tables::new(task_memory_bytes(self.config.memory_bytes, 1), slots),
                buffers: Arc::default(),
                threads: Arc::default(),
            },
            config: self.config,
            table: Table::default(),
            deletions: Mutex::default(),
            stopping: watch::channel(false).0,
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
