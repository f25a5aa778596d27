//! Wrong requests, and ports and folders in use, get an exit code and a message that says what to do.

use std::net::TcpListener;

use crate::harness::cluster::{Cluster, Setup};
use crate::harness::process::{LIMIT, Process, command, keima, run_files};

/// Checks one command line; `@name` in an argument stands for a value of `values`.
pub(crate) fn check(values: &[(&str, &str)], line: &str, code: i32, texts: &[&str]) {
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
        ("count hardsquares 8x8", 2, &["did you mean hard-squares?"]),
        ("count grid-cycles 6x6 --hamiltonian", 2, &["option of grid-cycles and grid-paths: write '-o hamiltonian'"]),
        ("count grid-cycles 6x6 -o hamiltonain", 2, &["did you mean hamiltonian?"]),
        ("count knight 6x6", 2, &["keima: knight: say which tours", "--closed"]),
        ("count go 9x9 --memory banana", 2, &["banana", "512MiB"]),
        ("count go 9x9 --memory 0", 2, &["--memory"]),
        ("count go 9x9 --memory 10 --threads 2", 2, &["10 B of memory are too little", "raise --memory to 48 MiB"]),
        ("count go 9x9 --disk 10parsec", 2, &["10parsec", "50GB"]),
        ("count go 9x9 --threads 0", 2, &["--threads", "0"]),
        ("count go 9x9 --threads many", 2, &["many", "a whole number from 1 to 1024"]),
        ("count go 9x9 --residues-per-sweep 0", 2, &["--residues-per-sweep"]),
        ("count go 9x9 --window 0", 2, &["--window"]),
        ("count go 9x9 --data @dir --memory 33MiB --threads 2", 2, &["--memory", "--threads"]),
        ("count go 9x9 --data @dir --memory 64MiB --threads 64", 2, &["64 tasks", "--threads"]),
        ("count go 9x9 --data @dir --disk 100KiB", 2, &["of disk", "raise --disk"]),
        ("count go 9..1x5", 2, &["9..1", "A..B"]),
        ("count go 1..9x", 2, &["A..B"]),
        ("count go 1..200x1..200", 2, &["10000 sizes"]),
        ("count go 1..3x1..3 --format bfile", 2, &["one index", "5x1..9"]),
        ("count go 1..3x3 --series", 2, &["--series", "one size"]),
        ("count go 1..3x3 --table count", 2, &["--table"]),
        ("count chess 1..8x1..8", 2, &["known problems: go"]),
        ("count go 1..3x3 -o closed", 2, &["go has no options"]),
        ("count go 5x5 --json --format csv", 2, &["--json", "--format"]),
        ("submit go 1..3x3", 2, &["1..3x3", "only keima count"]),
        ("estimate go 1..3x3", 2, &["1..3x3", "only keima count"]),
        ("submit go nine", 2, &["nine", "9x9"]),
        ("submit chess 8x8", 2, &["known problems: go"]),
        ("submit go 9x9 --priority high", 2, &["'high'", "expected a whole number, such as 10"]),
        ("status banana!", 2, &["banana", "keima jobs"]),
        ("worker --scratch @dir --memory 33MiB --threads 4", 2, &["--memory", "--threads"]),
        ("worker", 2, &["--scratch"]),
        ("worker --scratch @dir --coordinator https://head:7700", 2, &["--fingerprint", "--tls-ca"]),
        ("worker --scratch @dir --coordinator http://", 2, &["names no host"]),
        ("worker --scratch @dir --advertise tcp://node:7702", 2, &["--advertise", "tcp://", "https://node:7702"]),
        ("jobs --coordinator grpc://head:7700", 2, &["--coordinator", "grpc://", "http://head:7700"]),
        ("coordinator", 2, &["--data"]),
        ("coordinator --data @dir --listen nowhere", 2, &["nowhere"]),
        ("coordinator --data @dir --insecure --listen 192.0.2.1:0", 1, &["192.0.2.1", "0.0.0.0"]),
        ("coordinator --data @dir --lease-seconds 0", 2, &["--lease-seconds", "0.1"]),
        ("coordinator --data @dir --grace-seconds nan", 2, &["--grace-seconds", "a number of seconds from 0.1"]),
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
        ("jobs --coordinator nonsense://?", 2, &["nonsense", "https://"]),
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
    worker.says(&format!("waiting for the coordinator at http://{free}"), 1);
    assert_eq!(worker.stdout(), "", "it is not ready yet");
    let mut hub =
        Process::start("coordinator", &["coordinator", "--listen", &free, "--data", data.to_str().unwrap()], "");
    hub.ready("coordinator ready at ");
    worker.says("the coordinator knows this worker", 1);
    worker.ready("worker ready at ");
}

/// What a compose file or a unit sets to nothing by `${NAME:-}`.
const EMPTY: [&str; 9] = [
    "KEIMA_ADVERTISE",
    "KEIMA_DISK",
    "KEIMA_FINGERPRINT",
    "KEIMA_INSECURE",
    "KEIMA_MEMORY",
    "KEIMA_THREADS",
    "KEIMA_TLS_CA",
    "KEIMA_TOKEN_FILE",
    "KEIMA_WORKER_LISTEN",
];

/// Without a coordinator `watch` says at once that it waits; variables that are set to nothing are as good as none.
#[test]
fn watch_says_that_it_waits() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let mut watch = Process::start("watch", &["watch", "j1", "--coordinator", &free], "");
    watch.says("trying again for up to 10 minutes", 1);
    assert!(watch.stderr().contains(&free), "{}", watch.stderr());
    watch.signal("INT");
    assert_eq!(watch.ended().code(), Some(4));
    let cluster = Cluster::start(Setup::default());
    let scratch = cluster.scratch("a");
    let args = ["worker", "--coordinator", &cluster.url, "--scratch", scratch.to_str().unwrap()];
    let mut starting = command(&args);
    for name in EMPTY {
        starting.env(name, "");
    }
    let address = Process::spawn("worker", starting).ready("worker ready at ");
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
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
