//! What is measured, and in which order: rounds over many jobs, so that rivals run within the same minutes and a machine
//! that becomes slow makes all of them slow. A job that takes long gets fewer runs.
//!
//! ```text
//!   all jobs once | what targets are about, and is held against them, again and again | the rest again and again
//! ```
//!
//! Targets are about medians; where time is short the rest has single runs.
//!
//! Passes of blocks take a quarter of a second a row, and the system of a guest may hand memory that a job before has
//! freed back to its host some seconds later, which keeps a core from a row, the same row in every round. So they begin
//! when that is over.

pub(crate) mod job;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::measure::job::{Job, Lines, cluster_height};
use crate::programs::cluster::{WORKER_MEMORY_MIB, Watch};
use crate::programs::count::{Count, disk_mib};
use crate::programs::golegal::Golegal;
use crate::sample::{Kind, Label, Line, Sample};
use crate::table::Row;

/// Of larger boards only passes of the block executor with one lane and one thread are measured.
const LARGEST_HEIGHT: u32 = 14;
/// State-passes of a stream sweep, and on boards from this height on, where so few do not reach beyond the columns in
/// which the vector grows.
const STREAM_STATE_PASSES: f64 = 2e7;
const LARGE_STREAM_STATE_PASSES: f64 = 3e8;
const LARGE_STREAM_HEIGHT: u32 = 13;
/// State-passes of a job by streams on a small board that is watched.
const SMALL_CLUSTER_STATE_PASSES: f64 = 1e8;
/// State-passes times residues of a job by blocks that is watched.
const BLOCK_STATE_PASSES: f64 = 1.5e9;
/// Rows of more lanes than eight are tried through runs from this height on: smaller boards need fewer residues.
const WIDE_HEIGHT: u32 = 12;
/// The same where memory is tight or held against it: the vector must have grown.
const TIGHT_STATE_PASSES: f64 = 1.2e8;
/// The stream executor is tried with little memory from this height on: the vector is well above what a task needs.
const TIGHT_HEIGHT: u32 = 12;

/// Until memory that was freed has been handed back. Two threads of 9x9 and 10x10, K=4, had 1.3 to 1.6 cores without.
const CALM: Duration = Duration::from_secs(5);

/// What nobody waits for.
const LEFT_OUT: [&str; 4] = [
    "15x15 but for passes of one residue by one thread, forward and transposed",
    "whole counts of 14x14, of 13x13 on disk by one thread, counts by streams above 11x11, whole jobs on clusters above \
     12x12 by blocks and 11x11 by streams: a run of each takes minutes, some an hour",
    "whole counts with other numbers of residues than the board needs",
    "stream sweeps with little memory below 12x12, where a tenth of the vector is less than a task needs, with K=4 and by \
     one thread",
];

/// What is wished.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) quick: bool,
    /// Only what a target is about.
    pub(crate) targets: bool,
    /// Only jobs whose name has this in it, and golegal.
    pub(crate) only: Option<String>,
    pub(crate) boards: Vec<u32>,
    pub(crate) runs: usize,
    /// No job gets a further run beyond this.
    pub(crate) most_job_seconds: f64,
    /// No job gets a further run when this has gone by.
    pub(crate) most_seconds: f64,
    pub(crate) golegal: Option<PathBuf>,
    pub(crate) golegal_boards: Vec<u32>,
    pub(crate) keima: PathBuf,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) rows: Vec<Row>,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
    /// What was typed.
    pub(crate) commands: Vec<String>,
    pub(crate) seconds: f64,
}

