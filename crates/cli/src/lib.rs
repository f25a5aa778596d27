//! The command line of keima: it counts combinatorial objects exactly, on one machine or on a cluster.
//!
//! This crate is the only one that names concrete problems (through their registry) and the only one that prints.
//! Results go to stdout, everything else to stderr.
//!
//! ```text
//!   args       what can be typed, and the text of --help
//!   count      keima count, in memory or with runs on disk
//!   estimate   keima estimate
//!   sample     keima sample
//!   games      keima games
//!   cluster    coordinator, worker, and the verbs that talk to a coordinator
//!   problems   keima problems
//!   inspect    keima inspect
//!   verify     keima verify
//!   health     keima selftest, doctor
//!   habits     keima config, completions, man
//!   analyse    keima analyse
//!   plot       keima plot
//!   result     the numbers of a finished count, in every format, with their evidence
//!   terminal   printing, progress, numbers as text
//!   machine    cores, memory, state folder, stop signals
//!   exit       exit codes and errors
//! ```

#![forbid(unsafe_code)]

mod analyse;
mod args;
mod cluster;
mod count;
mod estimate;
mod exit;
mod games;
mod habits;
mod health;
mod inspect;
mod machine;
mod plot;
#[doc(hidden)]
pub mod probe;
mod problems;
mod result;
mod sample;
mod terminal;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::args::{LogFormat, ProgressFormat, Verb};
use crate::exit::Failed;
use crate::machine::Needed;
use crate::terminal::colour::is_coloured;
use crate::terminal::events;
use crate::terminal::log::{self, JsonLines, SpanFields};
use crate::terminal::output::say;
use crate::terminal::traces::{self, Traces};

/// Most blocking threads of the runtime. Each counting thread is one, and file access takes some more.
const BLOCKING_THREADS: usize = 2048;
/// How long blocking threads may take to end after the verb has ended.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// Runs the program with a command line, the program's name first. Wrong usage ends the process at once, with exit code 2.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    machine::arenas::limit(&args);
    let cli = args::parse(args);
    if cli.verb.progress() == ProgressFormat::Json {
        events::turn_on();
    }
    let is_json = log_format(&cli.verb) == LogFormat::Json;
    match block_on(cli.verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            if events::is_on() {
                events::tell("error", json!({ "exit_code": failed.code, "text": failed.text }));
            } else if !failed.text.is_empty() {
                if is_json && tracing::enabled!(tracing::Level::ERROR) {
                    tracing::error!(exit_code = failed.code, "keima: {}", failed.text);
                } else {
                    say(format_args!("keima: {}", failed.text));
                }
            }
            ExitCode::from(failed.code)
        }
    }
}

/// How a verb writes its log.
fn log_format(verb: &Verb) -> LogFormat {
    match verb {
        Verb::Coordinator(args) => args.log_format,
        Verb::Worker(args) => args.log_format,
        _ if events::is_on() => LogFormat::Json,
        _ => LogFormat::Text,
    }
}

/// Logs to stderr: services from info on, other verbs from warnings on, or as `KEIMA_LOG` says.
fn start_log(verb: &Verb) -> Result<(), Failed> {
    let level = match verb {
        Verb::Coordinator(_) | Verb::Worker(_) => LevelFilter::INFO,
        _ => LevelFilter::WARN,
    };
    let told = std::env::var("KEIMA_LOG").ok().and_then(|directives| directives.parse().ok());
    let filter = told.unwrap_or_else(|| Targets::new().with_default(level));
    let format = log_format(verb);
    let traces = match verb {
        Verb::Coordinator(args) => Traces::to(args.trace_endpoint.as_deref(), "keima-coordinator")?,
        Verb::Worker(args) => Traces::to(args.trace_endpoint.as_deref(), "keima-worker")?,
        _ => None,
    };
    // The reader of stderr may have gone away; that must not panic.
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).log_internal_errors(false);
    match format {
        LogFormat::Text => {
            let lines = lines.with_ansi(is_coloured(&std::io::stderr())).with_target(false);
            let traces = traces.map(|traces| traces.with_filter(Traces::filter()));
            tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces).init();
        }
        LogFormat::Json => {
            std::panic::set_hook(Box::new(log::panicked));
            let lines = SpanFields.and_then(lines.event_format(JsonLines));
            let traces = traces.map(|traces| traces.with_filter(Traces::filter()));
            tracing_subscriber::registry().with(lines.with_filter(filter)).with(traces).init();
        }
    }
    Ok(())
}

fn block_on(verb: Verb) -> Result<(), Failed> {
    let threads = match &verb {
        Verb::Coordinator(_) | Verb::Worker(_) | Verb::Count(_) | Verb::Estimate(_) => 2,
        _ => 1,
    };
    Needed::RUNTIME.check(0)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(|error| Failed::other(format!("cannot start threads: {error}; allow more of them (ulimit -u)")))?;
    {
        // Traces are sent by tasks of the runtime.
        let _inside = runtime.enter();
        start_log(&verb)?;
    }
    let ended = runtime.block_on(act(verb));
    traces::flush();
    runtime.shutdown_timeout(SHUTDOWN);
    ended
}

async fn act(verb: Verb) -> Result<(), Failed> {
    use crate::cluster::client::{self, Change};
    match verb {
        Verb::Count(args) => count::count(args).await,
        Verb::Estimate(args) => estimate::estimate(args).await,
        Verb::Sample(args) => sample::sample(&args),
        Verb::Games(args) => games::games(&args),
        Verb::Coordinator(args) => cluster::coordinator::coordinator(args).await,
        Verb::Worker(args) => cluster::worker::worker(args).await,
        Verb::Submit(args) => client::submit(args).await,
        Verb::Problems(args) => problems::problems(&args),
        Verb::Inspect(args) => inspect::inspect(&args),
        Verb::Selftest(args) => health::selftest::selftest(&args),
        Verb::Doctor(args) => health::doctor::doctor(&args),
        Verb::Config(args) => habits::config(&args),
        Verb::Completions(args) => habits::completions(&args),
        Verb::Man(args) => habits::man(&args),
        Verb::Verify(args) => verify::verify(&args),
        Verb::Analyse(args) => analyse::analyse(&args),
        Verb::Plot(args) => plot::plot(&args),
        Verb::Jobs(args) => cluster::people::jobs(args).await,
        Verb::Workers(args) => client::workers(args).await,
        Verb::Status(args) => client::status(args).await,
        Verb::Top(args) => cluster::top::top(args).await,
        Verb::Watch(args) => client::watch(args).await,
        Verb::Pause(args) => client::change(args, Change::Pause).await,
        Verb::Resume(args) => client::change(args, Change::Resume).await,
        Verb::Change(args) => cluster::people::change_terms(args).await,
        Verb::Cancel(args) => client::change(args, Change::Cancel).await,
        Verb::Result(args) => client::result(args).await,
    }
}
