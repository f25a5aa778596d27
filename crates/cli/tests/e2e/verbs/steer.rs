//! A job from submission to result, with the verbs of the client; a disk that fills up.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::cluster::{Cluster, Setup};
use crate::harness::process::{Process, command, keima, run, run_files, unfinished_run_files, until};
use crate::numbers::golden::legal;

const SLOW: &str = "worker.after_pull=sleep:40";

/// Submit, list, watch, result: two workers, the whole way.
#[test]
fn a_job_from_submission_to_result() {
    let cluster = Cluster::start(Setup::default());
    let job = cluster.submit("8x8");
    assert_eq!(job, "j1");
    let early = cluster.client(&["result", &job]);
    assert_eq!((early.code, early.stdout.as_str()), (Some(4), ""), "{early:#?}");
    assert!(early.stderr.contains("keima watch j1"), "{early:#?}");
    let waiting = cluster.client(&["status", &job]);
    let waiting = waiting.ok();
    assert!(waiting.contains("queued") && waiting.contains("position   not begun"), "{waiting}");
    let _workers = [cluster.worker("a", ""), cluster.worker("b", "")];
    let status = cluster.counts(&job, &legal("8x8"));
    assert_eq!(status["state"], "done");
    assert_eq!(cluster.client(&["result", &job]).ok(), legal("8x8"));
    assert!(cluster.client(&["result", &job, "--series"]).ok().lines().count() == 8);
    let result = cluster.client(&["result", &job, "--json"]).json();
    assert_eq!((&result["count"], &result["size"]), (&legal("8x8").into(), &"8x8".into()));
    assert!(result["checks"].as_array().is_some_and(|c| c.iter().all(|c| c["ok"] == true)), "{result}");
    let jobs = cluster.client(&["jobs", "--json"]).json();
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(1));
    assert!(cluster.client(&["jobs"]).ok().contains("8x8"));
    assert!(cluster.client(&["status", &job]).ok().contains(&legal("8x8")));
    // Nobody needs the runs of a finished job.
    until("empty scratch folders", || {
        ["a", "b"].iter().all(|w| run_files(&cluster.scratch(w)).is_empty()).then_some(())
    });
    let ran = cluster.client(&["submit", "go", "6x6", "--wait", "--json"]);
    assert_eq!(ran.json()["count"], legal("6x6"));
    // Boards of one size with other options are told apart.
    assert_eq!(cluster.client(&["submit", "knight", "4x4", "--closed", "--wait"]).ok(), "0");
    assert!(cluster.client(&["jobs"]).ok().contains("4x4 closed  done"));
}

/// Names, owners and priorities of jobs, their list in pages, caps: without a worker first, so that nothing moves.
#[test]
fn jobs_of_several_people() {
    let cluster = Cluster::start(Setup::default());
    for (words, job) in [
        ("go 6x6 --name nightly --note for-the-page --owner ada --max-workers 1", "j1"),
        ("go 5x5 --name nightly --owner bob --priority 3", "j2"),
        ("hard-squares 5x5 --name once --owner ada", "j3"),
    ] {
        let words: Vec<&str> = std::iter::once("submit").chain(words.split(' ')).collect();
        assert_eq!(cluster.client(&words).ok(), job);
    }
    // What a list prints, line by line without its head: jobs; and exit code and words of errors.
    let check = |words: &str, expected: &[&str]| {
        let words: Vec<&str> = words.split(' ').collect();
        let ran = cluster.client(&words);
        let jobs: Vec<&str> = ran.ok().lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(jobs, expected, "{words:?}: {ran:#?}");
    };
    check("jobs", &["j3", "j2", "j1"]);
    check("jobs --owner ada", &["j3", "j1"]);
    check("jobs --name nightly --state queued,done", &["j2", "j1"]);
    check("jobs --limit 2", &["j3", "j2"]);
    check("jobs --limit 2 --after j2", &["j1"]);
    check("jobs --state cancelled", &[]);
    check("jobs --since 1d", &["j3", "j2", "j1"]);
    let refuse = |words: &str, code: i32, text: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let ran = cluster.client(&words);
        assert!(ran.code == Some(code) && ran.stderr.contains(text), "{words:?}: {ran:#?}");
    };
    refuse("status nightly", 2, "2 jobs are called \"nightly\": j2 (queued), j1 (queued)");
    refuse("status nobody", 2, "keima jobs");
    refuse("change j1", 2, "nothing to change");
    refuse("submit go 5x5 --name j7", 2, "take another --name");
    refuse("submit go 13x13 --max-disk 10KiB", 2, "--max-disk");
    let status = cluster.client(&["status", "once", "--json"]).json();
    assert_eq!(
        (&status["job"], &status["waits_for"], &status["owner"]),
        (&"j3".into(), &"a worker".into(), &"ada".into())
    );
    cluster.client(&["change", "once", "--priority", "9", "--name", "urgent", "--max-workers", "0"]).ok();
    let status = cluster.client(&["status", "urgent"]);
    assert!(status.ok().contains("priority   9") && !status.ok().contains("caps"), "{status:#?}");
    let _worker = cluster.worker("a", "");
    for (job, count) in [("j3", "55447"), ("j2", "414295148741"), ("j1", &legal("6x6"))] {
        cluster.counts(job, count);
    }
    refuse("change j1 --priority 1", 1, "only its name, note and owner can be changed");
    cluster.client(&["change", "j1", "--name", "done"]).ok();
    assert_eq!(cluster.client(&["result", "done"]).ok(), legal("6x6"));
}

