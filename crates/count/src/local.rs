//! A coordinator and a worker in this process, without sockets: what `keima count` runs. It is the same code path as a
//! cluster's; only the link between the two is a function call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keima_coordinator::{Config, Durability};
use keima_model::Registry;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use keima_cluster::LinkError;
use keima_cluster::RunStore;
use keima_cluster::Store;
use keima_cluster::scratch;
use keima_cluster::{CoordinatorHandle, StartError};
use keima_cluster::{Worker, WorkerConfig, WorkerError};

/// What the process may use.
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
    /// How often boundaries are made durable.
    pub durable_interval_millis: u64,
}

/// Why the process cannot count.
#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    /// The coordinator's half.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The worker's half.
    #[error(transparent)]
    Worker(#[from] WorkerError),
}

/// A cluster of one process.
pub struct LocalCluster {
    coordinator: CoordinatorHandle,
    store: Arc<RunStore>,
    stop: watch::Sender<bool>,
    worker: JoinHandle<Result<(), WorkerError>>,
}

impl LocalCluster {
    /// Starts both halves; jobs in `data` go on at once. To be called within a tokio runtime of more than one thread.
    pub fn start(registry: Arc<dyn Registry>, config: LocalConfig) -> Result<Self, LocalError> {
        // Nobody else can lose anything here, and a short run should not write what nobody will read.
        let times = Config {
            durability: Durability::OneProcess,
            second_copies: false,
            speculate: false,
            // Files go soon after they are let go, so that the disk's figures are those of what is needed.
            heartbeat_millis: 250,
            // The only worker starts and stops with the coordinator: what it does not hold, nobody will bring.
            grace_millis: 0,
            durable_interval_millis: config.durable_interval_millis,
            ..Config::default()
        };
        // What refuses the worker is found before there is a state, which says that a count was begun.
        Store::check_free(&config.data).map_err(StartError::from)?;
        let worker = Worker::open(
            WorkerConfig {
                scratch: config.scratch,
                memory_bytes: config.memory_bytes,
                disk_bytes: config.disk_bytes,
                slots: config.slots,
                advertise: String::new(),
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

    /// Deletes the records in `data` and the runs in `scratch`, and nothing else that is there. Refuses if another
    /// process uses one of them.
    pub fn forget(data: &Path, scratch: &Path) -> Result<(), LocalError> {
        // Records of runs that are not there mean that they are to be made again; runs without records belong to nobody.
        scratch::forget(scratch).map_err(WorkerError::from)?;
        Store::forget(data).map_err(StartError::from)?;
        Ok(())
    }

    /// Deletes the names in `scratch`, if there are no runs.
    pub fn leave(scratch: &Path) -> Result<(), LocalError> {
        Ok(scratch::leave(scratch).map_err(WorkerError::from)?)
    }

    /// The coordinator's half: submit, status, pause ...
    pub fn coordinator(&self) -> &CoordinatorHandle {
        &self.coordinator
    }

    /// Whether the worker's half still works; where it does not, [`LocalCluster::stop`] tells why.
    pub fn is_working(&self) -> bool {
        !self.worker.is_finished()
    }

    /// Most bytes that the scratch folder has held.
    pub fn disk_peak_bytes(&self) -> u64 {
        self.store.disk().peak()
    }

    /// Stops tasks, and returns when everything is on disk. Durable boundaries stay for the next start.
    pub async fn stop(self) -> Result<(), LocalError> {
        self.stop.send_replace(true);
        let ended = self.worker.await;
        self.coordinator.close();
        let ended = ended.unwrap_or_else(|panic| {
            Err(WorkerError::Link(LinkError::Broken(format!("the worker's half failed: {panic}"))))
        });
        ended.map_err(LocalError::Worker)
    }
}
