//! Probes: each feeds bytes to something that reads bytes from outside. Fuzzing runs them, and a test runs them on the
//! inputs in `fuzz/seeds`.
//!
//! A probe takes any bytes. It must not panic, hang, or take more memory than the bytes justify. It returns whether they
//! were accepted, so that a test sees that sound bytes are.

#![forbid(unsafe_code)]

mod archive;
mod calls;
mod results;
mod runs;
pub mod seeds;
mod shown;
mod store;
mod texts;
mod transfers;
mod web;

/// A probe: its name, and what it does with bytes.
pub type Probe = (&'static str, fn(&[u8]) -> bool);

/// A sound input of a probe: the probe's name, and the bytes.
pub type Seed = (&'static str, Vec<u8>);

/// Makes a function of each probe, and the list of all. A target of fuzzing calls its function: then its program has nothing else,
/// and the fuzzer has fewer places to look at after each input.
macro_rules! probes {
    ($count:literal: $($name:ident = $probe:expr;)*) => {
        $(
            /// The probe of this name.
            pub fn $name(bytes: &[u8]) -> bool {
                let probe: fn(&[u8]) -> bool = $probe;
                probe(bytes)
            }
        )*

        /// All probes. Each has a target of the same name in `fuzz/fuzz_targets`.
        pub const PROBES: [Probe; $count] = [$((stringify!($name), $name)),*];
    };
}

probes! {
    22:
    run_file = runs::file;
    run_blocks = runs::blocks;
    run_intake = runs::intake;
    transfers = transfers::transfers;
    messages = keima_cluster::probe::message;
    calls = calls::calls;
    answers = shown::answers;
    web = web::requests;
    records = store::records;
    store_log = |bytes| keima_cluster::probe::log(bytes) > 0;
    store_file = |bytes| keima_cluster::probe::store_file(bytes).is_some_and(|records| records > 0);
    checkpoints = archive::checkpoint;
    ended_jobs = shown::ended;
    kept_numbers = kept;
    certificates = results::certificate;
    series = results::series;
    pictures = |bytes| keima_cli::probe::pictures(&String::from_utf8_lossy(bytes)) > 0;
    credentials = |bytes| keima_cluster::probe::credentials(&String::from_utf8_lossy(bytes));
    config = |bytes| keima_cli::probe::config(&String::from_utf8_lossy(bytes));
    command_line = |bytes| keima_cli::probe::command_line(&String::from_utf8_lossy(bytes));
    requests = store::request;
    typed = texts::typed;
}

fn kept(bytes: &[u8]) -> bool {
    let sizes = keima_cli::probe::kept_sizes(bytes) > 0 || keima_cli::probe::kept_terms(bytes) > 0;
    (keima_count::probe::kept_sweeps(bytes) > 0) | sizes | keima_cli::probe::kept_result(bytes)
}

/// Runs the probe of this name. `None` if there is none.
pub fn run(name: &str, bytes: &[u8]) -> Option<bool> {
    PROBES.iter().find(|(known, _)| *known == name).map(|(_, probe)| probe(bytes))
}
