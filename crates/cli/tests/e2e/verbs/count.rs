//! What `keima count` leaves behind: its state, and numbers that nobody could read.

use std::process::{Command, Stdio};

use crate::harness::process::{Process, command, keima, run, until};
use crate::numbers::golden::legal;

/// Without --data the state is in the XDG state folder, and it is deleted when there is nothing to resume.
#[test]
fn state_is_kept_where_it_belongs() {
    let home = tempfile::tempdir().unwrap();
    let mut counting = command(&["count", "go", "5x5", "--executor", "stream"]);
    counting.env("XDG_STATE_HOME", home.path());
    assert_eq!(run(counting).ok(), legal("5x5"));
    let keima = home.path().join("keima");
    assert!(keima.is_dir());
    assert_eq!(std::fs::read_dir(keima).unwrap().count(), 0);
}

/// In a scratch folder of the user's, --fresh deletes neither foreign files nor runs in use.
#[test]
fn fresh_deletes_what_is_keimas() {
    let (home, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(scratch.path().join("photos")).unwrap();
    std::fs::write(scratch.path().join("photos/one"), "mine").unwrap();
    let count = |size: &str| {
        let mut counting = command(&["count", "go", size, "--fresh", "--scratch", scratch.path().to_str().unwrap()]);
        counting.env("XDG_STATE_HOME", home.path());
        counting
    };
    assert_eq!(run(count("5x5")).ok(), legal("5x5"));
    let left =
        || -> Vec<_> { std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect() };
    assert_eq!(left(), ["photos"]);
    // Another one at work there.
    let mut other = Process::spawn("a count", count("12x12"));
    until("runs of the other", || scratch.path().join("j1").exists().then_some(()));
    let refused = run(count("5x5"));
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    assert!(refused.stderr.contains("in use"), "{refused:#?}");
    assert!(scratch.path().join("j1").exists());
    other.kill();
    assert_eq!(run(count("5x5")).ok(), legal("5x5"));
    assert_eq!(left(), ["photos"]);
}

/// An interrupted count is not continued with another executor, nor for another board.
#[test]
fn a_run_goes_on_as_it_was_begun_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    fn count<'a>(size: &'a str, data: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        [&["count", "go", size, "--data", data], more].concat()
    }
    let mut first = Process::spawn("a count", command(&count("10x10", data, &["--executor", "stream"])));
    until("runs", || dir.path().join("scratch/j1").exists().then_some(()));
    first.kill();
    for (size, more, text) in [
        ("10x10", &["--executor", "block"][..], "started with the stream executor"),
        ("5x5", &[], "an interrupted count of go 10x10"),
    ] {
        let refused = keima(&count(size, data, more));
        assert_eq!(refused.code, Some(2), "{refused:#?}");
        assert!(refused.stderr.contains(text), "{refused:#?}");
    }
    let rest = keima(&count("10x10", data, &[]));
    assert_eq!(rest.ok(), legal("10x10"));
    let said = &rest.stderr;
    assert!(said.contains("continuing go 10x10") && said.contains("with its plan: stream executor"), "{rest:#?}");
}

/// A count that needs no state runs without a folder for it.
#[test]
fn a_count_in_memory_needs_no_home() {
    let mut counting = command(&["count", "go", "5x5"]);
    counting.env_remove("XDG_STATE_HOME").env_remove("HOME");
    assert_eq!(run(counting).ok(), legal("5x5"));
}

