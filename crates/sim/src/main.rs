//! `keima-sim`: simulates clusters by seed, and says what it found.
//!
//! Exit codes: 0 nothing found; 1 a fault, with its seed on stdout; 2 wrong arguments.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use keima_sim::simulate;

/// Simulates clusters with faults, one for each seed.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Number of seeds.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// This seed only.
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// Print every event.
    #[arg(long)]
    trace: bool,
    /// Go on after a fault.
    #[arg(long)]
    all: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seeds = match arguments.seed {
        Some(seed) => seed..seed + 1,
        None => arguments.from..arguments.from.saturating_add(arguments.seeds),
    };
    let (started, mut counts, mut done, mut bad) = (Instant::now(), BTreeMap::new(), 0, 0);
    for seed in seeds {
        let found = match simulate(seed, arguments.trace) {
            Ok(found) => found,
            Err(error) => {
                eprintln!("seed {seed}: cannot simulate: {error:#}; is there room in /dev/shm?");
                return ExitCode::FAILURE;
            }
        };
        done += 1;
        for (what, count) in found.counts {
            *counts.entry(what).or_insert(0) += count;
        }
        if !found.faults.is_empty() {
            bad += 1;
            for fault in &found.faults {
                println!("seed {seed}: {fault}");
            }
            println!("replay: cargo run -p keima-sim -- --seed {seed} --trace");
            if !arguments.all {
                break;
            }
        }
        if arguments.seed.is_some() {
            println!("seed {seed}: {} events, digest {:016x}, {:?}", found.events, found.digest, found.passed);
        }
    }
    for (what, count) in counts {
        println!("{count:>9} {what}");
    }
    println!("{done} seeds, {bad} with faults, {:.1} s", started.elapsed().as_secs_f64());
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