impl Found {
    /// Notes what was not measured, once for all runs.
    fn note(&mut self, job: &Job, why: &str) {
        let text = format!("{}: {why}", job.name());
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}

/// State-passes of a stream sweep, with little memory as many as with much.
pub(crate) fn state_passes(height: u32) -> f64 {
    match height {
        ..TIGHT_HEIGHT => STREAM_STATE_PASSES,
        TIGHT_HEIGHT..LARGE_STREAM_HEIGHT => TIGHT_STATE_PASSES,
        _ => LARGE_STREAM_STATE_PASSES,
    }
}

/// Passes on a cluster of one and of two workers.
fn cluster_passes(height: u32) -> Vec<Job> {
    let mut jobs = Vec::new();
    for residues in [1, 4, 8] {
        for kind in [Kind::ClusterBlockPasses, Kind::ClusterStreamPasses] {
            let state_passes = match kind {
                Kind::ClusterBlockPasses => BLOCK_STATE_PASSES / f64::from(residues),
                // A sweep over 10x26 has half as many.
                _ if height < TIGHT_HEIGHT - 1 => SMALL_CLUSTER_STATE_PASSES,
                _ => LARGE_STREAM_STATE_PASSES,
            };
            jobs.extend([1, 2].map(|workers| Job::Watch(Watch { kind, height, residues, workers, state_passes })));
        }
    }
    jobs
}

/// Everything that is to be measured, rivals next to each other.
pub(crate) fn jobs(wish: &Wish) -> Result<Vec<Job>> {
    let mut jobs = Vec::new();
    let count = |kind, height, threads, memory_mib| Job::Count(Count { kind, height, threads, memory_mib });
    for &height in &wish.boards {
        if height > LARGEST_HEIGHT {
            // A vector of one residue and the one after it is all that a machine of some 20 GiB has room for.
            jobs.push(Job::Block { height, lanes: vec![1], threads: vec![1] });
            continue;
        }
        jobs.push(Job::Block { height, lanes: vec![1, 2, 4, 8], threads: vec![1, 2] });
        for residues in [1, 4, 8, 12].into_iter().filter(|&residues| residues <= 8 || height >= WIDE_HEIGHT) {
            jobs.extend([1, 2].map(|threads| Job::Disk { height, residues, threads }));
        }
        for residues in [1, 4, 8] {
            for threads in [1, 2] {
                let state_passes = state_passes(height);
                jobs.push(Job::Stream { height, residues, threads, tight: false, state_passes });
            }
        }
        if wish.golegal.is_some() && wish.golegal_boards.contains(&height) {
            jobs.push(Job::Golegal { height });
        }
        if height <= 13 {
            jobs.extend([2, 1].map(|threads| count(Kind::CountBlock, height, threads, None)));
        }
        if height <= 13 {
            let threads: &[u32] = if height <= 12 { &[2, 1] } else { &[2] };
            for &threads in threads {
                jobs.push(count(Kind::CountBlockDisk, height, threads, Some(disk_mib(height)?)));
            }
        }
        if height == cluster_height(Kind::ClusterBlock) {
            jobs.push(count(Kind::CountBlockWorker, height, 1, Some(WORKER_MEMORY_MIB)));
        }
        if height <= 10 || (height == 11 && !wish.quick) {
            jobs.extend([1, 2].map(|threads| count(Kind::CountStream, height, threads, None)));
        }
        for kind in [Kind::ClusterBlock, Kind::ClusterStream] {
            if height <= cluster_height(kind) {
                jobs.extend([1, 2].map(|workers| count(kind, height, workers, None)));
            }
        }
        jobs.extend(cluster_passes(height));
        if height >= TIGHT_HEIGHT {
            jobs.extend([1, 8].map(|residues| {
                let state_passes = state_passes(height);
                Job::Stream { height, residues, threads: 2, tight: true, state_passes }
            }));
        }
    }
    if wish.targets {
        jobs = jobs.iter().filter_map(Job::aimed).collect();
    }
    if let Some(only) = &wish.only {
        jobs.retain(|job| matches!(job, Job::Golegal { .. }) || job.name().contains(only.as_str()));
        ensure!(!jobs.is_empty(), "no row has {only:?} in its name");
    }
    Ok(jobs)
}

/// Measures, telling on standard error what is under way.
pub(crate) fn measure(wish: &Wish) -> Result<Found> {
    ensure!(
        wish.keima.is_file(),
        "{} is missing: build it with `cargo build --release -p keima-cli`",
        wish.keima.display()
    );
    let golegal = wish.golegal.as_deref().map(Golegal::build).transpose()?;
    let jobs = jobs(wish)?;
    let mut found = rounds(&jobs, wish, &mut |job| {
        if matches!(job, Job::Block { .. }) {
            std::thread::sleep(CALM);
        }
        job.run(&wish.keima, golegal.as_ref())
    });
    if !wish.quick && !wish.targets && wish.only.is_none() {
        found.notes.extend(LEFT_OUT.map(str::to_owned));
    }
    Ok(found)
}

/// What is run in each round.
fn schedule(jobs: &[Job], runs: usize) -> Vec<Vec<Job>> {
    let again = runs.saturating_sub(1);
    let (aimed, rest): (Vec<_>, Vec<_>) =
        jobs.iter().map(|job| (job, job.aimed())).partition(|(_, aimed)| aimed.is_some());
    let aimed: Vec<Job> = aimed.into_iter().filter_map(|(_, aimed)| aimed).collect();
    let rest: Vec<Job> = rest.into_iter().map(|(job, _)| job.clone()).collect();
    let later = [aimed, rest].into_iter().flat_map(|jobs| std::iter::repeat_n(jobs, again));
    std::iter::once(jobs.to_vec()).chain(later.filter(|jobs| !jobs.is_empty())).collect()
}

/// What the runs of a job took.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    seconds: f64,
    runs: u32,
    failed: bool,
}

