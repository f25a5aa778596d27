//! The blocks of docs/use/data.md, each in the program that it is for: all of them print the largest count of the series with every
//! digit. A program that is not installed is skipped aloud.

use std::path::Path;
use std::process::Command;

use crate::harness::process::{Ran, command, run};

const PAGE: &str = include_str!("../../../../../docs/use/data.md");
/// Packages of Python. Others are programs.
const PACKAGES: [&str; 3] = ["pandas", "polars", "duckdb"];
/// What must be there: the book needs it.
const NEEDED: &str = "python3";

/// Whether a program runs.
pub(crate) fn is_there(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|ran| ran.status.success())
}

pub(crate) fn skip(program: &str) {
    eprintln!("skipped: {program} is not here");
}

/// A block of the page.
struct Block<'a> {
    tool: &'a str,
    language: &'a str,
    text: &'a str,
}

fn blocks() -> Vec<Block<'static>> {
    let marked = PAGE.split("<!-- tried with ").skip(1);
    let block = |rest: &'static str| {
        let (tool, rest) = rest.split_once(" -->\n```").expect("a block behind its mark");
        let (language, rest) = rest.split_once('\n').unwrap();
        Block { tool, language, text: rest.split("```").next().unwrap() }
    };
    marked.map(block).collect()
}

fn has(tool: &str) -> bool {
    match tool {
        package if PACKAGES.contains(&package) => is_there(NEEDED, &["-c", &format!("import {package}")]),
        // A client alone reaches nothing.
        "psql" => is_there("psql", &["-qAtXc", "select 1"]),
        program => is_there(program, &["--version"]),
    }
}

/// Runs a shell or Python with the program on its path.
fn ran(folder: &Path, language: &str, text: &str) -> Ran {
    let program = command(&[]);
    let others = std::env::var_os("PATH").unwrap_or_default();
    let own = Path::new(program.get_program()).parent().unwrap().to_owned();
    let path = std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&others))).unwrap();
    let (interpreter, flag) = if language == "python" { (NEEDED, "-c") } else { ("sh", "-c") };
    let mut command = Command::new(interpreter);
    command.args([flag, text]).current_dir(folder).env("PATH", path).env("XDG_STATE_HOME", folder.join("state"));
    command.env("XDG_CONFIG_HOME", folder.join("config"));
    run(command)
}

#[test]
fn every_digit_comes_through() {
    let folder = tempfile::tempdir().unwrap();
    for line in PAGE.lines().filter_map(|line| line.strip_prefix("$ ")).filter(|line| line.contains(" > ")) {
        ran(folder.path(), "sh", line).ok();
    }
    let csv = std::fs::read_to_string(folder.path().join("series.csv")).unwrap();
    let largest = csv.lines().last().unwrap().split(',').nth(2).unwrap().to_owned();
    assert!(
        (80..=180).contains(&largest.len()) && PAGE.contains(&format!("has {} digits", largest.len())),
        "{largest}"
    );
    let blocks = blocks();
    assert_eq!(blocks.len(), 11, "blocks of the page");
    for Block { tool, language, text } in blocks {
        if tool != NEEDED && !has(tool) {
            skip(tool);
            continue;
        }
        assert_eq!(ran(folder.path(), language, text).ok(), largest, "{tool}: {text}");
        eprintln!("{tool}: all {} digits", largest.len());
    }
}

/// What the page says loses digits does so where it can be tried without anything else.
#[test]
fn a_double_is_not_enough() {
    let folder = tempfile::tempdir().unwrap();
    let digits = "200203194086297695671447973013557850996986259152430382611235007734890620740154339541587";
    for (what, text) in [
        ("float", format!("print(int(float('{digits}')))")),
        (
            "sqlite3, integer",
            format!(
                "import sqlite3\nd = sqlite3.connect(':memory:')\nd.execute('create table t (n integer)')\n\
                 d.execute('insert into t values (?)', ('{digits}',))\nprint(int(d.execute('select n from t').fetchone()[0]))"
            ),
        ),
    ] {
        let got = ran(folder.path(), "python", &text).ok().to_owned();
        assert_eq!(got.len(), digits.len(), "{what}");
        assert!(got != digits && got[..15] == digits[..15], "{what}: {got}");
    }
}
