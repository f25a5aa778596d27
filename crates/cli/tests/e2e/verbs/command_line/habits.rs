//! Configuration file, completions, manual pages, terminals, self-test and doctor.

use std::fs;
use std::process::Command;

use crate::harness::cluster::{Cluster, Setup};
use crate::harness::process::{Ran, command, keima, run};
use crate::numbers::golden::legal;

/// Runs keima with a configuration file.
fn with_file(text: &str, args: &[&str]) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    fs::write(&file, text).unwrap();
    let mut command = command(args);
    command.env("KEIMA_CONFIG", &file);
    run(command)
}

#[test]
fn values_come_from_file_environment_and_command_line() {
    let file = "[count]\nformat = \"csv\"\n";
    let table = with_file(file, &["count", "go", "2x2", "--quiet"]);
    assert!(table.ok().contains(',') && table.ok().contains("57"), "{table:#?}");
    // What is typed stands above.
    assert_eq!(with_file(file, &["count", "go", "2x2", "--format", "text", "--quiet"]).ok(), "57");
    let shown = with_file("[worker]\nmemory = \"1GiB\"\n", &["config", "show", "--json"]).json();
    let settings = shown["settings"].as_array().unwrap();
    assert!(
        settings.iter().any(|s| s["option"] == "memory" && s["source"] == "file" && s["value"] == "1GiB"),
        "{shown}"
    );
    for (text, words) in [("memroy = 1", "did you mean memory?"), ("[count", "config.toml")] {
        let refused = with_file(text, &["count", "go", "2x2"]);
        assert_eq!(refused.code, Some(2), "{refused:#?}");
        assert!(refused.stderr.contains(words), "{refused:#?}");
    }
    let mut missing = command(&["count", "go", "2x2"]);
    missing.env("KEIMA_CONFIG", "/none/config.toml");
    assert_eq!(run(missing).code, Some(2));
}

#[test]
fn completions_and_pages_know_every_verb() {
    for shell in ["bash", "zsh", "fish"] {
        let script = keima(&["completions", shell]);
        assert!(script.ok().contains("coordinator") && script.ok().contains("selftest"), "{shell}");
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("man1");
    keima(&["man", folder.to_str().unwrap()]).ok();
    for (page, words) in
        [("keima.1", "keima\\-count"), ("keima-count.1", "\\-\\-executor"), ("keima-worker.1", "\\-\\-scratch")]
    {
        let text = fs::read_to_string(folder.join(page)).unwrap();
        assert!(text.contains(words), "{page}: {text}");
    }
}

/// On a terminal, which `script` makes: codes of colour, and of a cursor that moves, come where they are wanted and nowhere else.
#[test]
fn a_terminal_gets_the_codes_that_it_wants() {
    if Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `script` (Debian: apt-get install bsdutils)");
        return;
    }
    let check = |term: &str, no_colour: Option<&str>, is_coloured: bool, has_bar: bool| {
        let count = ("count go 8x8 --threads 1", legal("8x8"), has_bar);
        for (words, shown, expected) in [("--help", "Usage".to_owned(), is_coloured), count] {
            let state = tempfile::tempdir().unwrap();
            let typed = format!("stty cols 80 rows 24; '{}' {words}", env!("CARGO_BIN_EXE_keima"));
            let mut terminal = Command::new("script");
            terminal.args(["-qec", &typed, "/dev/null"]).env("TERM", term).env("XDG_STATE_HOME", state.path());
            terminal.env("XDG_CONFIG_HOME", state.path()).env_remove("KEIMA_CONFIG").env_remove("NO_COLOR");
            terminal.envs(no_colour.map(|value| ("NO_COLOR", value)));
            let ran = run(terminal);
            let what = format!("{words}, TERM={term}, NO_COLOR {no_colour:?}: {ran:?}");
            assert!(ran.ok().contains(&shown), "{what}");
            assert_eq!(ran.stdout.contains('\u{1b}'), expected, "{what}");
        }
    };
    check("xterm", None, true, true);
    check("xterm", Some(""), true, true);
    // The bar has no colours.
    check("xterm", Some("1"), false, true);
    check("dumb", None, false, false);
    check("", None, false, false);
    for words in [&["--help"][..], &["count", "go", "8x8", "--threads", "1"]] {
        let ran = keima(words);
        assert!(!format!("{}{}", ran.ok(), ran.stderr).contains('\u{1b}'), "a pipe is no terminal: {ran:?}");
    }
}

#[test]
fn a_sound_machine_passes() {
    let found = keima(&["selftest", "--json"]).json();
    assert_eq!(found["ok"], true, "{found}");
    let names: Vec<&str> = found["findings"].as_array().unwrap().iter().filter_map(|f| f["name"].as_str()).collect();
    assert_eq!(names, ["blocks", "streams", "memory", "disk"]);
    let refused = keima(&["selftest", "--scratch", "/none/such"]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
}

#[test]
fn the_doctor_finds_what_is_damaged() {
    let archive = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(Setup { archive: Some(archive.path().to_owned()), ..Setup::default() });
    let mut worker = cluster.worker("a", "worker.after_pull=sleep:100");
    let job = cluster.submit("9x9");
    cluster.at_stage(&job, 8);
    let busy = keima(&["doctor", cluster.data().to_str().unwrap()]);
    assert_eq!(busy.code, Some(3), "a coordinator is at work there: {busy:#?}");
    worker.kill();
    let mut cluster = cluster;
    cluster.coordinator.kill();
    let look = |folder: &std::path::Path| keima(&["doctor", folder.to_str().unwrap()]);
    for (folder, words) in [
        (cluster.data(), "job j1: go 9x9, running"),
        (cluster.scratch("a"), "sound files"),
        (archive.path().to_owned(), "its runs are there"),
    ] {
        assert!(look(&folder).ok().contains(words), "{words}: {:#?}", look(&folder));
    }
    // One bit of one run, in the scratch folder and in the archive.
    let mut runs = Vec::new();
    files(&cluster.scratch("a"), &mut runs);
    let run = runs.iter().find(|path| path.extension().is_some_and(|e| e == "run")).expect("a run");
    let mut bytes = fs::read(run).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(run, bytes).unwrap();
    let found = look(&cluster.scratch("a"));
    assert_eq!(found.code, Some(3), "{found:#?}");
    assert!(found.stdout.contains("FAIL  run"), "{found:#?}");
    let mut stored = Vec::new();
    files(archive.path(), &mut stored);
    for run in stored.iter().filter(|path| path.extension().is_some_and(|e| e == "run")) {
        fs::write(run, b"short").unwrap();
    }
    let found = look(archive.path());
    assert!(found.code == Some(3) && found.stdout.contains("FAIL  checkpoint"), "{found:#?}");
    let other = tempfile::tempdir().unwrap();
    assert_eq!(look(other.path()).code, Some(2));
}

fn files(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}
