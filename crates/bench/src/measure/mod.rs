//! Rounds over all jobs. Jobs that are compared run within the same minutes, and a slow hour makes all of them slow.
//!
//! ```text
//!   all jobs once | those that targets are about, again and again | the rest again and again
//! ```
//!
//! Where time is short the rest has single runs.

pub(crate) mod job;
mod jobs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;

use crate::measure::job::Job;
use crate::measure::jobs::jobs;
use crate::programs::golegal::Golegal;
use crate::report::row::Row;
use crate::sample::{Kind, Label, Line, Sample};

/// Pause before passes in memory. After a process that frees gigabytes a virtual machine's host takes them back for some
/// seconds, and a core with them; rows of a quarter of a second would suffer.
const CALM: Duration = Duration::from_secs(5);

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Two small boards and three runs: some minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only rows that docs/design/targets.md is about
    #[arg(long, conflicts_with = "quick")]
    pub(crate) targets: bool,
    /// Only rows with this text in their name, such as `block`, `through files` or `cluster`; and golegal
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Sides of the boards [default: 9 to 15; with --quick 9 and 10]
    #[arg(long, value_delimiter = ',', value_name = "SIDES", value_parser = clap::value_parser!(u32).range(3..=16))]
    boards: Vec<u32>,
    /// Runs of each row, where there is time [default: 5; with --quick 3]
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// Folder with golegal's sources (github.com/tromp/golegal), which are built and run beside keima
    #[arg(long, value_name = "DIR")]
    golegal: Option<PathBuf>,
    /// Sides of the boards that golegal counts [default: 11, or else the largest]
    #[arg(long, value_delimiter = ',', value_name = "SIDES")]
    golegal_boards: Vec<u32>,
    /// Starts no further run of a row after this time
    #[arg(long, value_name = "MINUTES", default_value_t = 80.0)]
    minutes: f64,
    /// Starts no further run of a row that would take more than this in all
    #[arg(long, value_name = "SECONDS", default_value_t = 900.0)]
    row_seconds: f64,
}

impl Options {
    fn boards(&self) -> Vec<u32> {
        match (self.boards.as_slice(), self.quick) {
            ([], true) => vec![9, 10],
            ([], false) => (9..=15).collect(),
            (boards, _) => boards.to_vec(),
        }
    }

    /// Boards that golegal counts; none without its sources.
    fn golegal_boards(&self) -> Vec<u32> {
        let boards = self.boards();
        match (&self.golegal, self.golegal_boards.as_slice()) {
            (None, _) => Vec::new(),
            (Some(_), []) if boards.contains(&11) => vec![11],
            (Some(_), []) => boards.into_iter().max().into_iter().collect(),
            (Some(_), asked) => asked.to_vec(),
        }
    }

    fn runs(&self) -> usize {
        self.runs.unwrap_or(if self.quick { 3 } else { 5 })
    }

    #[cfg(test)]
    pub(crate) fn for_tests(runs: usize) -> Self {
        Self {
            quick: false,
            targets: false,
            only: None,
            boards: vec![9],
            runs: Some(runs),
            golegal: Some("sources".into()),
            golegal_boards: Vec::new(),
            minutes: 1e9,
            row_seconds: 1e9,
        }
    }
}

/// Rows, and what was not measured with the reasons.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) rows: Vec<Row>,
    pub(crate) not_measured: Vec<String>,
}

impl Found {
    /// Notes what was not measured, once for all runs.
    fn note(&mut self, job: &Job, why: &str) {
        let text = format!("{}: {why}", job.name());
        if !self.not_measured.contains(&text) {
            self.not_measured.push(text);
        }
    }
}

/// Measures, and says on standard error what is under way.
pub(crate) fn measure(options: &Options, keima: &Path) -> Result<Found> {
    ensure!(keima.is_file(), "{} is missing: build it with `cargo build --release -p keima-cli`", keima.display());
    let golegal = options.golegal.as_deref().map(Golegal::build).transpose()?;
    Ok(rounds(&jobs(options)?, options, &mut |job| {
        if job.kind == Kind::BlockForward {
            std::thread::sleep(CALM);
        }
        job.run(keima, golegal.as_ref())
    }))
}

/// Jobs of each round.
fn schedule(jobs: &[Job], runs: usize) -> Vec<Vec<Job>> {
    let targets: Vec<Job> = jobs.iter().filter_map(Job::target_part).collect();
    let rest: Vec<Job> = jobs.iter().filter(|job| job.target_part().is_none()).cloned().collect();
    let again = |jobs: Vec<Job>| std::iter::repeat_n(jobs, runs.saturating_sub(1));
    let later = again(targets).chain(again(rest)).filter(|jobs| !jobs.is_empty());
    std::iter::once(jobs.to_vec()).chain(later).collect()
}

