//! One thing to measure: its name, whether targets are about it, and one run of it.
//!
//! Passes run in a process of their own, this program again, so that each has its own peak of memory.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::board;
use crate::process::device_bytes;
use crate::programs::golegal::{Golegal, modulo_word};
use crate::programs::watch::Watch;
use crate::programs::whole_count;
use crate::sample::{Kind, Line};

/// Largest boards that are counted on a cluster as a whole. Targets are about these.
pub(crate) const CLUSTER_BLOCK_HEIGHT: u32 = 12;
pub(crate) const CLUSTER_STREAM_HEIGHT: u32 = 11;

/// Passes of a stream sweep. Fewer do not reach beyond the columns in which the vector of a large board grows.
const STREAM_STATE_PASSES: f64 = 2e7;
const LARGE_STREAM_STATE_PASSES: f64 = 3e8;
const LARGE_STREAM_HEIGHT: u32 = 13;
/// The same where a sweep with little memory is compared with one with much.
const TIGHT_STATE_PASSES: f64 = 1.2e8;
/// From this height on a vector is well above the least memory of a task.
pub(crate) const TIGHT_HEIGHT: u32 = 12;
/// State-passes of a watched job by streams on a small board: a sweep over 10x26 has no more.
const SMALL_CLUSTER_STATE_PASSES: f64 = 1e8;
/// State-passes times residues of a watched job by blocks.
const CLUSTER_BLOCK_STATE_PASSES: f64 = 1.5e9;

/// State-passes of a stream sweep, with little memory as many as with much.
pub(crate) fn stream_state_passes(height: u32) -> f64 {
    match height {
        ..TIGHT_HEIGHT => STREAM_STATE_PASSES,
        TIGHT_HEIGHT..LARGE_STREAM_HEIGHT => TIGHT_STATE_PASSES,
        _ => LARGE_STREAM_STATE_PASSES,
    }
}

/// One thing to run. Passes in memory yield samples for each number of residues and of threads and both directions, all
/// others one sample.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) kind: Kind,
    pub(crate) height: u32,
    /// Residues carried at once; none where the answer says how many are needed.
    pub(crate) residues: Vec<u32>,
    /// Threads, workers or processes.
    pub(crate) threads: Vec<u32>,
}

fn list(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

impl Job {
    pub(crate) fn new(kind: Kind, height: u32, residues: &[u32], threads: &[u32]) -> Self {
        Self { kind, height, residues: residues.to_vec(), threads: threads.to_vec() }
    }

    /// What people call it. A part of a job has the name of the whole.
    pub(crate) fn name(&self) -> String {
        let Self { kind, height, residues, threads } = self;
        let board = format!("{} {height}x{height}", kind.name());
        match kind {
            Kind::BlockForward => board,
            _ if residues.is_empty() => format!("{board}, threads {}", list(threads)),
            _ => format!("{board}, K={}, threads {}", list(residues), list(threads)),
        }
    }

    /// As much of it as docs/design/targets.md is about.
    pub(crate) fn target_part(&self) -> Option<Self> {
        let has_threads = |threads| self.threads == [threads];
        let is_target = match self.kind {
            Kind::BlockForward => {
                let is_target = |residues: u32| residues == 1 || matches!((self.height, residues), (..=11 | 13, 4 | 8));
                let residues = self.residues.iter().copied().filter(|&residues| is_target(residues)).collect();
                return Some(Self { residues, ..self.clone() });
            }
            Kind::CountBlockWorker | Kind::Golegal => true,
            Kind::Stream | Kind::StreamTight => self.residues != [4],
            Kind::CountBlock | Kind::CountBlockDisk => self.height == 13 && has_threads(2),
            Kind::CountStream => self.height == CLUSTER_STREAM_HEIGHT && has_threads(1),
            Kind::ClusterBlock => self.height == CLUSTER_BLOCK_HEIGHT,
            Kind::ClusterStream => self.height == CLUSTER_STREAM_HEIGHT,
            _ => false,
        };
        is_target.then(|| self.clone())
    }

    /// Arguments of this program for passes.
    fn arguments(&self) -> String {
        let Self { kind, height, residues, threads } = self;
        let passes = format!("--height {height} --lanes {} --threads {}", list(residues), list(threads));
        let state_passes = stream_state_passes(*height);
        match kind {
            Kind::Stream => format!("stream {passes} --state-passes {state_passes}"),
            Kind::StreamTight => format!("stream {passes} --state-passes {state_passes} --tight"),
            Kind::BlockRuns => format!("disk {passes}"),
            _ => format!("block {passes}"),
        }
    }

    /// The job that is watched on a cluster.
    pub(crate) fn watch(&self) -> Option<Watch> {
        let (&residues, &workers) = (self.residues.first()?, self.threads.first()?);
        let state_passes = match self.kind {
            Kind::ClusterBlockPasses => CLUSTER_BLOCK_STATE_PASSES / f64::from(residues),
            _ if self.height < TIGHT_HEIGHT - 1 => SMALL_CLUSTER_STATE_PASSES,
            _ => LARGE_STREAM_STATE_PASSES,
        };
        Some(Watch { kind: self.kind, height: self.height, residues, workers, state_passes })
    }

    /// Runs it once. A job with one sample has what devices did, too.
    pub(crate) fn run(&self, keima: &Path, golegal: Option<&Golegal>) -> Result<Vec<Line>> {
        let before = device_bytes();
        let mut lines = self.lines(keima, golegal)?;
        if let ([Line::Sample(_, sample)], Some(before), Some(after)) = (lines.as_mut_slice(), before, device_bytes()) {
            sample.device_bytes_read = after.0 - before.0;
            sample.device_bytes_written = after.1 - before.1;
        }
        Ok(lines)
    }

    fn lines(&self, keima: &Path, golegal: Option<&Golegal>) -> Result<Vec<Line>> {
        let threads = self.threads.first().copied().unwrap_or(1);
        let (label, sample) = match self.kind {
            Kind::BlockForward | Kind::BlockBackward | Kind::BlockRuns | Kind::Stream | Kind::StreamTight => {
                let mut program = Command::new(std::env::current_exe()?);
                let ended = program.args(self.arguments().split(' ')).output()?;
                ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr).trim());
                let text = String::from_utf8(ended.stdout)?;
                return Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?);
            }
            Kind::Golegal => {
                let (label, sample, legal) = golegal.context("golegal is not built")?.sample(self.height, threads)?;
                let functionals = board::go(self.height)?.info().functionals();
                let known = functionals.into_iter().find_map(|f| f.known.filter(|_| f.index == self.height));
                if let Some(known) = known {
                    ensure!(modulo_word(&known) == legal, "golegal counted {legal} modulo 2^64, known is {known}");
                }
                (label, sample)
            }
            Kind::ClusterBlockPasses | Kind::ClusterStreamPasses => {
                self.watch().context("no number of residues")?.sample(keima)?
            }
            _ => whole_count::sample(keima, self.kind, self.height, threads)?,
        };
        Ok(vec![Line::Sample(label, sample)])
    }
}
