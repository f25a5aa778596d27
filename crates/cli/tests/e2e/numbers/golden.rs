//! Published numbers and brute force, counted by the program; the shape of its answers.

use std::collections::BTreeMap;
use std::time::Duration;

use keima_problems::go::brute;

use crate::harness::process::{Process, command, keima, run, until};

/// L(m,n) with m <= n (Tromp and Farnebäck, *Combinatorics of Go*, tables 3 and 5).
pub(crate) fn published() -> BTreeMap<(u32, u32), String> {
    let text = include_str!("../../../../../tests/golden/go_legal_positions.csv");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| {
        let [m, n, count] = row.split(',').collect::<Vec<_>>().try_into().unwrap();
        ((m.parse().unwrap(), n.parse().unwrap()), count.to_owned())
    })
    .collect()
}

/// A published number by its size.
pub(crate) fn legal(size: &str) -> String {
    let (m, n) = size.split_once('x').unwrap();
    published()[&(m.parse().unwrap(), n.parse().unwrap())].clone()
}

/// Counts in a folder of its own.
fn count(size: &str, more: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let args = ["count", "go", size, "--quiet", "--data", dir.path().to_str().unwrap()];
    keima(&[&args, more].concat()).ok().to_owned()
}

fn check_published(points: std::ops::RangeInclusive<u32>, turned: bool) {
    let mut counted = 0;
    for ((m, n), expected) in published().into_iter().filter(|((m, n), _)| points.contains(&(m * n))) {
        for executor in ["auto", "stream"] {
            assert_eq!(count(&format!("{m}x{n}"), &["--executor", executor]), expected, "{m}x{n} {executor}");
        }
        if turned && m != n {
            assert_eq!(count(&format!("{n}x{m}"), &[]), expected, "{n}x{m}");
        }
        counted += 1;
    }
    assert!(counted > 0);
}

#[test]
fn published_numbers_up_to_7x8() {
    check_published(1..=56, true);
}

#[test]
fn published_numbers_up_to_9x9() {
    check_published(57..=81, false);
}

/// Needs the release profile: `cargo test --release -p keima-cli -- --ignored`.
#[test]
#[ignore = "long; run in the release profile"]
fn published_numbers_up_to_10x11() {
    check_published(1..=110, false);
}

#[test]
fn rectangles_against_brute_force() {
    let mut counted = 0;
    for (m, n) in (1..=12).flat_map(|m| (m..=12).map(move |n| (m, n))).filter(|(m, n)| m * n <= 12) {
        let expected = brute::count(m, n).unwrap().to_string();
        assert_eq!(count(&format!("{m}x{n}"), &[]), expected, "{m}x{n}");
        counted += 1;
    }
    assert_eq!(counted, 19);
}

/// A count of height m also gives the shorter boards of that height.
#[test]
fn series() {
    let text = count("7x8", &["--series"]);
    let names: Vec<&str> = text.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    let expected: Vec<String> = (1..=8).map(|n| format!("L(7,{n})")).collect();
    assert_eq!(names, expected);
    let of = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    for (name, size) in [("L(7,6)", "6x7"), ("L(7,7)", "7x7"), ("L(7,8)", "7x8")] {
        assert_eq!(of(name), legal(size), "{name}");
    }
    assert_eq!(of("L(7,1)"), brute::count(7, 1).unwrap().to_string());
    assert_eq!(of("L(7,2)"), brute::count(7, 2).unwrap().to_string());
}

/// Threads, memory, residues per sweep and window do not change the number.
#[test]
fn settings_do_not_change_the_number() {
    for more in [
        &["--threads", "1"][..],
        &["--threads", "3", "--memory", "192MiB"],
        &["--residues-per-sweep", "1"],
        &["--window", "1"],
        &["--window", "2", "--residues-per-sweep", "2", "--threads", "4"],
        &["--checkpoint-seconds", "0"],
    ] {
        assert_eq!(count("7x7", more), legal("7x7"), "{more:?}");
    }
}

/// The moduli and residues of a result, which are those of its count.
fn residues(result: &serde_json::Value) -> Vec<(u128, u128)> {
    let number = |text: &serde_json::Value| text.as_str().unwrap().parse::<u128>().unwrap();
    let pair = |pair: &serde_json::Value| (number(&pair["modulus"]), number(&pair["residue"]));
    let residues: Vec<(u128, u128)> = result["residues"].as_array().unwrap().iter().map(pair).collect();
    let digits = || result["count"].as_str().unwrap().bytes().map(|digit| u128::from(digit - b'0'));
    for &(modulus, residue) in &residues {
        let rest = digits().fold(0, |rest, digit| (10 * rest + digit) % modulus);
        assert_eq!(rest, residue, "modulo {modulus}");
    }
    residues
}

