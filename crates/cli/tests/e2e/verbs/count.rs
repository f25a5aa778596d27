//! What `keima count` leaves behind: its state, and numbers that nobody could read.

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

/// A number that cannot be printed is not lost: the state stays, and the same command prints it.
#[test]
fn a_number_that_cannot_be_printed_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let count = || {
        let mut counting = command(&["count", "go", "5x5", "--executor", "stream"]);
        counting.env("XDG_STATE_HOME", home.path());
        counting
    };
    // Every write there fails for want of room.
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = count().stdout(full).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("standard output"), "{said}");
    let again = run(count());
    assert_eq!(again.ok(), legal("5x5"));
    assert!(again.stderr.contains("was counted here before"), "{again:#?}");
    assert_eq!(run(count()).ok(), legal("5x5"), "and then it is forgotten");
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