/// A job leaves the list when it is over: its file holds all that a result needs.
#[test]
fn jobs_that_are_over_become_files() {
    let environment = vec![("KEIMA_KEEP_JOBS".to_owned(), "0".to_owned())];
    let cluster = Cluster::start(Setup { environment, ..Setup::default() });
    let _worker = cluster.worker("a", "");
    // Whoever waits gets the number, wherever the job is by then.
    let words = ["submit", "go", "6x6", "--series", "--name", "nightly", "--wait"];
    assert!(cluster.client(&words).ok().ends_with(&legal("6x6")));
    let file = cluster.data().join("ended/j1-go-6x6.json");
    until("an empty list", || cluster.client(&["jobs"]).stderr.contains("no jobs yet").then_some(()));
    let listed = cluster.client(&["jobs", "--archived"]);
    assert!(listed.ok().lines().nth(1).is_some_and(|line| line.starts_with("j1 ")), "{listed:#?}");
    assert!(cluster.client(&["jobs", "--archived", "--owner", "nobody"]).stderr.contains("no such jobs"));
    assert_eq!(cluster.client(&["result", "j1"]).ok(), legal("6x6"));
    assert_eq!(cluster.client(&["result", "nightly", "--series"]).ok().lines().count(), 6);
    assert!(cluster.client(&["status", "j1"]).ok().contains("last value L(6,6) = "));
    assert_eq!(cluster.client(&["watch", "j1"]).ok(), legal("6x6"));
    let verified = keima(&["verify", file.to_str().unwrap()]);
    assert!(verified.ok().contains("go 6x6") && !verified.ok().contains("FAILED"), "{verified:#?}");
    let whole = cluster.client(&["result", "j1", "--json"]).json();
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    for field in ["count", "residues", "checks", "certificate", "state", "job", "identity", "builds"] {
        assert_eq!(whole[field], kept[field], "{field}");
    }
    let refused = cluster.client(&["change", "j1", "--note", "late"]);
    assert!(refused.code == Some(1) && refused.stderr.contains(file.to_str().unwrap()), "{refused:#?}");
    std::fs::remove_file(&file).unwrap();
    assert!(cluster.client(&["result", "j1"]).stderr.contains("no job j1"));
}

#[test]
fn pause_resume_cancel() {
    let cluster = Cluster::start(Setup::default());
    let _worker = cluster.worker("a", SLOW);
    let job = cluster.submit("8x8");
    cluster.at_stage(&job, 4);
    let paused = cluster.pause(&job);
    let ran = cluster.client(&["result", &job]);
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    assert!(ran.stderr.contains("paused"), "{ran:#?}");
    // An interrupt ends the watch, not the job.
    let mut watch = Process::start("watch", &["watch", &job, "--coordinator", &cluster.url], "");
    watch.says("paused", 1);
    watch.signal("INT");
    assert_eq!(watch.ended().code(), Some(4));
    assert!(
        watch.stderr().contains(&format!(
            "stopped watching {job}, which goes on as before; `keima watch {job}` follows it again"
        )),
        "{}",
        watch.stderr()
    );
    // Another job gets the worker meanwhile.
    let other = cluster.submit("6x6");
    cluster.counts(&other, &legal("6x6"));
    let still = cluster.status(&job);
    assert_eq!((&still["stage"], &still["tasks_done"]), (&paused["stage"], &paused["tasks_done"]));
    cluster.client(&["resume", &job]).ok();
    cluster.counts(&job, &legal("8x8"));

    let third = cluster.submit("8x8");
    cluster.at_stage(&third, 4);
    assert!(!run_files(&cluster.scratch("a")).is_empty());
    cluster.client(&["cancel", &third]).ok();
    let ran = cluster.client(&["watch", &third]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), ""), "{ran:#?}");
    until("an empty scratch folder", || run_files(&cluster.scratch("a")).is_empty().then_some(()));
    let ran = cluster.client(&["resume", &third]);
    assert!(ran.code != Some(0) && ran.stderr.contains("cancelled"), "{ran:#?}");
}

/// An orderly stop of a worker and of the coordinator loses nothing.
#[test]
fn services_stop_in_order() {
    let mut cluster = Cluster::start(Setup { grace_seconds: "60", ..Setup::default() });
    let mut worker = cluster.worker("a", SLOW);
    let job = cluster.submit("7x7");
    cluster.at_stage(&job, 3);
    worker.signal("TERM");
    assert_eq!(worker.ended().code(), Some(0));
    cluster.coordinator.signal("INT");
    assert_eq!(cluster.coordinator.ended().code(), Some(0));
    cluster.restart_coordinator();
    let _again = cluster.worker("a", "");
    let status = cluster.counts(&job, &legal("7x7"));
    assert!(!crate::harness::cluster::notes(&status).contains("fell back"), "{status}");
}

