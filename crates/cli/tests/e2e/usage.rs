//! What is typed wrongly or stands in the way gets an exit code and a message that says what to do; `--help` helps.

use std::net::TcpListener;

use crate::cluster::{Cluster, Setup};
use crate::process::{LIMIT, Process, keima, run_files};

/// Checks one command line; `@name` in an argument stands for a value of `values`.
fn check(values: &[(&str, &str)], line: &str, code: i32, texts: &[&str]) {
    let fill = |text: &str| values.iter().fold(text.to_owned(), |t, (name, value)| t.replace(name, value));
    let args: Vec<String> = line.split_whitespace().map(fill).collect();
    let ran = keima(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "keima {line}: {ran:#?}");
    for text in texts {
        assert!(ran.stderr.contains(&fill(text)), "keima {line}: no {text:?} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("panicked"), "keima {line}: {}", ran.stderr);
}

#[test]
fn command_lines_that_mean_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let values = [("@dir", dir.path().to_str().unwrap())];
    for (line, code, texts) in [
        ("", 2, &["Usage:"][..]),
        ("cuont go 9x9", 2, &["cuont", "Usage:"]),
        ("count", 2, &["<PROBLEM>", "<SIZE>"]),
        ("count go", 2, &["<SIZE>"]),
        ("count go 0x5", 2, &["0x5", "at least 1"]),
        ("count go 5x0", 2, &["5x0", "at least 1"]),
        ("count go 22x22", 2, &["22x22", "at most 21", "22"]),
        ("count go 1x10001", 2, &["at most 10000"]),
        ("count go nine", 2, &["nine", "9x9"]),
        ("count go 9", 2, &["9x9"]),
        ("count go 9x", 2, &["9x9"]),
        ("count go 9x9x9", 2, &["9x9x9", "not a whole number"]),
        ("count go -3x5", 2, &["-3"]),
        ("count go 99999999999999999999x5", 2, &["at most"]),
        ("count chess 8x8", 2, &["chess", "known problems: go"]),
        ("count go 9x9 --memory banana", 2, &["banana", "512MiB"]),
        ("count go 9x9 --memory 0", 2, &["--memory"]),
        ("count go 9x9 --disk 10parsec", 2, &["10parsec", "50GB"]),
        ("count go 9x9 --threads 0", 2, &["--threads", "0"]),
        ("count go 9x9 --threads many", 2, &["many"]),
        ("count go 9x9 --residues-per-sweep 0", 2, &["--residues-per-sweep"]),
        ("count go 9x9 --window 0", 2, &["--window"]),
        ("count go 9x9 --data @dir --memory 33MiB", 2, &["--memory", "--threads"]),
        ("count go 9x9 --data @dir --memory 64MiB --threads 64", 2, &["64 tasks", "--threads"]),
        ("count go 9x9 --data @dir --disk 100KiB", 2, &["of disk", "raise --disk"]),
        ("submit go nine", 2, &["nine", "9x9"]),
        ("submit chess 8x8", 2, &["known problems: go"]),
        ("status banana", 2, &["banana", "keima jobs"]),
        ("worker --scratch @dir --memory 33MiB --threads 4", 2, &["--memory", "--threads"]),
        ("worker", 2, &["--scratch"]),
        ("coordinator", 2, &["--data"]),
        ("coordinator --data @dir --listen nowhere", 2, &["nowhere"]),
        ("coordinator --data @dir --listen 192.0.2.1:0", 1, &["192.0.2.1", "0.0.0.0"]),
        ("coordinator --data @dir --lease-seconds 0", 2, &["--lease-seconds", "0.1"]),
        ("coordinator --data @dir --grace-seconds nan", 2, &["--grace-seconds"]),
    ] {
        check(&values, line, code, texts);
    }
}

#[test]
fn ports_and_folders_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().to_string();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let cluster = Cluster::start(Setup::default());
    let _worker = cluster.worker("a", "");
    let scratch = cluster.scratch("a");
    let data = scratch.parent().unwrap().join("data");
    let values = [
        ("@port", port.as_str()),
        ("@free", free.as_str()),
        ("@dir", dir.path().to_str().unwrap()),
        ("@file", file.to_str().unwrap()),
        ("@scratch", scratch.to_str().unwrap()),
        ("@data", data.to_str().unwrap()),
        ("@url", &cluster.url),
    ];
    for (line, code, texts) in [
        ("coordinator --listen @port --data @dir/new", 1, &["@port", "another program listens", "--listen"][..]),
        ("worker --listen @port --scratch @dir/new --coordinator @url", 1, &["@port", "--listen"]),
        ("coordinator --listen 127.0.0.1:0 --data @data", 1, &["@data", "in use", "--data"]),
        ("worker --scratch @scratch --coordinator @url", 1, &["@scratch", "in use", "--scratch"]),
        ("coordinator --listen 127.0.0.1:0 --data @file/x", 1, &["@file", "data folder"]),
        ("worker --scratch @file/x --coordinator @url", 1, &["@file", "scratch folder"]),
        ("count go 5x5 --data @file/x", 1, &["@file"]),
        ("count go 5x5 --data @dir/d --scratch @scratch", 1, &["@scratch", "in use"]),
        ("jobs --coordinator http://@free", 1, &["@free", "keima coordinator", "KEIMA_COORDINATOR"]),
        ("submit go 5x5 --coordinator http://@free", 1, &["@free", "keima coordinator"]),
        ("result j1 --coordinator http://@free", 1, &["@free"]),
        ("jobs --coordinator nonsense://?", 1, &["nonsense"]),
        ("status j77 --coordinator @url", 2, &["j77", "keima jobs"]),
        ("watch j77 --coordinator @url", 2, &["j77", "keima jobs"]),
        ("cancel 77 --coordinator @url", 2, &["j77", "keima jobs"]),
        ("submit go 9x9 --disk 10KiB --coordinator @url", 2, &["of disk", "raise --disk"]),
        ("submit go 9x9 --task-memory 1KiB --coordinator @url", 2, &["each task needs at least", "--task-memory"]),
    ] {
        check(&values, line, code, texts);
    }
    assert!(run_files(dir.path()).is_empty());
}