impl Taken {
    fn mean(&self) -> f64 {
        if self.runs == 0 { 0.0 } else { self.seconds / f64::from(self.runs) }
    }
}

fn rounds(jobs: &[Job], wish: &Wish, run: &mut dyn FnMut(&Job) -> Result<Lines>) -> Found {
    let started = Instant::now();
    let mut found = Found::default();
    let mut samples: BTreeMap<Label, Vec<Sample>> = BTreeMap::new();
    let mut taken: BTreeMap<String, Taken> = BTreeMap::new();
    let rounds = schedule(jobs, wish.runs);
    for (round, jobs) in rounds.iter().enumerate() {
        for job in jobs {
            let taken = taken.entry(job.name()).or_default();
            let next = taken.mean();
            let late = started.elapsed().as_secs_f64() + next > wish.most_seconds;
            if taken.failed || (taken.runs > 0 && (late || taken.seconds + next > wish.most_job_seconds)) {
                continue;
            }
            eprintln!("round {} of {}: {}", round + 1, rounds.len(), job.name());
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
    for command in jobs.iter().flat_map(Job::commands) {
        if !found.commands.contains(&command) {
            found.commands.push(command);
        }
    }
    found.rows =
        samples.iter().map(|(&label, all)| Row { label, runs: all.len(), sample: Sample::median(all) }).collect();
    found.seconds = started.elapsed().as_secs_f64();
    found
}

/// Where the program is that is measured: beside this one.
pub(crate) fn keima() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().unwrap_or(Path::new(".")).join("keima"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::board;

    fn wish(runs: usize) -> Wish {
        Wish {
            quick: true,
            targets: false,
            only: None,
            boards: vec![9],
            runs,
            most_job_seconds: 1e9,
            most_seconds: 1e9,
            golegal: None,
            golegal_boards: vec![9],
            keima: PathBuf::new(),
        }
    }

    #[test]
    fn runs_are_interleaved_and_failures_noted_once() {
        let jobs = [Job::Golegal { height: 9 }, Job::Golegal { height: 10 }, Job::Golegal { height: 11 }];
        let mut order = Vec::new();
        let found = rounds(&jobs, &wish(3), &mut |job| {
            let Job::Golegal { height } = *job else { unreachable!() };
            order.push(height);
            ensure!(height != 10, "not this one");
            let label = Label { kind: Kind::Golegal, height, residues: 1, threads: 2 };
            let note = Line::Note("only a half".into());
            let sample = Sample { seconds: order.len() as f64, ..Sample::default() };
            Ok(if height == 9 { vec![Line::Sample(label, sample), note] } else { vec![Line::Sample(label, sample)] })
        });
        assert_eq!(order, [9, 10, 11, 9, 11, 9, 11]);
        assert_eq!(found.notes, ["golegal 9x9: only a half", "golegal 10x10: not this one"]);
        let medians: Vec<(u32, usize, f64)> =
            found.rows.iter().map(|row| (row.label.height, row.runs, row.sample.seconds)).collect();
        assert_eq!(medians, [(9, 3, 4.0), (11, 3, 5.0)]);
    }

    #[test]
    fn what_targets_are_about_comes_again_first() {
        let jobs = [
            Job::Golegal { height: 9 },
            Job::Disk { height: 9, residues: 1, threads: 1 },
            Job::Block { height: 9, lanes: vec![1, 2], threads: vec![2] },
        ];
        let mut order = Vec::new();
        rounds(&jobs, &wish(3), &mut |job| {
            order.push(match job {
                Job::Golegal { .. } => "golegal".to_owned(),
                Job::Block { lanes, .. } => format!("passes {lanes:?}"),
                _ => "runs".to_owned(),
            });
            Ok(vec![])
        });
        let aimed = ["golegal", "passes [1]"];
        let expected = [&["golegal", "runs", "passes [1, 2]"][..], &aimed, &aimed, &["runs", "runs"]].concat();
        assert_eq!(order, expected);
    }

    #[test]
    fn what_takes_long_gets_fewer_runs() {
        let jobs = [Job::Golegal { height: 9 }];
        let check = |wish: &Wish, expected: usize| {
            let mut runs = 0;
            rounds(&jobs, wish, &mut |_| {
                runs += 1;
                std::thread::sleep(Duration::from_millis(20));
                Ok(vec![])
            });
            assert_eq!(runs, expected, "{wish:?}");
        };
        check(&wish(2), 2);
        check(&Wish { most_job_seconds: 0.03, ..wish(2) }, 1);
        check(&Wish { most_seconds: 0.03, ..wish(2) }, 1);
    }

    #[test]
    fn all_that_the_table_promises_is_among_the_jobs() {
        let full = Wish { quick: false, boards: (9..=14).collect(), golegal: Some("g".into()), ..wish(5) };
        let names: Vec<String> = jobs(&full).unwrap().iter().map(Job::name).collect();
        for name in [
            "block passes 14x14",
            "block passes, cached runs 9x9, K=4, threads 1",
            "block passes, cached runs 14x14, K=8, threads 2",
            "stream sweep 14x14, K=8, threads 2",
            "stream sweep 12x12, K=8, threads 2, tight",
            "count, block, memory 13x13, threads 2",
            "count, block, disk 13x13, threads 2",
            "count, block, disk 9x9, threads 1",
            "cluster, block 9x9, threads 2",
            "cluster, block 12x12, threads 1",
            "cluster, stream 11x11, threads 2",
            "cluster passes, block 14x14, K=4, workers 2",
            "cluster passes, block 14x14, K=8, workers 1",
            "cluster passes, stream 9x9, K=8, workers 1",
            "cluster passes, stream 14x14, K=8, workers 2",
            "golegal 9x9",
        ] {
            assert!(names.iter().any(|found| found == name), "{name} is not among {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("memory 14x14")));
        // Jobs of one name would be runs of one row.
        let distinct: BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
    }

    #[test]
    fn what_is_watched_is_there() {
        for passes in (9..=14).flat_map(cluster_passes) {
            let Job::Watch(passes) = passes else { unreachable!() };
            if passes.is_whole() {
                continue;
            }
            // By blocks from where the vector has grown.
            let (height, length) = (passes.height, passes.length());
            let first = if passes.kind == Kind::ClusterBlockPasses { 6 } else { 1 };
            let states = board::states_of(height, length).unwrap();
            let there: u64 = states[(first * height) as usize..(length * height) as usize].iter().sum();
            let found = there as f64;
            assert!(found > 1.1 * passes.state_passes, "{passes:?}: {found:e}");
        }
    }

    #[test]
    fn targets_alone_are_a_part_of_all_jobs() {
        let wish = Wish {
            quick: false,
            targets: true,
            only: None,
            boards: (9..=15).collect(),
            golegal: Some("g".into()),
            ..wish(5)
        };
        let jobs = jobs(&wish).unwrap();
        let names: Vec<String> = jobs.iter().map(Job::name).collect();
        for name in [
            "stream sweep 12x12, K=8, threads 2, tight",
            "count, block, memory 13x13, threads 2",
            "count, block, disk, 4 GiB 12x12, threads 1",
            "block passes 15x15",
            "golegal 9x9",
        ] {
            assert!(names.iter().any(|found| found == name), "{name} is not among {names:?}");
        }
        let parts = [
            "K=4",
            "cached runs",
            "memory 13x13, threads 1",
            "disk 12x12",
            "count, stream 10x10",
            "cluster, block 11x11",
            "cluster passes",
            "sweep 15x15",
        ];
        for part in parts {
            assert!(!names.iter().any(|name| name.contains(part)), "{part} is among {names:?}");
        }
        let lanes = |height: u32| {
            jobs.iter().find_map(|job| match job {
                Job::Block { height: at, lanes, .. } if *at == height => Some(lanes.clone()),
                _ => None,
            })
        };
        assert_eq!(
            [10, 11, 12, 13, 15].map(lanes),
            [vec![1, 4, 8], vec![1, 4, 8], vec![1], vec![1, 4, 8], vec![1]].map(Some)
        );
    }
}
