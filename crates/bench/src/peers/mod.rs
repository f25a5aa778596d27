//! keima beside programs of others, in pairs: the peer's count and, right after it, keima's of the same thing.
//!
//! ```text
//!   times faster = (peer's wall time / its residues) / (keima's wall time / its residues)
//! ```
//!
//! Times are those of whole processes, set-up and keima's checks included. A peer that counts exactly has no residues; then
//! keima's whole count stands beside it. The numbers must agree.

mod programs;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::peers::programs::{Answer, Peer, Programs, Ran, timed};
use crate::sample::{median, ratio, rounded};

const MIB: f64 = (1 << 20) as f64;

/// What both count: the peer, the problem, the side of the board, the option of the problem, the threads.
struct Case(Peer, &'static str, u32, Option<&'static str>, u32);

/// Seconds to half a minute each.
const CASES: [Case; 12] = [
    Case(Peer::Golegal, "go", 9, None, 2),
    Case(Peer::Golegal, "go", 10, None, 2),
    Case(Peer::Golegal, "go", 11, None, 2),
    Case(Peer::FastGridPathCounter, "grid-paths", 13, None, 1),
    Case(Peer::FastGridPathCounter, "grid-paths", 15, None, 1),
    Case(Peer::FastGridPathCounter, "grid-paths", 17, None, 1),
    Case(Peer::FastGridPathCounter, "grid-paths", 17, None, 2),
    Case(Peer::FastGridPathCounter, "grid-cycles", 15, None, 1),
    Case(Peer::FastGridPathCounter, "grid-cycles", 16, Some("hamiltonian"), 1),
    Case(Peer::Graphillion, "grid-paths", 8, None, 1),
    Case(Peer::Graphillion, "grid-cycles", 8, None, 1),
    Case(Peer::Graphillion, "grid-cycles", 8, Some("hamiltonian"), 1),
];

/// Which peers there are, and how often to run.
#[derive(Args)]
pub(crate) struct Options {
    /// Folder with golegal's sources (github.com/tromp/golegal)
    #[arg(long, value_name = "DIR")]
    golegal: Option<PathBuf>,
    /// Folder with the sources of github.com/milostatarevic/FastGridPathCounter
    #[arg(long, value_name = "DIR")]
    fast_grid_path_counter: Option<PathBuf>,
    /// A Python that has the package graphillion
    #[arg(long, value_name = "PYTHON")]
    graphillion: Option<PathBuf>,
    /// Runs of each pair
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Only pairs with this text in their name, such as `golegal`, `cycles` or `17x17`
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// A row of the report: medians over runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Beside {
    /// The peer.
    what: String,
    /// What both count, as arguments of `keima count`.
    count: String,
    threads: u32,
    runs: usize,
    peer: Figures,
    keima: Figures,
    /// Median of the pairs' ratios, for each residue.
    times_faster: f64,
}

/// Figures of one of the two programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    command: String,
    wall_seconds: f64,
    processor_seconds: f64,
    /// Residues, or none where the peer counts exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    residues: Option<u32>,
    /// Largest memory of the process. golegal's are several and not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_memory_mebibytes: Option<u64>,
}

impl Case {
    /// The count, as arguments of keima.
    fn count(&self) -> String {
        let Self(_, problem, side, option, _) = self;
        let option = option.map(|option| format!(" -o {option}")).unwrap_or_default();
        format!("{problem} {side}x{side}{option}")
    }

    fn name(&self) -> String {
        format!("{} {}, threads {}", self.0.name(), self.count(), self.4)
    }

    /// Runs the peer, then keima.
    fn pair(&self, keima: &Path, programs: &Programs) -> Result<[Ran; 2]> {
        let Self(peer, problem, side, option, threads) = self;
        let theirs = programs.run(*peer, problem, *side, *option, *threads)?;
        let folder = tempfile::tempdir().context("a folder for the count")?;
        let text = format!("count {} --threads {threads}", self.count());
        let mut command = Command::new(keima);
        command.args(text.split(' ')).args(["--json", "--quiet"]).env("XDG_STATE_HOME", folder.path());
        let (output, ran) = timed(&mut command)?;
        let result: Value = serde_json::from_str(&output).with_context(|| format!("the output of keima {text}"))?;
        let count = result["count"].as_str().context("keima found no number")?.to_owned();
        ensure!(theirs.answer.agrees(&count), "{} found {}, keima {count}", peer.name(), theirs.answer);
        let residues = result["residues"].as_array().map(|residues| residues.len() as u32);
        Ok([theirs, Ran { command: format!("keima {text}"), residues, answer: Answer::Exact(count), ..ran }])
    }

    fn row(&self, pairs: &[[Ran; 2]]) -> Beside {
        let [theirs, ours] = [0, 1].map(|which| pairs.iter().map(|pair| &pair[which]).collect::<Vec<_>>());
        Beside {
            what: self.0.name().to_owned(),
            count: self.count(),
            threads: self.4,
            runs: pairs.len(),
            peer: figures(&theirs),
            keima: figures(&ours),
            times_faster: rounded(median(pairs.iter().map(times_faster))),
        }
    }
}

