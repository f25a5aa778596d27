//! A cluster on this machine: a coordinator and workers of one thread each, the real processes, from their start until
//! they are dropped; and passes of a job on it, watched from outside as anyone may: by `keima status`.
//!
//! ```text
//!   submit     | the first column, by blocks those in which  | until enough states went through    | stop
//!              | the vector grows most: not counted          | passes, from stage to stage: counted | everything
//! ```
//!
//! So rows of large boards take minutes where their counts take hours; jobs of small boards, whose stages are over
//! before anyone looks, are done as a whole. The board is so long that its number needs eight residues or more, of
//! which a sweep carries K. Where one sweep carries all of them, jobs by blocks meet in the middle and have few lanes in
//! their first columns; so of eight lanes there are two sweeps, on a longer board.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::board;
use crate::process::{cpu_seconds_of, peak_bytes};
use crate::programs::program::{Service, answer, run, windows};
use crate::sample::{Kind, Label, Sample, ratio};

/// Memory of a worker, and of a process that counts as one worker of a cluster does.
pub(crate) const WORKER_MEMORY_MIB: u64 = 4096;
/// Time between two looks at a job: each takes a core some milliseconds.
const LOOK: Duration = Duration::from_millis(100);
/// A stage that takes longer is taken for stuck.
const STUCK: Duration = Duration::from_mins(20);
/// Jobs on boards up to this height are done as a whole, by blocks and by streams.
const WHOLE_HEIGHTS: (u32, u32) = (11, 9);
/// Cells of a board whose number needs eight residues, by blocks and by streams.
const CELLS: u32 = 252;
/// Cells of a board whose number needs sixteen, by blocks.
const WIDE_CELLS: u32 = 540;
/// A vector of blocks has grown when it has this part of the states that there can be.
const GROWN: f64 = 0.95;

/// The processes; they end when this is dropped.
pub(crate) struct Cluster {
    coordinator: Service,
    workers: Vec<Service>,
    url: String,
}

impl Cluster {
    /// Starts a coordinator and `workers`, all of whose files are below `folder`.
    pub(crate) fn start(keima: &Path, folder: &Path, workers: u32) -> Result<Self> {
        let mut command = Command::new(keima);
        command.args(["coordinator", "--listen", "127.0.0.1:0", "--data"]).arg(folder.join("coordinator"));
        let (coordinator, text) = Service::start(&mut command, &folder.join("coordinator.out"))?;
        let url = text.split_whitespace().find(|word| word.starts_with("http://")).context("no URL")?.to_owned();
        let mut cluster = Self { coordinator, workers: Vec::new(), url };
        for number in 0..workers {
            let memory = format!("{WORKER_MEMORY_MIB}MiB");
            let mut command = Command::new(keima);
            command.args(["worker", "--listen", "127.0.0.1:0", "--memory", &memory, "--threads", "1"]);
            command.args(["--coordinator", &cluster.url, "--scratch"]).arg(folder.join(format!("worker{number}")));
            cluster.workers.push(Service::start(&mut command, &folder.join(format!("worker{number}.out")))?.0);
        }
        Ok(cluster)
    }

    /// A command for this cluster.
    pub(crate) fn command(&self, keima: &Path, arguments: &str) -> Command {
        let mut command = Command::new(keima);
        command.args(arguments.split(' ')).env("KEIMA_COORDINATOR", &self.url);
        command
    }

    /// Peak memory of the worker that had most.
    pub(crate) fn peak_bytes(&self) -> f64 {
        self.workers.iter().map(|worker| peak_bytes(Some(worker.id()))).fold(0.0, f64::max)
    }

    /// Processor time of all processes so far.
    fn cpu_seconds(&self) -> f64 {
        self.workers.iter().chain([&self.coordinator]).map(|service| cpu_seconds_of(service.id())).sum()
    }
}

/// What is typed for a cluster before a job is submitted.
pub(crate) fn commands(workers: u32) -> Vec<String> {
    let worker = format!("keima worker --listen 127.0.0.1:0 --memory {WORKER_MEMORY_MIB}MiB --threads 1 --scratch DIR");
    std::iter::once("keima coordinator --listen 127.0.0.1:0 --data DIR".to_owned())
        .chain((0..workers).map(|_| worker.clone()))
        .collect()
}

/// Passes of a job on a cluster, and how long they are watched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) kind: Kind,
    pub(crate) height: u32,
    pub(crate) residues: u32,
    pub(crate) workers: u32,
    /// The job is watched for so many state-passes, and for a column at least where it is done by blocks.
    pub(crate) state_passes: f64,
}

/// Where a job stood when a stage began.
#[derive(Clone, Copy, Debug)]
struct Mark {
    pass: usize,
    /// States of the vector there by those of the forecast, which a vector that still grows has not reached.
    part: f64,
}

impl Watch {
    fn is_block(&self) -> bool {
        self.kind == Kind::ClusterBlockPasses
    }

    /// Whether the job is done to its end.
    pub(crate) fn is_whole(&self) -> bool {
        self.height <= if self.is_block() { WHOLE_HEIGHTS.0 } else { WHOLE_HEIGHTS.1 }
    }

