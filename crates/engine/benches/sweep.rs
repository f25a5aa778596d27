//! Nanoseconds per state-pass of the stream executor on one thread, whole sweeps through the real files.
//!
//!     cargo bench -p keima-engine --bench sweep -- 10x10 1 4 8
//!     PROBLEM='knight closed' PRIME_BITS=60 cargo bench -p keima-engine --bench sweep -- 6x7 2
//!
//! Arguments: a size, then numbers of residues. Environment: `PROBLEM` (go; a name and options), `WINDOW` (4), `SHARDS` (8),
//! `MEMORY_MIB` (256), `PRIME_BITS` (64).

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Settings, sweep_with};
use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let size = arguments.next().unwrap_or_else(|| "8x8".into());
    let mut lanes: Vec<usize> = arguments.filter_map(|a| a.parse().ok()).collect();
    if lanes.is_empty() {
        lanes = vec![1, 4, 8];
    }
    let words = std::env::var("PROBLEM").unwrap_or_else(|_| "go".into());
    let (name, options) = words.split_once(' ').unwrap_or((&words, ""));
    let request = ProblemRequest::from_words(format!("{name} {size} {options}").trim_end()).expect("a problem");
    let problem = Problems.open(&request).expect("a size");
    for lanes in lanes {
        let settings = Settings {
            window: number("WINDOW", 4) as u32,
            shards: number("SHARDS", 8) as usize,
            memory_bytes: number("MEMORY_MIB", 256) << 20,
            moduli: keima_residue::primes_below(1 << number("PRIME_BITS", 64)).take(lanes).collect(),
        };
        let started = Instant::now();
        let mut times = keima_runs::TaskTimes::default();
        let found = sweep_with(&problem, &settings, &mut |m| {
            times.read_nanos += m.times.read_nanos;
            times.map_nanos += m.times.map_nanos;
            times.write_nanos += m.times.write_nanos;
        })
        .expect("a sweep");
        let seconds = started.elapsed().as_secs_f64();
        let passes = found.states.iter().sum::<u64>() as f64;
        let each = |nanos: u64| nanos as f64 / passes;
        println!(
            "{name} {size}, K = {lanes}: {seconds:.2} s, {passes:.3e} state-passes, {:.1} ns each (read {:.1}, map {:.1}, write {:.1}), {:.2} per residue",
            seconds * 1e9 / passes,
            each(times.read_nanos),
            each(times.map_nanos),
            each(times.write_nanos),
            seconds * 1e9 / passes / lanes as f64,
        );
    }
}
