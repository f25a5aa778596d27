//! A cluster over loopback inside the test's process.

#![allow(dead_code, missing_docs, unreachable_pub)]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keima_cluster::{
    CoordinatorHandle, Door, GrpcLink, JobClient, Worker, WorkerConfig, serve_coordinator, serve_worker_runs,
};
use keima_coordinator::{Config, JobId, JobSpec, JobStatus};
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub fn registry() -> Arc<dyn Registry> {
    Arc::new(Problems)
}

/// Short times, so that a test sees a lease run out.
pub fn quick() -> Config {
    Config {
        lease_millis: 1500,
        heartbeat_millis: 200,
        grace_millis: 1000,
        durable_interval_millis: 300,
        ..Config::default()
    }
}

pub fn go(size: &str) -> JobSpec {
    let problem = ProblemRequest { name: "go".to_owned(), size: size.to_owned(), options: Vec::new() };
    JobSpec { executor: keima_coordinator::Executor::Stream, ..JobSpec::of(problem, 16 << 20) }
}

/// A service with a runtime of its own, as a process would have: when that goes, everything of it goes.
pub struct Service {
    pub address: String,
    pub socket: SocketAddr,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    runtime: Runtime,
}

async fn until(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|&stop| stop).await;
}

impl Service {
    /// Stops in order.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.runtime.shutdown_background();
    }
    /// Stops at once, without a word to anybody.
    pub async fn kill(self) {
        let runtime = self.runtime;
        tokio::task::spawn_blocking(move || runtime.shutdown_timeout(Duration::from_secs(10))).await.unwrap();
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

pub async fn coordinator(data: &Path, at: &str, config: Config) -> Service {
    coordinator_of(data, at, config, registry()).await
}

/// A coordinator that opens problems through a registry of its own.
pub async fn coordinator_of(data: &Path, at: &str, config: Config, problems: Arc<dyn Registry>) -> Service {
    let runtime = runtime();
    let (stop, stopped) = watch::channel(false);
    let (tell, told) = tokio::sync::oneshot::channel();
    let (data, at) = (data.to_owned(), at.to_owned());
    let task = runtime.spawn(async move {
        let handle = CoordinatorHandle::open(&data, config, problems).unwrap();
        let listener = TcpListener::bind(at).await.unwrap();
        tell.send(listener.local_addr().unwrap()).unwrap();
        serve_coordinator(listener, handle, &Door::open(), until(stopped)).await.unwrap();
    });
    let socket = told.await.unwrap();
    Service { address: format!("http://{socket}"), socket, stop, tasks: vec![task], runtime }
}

pub async fn worker(scratch: &Path, coordinator: &str) -> Service {
    worker_of(scratch, coordinator, registry()).await
}

/// A worker that opens problems through a registry of its own.
#[allow(clippy::unused_async)]
pub async fn worker_of(scratch: &Path, coordinator: &str, problems: Arc<dyn Registry>) -> Service {
    let runtime = runtime();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let socket = listener.local_addr().unwrap();
    let address = format!("http://{socket}");
    let config = WorkerConfig { scratch: scratch.to_owned(), memory_bytes: 128 << 20, disk_bytes: 1 << 30, slots: 1 };
    let worker = Worker::open(config, problems).unwrap().reached_at(address.clone());
    let store = Arc::clone(worker.store());
    let (stop, stopped) = watch::channel(false);
    let serving = until(stopped.clone());
    let runs = runtime.spawn(async move {
        serve_worker_runs(TcpListener::from_std(listener).unwrap(), store, &Door::open(), serving).await.unwrap();
    });
    let coordinator = coordinator.to_owned();
    let working = runtime.spawn(async move {
        worker.run(GrpcLink::new(&coordinator).unwrap(), until(stopped)).await.unwrap();
    });
    Service { address, socket, stop, tasks: vec![runs, working], runtime }
}

/// Follows a job to its end.
pub async fn ended(client: &JobClient, job: JobId) -> JobStatus {
    let deadline = Instant::now() + Duration::from_secs(50);
    loop {
        match client.status(job).await {
            Ok(status) if status.state.is_over() => return status,
            Ok(status) => assert!(Instant::now() < deadline, "the job hangs: {status:?}"),
            Err(error) => assert!(Instant::now() < deadline, "no status: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

pub fn count(status: &JobStatus) -> String {
    let outcome = status.outcome.as_ref().unwrap_or_else(|| panic!("no outcome: {status:?}"));
    assert!(outcome.ok, "{outcome:?}");
    outcome.count.clone()
}

/// Number of run files below a folder.
pub fn run_files(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| {
            let path = entry.path();
            if path.is_dir() { run_files(&path) } else { usize::from(path.extension().is_some_and(|e| e == "run")) }
        })
        .sum()
}
