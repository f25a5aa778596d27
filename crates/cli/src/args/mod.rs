//! The command line: what can be typed, and what `--help` says about it.
//!
//! ```text
//!   problem  what to count, and how to plan it
//!   output   which numbers to print, and in which format
//!   local    options of the verbs that need no coordinator
//!   cluster  options of the verbs that start or use a cluster
//!   help     what stands below the options
//! ```

mod cluster;
mod help;
mod local;
mod output;
mod problem;

use clap::{Parser, Subcommand};

pub(crate) use self::cluster::{ClientArgs, CoordinatorArgs, JobArgs, ResultArgs, SubmitArgs, WorkerArgs};
pub(crate) use self::local::{CountArgs, EstimateArgs, InspectArgs, ProblemsArgs};
pub(crate) use self::output::{Format, ResultFormatArgs};
pub(crate) use self::problem::{Executor, ProblemArgs};

/// The program's version, and the commit that it was built from where that is known: `0.1.0 (9838b20b1c2d)`.
pub(crate) const VERSION: &str = env!("KEIMA_VERSION");

/// Counts combinatorial objects exactly, on one machine or on a cluster, even if the work does not fit in memory.
#[derive(Debug, Parser)]
#[command(name = "keima", version = VERSION, after_help = help::EXIT_CODES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Count on this machine, without a coordinator
    #[command(after_help = help::count())]
    Count(CountArgs),
    /// Forecast a count without running it: states, plan, memory, disk and time
    #[command(after_help = help::estimate())]
    Estimate(EstimateArgs),
    /// Start a coordinator, which keeps the jobs of a cluster and grants their tasks
    #[command(after_help = help::coordinator())]
    Coordinator(CoordinatorArgs),
    /// Start a worker, which runs the tasks of a coordinator
    #[command(after_help = help::worker())]
    Worker(WorkerArgs),
    /// Submit a job to a coordinator
    #[command(after_help = help::submit())]
    Submit(SubmitArgs),
    /// List the problems, or explain one
    #[command(after_help = help::problems())]
    Problems(ProblemsArgs),
    /// List the jobs of a coordinator
    #[command(after_help = help::jobs())]
    Jobs(ClientArgs),
    /// Show a job's plan, progress, workers and checks
    #[command(after_help = help::status())]
    Status(JobArgs),
    /// Follow a job until it ends, then print its number
    #[command(after_help = help::watch())]
    Watch(ResultArgs),
    /// Pause a job; running tasks finish and are kept
    #[command(after_help = help::pause())]
    Pause(JobArgs),
    /// Resume a paused job
    #[command(after_help = help::resume())]
    Resume(JobArgs),
    /// Cancel a job and delete its runs
    #[command(after_help = help::cancel())]
    Cancel(JobArgs),
    /// Print the number of a finished job
    #[command(after_help = help::result())]
    Result(ResultArgs),
    /// Verify a run file and describe it, or list its records
    #[command(after_help = help::inspect())]
    Inspect(InspectArgs),
}
