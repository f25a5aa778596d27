//! The client against a live coordinator and a worker in this process: in plain text, and over TLS with tokens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keima::{Access, Client, Error, Executor, Integer, Job, JobId, LinkError, News, State, job_id};
use keima_cluster::{
    CoordinatorHandle, Door, GrpcLink, Identity, Role, Tokens, Worker, WorkerConfig, certificate_files,
    make_tls_folder, serve_coordinator, tls_folder, token_file,
};
use keima_coordinator::Config;
use keima_problems::Problems;
use tokio::net::TcpListener;

/// Legal positions of Go on 5x5 (OEIS A094777).
const L5: u64 = 414_295_148_741;

/// A coordinator on loopback that lives as long as this does.
struct Cluster {
    url: String,
    dir: tempfile::TempDir,
    handle: CoordinatorHandle,
}

impl Cluster {
    async fn start(door: Door, dir: tempfile::TempDir) -> Self {
        Self::start_at(door, dir, "127.0.0.1:0").await
    }

    async fn start_at(door: Door, dir: tempfile::TempDir, at: &str) -> Self {
        let config = Config { heartbeat_millis: 200, ..Config::default() };
        let handle = CoordinatorHandle::open(&dir.path().join("data"), config, Arc::new(Problems)).unwrap();
        let listener = TcpListener::bind(at).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (served, closing) = (handle.clone(), handle.clone());
        tokio::spawn(
            async move { serve_coordinator(listener, served, &door, async move { closing.closed().await }).await },
        );
        Self { url, dir, handle }
    }

    fn worker(&self) -> tokio::task::JoinHandle<()> {
        let config = WorkerConfig {
            scratch: self.dir.path().join("scratch"),
            memory_bytes: 128 << 20,
            disk_bytes: 1 << 30,
            slots: 1,
        };
        let worker = Worker::open(config, Arc::new(Problems)).unwrap().reached_at("http://127.0.0.1:1".to_owned());
        let link = GrpcLink::new(&self.url).unwrap();
        tokio::spawn(async move { worker.run(link, std::future::pending()).await.unwrap() })
    }
}

fn go(size: &str) -> Job {
    Job { executor: Executor::Stream, ..Job::new("go", size) }
}

