//! The command line: what can be typed, and what `--help` says about it.
//!
//! ```text
//!   problem  what to count, and how to plan it
//!   output   which numbers to print, and in which format
//!   local    options of the verbs that need no coordinator
//!   analyse  options of keima analyse
//!   cluster  options of the verbs that start or use a cluster
//!   habits   options of config, completions and man
//!   explore  options of sample and games
//!   help     what stands below the options
//!   numbers  numbers as they are typed
//!   defaults the configuration file, and variables that are set to nothing
//!   advice   what a refused command line says besides
//! ```

mod advice;
mod analyse;
mod cluster;
pub(crate) mod defaults;
mod explore;
mod habits;
mod help;
mod local;
mod numbers;
mod output;
mod problem;

use std::ffi::OsString;

use clap::{ColorChoice, Command, CommandFactory as _, Error, FromArgMatches as _, Parser, Subcommand};

pub(crate) use self::analyse::{AnalyseArgs, AnalysisFormat, Lift};
pub(crate) use self::cluster::{
    ChangeArgs, ClientArgs, CoordinatorArgs, JobArgs, JobsArgs, LogFormat, ResultArgs, SubmitArgs, TermsArgs, TopArgs,
    WatchArgs, WorkerArgs,
};
use self::defaults::config::Config;
use self::defaults::empty;
pub(crate) use self::explore::{GamesArgs, RandomArgs, SampleArgs};
pub(crate) use self::habits::{CompletionsArgs, ConfigArgs, ConfigVerb, DoctorArgs, ManArgs, SelftestArgs};
pub(crate) use self::local::{CountArgs, EstimateArgs, InspectArgs, PlotArgs, Plotted, ProblemsArgs, VerifyArgs};
pub(crate) use self::output::{Format, ProgressFormat, ResultFormatArgs};
pub(crate) use self::problem::{Executor, ProblemArgs};
use crate::terminal::colour::is_dumb;

/// The program's version, and the commit that it was built from where that is known: `0.2.0 (9838b20b1c2d)`.
pub(crate) const VERSION: &str = env!("KEIMA_VERSION");

/// Counts combinatorial objects exactly, on one machine or on a cluster, even if the work does not fit in memory.
#[derive(Debug, Parser)]
#[command(name = "keima", version = VERSION, after_help = help::EXIT_CODES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Reads a command line, the program's name first. Ends the process where it is wrong, or asks for help.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Cli {
    // clap paints its help where TERM is set to nothing.
    let painted = if is_dumb() { Cli::command().color(ColorChoice::Never) } else { Cli::command() };
    let command = Config::load().map(|config| empty::without_empty_variables(config.under(painted)));
    command.and_then(|mut command| parsed(&mut command, args)).unwrap_or_else(|error| error.exit())
}

/// A command line, or what is wrong with it.
pub(crate) fn parsed(command: &mut Command, args: impl IntoIterator<Item = OsString>) -> Result<Cli, Error> {
    let matches = command.try_get_matches_from_mut(args).map_err(advice::advise)?;
    // What clap found wrong with a value names the verb's usage.
    Cli::from_arg_matches(&matches).map_err(|error| advice::advise(error.format(command)))
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Count on this machine, without a coordinator
    #[command(after_help = help::count())]
    Count(CountArgs),
    /// Forecast a count without running it: states, plan, memory, disk and time
    #[command(after_help = help::estimate())]
    Estimate(EstimateArgs),
    /// Estimate a count by sampling, with its standard error
    #[command(after_help = help::sample())]
    Sample(SampleArgs),
    /// Count games of Go on a small board, write their graph, find Hamiltonian cycles
    #[command(after_help = help::games())]
    Games(GamesArgs),
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
    Jobs(JobsArgs),
    /// List the workers of a coordinator
    #[command(after_help = help::workers())]
    Workers(ClientArgs),
    /// Show a job's plan, progress, workers and checks
    #[command(after_help = help::status())]
    Status(JobArgs),
    /// Show jobs, the board of one, and workers in the terminal, live
    #[command(after_help = help::top())]
    Top(TopArgs),
    /// Follow a job until it ends, then print its number
    #[command(after_help = help::watch())]
    Watch(WatchArgs),
    /// Pause a job; running tasks finish and are kept
    #[command(after_help = help::pause())]
    Pause(JobArgs),
    /// Resume a paused job
    #[command(after_help = help::resume())]
    Resume(JobArgs),
    /// Change a job's priority, name, note, owner or caps
    #[command(after_help = help::change())]
    Change(ChangeArgs),
    /// Cancel a job and delete its runs
    #[command(after_help = help::cancel())]
    Cancel(JobArgs),
    /// Print the number of a finished job
    #[command(after_help = help::result())]
    Result(ResultArgs),
    /// Check a result by its certificate, without counting; or a Hamiltonian cycle, move by move
    #[command(after_help = help::verify())]
    Verify(VerifyArgs),
    /// Test processor, memory, disk and this program; takes less than a minute
    #[command(after_help = help::selftest())]
    Selftest(SelftestArgs),
    /// Say what a data folder, scratch folder or archive is, and whether it is sound; changes nothing
    #[command(after_help = help::doctor())]
    Doctor(DoctorArgs),
    /// Tell where the values of options come from: defaults, the configuration file, the environment
    #[command(after_help = help::config())]
    Config(ConfigArgs),
    /// Print a script that completes command lines in a shell
    #[command(after_help = help::completions())]
    Completions(CompletionsArgs),
    /// Write the manual pages of keima and all its verbs into a folder
    #[command(after_help = help::man())]
    Man(ManArgs),
    /// Find the recurrence behind a series of counts, its far terms and its growth
    #[command(after_help = help::analyse())]
    Analyse(AnalyseArgs),
    /// Draw a result as SVG: states, convergence to the formula, or a table
    #[command(after_help = help::plot())]
    Plot(PlotArgs),
    /// Verify a run file and describe it, or list its records
    #[command(after_help = help::inspect())]
    Inspect(InspectArgs),
}

impl Verb {
    /// How it shows progress.
    pub(crate) fn progress(&self) -> ProgressFormat {
        match self {
            Self::Count(args) if !args.output.quiet => args.output.progress.progress,
            Self::Submit(args) => args.progress.progress,
            Self::Watch(args) => args.progress.progress,
            _ => ProgressFormat::Auto,
        }
    }
}
