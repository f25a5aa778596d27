//! Workers that reach each other through their services only. They run on one machine, so the file that would show one of
//! them the folder of another is deleted before they look.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::harness::cluster::{Cluster, EXECUTORS, Setup};
use crate::harness::process::{Process, keima};
use crate::numbers::golden::legal;

/// Each worker reads runs of the other through its service, at a URL that begins with `at`. The residues equal those of one
/// process.
fn check(setup: Setup, at: &str) {
    let executor = setup.executor;
    // Without second copies all that is sent is what tasks read.
    let cluster = Cluster::start(Setup { second_copies: false, ..setup });
    let [a, b] = ["a", "b"].map(|name| {
        // Tasks take so long that each worker gets some of every stage.
        let worker = cluster.worker(name, "run_server.mid_stream=sleep:0;worker.after_pull=sleep:20");
        std::fs::remove_file(cluster.scratch(name).join("worker.id")).unwrap();
        worker
    });
    let workers = cluster.client(&["workers", "--json"]).json();
    for worker in workers["workers"].as_array().unwrap() {
        assert!(worker["address"].as_str().unwrap().starts_with(at), "{at}: {workers}");
    }
    let job = cluster.submit("8x8");
    let status = cluster.counts(&job, &legal("8x8"));
    for worker in [&a, &b] {
        let chunks = worker.stderr().matches("failpoint run_server.mid_stream hit").count();
        assert!(chunks > 0, "{executor} at {at}: nothing was sent: {status}");
    }
    let alone = tempfile::tempdir().unwrap();
    let data = alone.path().to_str().unwrap();
    let alone = keima(&["count", "go", "8x8", "--executor", executor, "--json", "--quiet", "--data", data]).json();
    let found = cluster.client(&["result", &job, "--json"]).json();
    assert_eq!(found["residues"], alone["residues"], "{executor} at {at}");
}

#[test]
fn inputs_come_over_the_network() {
    for executor in EXECUTORS {
        check(Setup { executor, ..Setup::default() }, "http://127.0.0.1:");
    }
}

#[test]
fn inputs_come_from_workers_that_are_known_by_a_name() {
    check(Setup { advertise: Some("localhost"), ..Setup::default() }, "http://localhost:");
}

#[test]
fn a_cluster_with_ipv6_alone_counts() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: this machine has no IPv6");
        return;
    }
    check(Setup { host: "[::1]", ..Setup::default() }, "http://[::1]:");
}

/// A worker looks for its own address while the name of its coordinator leads nowhere. It is alive, not ready, and leaves.
#[test]
fn a_worker_without_an_address_answers_for_its_health() {
    let dir = tempfile::tempdir().unwrap();
    let args =
        ["worker", "--coordinator", "http://coordinator.invalid:7700", "--scratch", dir.path().to_str().unwrap()];
    let more = ["--listen", "0.0.0.0:0", "--http", "127.0.0.1:0", "--insecure", "--threads", "1", "--memory", "128MiB"];
    let mut worker = Process::start("worker", &[&args[..], &more].concat(), "");
    worker.says("found no route", 1);
    worker.says("metrics and health at ", 1);
    let said = worker.stderr();
    let page = said.split("metrics and health at http://").nth(1).unwrap().split_whitespace().next().unwrap();
    for (path, begins) in [("/healthz", "HTTP/1.1 200 "), ("/readyz", "HTTP/1.1 503 ")] {
        let mut asked = TcpStream::connect(page).unwrap();
        asked.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        write!(asked, "GET {path} HTTP/1.1\r\nHost: {page}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        asked.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(begins), "{path}: {answer}");
    }
    worker.signal("TERM");
    assert_eq!(worker.ended().code(), Some(0), "{}", worker.stderr());
}
