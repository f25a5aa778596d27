//! The log as JSON: which lines there are, and which of job, stage, task, attempt and worker each has.
//!
//! The tables below are all of them: one test compares them with the sources, the other with every line that a cluster writes.

use serde_json::Value;

use crate::book::root;
use crate::harness::cluster::{Cluster, Setup};
use crate::harness::process::Process;
use crate::house::sources_below;
use crate::numbers::golden::legal;

/// Begins of lines, and the fields that these must have.
type Table = &'static [(&'static str, &'static str)];

/// Lines that the cluster below writes.
const SEEN: Table = &[
    ("a call to the coordinator failed", "worker"),
    ("a panic: ", "job stage task attempt worker"),
    ("attempt-failed: ", "job stage task attempt worker"),
    ("checkpoint in the archive", "job"),
    ("done", "job stage task attempt worker"),
    ("durable", "job stage task attempt worker"),
    ("granted", "job stage task attempt worker"),
    ("job: ", "job"),
    ("keima: ", ""),
    ("lease-expired: ", "job stage task attempt worker"),
    ("metrics and health at ", "worker"),
    ("removed a file from the scratch folder", "job stage task attempt run worker"),
    ("reported", "job stage task attempt worker"),
    ("resuming from the stored records", ""),
    ("stopping; a coordinator started again", ""),
    ("the coordinator knows this worker", "worker"),
    ("the task failed", "job stage task attempt worker"),
    ("worker ", "worker"),
    ("worker-came", "worker"),
    ("worker-left: ", "worker"),
    ("worker-lost: ", "worker"),
];

/// Lines that it may write, or that take more than a test to come by.
const RARE: Table = &[
    ("--insecure: anybody ", ""),
    ("TLS with the certificate ", ""),
    ("a checkpoint cannot be read; nothing is deleted from the archive", "job"),
    ("a checkpoint in the archive is not whole; older ones stay", "job"),
    // Nobody knows the job yet.
    ("a checkpoint is set aside: ", ""),
    ("a checkpoint was not published", "job"),
    ("a job that is over is not listed", "job"),
    ("a job that is over leaves the store", "job"),
    ("a job that is over stays in the store", "job"),
    ("a run in the archive is damaged; it is stored again", "worker"),
    ("cannot copy a run from this holder", "job stage task attempt run worker"),
    ("cannot delete a temporary run", "job stage task attempt run worker"),
    ("cannot delete all files of an attempt", "job stage task attempt worker"),
    ("cannot delete all files that nobody needs", "worker"),
    ("cannot delete an attempt's files; they stay until the worker starts again", "job stage task attempt worker"),
    ("cannot delete old checkpoints from the archive", "job"),
    ("cannot open an input", "job stage task attempt run worker"),
    ("cannot read a shared folder; asking its worker", "job stage task attempt run worker"),
    ("cannot remove a file", "job stage task attempt run worker"),
    ("cannot remove an unfinished run; remove it by hand", "job stage task attempt run worker"),
    ("cannot remove the folder of a job that is over from the archive", "job"),
    ("cannot remove what a killed writer left", "job"),
    ("cannot remove what killed writers left in the archive", "job"),
    ("cannot say goodbye; the coordinator will notice", "worker"),
    ("cannot say hello", "worker"),
    ("cannot write the name of the coordinator's store", "worker"),
    ("check-failed: ", "job stage task attempt worker"),
    ("found no route from ", "worker"),
    ("made a CA, a certificate and three tokens in ", ""),
    ("no thread for signals: the first one ends the process", ""),
    ("redb could not close the coordinator's store", ""),
    ("removed what a killed writer left in the archive", "job"),
    ("stopped with the worker", "job stage task attempt worker"),
    ("the certificate in ", ""),
    ("the coordinator did not understand the report", "job stage task attempt worker"),
    ("the coordinator stops", ""),
    ("the report was refused", "job stage task attempt worker"),
    ("this machine has another address now, ", "worker"),
    ("waiting for the coordinator at ", "worker"),
    ("worker.id was missing; it is written again", "worker"),
];

/// Texts in the sources that begin with what they are about: an event of the table, a limit of the machine, a connection.
const MADE: [&str; 3] = ["{kind}{colon}{text}", "{lowered}", "{text}"];

fn row(message: &str) -> Option<(&'static str, &'static str)> {
    let rows = SEEN.iter().chain(RARE).filter(|(begin, _)| message.starts_with(begin));
    rows.max_by_key(|(begin, _)| begin.len()).copied()
}

/// Texts of the lines in a source.
fn texts(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for level in ["error", "warn", "info", "debug"] {
        for rest in source.split(&format!("tracing::{level}!(")).skip(1) {
            let (_, text) = rest.split_once('"').unwrap();
            let (text, _) = text.split_once('"').unwrap();
            found.push(text.split("\\\n").map(str::trim_start).collect());
        }
    }
    found
}

