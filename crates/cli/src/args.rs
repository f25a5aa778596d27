//! The command line: what can be typed, and what `--help` says about it.

mod cluster;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use self::cluster::{ClientArgs, CoordinatorArgs, JobArgs, ResultArgs, SubmitArgs, WorkerArgs};
use crate::units::{parse_bytes, parse_bytes_or_none};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  an error that is none of these; the message says what to do
  2  what was typed cannot be done: an option or a size that is not understood, a job that does
     not exist, too little memory or disk for any plan
  3  a check of the numbers failed: the number is withheld, the evidence is on stderr; a run file
     is damaged
  4  interrupted, paused, stopped for want of disk, or (result) not done yet: the same command
     goes on (a count in memory after the last sweep that was done; it begins anew where it has
     only one), and after submit --wait keima watch does
  5  the job was cancelled
A coordinator or worker that is asked to stop ends with 0.";

/// The program's version, and the commit that it was built from where that is known: `0.1.0 (9838b20b1c2d)`.
pub(crate) const VERSION: &str = env!("KEIMA_VERSION");

/// Counts combinatorial objects exactly, on one machine or on a cluster, when the work does not fit in memory.
#[derive(Debug, Parser)]
#[command(name = "keima", version = VERSION, after_help = EXIT_CODES, max_term_width = 110)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Count on this machine, with nothing else started
    #[command(after_help = format!("\
Examples:
  keima count go 9x9                       103919148791293834318983090438798793469
  keima count go 11x11 --series            L(11,1) to L(11,11)
  keima count go 12x12 --memory 192MiB     out of core; start it again after a kill and it goes on
  keima count go 7x7 --json | jq -r .count
  keima count go 5x9 --series --format bfile          lines `n L(5,n)`
  keima count quoridor-fences 8x8 --format csv        a header line, then a row per number
  keima count quoridor 4 --all --table variants       one of several tables
  keima count square-free 3 --list                    the boards themselves

--data, --scratch, --disk, --window and --residues-per-sweep ask for runs on disk, even where a count in
memory would fit and be faster.

{EXIT_CODES}"))]
    Count(CountArgs),
    /// Forecast what a count takes: states, plan, disk, core-hours and time, before any of it is run
    #[command(after_help = format!("\
Examples:
  keima estimate go 13x13                  on this machine: as `keima count go 13x13` would do it
  keima estimate go 13x13 --memory 2GiB --disk 50GiB          with runs on disk
  keima estimate go 16x16 --workers 40 --threads 16 --memory 64GiB --disk-bandwidth 2GiB
  keima estimate go 12x12 --json | jq .wall_seconds

Numbers of states are the problem's own: exact or upper bounds, and unknown where it knows none.
Speeds are measured on smaller boards of the same problem, which takes five to twenty seconds;
whatever else runs on this machine meanwhile makes them, and so the forecast, slower.

{EXIT_CODES}"))]
    Estimate(EstimateArgs),
    /// Start a coordinator, which keeps the jobs of a cluster
    #[command(after_help = format!("\
Example:
  keima coordinator --listen 0.0.0.0:7700 --data /var/lib/keima

It prints the lines that start a worker and that submit a job. It can be killed at any moment:
started again on the same data folder it goes on with the same jobs.

{EXIT_CODES}"))]
    Coordinator(CoordinatorArgs),
    /// Start a worker, which does the tasks of a coordinator
    #[command(after_help = format!("\
Example:
  keima worker --coordinator http://head:7700 --listen 0.0.0.0:7702 --advertise http://node7:7702 \\
               --scratch /nvme/keima --memory 48GiB --disk 800GiB

Workers may come and go at any time. A worker that comes back with its scratch folder brings its runs back.

{EXIT_CODES}"))]
    Worker(WorkerArgs),
    /// Submit a job to a coordinator
    #[command(after_help = format!("\
Examples:
  keima submit go 13x13                    prints the job's name, such as j1
  keima submit go 12x12 --wait             and waits for the number

