//! Whole counts by the real program: `keima count`, or a coordinator with workers of one thread each.
//!
//! Times of `keima count` are those of its process, set-up and checks included. Times on a cluster are those of the job,
//! from its submission to its result.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::board;
use crate::process::cpu_seconds;
use crate::programs::cluster::{Cluster, WORKER_MEMORY_MIB};
use crate::programs::program::{count, totals, windows};
use crate::sample::{Kind, Label, Sample};

/// A count on disk has this part of the vector as memory, and so many MiB for the program and its tables.
const DISK_PART: f64 = 10.0;
const PROGRAM_MIB: u64 = 100;

/// Counts a square board once.
pub(crate) fn sample(keima: &Path, kind: Kind, height: u32, threads: u32) -> Result<(Label, Sample)> {
    let folder = tempfile::tempdir().context("a folder for the count")?;
    let cpu_before = cpu_seconds().1;
    let (result, seconds, peak_bytes) = if kind.is_cluster() {
        let cluster = Cluster::start(keima, folder.path(), threads)?;
        let submit = format!("submit go {height}x{height} --executor {} --wait --json", kind.executor());
        let result = count(&mut cluster.command(keima, &submit))?;
        // `--wait` looks only twice a second.
        let seconds = result["seconds"].as_f64().context("no time")?;
        (result, seconds, cluster.peak_bytes())
    } else {
        let mut command = Command::new(keima);
        command.args(arguments(kind, height, threads)?).env("XDG_STATE_HOME", folder.path());
        if kind != Kind::CountBlock {
            command.arg("--data").arg(folder.path().join("data"));
        }
        let started = Instant::now();
        let result = count(&mut command)?;
        let peak_bytes = result["peak_memory_bytes"].as_f64().unwrap_or(0.0);
        (result, started.elapsed().as_secs_f64(), peak_bytes)
    };
    let sample = Sample { seconds, peak_bytes, ..of_all_sweeps(&result, &board::states(height)?) };
    let residues = result["residues"].as_array().map_or(0, Vec::len) as u32;
    let label = Label { kind, height, residues, threads };
    Ok((label, Sample { cpu_seconds: cpu_seconds().1 - cpu_before, ..sample }))
}

/// What a finished job did in all its sweeps over a board with these states.
pub(crate) fn of_all_sweeps(result: &Value, states: &[u64]) -> Sample {
    let statistics = &result["statistics"];
    let (state_passes, state_boundaries) = board::work(states, &windows(statistics));
    let sweeps = statistics["sweeps"].as_f64().unwrap_or(1.0).max(1.0);
    Sample { state_passes: sweeps * state_passes, state_boundaries: sweeps * state_boundaries, ..totals(statistics) }
}

/// Arguments of keima, without folders.
fn arguments(kind: Kind, height: u32, threads: u32) -> Result<Vec<String>> {
    let memory_mib = match kind {
        Kind::CountBlockDisk => Some(disk_mib(height)?),
        Kind::CountBlockWorker => Some(WORKER_MEMORY_MIB),
        _ => None,
    };
    let memory = memory_mib.map(|mib| format!(" --memory {mib}MiB")).unwrap_or_default();
    let executor = kind.executor();
    let text = format!("count go {height}x{height} --executor {executor} --threads {threads}{memory} --json --quiet");
    Ok(text.split(' ').map(str::to_owned).collect())
}

/// A tenth of the bytes of the largest vector with all residues, and the program's own memory.
fn disk_mib(height: u32) -> Result<u64> {
    let states = board::states(height)?.into_iter().max().unwrap_or(0) as f64;
    // The bound of the square board asks for so many, and there is the spare.
    let residues = (f64::from(height * height) * 3_f64.log2() / 60.0).ceil() + 1.0;
    Ok((states * residues * 8.0 / DISK_PART / f64::from(1 << 20)) as u64 + PROGRAM_MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_executor_threads_and_memory() {
        fn check(kind: Kind, height: u32, expected: &str) {
            assert_eq!(arguments(kind, height, 2).unwrap().join(" "), expected);
        }
        check(Kind::CountBlock, 9, "count go 9x9 --executor block --threads 2 --json --quiet");
        check(Kind::CountStream, 9, "count go 9x9 --executor stream --threads 2 --json --quiet");
        check(Kind::CountBlockDisk, 13, "count go 13x13 --executor block --threads 2 --memory 330MiB --json --quiet");
        check(
            Kind::CountBlockWorker,
            12,
            "count go 12x12 --executor block --threads 2 --memory 4096MiB --json --quiet",
        );
    }

    #[test]
    fn all_sweeps_count() {
        let result = serde_json::json!({ "statistics": { "sweeps": 2, "windows": [2, 1], "bytes_read": 9 } });
        let found = of_all_sweeps(&result, &[1, 3, 7, 9, 9, 9, 5]);
        assert_eq!((found.state_passes, found.state_boundaries, found.bytes_read), (76.0, 50.0, 9.0));
    }
}
