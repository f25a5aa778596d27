//! Processes die, folders vanish: the number stays right, and notes say what was lost.
//!
//! A worker that should die at a point is alone at first, so that it reaches the point. `SLOW` makes tasks slow, so that a
//! kill still meets the stage that the status showed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::harness::cluster::{Cluster, EXECUTORS, Setup, notes};
use crate::harness::process::{Process, command, keima, run, run_files, unfinished_run_files, until};
use crate::numbers::golden::legal;

/// Each task waits after its grant.
const SLOW: &str = "worker.after_pull=sleep:40";

/// Points where a worker can die in a task, and how often it passes them first, so that boundaries exist.
const IN_A_TASK: [(&str, u32); 5] = [
    ("worker.after_pull", 9),
    ("worker.mid_task", 20),
    ("worker.before_durable", 9),
    ("worker.before_report", 10),
    ("worker.after_report", 11),
];

/// A worker dies in a task and is started again on its folder: only that task is lost.
#[test]
fn a_worker_dies_and_comes_back() {
    for ((point, time), executor) in IN_A_TASK.into_iter().flat_map(|point| EXECUTORS.map(|executor| (point, executor)))
    {
        let cluster = Cluster::start(Setup { grace_seconds: "60", executor, ..Setup::default() });
        let job = cluster.submit("8x8");
        cluster.worker("a", &format!("{point}=abort@{time}")).died_at(point);
        let found = cluster.status(&job);
        assert_eq!(found["state"], "running", "{point}: {found}");
        let _again = cluster.worker("a", "");
        let status = cluster.counts(&job, &legal("8x8"));
        assert!(!notes(&status).contains("fell back"), "{point}: {status}");
    }
}

/// A worker dies in a task with its disk and never returns: another worker computes its runs again.
#[test]
fn a_worker_dies_and_stays_away() {
    for ((point, time), executor) in IN_A_TASK.into_iter().zip(EXECUTORS.into_iter().cycle()) {
        let cluster = Cluster::start(Setup { grace_seconds: "1", executor, ..Setup::default() });
        let job = cluster.submit("8x8");
        cluster.worker("a", &format!("{point}=abort@{time}")).died_at(point);
        // Else the other one reads the dead one's folder, which it sees on this machine.
        std::fs::remove_dir_all(cluster.scratch("a")).unwrap();
        let _other = cluster.worker("b", "");
        let status = cluster.counts(&job, &legal("8x8"));
        let notes = notes(&status);
        assert!(notes.contains("fell back") && notes.contains("the start of sweep 1"), "{point}: {status}");
    }
}

/// The thread of a task panics: the worker lives on, the task runs again, and a note tells why.
#[test]
fn a_task_panics() {
    let cluster = Cluster::start(Setup::default());
    let mut worker = cluster.worker("a", "worker.mid_task=panic@9");
    let job = cluster.submit("7x7");
    let status = cluster.counts(&job, &legal("7x7"));
    assert!(worker.is_alive() && worker.stderr().contains("failpoint worker.mid_task hit"));
    assert!(notes(&status).contains("panic"), "{status}");
}

/// Other problems on three workers. Each is killed by kill -9 in the middle of a task and started again. Number, tables and
/// residues equal those of a count in one process.
#[test]
fn all_workers_are_killed_in_tasks_of_other_problems() {
    for (words, known) in [(["knight", "6x6", "--open"], Some("3318960")), (["quoridor", "6", "--all"], None)] {
        // Single passes: many stages, and so many tasks.
        let words = [&words[..], &["--window", "1"]].concat();
        let data = tempfile::tempdir().unwrap();
        let alone = keima(&[&["count"], &words[..], &["--json", "--data", data.path().to_str().unwrap()]].concat());
        let alone = alone.json();
        assert!(known.is_none_or(|known| alone["count"] == known), "{words:?}: {alone}");

        let cluster = Cluster::start(Setup { grace_seconds: "60", ..Setup::default() });
        let job = cluster.submit_words(&words);
        // At its third input a worker hangs until it is killed. Those that were are slow, so that there is work for the
        // others.
        let hang = "worker.mid_task=sleep:600000@3";
        let mut armed: Vec<(&str, Process)> =
            ["a", "b", "c"].into_iter().map(|name| (name, cluster.worker(name, hang))).collect();
        let mut again = Vec::new();
        while !armed.is_empty() {
            let hit = "failpoint worker.mid_task hit";
            let at = until("a worker in a task", || armed.iter().position(|(_, worker)| worker.stderr().contains(hit)));
            let (name, mut worker) = armed.swap_remove(at);
            let identity = std::fs::read_to_string(cluster.scratch(name).join("worker.id")).unwrap();
            let status = cluster.status(&job);
            let rows = status["workers"].as_array().unwrap();
            let busy = rows.iter().any(|row| row["worker"] == identity.trim() && row["running"].as_u64() > Some(0));
            assert!(status["state"] == "running" && busy, "{name} {identity}: {status}");
            worker.kill();
            again.push(cluster.worker(name, SLOW));
        }
        let result = cluster.client(&["watch", &job, "--json"]).json();
        let status = cluster.status(&job);
        assert!(!notes(&status).contains("fell back"), "{words:?}: {status}");
        for field in ["count", "counts", "residues"] {
            assert_eq!(result[field], alone[field], "{words:?}: {field}");
        }
    }
}