    /// Length of the board.
    pub(crate) fn length(&self) -> u32 {
        let is_wide = self.is_block() && self.residues == 8;
        (if is_wide { WIDE_CELLS } else { CELLS }).div_ceil(self.height)
    }

    fn submit(&self) -> String {
        let Self { height, residues, .. } = self;
        let executor = if self.is_block() { "block" } else { "stream" };
        format!(
            "submit go {height}x{} --executor {executor} --residues-per-sweep {residues} {}--json",
            self.length(),
            if self.is_whole() { "--wait " } else { "" }
        )
    }

    /// The commands, as they stand in the documents.
    pub(crate) fn commands(&self) -> Vec<String> {
        let mut commands = commands(self.workers);
        commands.push(format!("keima {}", self.submit()));
        if !self.is_whole() {
            commands.push("keima status j1 --json".into());
        }
        commands
    }

    /// Does them once.
    pub(crate) fn sample(&self, keima: &Path) -> Result<(Label, Sample)> {
        let Self { kind, height, residues, workers, .. } = *self;
        let states = board::states_of(height, self.length())?;
        let folder = tempfile::tempdir().context("a folder for the cluster")?;
        let cluster = Cluster::start(keima, folder.path(), workers)?;
        let label = Label { kind, height, residues, threads: workers };
        let mut submit = cluster.command(keima, &self.submit());
        if self.is_whole() {
            let job = run(&mut submit)?;
            let statistics = &job["statistics"];
            let (passes, boundaries) = board::work(&states, &windows(statistics));
            let sweeps = statistics["sweeps"].as_f64().unwrap_or(1.0);
            let sample = Sample {
                seconds: job["seconds"].as_f64().context("no time")?,
                state_passes: sweeps * passes,
                state_boundaries: sweeps * boundaries,
                peak_bytes: cluster.peak_bytes(),
                ..totals(statistics, cluster.cpu_seconds())
            };
            return Ok((label, sample));
        }
        let job = answer(&mut submit)?;
        let job = job["job"].as_str().context("no job")?;
        let look = || {
            let status = answer(&mut cluster.command(keima, &format!("status {job} --json")))?;
            Ok((status, cluster.cpu_seconds()))
        };
        let sample = self.watch(&states, &look)?;
        Ok((label, Sample { peak_bytes: cluster.peak_bytes(), ..sample }))
    }

    /// Looks at the job, which `look` tells with the processor time so far, until it went through enough passes.
    fn watch(&self, states: &[u64], look: &dyn Fn() -> Result<(Value, f64)>) -> Result<Sample> {
        let (mut last_pass, mut last_stage) = (0, Instant::now());
        let mut begun: Option<(Instant, Sample, Mark)> = None;
        let (mut mark, mut work, mut crossed) = (Mark { pass: 0, part: 1.0 }, 0.0, 0.0);
        loop {
            let (status, cpu_seconds) = look()?;
            let state = status["state"].as_str().unwrap_or_default();
            ensure!(["queued", "running"].contains(&state), "the job is {state}: {}", status["reason"]);
            let number = |name: &str| status[name].as_u64().unwrap_or(0);
            let pass = number("pass") as usize;
            ensure!(number("sweep") == 0 && pass + 1 < states.len(), "the way ended before {self:?} was seen");
            let forecast = states.get(pass).map_or(0.0, |&states| states as f64);
            let here = Mark { pass, part: ratio(number("states") as f64, forecast) };
            let is_ready = begun.is_some() || !self.is_block() || here.part >= GROWN;
            let is_counted = pass >= self.height as usize && number("stage_residues") == u64::from(self.residues);
            if pass != last_pass && is_counted && is_ready {
                let (now, totals) = (Instant::now(), totals(&status["statistics"], cpu_seconds));
                let (first, before, start) = *begun.get_or_insert((now, totals, here));
                if pass > start.pass {
                    let (passed, written) = between(states, &windows(&status["statistics"]), (mark, here));
                    (work, crossed) = (work + passed, crossed + written);
                }
                mark = here;
                let is_even = !self.is_block() || (pass - start.pass).is_multiple_of(self.height as usize);
                if pass > start.pass && work >= self.state_passes && is_even {
                    return Ok(Sample {
                        seconds: (now - first).as_secs_f64(),
                        state_passes: work,
                        state_boundaries: crossed,
                        ..totals.less(&before)
                    });
                }
            }
            if pass != last_pass {
                (last_pass, last_stage) = (pass, Instant::now());
            }
            ensure!(last_stage.elapsed() < STUCK, "no stage was through for {STUCK:?} after pass {pass}: {self:?}");
            std::thread::sleep(LOOK);
        }
    }
}

