//! Forecasts beside counts: `keima estimate` and, right after it, the count that it was asked about.
//!
//! ```text
//!   round 1   estimate A, count A, estimate B, count B, ...     round 2   the same ...
//! ```
//!
//! A forecast measures the machine, and that holds for some seconds only. So nothing goes between the two.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::programs::program::{answer, count};
use crate::sample::{median, rounded};

const BLOCK: &str = "block";
const STREAM: &str = "stream";

/// What is forecast and counted: its name, the board, the executor and the memory. Without memory it counts in memory.
struct Case(&'static str, &'static str, &'static str, Option<&'static str>);

/// All ways to count on one machine. Each takes seconds to some minutes.
const CASES: [Case; 14] = [
    Case("blocks in memory", "11x11", BLOCK, None),
    Case("blocks in memory", "12x12", BLOCK, None),
    Case("blocks in memory", "13x13", BLOCK, None),
    Case("blocks, runs on disk", "11x11", BLOCK, Some("2GiB")),
    Case("blocks, runs on disk", "12x12", BLOCK, Some("2GiB")),
    Case("blocks, runs on disk", "13x13", BLOCK, Some("2GiB")),
    Case("blocks, little memory", "11x11", BLOCK, Some("64MiB")),
    Case("blocks, little memory", "12x12", BLOCK, Some("125MiB")),
    Case("blocks, little memory", "13x13", BLOCK, Some("330MiB")),
    Case("blocks, little memory", "13x13", BLOCK, Some("240MiB")),
    Case("blocks, tables in parts", "12x12", BLOCK, Some("100MiB")),
    Case("blocks, tables in parts", "13x13", BLOCK, Some("215MiB")),
    Case("streams", "10x10", STREAM, Some("2GiB")),
    Case("streams", "11x11", STREAM, Some("2GiB")),
];

/// A row of the report: figures of the counts, medians over runs, and how the forecasts compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forecast {
    what: String,
    board: String,
    /// Value of `--memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    runs: usize,
    wall_seconds: f64,
    /// Bytes of runs; none in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_read: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_written: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_disk_bytes: Option<u64>,
    #[serde(rename = "forecast_over_counted")]
    ratios: Ratios,
}

/// What was forecast, divided by what was counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ratios {
    /// Of every run, from the smallest to the largest.
    wall_seconds: Vec<f64>,
    /// Medians.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_read: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_written: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_disk_bytes: Option<f64>,
}

/// Figures of a forecast or of a count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    wall_seconds: f64,
    /// Bytes of runs: read, written, at most on disk.
    bytes: [f64; 3],
}

/// A forecast and its count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pair {
    forecast: Figures,
    counted: Figures,
}

impl Pair {
    /// From what the two programs printed.
    fn new(estimate: &Value, count: &Value, wall_seconds: f64) -> Result<Self> {
        let forecast = |name: &str| estimate[name].as_f64().with_context(|| format!("{name}: no number"));
        let statistics = &count["statistics"];
        // States are no measurement. A short board has up to a twentieth fewer by streams than there can be.
        let [states, found] = [estimate, count].map(|value| value["peak_states"].as_u64());
        let least = if statistics["executor"] == STREAM { states.map(|states| states - states / 20) } else { states };
        ensure!(
            states.is_some() && (least..=states).contains(&found),
            "{} states at most were forecast, and {} there",
            estimate["peak_states"],
            count["peak_states"]
        );
        // Forecast bytes are those of full vectors.
        let filled = forecast("filled")?;
        let disk = estimate["disk_peak_bytes"].as_f64().unwrap_or(0.0);
        let counted = [&statistics["bytes_read"], &statistics["bytes_written"], &count["scratch_peak_bytes"]];
        Ok(Self {
            forecast: Figures {
                wall_seconds: forecast("wall_seconds")?,
                bytes: [forecast("bytes_read")? * filled, forecast("bytes_written")? * filled, disk],
            },
            counted: Figures { wall_seconds, bytes: counted.map(|value| value.as_f64().unwrap_or(0.0)) },
        })
    }
}

impl Case {
    fn name(&self) -> String {
        let Self(what, board, _, memory) = self;
        [what, board, memory.unwrap_or("")].join(" ").trim_end().to_owned()
    }

    fn command(&self, keima: &Path, verb: &str) -> Command {
        let Self(_, board, executor, memory) = self;
        let mut command = Command::new(keima);
        command.args([verb, "go", board, "--json"]);
        if let Some(memory) = memory {
            command.args(["--executor", executor, "--memory", memory]);
        }
        command
    }

