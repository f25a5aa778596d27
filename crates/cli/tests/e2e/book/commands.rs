//! Runs the commands of the book's pages and compares what they print with what the pages show.
//!
//! A fenced block marked `console` is run: a `$` begins a command, the lines below it are what it prints. Commands of a
//! page share an empty folder. `...` as a line stands for any lines, `...` at the end of a line for the rest of it. A page
//! may show a command's standard output alone, or with what stands on standard error before or after it, progress left out.
//! Services, `keima coordinator ... &` and `keima worker ... &`, get free ports and end with the page.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::{pages, read};
use crate::harness::process::{Process, command, run};

/// The commands of a page's console blocks, each with what it prints.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for block in page.split("```console\n").skip(1) {
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

/// A line in words: how columns are aligned is not what a page is about.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Progress (` 84 %  pass 69 of 81, ...`) comes when half a second is over, which is a matter of the machine.
fn is_progress(line: &str) -> bool {
    line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(" %")
}

/// Whether `lines` are those that a page shows, which may leave out some.
fn matches(shown: &[&str], lines: &[&str]) -> bool {
    let Some((first, rest)) = shown.split_first() else { return lines.is_empty() };
    if first.trim() == "..." {
        return (0..=lines.len()).any(|left_out| matches(rest, &lines[left_out..]));
    }
    let Some((line, others)) = lines.split_first() else { return false };
    let same = match first.strip_suffix("...") {
        Some(start) => words(line).join(" ").starts_with(&words(start).join(" ")),
        None => words(line) == words(first),
    };
    same && matches(rest, others)
}

#[test]
fn wildcards_match_what_they_should() {
    for (shown, lines, same) in [
        ("a\nb", "a\nb", true),
        ("a\nb", "a", false),
        ("a", "a\nb", false),
        ("", "", true),
        ("...", "", true),
        ("a\n...\nd", "a\nb\nc\nd", true),
        ("a\n...\nd", "a\nb\nc", false),
        ("a 1...", "a   12", true),
        ("a 1...", "a 2", false),
        ("a  b", "a b", true),
    ] {
        let found = matches(&shown.lines().collect::<Vec<_>>(), &lines.lines().collect::<Vec<_>>());
        assert_eq!(found, same, "{shown:?} {lines:?}");
    }
}

/// A page's services, and the environment of its commands.
struct Shell {
    folder: tempfile::TempDir,
    environment: HashMap<OsString, Option<OsString>>,
    services: Vec<Process>,
}

impl Shell {
    fn new() -> Self {
        let program = command(&[]);
        let mut environment: HashMap<OsString, Option<OsString>> =
            program.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        let programs = Path::new(program.get_program()).parent().unwrap().to_owned();
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&others))).unwrap();
        environment.insert("PATH".into(), Some(path));
        Self { folder: tempfile::tempdir().unwrap(), environment, services: Vec::new() }
    }

    fn prepare(&self, mut command: Command) -> Command {
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(self.folder.path());
        command
    }

    /// Starts a service on a free port, and waits until it is ready.
    fn serve(&mut self, service: &str) {
        let args: Vec<&str> = service.split_whitespace().collect();
        let mut started = self.prepare(command(&args));
        started.args(["--listen", "127.0.0.1:0"]);
        let mut process = Process::spawn(args[0], started);
        let address = process.ready(&format!("{} ready at ", args[0]));
        if args[0] == "coordinator" {
            self.environment.insert("KEIMA_COORDINATOR".into(), Some(address.into()));
        }
        self.services.push(process);
    }

    fn check(&mut self, page: &str, text: &str, shown: &str) {
        if let Some(service) = text.strip_prefix("keima ").and_then(|text| text.strip_suffix(" &")) {
            return self.serve(service);
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", text]);
        let ran = run(self.prepare(shell));
        let shown: Vec<&str> = shown.lines().collect();
        let stdout: Vec<&str> = ran.stdout.lines().collect();
        // A number comes after notes and before its evidence.
        let stderr: Vec<&str> = ran.stderr.lines().filter(|line| !is_progress(line)).collect();
        let (before, after) = ([&stderr[..], &stdout].concat(), [&stdout[..], &stderr].concat());
        let same = [&stdout, &before, &after].into_iter().any(|lines| matches(&shown, lines));
        assert!(ran.code == Some(0) && same, "{page}: $ {text}\nshows\n{}\nbut: {ran:#?}", shown.join("\n"));
    }
}

#[test]
fn commands_print_what_the_pages_say() {
    let mut ran = 0;
    for page in pages() {
        let mut shell = Shell::new();
        for (text, shown) in commands(&read(&page)) {
            shell.check(&page.display().to_string(), &text, &shown);
            ran += 1;
        }
    }
    assert!(ran > 30, "only {ran} commands run");
}
