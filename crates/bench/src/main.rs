//! `keima-bench`: measures keima, prints one table and writes docs/performance.md with a plot. `scripts/bench` builds
//! and starts it; it is no part of the program that is shipped.
//!
//! ```text
//!   measure        rounds over all jobs: kernels and sweeps in processes of this program, counts by the real one, golegal
//!   block, disk,   one such process; prints a line of JSON for each sample, and for what does not fit the machine
//!   stream
//!   forecast       `keima estimate` and the count right after it, in pairs; writes docs/forecasts.md
//!   work           a fixed piece of work for callgrind
//!   instructions   callgrind's file as a table
//! ```

#![forbid(unsafe_code)]

mod board;
mod document;
mod forecast;
mod instructions;
mod measure;
mod passes;
mod plot;
mod process;
mod programs;
mod report;
mod sample;
mod table;
mod targets;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use keima_model::Direction;

use crate::measure::{Wish, measure};
use crate::passes::on_disk::Disk;
use crate::passes::{in_memory, on_disk, stream};
use crate::report::machine::{self, Machine};
use crate::sample::Line;

/// That of the program that is measured.
#[cfg(target_arch = "x86_64")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measures keima.
#[derive(Parser)]
#[command(name = "keima-bench", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// Which passes through runs are measured.
#[derive(Args)]
struct Passes {
    /// Side of the board
    #[arg(long)]
    height: u32,
    /// Residues carried at once; by blocks 1, 2, 4, 6, 8, 10, 12 or 16
    #[arg(long, default_value_t = 1)]
    lanes: u32,
    /// Threads
    #[arg(long, default_value_t = 1)]
    threads: u32,
}

#[derive(Subcommand)]
enum Verb {
    /// Everything: a table on standard output; a full run also writes docs/performance.md and its plot
    Measure(MeasureArgs),
    /// Forecasts of `keima estimate` against the counts that follow them: a document on standard output
    Forecast(ForecastArgs),
    /// Passes of the block executor: a line of JSON for each number of residues and threads and each direction
    Block {
        /// Side of the board
        #[arg(long)]
        height: u32,
        /// Residues carried at once: 1, 2, 4, 8
        #[arg(long, value_delimiter = ',', default_value = "1")]
        lanes: Vec<u32>,
        /// Threads
        #[arg(long, value_delimiter = ',', default_value = "1")]
        threads: Vec<u32>,
        /// Cells of the windows, from the top of the column down; else as the planner cuts it
        #[arg(long, value_name = "CELLS", value_delimiter = ',')]
        windows: Vec<u32>,
    },
    /// Passes of the block executor out of core, through runs in a temporary folder in $TMPDIR, or else in the current
    /// folder: a line of JSON, a sample or why there is none
    Disk {
        #[command(flatten)]
        passes: Passes,
        /// Memory for tables and tasks, for which the planner chooses windows and groups
        #[arg(long, value_name = "MIB", default_value_t = on_disk::MEMORY_MIB)]
        memory: u64,
        /// Nothing is measured where two boundaries would take more of the disk
        #[arg(long, value_name = "BYTES", default_value_t = on_disk::BYTES_MOST)]
        bytes_most: u64,
    },
    /// A sweep of the stream executor: a line of JSON
    Stream {
        #[command(flatten)]
        passes: Passes,
        /// End when so many state-passes are measured
        #[arg(long, default_value_t = f64::INFINITY)]
        state_passes: f64,
        /// Only a tenth of the vector's bytes as memory
        #[arg(long)]
        tight: bool,
    },
    /// A fixed piece of an executor's work on one thread; prints the instruction set and the number of state-passes
    Work {
        /// Side of the board
        #[arg(long, default_value_t = 8)]
        height: u32,
        /// Residues carried at once: 1, 2, 4, 8
        #[arg(long, default_value_t = 1)]
        lanes: u32,
        /// Columns; none is the set-up alone
        #[arg(long, default_value_t = 1)]
        columns: u32,
        /// The transposed passes
        #[arg(long, conflicts_with = "stream")]
        backward: bool,
        /// By the stream executor, whose set-up makes the first column; any number of residues
        #[arg(long)]
        stream: bool,
    },
    /// Instructions per state-pass by function, from callgrind's file
    Instructions {
        /// What `--callgrind-out-file` named
        file: PathBuf,
        /// The same of the set-up alone, which is subtracted
        #[arg(long)]
        less: Option<PathBuf>,
        /// As `work` printed it
        #[arg(long)]
        state_passes: f64,
    },
}

