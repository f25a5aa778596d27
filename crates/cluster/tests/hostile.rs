//! What broken or hostile peers send: refused with words, and the jobs go on.

mod common;

use std::time::Duration;

use common::{coordinator, count, ended, go, quick, worker};
use keima_cluster::{JobClient, PROTOCOL_VERSION};
use keima_coordinator::{JobSpec, State};
use keima_wire::v1;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes that are no HTTP/2, and the beginning of one that never goes on.
async fn garble(socket: std::net::SocketAddr) {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice();
    let endless_frame = [preface, &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]].concat();
    for bytes in [&[0_u8; 4096][..], &vec![0xff; 100_000], b"GET / HTTP/1.1\r\n\r\n", preface, &endless_frame] {
        let mut stream = tokio::net::TcpStream::connect(socket).await.unwrap();
        // It may hang up in the middle.
        let _ = stream.write_all(bytes).await;
        let mut answer = vec![0; 1024];
        let _ = tokio::time::timeout(Duration::from_millis(100), stream.read(&mut answer)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_refused_and_jobs_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let honest = worker(&dir.path().join("a"), &hub.address).await;
    let client = JobClient::new(&hub.address).unwrap();
    let job = client.submit(&go("8x8")).await.unwrap();
    garble(hub.socket).await;
    garble(honest.socket).await;

    let address = hub.address.clone();
    let mut calls = v1::coordinator_service_client::CoordinatorServiceClient::connect(address).await.unwrap();
    let holder = |name: &str| Some(v1::Holder { worker: name.into(), address: String::new(), folder: String::new() });
    let hello = |name: &str, slots| v1::SayHelloRequest {
        protocol_version: PROTOCOL_VERSION,
        holder: holder(name),
        slots,
        task_memory_bytes: u64::MAX,
        disk_bytes: u64::MAX,
        ..Default::default()
    };
    let refused = |status: tonic::Status, words: &str| assert!(status.message().contains(words), "{words}: {status}");
    refused(calls.say_hello(hello("x", 0)).await.unwrap_err(), "slots");
    refused(calls.say_hello(hello("x", u32::MAX)).await.unwrap_err(), "slots");
    refused(calls.say_hello(hello(&"x".repeat(10_000), 1)).await.unwrap_err(), "worker");
    refused(calls.say_hello(hello("../x", 1)).await.unwrap_err(), "worker");
    refused(calls.say_hello(v1::SayHelloRequest { holder: None, ..hello("x", 1) }).await.unwrap_err(), "holder");
    let outside = v1::SayHelloRequest { held: vec!["j1/../../x".into()], ..hello("x", 1) };
    refused(calls.say_hello(outside).await.unwrap_err(), "held");
    let foreign = v1::SayHelloRequest { held: vec!["j1/s0/g1/t0/a0/r0".into()], store: Some(1), ..hello("x", 1) };
    refused(calls.say_hello(foreign).await.unwrap_err(), "Nothing was deleted");

    let welcome = calls.say_hello(hello("0123456789abcdef", 1)).await.unwrap().into_inner();
    let pull = |epoch| v1::PullTaskRequest { worker: "0123456789abcdef".into(), epoch, copy: false };
    refused(calls.pull_task(pull(welcome.epoch + 7)).await.unwrap_err(), "hello");
    refused(calls.pull_task(pull(0)).await.unwrap_err(), "hello");
    let grant = calls.pull_task(pull(welcome.epoch)).await.unwrap().into_inner().grant;
    let grant = grant.expect("the job has work for a second worker");
    let report = |report| v1::ReportTaskRequest {
        worker: "0123456789abcdef".into(),
        epoch: welcome.epoch,
        attempt: grant.attempt,
        nonce: grant.nonce,
        report,
    };
    refused(calls.report_task(report(None)).await.unwrap_err(), "report");
    let lanes = vec![u64::MAX; 70_000];
    let tally = v1::Tally { states: u64::MAX, sums: lanes.clone(), fingerprint: lanes };
    let wild = v1::TaskManifest { input: Some(tally), ..Default::default() };
    assert!(calls.report_task(report(Some(v1::report_task_request::Report::Done(wild)))).await.is_err());
    let zero = || Some(v1::Tally { states: u64::MAX, sums: vec![], fingerprint: vec![] });
    let empty =
        v1::TaskManifest { input: zero(), output: zero(), times: Some(v1::TaskTimes::default()), ..Default::default() };
    let answer =
        calls.report_task(report(Some(v1::report_task_request::Report::Done(empty)))).await.unwrap().into_inner();
    assert!(!answer.accepted && !answer.reason.is_empty(), "{answer:?}");
    calls.say_goodbye(v1::SayGoodbyeRequest { worker: "0123456789abcdef".into() }).await.unwrap();

    assert_eq!(count(&ended(&client, job).await), "990966953618170260281935463385");
    honest.stop().await;
    hub.stop().await;
}

/// Limits beyond all reason: an error that names the limit, or a plan that works.
#[tokio::test(flavor = "multi_thread")]
async fn absurd_submissions() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let honest = worker(&dir.path().join("a"), &hub.address).await;
    let client = JobClient::new(&hub.address).unwrap();
    let base = || go("5x5");
    let refused = [
        JobSpec { task_memory_bytes: 0, ..base() },
        JobSpec { task_memory_bytes: 1, ..base() },
        JobSpec { disk_bytes: Some(0), ..base() },
        JobSpec { residues_per_sweep: Some(0), ..base() },
        JobSpec { window: Some(0), ..base() },
        go("0x5"),
        go("22x22"),
        go("4294967295x4294967295"),
        go(""),
        go(&"9".repeat(100_000)),
    ];
    for spec in refused {
        let error = client.submit(&spec).await.unwrap_err().to_string();
        assert!(error.len() > 20 && error.len() < 2000, "{error}");
    }
    let taken = [
        JobSpec { slots: 0, ..base() },
        JobSpec { slots: u32::MAX, ..base() },
        JobSpec { window: Some(1000), ..base() },
        JobSpec { window: Some(u32::MAX), ..base() },
        JobSpec { residues_per_sweep: Some(u32::MAX), ..base() },
        JobSpec { disk_bytes: Some(u64::MAX), priority: i32::MIN, ..base() },
    ];
    for spec in taken {
        let job = client.submit(&spec).await.unwrap();
        assert_eq!(count(&ended(&client, job).await), "414295148741", "{spec:?}");
    }
    // More memory than any worker has: taken, told why it waits, and in nobody's way.
    let huge = client.submit(&JobSpec { task_memory_bytes: 1 << 63, priority: i32::MAX, ..base() }).await.unwrap();
    let job = client.submit(&base()).await.unwrap();
    assert_eq!(count(&ended(&client, job).await), "414295148741");
    let status = client.status(huge).await.unwrap();
    assert_eq!(status.state, State::Queued);
    assert!(status.workers.iter().any(|w| w.note.contains("too little memory")), "{status:?}");
    honest.stop().await;
    hub.stop().await;
}
