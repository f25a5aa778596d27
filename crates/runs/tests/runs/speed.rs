//! Nanoseconds per record of writing, reading and merging. Nothing is asserted of times; run it by hand:
//! `cargo test -p keima-runs --release --test runs -- --ignored --nocapture`.

use std::time::Instant;

use keima_runs::{Batch, DiskBudget, LocalRun, Merger, RunHeader, RunKey, RunOptions, RunWriter, run_path};
use tempfile::tempdir;

use super::common::*;

const RUNS: u64 = 16;
const RECORDS: usize = 400_000;

struct Figures {
    name: String,
    records: u64,
    nanos: f64,
}

impl Figures {
    fn print(&self) {
        println!("{:58} {:6.2} ns/record", self.name, self.nanos / self.records as f64);
    }
}

fn timed(name: &str, mut work: impl FnMut() -> u64) {
    // The best of three: the first warms the page cache.
    let best = (0..3)
        .map(|_| {
            let start = Instant::now();
            let records = work();
            Figures { name: name.into(), records, nanos: start.elapsed().as_nanos() as f64 }
        })
        .min_by(|a, b| a.nanos.total_cmp(&b.nanos));
    if let Some(best) = best {
        best.print();
    }
}

/// Keys `0 .. span` go to the runs at random, each to `copies` of them on average.
fn inputs<K: RunKey>(header: &RunHeader, copies: u64) -> Vec<Batch<K>> {
    let mut numbers = Numbers(5);
    let mut batches: Vec<Batch<K>> = (0..RUNS).map(|_| Batch::new()).collect();
    let span = RECORDS as u64 * RUNS / copies;
    for key in 0..span {
        let key = K::from_wide(u128::from(key) * 3 / 2).unwrap_or_default();
        let mut left = copies;
        for (i, batch) in (0..RUNS).zip(&mut batches) {
            // Exactly `copies` of the runs, every choice as likely.
            if numbers.below(RUNS - i) < left {
                left -= 1;
                batch.keys.push(key);
                batch.rows.extend(header.moduli.iter().map(|p| numbers.below(*p)));
            }
        }
    }
    batches
}

fn measure<K: RunKey>(moduli: usize, copies: u64, compress_keys: bool) {
    let header = header::<K>(moduli, 1);
    let root = tempdir().unwrap();
    let inputs = inputs::<K>(&header, copies);
    let total: u64 = inputs.iter().map(|b| b.len() as u64).sum();
    println!("{} lanes, {} bit keys, {copies} copies of each key, zstd {compress_keys}:", moduli, K::BYTES * 8);
    let options = RunOptions { compress_keys, ..RunOptions::default() };
    let mut manifests = Vec::new();
    let mut round = 0;
    timed("  write in batches", || {
        round += 1;
        manifests.clear();
        for (i, batch) in inputs.iter().enumerate() {
            let disk = std::sync::Arc::new(DiskBudget::new(u64::MAX));
            let mut writer =
                RunWriter::create(root.path(), &id(&format!("w{round}/r{i}")), &header, options, &disk).unwrap();
            writer.push_batch(batch).unwrap();
            manifests.extend(writer.finish().unwrap().map(|(manifest, _)| manifest));
        }
        total
    });
    let bytes: u64 = manifests.iter().map(|m| m.bytes).sum();
    println!("  {:.3} bytes/record", bytes as f64 / total as f64);
    let runs: Vec<LocalRun> =
        manifests.iter().map(|m| LocalRun::open(&run_path(root.path(), &m.id).unwrap(), m, &header).unwrap()).collect();
    timed("  read and decode", || {
        let mut batch = Batch::<K>::new();
        let mut seen = 0;
        for run in &runs {
            let mut cursor = cursor::<K>(run, 0, None);
            while cursor.next_batch(&mut batch).unwrap() {
                seen += batch.len() as u64;
            }
        }
        assert_eq!(seen, total);
        seen
    });
    for some in [1, 2, 16] {
        let name = format!("  merge of {some} runs, reading and decoding included");
        timed(&name, || {
            let runs = &runs[..some];
            let read = runs.iter().map(|r| r.manifest().records).sum();
            let mut merger = Merger::<K>::new(runs.iter().map(|r| cursor(r, 0, None)).collect(), &header.moduli, 1);
            let mut batch = Batch::new();
            let mut distinct = 0;
            while merger.next_batch(&mut batch, 4096).unwrap() {
                distinct += batch.len() as u64;
            }
            assert!(distinct <= read);
            read
        });
    }
}

#[test]
#[ignore = "measures; run it by hand in release"]
fn speed() {
    measure::<u64>(4, 1, false);
    measure::<u64>(4, 4, false);
    measure::<u64>(1, 2, false);
    measure::<u64>(4, 2, true);
    measure::<u128>(4, 2, false);
}
