//! `--progress json`: every line on standard error is an object, and the last one says how it ended.

use serde_json::Value;

use crate::harness::cluster::{Cluster, Setup};
use crate::harness::process::{Ran, keima};
use crate::numbers::golden::legal;

/// The events of a run.
fn events(ran: &Ran) -> Vec<Value> {
    let event = |line: &str| -> Value {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}: {ran:#?}"));
        assert!(value["unix_seconds"].as_f64() > Some(1.7e9) && value["event"].is_string(), "{line}");
        value
    };
    ran.stderr.lines().map(event).collect()
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

fn fields(event: &Value) -> Vec<&String> {
    event.as_object().unwrap().keys().collect()
}

#[test]
fn a_count_tells_its_progress_and_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let on_disk = ["--data", data.to_str().unwrap()];
    let in_memory = keima(&["count", "go", "7x7", "--progress", "json"]);
    let disk = keima(&[&["count", "go", "7x7", "--progress", "json", "--executor", "stream"], &on_disk[..]].concat());
    for ran in [&in_memory, &disk] {
        assert_eq!(ran.ok(), legal("7x7"));
        let events = events(ran);
        let done = events.last().unwrap();
        assert_eq!((&done["event"], &done["count"]), (&"done".into(), &legal("7x7").into()), "{ran:#?}");
        assert!(named(&events, "check").iter().any(|check| check["name"] == "spare_prime" && check["ok"] == true));
        for progress in named(&events, "progress") {
            assert_eq!((&progress["problem"], &progress["size"]), (&"go".into(), &"7x7".into()));
            assert!(progress["part"].as_f64().is_some_and(|part| (0.0..=1.0).contains(&part)), "{progress}");
        }
    }
    // Both have the same fields, so that nobody has to tell them apart.
    let [one, other] = [&in_memory, &disk].map(events);
    let (one, other) = (named(&one, "progress"), named(&other, "progress"));
    assert_eq!(fields(one[0]), fields(other[0]));
    // The same command finds its result, and says so.
    let again = keima(&[&["count", "go", "7x7", "--progress", "json"], &on_disk[..]].concat());
    assert!(named(&events(&again), "note")[0]["text"].as_str().unwrap().contains("counted here before"), "{again:#?}");
}

#[test]
fn an_error_is_an_event() {
    for (words, code, text) in [
        ("count go 22x22 --progress json", 2, "cannot count size"),
        ("count gp 5x5 --progress json", 2, "did you mean go?"),
        ("watch j1 --coordinator http://127.0.0.1:9 --format xml --progress json", 2, ""),
        ("watch x! --progress json", 2, "not the name of a job"),
    ] {
        let ran = keima(&words.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(code), "{ran:#?}");
        // What clap refuses is refused before the events are on.
        if !text.is_empty() {
            let events = events(&ran);
            let error = events.last().unwrap();
            assert_eq!((&error["event"], &error["exit_code"]), (&"error".into(), &code.into()), "{ran:#?}");
            assert!(error["text"].as_str().unwrap().contains(text), "{ran:#?}");
        }
    }
}

#[test]
fn many_sizes_end_many_times() {
    let ran = keima(&["count", "go", "2..3x21..22", "--progress", "json", "--format", "csv"]);
    let events = events(&ran);
    let done = named(&events, "done");
    let sizes: Vec<&str> = done.iter().map(|event| event["size"].as_str().unwrap()).collect();
    assert_eq!(sizes, ["2x21", "2x22", "3x21", "3x22"], "{ran:#?}");
    for (event, row) in done.iter().zip(ran.ok().lines().skip(1)) {
        assert_eq!(event["count"], row.split(',').nth(1).unwrap());
    }
}

#[test]
fn progress_and_quiet_leave_out_what_they_say() {
    for (options, checks) in
        [(&["--progress", "none"][..], true), (&["--quiet"], false), (&["--progress", "auto"], true)]
    {
        let ran = keima(&[&["count", "go", "5x5"], options].concat());
        assert_eq!((ran.ok(), ran.stderr.contains("spare_prime")), (legal("5x5").as_str(), checks), "{ran:#?}");
        assert!(!ran.stderr.contains('{'), "{ran:#?}");
    }
    let ran = keima(&["count", "go", "5x5", "--quiet", "--progress", "json"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("cannot be used with"), "{ran:#?}");
}

/// `watch` and `submit --wait` tell the same; values of shorter boards come as they are known.
#[test]
fn a_job_is_followed_by_events() {
    let cluster = Cluster::start(Setup::default());
    let _worker = cluster.worker("a", "");
    let submit = ["submit", "go", "7x8", "--series", "--executor", "stream", "--task-memory", "64MiB", "--wait"];
    let ran = cluster.client(&[&submit[..], &["--progress", "json"]].concat());
    let events_of_job = events(&ran);
    let done = events_of_job.last().unwrap();
    assert_eq!((&done["event"], &done["count"]), (&"done".into(), &legal("7x8").into()), "{ran:#?}");
    for value in named(&events_of_job, "value") {
        let index = value["index"].as_u64().unwrap();
        assert_eq!(value["name"], format!("L(7,{index})"));
        if index == 7 {
            assert_eq!(value["count"], legal("7x7"), "{value}");
        }
    }
    let states: Vec<&Value> = named(&events_of_job, "progress").iter().map(|event| &event["state"]).collect();
    assert!(states.last().is_some_and(|state| *state == "done"), "{states:?}");
    let watched = cluster.client(&["watch", "j1", "--progress", "json"]);
    assert_eq!(watched.ok(), legal("7x8"));
    assert_eq!(events(&watched).last().unwrap()["event"], "done");
}