/// A job that no worker is large enough for waits, and says so.
#[test]
fn a_worker_that_is_too_small_is_told_so() {
    let cluster = Cluster::start(Setup::default());
    let mut small = cluster.worker("a", "");
    let job = cluster.client(&["submit", "go", "6x6", "--task-memory", "900MiB"]).ok().to_owned();
    let start = std::time::Instant::now();
    let note = loop {
        let status = cluster.status(&job);
        let notes: Vec<&str> =
            status["workers"].as_array().unwrap().iter().map(|w| w["note"].as_str().unwrap()).collect();
        if let Some(note) = notes.iter().find(|note| !note.is_empty()) {
            break (*note).to_owned();
        }
        assert!(start.elapsed() < LIMIT, "{status}");
    };
    assert!(note.contains("memory"), "{note}");
    assert!(small.is_alive());
}

/// A worker without a coordinator waits for one.
#[test]
fn a_worker_waits_for_its_coordinator() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let (scratch, data) = (dir.path().join("a"), dir.path().join("data"));
    let args = ["worker", "--coordinator", &format!("http://{free}"), "--scratch", scratch.to_str().unwrap()];
    let mut worker = Process::start("worker", &args, "");
    worker.says("cannot say hello", 1);
    let mut hub =
        Process::start("coordinator", &["coordinator", "--listen", &free, "--data", data.to_str().unwrap()], "");
    hub.ready("coordinator ready at ");
    worker.says("the coordinator knows this worker", 1);
}