/// Words that an error's text has.
fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "expected {words:?} in {text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_submitted_watched_and_read_as_integers() {
    let cluster = Cluster::start(Door::open(), tempfile::tempdir().unwrap()).await;
    let client = Client::new(&cluster.url).unwrap();
    let job = client.submit(&Job { series: true, ..go("5x5") }).await.unwrap();
    assert_eq!(job, JobId(1));
    // Nobody counts yet.
    let error = client.result(job).await.unwrap_err();
    assert!(matches!(&error, Error::NotFinished(status) if status.state == State::Queued) && error.may_pass());
    says(&error, &["j1", "queued", "Client::wait"]);
    let working = cluster.worker();
    let mut watch = client.watch(job);
    let (mut seen, mut told) = (Vec::new(), Vec::new());
    while let Some(status) = watch.next().await.unwrap() {
        told.extend(status.values().iter().map(|value| value.index));
        seen.push(status.state);
    }
    assert_eq!(told, [1, 2, 3, 4, 5], "each value is told once");
    assert_eq!(seen.last(), Some(&State::Done), "{seen:?}");
    assert!(watch.next().await.unwrap().is_none(), "a watch goes on after the end");
    let counted = client.result(job).await.unwrap();
    assert_eq!(counted.count, L5);
    let series: Vec<Integer> = counted.series.iter().map(|value| value.count.clone()).collect();
    assert_eq!(series.last(), Some(&counted.count));
    // L(1,5) (OEIS A102620).
    assert_eq!((series.len(), &series[0]), (5, &Integer::from(113)));
    assert!(counted.outcome.checks.len() > 2);
    for (newest, expected) in [(0, &[][..]), (2, &[4, 5]), (9, &[1, 2, 3, 4, 5])] {
        let status = client.newest(job, newest).await.unwrap();
        let got: Vec<u32> = status.values().iter().map(|value| value.index).collect();
        assert_eq!((got.as_slice(), status.values.known), (expected, 5));
    }
    let (_, certificate) = client.with_certificate(job).await.unwrap();
    assert!(certificate.unwrap().contains("go"));
    assert_eq!(client.workers().await.unwrap().len(), 1);
    // Options reach the problem, and a second job is waited for.
    let tours = client.submit(&Job::new("knight", "6x6").option("closed")).await.unwrap();
    assert_eq!(client.wait(tours).await.unwrap().count, 9862);
    assert_eq!(client.jobs().await.unwrap().len(), 2);
    working.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_steered_and_refusals_have_their_kinds() {
    let cluster = Cluster::start(Door::open(), tempfile::tempdir().unwrap()).await;
    let client = Client::new(&cluster.url).unwrap();
    let job = client.submit(&go("6x6")).await.unwrap();
    client.pause(job).await.unwrap();
    assert_eq!(client.status(job).await.unwrap().state, State::Paused);
    client.resume(job).await.unwrap();
    client.cancel(job).await.unwrap();
    assert!(matches!(client.wait(job).await, Err(Error::Cancelled(status)) if status.id == job));
    let refused = |error: Error, words: &[&str]| {
        assert!(
            matches!(error, Error::Call(LinkError::Call(_) | LinkError::Refused(_))) && !error.may_pass(),
            "{error:?}"
        );
        says(&error, words);
    };
    refused(client.status(JobId(99)).await.unwrap_err(), &["no job j99"]);
    refused(client.pause(job).await.unwrap_err(), &["cancelled"]);
    refused(client.submit(&Job::new("chess", "8x8")).await.unwrap_err(), &["chess", "known problems"]);
    assert!(matches!(client.watch(JobId(99)).next().await, Err(Error::Call(_))));
    assert_eq!((job_id("j7").unwrap(), job_id("7").unwrap()), (JobId(7), JobId(7)));
    for text in ["", "j", "job", "j-1", "j1.5"] {
        says(&job_id(text).unwrap_err(), &["j1", "keima jobs"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_outlives_its_coordinator() {
    let cluster = Cluster::start(Door::open(), tempfile::tempdir().unwrap()).await;
    let client = Client::new(&cluster.url).unwrap();
    let job = client.submit(&go("4x4")).await.unwrap();
    let mut watch = client.watch(job);
    assert!(matches!(watch.news().await.unwrap(), Some(News::Status(_))));
    let Cluster { url, dir, handle } = cluster;
    handle.close();
    drop(handle);
    let away = watch.news().await.unwrap();
    assert!(matches!(&away, Some(News::Away(error)) if error.may_pass()), "{away:?}");
    // Nobody comes: the patience ends.
    let mut hasty = client.watch(job).with_patience(Duration::from_millis(10));
    assert!(matches!(hasty.next().await, Err(Error::Call(error)) if error.may_pass()));
    let again = Cluster::start_at(Door::open(), dir, url.strip_prefix("http://").unwrap()).await;
    let working = again.worker();
    let mut last = None;
    while let Some(status) = watch.next().await.unwrap() {
        last = Some(status.state);
    }
    assert_eq!(last, Some(State::Done));
    working.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_and_tokens_are_those_of_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    make_tls_folder(&data, &["127.0.0.1".to_owned()]).unwrap();
    let folder = tls_folder(&data);
    let (certificate, key) = certificate_files(&folder);
    let identity = Identity::read(&certificate, &key).unwrap();
    let fingerprint = identity.fingerprint().to_string();
    let door = Door::guarded(&identity, Tokens::read(&folder).unwrap()).unwrap();
    let cluster = Cluster::start(door, dir).await;
    let url = cluster.url.replace("http://", "https://");
    let with = |fingerprint: Option<&str>, tls_ca: Option<&Path>, token_file: Option<PathBuf>| Access {
        fingerprint: fingerprint.map(str::to_owned),
        tls_ca: tls_ca.map(Path::to_owned),
        token_file,
    };
    let token = |role| Some(token_file(&folder, role));
    let ca = folder.join("ca.pem");
    let client = Client::with(&url, &with(Some(&fingerprint), None, token(Role::Client))).unwrap();
    let job = client.submit(&go("4x4")).await.unwrap();
    let reader = Client::with(&url, &with(None, Some(&ca), token(Role::Reader))).unwrap();
    assert_eq!(reader.jobs().await.unwrap().len(), 1);
    says(&reader.cancel(job).await.unwrap_err(), &["CancelJob", "client"]);
    let other = format!("sha256:{}", "0".repeat(64));
    let stranger = Client::with(&url, &with(Some(&other), None, token(Role::Client))).unwrap();
    assert!(matches!(stranger.jobs().await, Err(Error::Call(LinkError::Untrusted(_)))));
    for (url, access, words) in [
        (url.as_str(), Access::default(), &["fingerprint", "tls_ca"][..]),
        (&url, with(Some(&fingerprint), Some(&ca), token(Role::Client)), &["exclude each other"]),
        (&url, with(Some(&fingerprint), None, None), &["token_file", "client.token"]),
        (&url, with(Some("sha256:12"), None, token(Role::Client)), &["64 hex digits"]),
        (&url, with(Some(&fingerprint), None, Some(folder.join("none"))), &["none"]),
        (&cluster.url, with(Some(&fingerprint), None, None), &["fingerprint is for TLS", "https://"]),
        (&cluster.url, with(None, None, token(Role::Client)), &["token_file is for TLS"]),
    ] {
        let error = Client::with(url, &access).err().expect("an error");
        assert!(matches!(error, Error::Access(_)) && !error.may_pass());
        says(&error, words);
    }
    says(&Client::new("tcp://head").err().unwrap(), &["there is no tcp://"]);
}
