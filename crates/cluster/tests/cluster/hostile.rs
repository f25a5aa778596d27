//! What broken or hostile peers send: refused with words, and the jobs go on.

use std::time::Duration;

use crate::common::{coordinator, count, ended, go, quick, worker};
use keima_cluster::{BUILD, JobClient, PROTOCOL_VERSION};
use keima_coordinator::{JobSpec, State};
use keima_wire::v1;
use prost::Message as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A stream of one message.
fn one<T>(message: T) -> tokio_stream::Once<T> {
    tokio_stream::once(message)
}

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
    let holder = |name: &str| {
        Some(v1::Holder {
            worker: name.into(),
            address: String::new(),
            folder: String::new(),
            fingerprint: String::new(),
        })
    };
    let hello = |name: &str, slots| v1::SayHelloRequest {
        protocol_version: PROTOCOL_VERSION,
        build: BUILD.into(),
        holder: holder(name),
        slots,
        task_memory_bytes: u64::MAX,
        disk_bytes: u64::MAX,
        ..Default::default()
    };
    let refused = |status: tonic::Status, words: &str| assert!(status.message().contains(words), "{words}: {status}");
    refused(calls.say_hello(one(hello("x", 0))).await.unwrap_err(), "slots");
    refused(calls.say_hello(one(hello("x", u32::MAX))).await.unwrap_err(), "slots");
    refused(calls.say_hello(one(hello(&"x".repeat(10_000), 1))).await.unwrap_err(), "worker");
    refused(calls.say_hello(one(hello("../x", 1))).await.unwrap_err(), "worker");
    refused(calls.say_hello(one(v1::SayHelloRequest { holder: None, ..hello("x", 1) })).await.unwrap_err(), "holder");
    let outside = v1::SayHelloRequest { held: vec!["j1/../../x".into()], ..hello("x", 1) };
    refused(calls.say_hello(one(outside)).await.unwrap_err(), "held");
    let foreign = v1::SayHelloRequest { held: vec!["j1/s0/g1/t0/a0/r0".into()], store: Some(1), ..hello("x", 1) };
    refused(calls.say_hello(one(foreign)).await.unwrap_err(), "Nothing was deleted");

    let welcome = calls.say_hello(one(hello("0123456789abcdef", 1))).await.unwrap().into_inner();
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
    refused(calls.report_task(one(report(None))).await.unwrap_err(), "report");
    let lanes = vec![u64::MAX; 70_000];
    let tally = v1::Tally { states: u64::MAX, sums: lanes.clone(), fingerprint: lanes };
    let wild = v1::TaskManifest { input: Some(tally), ..Default::default() };
    assert!(
        calls
            .report_task(one(report(Some(v1::report_task_request::Report::Done(wild.encode_to_vec().into())))))
            .await
            .is_err()
    );
    let zero = || Some(v1::Tally { states: u64::MAX, sums: vec![], fingerprint: vec![] });
    let empty =
        v1::TaskManifest { input: zero(), output: zero(), times: Some(v1::TaskTimes::default()), ..Default::default() };
    let answer = calls
        .report_task(one(report(Some(v1::report_task_request::Report::Done(empty.encode_to_vec().into())))))
        .await
        .unwrap()
        .into_inner();
    assert!(!answer.accepted && !answer.reason.is_empty(), "{answer:?}");
    let goodbye = |epoch| v1::SayGoodbyeRequest { worker: "0123456789abcdef".into(), epoch };
    refused(calls.say_goodbye(goodbye(welcome.epoch ^ 1)).await.unwrap_err(), "hello");
    calls.say_goodbye(goodbye(welcome.epoch)).await.unwrap();

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

/// What a worker says of a failure stays on its line, and its figures stay out of the job's.
#[tokio::test(flavor = "multi_thread")]
async fn a_workers_words_and_figures_forge_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let hub = coordinator(&dir.path().join("data"), "127.0.0.1:0", quick()).await;
    let client = JobClient::new(&hub.address).unwrap();
    let job = client.submit(&go("6x6")).await.unwrap();
    let mut calls =
        v1::coordinator_service_client::CoordinatorServiceClient::connect(hub.address.clone()).await.unwrap();
    let name = "0123456789abcdef".to_owned();
    let welcome = calls
        .say_hello(one(v1::SayHelloRequest {
            protocol_version: PROTOCOL_VERSION,
            build: BUILD.into(),
            holder: Some(v1::Holder {
                worker: name.clone(),
                address: "http://x\x1b[2J".into(),
                folder: "/a\nworker b".into(),
                fingerprint: String::new(),
            }),
            slots: 1,
            task_memory_bytes: 1 << 40,
            ..Default::default()
        }))
        .await
        .unwrap()
        .into_inner();
    let pull = v1::PullTaskRequest { worker: name.clone(), epoch: welcome.epoch, copy: false };
    let grant = calls.pull_task(pull).await.unwrap().into_inner().grant.expect("the job has work");
    let report = |report| v1::ReportTaskRequest {
        worker: name.clone(),
        epoch: welcome.epoch,
        attempt: grant.attempt,
        nonce: grant.nonce,
        report: Some(report),
    };
    let text = "\x1b[31mno luck\nj9  go 19x19  done".to_owned();
    let failure = v1::Failure { kind: Some(v1::failure::Kind::Other(v1::TextFailure { text })) };
    calls.report_task(one(report(v1::report_task_request::Report::Failed(failure)))).await.unwrap();
    let status = client.status(job).await.unwrap();
    let notes = status.notes.join("|");
    assert!(notes.contains("no luck\\nj9") && !notes.contains(['\n', '\x1b']), "{notes:?}");
    let workers = client.workers().await.unwrap();
    assert!(!workers[0].address.contains('\x1b') && !workers[0].folder.contains('\n'), "{workers:?}");
    hub.stop().await;
}