#[test]
fn json_has_its_shape() {
    let text = count("6x5", &["--json", "--series"]);
    assert_eq!(text.lines().count(), 1, "one object: {text}");
    let object: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&object["problem"], &object["size"]), (&"go".into(), &"6x5".into()));
    assert_eq!(object["count"], legal("5x6"));
    let residues = residues(&object);
    assert!(residues.len() >= 2, "one residue and a spare at least: {residues:?}");
    assert!(residues.iter().all(|(modulus, _)| (1 << 59..1 << 64).contains(modulus)), "{residues:?}");
    let checks = object["checks"].as_array().unwrap();
    assert!(!checks.is_empty());
    for check in checks {
        assert!(check["name"].is_string() && check["ok"] == true && check["detail"].is_string(), "{check}");
    }
    assert!(object["seconds"].is_number());
    assert!(object["peak_states"].as_u64() > Some(100));
    let series = object["series"].as_array().unwrap();
    assert_eq!(series.len(), 6);
    assert_eq!(series[4]["count"], legal("5x5"));
}

/// With too little memory for two directions, a count in memory goes forward only, a few residues at a time.
#[test]
fn in_little_memory_a_count_goes_forward_a_few_residues_at_a_time() {
    for (memory, bytes, sweeps, two_cuts) in [("1GiB", 1 << 30, 1, true), ("120MiB", 120 << 20, 2, false)] {
        let got = keima(&["count", "go", "10x10", "--threads", "2", "--memory", memory, "--json", "--quiet"]).json();
        assert_eq!(got["count"], legal("10x10"), "{memory}");
        assert_eq!(got["statistics"]["sweeps"], sweeps, "{memory}");
        assert_eq!((&got["statistics"]["bytes_written"], &got["statistics"]["executor"]), (&0.into(), &"block".into()));
        let checks = got["checks"].as_array().unwrap();
        let has = |name: &str| checks.iter().any(|check| check["name"] == name && check["ok"] == true);
        let all = ["mass_balance", "exchange", "spare_prime", "column_values", "known_value"].map(has);
        assert!(all == [true; 5] && has("two_cuts") == two_cuts, "{memory}: {checks:?}");
        // All are the count's, the spare's too.
        assert_eq!(residues(&got).len(), 4, "{memory}");
        let (most, allowed) = (got["peak_memory_bytes"].as_u64().unwrap(), bytes);
        assert!(most <= allowed, "{memory}: {most} bytes of memory were taken");
    }
}

/// Part of the memory limit that is for the program itself. A released one takes 19 MiB. That of the tests takes 31, since most
/// of its crates are not optimised; the rest of the process gets no more for that.
const CODE_BYTES: u64 = 23 << 20;

/// Counts with runs on disk and checks that the process keeps to its memory limit. Returns the JSON result, and the bytes
/// of the vector with all residues.
fn count_within(size: &str, executor: &str, memory_mib: u64, more: &[&str]) -> (serde_json::Value, u64) {
    let data = tempfile::tempdir().unwrap();
    let memory = format!("{memory_mib}MiB");
    let words = ["count", "go", size, "--executor", executor, "--threads", "2", "--memory", &memory];
    let words = [&words[..], &["--json", "--quiet", "--data", data.path().to_str().unwrap()], more].concat();
    let (mut counting, mut code) = (Process::spawn("a count", command(&words)), 0);
    while counting.is_alive() {
        code = counting.code_bytes().max(code);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(counting.ended().success(), "{}", counting.stderr());
    let got: serde_json::Value = serde_json::from_str(&counting.stdout()).unwrap();
    assert_eq!(got["count"], legal(size), "{words:?}");
    let vector = got["peak_states"].as_u64().unwrap() * 8 * got["residues"].as_array().unwrap().len() as u64;
    let written = got["statistics"]["bytes_written"].as_u64().unwrap();
    assert!(written > vector, "{words:?}: {}", got["statistics"]);
    let most = got["peak_memory_bytes"].as_u64().unwrap() - code.saturating_sub(CODE_BYTES);
    assert!(most <= memory_mib << 20, "{words:?}: {most} bytes of memory were taken, {code} of code");
    (got, vector)
}

/// Out of core a process keeps to its memory limit, program and tables included. The block executor gets little more than
/// half of a small vector, the stream executor the least that it accepts.
#[test]
fn a_process_stays_within_its_memory() {
    let (_, vector) = count_within("11x11", "block", 64, &[]);
    assert!(vector > 100 << 20, "{vector} bytes");
    count_within("10x10", "stream", 48, &[]);
}

/// Needs 27 GB of disk and the release profile: `cargo test --release -p keima-cli -- --ignored twentieth`.
#[test]
#[ignore = "long; run in the release profile"]
fn a_twentieth_of_the_vector_is_enough() {
    let memory_mib = 580;
    let (_, vector) = count_within("14x14", "block", memory_mib, &["--disk", "70GiB"]);
    assert!((memory_mib << 20) <= vector / 20, "{vector} bytes");
}

/// The allocator gives memory back early, or counts would exceed their limit. `.cargo/config.toml` sets that at build time,
/// and the allocator prints its settings.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_allocator_keeps_little() {
    let mut asking = command(&["--version"]);
    asking.env("_RJEM_MALLOC_CONF", "stats_print:true");
    let told = run(asking).stderr;
    for option in ["opt.dirty_decay_ms: 100 ", "config.malloc_conf: \"narenas_ratio:1,"] {
        assert!(told.contains(option), "{told}");
    }
}

