//! What is compared with the stream executor at a column end: canonical states, each once, with their sums and
//! fingerprint.

use std::collections::BTreeMap;

use keima_model::{AnyProblem, BlockColumn, End, Key, ProblemRequest, Registry};
use keima_problems::Problems;
use keima_residue::{add_mod, mul_mod, primes_below};
use keima_runs::Tally;

pub(crate) const SALT: u64 = 99;

pub(crate) fn go(height: u32, length: u32) -> AnyProblem {
    let request = ProblemRequest { name: "go".into(), size: format!("{height}x{length}"), options: vec![] };
    Problems.open(&request).unwrap()
}

/// The first of many primes, and the spare.
pub(crate) fn moduli(lanes: usize) -> Vec<u64> {
    let primes: Vec<u64> = primes_below(1 << 60).take(16).collect();
    primes[1..lanes].iter().chain(&primes[..1]).copied().collect()
}

pub(crate) fn empty(lanes: usize) -> Tally {
    Tally { states: 0, sums: vec![0; lanes], fingerprint: vec![0; lanes] }
}

/// A canonical state that stands for `times` single ones, each with this value.
pub(crate) fn add(tally: &mut Tally, key: u128, row: &[u64], times: u64, moduli: &[u64]) {
    let hash = Key::mix(key as u64, SALT) >> 16;
    // Blocks also hold states that are not reached yet.
    tally.states += u64::from(row.iter().any(|&value| value > 0));
    for (lane, (&value, &p)) in row.iter().zip(moduli).enumerate() {
        let value = mul_mod(value, times, p);
        tally.sums[lane] = add_mod(tally.sums[lane], value, p);
        tally.fingerprint[lane] = add_mod(tally.fingerprint[lane], mul_mod(hash, value, p), p);
    }
}

/// For each canonical key at an end of a window the number of states that it stands for.
pub(crate) fn times(column: &dyn BlockColumn, (window, end): (usize, End)) -> BTreeMap<u128, u64> {
    let (mut times, mut keys) = (BTreeMap::new(), Vec::new());
    for block in 0..column.tables(window).signature_of.len() as u32 {
        column.keys(window, end, block, &mut keys);
        for &key in &keys {
            *times.entry(key).or_insert(0) += column.weight(window, block);
        }
    }
    times
}
