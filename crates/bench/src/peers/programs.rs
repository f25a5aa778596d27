//! The peers: how each is built and run, and what it finds.
//!
//! | peer | finds |
//! | --- | --- |
//! | golegal | the number of legal positions modulo 2^64, by several processes through files |
//! | `FastGridPathCounter` | curves of a grid modulo a number of 63 bits, built for each size |
//! | Graphillion | all curves as a decision diagram (ZDD), and their number exactly |

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use keima_residue::{Integer, residue_of};
use tempfile::TempDir;

use crate::process::{cpu_seconds, peak_bytes};
use crate::programs::golegal::{Golegal, modulo_word};

/// The largest of `FastGridPathCounter`'s own moduli.
const MODULUS: u64 = 9_223_372_036_854_775_783;
/// Time between two looks at a process.
const LOOK: Duration = Duration::from_millis(2);
/// Prints a number of curves. Arguments: the side in vertices, and which curves.
const GRAPHILLION: &str = "\
import sys
from graphillion import GraphSet
side, curves = int(sys.argv[1]), sys.argv[2]
across = [(side * y + x, side * y + x + 1) for y in range(side) for x in range(side - 1)]
down = [(side * y + x, side * y + x + side) for y in range(side - 1) for x in range(side)]
GraphSet.set_universe(across + down)
found = GraphSet.paths(0, side * side - 1) if curves == 'paths' else GraphSet.cycles(is_hamilton=curves == 'hamiltonian')
print(found.len())
";

/// A program that counts the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Golegal,
    FastGridPathCounter,
    Graphillion,
}

impl Peer {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Golegal => "golegal",
            Self::FastGridPathCounter => "FastGridPathCounter",
            Self::Graphillion => "Graphillion",
        }
    }
}

/// What a program found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// The number modulo 2^64.
    Word(u64),
    /// The number modulo another one.
    Modulo(u64, u64),
    /// The number, in decimal.
    Exact(String),
}

impl Answer {
    /// Whether a number, in decimal, is the same.
    pub(super) fn agrees(&self, count: &str) -> bool {
        match self {
            Self::Word(found) => modulo_word(count) == *found,
            Self::Modulo(found, modulus) => {
                count.parse::<Integer>().is_ok_and(|count| residue_of(&count, *modulus) == *found)
            }
            Self::Exact(found) => found == count,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(found) => write!(f, "{found} modulo 2^64"),
            Self::Modulo(found, modulus) => write!(f, "{found} modulo {modulus}"),
            Self::Exact(found) => f.write_str(found),
        }
    }
}

/// One run of a program.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    /// For people, without folders of this machine.
    pub(super) command: String,
    pub(super) wall_seconds: f64,
    pub(super) processor_seconds: f64,
    /// Residues of the answer, if it is one of residues.
    pub(super) residues: Option<u32>,
    /// Largest memory; 0 where it is not known.
    pub(super) peak_bytes: f64,
    pub(super) answer: Answer,
}

impl Default for Ran {
    fn default() -> Self {
        Self {
            command: String::new(),
            wall_seconds: 0.0,
            processor_seconds: 0.0,
            residues: None,
            peak_bytes: 0.0,
            answer: Answer::Exact(String::new()),
        }
    }
}

/// Peers that are there.
pub(super) struct Programs {
    golegal: Option<Golegal>,
    grid_sources: Option<PathBuf>,
    python: Option<PathBuf>,
}

impl Programs {
    /// From golegal's sources, `FastGridPathCounter`'s sources, and a Python that has Graphillion.
    pub(super) fn new(golegal: Option<&Path>, grid: Option<&Path>, python: Option<&Path>) -> Result<Self> {
        let golegal = golegal.map(Golegal::build).transpose()?;
        Ok(Self { golegal, grid_sources: grid.map(Path::to_owned), python: python.map(Path::to_owned) })
    }

    pub(super) const fn has(&self, peer: Peer) -> bool {
        match peer {
            Peer::Golegal => self.golegal.is_some(),
            Peer::FastGridPathCounter => self.grid_sources.is_some(),
            Peer::Graphillion => self.python.is_some(),
        }
    }

    /// Counts once.
    pub(super) fn run(&self, peer: Peer, problem: &str, side: u32, option: Option<&str>, threads: u32) -> Result<Ran> {
        let missing = || format!("{} is not there", peer.name());
        match peer {
            Peer::Golegal => {
                let (_, sample, legal) = self.golegal.as_ref().with_context(missing)?.sample(side, threads)?;
                Ok(Ran {
                    command: format!("golegal, {side}x{side}, {threads} processes"),
                    wall_seconds: sample.seconds,
                    processor_seconds: sample.cpu_seconds,
                    residues: Some(1),
                    peak_bytes: 0.0,
                    answer: Answer::Word(legal),
                })
            }
            Peer::FastGridPathCounter => {
                let sources = self.grid_sources.as_deref().with_context(missing)?;
                let settings = grid_settings(problem, side, option, threads);
                let folder = built(sources, &settings)?;
                let (output, ran) = timed(Command::new(folder.path().join("path-counter")).arg(MODULUS.to_string()))?;
                let answer = Answer::Modulo(solution(&output).context("it printed no solution")?, MODULUS);
                Ok(Ran { command: format!("make {settings}"), residues: Some(1), answer, ..ran })
            }
            Peer::Graphillion => {
                let curves = option.unwrap_or(if problem == "grid-paths" { "paths" } else { "cycles" });
                let python = self.python.as_deref().with_context(missing)?;
                let (output, ran) = timed(Command::new(python).args(["-c", GRAPHILLION, &side.to_string(), curves]))?;
                let answer = Answer::Exact(output.trim().to_owned());
                Ok(Ran { command: format!("GraphSet, {curves}, {side}x{side}"), answer, ..ran })
            }
        }
    }
}