#[test]
fn the_tables_have_every_line_of_the_sources() {
    let mut sources = Vec::new();
    for folder in
        ["coordinator", "cluster", "engine", "http", "runs", "cli/src/cluster", "cli/src/machine", "cli/src/terminal"]
    {
        sources_below(&root().join("crates").join(folder), &mut sources);
    }
    sources.push(root().join("crates/cli/src/lib.rs"));
    let texts: Vec<String> = sources.iter().flat_map(|path| texts(&std::fs::read_to_string(path).unwrap())).collect();
    assert!(texts.len() > 50, "{texts:?}");
    for text in texts.iter().filter(|text| !MADE.contains(&text.as_str())) {
        let begin = text.split('{').next().unwrap();
        assert!(row(begin).is_some(), "a line that no table has: {text}");
    }
    let kinds = ["attempt-failed", "check-failed", "job", "lease-expired", "worker-came", "worker-left", "worker-lost"];
    for (begin, _) in SEEN.iter().chain(RARE) {
        let is_event = kinds.contains(&begin.trim_end_matches(": "));
        assert!(is_event || texts.iter().any(|text| text.starts_with(begin)), "a line that no source has: {begin}");
    }
}

/// Looks at all lines of a process. `worker` is its name if it is one.
fn check(text: &str, worker: Option<&str>, seen: &mut Vec<&'static str>) {
    // Marks of the tests, one by one.
    for line in text.lines().filter(|line| !line.starts_with("failpoint ")) {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let field = |name: &str| object[name].as_str().unwrap_or_default();
        assert!(!field("time").is_empty() && !field("level").is_empty(), "{line}");
        let (begin, fields) = row(field("message")).unwrap_or_else(|| panic!("no table has this line: {line}"));
        seen.push(begin);
        for name in fields.split_whitespace() {
            assert!(!field(name).is_empty(), "no {name} in {line}");
        }
        // Each stands below the one before.
        let names = [field("job"), field("stage"), field("task"), field("attempt")];
        let is_below = |pair: &[&str]| pair[1].is_empty() || pair[1].starts_with(&format!("{}/", pair[0]));
        assert!(names.windows(2).all(is_below), "{line}");
        assert!(worker.is_none_or(|worker| field("worker") == worker), "another worker than {worker:?} in {line}");
        // No line tells in its words alone what it is about.
        assert!(!field("job").is_empty() || !line.contains("/s0/"), "{line}");
    }
}

/// Ends a process and looks at all its lines.
fn end(process: &mut Process, worker: Option<&str>, seen: &mut Vec<&'static str>) {
    process.signal("TERM");
    assert_eq!(process.ended().code(), Some(0));
    check(&process.stderr(), worker, seen);
}

#[test]
fn every_line_of_a_cluster_has_its_fields() {
    let archive = tempfile::tempdir().unwrap();
    let environment = [
        ("KEIMA_LOG_FORMAT", "json"),
        ("KEIMA_LOG", "info,keima_cluster=debug,keima_cli=debug"),
        ("KEIMA_WORKER_HTTP", "127.0.0.1:0"),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let setup = Setup { archive: Some(archive.path().to_owned()), environment, ..Setup::default() };
    let mut cluster = Cluster::start(setup);
    let name = |cluster: &Cluster, folder: &str| {
        std::fs::read_to_string(cluster.scratch(folder).join("worker.id")).unwrap().trim().to_owned()
    };
    let mut seen = Vec::new();

    // A worker that leaves, and comes back to a file of nobody.
    let mut c = cluster.worker("c", "");
    end(&mut c, Some(&name(&cluster, "c")), &mut seen);
    let left = cluster.scratch("c").join("j1/s0/g0/t0/a9");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("r0.run.tmp"), "").unwrap();

    // One that is alone hangs in its seventh task, is killed, and its folder is lost.
    let mut b = cluster.worker("b", "worker.after_pull=sleep:600000@7");
    let job = cluster.submit("8x8");
    b.says("failpoint worker.after_pull hit", 1);
    let hung = name(&cluster, "b");
    b.kill();
    std::fs::remove_dir_all(cluster.scratch("b")).unwrap();
    check(&b.stderr(), Some(&hung), &mut seen);

    // Others go on, and an attempt of one fails. A third one's folder is in use.
    let mut c = cluster.worker("c", "worker.after_pull=sleep:20");
    let mut a = cluster.worker("a", "worker.mid_task=panic@5;worker.after_pull=sleep:20");
    let mut refused = cluster.start_worker("c", "1GiB", "");
    assert_eq!(refused.ended().code(), Some(1));
    check(&refused.stderr(), None, &mut seen);
    // The coordinator is away for a moment.
    for what in ["worker-lost", "lease-expired", "attempt-failed", "checkpoint in the archive"] {
        cluster.coordinator.says(what, 1);
    }
    end(&mut cluster.coordinator, None, &mut seen);
    a.says("a call to the coordinator failed", 1);
    cluster.restart_coordinator();
    cluster.counts(&job, &legal("8x8"));
    end(&mut a, Some(&name(&cluster, "a")), &mut seen);
    end(&mut c, Some(&name(&cluster, "c")), &mut seen);
    end(&mut cluster.coordinator, None, &mut seen);

    for (begin, _) in SEEN {
        assert!(seen.contains(begin), "no line {begin:?}");
    }
}