/// A number that cannot be printed is not lost, on disk or in memory: the same command prints it and counts nothing again.
#[test]
fn a_number_that_cannot_be_printed_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let args = |executor| ["count", "go", "5x5", "--executor", executor];
    let count = |executor| {
        let mut counting = command(&args(executor));
        counting.env("XDG_STATE_HOME", home.path());
        counting
    };
    let program = env!("CARGO_BIN_EXE_keima");
    let shell = |executor, script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, program]).args(args(executor)).env("XDG_STATE_HOME", home.path());
        shell
    };
    let open = |path, read| std::fs::File::options().read(read).write(true).open(path).unwrap();
    for (executor, was_kept) in [("stream", "was counted here before"), ("block", "its result was kept")] {
        let (reader, unread) = std::io::pipe().unwrap();
        drop(reader);
        let to = |stdout: Stdio| {
            let mut counting = count(executor);
            counting.stdout(stdout);
            counting
        };
        for (what, code, mut counting) in [
            // Every write there fails for want of room.
            ("full", 1, to(open("/dev/full", false).into())),
            ("no reader", 1, to(unread.into())),
            // The shell closes its standard output and becomes the program.
            ("closed", 0, shell(executor, "exec \"$0\" \"$@\" >&-")),
            // As Python opens it for `subprocess.DEVNULL`; nobody can tell it from a closed output.
            ("null", 0, to(open("/dev/null", true).into())),
        ] {
            // A command that collects the output would replace its standard output.
            let child = counting.stderr(Stdio::piped()).spawn().unwrap();
            let ended = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            let what = format!("{what}, {executor}");
            assert_eq!(ended.status.code(), Some(code), "{what}: {said}");
            assert!(said.contains("standard output") && said.contains("same command"), "{what}: {said}");
            assert_eq!(said.contains("kept in "), executor == "block", "it says where: {what}: {said}");
            let again = run(count(executor));
            assert_eq!(again.ok(), legal("5x5"), "{what}");
            assert!(again.stderr.contains(was_kept), "{what}: {again:#?}");
        }
        // A shell opens it for writing alone: thrown away on purpose, without a word.
        let thrown = run(shell(executor, "exec \"$0\" \"$@\" > /dev/null"));
        assert!(thrown.code == Some(0) && !thrown.stderr.contains("standard output"), "{thrown:#?}");
        let afresh = run(count(executor));
        assert_eq!(afresh.ok(), legal("5x5"));
        assert!(!afresh.stderr.contains(was_kept), "it is forgotten once it is printed: {afresh:#?}");
        assert_eq!(std::fs::read_dir(home.path().join("keima")).unwrap().count(), 0, "{executor}");
    }
}

/// The kept result of a count in memory is a result that verifies. Its command alone takes it, prints the very same in every
/// format, and deletes it. Damage is named, and the number is counted again.
#[test]
fn a_kept_result_is_its_commands_own() {
    let home = tempfile::tempdir().unwrap();
    let count = |more: &[&str]| {
        let mut counting = command(&[&["count", "go", "5x5"], more].concat());
        counting.env("XDG_STATE_HOME", home.path());
        counting
    };
    let lose = |more: &[&str]| {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let child = count(more).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    };
    let folder = home.path().join("keima/go-5x5");
    let check = |lost: &[&str], file: &str, more: &[&str], taken: bool| {
        lose(lost);
        let file = folder.join(file);
        let verified = keima(&["verify", file.to_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{verified:#?}");
        let mut kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let object = run(count(&[more, &["--json"]].concat()));
        assert_eq!(object.stderr.contains("its result was kept"), taken, "{lost:?}, {more:?}: {object:#?}");
        assert_eq!(!file.exists(), taken, "{lost:?}, {more:?}");
        let object = object.json();
        assert_eq!(object["count"], legal("5x5"));
        let fields = kept.as_object_mut().unwrap();
        fields.retain(|name, _| object.get(name).is_some());
        assert_eq!(kept == object, taken, "{lost:?}, {more:?}: expected {kept}, got {object}");
        let _ = std::fs::remove_file(file);
    };
    check(&[], "result.json", &[], true);
    check(&[], "result.json", &["--threads", "1"], true);
    check(&["--format", "csv"], "result.json", &[], true);
    check(&["--series"], "result-series.json", &["--series"], true);
    check(&["--double-check"], "result-double-check.json", &["--double-check"], true);
    check(&[], "result.json", &["--series"], false);
    check(&["--double-check"], "result-double-check.json", &[], false);
    check(&[], "result.json", &["--executor", "stream"], false);
    lose(&[]);
    let fresh = run(count(&["--fresh"]));
    assert!(fresh.ok() == legal("5x5") && !fresh.stderr.contains("its result was kept"), "{fresh:#?}");
    lose(&[]);
    let file = folder.join("result.json");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, whole.replace("\"5x5\"", "\"5x6\"")).unwrap();
    let damaged = run(count(&[]));
    assert_eq!(damaged.ok(), legal("5x5"));
    assert!(damaged.stderr.contains("result.json is damaged and not used: checksum"), "{damaged:#?}");
    assert!(!folder.exists(), "the new number was told");
}

/// Where nothing can be kept the number stands on standard error.
#[test]
fn a_number_that_cannot_be_kept_is_told_with_the_error() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("keima"), "no folder").unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut counting = command(&["count", "go", "5x5", "--quiet"]);
    let child = counting.env("XDG_STATE_HOME", home.path()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot be kept: cannot write ") && said.contains(&legal("5x5")), "{said}");
}

/// The first count of `--double-check` is not lost with the second one, nor a signal that comes between the two.
#[test]
fn the_first_of_two_counts_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let count = || {
        let mut counting = command(&["count", "go", "10x10", "--double-check", "--json"]);
        counting.env("XDG_STATE_HOME", home.path());
        counting
    };
    let mut held = count();
    held.env("KEIMA_FAILPOINT", "count.before_second=sleep:2000");
    let mut first = Process::spawn("a count", held);
    first.says("failpoint count.before_second hit", 1);
    first.signal("INT");
    assert_eq!(first.ended().code(), Some(4), "{}", first.stderr());
    let said = first.stderr();
    assert!(said.contains("the second count: interrupted") && said.contains("the first count is kept"), "{said}");
    let rest = run(count());
    assert!(rest.stderr.contains("its result was kept") && rest.stderr.contains("a second time"), "{rest:#?}");
    let object = rest.json();
    assert_eq!(
        (&object["count"], object["double_check"]["count"].as_str()),
        (&legal("10x10").into(), Some(&*legal("10x10")))
    );
    assert_eq!(std::fs::read_dir(home.path().join("keima")).unwrap().count(), 0);
}

