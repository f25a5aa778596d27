//! The tutorial's commands, run as they stand there: each prints what the tutorial says.

use std::process::Command;

use crate::process::{Process, command, run};

/// A folder that the tutorial names, and that a test must not share with others.
const FOLDER: &str = "/tmp/squares";

/// The commands of the console blocks, each with what it prints.
fn commands(tutorial: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for block in tutorial.split("```console\n").skip(1) {
        for line in block.lines().take_while(|line| *line != "```") {
            match (line.strip_prefix("$ "), found.last_mut()) {
                (Some(command), _) => found.push((command.to_owned(), String::new())),
                (None, Some((_, printed))) => *printed += &format!("{line}\n"),
                (None, None) => panic!("{line:?} belongs to no command"),
            }
        }
    }
    found
}

/// How columns are aligned is not what the tutorial is about.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn commands_print_what_the_tutorial_says() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_str().unwrap();
    let program = command(&[]).get_program().to_owned();
    let programs = std::path::Path::new(&program).parent().unwrap().to_owned();
    let path = std::env::join_paths(
        std::iter::once(programs).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let path = path.unwrap();
    let (mut services, mut url) = (Vec::new(), String::new());
    let mut ran = 0;
    for (text, printed) in commands(include_str!("../../../../docs/tutorial.md")) {
        let text = text.replace(FOLDER, folder);
        ran += 1;
        if let Some(service) = text.strip_prefix("keima ").and_then(|service| service.strip_suffix(" &")) {
            let args: Vec<&str> = service.split_whitespace().collect();
            // Ports are free ones.
            let (name, where_to): (_, &[&str]) = match args[0] {
                "coordinator" => ("coordinator ready at ", &["--listen", "127.0.0.1:0"]),
                _ => ("worker ready at ", &["--coordinator", &url]),
            };
            let mut process = Process::start(args[0], &[&args[..], where_to].concat(), "");
            let at = process.ready(name);
            if args[0] == "coordinator" {
                url = at;
            }
            services.push(process);
            continue;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &text]).env("PATH", &path).env("KEIMA_COORDINATOR", &url).env("XDG_STATE_HOME", folder);
        let said = run(shell);
        assert_eq!((said.code, words(&said.stdout)), (Some(0), words(&printed)), "{text}: {}", said.stderr);
    }
    assert_eq!((ran, services.len()), (8, 3));
}
