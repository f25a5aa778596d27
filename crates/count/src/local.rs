//! A coordinator and a worker in this process, without sockets. `keima count` runs it. The code is the same as in a
//! cluster; only the link between the two is a function call.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keima_cluster::{
    CoordinatorHandle, LinkError, RunStore, StartError, Store, Worker, WorkerConfig, WorkerError, scratch,
};
use keima_coordinator::{Config, Durability, Kept};
use keima_model::Registry;
use keima_runs::flush_runs;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Tasks that finish while runs are flushed have runs of their own, so flushing is repeated, but not for ever.
const SETTLE_ROUNDS: usize = 4;

/// Folders and limits of the process.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    /// Folder of the coordinator's records.
    pub data: PathBuf,
    /// Scratch folder.
    pub scratch: PathBuf,
    /// Memory of the whole process.
    pub memory_bytes: u64,
    /// Cap on the scratch folder.
    pub disk_bytes: u64,
    /// Tasks at a time.
    pub slots: u32,
    /// Time between durable boundaries.
    pub durable_interval_millis: u64,
}

/// Why the process cannot count.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The coordinator cannot start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The worker failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

/// A cluster in one process.
pub struct LocalCluster {
    coordinator: CoordinatorHandle,
    store: Arc<RunStore>,
    stop: watch::Sender<bool>,
    worker: JoinHandle<Result<(), WorkerError>>,
}

impl LocalCluster {
    /// Starts coordinator and worker. Unfinished jobs in `data` go on at once. Both open problems through `registry`: with a
    /// [`keima_cluster::OpenProblems`] each problem opens once. Call it within a tokio runtime of more than one thread.
    pub fn start(registry: Arc<dyn Registry>, config: LocalConfig) -> Result<Self, LocalError> {
        // The worker cannot be lost without the coordinator, so grants and copies need not survive.
        let times = Config {
            durability: Durability::OneProcess,
            second_copies: false,
            speculate: false,
            // Files are deleted soon after they are released, so that the disk figures show what is needed.
            heartbeat_millis: 250,
            // There is no other worker for a task that hangs.
            stall_millis: u64::MAX,
            // No other worker can bring back a missing run.
            grace_millis: 0,
            durable_interval_millis: config.durable_interval_millis,
            ..Config::default()
        };
        // Open the worker first: if it is refused, no state must say that a count was begun.
        Store::check_free(&config.data).map_err(StartError::from)?;
        let worker = Worker::open(
            WorkerConfig {
                scratch: config.scratch,
                memory_bytes: config.memory_bytes,
                disk_bytes: config.disk_bytes,
                slots: config.slots,
            },
            Arc::clone(&registry),
        )?;
        let coordinator = CoordinatorHandle::open(&config.data, times, registry)?;
        let store = Arc::clone(worker.store());
        let (stop, mut stopped) = watch::channel(false);
        let link = coordinator.clone();
        let worker = tokio::spawn(worker.run(link, async move {
            let _ = stopped.wait_for(|&stop| stop).await;
        }));
        Ok(Self { coordinator, store, stop, worker })
    }

    /// Deletes the records in `data` and the runs in `scratch`, and no other files. Fails if another process uses one of them.
    pub fn forget(data: &Path, scratch: &Path) -> Result<(), LocalError> {
        // Runs first: records without runs make them again, but runs without records belong to nobody.
        scratch::forget(scratch).map_err(WorkerError::from)?;
        Store::forget(data).map_err(StartError::from)?;
        Ok(())
    }

    /// Deletes the name files in `scratch`, unless it holds runs.
    pub fn leave(scratch: &Path) -> Result<(), LocalError> {
        Ok(scratch::leave(scratch).map_err(WorkerError::from)?)
    }

    /// The coordinator, to submit a job, ask for its status, pause it ...
    pub fn coordinator(&self) -> &CoordinatorHandle {
        &self.coordinator
    }

    /// Whether the worker still runs. If not, [`LocalCluster::stop`] tells why.
    pub fn is_working(&self) -> bool {
        !self.worker.is_finished()
    }

    /// Most bytes that the scratch folder has held.
    pub fn disk_peak_bytes(&self) -> u64 {
        self.store.disk().peak()
    }

    /// Prepares a clean stop: grants no more tasks, puts the newest boundaries and the finished tasks on stable storage, and
    /// tells how much each job keeps. Call [`LocalCluster::stop`] next. Without this a restart goes back to the last durable
    /// boundary, up to the durable interval ago.
    pub async fn settle(&self) -> Result<Vec<Kept>, LocalError> {
        let (mut flushed, mut kept) = (BTreeSet::new(), Vec::new());
        for _ in 0..SETTLE_ROUNDS {
            let mut runs = self.coordinator.unsettled().await.map_err(WorkerError::Link)?;
            runs.retain(|run| !flushed.contains(run));
            if runs.is_empty() && !kept.is_empty() {
                break;
            }
            let store = Arc::clone(&self.store);
            let flushing = tokio::task::spawn_blocking(move || flush_runs(store.root(), runs));
            flushed.append(&mut flushing.await.unwrap_or_default());
            kept = self.coordinator.settled(&flushed).await.map_err(WorkerError::Link)?;
        }
        Ok(kept)
    }

    /// Stops all tasks and returns when everything is on disk. Durable boundaries stay for the next start.
    pub async fn stop(self) -> Result<(), LocalError> {
        self.stop.send_replace(true);
        let ended = self.worker.await;
        self.coordinator.close();
        let ended = ended
            .unwrap_or_else(|panic| Err(WorkerError::Link(LinkError::Broken(format!("the worker failed: {panic}")))));
        ended.map_err(LocalError::Worker)
    }
}
