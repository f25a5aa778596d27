//! Forecasts against what came: `keima estimate`, and right after it the count that it was asked about, in processes of
//! their own. docs/forecasts.md holds what was found.
//!
//! ```text
//!   round 1   estimate A, count A, estimate B, count B, ...     round 2   the same ...
//! ```
//!
//! What the forecast measures of the machine holds for some seconds: whatever goes between would be noise.

use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::document::{code, paragraph, rows_of};
use crate::programs::program::{answer, run};
use crate::report::machine::Machine;
use crate::table::short;

/// What a forecast over what came may be: "right within 25 %".
const WITHIN: RangeInclusive<f64> = 0.75..=1.25;

/// What is forecast and counted: the board, and what both are told.
struct Case {
    what: &'static str,
    board: &'static str,
    options: &'static [&'static str],
    /// Whether its runs are files.
    on_disk: bool,
}

const fn on_disk(what: &'static str, board: &'static str, options: &'static [&'static str]) -> Case {
    Case { what, board, options, on_disk: true }
}

const BLOCK: &str = "--executor=block";
const STREAM: &str = "--executor=stream";

/// All ways to count on one machine; each takes seconds to some minutes.
const CASES: [Case; 14] = [
    Case { what: "blocks in memory", board: "11x11", options: &[], on_disk: false },
    Case { what: "blocks in memory", board: "12x12", options: &[], on_disk: false },
    Case { what: "blocks in memory", board: "13x13", options: &[], on_disk: false },
    on_disk("blocks, runs on disk", "11x11", &[BLOCK, "--memory=2GiB"]),
    on_disk("blocks, runs on disk", "12x12", &[BLOCK, "--memory=2GiB"]),
    on_disk("blocks, runs on disk", "13x13", &[BLOCK, "--memory=2GiB"]),
    on_disk("blocks, little memory", "11x11", &[BLOCK, "--memory=64MiB"]),
    on_disk("blocks, little memory", "12x12", &[BLOCK, "--memory=125MiB"]),
    on_disk("blocks, little memory", "13x13", &[BLOCK, "--memory=330MiB"]),
    on_disk("blocks, little memory", "13x13", &[BLOCK, "--memory=240MiB"]),
    on_disk("blocks, tables in parts", "12x12", &[BLOCK, "--memory=100MiB"]),
    on_disk("blocks, tables in parts", "13x13", &[BLOCK, "--memory=215MiB"]),
    on_disk("streams", "10x10", &[STREAM, "--memory=2GiB"]),
    on_disk("streams", "11x11", &[STREAM, "--memory=2GiB"]),
];

/// One pair. Bytes are of runs: read, written, at most on disk; none in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pair {
    forecast_seconds: f64,
    found_seconds: f64,
    forecast_bytes: [f64; 3],
    found_bytes: [f64; 3],
}

impl Pair {
    /// The forecast over what came, of wall time.
    fn times(&self) -> f64 {
        self.forecast_seconds / self.found_seconds
    }

    /// Out of what the two programs printed.
    fn of(estimate: &Value, count: &Value, found_seconds: f64) -> Result<Self> {
        let number = |value: &Value, what: &str| value.as_f64().with_context(|| format!("{what}: no number"));
        let forecast = |name: &str| number(&estimate[name], name);
        let statistics = &count["statistics"];
        // That one is no measurement. By streams a short board has a few states less than there can be.
        let [states, found] = [estimate, count].map(|value| value["peak_states"].as_u64());
        let least = if statistics["executor"] == "stream" { states.map(|states| states - states / 20) } else { states };
        ensure!(
            states.is_some() && (least..=states).contains(&found),
            "{} states at most were forecast, and {} there",
            estimate["peak_states"],
            count["peak_states"]
        );
        let found = [&statistics["bytes_read"], &statistics["bytes_written"], &count["scratch_peak_bytes"]];
        let found = found.map(|value| value.as_f64().unwrap_or(0.0));
        // Those that are forecast are of vectors that are full.
        let filled = forecast("filled")?;
        let [read, written] = [forecast("bytes_read")? * filled, forecast("bytes_written")? * filled];
        Ok(Self {
            forecast_seconds: forecast("wall_seconds")?,
            found_seconds,
            forecast_bytes: [read, written, estimate["disk_peak_bytes"].as_f64().unwrap_or(0.0)],
            found_bytes: found,
        })
    }
}

