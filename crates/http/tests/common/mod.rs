//! A coordinator with its site, a worker, and readers that speak HTTP/1.1 by hand.

#![allow(dead_code, missing_docs, unreachable_pub)]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keima_cluster::{CoordinatorHandle, Door, Worker, WorkerConfig, WorkerWatch};
use keima_coordinator::{Config, Executor, JobId, JobSpec, JobStatus};
use keima_http::{CoordinatorSite, Site, coordinator_routes, serve, worker_routes};
use keima_model::ProblemRequest;
use keima_problems::Problems;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Legal positions of 5x5 (J. Tromp, <https://tromp.github.io/go/legal.html>).
pub const L55: &str = "414295148741";

pub fn go(size: &str) -> JobSpec {
    let problem = ProblemRequest { name: "go".to_owned(), size: size.to_owned(), options: Vec::new() };
    JobSpec { executor: Executor::Stream, series: true, ..JobSpec::of(problem, 16 << 20) }
}

/// A coordinator in this process, and its site.
pub struct Host {
    pub handle: CoordinatorHandle,
    pub at: SocketAddr,
    pub dir: tempfile::TempDir,
}

impl Host {
    pub async fn start(door: Door) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let config = Config { heartbeat_millis: 100, lease_millis: 1500, recount_one_in: 0, ..Config::default() };
        let handle = CoordinatorHandle::open(&data, config, Arc::new(Problems)).unwrap();
        let site = CoordinatorSite { handle: handle.clone(), data, version: "0.0.1 <test>" };
        let at = start(Site { routes: coordinator_routes(site), door }).await;
        Self { handle, at, dir }
    }

    /// A worker, and its site.
    pub async fn worker(&self, name: &str) -> (WorkerWatch, SocketAddr) {
        let config = WorkerConfig {
            scratch: self.dir.path().join(name),
            memory_bytes: 128 << 20,
            disk_bytes: 1 << 30,
            slots: 1,
        };
        let worker = Worker::open(config, Arc::new(Problems)).unwrap();
        let watch = worker.watch();
        let at = start(Site { routes: worker_routes(watch.clone(), "0.0.1"), door: Door::open() }).await;
        let (handle, closing) = (self.handle.clone(), self.handle.clone());
        tokio::spawn(async move { worker.run(handle, async move { closing.closed().await }).await });
        (watch, at)
    }

    pub async fn counted(&self, size: &str) -> JobId {
        let job = self.handle.submit(go(size)).await.unwrap();
        self.until(job, |status| status.state.is_over()).await;
        job
    }

    pub async fn until(&self, job: JobId, wanted: impl Fn(&JobStatus) -> bool) -> JobStatus {
        let deadline = Instant::now() + Duration::from_secs(50);
        loop {
            let status = self.handle.status(job).await.unwrap();
            if wanted(&status) {
                return status;
            }
            assert!(Instant::now() < deadline, "waited in vain: {status:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn start(site: Site) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, site, std::future::pending()));
    at
}

/// An answer: its status, its head, its body.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

pub async fn get(at: SocketAddr, path: &str) -> Answer {
    ask(at, "GET", path, "").await
}

/// A request with more lines in its head, each with its end.
pub async fn ask(at: SocketAddr, method: &str, path: &str, more: &str) -> Answer {
    let host = if more.to_ascii_lowercase().contains("host:") { String::new() } else { format!("Host: {at}\r\n") };
    let stream = TcpStream::connect(at).await.unwrap();
    over(stream, &format!("{method} {path} HTTP/1.1\r\n{host}Connection: close\r\n{more}\r\n")).await
}

pub async fn over(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> Answer {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = Vec::new();
    let all = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut text)).await;
    // A server may close without TLS's farewell.
    assert!(all.is_ok(), "no end of the answer: {}", String::from_utf8_lossy(&text));
    let text = String::from_utf8(text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let code =
        head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no answer: {text:?}"));
    Answer { code, head: head.to_owned(), body: unchunked(head, body) }
}

/// The body without the lengths of its chunks.
fn unchunked(head: &str, body: &str) -> String {
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut rest, mut whole) = (body, String::new());
    while let Some((length, after)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        if length == 0 {
            break;
        }
        whole += &after[..length];
        rest = &after[length + 2..];
    }
    whole
}

/// Reads a stream of events until it holds `text`.
pub async fn stream_until(at: SocketAddr, more: &str, text: &str) -> String {
    let mut stream = TcpStream::connect(at).await.unwrap();
    let request = format!("GET /api/v1/events HTTP/1.1\r\nHost: {at}\r\nAccept: text/event-stream\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut came = String::new();
    let mut buffer = [0; 4096];
    let reading = async {
        while !came.contains(text) {
            let length = stream.read(&mut buffer).await.unwrap();
            assert!(length > 0, "the stream ended: {came}");
            came.push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), reading).await;
    assert!(ended.is_ok(), "no {text:?} in {came}");
    came
}

pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}
