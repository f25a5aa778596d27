//! A measurement of the hot path, not a test.

use keima_model::{Layout, Problem, Successors, Window};
use keima_problems::go::state::Word;

use crate::memory::go;

/// Prints ns per state; run with `cargo test --release -p keima-problems -- --ignored --nocapture hot_path`.
#[test]
#[ignore = "a measurement, for release builds"]
fn hot_path() {
    fn measure<K: Word>(height: u32, columns: u32, limit: usize) {
        let problem = go::<K>(height, 20);
        let window = Window::cut(height, 6)[1];
        // Some states of a late pass, without counts.
        let mut keys: Vec<K> = vec![K::ZERO];
        let whole = Window { first: 0, len: height };
        let mut out = Successors::default();
        for pass in 0..=columns * height + window.first {
            out.clear();
            problem.expand(pass, whole, &keys, &mut out);
            keys.clone_from(&out.keys);
            keys.sort_unstable();
            keys.dedup();
            // A sample that is spread out, in stretches as a shard has them.
            let stride = keys.len().div_ceil(limit).max(1);
            keys = keys.chunks(64).step_by(stride).flatten().copied().collect();
        }
        let pass = columns * height + window.first + 1;
        problem.enter(Layout::Canonical, window, &mut keys);
        let clock = |name: &str, work: &mut dyn FnMut()| {
            let best = (0..5).map(|_| {
                let start = std::time::Instant::now();
                (0..10).for_each(|_| work());
                start.elapsed().as_secs_f64() * 1e8 / keys.len() as f64
            });
            let best = best.fold(f64::INFINITY, f64::min);
            println!("m={height} {name}: {best:.1} ns a state, {} states, {}-bit keys", keys.len(), K::BITS);
        };
        for (name, sorted) in [("expand, in the stage's order", true), ("expand, shuffled", false)] {
            let mut keys = keys.clone();
            if sorted {
                problem.leave(window, Layout::Stage(window), &mut keys);
                keys.sort_unstable();
                problem.enter(Layout::Stage(window), window, &mut keys);
            } else {
                keys.sort_unstable_by_key(|key| key.mix(7));
            }
            clock(name, &mut || {
                for batch in keys.chunks(2048) {
                    out.clear();
                    problem.expand(pass, window, batch, &mut out);
                }
            });
        }
        let mut scratch = keys.clone();
        clock("leave", &mut || {
            for (to, from) in scratch.chunks_mut(2048).zip(keys.chunks(2048)) {
                to.copy_from_slice(from);
                problem.leave(window, Layout::Stage(window), to);
            }
        });
        let stage_keys = scratch.clone();
        clock("enter", &mut || {
            for (to, from) in scratch.chunks_mut(2048).zip(stage_keys.chunks(2048)) {
                to.copy_from_slice(from);
                problem.enter(Layout::Stage(window), window, to);
            }
        });
    }
    measure::<u64>(9, 8, 300_000);
    measure::<u64>(12, 6, 300_000);
    measure::<u128>(12, 6, 300_000);
    measure::<u64>(13, 6, 300_000);
    measure::<u128>(16, 6, 300_000);
    measure::<u128>(19, 6, 300_000);
}
