//! `keima-bench`: measures keima and writes reports in JSON. `scripts/bench` builds and starts it.
//!
//! ```text
//!   measure        rounds over all jobs: passes in processes of this program, counts by the real one, golegal
//!   forecast       `keima estimate` and the count right after it, in pairs
//!   peers          programs of others and keima's count of the same, in pairs
//!   scale          the coordinator with fake workers in virtual time
//!   block, disk,   passes in this process; prints a line of JSON for each sample, and for what does not fit the machine
//!   stream
//!   work           a fixed piece of work for callgrind
//!   instructions   a callgrind file as a table
//! ```

#![forbid(unsafe_code)]

mod board;
mod forecast;
mod instructions;
mod measure;
mod passes;
mod peers;
mod process;
mod programs;
mod report;
mod sample;
mod scale;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use keima_model::Direction;
use serde::Serialize;

use crate::measure::{Found, measure};
use crate::passes::on_disk::Disk;
use crate::passes::{in_memory, on_disk, stream};
use crate::report::machine::{Machine, commit, simd};
use crate::report::{Report, check_writable};
use crate::sample::Line;

/// The allocator of the program that is measured.
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

#[derive(Subcommand)]
enum Verb {
    /// Measures everything and prints a report in JSON
    Measure {
        #[command(flatten)]
        options: measure::Options,
        #[command(flatten)]
        out: Out,
    },
    /// Compares forecasts of `keima estimate` with counts and prints a report in JSON
    Forecast {
        /// Runs of each pair
        #[arg(long, value_name = "N", default_value_t = 2)]
        runs: usize,
        /// Only counts with this text in their name, such as `in memory`, `on disk`, `streams` or `13x13`
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        #[command(flatten)]
        out: Out,
    },
    /// Compares counts with those of other programs and prints a report in JSON
    Peers {
        #[command(flatten)]
        options: peers::Options,
        #[command(flatten)]
        out: Out,
    },
    /// Simulates the coordinator with workers without bytes, in virtual time, and prints a report in JSON
    Scale {
        #[command(flatten)]
        options: scale::Options,
        #[command(flatten)]
        out: Out,
    },
    /// Measures passes of the block executor in memory: a line of JSON for each combination, forward and transposed
    Block {
        /// Side of the board
        #[arg(long)]
        height: u32,
        /// Residues carried at once: 1, 2, 4 or 8
        #[arg(long, value_delimiter = ',', default_value = "1")]
        lanes: Vec<u32>,
        /// Threads
        #[arg(long, value_delimiter = ',', default_value = "1")]
        threads: Vec<u32>,
        /// Cells of the windows, from the top of the column down [default: the planner's]
        #[arg(long, value_name = "CELLS", value_delimiter = ',')]
        windows: Vec<u32>,
    },
    /// Measures passes of the block executor through files, in $TMPDIR or else the current folder: a line of JSON
    Disk {
        #[command(flatten)]
        passes: Passes,
        /// Memory for tables and tasks; the planner chooses windows and groups for it
        #[arg(long, value_name = "MIB", default_value_t = on_disk::MEMORY_MIB)]
        memory: u64,
        /// Measures nothing where two boundaries would take more of the disk
        #[arg(long, value_name = "BYTES", default_value_t = on_disk::MAX_BYTES)]
        max_bytes: u64,
    },
    /// Measures passes of the stream executor: a line of JSON
    Stream {
        #[command(flatten)]
        passes: Passes,
        /// Ends after so many state-passes
        #[arg(long, default_value_t = f64::INFINITY)]
        state_passes: f64,
        /// Takes only a tenth of the vector's bytes as memory
        #[arg(long)]
        tight: bool,
    },
    /// Does a fixed piece of work on one thread; prints the instruction set and the number of state-passes
    Work {
        /// Side of the board
        #[arg(long, default_value_t = 8)]
        height: u32,
        /// Residues carried at once: 1, 2, 4 or 8
        #[arg(long, default_value_t = 1)]
        lanes: u32,
        /// Columns; 0 is the set-up alone
        #[arg(long, default_value_t = 1)]
        columns: u32,
        /// Transposed passes
        #[arg(long, conflicts_with = "stream")]
        backward: bool,
        /// By the stream executor, whose set-up is the first column; with any number of residues
        #[arg(long)]
        stream: bool,
    },
    /// Prints instructions per state-pass by function, from a callgrind file
    Instructions {
        /// File that `--callgrind-out-file` named
        file: PathBuf,
        /// The same file of the set-up alone, which is subtracted
        #[arg(long, value_name = "FILE")]
        less: Option<PathBuf>,
        /// The number that `work` printed
        #[arg(long)]
        state_passes: f64,
    },
}