/// The coordinator dies around a commit; the workers stay up and find it again.
#[test]
fn the_coordinator_dies_and_comes_back() {
    for (point, time) in [("coordinator.before_commit", 40), ("coordinator.after_commit", 60)] {
        let failpoint: &str = &format!("{point}=abort@{time}");
        let setup = Setup { failpoint: Box::leak(failpoint.to_owned().into_boxed_str()), ..Setup::default() };
        let mut cluster = Cluster::start(setup);
        let job = cluster.submit("8x8");
        let mut workers = [cluster.worker("a", SLOW), cluster.worker("b", SLOW)];
        cluster.coordinator.died_at(point);
        cluster.restart_coordinator();
        let status = cluster.counts(&job, &legal("8x8"));
        assert!(status["resumed_from"].is_string(), "{point}: {status}");
        assert!(workers.iter_mut().all(Process::is_alive), "{point}");
    }
}

/// kill -9 of the coordinator in a running stage, several times.
#[test]
fn the_coordinator_is_killed() {
    for executor in EXECUTORS {
        let mut cluster = Cluster::start(Setup { executor, ..Setup::default() });
        let job = cluster.submit("8x8");
        let mut workers = [cluster.worker("a", SLOW), cluster.worker("b", SLOW)];
        for stage in [3, 7, 11] {
            cluster.at_stage(&job, stage);
            cluster.coordinator.kill();
            cluster.restart_coordinator();
        }
        let status = cluster.counts(&job, &legal("8x8"));
        assert!(status["resumed_from"].is_string(), "{status}");
        assert!(workers.iter_mut().all(Process::is_alive));
    }
}

/// kill -9 of everything: all start again on their folders and continue where they were.
#[test]
fn everything_is_killed() {
    for executor in EXECUTORS {
        let mut cluster = Cluster::start(Setup { grace_seconds: "60", executor, ..Setup::default() });
        let job = cluster.submit("8x8");
        let mut workers = [cluster.worker("a", SLOW), cluster.worker("b", SLOW)];
        cluster.at_stage(&job, 6);
        cluster.coordinator.kill();
        workers.iter_mut().for_each(Process::kill);
        cluster.restart_coordinator();
        let before = cluster.status(&job);
        assert!(before["stage"].as_u64() >= Some(6) && before["resumed_from"].is_string(), "{before}");
        let _again = [cluster.worker("a", ""), cluster.worker("b", "")];
        let status = cluster.counts(&job, &legal("8x8"));
        assert!(!notes(&status).contains("fell back"), "{status}");
    }
}

fn names(cluster: &Cluster, worker: &str) -> BTreeSet<PathBuf> {
    let scratch = cluster.scratch(worker);
    run_files(&scratch).iter().map(|path| path.strip_prefix(&scratch).unwrap().to_owned()).collect()
}

/// The 9 of `j1/s0/g9/t2/a0/r0.run`. Stages and rounds of copies are numbered as they begin.
fn generation(run: &Path) -> Option<u32> {
    run.iter().nth(2)?.to_str()?.strip_prefix('g')?.parse().ok()
}

