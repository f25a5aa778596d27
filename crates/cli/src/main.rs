//! `keima`: counts combinatorial objects exactly, on one machine or on a cluster.
//!
//! This crate is the only one that names concrete problems (through their registry) and the only one that prints.
//! Results go to stdout, everything else to stderr.

#![forbid(unsafe_code)]

mod args;
mod client;
mod count;
mod estimate;
mod exit;
mod inspect;
mod output;
mod problems;
mod progress;
mod result;
mod service;
mod show;
mod units;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Verb};
use crate::exit::Failed;

/// Gives back what tables and buffers of changing sizes leave behind, which counts in little memory depend on.
#[cfg(target_arch = "x86_64")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_env("KEIMA_LOG").unwrap_or_else(|_| {
        EnvFilter::new(match cli.verb {
            Verb::Coordinator(_) | Verb::Worker(_) => "info",
            _ => "warn",
        })
    });
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        // A reader of standard error that has gone away is nothing to panic about.
        .log_internal_errors(false)
        .init();
    let threads = match &cli.verb {
        Verb::Coordinator(_) | Verb::Worker(_) | Verb::Count(_) | Verb::Estimate(_) => 2,
        _ => 1,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        // Counting threads live as blocking tasks: as many as there are slots, and some for file access.
        .max_blocking_threads(2048)
        .enable_all()
        .build();
    let ended = match runtime {
        Ok(runtime) => {
            let ended = runtime.block_on(run(cli.verb));
            runtime.shutdown_timeout(std::time::Duration::from_secs(5));
            ended
        }
        Err(error) => Err(Failed::other(format!("cannot start: {error}"))),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            if !failed.text.is_empty() {
                output::say(format_args!("keima: {}", failed.text));
            }
            ExitCode::from(failed.code)
        }
    }
}

async fn run(verb: Verb) -> Result<(), Failed> {
    match verb {
        Verb::Count(args) => count::count(args).await,
        Verb::Estimate(args) => estimate::estimate(args).await,
        Verb::Coordinator(args) => service::coordinator(args).await,
        Verb::Worker(args) => service::worker(args).await,
        Verb::Submit(args) => client::submit(args).await,
        Verb::Problems(args) => problems::problems(&args),
        Verb::Inspect(args) => inspect::inspect(&args),
        Verb::Jobs(args) => client::jobs(args).await,
        Verb::Status(args) => client::status(args).await,
        Verb::Watch(args) => client::watch(args).await,
        Verb::Pause(args) => client::change(args, client::Change::Pause).await,
        Verb::Resume(args) => client::change(args, client::Change::Resume).await,
        Verb::Cancel(args) => client::change(args, client::Change::Cancel).await,
        Verb::Result(args) => client::result(args).await,
    }
}
