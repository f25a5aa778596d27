//! Signals that ask a process to stop: the first one stops it in order, the second one at once. Both can be resumed.

use std::time::Duration;

use crate::harness::cluster::{Cluster, Setup, notes};
use crate::harness::process::{Process, keima};
use crate::numbers::golden::legal;

/// Longer than the time within which two signals are one request.
const APART: Duration = Duration::from_millis(600);
/// Hangs until the process ends.
const HANGS: &str = "sleep:600000";

/// Two requests to a process that cannot stop in order, since something in it hangs.
fn asked_twice(process: &mut Process, first: &str, second: &str) {
    process.signal(first);
    // On a busy machine the process may hear of the first one late.
    for _ in 0..10 {
        std::thread::sleep(APART);
        if !process.is_alive() {
            break;
        }
        process.signal(second);
    }
    assert_eq!(process.ended().code(), Some(4), "SIG{first}, SIG{second}: {}", process.stderr());
    assert!(process.stderr().contains("asked to stop twice"), "{}", process.stderr());
}

/// The tasks of a worker that is asked to stop are there for others at once, not when its lease ends.
#[test]
fn a_worker_hands_its_tasks_back() {
    let cluster = Cluster::start(Setup { lease_seconds: "300", grace_seconds: "1", ..Setup::default() });
    let mut a = cluster.worker("a", "worker.after_pull=sleep:40;worker.mid_task=sleep:700@12");
    let job = cluster.submit("7x7");
    a.says("failpoint worker.mid_task hit", 1);
    let busy = cluster.status(&job);
    assert_eq!((&busy["state"], busy["tasks_running"].as_u64()), (&"running".into(), Some(1)), "{busy}");
    a.signal("TERM");
    assert_eq!(a.ended().code(), Some(0), "{}", a.stderr());
    let status = cluster.status(&job);
    assert_eq!(status["tasks_running"], 0, "{status}");
    let _b = cluster.worker("b", "");
    cluster.counts(&job, &legal("7x7"));
}

/// A worker whose task hangs would wait for it; asked twice it does not. Started again, it goes on.
#[test]
fn a_worker_leaves_at_once() {
    for (first, second) in [("TERM", "TERM"), ("INT", "TERM")] {
        let cluster = Cluster::start(Setup { grace_seconds: "60", ..Setup::default() });
        let mut worker = cluster.worker("a", &format!("worker.mid_task={HANGS}@12"));
        let job = cluster.submit("7x7");
        worker.says("failpoint worker.mid_task hit", 1);
        asked_twice(&mut worker, first, second);
        let _again = cluster.worker("a", "");
        let status = cluster.counts(&job, &legal("7x7"));
        assert!(!notes(&status).contains("fell back"), "{status}");
    }
}

/// Scripts that start a coordinator for its credentials stop it as soon as it says that it is ready.
#[test]
fn a_coordinator_stops_in_order_from_the_moment_it_is_ready() {
    let setup = Setup { failpoint: "coordinator.after_ready=sleep:500", ..Setup::default() };
    let mut cluster = Cluster::start(setup);
    cluster.coordinator.signal("TERM");
    assert_eq!(cluster.coordinator.ended().code(), Some(0), "{}", cluster.coordinator.stderr());
}

/// A coordinator that cannot store any more, because its disk hangs.
#[test]
fn a_coordinator_leaves_at_once() {
    let setup =
        Setup { failpoint: "coordinator.before_commit=sleep:600000@15", grace_seconds: "60", ..Setup::default() };
    let mut cluster = Cluster::start(setup);
    let job = cluster.submit("7x7");
    let _worker = cluster.worker("a", "");
    cluster.coordinator.says("failpoint coordinator.before_commit hit", 1);
    asked_twice(&mut cluster.coordinator, "TERM", "INT");
    cluster.restart_coordinator();
    let status = cluster.counts(&job, &legal("7x7"));
    assert!(!notes(&status).contains("fell back"), "{status}");
}

/// A count with runs on disk whose task hangs, so that it cannot flush what it has reached.
#[test]
fn a_count_leaves_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["count", "go", "8x8", "--executor", "stream", "--threads", "1", "--checkpoint-seconds", "0"];
    let args = [&args[..], &["--data", dir.path().to_str().unwrap()]].concat();
    let mut counting = Process::start("count", &args, &format!("worker.mid_task={HANGS}@40"));
    counting.says("failpoint worker.mid_task hit", 1);
    asked_twice(&mut counting, "INT", "INT");
    assert_eq!(counting.stdout(), "");
    let ran = keima(&args);
    assert_eq!(ran.ok(), legal("8x8"));
    assert!(ran.stderr.contains("continuing go 8x8"), "{ran:#?}");
}

/// What comes together is one request: `timeout` signals its command and then the whole group.
#[test]
fn two_signals_at_one_moment_are_one_request() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["count", "go", "8x8", "--executor", "stream", "--threads", "1", "--checkpoint-seconds", "0"];
    let args = [&args[..], &["--data", dir.path().to_str().unwrap()]].concat();
    let mut counting = Process::start("count", &args, "worker.after_pull=sleep:40");
    counting.says("failpoint worker.after_pull hit", 20);
    counting.signals(&["TERM", "TERM"]);
    assert_eq!(counting.ended().code(), Some(4), "{}", counting.stderr());
    let said = counting.stderr();
    assert!(said.contains("the same command continues") && !said.contains("twice"), "{said}");
    assert_eq!(keima(&args).ok(), legal("8x8"));
}