/// Each sweep but the last tells the residue that it has found, held against the published number.
#[test]
fn sweeps_tell_their_residues() {
    let home = tempfile::tempdir().unwrap();
    let mut counting = command(&["count", "go", "7x7", "--executor", "block", "--residues-per-sweep", "1"]);
    counting.env("XDG_STATE_HOME", home.path());
    let ran = run(counting);
    let told: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("is done: L(7,7) is ")).collect();
    assert_eq!(told.len(), 2, "{ran:#?}");
    let number: u128 = legal("7x7").parse().unwrap();
    for line in told {
        let (_, residue) = line.split_once("is done: L(7,7) is ").unwrap();
        let (residue, modulus) = residue.strip_suffix(", as published").unwrap().split_once(" modulo ").unwrap();
        assert_eq!(residue.parse::<u128>().unwrap(), number % modulus.parse::<u128>().unwrap(), "{line}");
    }
}

/// An interrupted count on disk keeps what it has reached, says how much, and warns of nothing.
#[test]
fn an_interrupted_count_keeps_what_it_has() {
    let home = tempfile::tempdir().unwrap();
    let count = || {
        let args =
            ["count", "go", "9x9", "--json", "--executor", "stream", "--window", "2", "--residues-per-sweep", "1"];
        let mut counting = command(&args);
        counting.env("XDG_STATE_HOME", home.path());
        counting
    };
    let mut first = Process::spawn("a count", count());
    // The runs of a stage lie in a folder g1, g2, ...
    let runs = home.path().join("keima/go-9x9/scratch/j1/s0");
    let stage = |entry: std::fs::DirEntry| entry.file_name().to_str()?.strip_prefix('g')?.parse::<u32>().ok();
    until("the tenth stage", || {
        std::fs::read_dir(&runs).ok()?.flatten().filter_map(stage).any(|stage| stage >= 10).then_some(())
    });
    first.signal("INT");
    assert_eq!(first.ended().code(), Some(4));
    let said = first.stderr();
    assert!(said.contains("interrupted; kept ") && said.contains(" of 81 passes"), "{said}");
    assert!(!said.contains("WARN") && !said.contains("Stopped"), "{said}");
    let rest = run(count());
    let object = rest.json();
    assert_eq!(object["count"], legal("9x9"));
    assert!(rest.stderr.contains("continuing go 9x9"), "{rest:#?}");
    let from = object["resumed_from"].as_str().unwrap();
    assert!(!from.starts_with("the start") && !from.starts_with("stage 0 "), "{from}");
}

