//! The options of verbs that need no coordinator: count, estimate, problems, inspect, verify, plot.

use std::path::PathBuf;

use clap::Args;

use super::numbers::whole;
use super::output::OutputArgs;
use super::problem::{PlanArgs, ProblemArgs};
use crate::terminal::units::{parse_bytes, parse_bytes_or_none};

#[derive(Debug, Args, Clone)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    /// Memory limit of the whole process, such as 2GiB [default: 3/4 of the available memory, at most 2GiB with runs on
    /// disk]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
    /// Number of counting threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole(1_u32..=1024))]
    pub(crate) threads: Option<u32>,
    /// Folder for the runs on disk [default: scratch in the --data folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Size limit of the scratch folder, such as 50GiB [default: 50GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) disk: Option<u64>,
    /// Folder for the state of the count [default: `$XDG_STATE_HOME/keima/NAME`, with a NAME such as go-9x9]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Start over: delete keima's files in the state folder, results of other sizes too, and its runs in the scratch
    /// folder
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Count a second time with other primes, other cuts and where possible the turned board, and compare
    #[arg(long)]
    pub(crate) double_check: bool,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Time between checkpoints of runs on disk; a count in memory ignores it
    #[arg(long, value_name = "SECONDS", default_value_t = 60, hide_short_help = true, value_parser = whole(0..=1_000_000_000_u64))]
    pub(crate) checkpoint_seconds: u64,
}

#[derive(Debug, Args)]
pub(crate) struct EstimateArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    /// Number of workers; 1 is `keima count`, more are a cluster
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1_u32..=100_000))]
    pub(crate) workers: u32,
    /// Number of threads of each worker [default: all cores of this machine]
    #[arg(long, value_name = "N", value_parser = whole(1_u32..=1024))]
    pub(crate) threads: Option<u32>,
    /// Memory of each worker [default: as `keima count` on this machine for one worker, else 3/4 of this machine's
    /// available memory]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
    /// Size limit of all scratch folders together; asks for runs on disk [default: none]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) disk: Option<u64>,
    /// Disk speed of each worker in bytes per second, or its share of a shared disk [default: measured in the scratch
    /// folder]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) disk_bandwidth: Option<u64>,
    /// Memory of each worker's machine that caches written files, 0 for none. Cached files are not read from disk again
    /// [default: this machine's spare memory for one worker with a measured disk, else 0]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes_or_none)]
    pub(crate) cache: Option<u64>,
    /// Folder whose disk is measured; asks for runs on disk [default: a folder in `$XDG_STATE_HOME/keima`]
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Estimate a count that also reports shorter boards
    #[arg(long)]
    pub(crate) series: bool,
    /// Print JSON, in bytes and seconds; what is unknown is null
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ProblemsArgs {
    /// Problem to explain
    #[arg(value_name = "PROBLEM")]
    pub(crate) name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// Run file, such as r0.run in a scratch folder
    pub(crate) file: PathBuf,
    /// Print the records instead: a header line, then per state its key in hexadecimal and its residues, separated by
    /// tabs
    #[arg(long, conflicts_with = "json")]
    pub(crate) records: bool,
    /// Memory for the problem's tables, which give the keys of a run of the block executor [default: 2GiB, or 3/4 of the
    /// available memory if that is less]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Result of `keima count --json` or `keima result --json`, a certificate, or a cycle of `keima games`; - for standard
    /// input
    #[arg(value_name = "RESULT.json", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Plotted {
    /// Border states at each boundary, from the certificate
    States,
    /// Relative error of the problem's formula over the length of the board
    Formula,
}

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Results of `keima count --json`, one or one a line; - for standard input
    #[arg(value_name = "RESULT.json", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What to plot [default: states]
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with = "table")]
    pub(crate) what: Option<Plotted>,
    /// Plot one table over its index, such as `by_fences`
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// Write the SVG to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

impl CountArgs {
    /// Whether some option asks for runs on disk.
    pub(crate) fn asks_for_disk(&self) -> bool {
        self.scratch.is_some()
            || self.disk.is_some()
            || self.data.is_some()
            || self.plan.window.is_some()
            || self.plan.residues_per_sweep.is_some()
    }
}