/// A worker loses its scratch folder. The job falls back to a column end that has a second copy.
#[test]
fn a_scratch_folder_vanishes_and_copies_are_used() {
    for executor in EXECUTORS {
        let cluster = Cluster::start(Setup { executor, ..Setup::default() });
        let job = cluster.submit("8x8");
        // Slow enough that the moment is seen on a busy machine, too: some seconds from the first copies to the end.
        let mut a = cluster.worker("a", "worker.after_pull=sleep:250");
        let _b = cluster.worker("b", "worker.after_pull=sleep:250");
        cluster.when(&job, "a column end on both, and a stage that reads what only one has", |s| {
            let (in_a, in_b) = (names(&cluster, "a"), names(&cluster, "b"));
            // Some of the stage's tasks are done: the newest generation is its own, the one before that its input.
            let made: BTreeSet<u32> = in_a.union(&in_b).filter_map(|name| generation(name)).collect();
            let input = made.iter().nth_back(1);
            let only_in_a = in_a.difference(&in_b).any(|name| generation(name).as_ref() == input);
            let at_work = s["tasks_done"].as_u64() > Some(0) && s["tasks_running"].as_u64() > Some(0);
            s["copied_passes"].as_u64() >= Some(8) && at_work && only_in_a
        });
        a.kill();
        std::fs::remove_dir_all(cluster.scratch("a")).unwrap();
        let _again = cluster.worker("a", "");
        let status = cluster.counts(&job, &legal("8x8"));
        let notes = notes(&status);
        let (_, to) = notes.split_once(" to the boundary ").unwrap_or_else(|| panic!("{status}"));
        let to = to.strip_prefix("after ").or_else(|| to.strip_prefix("at pass "));
        let to = to.and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
        assert!(to.is_some_and(|passes| passes >= 8 && passes % 8 == 0), "no column end was gone back to: {status}");
    }
}

/// A worker loses its scratch folder in the transposed stages. With second copies the job falls back to the kept forward
/// vector or a later boundary, without them to the start.
#[test]
fn the_vector_that_is_kept_vanishes() {
    for second_copies in [true, false] {
        let cluster = Cluster::start(Setup { executor: "block", second_copies, ..Setup::default() });
        let job = cluster.submit("8x8");
        let mut a = cluster.worker("a", "worker.after_pull=sleep:250");
        let _b = cluster.worker("b", "worker.after_pull=sleep:250");
        cluster.when(&job, "a stage on the way back", |s| {
            assert_eq!(s["middle"], 4);
            let copied = !second_copies || s["copied_passes"].as_u64() >= Some(32);
            copied && s["pass"].as_u64() > Some(32) && s["tasks_running"].as_u64() > Some(0)
        });
        a.kill();
        std::fs::remove_dir_all(cluster.scratch("a")).unwrap();
        let _again = cluster.worker("a", "");
        let status = cluster.counts(&job, &legal("8x8"));
        let notes = notes(&status);
        let fell = notes.lines().find(|note| note.starts_with("fell back")).unwrap_or_else(|| panic!("{status}"));
        let kept = fell.contains(" to the boundary after 32 passes,") || fell.contains(" to the boundary at pass ");
        let start = fell.contains(" to the start of sweep 1,");
        assert_eq!((kept, start), (second_copies, !second_copies), "{fell}");
    }
}

/// The same without second copies: the job starts again.
#[test]
fn a_scratch_folder_vanishes_and_all_is_made_again() {
    let cluster = Cluster::start(Setup { second_copies: false, ..Setup::default() });
    let job = cluster.submit("7x7");
    let mut a = cluster.worker("a", SLOW);
    cluster.at_stage(&job, 6);
    a.kill();
    std::fs::remove_dir_all(cluster.scratch("a")).unwrap();
    let _again = cluster.worker("a", "");
    let status = cluster.counts(&job, &legal("7x7"));
    assert!(notes(&status).contains("the start of sweep 1"), "{status}");
}

/// A worker hangs longer than its lease and grace. Another does its work, and its late report does no harm.
#[test]
fn a_worker_hangs() {
    let cluster = Cluster::start(Setup { grace_seconds: "1", ..Setup::default() });
    let job = cluster.submit("7x7");
    let mut a = cluster.worker("a", "worker.after_pull=sleep:500@8");
    a.says("failpoint worker.after_pull hit", 1);
    a.signal("STOP");
    let b = cluster.worker("b", "");
    // It holds a lease and says nothing: the number only comes if that task is done again.
    cluster.counts(&job, &legal("7x7"));
    a.signal("CONT");
    drop(b);
    // It is still of use.
    let next = cluster.submit("6x6");
    cluster.counts(&next, &legal("6x6"));
}

/// A slow disk does not keep a slot waiting. The next task runs while the runs of the last one become durable, but no
/// further task does.
#[test]
fn tasks_go_on_while_runs_are_made_durable() {
    for executor in EXECUTORS {
        let args =
            ["count", "go", "8x8", "--json", "--threads", "1", "--checkpoint-seconds", "0", "--executor", executor];
        let dir = tempfile::tempdir().unwrap();
        let mut counting = command(&[&args[..], &["--data", dir.path().to_str().unwrap()]].concat());
        counting.env("KEIMA_LOG", "debug").env("KEIMA_FAILPOINT", "worker.before_durable=sleep:20");
        let ran = run(counting);
        assert_eq!(ran.json()["count"], legal("8x8"), "{executor}");
        assert!(ran.stderr.contains("failpoint worker.before_durable hit"), "{executor}");
        let (mut durable_later, mut most) = (0, 0);
        for line in ran.stderr.lines() {
            // "... DEBUG attempt{attempt=j1/s0/g1/t0/a0}: granted"
            let event = line.split_once(" DEBUG ").and_then(|(_, event)| event.split_once("}: "));
            match event.and_then(|(_, event)| event.split(' ').next()) {
                Some("done") => durable_later += 1,
                Some("durable") => durable_later -= 1,
                Some("granted") => most = most.max(durable_later),
                _ => {}
            }
        }
        assert_eq!((durable_later, most), (0, 1), "{executor}: {}", ran.stderr);
    }
}