/// Which passes through files are measured.
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

#[derive(Args)]
struct Out {
    /// Writes the report to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn main() -> Result<()> {
    match Cli::parse().verb {
        Verb::Measure { options, out } => report(2, &out, |keima| {
            let Found { rows, not_measured } = measure(&options, keima)?;
            Ok((rows, not_measured))
        }),
        Verb::Forecast { runs, only, out } => {
            report(1, &out, |keima| Ok((forecast::forecasts(keima, runs, only.as_deref())?, Vec::new())))
        }
        Verb::Peers { options, out } => report(1, &out, |keima| Ok((peers::rows(&options, keima)?, Vec::new()))),
        Verb::Scale { options, out } => report(1, &out, |_| Ok((scale::rows(&options)?, Vec::new()))),
        Verb::Block { height, lanes, threads, windows } => {
            print(&in_memory::samples(height, &windows, &lanes, &threads)?)
        }
        Verb::Disk { passes: Passes { height, lanes, threads }, memory, max_bytes } => {
            print(&[on_disk::sample(&Disk { height, residues: lanes, threads, memory_mib: memory, max_bytes })?])
        }
        Verb::Stream { passes: Passes { height, lanes, threads }, state_passes, tight } => {
            let (label, sample) = stream::sample(height, lanes, threads, tight, state_passes)?;
            print(&[Line::Sample(label, sample)])
        }
        Verb::Work { height, lanes, columns, backward, stream } => {
            let direction = if backward { Direction::Transposed } else { Direction::Forward };
            let state_passes = if stream {
                stream::fixed_work(height, lanes, columns)?
            } else {
                in_memory::fixed_work(height, lanes, direction, columns)?
            };
            println!("dispatch {}\nstate_passes {state_passes}", simd());
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

/// Measures the program beside this one, and writes rows and what was not measured as a report. `scripts/bench` was given
/// this program's arguments from number `first` on.
fn report<R: Serialize>(
    first: usize,
    Out { out }: &Out,
    measure: impl FnOnce(&Path) -> Result<(Vec<R>, Vec<String>)>,
) -> Result<()> {
    check_writable(out.as_deref())?;
    let keima = std::env::current_exe()?.with_file_name("keima");
    let started = Instant::now();
    let (rows, not_measured) = measure(&keima)?;
    let report = Report {
        machine: Machine::here(),
        commit: commit(&keima),
        command: typed(std::env::args().skip(first)),
        minutes: Some((started.elapsed().as_secs_f64() / 60.0).round() as u64),
        note: None,
        rows,
        not_measured,
    };
    report.write(out.as_deref())
}

/// The command that was typed, with `DIR` for paths of this machine.
fn typed(arguments: impl Iterator<Item = String>) -> String {
    arguments.fold("scripts/bench".to_owned(), |text, argument| match argument.split_once('=') {
        _ if !argument.contains('/') => format!("{text} {argument}"),
        Some((name, _)) => format!("{text} {name}=DIR"),
        None => format!("{text} DIR"),
    })
}

#[cfg(test)]
mod tests {
    use super::typed;

    #[test]
    fn paths_are_not_told() {
        fn check(arguments: &str, expected: &str) {
            assert_eq!(typed(arguments.split_whitespace().map(str::to_owned)), expected);
        }
        check("", "scripts/bench");
        check("--quick --golegal /a/b --runs 2", "scripts/bench --quick --golegal DIR --runs 2");
        check("--out=/c/d --golegal=e/f --boards=9", "scripts/bench --out=DIR --golegal=DIR --boards=9");
    }
}
