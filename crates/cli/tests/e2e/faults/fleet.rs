//! Workers that come late, twice, or without a word; folders and terminals that go away; connections that stay silent.

use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::harness::cluster::{Cluster, Setup};
use crate::harness::process::{Process, command, keima, run, run_files, until};
use crate::numbers::golden::legal;

const SLOW: &str = "worker.after_pull=sleep:40";

fn copy_folder(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["-a", from.to_str().unwrap(), to.to_str().unwrap()]).status().unwrap();
    assert!(copied.success());
}

/// A job that is submitted before any worker is there runs where workers have less memory for a task than was guessed.
#[test]
fn a_job_waits_for_its_first_worker() {
    let cluster = Cluster::start(Setup::default());
    let job = cluster.client(&["submit", "go", "7x7"]);
    assert!(job.stderr.contains("waits for one"), "{job:#?}");
    let guessed = cluster.client(&["status", job.ok()]).ok().to_owned();
    assert!(guessed.contains("256 MiB a task"), "{guessed}");
    let _worker = cluster.worker("a", "");
    let status = cluster.counts(job.ok(), &legal("7x7"));
    let planned = cluster.client(&["status", job.ok()]).ok().to_owned();
    assert!(!planned.contains("256 MiB a task"), "{planned}");
    assert_eq!(status["notes"].as_array().map(Vec::len), Some(0), "{status}");
}