/// How many times faster keima is, for each residue where both have them.
fn times_faster([theirs, ours]: &[Ran; 2]) -> f64 {
    let residues = theirs.residues.zip(ours.residues);
    let for_each = residues.map_or(1.0, |(theirs, ours)| ratio(f64::from(ours), f64::from(theirs)));
    for_each * ratio(theirs.wall_seconds, ours.wall_seconds)
}

/// Medians of runs of one program.
fn figures(runs: &[&Ran]) -> Figures {
    let of = |figure: fn(&Ran) -> f64| median(runs.iter().map(|ran| figure(ran)));
    let peak_bytes = of(|ran| ran.peak_bytes);
    let first = runs.first();
    Figures {
        command: first.map(|ran| ran.command.clone()).unwrap_or_default(),
        wall_seconds: rounded(of(|ran| ran.wall_seconds)),
        processor_seconds: rounded(of(|ran| ran.processor_seconds)),
        residues: first.and_then(|ran| ran.residues),
        peak_memory_mebibytes: (peak_bytes > 0.0).then(|| (peak_bytes / MIB).round() as u64),
    }
}

/// Measures all pairs whose peer is there, in rounds over all.
pub(crate) fn rows(options: &Options, keima: &Path) -> Result<Vec<Beside>> {
    let programs = Programs::new(
        options.golegal.as_deref(),
        options.fast_grid_path_counter.as_deref(),
        options.graphillion.as_deref(),
    )?;
    let only = options.only.as_deref().unwrap_or_default();
    let cases: Vec<&Case> = CASES.iter().filter(|case| programs.has(case.0) && case.name().contains(only)).collect();
    ensure!(
        !cases.is_empty(),
        "nothing to compare: name a peer with --golegal, --fast-grid-path-counter or --graphillion, and no other text than \
         is in the names of its pairs with --only"
    );
    let mut pairs: Vec<Vec<[Ran; 2]>> = cases.iter().map(|_| Vec::new()).collect();
    let runs = options.runs.max(1);
    for round in 1..=runs {
        for (case, pairs) in cases.iter().zip(&mut pairs) {
            eprint!("round {round} of {runs}: {}", case.name());
            let pair = case.pair(keima, &programs).with_context(|| case.name())?;
            eprintln!(": {:.3} s, keima {:.3} s", pair[0].wall_seconds, pair[1].wall_seconds);
            pairs.push(pair);
        }
    }
    Ok(cases.iter().zip(&pairs).map(|(case, pairs)| case.row(pairs)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn ran(wall_seconds: f64, residues: Option<u32>, peak_bytes: f64) -> Ran {
        Ran { command: "run".into(), wall_seconds, residues, peak_bytes, ..Ran::default() }
    }

    #[test]
    fn times_are_compared_for_each_residue() {
        let check = |theirs: (f64, Option<u32>), ours: (f64, Option<u32>), expected: f64| {
            let found = times_faster(&[ran(theirs.0, theirs.1, 0.0), ran(ours.0, ours.1, 0.0)]);
            assert!((found - expected).abs() < 1e-9, "{theirs:?}, {ours:?}: {found}");
        };
        check((3.0, Some(1)), (2.0, Some(4)), 6.0);
        check((3.0, Some(2)), (2.0, Some(4)), 3.0);
        check((3.0, None), (0.5, Some(4)), 6.0);
        check((3.0, None), (0.0, None), 0.0);
    }

    #[test]
    fn rows_are_medians_of_pairs() {
        let pair = |theirs, ours| [ran(theirs, Some(1), 0.0), ran(ours, Some(2), 3.0 * MIB)];
        let row = CASES[8].row(&[pair(1.0, 1.0), pair(8.0, 2.0), pair(3.0, 2.0)]);
        assert_eq!(
            (row.what.as_str(), row.count.as_str()),
            ("FastGridPathCounter", "grid-cycles 16x16 -o hamiltonian")
        );
        assert_eq!((row.runs, row.peer.wall_seconds, row.keima.wall_seconds), (3, 3.0, 2.0));
        assert_eq!((row.peer.peak_memory_mebibytes, row.keima.peak_memory_mebibytes), (None, Some(3)));
        // Ratios of 2, 8 and 3.
        assert!((row.times_faster - 3.0).abs() < 1e-9, "{row:?}");
    }

    #[test]
    fn names_are_different() {
        let names: BTreeSet<String> = CASES.iter().map(Case::name).collect();
        assert_eq!(names.len(), CASES.len());
    }

    #[test]
    fn a_peer_must_be_named() {
        let options = Options { golegal: None, fast_grid_path_counter: None, graphillion: None, runs: 1, only: None };
        let error = rows(&options, Path::new("keima")).unwrap_err().to_string();
        assert!(error.contains("--graphillion"), "{error}");
    }
}