{EXIT_CODES}"))]
    Submit(SubmitArgs),
    /// List the problems, or explain one
    #[command(after_help = format!("Examples:\n  keima problems\n  keima problems go\n  keima problems --json\n\n{EXIT_CODES}"))]
    Problems(ProblemsArgs),
    /// List the jobs of a coordinator
    #[command(after_help = format!("\
Examples:
  keima jobs
  keima jobs --json | jq -r '.jobs[] | [.job, .size, .state] | @tsv'

{EXIT_CODES}"))]
    Jobs(ClientArgs),
    /// Show where a job stands
    #[command(after_help = format!("Examples:\n  keima status j1\n  keima status j1 --json\n\n{EXIT_CODES}"))]
    Status(JobArgs),
    /// Follow a job until it ends
    #[command(after_help = format!("\
Examples:
  keima watch j1
  keima watch j1 --format json

Interrupting the watch leaves the job alone.

{EXIT_CODES}"))]
    Watch(ResultArgs),
    /// Stop granting tasks of a job; what is running is finished and kept
    #[command(after_help = format!("Example:\n  keima pause j1\n\n{EXIT_CODES}"))]
    Pause(JobArgs),
    /// Go on with a paused job
    #[command(after_help = format!("Example:\n  keima resume j1\n\n{EXIT_CODES}"))]
    Resume(JobArgs),
    /// End a job and delete its runs
    #[command(after_help = format!("Example:\n  keima cancel j1\n\n{EXIT_CODES}"))]
    Cancel(JobArgs),
    /// Print a finished job's number
    #[command(after_help = format!("\
Examples:
  keima result j1
  keima result j1 --series
  keima result j1 --json
  keima result j1 --format csv

{EXIT_CODES}"))]
    Result(ResultArgs),
    /// Verify a run file as a whole and say what it is, or list its records
    #[command(after_help = format!("\
Examples:
  keima inspect /nvme/keima/j1/s0/g12/t5/a0/r0.run
  keima inspect r0.run --json | jq -r .records
  keima inspect r0.run --records | head      a key and its residues per line

A run lies in a worker's scratch folder and needs nothing but itself: no coordinator, no job.

{EXIT_CODES}"))]
    Inspect(InspectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The file, ID.run below a scratch folder
    pub(crate) file: PathBuf,
    /// Print the records instead: a header line, then per line a state's key in hexadecimal and its residues, separated
    /// by tabs
    #[arg(long, conflicts_with = "json")]
    pub(crate) records: bool,
    /// Memory for the tables that the states of a run of blocks follow from
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "2GiB")]
    pub(crate) memory: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to count.
#[derive(Debug, Args, Clone)]
pub(crate) struct ProblemArgs {
    /// Problem, such as go (legal Go positions); `keima problems` lists them
    pub(crate) problem: String,
    /// Size, such as 9x9; the smaller side becomes the border
    pub(crate) size: String,
    /// An option of the problem, see `keima problems NAME`: NAME=VALUE, or NAME for a switch
    #[arg(long = "option", short = 'o', value_name = "NAME[=VALUE]")]
    pub(crate) options: Vec<String>,
    /// quoridor, quoridor-fences: at most so many fences (the same as -o max-fences=K)
    #[arg(long, value_name = "K", hide_short_help = true)]
    pub(crate) max_fences: Option<u32>,
    /// quoridor, quoridor-fences: any number of fences (the same as -o all)
    #[arg(long, hide_short_help = true)]
    pub(crate) all: bool,
    /// knight: open tours (the same as -o open)
    #[arg(long, hide_short_help = true)]
    pub(crate) open: bool,
    /// knight: closed tours (the same as -o closed)
    #[arg(long, hide_short_help = true)]
    pub(crate) closed: bool,
    /// knight: square where open tours begin, a1 or row,column (the same as -o from=SQ)
    #[arg(long, value_name = "SQ", hide_short_help = true)]
    pub(crate) from: Option<String>,
    /// knight: square where open tours end (the same as -o to=SQ)
    #[arg(long, value_name = "SQ", hide_short_help = true)]
    pub(crate) to: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProblemsArgs {
    /// Problem to explain
    pub(crate) name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args, Clone)]