/// A worker reaches its disk limit: the job pauses and names the folder. With a larger limit it continues.
#[test]
fn a_workers_disk_is_full() {
    let cluster = Cluster::start(Setup { grace_seconds: "60", ..Setup::default() });
    let mut worker = cluster.worker_with_disk("a", "1MiB", "");
    let job = cluster
        .client(&["submit", "go", "8x8", "--disk", "1GiB", "--task-memory", "64MiB", "--executor", "stream"])
        .ok()
        .to_owned();
    let paused = cluster.when(&job, "a pause for want of disk", |s| s["state"] == "paused");
    let reason = paused["reason"].as_str().unwrap();
    let folder = cluster.scratch("a").canonicalize().unwrap();
    assert!(reason.contains(folder.to_str().unwrap()), "{reason}");
    assert!(reason.contains("--disk") && reason.contains("keima resume j1"), "{reason}");
    let ran = cluster.client(&["result", &job]);
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    worker.signal("TERM");
    worker.ended();
    // Nobody has to resume it.
    let _again = cluster.worker("a", "");
    cluster.counts(&job, &legal("8x8"));
}

/// The same for `keima count`: killed, then started again with a lower limit.
#[test]
fn a_counts_disk_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["count", "go", "8x8", "--threads", "1", "--checkpoint-seconds", "0"];
    let args = [&args[..], &["--data", dir.path().to_str().unwrap()]].concat();
    let mut counting = Process::start("count", &args, SLOW);
    counting.says("failpoint worker.after_pull hit", 10);
    counting.kill();
    let full = keima(&[&args[..], &["--disk", "1MiB"]].concat());
    assert_eq!((full.code, full.stdout.as_str()), (Some(4), ""), "{full:#?}");
    let folder = dir.path().join("scratch").canonicalize().unwrap();
    assert!(full.stderr.contains(folder.to_str().unwrap()) && full.stderr.contains("--disk"), "{full:#?}");
    assert_eq!(keima(&args).ok(), legal("8x8"));
}

/// Some file systems report a full disk only when a run is flushed. Then the files of the task are deleted.
#[test]
fn a_disk_is_full_when_a_run_is_flushed() {
    for executor in ["stream", "block"] {
        let dir = tempfile::tempdir().unwrap();
        let args = ["count", "go", "8x8", "--threads", "1", "--checkpoint-seconds", "0", "--executor", executor];
        let args = [&args[..], &["--data", dir.path().to_str().unwrap()]].concat();
        let mut counting = command(&args);
        counting.env("KEIMA_FAILPOINT", "worker.before_durable=full@20+");
        let full = run(counting);
        assert!(full.stderr.contains("failpoint worker.before_durable hit"), "{executor}: {full:#?}");
        assert_eq!((full.code, full.stdout.as_str()), (Some(4), ""), "{executor}: {full:#?}");
        let folder = dir.path().join("scratch").canonicalize().unwrap();
        assert!(full.stderr.contains(folder.to_str().unwrap()) && full.stderr.contains("flush"), "{full:#?}");
        assert!(!run_files(&folder).is_empty(), "{executor}");
        assert_eq!(unfinished_run_files(&folder), Vec::<PathBuf>::new(), "{executor}: leftovers");
        let ran = keima(&args);
        assert_eq!(ran.ok(), legal("8x8"), "{executor}");
        assert!(ran.stderr.contains("continuing go 8x8"), "{executor}: {ran:#?}");
    }
}

/// A disk that is full once may only wait for runs to be deleted.
#[test]
fn a_disk_that_has_room_again_stops_nobody() {
    for executor in ["stream", "block"] {
        let dir = tempfile::tempdir().unwrap();
        let args = ["count", "go", "8x8", "--threads", "1", "--checkpoint-seconds", "0", "--executor", executor];
        let mut counting = command(&[&args[..], &["--data", dir.path().to_str().unwrap()]].concat());
        counting.env("KEIMA_FAILPOINT", "worker.before_durable=full@20");
        let ran = run(counting);
        assert!(ran.stderr.contains("failpoint worker.before_durable hit"), "{executor}: {ran:#?}");
        assert_eq!(ran.ok(), legal("8x8"), "{executor}");
    }
}

/// A panic in work beside the next task ends the count. Unseen, the next task could wait for that work for ever.
#[test]
fn a_panic_beside_a_task_ends_the_count() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["count", "go", "8x8", "--threads", "1", "--checkpoint-seconds", "0", "--executor", "stream"];
    let args = [&args[..], &["--data", dir.path().to_str().unwrap()]].concat();
    let mut counting = command(&args);
    counting.env("KEIMA_FAILPOINT", "worker.before_report=panic@3");
    let broken = run(counting);
    assert!(broken.stderr.contains("failpoint worker.before_report hit"), "{broken:#?}");
    assert!(broken.code.is_some_and(|code| code != 0) && broken.stdout.is_empty(), "{broken:#?}");
    assert!(broken.stderr.contains("a part of the worker failed"), "{broken:#?}");
    assert_eq!(keima(&args).ok(), legal("8x8"));
}