/// Many sizes in one command: a line each, in every format, with an error for what cannot be counted.
#[test]
fn many_sizes_make_a_table() {
    let rows = [("1x2", "5"), ("1x3", "15"), ("2x2", "57"), ("2x3", "489")];
    let csv: Vec<String> = rows.iter().map(|(size, count)| format!("{size},{count},")).collect();
    let table = keima(&["count", "go", "1..2x2..3", "--format", "csv", "--quiet"]);
    assert_eq!((table.ok(), table.stderr.as_str()), (&*format!("size,count,error\n{}", csv.join("\n")), ""));
    let lines = keima(&["count", "go", "1..2x2..3", "--json", "--quiet"]);
    let objects: Vec<serde_json::Value> = lines.ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = objects.iter().map(|object| (object["size"].as_str().unwrap(), object["count"].as_str().unwrap()));
    assert!(told.eq(rows), "{lines:#?}");
    let text = keima(&["count", "go", "1..2x2..3", "--quiet"]);
    assert_eq!(text.ok(), rows.map(|(size, count)| format!("{size}  {count}")).join("\n"));
    let squares = keima(&["count", "go", "2..4", "--format", "bfile", "--quiet"]);
    assert_eq!(squares.ok(), "2 57\n3 12675\n4 24318165");
    let sides = keima(&["count", "quoridor-fences", "1..2", "--format", "csv", "--quiet"]);
    assert_eq!(sides.ok(), "size,count,error\n1x1,3,\n2x2,47,");
    let some = keima(&["count", "go", "0..1x2", "--format", "csv", "--quiet"]);
    assert_eq!(some.code, Some(2), "{some:#?}");
    let rows: Vec<&str> = some.stdout.lines().collect();
    assert!(rows.len() == 3 && rows[1].starts_with("0x2,,") && rows[1].contains("at least 1"), "{some:#?}");
    assert_eq!(rows[2], "1x2,5,");
    let cut = keima(&["count", "go", "0..3x2", "--format", "bfile", "--quiet"]);
    assert_eq!((cut.code, cut.stdout.as_str()), (Some(2), ""), "a b-file has no gaps: {cut:#?}");
}

/// A table whose reader goes away keeps its numbers, and the same command prints all of them.
#[test]
fn an_interrupted_table_continues() {
    let home = tempfile::tempdir().unwrap();
    let count = || {
        let mut counting = command(&["count", "go", "3x1..5", "--executor", "stream"]);
        counting.env("XDG_STATE_HOME", home.path());
        counting
    };
    let (reader, writer) = std::io::pipe().unwrap();
    let child = count().stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(reader), &mut line).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let kept = home.path().join("keima/go-3x1__5/sizes");
    assert!(std::fs::read_to_string(&kept).unwrap().contains("\"count\":\"15\""), "3x1");
    let whole = run(count());
    let told: Vec<&str> = whole.ok().lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(told, ["15", "489", "12675", "321689", "8180343"], "{whole:#?}");
    assert!(!kept.exists(), "all is printed");
}

/// The reader of standard error may go away at any time.
#[test]
fn nobody_has_to_read_standard_error() {
    for executor in ["block", "stream"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut counting = command(&["count", "go", "5x5", "--executor", executor]);
        let ended = counting.env("KEIMA_LOG", "debug").stderr(writer).output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{executor}: {ended:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stdout).trim_end(), legal("5x5"), "{executor}");
    }
}

/// A count that cannot start leaves nothing that looks like an interrupted count.
#[test]
fn a_count_that_cannot_start_leaves_no_state() {
    let home = tempfile::tempdir().unwrap();
    let mut counting = command(&["count", "go", "6x6", "--executor", "stream", "--memory", "33MiB", "--threads", "2"]);
    counting.env("XDG_STATE_HOME", home.path());
    let refused = run(counting);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.stderr.contains("--memory"), "{refused:#?}");
    assert!(!home.path().join("keima/go-6x6/state").exists());
}

/// A result in a data folder of the user's is printed again, or counted again with --fresh.
#[test]
fn a_finished_run_is_told_again() {
    // A size that its problem calls 4x6; its number is in OEIS A051737.
    for (problem, size, count) in [("go", "6x6", legal("6x6")), ("hard-squares", "6x4", "36787".to_owned())] {
        let dir = tempfile::tempdir().unwrap();
        let args = ["count", problem, size, "--data", dir.path().to_str().unwrap()];
        for (more, says) in [(None, false), (None, true), (Some("--fresh"), false)] {
            let args: Vec<&str> = args.into_iter().chain(more).collect();
            let ran = keima(&args);
            assert_eq!(ran.ok(), count, "{problem} {size}");
            assert_eq!(ran.stderr.contains("was counted here before"), says, "{ran:#?}");
        }
    }
}
