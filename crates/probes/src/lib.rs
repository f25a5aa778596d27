//! Probes: each feeds bytes to something that reads bytes from outside. Fuzzing runs them, and a test runs them on the
//! inputs in `fuzz/seeds`.
//!
//! A probe takes any bytes. It must not panic, hang, or take more memory than the bytes justify. It returns whether they
//! were accepted, so that a test sees that sound bytes are.

#![forbid(unsafe_code)]

mod runs;
pub mod seeds;
mod store;

/// A probe: its name, and what it does with bytes.
pub type Probe = (&'static str, fn(&[u8]) -> bool);

/// All probes. Each has a target of the same name in `fuzz/fuzz_targets` and inputs in `fuzz/seeds`.
pub const PROBES: [Probe; 9] = [
    ("run_file", runs::file),
    ("run_blocks", runs::blocks),
    ("run_intake", runs::intake),
    ("messages", keima_cluster::probe::message),
    ("records", store::records),
    ("store_log", |bytes| keima_cluster::probe::log(bytes) > 0),
    ("kept_numbers", kept_numbers),
    ("requests", store::request),
    ("typed", |bytes| keima_cli::probe::typed(&String::from_utf8_lossy(bytes))),
];

fn kept_numbers(bytes: &[u8]) -> bool {
    (keima_count::probe::kept_sweeps(bytes) > 0) | (keima_cli::probe::kept_sizes(bytes) > 0)
}

/// Runs the probe of this name. `None` if there is none.
pub fn run(name: &str, bytes: &[u8]) -> Option<bool> {
    PROBES.iter().find(|(known, _)| *known == name).map(|(_, probe)| probe(bytes))
}
