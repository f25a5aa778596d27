//! Jobs that leave the store for files: over gRPC they are found as before.

use std::path::Path;
use std::time::Duration;

use keima_cluster::JobClient;
use keima_coordinator::{Config, EndedJob, JobFilter, JobId, JobSpec, JobStatus, State, Terms, TermsChange};

use crate::common::{coordinator, count, ended, go, quick, worker};

const L55: &str = "414295148741";

async fn archived(client: &JobClient, filter: JobFilter) -> Vec<u64> {
    let page = client.list(&JobFilter { archived: true, ..filter }).await.unwrap();
    page.jobs.iter().map(|job| job.id.0).collect()
}

/// Waits until the list has so many jobs.
async fn left(client: &JobClient, stay: usize) {
    for _ in 0..600 {
        if client.jobs().await.unwrap().len() == stay {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("they stay: {:?}", client.jobs().await);
}

fn files(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data.join("ended")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn indices(status: &JobStatus) -> Vec<u32> {
    status.values().iter().map(|value| value.index).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_left_is_found_as_before() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let keep = |keep_jobs| Config { keep_jobs, ..quick() };
    let hub = coordinator(&data, "127.0.0.1:0", keep(None)).await;
    let client = JobClient::new(&hub.address).unwrap();
    let working = worker(&dir.path().join("a"), &hub.address).await;
    let named = |name: &str| Terms { name: name.into(), owner: "ada".into(), ..Terms::default() };
    let done = client.submit_as(&JobSpec { series: true, ..go("5x5") }, &named("nightly")).await.unwrap();
    let before = ended(&client, done).await;
    let (_, certificate) = client.with_certificate(done).await.unwrap();
    let cancelled = client.submit_as(&go("9x9"), &named("weekly")).await.unwrap();
    client.cancel(cancelled).await.unwrap();
    assert!(archived(&client, JobFilter::default()).await.is_empty() && !data.join("ended").exists());
    let socket = hub.socket.to_string();
    working.stop().await;
    hub.stop().await;

    // Started again, it keeps one job of those that are over, and of those that wait all.
    let hub = coordinator(&data, &socket, keep(Some(1))).await;
    let client = JobClient::new(&hub.address).unwrap();
    let waiting = client.submit(&go("4x4")).await.unwrap();
    left(&client, 2).await;
    assert_eq!(files(&data), ["j1-go-5x5.json"]);
    hub.stop().await;
    let hub = coordinator(&data, &socket, keep(Some(0))).await;
    let client = JobClient::new(&hub.address).unwrap();
    left(&client, 1).await;
    assert_eq!((client.jobs().await.unwrap()[0].id, waiting), (JobId(3), JobId(3)));
    assert_eq!(files(&data), ["j1-go-5x5.json", "j2-go-9x9.json"]);

    for (filter, expected) in [
        (JobFilter::default(), &[2, 1][..]),
        (JobFilter { owner: Some("ada".into()), limit: 1, ..JobFilter::default() }, &[2]),
        (JobFilter { after: Some(cancelled), ..JobFilter::default() }, &[1]),
        (JobFilter { name: Some("nightly".into()), ..JobFilter::default() }, &[1]),
        (JobFilter { states: vec![State::Cancelled], ..JobFilter::default() }, &[2]),
        (JobFilter { owner: Some("bob".into()), ..JobFilter::default() }, &[]),
    ] {
        assert_eq!(archived(&client, filter.clone()).await, expected, "{filter:?}");
    }
    let (after, same) = client.with_certificate(done).await.unwrap();
    assert_eq!((count(&after), after.values(), same), (L55.to_owned(), before.values(), certificate));
    assert_eq!(indices(&client.newest(done, 2).await.unwrap()), [4, 5]);
    let mut watch = client.watch(done, Duration::from_millis(100), 3).await.unwrap();
    let last = watch.next().await.unwrap().unwrap();
    assert_eq!((indices(&last), last.state), (vec![4, 5], State::Done));
    assert!(watch.next().await.unwrap().is_none());
    let change = TermsChange { note: Some("late".into()), ..TermsChange::default() };
    for refused in [client.change(done, &change).await, client.cancel(done).await, client.resume(cancelled).await] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("archived") && error.contains("ended/j"), "{error}");
    }

    // The folder is its user's, too.
    let (first, second) = (data.join("ended/j1-go-5x5.json"), data.join("ended/j2-go-9x9.json"));
    let text = std::fs::read(&first).unwrap();
    std::fs::write(&first, String::from_utf8(text.clone()).unwrap().replace(",\n", ",")).unwrap();
    assert_eq!(count(&client.status(done).await.unwrap()), L55);
    assert_eq!(archived(&client, JobFilter::default()).await, [2, 1]);
    std::fs::write(&first, &text[..text.len() / 2]).unwrap();
    let error = client.status(done).await.unwrap_err().to_string();
    assert!(error.contains("j1-go-5x5.json") && error.contains("from a copy"), "{error}");
    std::fs::rename(&second, data.join("elsewhere")).unwrap();
    let error = client.status(cancelled).await.unwrap_err().to_string();
    assert!(error.contains("no job j2"), "{error}");
    assert_eq!(EndedJob::decode(&text).unwrap().id(), done);
    hub.stop().await;
}

/// A folder that takes nothing costs no job.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_cannot_leave_stays() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("ended"), "in the way").unwrap();
    let hub = coordinator(&data, "127.0.0.1:0", Config { keep_jobs: Some(0), ..quick() }).await;
    let client = JobClient::new(&hub.address).unwrap();
    let job = client.submit(&go("4x4")).await.unwrap();
    client.cancel(job).await.unwrap();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(client.jobs().await.unwrap().len(), 1);
    assert_eq!(client.status(job).await.unwrap().state, State::Cancelled);
    hub.stop().await;
}
