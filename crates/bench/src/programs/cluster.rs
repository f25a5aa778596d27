//! A cluster on this machine: a coordinator and workers of one thread each, as real processes.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{cpu_seconds_of, peak_bytes};
use crate::programs::program::Service;

/// Memory of a worker, and of a count that is compared with one.
pub(crate) const WORKER_MEMORY_MIB: u64 = 4096;

/// The processes; they end when this is dropped.
pub(crate) struct Cluster {
    coordinator: Service,
    workers: Vec<Service>,
    url: String,
}

impl Cluster {
    /// Starts a coordinator and `workers`, all of whose files are below `folder`.
    pub(crate) fn start(keima: &Path, folder: &Path, workers: u32) -> Result<Self> {
        let mut command = Command::new(keima);
        command.args(["coordinator", "--listen", "127.0.0.1:0", "--data"]).arg(folder.join("coordinator"));
        let (coordinator, text) = Service::start(&mut command, &folder.join("coordinator.out"))?;
        let url = text.split_whitespace().find(|word| word.starts_with("http://")).context("no URL")?.to_owned();
        let mut cluster = Self { coordinator, workers: Vec::new(), url };
        for number in 0..workers {
            let memory = format!("{WORKER_MEMORY_MIB}MiB");
            let mut command = Command::new(keima);
            command.args(["worker", "--listen", "127.0.0.1:0", "--memory", &memory, "--threads", "1"]);
            command.args(["--coordinator", &cluster.url, "--scratch"]).arg(folder.join(format!("worker{number}")));
            cluster.workers.push(Service::start(&mut command, &folder.join(format!("worker{number}.out")))?.0);
        }
        Ok(cluster)
    }

    /// A command for this cluster.
    pub(crate) fn command(&self, keima: &Path, arguments: &str) -> Command {
        let mut command = Command::new(keima);
        command.args(arguments.split(' ')).env("KEIMA_COORDINATOR", &self.url);
        command
    }

    /// Peak memory of the worker that had most.
    pub(crate) fn peak_bytes(&self) -> f64 {
        self.workers.iter().map(|worker| peak_bytes(Some(worker.id()))).fold(0.0, f64::max)
    }

    /// Processor time of all processes so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.workers.iter().chain([&self.coordinator]).map(|service| cpu_seconds_of(service.id())).sum()
    }
}
