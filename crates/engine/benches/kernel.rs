//! The inner loops of both executors, each alone: `cargo bench -p keima-engine --bench kernel`.
//!
//! ```text
//!   forward, backward   a vector of 9x9 through one column by blocks, one thread: items are state-passes
//!   stream              a whole sweep of 7x7 by the stream executor, through its files: items are state-passes
//! ```
//!
//! By number of residues carried at once. A bench fails on no time; `scripts/instructions` counts instructions.

#[path = "../tests/common/mod.rs"]
mod common;

use divan::Bencher;
use divan::counter::ItemsCount;
use keima_engine::block::{Moduli, Rows, Sweep};
use keima_model::{BlockColumn, BlockProblem, Board, Direction, Directions, End, ProblemRequest, Registry, Window};
use keima_problems::Problems;
use keima_problems::go::Go;
use keima_residue::primes_below;

use common::{Settings, sweep_with};

fn main() {
    divan::main();
}

/// The column of nine cells in two windows.
fn column() -> Box<dyn BlockColumn> {
    let windows = [Window { first: 0, len: 5 }, Window { first: 5, len: 4 }];
    Go::<u64>::new("9x9".into(), Board { height: 9, length: 9 })
        .column(&windows, Directions::Both)
        .expect("windows that fit")
}

/// One column, forward or transposed, of a full vector.
fn through<const K: usize>(bencher: Bencher, direction: Direction) {
    let column = column();
    let column = column.as_ref();
    let windows = column.windows().len();
    let primes: Vec<u64> = primes_below(1 << 60).take(K).collect();
    let moduli = Moduli::new(<[u64; K]>::try_from(primes).expect("enough primes")).expect("primes below 2^60");
    let mut sweep = Sweep::new(column, moduli, 1).expect("memory");
    let states = |window: usize| column.tables(window).states.iter().copied();
    let most = (0..windows).flat_map(states).max().unwrap_or(0) as usize;
    let passes: u64 = (0..windows).flat_map(|window| states(window).rev().skip(1)).sum();
    let (mut now, mut next) = (Rows::<K>::zeroed(most).expect("memory"), Rows::<K>::zeroed(most).expect("memory"));
    for position in column.start(windows - 1, End::Last) {
        now[position as usize] = [1; K];
    }
    let mut once = move || {
        for window in 0..windows {
            let window = if direction == Direction::Forward { window } else { windows - 1 - window };
            sweep.run(direction, window, &now, &mut next, None).expect("mass balance");
            std::mem::swap(&mut now, &mut next);
        }
    };
    // A vector fills up in its first column.
    once();
    bencher.counter(ItemsCount::new(passes)).bench_local(once);
}

#[divan::bench(consts = [1, 2, 4, 8], sample_count = 50, max_time = 2)]
fn forward<const K: usize>(bencher: Bencher) {
    through::<K>(bencher, Direction::Forward);
}

#[divan::bench(consts = [1, 2, 4, 8], sample_count = 50, max_time = 2)]
fn backward<const K: usize>(bencher: Bencher) {
    through::<K>(bencher, Direction::Transposed);
}

#[divan::bench(args = [1, 4, 8], sample_count = 20, max_time = 3)]
fn stream(bencher: Bencher, residues: usize) {
    let request = ProblemRequest { name: "go".into(), size: "7x7".into(), options: vec![] };
    let problem = Problems.open(&request).expect("a size");
    let settings = Settings {
        window: 4,
        shards: 2,
        memory_bytes: 64 << 20,
        moduli: primes_below(1 << 64).take(residues).collect(),
    };
    let sweep = || sweep_with(&problem, &settings, &mut |_| {}).expect("a sweep");
    let passes: u64 = sweep().states.iter().sum();
    bencher.counter(ItemsCount::new(passes)).bench_local(sweep);
}
