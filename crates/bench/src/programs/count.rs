//! Whole counts by the real program, in processes of their own: `keima count`, and a coordinator with workers of one
//! thread each. Times are of the whole process, set-up and checks included; those of a cluster are the
//! job's, from its submission to its result.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::board;
use crate::process::cpu_seconds;
use crate::programs::cluster::{self, Cluster};
use crate::programs::program::{run, windows};
use crate::sample::{Kind, Label, Sample};

/// A count out of core gets this part of the vector, and so many MiB for the program and its tables.
const DISK_PART: f64 = 10.0;
const DISK_BESIDE_MIB: u64 = 100;

/// A count to be done.
#[derive(Clone, Debug)]
pub(crate) struct Count {
    pub(crate) kind: Kind,
    pub(crate) height: u32,
    pub(crate) threads: u32,
    /// `--memory`, in MiB.
    pub(crate) memory_mib: Option<u64>,
}

impl Count {
    fn size(&self) -> String {
        format!("{0}x{0}", self.height)
    }

    fn executor(&self) -> &'static str {
        match self.kind {
            Kind::CountBlock | Kind::CountBlockDisk | Kind::CountBlockWorker | Kind::ClusterBlock => "block",
            _ => "stream",
        }
    }

    /// What is typed for it, without the program's name.
    fn arguments(&self) -> Vec<String> {
        let text = format!("count go {} --executor {} --threads {}", self.size(), self.executor(), self.threads);
        let memory = self.memory_mib.map(|mib| format!(" --memory {mib}MiB")).unwrap_or_default();
        format!("{text}{memory} --json --quiet").split(' ').map(str::to_owned).collect()
    }

    /// The commands, as they stand in the documents.
    pub(crate) fn commands(&self) -> Vec<String> {
        if matches!(self.kind, Kind::ClusterBlock | Kind::ClusterStream) {
            let mut commands = cluster::commands(self.threads);
            commands.push(format!("keima submit go {} --executor {} --wait --json", self.size(), self.executor()));
            return commands;
        }
        let data = if self.kind == Kind::CountBlock { "" } else { " --data DIR" };
        vec![format!("keima {}{data}", self.arguments().join(" "))]
    }

    /// Does it once.
    pub(crate) fn sample(&self, keima: &Path) -> Result<(Label, Sample)> {
        let folder = tempfile::tempdir().context("a folder for the count")?;
        let cpu_before = cpu_seconds().1;
        let (result, seconds, peak) = match self.kind {
            Kind::ClusterBlock | Kind::ClusterStream => self.on_a_cluster(keima, folder.path())?,
            _ => self.in_one_process(keima, folder.path())?,
        };
        let statistics = &result["statistics"];
        let number = |name: &str| statistics[name].as_f64().unwrap_or(0.0);
        let (state_passes, state_boundaries) = board::work(&board::states(self.height)?, &windows(statistics));
        let sweeps = number("sweeps").max(1.0);
        let sample = Sample {
            seconds,
            cpu_seconds: cpu_seconds().1 - cpu_before,
            state_passes: sweeps * state_passes,
            state_boundaries: sweeps * state_boundaries,
            bytes_read: number("bytes_read"),
            bytes_written: number("bytes_written"),
            peak_bytes: peak,
            read_seconds: number("read_seconds"),
            map_seconds: number("map_seconds"),
            write_seconds: number("write_seconds"),
            ..Sample::default()
        };
        let residues = result["residues"].as_array().map_or(0, Vec::len) as u32;
        Ok((Label { kind: self.kind, height: self.height, residues, threads: self.threads }, sample))
    }

    fn in_one_process(&self, keima: &Path, folder: &Path) -> Result<(Value, f64, f64)> {
        let mut command = Command::new(keima);
        command.args(self.arguments()).env("XDG_STATE_HOME", folder);
        if self.kind != Kind::CountBlock {
            command.arg("--data").arg(folder.join("data"));
        }
        let started = Instant::now();
        let result = run(&mut command)?;
        let seconds = started.elapsed().as_secs_f64();
        let peak = result["peak_memory_bytes"].as_f64().unwrap_or(0.0);
        Ok((result, seconds, peak))
    }

    fn on_a_cluster(&self, keima: &Path, folder: &Path) -> Result<(Value, f64, f64)> {
        let cluster = Cluster::start(keima, folder, self.threads)?;
        let submit = format!("submit go {} --executor {} --wait --json", self.size(), self.executor());
        let result = run(&mut cluster.command(keima, &submit))?;
        // The job's own time: whoever waits for it only looks twice a second.
        let seconds = result["seconds"].as_f64().context("no time")?;
        Ok((result, seconds, cluster.peak_bytes()))
    }
}

/// A tenth of the vector's bytes, of all residues at its largest, and what stands beside it.
pub(crate) fn disk_mib(height: u32) -> Result<u64> {
    let states = board::states(height)?.into_iter().max().unwrap_or(0) as f64;
    // As many residues as the bound of the square board asks for, and the spare.
    let residues = (f64::from(height * height) * 3_f64.log2() / 60.0).ceil() + 1.0;
    Ok((states * residues * 8.0 / DISK_PART / f64::from(1 << 20)) as u64 + DISK_BESIDE_MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_that_run() {
        let count = |kind, memory_mib| Count { kind, height: 9, threads: 2, memory_mib };
        fn check(count: &Count, expected: &[&str]) {
            assert_eq!(count.commands(), expected);
        }
        check(&count(Kind::CountBlock, None), &["keima count go 9x9 --executor block --threads 2 --json --quiet"]);
        check(
            &count(Kind::CountBlockDisk, Some(64)),
            &["keima count go 9x9 --executor block --threads 2 --memory 64MiB --json --quiet --data DIR"],
        );
        let worker = "keima worker --listen 127.0.0.1:0 --memory 4096MiB --threads 1 --scratch DIR";
        check(
            &count(Kind::ClusterStream, None),
            &[
                "keima coordinator --listen 127.0.0.1:0 --data DIR",
                worker,
                worker,
                "keima submit go 9x9 --executor stream --wait --json",
            ],
        );
    }
}
