//! The options of sample and games: estimates by sampling, and games of Go.

use std::path::PathBuf;

use clap::Args;

use super::numbers::whole;
use super::problem::ProblemArgs;

#[derive(Debug, Args)]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    /// Number of runs; the standard error falls with its square root
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole(1_u64..=1_000_000_000))]
    pub(crate) runs: u64,
    #[command(flatten)]
    pub(crate) random: RandomArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RandomArgs {
    /// Seed of the random numbers; the same seed gives the same result, on any number of threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = whole(1_u32..=1024))]
    pub(crate) threads: Option<u32>,
    /// Nodes that a run keeps for each stratum: a run takes so many times as long, and spreads less
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1_usize..=1_000_000))]
    pub(crate) per_stratum: usize,
    /// Print no progress on stderr; errors are still printed
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GamesArgs {
    /// Board size, such as 1x4 or 2x2; at most 16 points, or 12 for the graph
    pub(crate) size: String,
    /// Estimate the number of games from N sampled runs, up to 12 points
    #[arg(long, value_name = "N", value_parser = whole(1_u64..=1_000_000_000))]
    pub(crate) runs: Option<u64>,
    #[command(flatten)]
    pub(crate) random: RandomArgs,
    /// Write the game graph to a file: .graphml, .dot or .json
    #[arg(long, value_name = "FILE")]
    pub(crate) graph: Option<PathBuf>,
    /// Find a cycle through all positions of 1xN but the empty one, N from 3 to 12; print it as a file
    #[arg(long, conflicts_with_all = ["runs", "graph"])]
    pub(crate) hamiltonian: bool,
    /// Write the cycle to this file and print its checks
    #[arg(long, value_name = "FILE", requires = "hamiltonian")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