#[derive(Args)]
struct ForecastArgs {
    /// Pairs of each count
    #[arg(long, value_name = "N", default_value_t = 2)]
    runs: usize,
    /// Only counts whose name has this in it, such as `in memory`, `on disk`, `streams` or `13x13`
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Folder for forecasts.md, too
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct MeasureArgs {
    /// Two small boards and three runs: some minutes
    #[arg(long)]
    quick: bool,
    /// Only what a target is about, and what that is held against
    #[arg(long, conflicts_with = "quick")]
    targets: bool,
    /// Only rows whose name has this in it, such as `block`, `cached runs`, `stream sweep` or `cluster`, and golegal
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Sides of the boards [default: 9 to 15, with --quick 9 and 10]
    #[arg(long, value_delimiter = ',', value_name = "SIDES", value_parser = clap::value_parser!(u32).range(3..=16))]
    boards: Vec<u32>,
    /// Runs of each row, of which the median is taken, where there is time; rows that a target is about come first
    /// [default: 5, with --quick 3]
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// Sources of golegal (github.com/tromp/golegal), to be built and run beside keima
    #[arg(long, value_name = "DIR")]
    golegal: Option<PathBuf>,
    /// Boards that golegal counts [default: 11, or else the largest]
    #[arg(long, value_delimiter = ',', value_name = "SIDES")]
    golegal_boards: Vec<u32>,
    /// No row gets another run when this much time has gone by
    #[arg(long, value_name = "N", default_value_t = 80.0)]
    minutes: f64,
    /// No row gets another run that would take it beyond this
    #[arg(long, value_name = "N", default_value_t = 900.0)]
    row_seconds: f64,
    /// Folder for performance.md and performance.svg [default: docs for a full run, none for any other]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn main() -> Result<()> {
    match Cli::parse().verb {
        Verb::Measure(args) => measure_all(args),
        Verb::Forecast(args) => forecast_all(&args),
        Verb::Block { height, lanes, threads, windows } => {
            print(&in_memory::samples(height, &windows, &lanes, &threads)?)
        }
        Verb::Disk { passes: Passes { height, lanes, threads }, memory, bytes_most } => {
            let wish = Disk { height, residues: lanes, threads, memory_mib: memory, bytes_most };
            print(&[on_disk::sample(&wish)?])
        }
        Verb::Stream { passes: Passes { height, lanes, threads }, state_passes, tight } => {
            let (label, sample) = stream::sample(height, lanes, threads, tight, state_passes)?;
            print(&[Line::Sample(label, sample)])
        }
        Verb::Work { height, lanes, columns, backward, stream } => {
            let direction = if backward { Direction::Backward } else { Direction::Forward };
            let state_passes = if stream {
                stream::fixed_work(height, lanes, columns)?
            } else {
                in_memory::fixed_work(height, lanes, direction, columns)?
            };
            println!("dispatch {}", machine::simd());
            println!("state_passes {state_passes}");
            Ok(())
        }
        Verb::Instructions { file, less, state_passes } => {
            print!("{}", instructions::report(&file, less.as_deref(), &std::env::current_dir()?, state_passes)?);
            Ok(())
        }
    }
}

fn print(lines: &[Line]) -> Result<()> {
    for line in lines {
        println!("{}", serde_json::to_string(line)?);
    }
    Ok(())
}

fn measure_all(args: MeasureArgs) -> Result<()> {
    let full = !args.quick && !args.targets && args.boards.is_empty() && args.only.is_none();
    let boards = match (args.boards, args.quick) {
        (boards, _) if !boards.is_empty() => boards,
        (_, true) => vec![9, 10],
        (_, false) => (9..=15).collect(),
    };
    let golegal_boards = match args.golegal_boards {
        asked if !asked.is_empty() => asked,
        _ if boards.contains(&11) => vec![11],
        _ => boards.iter().copied().max().into_iter().collect(),
    };
    let wish = Wish {
        quick: args.quick,
        targets: args.targets,
        only: args.only,
        boards,
        runs: args.runs.unwrap_or(if args.quick { 3 } else { 5 }),
        most_job_seconds: args.row_seconds,
        most_seconds: args.minutes * 60.0,
        golegal: args.golegal,
        golegal_boards,
        keima: measure::keima()?,
    };
    let out = args.out.or_else(|| full.then(|| "docs".into()));
    if let Some(out) = &out {
        // Before anything is measured for half an hour that could not be written then.
        std::fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    }
    let found = measure(&wish)?;
    print!("{}", table::text(&found.rows));
    let aim = |wanted: String| if wanted.is_empty() { wanted } else { format!(" (wanted: {wanted})") };
    for [what, times, wanted, against] in targets::against_golegal(&found.rows) {
        println!("{what}: {times} times {against} per residue{}", aim(wanted));
    }
    for [what, value, wanted] in targets::among_themselves(&found.rows) {
        println!("{what}: {value}{}", aim(wanted));
    }
    for note in &found.notes {
        println!("not measured: {note}");
    }
    if let Some(out) = out {
        let command = typed(std::env::args().skip(2));
        let write = |name: &str, text: String| {
            let path = out.join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write("performance.svg", plot::svg(&found.rows)?)?;
        write("performance.md", document::markdown(&found, &Machine::here(&wish.keima), &command))?;
    }
    Ok(())
}

fn forecast_all(args: &ForecastArgs) -> Result<()> {
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out).with_context(|| format!("cannot make the folder {}", out.display()))?;
    }
    let command = typed(std::env::args().skip(1));
    let text = forecast::forecasts(&measure::keima()?, args.runs, args.only.as_deref(), &command)?;
    print!("{text}");
    if let Some(out) = &args.out {
        let path = out.join("forecasts.md");
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// What was typed, with DIR for the folders of this machine.
fn typed(arguments: impl Iterator<Item = String>) -> String {
    let mut text = "scripts/bench".to_owned();
    let mut folder = false;
    for argument in arguments {
        let shown = match argument.split_once('=') {
            Some((name @ ("--golegal" | "--out"), _)) => format!("{name}=DIR"),
            _ if folder => "DIR".to_owned(),
            _ => argument.clone(),
        };
        folder = matches!(argument.as_str(), "--golegal" | "--out");
        text = text + " " + &shown;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn folders_are_not_told() {
        fn check(arguments: &str, expected: &str) {
            assert_eq!(typed(arguments.split_whitespace().map(str::to_owned)), expected);
        }
        check("", "scripts/bench");
        check("--quick --golegal /a/b --runs 2", "scripts/bench --quick --golegal DIR --runs 2");
        check("--out=/c --golegal=/d", "scripts/bench --out=DIR --golegal=DIR");
    }
}