/// A killed count in memory continues after its last finished sweep, and leaves nothing behind.
#[test]
fn sweeps_in_memory_outlive_a_kill() {
    let home = tempfile::tempdir().unwrap();
    let start = |memory: &str| {
        let mut counting = command(&["count", "go", "10x10", "--threads", "2", "--memory", memory]);
        counting.env("XDG_STATE_HOME", home.path());
        counting
    };
    let folder = home.path().join("keima/go-10x10");
    // A residue at a time, of four.
    let mut first = Process::spawn("a count", start("105MiB"));
    until("the first sweep", || folder.join("sweeps").exists().then_some(()));
    first.kill();
    // A count on disk would lose these residues. It is refused, and they stay.
    for more in [&["--memory", "64MiB"][..], &["--disk", "10GiB"], &["--executor", "stream"]] {
        let mut counting = command(&[&["count", "go", "10x10", "--threads", "2"], more].concat());
        counting.env("XDG_STATE_HOME", home.path());
        let other = run(counting);
        assert_eq!(other.code, Some(2), "{other:#?}");
        assert!(
            other.stderr.contains("residues of go-10x10 are kept") && other.stderr.contains("--fresh"),
            "{other:#?}"
        );
        assert!(folder.join("sweeps").exists());
    }
    // With more memory it has two residues at a time, and uses those that are kept.
    let second = run(start("120MiB"));
    assert_eq!(second.ok(), legal("10x10"));
    assert!(second.stderr.contains("continuing go-10x10"), "{second:#?}");
    assert!(!folder.exists());
}

/// The executors agree. Each is chosen where it should be, and refuses what it cannot do.
#[test]
fn executors_agree_and_are_chosen() {
    let object = |args: &[&str]| -> serde_json::Value {
        let all = [&["count", "go", "6x7", "--json", "--quiet", "--series"], args].concat();
        keima(&all).json()
    };
    let stream = object(&["--executor", "stream"]);
    let folder = tempfile::tempdir().unwrap();
    let dir = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (args, executor) in [
        (&["--executor", "block"][..], "block"),
        (&["--executor", "block", "--threads", "1"], "block"),
        (&[], "block"),
        (&["--memory", "80MiB"], "block"),
        (&["--memory", "64MiB", "--data", &dir("f")], "block"),
        (&["--window", "2", "--data", &dir("a")], "block"),
        (&["--window", "2", "--executor", "stream", "--data", &dir("b")], "stream"),
        (&["--residues-per-sweep", "1", "--data", &dir("c")], "block"),
        (&["--residues-per-sweep", "2", "--threads", "3", "--data", &dir("d")], "block"),
        (&["--executor", "block", "--memory", "96MiB", "--threads", "2", "--data", &dir("e")], "block"),
    ] {
        let got = object(args);
        assert_eq!(got["statistics"]["executor"], executor, "{args:?}");
        for field in ["count", "series"] {
            assert_eq!(got[field], stream[field], "{args:?} {field}");
        }
        // Only in memory, and in enough of it, two directions meet.
        let two_cuts = got["checks"].as_array().unwrap().iter().any(|check| check["name"] == "two_cuts");
        assert_eq!(two_cuts, executor == "block" && !args.contains(&"--data") && !args.contains(&"80MiB"));
    }
    for (args, text) in [
        (&["hard-squares", "5x5", "--executor", "block"][..], "use --executor stream"),
        (&["go", "1x5", "--executor", "block"], "smaller side is 2 to 21"),
        (&["go", "13x13", "--executor", "block", "--memory", "64MiB"], "raise --memory"),
        (&["go", "9x9", "--executor", "quick"], "possible values"),
    ] {
        let ran = keima(&[&["count"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.stderr.contains(text), "{args:?}: {}", ran.stderr);
    }
}