impl Case {
    fn words(&self, verb: &str) -> Vec<String> {
        [&[verb, "go", self.board], self.options].concat().into_iter().map(str::to_owned).collect()
    }

    fn name(&self) -> String {
        let memory = self.options.iter().find_map(|option| option.strip_prefix("--memory=")).unwrap_or("");
        [self.what, self.board, memory].join(" ").trim_end().to_owned()
    }

    fn pair(&self, keima: &Path) -> Result<Pair> {
        let folder = tempfile::tempdir_in(".").context("a folder for the count")?;
        let folder = folder.path().canonicalize()?;
        let mut estimate = Command::new(keima);
        estimate.args(self.words("estimate")).arg("--json").env("XDG_STATE_HOME", &folder);
        let mut count = Command::new(keima);
        count.args(self.words("count")).args(["--json", "--quiet"]).env("XDG_STATE_HOME", &folder);
        if self.on_disk {
            estimate.arg("--scratch").arg(folder.join("estimate"));
            count.arg("--data").arg(folder.join("data"));
        }
        let forecast = answer(&mut estimate)?;
        let started = Instant::now();
        let found = run(&mut count)?;
        Pair::of(&forecast, &found, started.elapsed().as_secs_f64())
    }
}

/// Takes pairs, a round at a time, and writes what was found as a document.
pub(crate) fn forecasts(keima: &Path, rounds: usize, only: Option<&str>, command: &str) -> Result<String> {
    let cases: Vec<&Case> = CASES.iter().filter(|case| only.is_none_or(|only| case.name().contains(only))).collect();
    ensure!(!cases.is_empty(), "none has {:?} in its name", only.unwrap_or_default());
    let mut pairs: Vec<Vec<Pair>> = vec![Vec::new(); cases.len()];
    for round in 0..rounds.max(1) {
        for (case, pairs) in cases.iter().zip(&mut pairs) {
            eprint!("round {} of {rounds}: {}", round + 1, case.name());
            let pair = case.pair(keima).with_context(|| case.name())?;
            eprintln!(": {} s forecast, {} s counted", short(pair.forecast_seconds), short(pair.found_seconds));
            pairs.push(pair);
        }
    }
    let rows: Vec<(String, Vec<Pair>)> = cases.iter().map(|case| case.name()).zip(pairs).collect();
    Ok(markdown(&rows, &Machine::here(keima), command))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn markdown(rows: &[(String, Vec<Pair>)], machine: &Machine, command: &str) -> String {
    let pairs = || rows.iter().flat_map(|(_, pairs)| pairs);
    let right = pairs().filter(|pair| WITHIN.contains(&pair.times())).count();
    let cells = |(name, pairs): &(String, Vec<Pair>)| {
        let mut times: Vec<f64> = pairs.iter().map(Pair::times).collect();
        times.sort_by(f64::total_cmp);
        let bytes = |which: usize| {
            let found = median(pairs.iter().map(|pair| pair.found_bytes[which]));
            let ratio = median(pairs.iter().map(|pair| pair.forecast_bytes[which] / pair.found_bytes[which]));
            if found > 0.0 { format!("{} GB, {}", short(found / 1e9), short(ratio)) } else { String::new() }
        };
        [
            name.clone(),
            short(median(pairs.iter().map(|pair| pair.found_seconds))),
            times.iter().map(|&times| short(times)).collect::<Vec<_>>().join(", "),
            bytes(0),
            bytes(1),
            bytes(2),
        ]
    };
    let intro = paragraph(&format!(
        "Written by `{command}`: do not edit it, run that again on a quiet machine. Each pair is `keima estimate go NxN ...` and, \
         right after it, `keima count go NxN ...` with the same options: what was forecast over what came, of wall time of \
         every pair, of bytes the median beside what came; those by streams are forecast of vectors that are full, and here times \
         `filled`, which is forecast with them. Numbers of states must be the same, by \
         streams within a twentieth, or nothing is written.",
    ));
    let verdict = paragraph(&format!("{right} of {} forecasts of wall time are right within 25 %.", pairs().count()));
    let table = rows_of(
        ["count", "s", "forecast over counted", "read", "written", "at most on disk"],
        &rows.iter().map(cells).collect::<Vec<_>>(),
    );
    format!("# Forecasts\n\n{intro}\n{verdict}\n{table}\n## Machine\n\n{}", code(&machine.text()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn cases_are_told_apart() {
        let names: BTreeSet<String> = CASES.iter().map(Case::name).collect();
        assert_eq!(names.len(), CASES.len());
        assert!(names.contains("blocks, little memory 13x13 240MiB") && names.contains("blocks in memory 12x12"));
        assert_eq!(CASES[9].words("count"), ["count", "go", "13x13", "--executor=block", "--memory=240MiB"]);
    }

    #[test]
    fn a_pair_is_of_the_same_states() {
        let estimate = json!({
            "peak_states": 9, "wall_seconds": 3.0, "bytes_read": 16, "bytes_written": 12, "disk_peak_bytes": 5,
            "filled": 0.5,
        });
        let count = |states: u64| {
            json!({
                "peak_states": states, "scratch_peak_bytes": 10, "statistics": { "bytes_read": 4, "bytes_written": 3 },
            })
        };
        let pair = Pair::of(&estimate, &count(9), 4.0).unwrap();
        assert_eq!((pair.times(), pair.forecast_bytes, pair.found_bytes), (0.75, [8.0, 6.0, 5.0], [4.0, 3.0, 10.0]));
        let error = Pair::of(&estimate, &count(8), 4.0).unwrap_err().to_string();
        assert!(error.contains('9') && error.contains('8'), "{error}");
        assert!(Pair::of(&json!({ "peak_states": 9 }), &count(9), 4.0).is_err());
    }

    #[test]
    fn by_streams_a_few_states_may_be_missing() {
        let estimate =
            json!({ "peak_states": 1000, "wall_seconds": 3.0, "bytes_read": 8, "bytes_written": 6, "filled": 1 });
        for (found, right) in [(1000, true), (950, true), (949, false), (1001, false)] {
            let count = json!({ "peak_states": found, "statistics": { "executor": "stream" } });
            assert_eq!(Pair::of(&estimate, &count, 4.0).is_ok(), right, "{found}");
        }
    }

    #[test]
    fn every_pair_is_in_the_document() {
        let pair = |forecast_seconds, bytes| Pair {
            forecast_seconds,
            found_seconds: 10.0,
            forecast_bytes: [bytes; 3],
            found_bytes: [2e9 * bytes; 3],
        };
        let rows = [
            ("in memory".to_owned(), vec![pair(9.0, 0.0)]),
            ("on disk".to_owned(), vec![pair(12.6, 1.0), pair(8.0, 1.0), pair(7.0, 1.0)]),
        ];
        let text =
            markdown(&rows, &Machine { lines: vec![("processor", "a good one".into())] }, "scripts/bench forecast");
        for part in [
            "Written by `scripts/bench forecast`: do not edit",
            "2 of 4 forecasts of wall time are right",
            "| in memory | 10.0 | 0.90 |  |  |  |",
            "| on disk | 10.0 | 0.70, 0.80, 1.26 | 2.00 GB, 0.00 | 2.00 GB, 0.00 | 2.00 GB, 0.00 |",
            "    processor  a good one\n",
        ] {
            assert!(text.contains(part), "{part:?} is missing in\n{text}");
        }
        assert!(text.lines().all(|line| line.starts_with(['|', ' ']) || line.chars().count() <= 120));
    }
}
