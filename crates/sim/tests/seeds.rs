//! Some seeds of the simulator, and what makes a seed worth something: it can be replayed.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use keima_sim::simulate;

/// Seeds of this test. `KEIMA_SIM_SEEDS=1000` takes more, `KEIMA_SIM_FROM` another first one.
const SEEDS: u64 = 200;
/// Seeds at a time: each is one thread.
const AT_A_TIME: usize = 2;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Things that must have happened somewhere, or the test is worth little.
const WANTED: &[&str] = &[
    "all disks lost",
    "archive away",
    "byte flipped",
    "clock jumps",
    "died at a change of a file",
    "disk capped",
    "disk copied",
    "disk full",
    "disk lost",
    "disk moved",
    "disk rolled back",
    "change hung",
    "everything lost",
    "job resumed from the archive",
    "lanes shared",
    "links cut",
    "links cut one way",
    "message lost",
    "message twice",
    "object damaged",
    "object lost",
    "power cut",
    "process killed",
    "run cut short",
    "slow disk",
    "time of day set",
    "worker slept",
    "worker stopped",
    "worker's clock jumps",
];

#[test]
fn clusters_count_right_whatever_happens() {
    let (from, seeds) = (from_environment("KEIMA_SIM_FROM", 0), from_environment("KEIMA_SIM_SEEDS", SEEDS));
    let next = AtomicU64::new(from);
    let counts: Mutex<BTreeMap<&str, u64>> = Mutex::default();
    let bad: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + seeds {
                        return;
                    }
                    let found = simulate(seed, false).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
                    let mut counts = counts.lock().unwrap();
                    for (what, count) in found.counts {
                        *counts.entry(what).or_default() += count;
                    }
                    let mut bad = bad.lock().unwrap();
                    bad.extend(found.faults.iter().map(|fault| {
                        format!("seed {seed}: {fault}\n  replay: cargo run -p keima-sim -- --seed {seed} --trace")
                    }));
                }
            });
        }
    });
    let (counts, bad) = (counts.into_inner().unwrap(), bad.into_inner().unwrap());
    println!("{seeds} seeds from {from}: {counts:?}");
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    if seeds >= SEEDS {
        let missing: Vec<_> = WANTED.iter().filter(|what| !counts.contains_key(*what)).collect();
        assert!(missing.is_empty(), "never happened: {missing:?}");
    }
}

/// Twice the same seed: the same events, to the last one.
#[test]
fn a_seed_gives_the_same_events_again() {
    for seed in [1, 2, 3, 5, 8] {
        let (first, second) = (simulate(seed, false).unwrap(), simulate(seed, false).unwrap());
        assert_eq!(first, second, "seed {seed}");
        assert!(first.events > 100, "seed {seed}: {} events", first.events);
    }
    assert_ne!(simulate(1, false).unwrap().digest, simulate(2, false).unwrap().digest);
}