    fn pair(&self, keima: &Path) -> Result<Pair> {
        let folder = tempfile::tempdir_in(".").context("a folder for the count")?;
        let folder = folder.path().canonicalize()?;
        let [mut estimating, mut counting] = ["estimate", "count"].map(|verb| self.command(keima, verb));
        counting.arg("--quiet");
        if self.3.is_some() {
            estimating.arg("--scratch").arg(folder.join("estimate"));
            counting.arg("--data").arg(folder.join("data"));
        }
        let forecast = answer(estimating.env("XDG_STATE_HOME", &folder))?;
        let started = Instant::now();
        let counted = count(counting.env("XDG_STATE_HOME", &folder))?;
        Pair::new(&forecast, &counted, started.elapsed().as_secs_f64())
    }

    fn row(&self, pairs: &[Pair]) -> Forecast {
        let mut times: Vec<f64> =
            pairs.iter().map(|pair| rounded(pair.forecast.wall_seconds / pair.counted.wall_seconds)).collect();
        times.sort_by(f64::total_cmp);
        let counted = |which: usize| {
            let bytes = median(pairs.iter().map(|pair| pair.counted.bytes[which]));
            (bytes > 0.0).then(|| rounded(bytes) as u64)
        };
        let ratio = |which: usize| {
            let ratio = median(pairs.iter().map(|pair| pair.forecast.bytes[which] / pair.counted.bytes[which]));
            counted(which).map(|_| rounded(ratio))
        };
        let Self(what, board, _, memory) = *self;
        Forecast {
            what: what.to_owned(),
            board: board.to_owned(),
            memory: memory.map(str::to_owned),
            runs: pairs.len(),
            wall_seconds: rounded(median(pairs.iter().map(|pair| pair.counted.wall_seconds))),
            bytes_read: counted(0),
            bytes_written: counted(1),
            peak_disk_bytes: counted(2),
            ratios: Ratios {
                wall_seconds: times,
                bytes_read: ratio(0),
                bytes_written: ratio(1),
                peak_disk_bytes: ratio(2),
            },
        }
    }
}

/// Measures every case whose name contains `only`, `runs` times.
pub(crate) fn forecasts(keima: &Path, runs: usize, only: Option<&str>) -> Result<Vec<Forecast>> {
    let cases: Vec<&Case> = CASES.iter().filter(|case| only.is_none_or(|only| case.name().contains(only))).collect();
    ensure!(!cases.is_empty(), "no count has {:?} in its name", only.unwrap_or_default());
    let mut pairs: Vec<Vec<Pair>> = vec![Vec::new(); cases.len()];
    for round in 1..=runs.max(1) {
        for (case, pairs) in cases.iter().zip(&mut pairs) {
            eprint!("round {round} of {runs}: {}", case.name());
            let pair = case.pair(keima).with_context(|| case.name())?;
            eprintln!(": {:.2} s forecast, {:.2} s counted", pair.forecast.wall_seconds, pair.counted.wall_seconds);
            pairs.push(pair);
        }
    }
    Ok(cases.iter().zip(&pairs).map(|(case, pairs)| case.row(pairs)).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pair_has_the_same_states() {
        let estimate = json!({ "peak_states": 1000, "wall_seconds": 3.0, "bytes_read": 16, "bytes_written": 12,
            "disk_peak_bytes": 5, "filled": 0.5 });
        let check = |executor: &str, states: u64, is_right: bool| {
            let count = json!({ "peak_states": states, "scratch_peak_bytes": 10,
                "statistics": { "executor": executor, "bytes_read": 4, "bytes_written": 3 } });
            let found = Pair::new(&estimate, &count, 4.0);
            assert_eq!(found.is_ok(), is_right, "{executor}, {states}: {found:?}");
            if let Ok(pair) = found {
                assert_eq!((pair.forecast.bytes, pair.counted.bytes), ([8.0, 6.0, 5.0], [4.0, 3.0, 10.0]));
            }
        };
        check("block", 1000, true);
        check("block", 999, false);
        check("stream", 1000, true);
        check("stream", 950, true);
        check("stream", 949, false);
        check("stream", 1001, false);
        assert!(Pair::new(&json!({ "peak_states": 9 }), &json!({ "peak_states": 9 }), 4.0).is_err());
    }

    #[test]
    fn rows_have_every_time_and_medians_of_bytes() {
        let pair = |wall_seconds, bytes| Pair {
            forecast: Figures { wall_seconds, bytes: [bytes; 3] },
            counted: Figures { wall_seconds: 10.0, bytes: [2.0 * bytes; 3] },
        };
        let row = CASES[9].row(&[pair(12.6, 1e9), pair(8.0, 1e9), pair(7.0, 3e9)]);
        assert_eq!((row.memory.as_deref(), row.bytes_written, row.runs), (Some("240MiB"), Some(2_000_000_000), 3));
        assert_eq!(row.ratios.wall_seconds, [0.7, 0.8, 1.26]);
        assert_eq!(row.ratios.peak_disk_bytes, Some(0.5));
        let row = CASES[0].row(&[pair(9.0, 0.0)]);
        assert_eq!((row.memory, row.bytes_read, row.ratios.bytes_read), (None, None, None));
    }
}