/// Variables of `FastGridPathCounter`'s Makefile.
fn grid_settings(problem: &str, side: u32, option: Option<&str>, threads: u32) -> String {
    let (cycles, hamiltonian) = (u32::from(problem == "grid-cycles"), u32::from(option == Some("hamiltonian")));
    format!("N={side} CYCLES={cycles} HAMILTONIAN={hamiltonian} N_THREADS={threads} BITS=64")
}

/// A folder with `FastGridPathCounter`, built from a copy of its sources.
fn built(sources: &Path, settings: &str) -> Result<TempDir> {
    let folder = tempfile::tempdir().context("a folder for FastGridPathCounter")?;
    fs::create_dir(folder.path().join("src"))?;
    for part in ["", "src"] {
        let list = fs::read_dir(sources.join(part));
        for entry in list.with_context(|| format!("FastGridPathCounter's sources in {}", sources.display()))? {
            let path = entry?.path();
            if let (true, Some(name)) = (path.is_file(), path.file_name()) {
                fs::copy(&path, folder.path().join(part).join(name))?;
            }
        }
    }
    let made = Command::new("make").args(settings.split(' ')).current_dir(folder.path()).output()?;
    let errors = String::from_utf8_lossy(&made.stderr);
    ensure!(made.status.success(), "FastGridPathCounter cannot be built in {}: {errors}", sources.display());
    Ok(folder)
}

/// The number in `FastGridPathCounter`'s last line, `solution = 184 mod 9223372036854775783`.
fn solution(output: &str) -> Option<u64> {
    let (_, after) = output.rsplit_once("solution = ")?;
    after.split_whitespace().next()?.parse().ok()
}

/// Runs a program to its end: what it printed, its times and memory. Its output is read at once, since keima waits for a reader.
pub(super) fn timed(command: &mut Command) -> Result<(String, Ran)> {
    let cpu_before = cpu_seconds().1;
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let mut out = child.stdout.take().context("no pipe from it")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).map(|_| text)
    });
    let mut peak = 0.0_f64;
    while child.try_wait()?.is_none() {
        peak = peak.max(peak_bytes(Some(child.id())));
        std::thread::sleep(LOOK);
    }
    let wall_seconds = started.elapsed().as_secs_f64();
    let status = child.wait()?;
    ensure!(status.success(), "{} ended with {status}", command.get_program().display());
    let processor_seconds = cpu_seconds().1 - cpu_before;
    let output = reader.join().ok().context("its output was not read")??;
    Ok((output, Ran { wall_seconds, processor_seconds, peak_bytes: peak, ..Ran::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared() {
        let check = |answer: Answer, count: &str, expected: bool| {
            assert_eq!(answer.agrees(count), expected, "{answer} and {count}");
        };
        check(Answer::Word(1), "18446744073709551617", true);
        check(Answer::Word(2), "18446744073709551617", false);
        check(Answer::Modulo(1, MODULUS), "9223372036854775784", true);
        check(Answer::Modulo(1, MODULUS), "9223372036854775785", false);
        check(Answer::Modulo(1, MODULUS), "no number", false);
        check(Answer::Exact("184".into()), "184", true);
        check(Answer::Exact("184".into()), "185", false);
    }

    #[test]
    fn its_solution_is_the_last() {
        let output = "N = 4\nmod = 7\ncounting = 1/4 (1) \r\nsolution = 184 mod 9223372036854775783\n\n";
        assert_eq!(solution(output), Some(184));
        assert_eq!(solution("N = 4\n"), None);
    }

    #[test]
    fn settings_name_the_curves() {
        assert_eq!(
            grid_settings("grid-cycles", 16, Some("hamiltonian"), 2),
            "N=16 CYCLES=1 HAMILTONIAN=1 N_THREADS=2 BITS=64"
        );
        assert_eq!(grid_settings("grid-paths", 9, None, 1), "N=9 CYCLES=0 HAMILTONIAN=0 N_THREADS=1 BITS=64");
    }

    #[test]
    fn programs_are_timed() {
        let (output, ran) = timed(Command::new("sh").args(["-c", "sleep 0.05; echo found"])).unwrap();
        assert_eq!(output, "found\n");
        assert!(ran.wall_seconds >= 0.05 && ran.peak_bytes > 0.0, "{ran:?}");
        assert!(timed(Command::new("sh").args(["-c", "exit 3"])).is_err());
    }

    #[test]
    fn sources_that_are_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(built(folder.path(), "N=4").is_err());
    }
}