pub(crate) struct PlanArgs {
    /// Residues to carry through all passes at once; chosen by the planner if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) residues_per_sweep: Option<u32>,
    /// Longest window of a stage, in cells; chosen by the planner if not given
    #[arg(long, value_name = "CELLS", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub(crate) window: Option<u32>,
    /// How to count: block (legal Go positions; many times faster), stream (any problem), or auto: block where it can
    /// and memory suffices, else stream
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Executor::Auto)]
    pub(crate) executor: Executor,
}

/// How a count is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Executor {
    /// Block where it can and memory suffices for the largest family, else stream.
    Auto,
    /// Sorted runs, for any problem and any size.
    Stream,
    /// Dense blocks (legal Go positions).
    Block,
}

impl From<Executor> for keima_coordinator::Executor {
    fn from(executor: Executor) -> Self {
        match executor {
            Executor::Auto => Self::Auto,
            Executor::Stream => Self::Stream,
            Executor::Block => Self::Block,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    /// Memory that the whole process stays under [default: for a count in memory three quarters of what the machine has
    /// to give, 2GiB with runs on disk]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
    /// Threads that count; all cores if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Folder for the vectors; below the data folder if not given
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Cap on the bytes in the scratch folder [default: 50GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) disk: Option<u64>,
    /// Folder for the state of the run [default: `$XDG_STATE_HOME/keima/JOB`]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Begin anew: delete what keima has in the state folder, finished results of other sizes too, and its runs in the
    /// scratch folder
    #[arg(long)]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// How often to make the state durable, in seconds; of no use to counts in memory, which write no boundaries
    #[arg(long, value_name = "SECONDS", default_value_t = 60, hide_short_help = true)]
    pub(crate) checkpoint_seconds: u64,
}

#[derive(Debug, Args)]
pub(crate) struct EstimateArgs {
    #[command(flatten)]
    pub(crate) problem: ProblemArgs,
    /// Workers; 1 is `keima count`, more are a cluster
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) workers: u32,
    /// Threads of each worker; the cores of this machine if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Memory of each worker [default: for one what `keima count` would take on this machine, for more three quarters of
    /// what it has to give]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) memory: Option<u64>,
    /// Cap on the bytes in all scratch folders together; none if not given. As for `keima count`, a cap asks for runs
    /// on disk even where memory suffices
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) disk: Option<u64>,
    /// Speed of each worker's disk, per second, its share where workers are on one machine; that of the scratch folder
    /// is measured if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) disk_bandwidth: Option<u64>,
    /// Memory of each worker's machine beyond --memory, in which the system keeps files that were written: what fits
    /// there is not read from disk again; 0 for none [default: for one worker whose disk is measured, what this machine
    /// has beside; else 0]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes_or_none)]
    pub(crate) cache: Option<u64>,
    /// Folder whose disk is measured, and that asks for runs on disk; below `$XDG_STATE_HOME/keima` if not given
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// Of a count that tells all shorter boards, too
    #[arg(long)]
    pub(crate) series: bool,
    /// Print JSON: bytes, seconds, and null for what is unknown
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people: the number, then aligned tables.
    Text,
    /// One object; big integers are strings.
    Json,
    /// A header line, then a row per number.
    Csv,
    /// Lines `n a(n)`, as the OEIS has them.
    Bfile,
}

/// Which numbers of a result are printed, and how.
#[derive(Debug, Args, Clone)]
pub(crate) struct ResultFormatArgs {
    /// How to print the result
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "json")]
    pub(crate) format: Option<Format>,
    /// Print the numbers of all shorter boards of this height; a job must have been submitted with it, or may lack some
    /// of them
    #[arg(long)]
    pub(crate) series: bool,
    /// Print this table alone (without it: the count and all tables); `count` is the count alone
    #[arg(long, value_name = "NAME", conflicts_with = "series")]
    pub(crate) table: Option<String>,
    /// Print what was counted, too: for square-free, and at most 10000 boards; with text and json
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Args, Clone)]
pub(crate) struct OutputArgs {
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) result: ResultFormatArgs,
    /// No progress and no checks on stderr; errors still go there
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