/// A copied scratch folder: the second process of the name is refused and ends. The job goes on; with a name of its own the
/// second worker is taken on.
#[test]
fn a_copied_scratch_folder_is_refused() {
    let cluster = Cluster::start(Setup::default());
    let mut first = cluster.worker("a", "");
    first.signal("TERM");
    assert_eq!(first.ended().code(), Some(0));
    copy_folder(&cluster.scratch("a"), &cluster.scratch("b"));
    let _first = cluster.worker("a", SLOW);
    until("the first worker", || {
        (cluster.client(&["workers", "--json"]).json()["workers"][0]["state"] == "here").then_some(())
    });
    let job = cluster.submit("8x8");
    cluster.at_stage(&job, 1);
    let mut second = cluster.start_worker("b", "1GiB", "");
    assert_eq!(second.ended().code(), Some(6), "{}", second.stderr());
    let said = second.stderr();
    for words in
        ["at work already", "worker.id", "worker.lock", cluster.scratch("a").canonicalize().unwrap().to_str().unwrap()]
    {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(said.lines().count() < 30, "{said}");
    for file in ["worker.id", "worker.lock"] {
        std::fs::remove_file(cluster.scratch("b").join(file)).unwrap();
    }
    let _second = cluster.worker("b", "");
    let status = cluster.counts(&job, &legal("8x8"));
    assert!(!crate::harness::cluster::notes(&status).contains("fell back"), "{status}");
    let workers = cluster.client(&["workers", "--json"]).json();
    assert_eq!(workers["workers"].as_array().map(Vec::len), Some(2), "{workers}");
    let table = cluster.client(&["workers"]).ok().to_owned();
    assert_eq!(table.lines().filter(|line| line.contains("  here ")).count(), 2, "{table}");
}

/// A worker's name that was changed, and a scratch or data folder that is a link to nowhere.
#[test]
fn folders_that_are_not_what_they_seem() {
    let cluster = Cluster::start(Setup::default());
    let mut worker = cluster.worker("a", "");
    worker.signal("TERM");
    worker.ended();
    std::fs::write(cluster.scratch("a").join("worker.id"), "00112233445566aa\n").unwrap();
    std::os::unix::fs::symlink(cluster.scratch("gone"), cluster.scratch("link")).unwrap();
    let (a, link) = (cluster.scratch("a"), cluster.scratch("link"));
    let worker =
        |scratch: &Path| keima(&["worker", "--coordinator", &cluster.url, "--scratch", scratch.to_str().unwrap()]);
    let data = |data: &Path| keima(&["coordinator", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    for (ran, words) in [
        (worker(&a), "its name was changed"),
        (worker(&link), "is a symbolic link to"),
        (data(&link), "is a symbolic link to"),
        (data(&a.join("worker.id")), "is a file, not a folder"),
    ] {
        assert_eq!((ran.code, ran.stderr.contains(words)), (Some(1), true), "{words}: {ran:#?}");
    }
}

/// A coordinator's store that is gone or emptied beside its log is not started over in silence.
#[test]
fn a_lost_store_is_not_started_over() {
    for empty in [false, true] {
        let mut cluster = Cluster::start(Setup::default());
        let job = cluster.submit("7x7");
        cluster.coordinator.kill();
        let data = cluster.scratch("data");
        let (store, copy) = (data.join("coordinator.redb"), data.join("copy"));
        std::fs::rename(&store, &copy).unwrap();
        if empty {
            std::fs::write(&store, "").unwrap();
        }
        let ran = keima(&["coordinator", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        for words in ["are lost", if empty { "is empty" } else { "is missing" }, "coordinator.log", "copy"] {
            assert!(ran.stderr.contains(words), "{words}: {ran:#?}");
        }
        std::fs::rename(&copy, &store).unwrap();
        cluster.restart_coordinator();
        let _worker = cluster.worker("a", "");
        cluster.counts(&job, &legal("7x7"));
    }
}

/// A terminal that hangs up stops services and counts in order; with `nohup` they outlive it.
#[test]
fn a_hangup_is_a_request_to_stop() {
    let mut cluster = Cluster::start(Setup { grace_seconds: "60", ..Setup::default() });
    let mut worker = cluster.worker("a", SLOW);
    let job = cluster.submit("7x7");
    cluster.at_stage(&job, 2);
    worker.signal("HUP");
    assert_eq!(worker.ended().code(), Some(0), "{}", worker.stderr());
    cluster.coordinator.signal("HUP");
    assert_eq!(cluster.coordinator.ended().code(), Some(0));
    cluster.restart_coordinator();
    let _again = cluster.worker("a", "");
    cluster.counts(&job, &legal("7x7"));

    let args = ["count", "go", "8x8", "--executor", "stream", "--memory", "128MiB", "--threads", "1", "--data"];
    let counting = |nohup: bool| {
        // A folder of its own: the runs are then those of this process, which has set its signals by then.
        let dir = tempfile::tempdir().unwrap();
        let args = [&args[..], &[dir.path().to_str().unwrap()]].concat();
        let keima = command(&args);
        let script = if nohup { "trap '' HUP; exec \"$0\" \"$@\"" } else { "exec \"$0\" \"$@\"" };
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(keima.get_program()).args(keima.get_args());
        shell.env("KEIMA_FAILPOINT", "worker.after_pull=sleep:20").process_group(0);
        let process = Process::spawn("count", shell);
        until("runs", || (!run_files(dir.path()).is_empty()).then_some(()));
        (process, dir)
    };
    let (mut stops, _dir) = counting(false);
    stops.signal("HUP");
    assert_eq!(stops.ended().code(), Some(4), "{}", stops.stderr());
    let (mut outlives, _dir) = counting(true);
    outlives.signal("HUP");
    assert_eq!(outlives.ended().code(), Some(0), "{}", outlives.stderr());
    assert_eq!(outlives.stdout().trim_end(), legal("8x8"));
}

/// More silent connections than the process has file descriptors: users and workers get in all the same.
#[test]
fn silent_connections_shut_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    let keima = command(&["coordinator", "--listen", "127.0.0.1:0", "--data", dir.path().to_str().unwrap()]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""]).arg(keima.get_program()).args(keima.get_args());
    let mut coordinator = Process::spawn("coordinator", shell);
    let url = coordinator.ready("coordinator ready at ");
    let address = url.strip_prefix("http://").unwrap();
    let silent: Vec<TcpStream> = (0..100).filter_map(|_| TcpStream::connect(address).ok()).collect();
    assert!(silent.len() >= 90, "{}", silent.len());
    for _ in 0..3 {
        let mut jobs = command(&["jobs", "--json", "--coordinator", &url]);
        jobs.env("KEIMA_LOG", "off");
        assert_eq!(run(jobs).json()["jobs"].as_array().map(Vec::len), Some(0));
    }
    coordinator.signal("TERM");
    assert_eq!(coordinator.ended().code(), Some(0));
}

/// A cancelled job shows no part done.
#[test]
fn a_cancelled_job_is_not_complete() {
    let cluster = Cluster::start(Setup::default());
    let job = cluster.submit("8x8");
    cluster.client(&["cancel", &job]).ok();
    let watched = cluster.client(&["watch", &job]);
    assert_eq!((watched.code, watched.stderr.contains('%')), (Some(5), false), "{watched:#?}");
    assert_eq!(cluster.status(&job)["pass"], 0, "nothing was done");
    // A problem without a forecast shows none.
    let knight = cluster.client(&["submit", "knight", "4x4", "--closed"]).ok().to_owned();
    let status = cluster.client(&["status", &knight]).ok().to_owned();
    assert!(!status.contains("forecast"), "{status}");
}