/// What the runs of a job took so far.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    seconds: f64,
    runs: u32,
    failed: bool,
}

impl Taken {
    /// Whether there is time for another run, `elapsed` seconds after the first job began. Every job runs once.
    fn has_time(&self, options: &Options, elapsed: f64) -> bool {
        let next = self.seconds / f64::from(self.runs.max(1));
        let is_in_time = elapsed + next <= options.minutes * 60.0 && self.seconds + next <= options.row_seconds;
        !self.failed && (self.runs == 0 || is_in_time)
    }
}

fn rounds(jobs: &[Job], options: &Options, run: &mut dyn FnMut(&Job) -> Result<Vec<Line>>) -> Found {
    let started = Instant::now();
    let mut found = Found::default();
    let mut samples: BTreeMap<Label, Vec<Sample>> = BTreeMap::new();
    let mut taken: BTreeMap<String, Taken> = BTreeMap::new();
    let rounds = schedule(jobs, options.runs());
    for (round, jobs) in (1..).zip(&rounds) {
        for job in jobs {
            let taken = taken.entry(job.name()).or_default();
            if !taken.has_time(options, started.elapsed().as_secs_f64()) {
                continue;
            }
            eprintln!("round {round} of {}: {}", rounds.len(), job.name());
            let began = Instant::now();
            match run(job) {
                Ok(lines) => lines.into_iter().for_each(|line| match line {
                    Line::Sample(label, sample) => samples.entry(label).or_default().push(sample),
                    Line::Note(text) => found.note(job, &text),
                }),
                Err(error) => {
                    taken.failed = true;
                    eprintln!("  failed: {error:#}");
                    found.note(job, &format!("{error:#}"));
                }
            }
            taken.seconds += began.elapsed().as_secs_f64();
            taken.runs += 1;
        }
    }
    found.rows = samples.iter().map(|(&label, samples)| Row::new(label, samples)).collect();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_interleaved_and_failures_noted_once() {
        let jobs = [9, 10, 11].map(|height| Job::new(Kind::Golegal, height, &[], &[2]));
        let mut order = Vec::new();
        let found = rounds(&jobs, &Options::for_tests(3), &mut |job| {
            order.push(job.height);
            ensure!(job.height != 10, "not this one");
            let label = Label { kind: Kind::Golegal, height: job.height, residues: 1, threads: 2 };
            let sample = Sample { seconds: order.len() as f64, ..Sample::default() };
            Ok(vec![Line::Sample(label, sample), Line::Note("only a half".into())])
        });
        assert_eq!(order, [9, 10, 11, 9, 11, 9, 11]);
        let notes = [9, 10, 11].map(|height| {
            let why = if height == 10 { "not this one" } else { "only a half" };
            format!("golegal {height}x{height}, threads 2: {why}")
        });
        assert_eq!(found.not_measured, notes);
        let runs: Vec<(&str, usize)> = found.rows.iter().map(|row| (row.board.as_str(), row.runs)).collect();
        assert_eq!(runs, [("9x9", 3), ("11x11", 3)]);
    }

    #[test]
    fn targets_come_again_first() {
        let jobs = [
            Job::new(Kind::Golegal, 9, &[], &[2]),
            Job::new(Kind::BlockRuns, 9, &[1], &[1]),
            Job::new(Kind::BlockForward, 9, &[1, 2], &[2]),
        ];
        let part = Job::new(Kind::BlockForward, 9, &[1], &[2]);
        let targets = vec![jobs[0].clone(), part];
        let rest = vec![jobs[1].clone()];
        let expected = vec![jobs.to_vec(), targets.clone(), targets, rest.clone(), rest];
        assert_eq!(schedule(&jobs, 3), expected);
        assert_eq!(jobs[2].name(), expected[1][1].name());
    }

    #[test]
    fn long_rows_get_fewer_runs() {
        let options = Options { minutes: 10.0, row_seconds: 100.0, ..Options::for_tests(5) };
        let check = |seconds: f64, runs: u32, failed: bool, elapsed: f64, expected: bool| {
            let taken = Taken { seconds, runs, failed };
            assert_eq!(taken.has_time(&options, elapsed), expected, "{taken:?} after {elapsed}");
        };
        check(0.0, 0, false, 9999.0, true);
        check(40.0, 1, false, 0.0, true);
        check(40.0, 1, false, 570.0, false);
        check(80.0, 2, false, 0.0, false);
        check(1.0, 1, true, 0.0, false);
    }
}
