//! A coordinator and workers on loopback, with folders of their own in a temporary folder.

use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::process::{Process, Ran, keima, until};

/// Times and faults of a cluster. The short times let a test see a lease run out.
pub(crate) struct Setup {
    pub(crate) lease_seconds: &'static str,
    pub(crate) grace_seconds: &'static str,
    pub(crate) second_copies: bool,
    /// The address of loopback on which all listen.
    pub(crate) host: &'static str,
    /// Instead of that, the name by which workers are known.
    pub(crate) advertise: Option<&'static str>,
    pub(crate) failpoint: &'static str,
    /// Of the jobs that are submitted.
    pub(crate) executor: &'static str,
    /// Every column end goes there.
    pub(crate) archive: Option<PathBuf>,
    /// Instead: a boundary after so many stages.
    pub(crate) archive_stages: Option<&'static str>,
    /// The coordinator's folder, if it is not to be among the others.
    pub(crate) data: Option<PathBuf>,
    /// Variables of the coordinator and the workers.
    pub(crate) environment: Vec<(String, String)>,
}

/// Faults are tried with both.
pub(crate) const EXECUTORS: [&str; 2] = ["stream", "block"];

impl Default for Setup {
    fn default() -> Self {
        Self {
            lease_seconds: "1",
            grace_seconds: "2",
            second_copies: true,
            host: "127.0.0.1",
            advertise: None,
            failpoint: "",
            executor: "stream",
            archive: None,
            archive_stages: None,
            data: None,
            environment: Vec::new(),
        }
    }
}

impl Setup {
    fn archive_option(&self) -> Vec<String> {
        let option = |folder: &PathBuf| ["--archive".to_owned(), folder.to_str().unwrap().to_owned()];
        self.archive.iter().flat_map(option).collect()
    }

    /// Where a worker listens, and under which name.
    fn worker_addresses(&self) -> Vec<String> {
        let any_port = format!("{}:0", self.host);
        let Some(name) = self.advertise else { return vec!["--listen".to_owned(), any_port] };
        // A name is given with its port, so one is taken that was free just now.
        let free = TcpListener::bind(any_port).unwrap().local_addr().unwrap();
        ["--listen", &free.to_string(), "--advertise", &format!("{name}:{}", free.port())].map(str::to_owned).to_vec()
    }
}

pub(crate) struct Cluster {
    pub(crate) coordinator: Process,
    pub(crate) url: String,
    setup: Setup,
    dir: TempDir,
}