/// `keima count` ends at a point, by kill -9 or by a signal, and the same command continues it. The residues equal those of
/// an undisturbed count.
#[test]
fn a_count_is_cut_off_and_goes_on() {
    let [abort, undurable] = ["worker.before_report", "worker.before_durable"];
    for (how, executor) in [
        (abort, "block"),
        (abort, "stream"),
        (undurable, "block"),
        (undurable, "stream"),
        ("KILL", "block"),
        ("KILL", "stream"),
        ("INT", "block"),
        ("TERM", "stream"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let what = format!("{how}, {executor}");
        let words =
            ["count", "go", "8x8", "--json", "--threads", "2", "--checkpoint-seconds", "0", "--executor", executor];
        let at = |folder: &str| dir.path().join(folder).to_str().unwrap().to_owned();
        let (folder, quiet_folder) = (at("data"), at("quiet"));
        let args = [&words[..], &["--data", &folder]].concat();
        let dies = how == abort || how == undurable;
        let fault = if dies { format!("{how}=abort@30") } else { SLOW.to_owned() };
        let mut counting = Process::start("count", &args, &fault);
        if dies {
            counting.died_at(how);
        } else {
            counting.says("failpoint worker.after_pull hit", 30);
            if how == "KILL" {
                counting.kill();
            } else {
                counting.signal(how);
                assert_eq!(counting.ended().code(), Some(4), "{what}");
                assert!(counting.stderr().contains("the same command continues"), "{what}: {}", counting.stderr());
            }
        }
        assert_eq!(counting.stdout(), "", "{what}: a number before its time");
        let ran = keima(&args);
        let object = ran.json();
        assert_eq!(object["count"], legal("8x8"), "{what}");
        assert!(ran.stderr.contains("continuing go 8x8"), "{what}: {ran:#?}");
        let from = object["resumed_from"].as_str().unwrap_or_else(|| panic!("{what}: {object}"));
        assert!(from.contains("the boundary ") || from.contains("stage"), "{what}: {from}");
        let undisturbed = keima(&[&words[..], &["--data", &quiet_folder]].concat()).json();
        assert_eq!(undisturbed["resumed_from"], serde_json::Value::Null, "{what}");
        assert_eq!(object["residues"], undisturbed["residues"], "{what}");
    }
}

/// kill -9 while runs are written, again and again: an unfinished file is never read.
#[test]
fn a_count_is_killed_while_it_writes() {
    for executor in EXECUTORS {
        let dir = tempfile::tempdir().unwrap();
        let (data, quiet) = (dir.path().join("data"), dir.path().join("quiet"));
        let scratch = data.join("scratch");
        let words =
            ["count", "go", "9x9", "--json", "--threads", "2", "--checkpoint-seconds", "0", "--executor", executor];
        let args = [&words[..], &["--data", data.to_str().unwrap()]].concat();
        let mut hits = 0;
        while hits < 3 {
            let old = unfinished_run_files(&scratch);
            let mut counting = Process::start("count", &args, "");
            until("a run that is being written", || {
                assert!(counting.is_alive(), "{executor}: ended after {hits} kills: {}", counting.stderr());
                unfinished_run_files(&scratch).iter().any(|run| !old.contains(run)).then_some(())
            });
            counting.kill();
            // Where it had just been finished, this kill was one of another kind.
            hits += usize::from(unfinished_run_files(&scratch).iter().any(|run| !old.contains(run)));
        }
        let ran = keima(&args);
        let object = ran.json();
        assert!(ran.stderr.contains("continuing go 9x9"), "{executor}: {ran:#?}");
        assert_eq!(unfinished_run_files(&scratch), Vec::<PathBuf>::new(), "{executor}: leftovers");
        let undisturbed = keima(&[&words[..], &["--data", quiet.to_str().unwrap()]].concat()).json();
        assert_eq!(
            (&object["count"], &object["residues"]),
            (&undisturbed["count"], &undisturbed["residues"]),
            "{executor}"
        );
    }
}
