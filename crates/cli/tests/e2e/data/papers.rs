//! `--format latex` and `--format gp`: no digit is lost on the way. Where GP and LaTeX are installed, they read it. What
//! `analyse --format sympy` writes is run in `python/tests/test_analyse.py`.

use std::path::Path;
use std::process::Command;

use crate::data::tools::{is_there, skip};
use crate::harness::process::{Ran, keima};
use crate::numbers::golden::legal;

fn count(line: &str) -> String {
    keima(&line.split(' ').collect::<Vec<_>>()).ok().to_owned()
}

/// The digits of a text of LaTeX, without the breaks between groups.
fn joined(latex: &str) -> String {
    latex.replace("\\allowbreak\\,", "")
}

#[test]
fn one_number_is_a_fragment() {
    let grouped = count("count go 7x7 --format latex --quiet");
    assert!(grouped.starts_with("83\\allowbreak\\,677\\allowbreak\\,847"), "{grouped}");
    assert_eq!(joined(&grouped), legal("7x7"));
    assert_eq!(count("count go 7x7 --format gp --quiet"), legal("7x7"));
    assert_eq!(count("count quoridor 3 --all --table count --format gp --quiet"), "2400");
}

#[test]
fn tables_and_series_have_every_number() {
    let series = count("count go 7x8 --series --format gp --quiet");
    let rows: Vec<&str> = series.trim_matches(['[', ']']).split("; ").collect();
    assert_eq!((rows.len(), rows[6]), (8, format!("7, {}", legal("7x7")).as_str()));
    let series = joined(&count("count go 7x8 --series --format latex --quiet"));
    assert!(series.contains(&format!("$L(7,7)$ & {} \\tabularnewline\n", legal("7x7"))), "{series}");
    // A single row is a matrix too.
    for (line, row) in [("go 1x1 --series", "1, 1"), ("quoridor-fences 1x1 --max-fences 0 --table by_fences", "0, 1")] {
        assert_eq!(count(&format!("count {line} --format gp --quiet")), format!("Mat([{row}])"), "{line}");
    }
    let variants = count("count quoridor 3 --all --format gp --quiet");
    for expected in ["count = 2400;\n", "variants = [\"all pairs\", 2400; ", "by_fences = [0, "] {
        assert!(variants.contains(expected), "{expected}: {variants}");
    }
    let fences = joined(&count("count quoridor-fences 8x8 --format latex --quiet"));
    for expected in
        ["1375968129062134174771\n", "mertens\\_unordered", "\n2 & 7952 & 1.5872e4 & 7.9360e3 \\tabularnewline\n"]
    {
        assert!(fences.contains(expected), "{expected}: {fences}");
    }
    assert_eq!(fences.matches("\\begin{tabular}").count(), fences.matches("\\end{tabular}").count());
}

#[test]
fn many_sizes_have_a_beginning_and_an_end() {
    let ran = |format: &str| -> Ran { keima(&["count", "go", "21..22x2", "--format", format, "--quiet"]) };
    let (latex, gp) = (ran("latex"), ran("gp"));
    assert_eq!((latex.code, gp.code), (Some(0), Some(0)));
    let ran = |format: &str| -> Ran { keima(&["count", "go", "21..22x22", "--format", format, "--quiet"]) };
    let (latex, gp) = (ran("latex"), ran("gp"));
    assert_eq!((latex.code, gp.code), (Some(2), Some(2)), "{latex:#?}");
    let lines: Vec<&str> = latex.stdout.lines().collect();
    assert!(lines[0].starts_with("\\begin{tabular}") && lines.last() == Some(&"\\end{tabular}"), "{latex:#?}");
    assert!(lines.iter().any(|line| line.starts_with("% 22x22: ")), "{latex:#?}");
    assert!(gp.stdout.starts_with("counts = Map();\n") && gp.stdout.contains("\n\\\\ 22x22: "), "{gp:#?}");
}

/// A sentence, tables and an analysis make a document without any package.
#[test]
fn latex_takes_it() {
    if !is_there("pdflatex", &["--version"]) {
        return skip("pdflatex");
    }
    let folder = tempfile::tempdir().unwrap();
    let parts: Vec<String> = [
        "count go 2x180 --format latex --quiet",
        "count go 2x60 --series --format latex --quiet",
        "count quoridor-fences 8x8 --format latex --quiet",
        "count quoridor 3 --all --format latex --quiet",
        "count go 1..2x21..22 --format latex --quiet",
        "analyse go 3 --format latex --quiet",
    ]
    .map(count)
    .into();
    let body = parts.join("\n\n\\clearpage\n");
    let text = format!("\\documentclass{{article}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n");
    std::fs::write(folder.path().join("paper.tex"), text).unwrap();
    let ran =
        Command::new("pdflatex").args(["-halt-on-error", "paper.tex"]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && folder.path().join("paper.pdf").exists(), "{said}");
    // No line of digits stands out into the margin. Tables with figures may be a little wide.
    let widest =
        said.lines().filter_map(|line| line.strip_prefix("Overfull \\hbox (")?.split("pt").next()?.parse().ok());
    assert!(widest.fold(0.0, f64::max) < 40.0, "{said}");
}

#[test]
fn gp_reads_it() {
    if !is_there("gp", &["--version"]) {
        return skip("gp");
    }
    let folder = tempfile::tempdir().unwrap();
    let gp = |file: &str, text: &str, asked: &str| -> String {
        std::fs::write(folder.path().join(file), text).unwrap();
        evaluated(folder.path(), &format!("x = read(\"{file}\"); {asked}\n"))
    };
    let longest = count("count go 2x180 --format csv --quiet").lines().last().unwrap().to_owned();
    let longest = longest.split(',').nth(2).unwrap().to_owned();
    assert_eq!(gp("one.gp", &count("count go 2x180 --format gp --quiet"), "print(x)"), longest);
    let series = count("count go 2x180 --series --format gp --quiet");
    assert_eq!(gp("series.gp", &series, "print(matsize(x), x[180,2])"), format!("[180, 2]{longest}"));
    let row = count("count go 1x1 --series --format gp --quiet");
    assert_eq!(gp("row.gp", &row, "print(matsize(x), x[,2])"), "[1, 2][1]~");
    let sizes = count("count go 1..5x5..7 --format gp --quiet");
    assert_eq!(gp("sizes.gp", &sizes, "print(mapget(counts, [5, 5]))"), legal("5x5"));
    let tables = count("count quoridor 3 --all --format gp --quiet");
    assert_eq!(gp("tables.gp", &tables, "print(count, variants[1,2], variants[1,1])"), "24002400all pairs");
    for (problem, height) in
        [("go", 1), ("go", 2), ("go", 3), ("hard-squares", 4), ("grid-paths", 3), ("grid-cycles", 4)]
    {
        let analysis = count(&format!("analyse {problem} {height} --format gp --quiet"));
        let series = count(&format!("count {problem} {height}x10 --series --format bfile --quiet"));
        let numbers: Vec<&str> = series.lines().filter_map(|line| Some(line.split_once(' ')?.1)).collect();
        assert_eq!(evaluated(folder.path(), &analysis), format!("[{}]", numbers.join(", ")), "{analysis}");
    }
}

/// What GP prints.
fn evaluated(folder: &Path, program: &str) -> String {
    std::fs::write(folder.join("asked.gp"), format!("{program}\nquit\n")).unwrap();
    let ran = Command::new("gp").args(["-q", "-f", "asked.gp"]).current_dir(folder).output().unwrap();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{program}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}
