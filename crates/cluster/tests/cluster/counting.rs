//! Whole counts: over gRPC with several workers, and through deaths.

use std::time::Duration;

use crate::common::{coordinator, count, ended, go, quick, run_files, worker};
use keima_cluster::{JobClient, PROTOCOL_VERSION};
use keima_coordinator::State;

/// Numbers of legal positions (J. Tromp, <https://tromp.github.io/go/legal.html>).
const L55: &str = "414295148741";
const L88: &str = "990966953618170260281935463385";

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_count_over_grpc() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let scratch = [dir.path().join("a"), dir.path().join("b")];
    let workers = [worker(&scratch[0], &hub.address).await, worker(&scratch[1], &hub.address).await];
    let client = JobClient::new(&hub.address).unwrap();
    let first = client.submit(&go("5x5")).await.unwrap();
    let second = client.submit(&go("8x8")).await.unwrap();
    let mut watch = client.watch(second, Duration::from_millis(100), 0).await.unwrap();
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
    check(workers.say_hello(tokio_stream::once(hello)).await.unwrap_err());
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
            if status.position.stage >= stage {
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
        if status.position.stage >= 5 && run_files(&dir.path().join("b")) > 0 {
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
