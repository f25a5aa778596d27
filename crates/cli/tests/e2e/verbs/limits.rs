//! What the machine cannot give: `--memory` is lowered aloud or refused with the figures, and so are `--threads`.

use std::process::Command;

use crate::harness::process::{Process, Ran, command, run};

/// More than any machine has.
const MUCH: &str = "8000TiB";

/// Runs the program in a shell with this limit of `ulimit`.
fn limited(limit: &str, line: &str) -> Ran {
    let keima = command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit {limit} && exec \"$0\" \"$@\"")]).arg(keima.get_program()).args(line.split(' '));
    for (name, value) in keima.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    run(shell)
}

/// An address space of 600 MB has room for some threads and for less than 30 GiB.
#[test]
fn limits_of_a_process_are_kept_to() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let stream = format!("count go 6x6 --threads 1 --executor stream --data {data}");
    for (limit, line, code, stdout, texts) in [
        ("-v 600000", stream.clone(), 0, "62567386502084877", &["\n"][..]),
        (
            "-v 600000",
            format!("{stream}/more --memory 30GiB"),
            0,
            "62567386502084877",
            &["--memory is lowered from 30 GiB to ", "the limit of `ulimit -v` leaves "],
        ),
        ("-v 600000", "count go 6x6 --threads 1 --quiet".to_owned(), 0, "62567386502084877", &[""]),
        (
            "-v 600000",
            "count go 6x6 --threads 900 --executor stream".to_owned(),
            2,
            "",
            &["this needs 1807 threads", "use --threads ", "ulimit -u"],
        ),
        (
            "-d 60000",
            "count go 6x6 --threads 2 --executor stream".to_owned(),
            2,
            "",
            &["are too little", "raise --memory to 48 MiB", "the limit of `ulimit -d` leaves"],
        ),
        ("-v 600000", "estimate go 5x5".to_owned(), 0, "go 5x5 on 1 worker", &[""]),
    ] {
        let ran = limited(limit, &line);
        assert!(ran.code == Some(code) && ran.stdout.starts_with(stdout), "ulimit {limit}; keima {line}: {ran:#?}");
        for text in texts {
            assert!(ran.stderr.contains(text), "ulimit {limit}; keima {line}: no {text:?} in {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("allocation"), "{line}: {}", ran.stderr);
    }
}

#[test]
fn more_memory_than_there_is_is_lowered() {
    let dir = tempfile::tempdir().unwrap();
    let (data, scratch) = (dir.path().join("data"), dir.path().join("scratch"));
    for disk in [&[][..], &["--data", data.to_str().unwrap()]] {
        let line = [&["count", "go", "5x5", "--threads", "1", "--memory", MUCH], disk].concat();
        let ran = run(command(&line));
        assert_eq!(ran.ok(), "414295148741", "{disk:?}");
        assert!(ran.stderr.contains("--memory is lowered from 7.81 PiB to "), "{disk:?}: {}", ran.stderr);
    }
    let args = ["worker", "--scratch", scratch.to_str().unwrap(), "--threads", "1", "--memory", MUCH];
    let mut worker = Process::start("worker", &[&args[..], &["--coordinator", "http://127.0.0.1:9"]].concat(), "");
    worker.says("--memory is lowered from 7.81 PiB to ", 1);
    assert!(worker.is_alive());
}