/// A forecast is told to people and to programs, before anything is run.
#[test]
fn estimates() {
    let dir = tempfile::tempdir().unwrap();
    let scratch = dir.path().to_str().unwrap();
    for (args, texts) in [
        (
            "go 5x5 --memory 1GiB",
            &["block executor, in memory", "core time", "wall time", "measured here", "column 2"][..],
        ),
        ("go 1x9", &["stream executor", "wall time"]),
        ("go 5x5 --memory 1GiB --disk 1GiB", &["with runs on disk", "disk time", "residues"]),
        (
            "go 6x6 --executor stream --disk-bandwidth 1GiB",
            &["stream executor", "1.00 GiB a second and worker, as given"],
        ),
        (
            "go 5x5 --workers 3 --threads 4 --disk-bandwidth 1GiB",
            &["3 workers", "on a cluster", "second copies", "largest family", "all that is read comes from disk"],
        ),
        (
            "go 5x5 --workers 3 --threads 4 --disk-bandwidth 1GiB --cache 5GiB",
            &["on a cluster", "what fits 5.00 GiB of other memory"],
        ),
        ("knight 8x8 --closed", &["unknown", "does not know its numbers of states"]),
    ] {
        let args: Vec<&str> = ["estimate"].into_iter().chain(args.split(' ')).collect();
        let ran = keima(&args);
        let text = ran.ok();
        for expected in texts {
            assert!(text.contains(expected), "keima {args:?}: no {expected:?} in {text}");
        }
    }
    let json = |args: &[&str]| -> serde_json::Value {
        let args = [&["estimate", "--json"], args].concat();
        serde_json::from_str(keima(&args).ok()).unwrap()
    };
    let estimate = json(&["go", "6x6", "--scratch", scratch]);
    assert_eq!((estimate["peak_states"].as_u64(), estimate["plan"]["executor"].as_str()), (Some(2482), Some("block")));
    assert_eq!(estimate["states"].as_array().map(Vec::len), Some(37));
    for name in ["core_seconds", "wall_seconds", "bytes_read", "bytes_written", "disk_peak_bytes"] {
        assert!(estimate[name].as_f64().is_some_and(|number| number > 0.0), "{name}: {estimate}");
    }
    // All of a 5x5 board's states are one family: in each of four columns eleven threads wait for the twelfth.
    let estimate = json(&["go", "5x5", "--workers", "3", "--threads", "4", "--disk-bandwidth", "1GiB"]);
    let seconds = |name: &str| estimate[name].as_f64().unwrap();
    assert_eq!(estimate["stages_that_wait_for_largest_family"].as_u64(), Some(4), "{estimate}");
    assert!(seconds("largest_family_seconds") <= seconds("core_seconds"), "{estimate}");
    assert!(seconds("largest_family_seconds") <= seconds("wall_seconds"), "{estimate}");
    let estimate = json(&["go", "6x6", "--scratch", scratch, "--cache", "3MiB"]);
    assert_eq!(estimate["offer"]["cache_bytes"].as_u64(), Some(3 << 20), "{estimate}");
    let estimate = json(&["go", "5x5", "--memory", "1GiB"]);
    assert_eq!(estimate["stages_that_wait_for_largest_family"].as_u64(), Some(0), "in memory: {estimate}");
    let estimate = json(&["knight", "8x8", "--closed"]);
    for name in [
        "peak_states",
        "core_seconds",
        "wall_seconds",
        "largest_family_seconds",
        "stages_that_wait_for_largest_family",
        "bytes_read",
        "disk_peak_bytes",
        "speeds",
    ] {
        assert!(estimate[name].is_null(), "{name}: {estimate}");
    }
    assert!(dir.path().read_dir().unwrap().next().is_none(), "the scratch folder was not tidied");
    let values = [("@dir", scratch)];
    for (line, code, texts) in [
        ("estimate go 22x22", 2, &["at most 21"][..]),
        ("estimate go 9x9 --workers 0", 2, &["--workers"]),
        ("estimate go 9x9 --disk-bandwidth fast", 2, &["fast", "50GB"]),
        ("estimate go 9x9 --cache much", 2, &["much", "50GB"]),
        ("estimate go 13x13 --disk 100MB --memory 2GiB", 2, &["of disk", "raise --disk"]),
        ("estimate go 9x9 --executor stream --memory 33MiB --threads 2", 2, &["each task needs at least", "--memory"]),
        ("estimate hard-squares 9x9 --executor block", 2, &["--executor stream"]),
    ] {
        check(&values, line, code, texts);
    }
}

const VERBS: [&str; 13] = [
    "count",
    "estimate",
    "coordinator",
    "worker",
    "submit",
    "jobs",
    "status",
    "watch",
    "pause",
    "resume",
    "cancel",
    "result",
    "inspect",
];

#[test]
fn help_has_examples_exit_codes_and_json() {
    let top = keima(&["--help"]);
    for verb in VERBS {
        assert!(top.ok().contains(verb), "{verb}");
        let help = keima(&[verb, "--help"]);
        for text in ["Example", &format!("keima {verb}"), "Exit codes", "--json"] {
            assert!(help.ok().contains(text), "keima {verb} --help: no {text:?}: {}", help.stdout);
        }
    }
    assert!(top.ok().contains("Exit codes"));
    assert!(keima(&["--version"]).ok().starts_with("keima "));
}

/// The services say as JSON where they are.
#[test]
fn services_tell_their_addresses_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let (data, scratch) = (dir.path().join("data"), dir.path().join("a"));
    let object = |process: &mut Process| -> serde_json::Value {
        let rest = process.ready("{");
        serde_json::from_str(&format!("{{{rest}")).unwrap()
    };
    let args = ["coordinator", "--json", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    let mut hub = Process::start("coordinator", &args, "");
    let hub_is = object(&mut hub);
    let url = hub_is["coordinator"].as_str().unwrap();
    let args = ["worker", "--json", "--coordinator", url, "--scratch", scratch.to_str().unwrap()];
    let mut worker = Process::start("worker", &args, "");
    let worker_is = object(&mut worker);
    assert!(worker_is["address"].as_str().is_some_and(|a| a.starts_with("http://127.0.0.1:")), "{worker_is}");
    let name = std::fs::read_to_string(scratch.join("worker.id")).unwrap();
    assert_eq!(worker_is["worker"], name.trim());
}