/// State-passes from one mark to another, and states of the boundaries that were written on the way. The forecast has
/// them for a vector that is grown; before, the part of it that is there changes evenly between marks.
fn between(forecast: &[u64], windows: &[u32], (from, to): (Mark, Mark)) -> (f64, f64) {
    let height = windows.iter().sum::<u32>().max(1) as usize;
    let ends = windows.iter().scan(0, |place, &length| {
        *place += length as usize;
        Some(*place % height)
    });
    let ends: Vec<usize> = ends.collect();
    let (mut passed, mut written) = (0.0, 0.0);
    for pass in from.pass..=to.pass {
        let way = ratio((pass - from.pass) as f64, (to.pass - from.pass) as f64);
        let states =
            forecast.get(pass).map_or(0.0, |&states| states as f64) * (to.part - from.part).mul_add(way, from.part);
        if pass < to.pass {
            passed += states;
        }
        if pass > from.pass && ends.contains(&(pass % height)) {
            written += states;
        }
    }
    (passed, written)
}

/// What a job and its cluster did so far.
fn totals(statistics: &Value, cpu_seconds: f64) -> Sample {
    let number = |name: &str| statistics[name].as_f64().unwrap_or(0.0);
    Sample {
        cpu_seconds,
        bytes_read: number("bytes_read"),
        bytes_written: number("bytes_written"),
        read_seconds: number("read_seconds"),
        map_seconds: number("map_seconds"),
        write_seconds: number("write_seconds"),
        ..Sample::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_board_is_long_enough() {
        let bits = |cells: u32| f64::from(cells) * 3_f64.log2();
        for height in 9..=14 {
            let passes = |kind, residues| Watch { kind, height, residues, workers: 2, state_passes: 1.0 };
            for kind in [Kind::ClusterBlockPasses, Kind::ClusterStreamPasses] {
                // Seven of 64 bits do, six of 64 do not and seven of 59 do; and the spare.
                let bits = bits(height * passes(kind, 4).length());
                assert!(bits < 7.0 * 59.0 && bits > 6.0 * 64.0, "{height}: {bits} bits");
            }
            // Fifteen of 60 bits do and fourteen do not; and the spare.
            let bits = bits(height * passes(Kind::ClusterBlockPasses, 8).length());
            assert!(bits < 15.0 * 59.0 && bits > 14.0 * 60.0, "{height}: {bits} bits");
        }
    }

    #[test]
    fn what_is_watched_is_between_two_stages() {
        let states = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let check = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        let statistics = serde_json::json!({ "windows": [3, 1], "bytes_read": 7, "map_seconds": 0.5 });
        let mark = |pass, part| Mark { pass, part };
        let marks = |from: Mark, to: Mark, passed: f64, written: f64| {
            let found = between(&states, &windows(&statistics), (from, to));
            check(found.0, passed);
            check(found.1, written);
        };
        marks(mark(4, 1.0), mark(8, 1.0), 26.0, 17.0);
        marks(mark(3, 1.0), mark(7, 1.0), 22.0, 13.0);
        marks(mark(4, 0.5), mark(8, 1.0), 2.5 + 3.75 + 5.25 + 7.0, 7.0 + 9.0);
        marks(mark(8, 1.0), mark(8, 1.0), 0.0, 0.0);
        let found = totals(&statistics, 2.0).less(&Sample { bytes_read: 3.0, ..Sample::default() });
        check(found.bytes_read, 4.0);
        check(found.cpu_seconds, 2.0);
    }

    #[test]
    fn jobs_are_watched_once_they_have_grown_and_from_column_to_column() {
        // Two rows, a stage each: the vector is full from pass 5 on.
        let check = |kind, state_passes, residues, expected: Result<(f64, f64), &str>| {
            let passes = Watch { kind, height: 2, residues, workers: 2, state_passes };
            let pass = std::cell::Cell::new(0_u32);
            let look = || {
                let now = pass.get();
                pass.set(now + 1);
                let states = if now < 5 { 50 } else { 100 };
                let statistics = serde_json::json!({ "windows": [1, 1], "bytes_written": 8 * now });
                let state = if now < 30 { "running" } else { "done" };
                let status = serde_json::json!({ "state": state, "reason": "", "sweep": 0, "pass": now,
                    "states": states, "stage_residues": 4, "statistics": statistics });
                Ok((status, f64::from(now)))
            };
            let found = passes.watch(&[100; 21], &look).map(|sample| (sample.state_passes, sample.bytes_written));
            match (found, expected) {
                (Ok(found), Ok(expected)) => {
                    assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9, "{found:?}");
                }
                (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
                (found, expected) => panic!("{found:?}, expected {expected:?}"),
            }
        };
        // From pass 5 to 7, a column; then as many as are asked for, in whole columns.
        check(Kind::ClusterBlockPasses, 1.0, 4, Ok((200.0, 16.0)));
        check(Kind::ClusterBlockPasses, 250.0, 4, Ok((400.0, 32.0)));
        // By streams from pass 2 on, and to any stage: 50 + 50 and what is between 50 and 100.
        check(Kind::ClusterStreamPasses, 80.0, 4, Ok((100.0, 16.0)));
        check(Kind::ClusterBlockPasses, 1e9, 4, Err("the way ended before"));
        check(Kind::ClusterStreamPasses, 1.0, 8, Err("the way ended before"));
    }
}
