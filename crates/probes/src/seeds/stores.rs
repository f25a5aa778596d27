//! What coordinators store of small jobs, and what their workers say: records, log, store, checkpoints,
//! certificates, files of ended jobs, answers and calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keima_cluster::probe::{answers_of, list_of, watch_of};
use keima_cluster::{Archive, CoordinatorHandle, Store, Worker, WorkerConfig};
use keima_coordinator::{Config, EndedJob, JobView};
use keima_problems::Problems;
use serde_json::{Value, json};

use super::recorder::Recorder;
use crate::Seed;
use crate::archive::without_hash;
use crate::calls::{BEGIN_MILLIS, begin_records, config, small};
use crate::store::restored;

pub(super) fn all() -> Vec<Seed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    let folder = tempfile::tempdir().expect("a folder");
    let mut seeds = Vec::new();
    for (size, stages) in [("3x3", 6), ("5x5", 6), ("2x2", u32::MAX)] {
        let data = folder.path().join(size);
        let EndedJob { view, certificate } = runtime.block_on(job(size, stages, &data));
        seeds.extend(told(&view, certificate.as_deref()));
        seeds.extend(certificate.into_iter().flat_map(|text| certified(size, &text)));
        seeds.push(("store_log", std::fs::read(data.join("coordinator.log")).expect("a log")));
        let records = loop {
            // The coordinator's tasks may hold the store for a moment.
            match Store::open(&data).and_then(|store| store.load()) {
                Ok(records) => break records,
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        seeds.push(("records", crate::store::record_bytes(&records)));
        seeds.push(("store_file", std::fs::read(data.join("coordinator.redb")).expect("a store")));
    }
    seeds.extend(runtime.block_on(recorded(folder.path())));
    seeds
}

/// What a worker says from its hello to the end of all jobs, and the checkpoints that are published meanwhile.
async fn recorded(folder: &Path) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (name, archive_interval_millis) in [("plain", None), ("archived", Some(0))] {
        let config = Config { archive_interval_millis, ..config() };
        let coordinator = restored(config, BEGIN_MILLIS, begin_records()).expect("sound records");
        let recorder = Recorder::new(coordinator);
        let archive = Archive::open(&folder.join(name).display().to_string()).expect("an archive");
        let archive = archive_interval_millis.map(|_| archive);
        let worker = Worker::open(worker_config(folder.join(format!("scratch of {name}"))), Arc::new(Problems));
        let worker = worker.expect("a worker").with_archive(archive);
        let asked = recorder.clone();
        let over = async move {
            while !asked.is_over() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        worker.run(recorder.clone(), over).await.expect("a worker ends in order");
        let (steps, checkpoints) = recorder.written();
        if archive_interval_millis.is_none() {
            seeds.push(("calls", steps));
        }
        seeds.extend(checkpoints.into_iter().map(|file| ("checkpoints", without_hash(&file))));
    }
    seeds
}

fn worker_config(scratch: PathBuf) -> WorkerConfig {
    WorkerConfig { scratch, memory_bytes: 128 << 20, disk_bytes: 1 << 30, slots: 1 }
}

/// What is told of a job: its file once it has left the store, and the answers to users.
fn told(view: &JobView, certificate: Option<&str>) -> [Seed; 4] {
    let job = EndedJob { view: view.clone(), certificate: certificate.map(str::to_owned) };
    let answers = |kind: u8, answers: Vec<u8>| ("answers", [vec![kind], answers].concat());
    let file = job.encode().expect("a job can be written");
    let status = &view.status;
    [("ended_jobs", file), answers(0, answers_of(status)), answers(1, list_of(status)), answers(3, watch_of(status))]
}

/// Runs a job until so many stages are done, or to its end.
async fn job(size: &str, stages: u32, data: &Path) -> EndedJob {
    let config = Config { durable_interval_millis: 0, ..Config::default() };
    let handle = CoordinatorHandle::open(data, config, Arc::new(Problems)).expect("a coordinator");
    let job = handle.submit(small("go", size)).await.expect("a job");
    let worker = Worker::open(worker_config(data.join("scratch")), Arc::new(Problems)).expect("a worker");
    let asked = handle.clone();
    let enough = async move {
        while asked.status(job).await.is_ok_and(|status| !status.state.is_over() && status.position.stage < stages) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    worker.run(handle.clone(), enough).await.expect("a worker ends in order");
    let (mut view, status) = (handle.view(job).await.expect("a job"), handle.status(job).await.expect("a job"));
    view.status = status;
    EndedJob { view, certificate: handle.certificate(job).await.expect("a job") }
}

/// A certificate, and a result with it, as a table and as a series.
fn certified(size: &str, certificate: &str) -> Vec<Seed> {
    let value: Value = serde_json::from_str(certificate).expect("a certificate is JSON");
    let count = value.pointer("/result/count").cloned().expect("a count");
    let result = json!({
        "problem": "go", "size": size, "count": count, "residues": [], "checks": [], "certificate": value,
        "counts": [{ "table": "by_fences", "fences": 3, "count": "18" }],
    });
    let series = json!({
        "problem": "go", "size": "5x5", "count": "414295148741",
        "series": [{ "index": 3, "name": "L(5,3)", "count": "8236689" }, { "index": 4, "count": "1840058693" }],
    });
    let text = |value: &Value| value.to_string().into_bytes();
    vec![
        ("certificates", certificate.as_bytes().to_vec()),
        ("certificates", text(&result)),
        ("pictures", text(&result)),
        ("pictures", text(&series)),
        ("series", text(&series)),
    ]
}