impl Cluster {
    pub(crate) fn start(setup: Setup) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (coordinator, url) = coordinator(&dir, &setup, &format!("{}:0", setup.host), setup.failpoint);
        Self { coordinator, url, setup, dir }
    }

    /// Starts the coordinator again on its data folder and port, without the fault that it had.
    pub(crate) fn restart_coordinator(&mut self) {
        assert!(!self.coordinator.is_alive());
        let at = self.url.strip_prefix("http://").unwrap().to_owned();
        (self.coordinator, self.url) = coordinator(&self.dir, &self.setup, &at, "");
    }

    /// The coordinator's folder.
    pub(crate) fn data(&self) -> PathBuf {
        data(&self.dir, &self.setup)
    }

    pub(crate) fn scratch(&self, worker: &str) -> PathBuf {
        self.dir.path().join(worker)
    }

    pub(crate) fn worker(&self, name: &str, failpoint: &str) -> Process {
        self.worker_with_disk(name, "1GiB", failpoint)
    }

    pub(crate) fn worker_with_disk(&self, name: &str, disk: &str, failpoint: &str) -> Process {
        let mut worker = self.start_worker(name, disk, failpoint);
        worker.ready("worker ready at ");
        worker
    }

    /// The same without waiting until it is ready.
    pub(crate) fn start_worker(&self, name: &str, disk: &str, failpoint: &str) -> Process {
        let scratch = self.scratch(name);
        let args = ["worker", "--coordinator", &self.url, "--threads", "1"];
        let more = ["--memory", "128MiB", "--disk", disk, "--scratch", scratch.to_str().unwrap()];
        let options = [self.setup.worker_addresses(), self.setup.archive_option()].concat();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let args = [&args[..], &more, &options].concat();
        Process::start_with(&format!("worker {name}"), &args, failpoint, &self.setup.environment)
    }

    /// Runs a verb of the client.
    pub(crate) fn client(&self, args: &[&str]) -> Ran {
        keima(&[args, &["--coordinator", &self.url]].concat())
    }

    /// Submits a job with tasks that every worker here can do, and returns its name.
    pub(crate) fn submit(&self, size: &str) -> String {
        self.submit_words(&["go", size, "--executor", self.setup.executor])
    }

    /// The same for any problem: its name, size and options.
    pub(crate) fn submit_words(&self, words: &[&str]) -> String {
        self.client(&[&["submit"], words, &["--task-memory", "64MiB"]].concat()).ok().to_owned()
    }

    pub(crate) fn status(&self, job: &str) -> Value {
        self.client(&["status", job, "--json"]).json()
    }

    /// Waits until the job's status shows what `look` wants; the job must not be over before.
    pub(crate) fn when(&self, job: &str, what: &str, look: impl Fn(&Value) -> bool) -> Value {
        until(what, || {
            let status = self.status(job);
            let over = !["queued", "running", "paused"].contains(&status["state"].as_str().unwrap());
            assert!(!over, "the job was over before {what}: {status}");
            look(&status).then_some(status)
        })
    }

    /// Waits until tasks of a stage from `stage` on are running.
    pub(crate) fn at_stage(&self, job: &str, stage: u64) -> Value {
        self.when(job, "a running stage", |s| {
            s["stage"].as_u64() >= Some(stage) && s["tasks_running"].as_u64() > Some(0)
        })
    }

    /// Stops granting, and waits until nothing runs.
    pub(crate) fn pause(&self, job: &str) -> Value {
        self.client(&["pause", job]).ok();
        self.when(job, "a pause", |s| s["state"] == "paused" && s["tasks_running"] == 0)
    }

    /// Waits for the number and compares it; the status afterwards.
    pub(crate) fn counts(&self, job: &str, expected: &str) -> Value {
        let ran = self.client(&["watch", job]);
        assert_eq!(ran.ok(), expected);
        self.status(job)
    }
}

fn data(dir: &TempDir, setup: &Setup) -> PathBuf {
    setup.data.clone().unwrap_or_else(|| dir.path().join("data"))
}

fn coordinator(dir: &TempDir, setup: &Setup, listen: &str, failpoint: &str) -> (Process, String) {
    let data = data(dir, setup);
    let args = ["coordinator", "--listen", listen, "--data", data.to_str().unwrap()];
    // Every boundary is durable: what a kill leaves does not depend on the moment.
    let times = ["--lease-seconds", setup.lease_seconds, "--grace-seconds", setup.grace_seconds];
    let copies: &[&str] = if setup.second_copies { &[] } else { &["--no-second-copies"] };
    let archive = setup.archive_option();
    let archive: Vec<&str> = archive.iter().map(String::as_str).collect();
    let often = match setup.archive_stages {
        _ if archive.is_empty() => Vec::new(),
        None => vec!["--archive-seconds", "0"],
        Some(stages) => vec!["--archive-seconds", "1000000", "--archive-stages", stages],
    };
    let args = [&args[..], &times, &["--checkpoint-seconds", "0"], copies, &archive, &often].concat();
    let mut process = Process::start_with("coordinator", &args, failpoint, &setup.environment);
    let url = process.ready("coordinator ready at ");
    (process, url)
}

/// The notes of a job.
pub(crate) fn notes(status: &Value) -> String {
    let notes: Vec<&str> = status["notes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    notes.join("\n")
}
