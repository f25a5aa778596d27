//! One thing to be measured: its name, what a target wants of it, the command, and one run of it.
//!
//! Kernels are run by this program again, as a process of their own, so that each has its own peak of memory.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::board;
use crate::process::device_bytes;
use crate::programs::cluster::Watch;
use crate::programs::count::Count;
use crate::programs::golegal::{Golegal, modulo_word};
use crate::sample::{Kind, Label, Line};
use crate::targets;

/// The largest board that one and two workers count by streams.
const CLUSTER_STREAM_HEIGHT: u32 = 11;

/// The largest board that one and two workers count; targets are about this one.
pub(crate) fn cluster_height(kind: Kind) -> u32 {
    if kind == Kind::ClusterBlock { 12 } else { CLUSTER_STREAM_HEIGHT }
}

/// One thing to run. A kernel job yields a sample for each number of residues and threads and each direction.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    Block { height: u32, lanes: Vec<u32>, threads: Vec<u32> },
    Disk { height: u32, residues: u32, threads: u32 },
    Stream { height: u32, residues: u32, threads: u32, tight: bool, state_passes: f64 },
    Count(Count),
    Watch(Watch),
    Golegal { height: u32 },
}

/// What one run yields.
pub(crate) type Lines = Vec<Line>;

impl Job {
    /// What people call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Block { height, .. } => format!("block passes {height}x{height}"),
            Self::Disk { height, residues, threads } => {
                format!("block passes, cached runs {height}x{height}, K={residues}, threads {threads}")
            }
            Self::Stream { height, residues, threads, tight, .. } => {
                let tight = if *tight { ", tight" } else { "" };
                format!("stream sweep {height}x{height}, K={residues}, threads {threads}{tight}")
            }
            Self::Count(count) => {
                format!("{} {height}x{height}, threads {}", count.kind.name(), count.threads, height = count.height)
            }
            Self::Watch(Watch { kind, height, residues, workers, .. }) => {
                format!("{} {height}x{height}, K={residues}, workers {workers}", kind.name())
            }
            Self::Golegal { height } => format!("golegal {height}x{height}"),
        }
    }

    /// As much of it as a target is about, or is held against by one.
    pub(crate) fn aimed(&self) -> Option<Self> {
        let is_wanted =
            |kind, height, residues| !targets::wanted(&Label { kind, height, residues, threads: 2 }).is_empty();
        match *self {
            Self::Block { height, ref lanes, ref threads } => {
                // On its smallest board a pass is what it is held against on its largest one.
                let wanted = |&residues: &u32| residues == 1 || is_wanted(Kind::BlockForward, height, residues);
                let lanes = lanes.iter().copied().filter(wanted).collect();
                Some(Self::Block { height, lanes, threads: threads.clone() })
            }
            // No target is set for them.
            Self::Disk { .. } | Self::Watch(_) => None,
            Self::Count(Count { kind: Kind::CountBlockWorker, .. }) | Self::Golegal { .. } => Some(self.clone()),
            Self::Stream { residues, .. } => (residues != 4).then(|| self.clone()),
            Self::Count(Count { kind: Kind::CountBlock, height, threads, .. }) => {
                (height == 13 && threads == 2).then(|| self.clone())
            }
            Self::Count(Count { kind: Kind::CountBlockDisk, height, .. }) => {
                is_wanted(Kind::CountBlockDisk, height, 0).then(|| self.clone())
            }
            Self::Count(Count { kind: Kind::CountStream, height, threads, .. }) => {
                (height == CLUSTER_STREAM_HEIGHT && threads == 1).then(|| self.clone())
            }
            Self::Count(Count { kind, height, .. }) => (height == cluster_height(kind)).then(|| self.clone()),
        }
    }

    /// What this program is asked, where the job is one of its own processes.
    fn arguments(&self) -> Option<Vec<String>> {
        let text = match self {
            Self::Block { height, lanes, threads } => {
                let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                format!("block --height {height} --lanes {} --threads {}", list(lanes), list(threads))
            }
            Self::Disk { height, residues, threads } => {
                format!("disk --height {height} --lanes {residues} --threads {threads}")
            }
            Self::Stream { height, residues, threads, tight, state_passes } => {
                let tight = if *tight { " --tight" } else { "" };
                format!(
                    "stream --height {height} --lanes {residues} --threads {threads} --state-passes {state_passes}{tight}"
                )
            }
            _ => return None,
        };
        Some(text.split(' ').map(str::to_owned).collect())
    }

    /// What is typed for it.
    pub(crate) fn commands(&self) -> Vec<String> {
        match self {
            Self::Count(count) => count.commands(),
            Self::Watch(watch) => watch.commands(),
            Self::Golegal { height } => vec![Golegal::command(*height, 2)],
            _ => vec![format!("keima-bench {}", self.arguments().unwrap_or_default().join(" "))],
        }
    }

    /// Does it once. What devices did is told of jobs that yield one sample.
    pub(crate) fn run(&self, keima: &Path, golegal: Option<&Golegal>) -> Result<Lines> {
        let before = device_bytes();
        let mut lines = self.run_alone(keima, golegal)?;
        if let ([Line::Sample(_, sample)], Some(before), Some(after)) = (lines.as_mut_slice(), before, device_bytes()) {
            sample.device_bytes_read = after.0 - before.0;
            sample.device_bytes_written = after.1 - before.1;
        }
        Ok(lines)
    }

    fn run_alone(&self, keima: &Path, golegal: Option<&Golegal>) -> Result<Lines> {
        match self {
            Self::Count(count) => count.sample(keima).map(|(label, sample)| vec![Line::Sample(label, sample)]),
            Self::Watch(watch) => watch.sample(keima).map(|(label, sample)| vec![Line::Sample(label, sample)]),
            Self::Golegal { height } => {
                let (label, sample, legal) = golegal.context("golegal is not built")?.sample(*height, 2)?;
                let problem = board::go(*height)?;
                let known =
                    problem.info().functionals().into_iter().find_map(|f| f.known.filter(|_| f.index == *height));
                if let Some(known) = known {
                    ensure!(modulo_word(&known) == legal, "golegal counted {legal} modulo 2^64, known is {known}");
                }
                Ok(vec![Line::Sample(label, sample)])
            }
            _ => {
                let program = std::env::current_exe()?;
                let ended = Command::new(program).args(self.arguments().unwrap_or_default()).output()?;
                ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr).trim());
                let text = String::from_utf8(ended.stdout)?;
                Ok(text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
            }
        }
    }
}
