//! Whole counts: in one process, over gRPC with several workers, and through deaths.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{coordinator, count, ended, go, quick, registry, run_files, worker};
use keima_cluster::{JobClient, LocalCluster, LocalConfig, PROTOCOL_VERSION};
use keima_coordinator::{Executor, JobSpec, JobStatus, State};

/// Numbers of legal positions (J. Tromp, <https://tromp.github.io/go/legal.html>).
const L44: &str = "24318165";
const L55: &str = "414295148741";
const L66: &str = "62567386502084877";
const L88: &str = "990966953618170260281935463385";
const L99: &str = "103919148791293834318983090438798793469";
const L1010: &str = "96498428501909654589630887978835098088148177857";

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
        assert_eq!(plan.block.unwrap().parted, parted, "{size} in windows of {window}");
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
        assert_eq!(met.plan.unwrap().block.unwrap().middle, Some(middle), "{size}");
        assert_eq!(told, (1..=middle).chain([length]).collect::<Vec<_>>(), "{size}");
        let all = local_with(JobSpec { series: true, ..spec }, 1024, expected).await;
        assert_eq!(all.values().len(), length as usize, "{size}");
        assert_eq!(all.plan.unwrap().block.unwrap().middle, None, "{size}");
        assert!(met.bytes_written < all.bytes_written, "{size}: {} and {} bytes", met.bytes_written, all.bytes_written);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_count_over_grpc() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let scratch = [dir.path().join("a"), dir.path().join("b")];
    let workers = [worker(&scratch[0], &hub.address).await, worker(&scratch[1], &hub.address).await];
    let client = JobClient::new(&hub.address).unwrap();
    let first = client.submit(&go("5x5")).await.unwrap();
    let second = client.submit(&go("8x8")).await.unwrap();
    let mut watch = client.watch(second, Duration::from_millis(100)).await.unwrap();
    let mut last = None;
    while let Some(status) = watch.next().await.unwrap() {
        last = Some(status);
    }
    assert_eq!(count(&last.unwrap()), L88);
    assert_eq!(count(&ended(&client, first).await), L55);
    assert_eq!(client.jobs().await.unwrap().len(), 2);
    assert_eq!(client.workers().await.unwrap().len(), 2);
    // Nobody needs the runs of finished jobs.
    for _ in 0..200 {
        if scratch.iter().all(|folder| run_files(folder) == 0) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(scratch.iter().map(|folder| run_files(folder)).sum::<usize>(), 0);
    for worker in workers {
        worker.stop().await;
    }
    hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_steered_and_errors_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let client = JobClient::new(&hub.address).unwrap();
    let job = client.submit(&go("4x4")).await.unwrap();
    client.pause(job).await.unwrap();
    assert_eq!(client.status(job).await.unwrap().state, State::Paused);
    client.resume(job).await.unwrap();
    client.cancel(job).await.unwrap();
    assert_eq!(client.status(job).await.unwrap().state, State::Cancelled);
    let error = client.resume(job).await.unwrap_err().to_string();
    assert!(error.contains("cancelled"), "{error}");
    let error = client.status(keima_coordinator::JobId(77)).await.unwrap_err().to_string();
    assert!(error.contains("j77") && error.contains("keima jobs"), "{error}");
    let error = client.submit(&go("0x5")).await.unwrap_err().to_string();
    assert!(error.contains("0x5"), "{error}");
    hub.stop().await;
    let error = client.jobs().await.unwrap_err().to_string();
    assert!(error.contains("keima coordinator") && error.contains("KEIMA_COORDINATOR"), "{error}");
}

/// A worker or user of another protocol version learns which versions met and what to do.
#[tokio::test(flavor = "multi_thread")]
async fn another_version_is_refused() {
    use keima_wire::v1;
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let check = |status: tonic::Status| {
        assert_eq!(status.code(), tonic::Code::FailedPrecondition, "{status}");
        let text = status.message();
        let names_both = text.contains(&format!("version {PROTOCOL_VERSION}")) && text.contains("version 99");
        assert!(names_both && text.contains("install"), "{text}");
    };
    let address = hub.address.clone();
    let mut workers = v1::coordinator_service_client::CoordinatorServiceClient::connect(address.clone()).await.unwrap();
    let hello = v1::SayHelloRequest { protocol_version: 99, ..Default::default() };
    check(workers.say_hello(hello).await.unwrap_err());
    let mut users = v1::job_service_client::JobServiceClient::connect(address).await.unwrap();
    let submit = v1::SubmitJobRequest { protocol_version: 99, ..Default::default() };
    check(users.submit_job(submit).await.unwrap_err());
    hub.stop().await;
}

/// The coordinator dies in a running stage and comes back on the same port; the workers never stop.
#[tokio::test(flavor = "multi_thread")]
async fn a_coordinator_dies_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let mut hub = coordinator(&data, "127.0.0.1:0", quick()).await;
    let at = hub.socket.to_string();
    let workers =
        [worker(&dir.path().join("a"), &hub.address).await, worker(&dir.path().join("b"), &hub.address).await];
    let client = JobClient::new(&hub.address).unwrap();
    let job = client.submit(&go("8x8")).await.unwrap();
    let mut deaths = 0;
    for stage in [2, 6] {
        loop {
            let status = client.status(job).await.unwrap();
            assert!(!status.state.is_over(), "too late for a death: {status:?}");
            if status.stage >= stage {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        hub.kill().await;
        deaths += 1;
        hub = coordinator(&data, &at, quick()).await;
    }
    let status = ended(&client, job).await;
    assert_eq!((count(&status).as_str(), deaths), (L88, 2));
    for worker in workers {
        worker.stop().await;
    }
    hub.stop().await;
}

/// A worker vanishes in a running stage with its runs, and never comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_vanishes() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let staying = worker(&dir.path().join("a"), &hub.address).await;
    let leaving = worker(&dir.path().join("b"), &hub.address).await;
    let client = JobClient::new(&hub.address).unwrap();
    let job = client.submit(&go("8x8")).await.unwrap();
    loop {
        let status = client.status(job).await.unwrap();
        assert!(!status.state.is_over(), "too late for a death: {status:?}");
        if status.stage >= 5 && run_files(&dir.path().join("b")) > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    leaving.kill().await;
    std::fs::remove_dir_all(dir.path().join("b")).unwrap();
    assert_eq!(count(&ended(&client, job).await), L88);
    staying.stop().await;
    hub.stop().await;
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
    while cluster.coordinator().status(job).await.unwrap().stage < 4 {
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
    assert!(status.resumed_from.is_some());
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
