//! The engine against simpler counts of the same, and against itself with other settings.

mod common;
#[path = "common/hard_squares.rs"]
mod hard_squares;

use common::{Settings, Sweep, sweep_with};
use hard_squares::HardSquares;
use keima_engine::TaskError;
use keima_model::{AnyProblem, Board, ProblemRequest, Registry};
use keima_problems::Problems;
use keima_residue::{crt, primes_below};
use keima_runs::MAX_GAPS;
use proptest::prelude::*;

fn sweep(problem: &AnyProblem, settings: &Settings) -> Result<Sweep, TaskError> {
    sweep_with(problem, settings, &mut |_| {})
}

fn go(size: &str) -> AnyProblem {
    let request = ProblemRequest { name: "go".into(), size: size.into(), options: vec![] };
    Problems.open(&request).expect("a size that can be counted")
}

fn settings(window: u32, shards: usize, memory_bytes: u64, primes: usize) -> Settings {
    Settings { window, shards, memory_bytes, moduli: primes_below(1 << 60).take(primes).collect() }
}

fn value(found: &Sweep, functional: usize, moduli: &[u64]) -> String {
    let lanes = &found.functionals[&(functional as u32)];
    let pairs: Vec<_> = moduli.iter().copied().zip(lanes.iter().copied()).collect();
    crt(&pairs).expect("coprime moduli").to_string()
}

#[test]
fn legal_go_positions_as_published() {
    for (size, count) in [
        ("1x1", "1"),
        ("1x2", "5"),
        ("2x2", "57"),
        ("3x2", "489"),
        ("3x3", "12675"),
        ("4x4", "24318165"),
        ("4x5", "1840058693"),
        ("5x5", "414295148741"),
        ("6x6", "62567386502084877"),
        ("7x7", "83677847847984287628595"),
    ] {
        let problem = go(size);
        let settings = settings(3, 2, 8 << 20, 3);
        let found = sweep(&problem, &settings).expect(size);
        let answer = problem.info().functionals().len() - 1;
        assert_eq!(value(&found, answer, &settings.moduli), count, "{size}");
    }
}

#[test]
fn hard_squares_by_definition() {
    for (height, length, coefficients) in [(1, 1, 3), (2, 3, 4), (3, 3, 9), (4, 4, 5), (5, 3, 9)] {
        for problem in
            [HardSquares::narrow(height, length, coefficients), HardSquares::wide(height, length, coefficients)]
        {
            let brute = HardSquares { board: Board { height, length }, coefficients }.brute();
            for (window, shards) in [(1, 1), (1, 3), (2, 2), (height, 2)] {
                let settings = settings(window, shards, 8 << 20, 2);
                let found = sweep(&problem, &settings).expect("hard squares");
                let lanes: Vec<u64> = found.functionals[&0].chunks(2).map(|c| c[0]).collect();
                assert_eq!(lanes, brute, "{height}x{length}, window {window}, {shards} shards");
            }
        }
    }
}

/// Where a stage changes the first digits of the keys, each task says which ranges it has left out. That nothing lies there
/// is checked by every sweep: a task reads only the runs that the gaps leave to it.
#[test]
fn tasks_tell_their_gaps() {
    let mut gaps = Vec::new();
    sweep_with(&go("6x6"), &settings(1, 9, 8 << 20, 2), &mut |manifest| gaps.push(manifest.gaps.len())).unwrap();
    let with_some = gaps.iter().filter(|&&gaps| gaps > 0).count();
    assert!(with_some > gaps.len() / 4 && gaps.iter().all(|&gaps| gaps <= MAX_GAPS), "{gaps:?}");
}

#[test]
fn a_vector_larger_than_memory_spills_and_counts_the_same() {
    // Sixteen lanes: the vector of 2^14 states has about 2 MB; a table of a task with 8 MiB holds 1.8 MB.
    let problem = HardSquares::narrow(22, 3, 8);
    let roomy = sweep(&problem, &settings(22, 1, 64 << 20, 2)).expect("in memory");
    let tight = sweep(&problem, &settings(22, 1, 8 << 20, 2)).expect("out of core");
    assert_eq!(roomy.bytes_spilled, 0);
    assert!(tight.bytes_spilled > 0, "the small memory must not have sufficed");
    assert_eq!((roomy.functionals, roomy.columns), (tight.functionals, tight.columns));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn nothing_that_must_not_matter_matters(
        side in 3_u32..8, window in 1_u32..8, shards in 1_usize..12, memory in 8_u64..40, primes in 1_usize..6,
    ) {
        let problem = go(&format!("{side}x{side}"));
        let base = settings(4, 1, 64 << 20, primes);
        let other = settings(window.min(side), shards, memory << 20, primes);
        let expected = sweep(&problem, &base).expect("base");
        let got = sweep(&problem, &other).expect("other");
        prop_assert_eq!(&expected.functionals, &got.functionals);
        prop_assert_eq!(&expected.columns, &got.columns);
        if window > 1 && window < side {
            prop_assert_eq!(&expected.states[1..], &got.states[1..]);
        }
    }
}
