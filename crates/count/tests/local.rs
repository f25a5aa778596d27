//! Whole counts in one process: within little memory, from both ends, and what is left in the folders.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use keima_coordinator::{Executor, JobSpec, JobStatus, State};
use keima_count::{LocalCluster, LocalConfig};
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;

/// Numbers of legal positions (J. Tromp, <https://tromp.github.io/go/legal.html>).
const L44: &str = "24318165";
const L55: &str = "414295148741";
const L66: &str = "62567386502084877";
const L88: &str = "990966953618170260281935463385";
const L99: &str = "103919148791293834318983090438798793469";
const L1010: &str = "96498428501909654589630887978835098088148177857";

fn registry() -> Arc<dyn Registry> {
    Arc::new(Problems)
}

fn go(size: &str) -> JobSpec {
    let problem = ProblemRequest { name: "go".to_owned(), size: size.to_owned(), options: Vec::new() };
    JobSpec { executor: Executor::Stream, ..JobSpec::of(problem, 16 << 20) }
}

fn count(status: &JobStatus) -> String {
    let outcome = status.outcome.as_ref().unwrap_or_else(|| panic!("no outcome: {status:?}"));
    assert!(outcome.ok, "{outcome:?}");
    outcome.count.clone()
}

/// Number of run files below a folder.
fn run_files(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| {
            let path = entry.path();
            if path.is_dir() { run_files(&path) } else { usize::from(path.extension().is_some_and(|e| e == "run")) }
        })
        .sum()
}

fn local_config(data: &Path, scratch: &Path) -> LocalConfig {
    LocalConfig {
        data: data.to_owned(),
        scratch: scratch.to_owned(),
        memory_bytes: 128 << 20,
        disk_bytes: 1 << 30,
        slots: 2,
        durable_interval_millis: 60_000,
    }
}

async fn local(size: &str, expected: &str) {
    local_with(go(size), 128, expected).await;
}

/// What a count in one process with so much memory ends with.
async fn local_with(spec: JobSpec, memory_mib: u64, expected: &str) -> JobStatus {
    let size = spec.problem.size.clone();
    let dir = tempfile::tempdir().unwrap();
    let config = local_config(&dir.path().join("data"), &dir.path().join("scratch"));
    let cluster = LocalCluster::start(registry(), LocalConfig { memory_bytes: memory_mib << 20, ..config }).unwrap();
    let job = cluster.coordinator().submit(spec).await.unwrap();
    let status = loop {
        let status = cluster.coordinator().status(job).await.unwrap();
        if status.state.is_over() {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(status.state, State::Done, "{status:?}");
    assert_eq!(count(&status), expected, "{size}");
    cluster.stop().await.unwrap();
    status
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_counts() {
    local("4x4", L44).await;
    local("5x5", L55).await;
    local("6x6", L66).await;
}

/// With short windows the tables of all families take more memory than there is.
#[tokio::test(flavor = "multi_thread")]
async fn tables_are_made_in_parts_where_all_of_them_do_not_fit() {
    for (size, window, memory_mib, parted, expected) in
        [("8x8", 2, 64, false, L88), ("9x9", 2, 64, true, L99), ("10x10", 3, 80, true, L1010)]
    {
        let spec = JobSpec { window: Some(window), executor: Executor::Block, ..go(size) };
        let plan = local_with(spec, memory_mib, expected).await.plan.unwrap();
        assert_eq!(plan.block().unwrap().parted, parted, "{size} in windows of {window}");
    }
}

/// Where nobody asks for shorter boards, vectors from both ends meet, and fewer bytes are written; where somebody does, all
/// of them are told.
#[tokio::test(flavor = "multi_thread")]
async fn vectors_from_both_ends_meet() {
    for (size, middle, expected) in [("8x8", 4, L88), ("9x9", 5, L99), ("10x10", 7, L1010)] {
        let spec = JobSpec { executor: Executor::Block, task_memory_bytes: 256 << 20, ..go(size) };
        let met = local_with(spec.clone(), 1024, expected).await;
        let length: u32 = size.split('x').next().unwrap().parse().unwrap();
        let told: Vec<u32> = met.values().iter().map(|entry| entry.index).collect();
        assert_eq!(met.plan.unwrap().block().unwrap().middle, Some(middle), "{size}");
        assert_eq!(told, (1..=middle).chain([length]).collect::<Vec<_>>(), "{size}");
        let all = local_with(JobSpec { series: true, ..spec }, 1024, expected).await;
        assert_eq!(all.values().len(), length as usize, "{size}");
        assert_eq!(all.plan.unwrap().block().unwrap().middle, None, "{size}");
        assert!(
            met.traffic.bytes_written < all.traffic.bytes_written,
            "{size}: {} and {} bytes",
            met.traffic.bytes_written,
            all.traffic.bytes_written
        );
    }
}

/// A finished job leaves no run behind, even where the process stops at once.
#[tokio::test(flavor = "multi_thread")]
async fn one_process_leaves_nothing_in_its_scratch_folder() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = dir.path().join("scratch");
    let cluster = LocalCluster::start(registry(), local_config(&dir.path().join("data"), &scratch)).unwrap();
    let job = cluster.coordinator().submit(go("6x6")).await.unwrap();
    let mut seen = 0;
    while !cluster.coordinator().status(job).await.unwrap().state.is_over() {
        seen = seen.max(run_files(&scratch));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    cluster.stop().await.unwrap();
    assert!(seen > 0);
    assert_eq!(run_files(&scratch), 0);
}

/// A worker with runs comes to a coordinator that has lost its data folder: nobody deletes anything. One without runs
/// may change its coordinator.
#[tokio::test(flavor = "multi_thread")]
async fn runs_of_another_coordinator_are_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let (data, scratch) = (dir.path().join("data"), dir.path().join("scratch"));
    let eager = || LocalConfig { durable_interval_millis: 0, ..local_config(&data, &scratch) };
    let cluster = LocalCluster::start(registry(), eager()).unwrap();
    let job = cluster.coordinator().submit(go("8x8")).await.unwrap();
    while cluster.coordinator().status(job).await.unwrap().position.stage < 4 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    cluster.stop().await.unwrap();
    let held = run_files(&scratch);
    assert!(held > 0);

    let kept = dir.path().join("kept");
    std::fs::rename(&data, &kept).unwrap();
    let cluster = LocalCluster::start(registry(), eager()).unwrap();
    while cluster.is_working() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let error = cluster.stop().await.unwrap_err().to_string();
    let name = std::fs::read_to_string(scratch.join("coordinator.id")).unwrap();
    for words in [name.trim(), scratch.to_str().unwrap(), "Nothing was deleted", "--scratch", "coordinator.id"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(run_files(&scratch), held);

    std::fs::remove_dir_all(&data).unwrap();
    std::fs::rename(&kept, &data).unwrap();
    let cluster = LocalCluster::start(registry(), eager()).unwrap();
    let status = loop {
        let status = cluster.coordinator().status(job).await.unwrap();
        if status.state.is_over() {
            break status;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(count(&status), L88);
    assert!(status.durability.resumed_from.is_some());
    cluster.stop().await.unwrap();

    std::fs::remove_dir_all(&data).unwrap();
    let cluster = LocalCluster::start(registry(), eager()).unwrap();
    let job = cluster.coordinator().submit(go("5x5")).await.unwrap();
    while !cluster.coordinator().status(job).await.unwrap().state.is_over() {
        assert!(cluster.is_working(), "an empty scratch folder is anybody's");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    cluster.stop().await.unwrap();
}
