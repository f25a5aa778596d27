//! Estimates against exact counts: of every problem, of the border without keys, and the same for any number of threads.

use keima_model::{AnyProblem, Board, ProblemRequest, Registry};
use keima_problems::Problems;
use keima_problems::go::wide::WideGo;
use keima_sample::{Estimate, Huge, Plan, answer, bound, estimate};

const SEED: u64 = 20_260_101;

fn open(words: &str) -> AnyProblem {
    Problems.open(&ProblemRequest::from_words(words).unwrap()).unwrap()
}

/// The estimate must be within four standard errors of the truth, and tell something.
fn check(what: &str, got: Estimate, exact: f64, most_relative_error: f64) {
    let error = got.error.unwrap();
    let off = (got.mean.to_f64() - exact) / error.to_f64().max(exact * 1e-12);
    assert!(off.abs() < 4.0, "seed {SEED}: {what}: {} +- {error}, expected {exact}: {off} errors", got.mean);
    assert!(got.relative_error().unwrap() < most_relative_error, "seed {SEED}: {what}: {} +- {error}", got.mean);
}

/// Runs with one node a stratum of closed tours spread over powers of ten: those rows have only runs that keep 16.
#[test]
fn every_problem_is_estimated_without_bias() {
    let rows = [
        ("go 1x1", 1.0, true),
        ("go 2x2", 57.0, true),
        ("go 4x4", 24_318_165.0, true),
        ("go 5x5", 414_295_148_741.0, true),
        ("hard-squares 6x6", 5_598_861.0, true),
        ("grid-paths 4x4", 184.0, true),
        ("grid-paths 5x5 hamiltonian", 104.0, true),
        ("grid-cycles 4x4", 213.0, true),
        ("grid-cycles 4x4 hamiltonian", 6.0, true),
        ("quoridor-fences 3x3 all", 4715.0, true),
        ("quoridor 3 all", 2400.0, true),
        ("quoridor 4 max-fences=2", 35_200.0, true),
        ("knight 5x5 open", 864.0, true),
        ("knight 5x8 closed", 44_202.0, false),
        ("knight 6x6 closed", 9862.0, false),
        // All boards, balanced or not.
        ("square-free 4", 5006.0, true),
        ("square-free 5", 7120.0, true),
    ];
    for name in Problems::names() {
        assert!(rows.iter().any(|(words, ..)| words.split(' ').next() == Some(name)), "no row for {name}");
    }
    for (words, exact, spreads_little) in rows {
        for (kept, runs) in [(1, 4000), (16, 250)].into_iter().skip(usize::from(!spreads_little)) {
            let got = answer(&open(words), Plan { runs, kept, seed: SEED, threads: 2 }, |_| {});
            check(&format!("{words}, {kept} kept"), got, exact, 0.2);
        }
    }
}

/// The same tree without symmetry and without keys.
#[test]
fn wide_borders_agree_with_keys() {
    for (height, length, exact) in [(2, 2, 57.0), (3, 4, 321_689.0), (4, 4, 24_318_165.0), (1, 9, 6649.0)] {
        let tree = WideGo::new(Board { height, length }).unwrap();
        check("wide", estimate(&tree, Plan { runs: 4000, kept: 1, seed: SEED, threads: 2 }, |_| {}), exact, 0.05);
    }
}

/// With so many nodes a stratum that none is dropped, each run is exact.
#[test]
fn what_keeps_all_nodes_is_exact() {
    let tree = WideGo::new(Board { height: 2, length: 3 }).unwrap();
    let got = estimate(&tree, Plan { runs: 3, kept: 1000, seed: SEED, threads: 1 }, |_| {});
    assert_eq!((got.mean.to_f64(), got.error.map(Huge::to_f64)), (489.0, Some(0.0)));
}

/// The sum over all numbers of fences is larger than the bound of each.
#[test]
fn no_answer_is_above_its_bound() {
    let rows = [
        ("quoridor 2", 28.0),
        ("quoridor 2 max-fences=0", 12.0),
        ("quoridor 3 all", 2400.0),
        ("quoridor 4", 604_222.0),
        ("quoridor 4 max-fences=2", 35_200.0),
        ("quoridor 5 max-fences=2", 292_632.0),
        ("quoridor-fences 1x1", 3.0),
        ("quoridor-fences 1x1 max-fences=0", 1.0),
        ("quoridor-fences 3x3 all", 4715.0),
        ("quoridor-fences 3x3 max-fences=3", 661.0),
        ("go 1x1", 1.0),
        ("grid-cycles 4x4", 213.0),
        ("knight 5x5 open", 864.0),
        ("square-free 4", 5006.0),
    ];
    for (words, exact) in rows {
        let bound = bound(&open(words)).to_f64();
        assert!(exact <= bound * (1.0 + 1e-12), "{words}: {exact}, at most {bound}");
    }
}

/// Nothing is known of the error of a single run, or where no run came to an object.
#[test]
fn the_error_is_told_by_several_runs() {
    for (words, runs, known) in [
        ("go 5x5", 1, false),
        ("go 5x5", 2, true),
        ("go 1x1", 1, false),
        ("go 1x1", 2, true),
        ("knight 3x3 open", 1, false),
        ("knight 3x3 open", 20, false),
    ] {
        let got = answer(&open(words), Plan { runs, kept: 1, seed: SEED, threads: 1 }, |_| {});
        assert_eq!((got.error.is_some(), got.relative_error().is_some()), (known, known), "{words}, {runs}: {got:?}");
    }
}

/// A run with 16 nodes a stratum spreads about a quarter as much as one with a single node.
#[test]
fn more_nodes_a_stratum_spread_less() {
    let tree = WideGo::new(Board { height: 19, length: 19 }).unwrap();
    let spread = |runs: u32, kept| {
        let plan = Plan { runs: runs.into(), kept, seed: SEED, threads: 2 };
        estimate(&tree, plan, |_| {}).relative_error().unwrap() * f64::from(runs).sqrt()
    };
    let (one, many) = (spread(160, 1), spread(20, 16));
    assert!(many < one / 2.0, "seed {SEED}: {many} with 16 nodes a stratum, {one} with one");
}

#[test]
fn threads_do_not_matter_and_seeds_do() {
    let tree = WideGo::new(Board { height: 6, length: 6 }).unwrap();
    let run = |seed, threads| estimate(&tree, Plan { runs: 100, kept: 1, seed, threads }, |_| {});
    assert_eq!(run(1, 1), run(1, 4));
    assert_ne!(run(1, 1).mean, run(2, 1).mean);
}

/// Table 4 of the paper, as far as `most` says. Its figures have an error of their own: a few units of the last digit.
fn check_table_4(most: u32, runs: u64, kept: usize) {
    let table = include_str!("../../../tests/golden/go_sampling_estimates.csv");
    let mut rows = 0;
    for row in table.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let [side, fraction, _] = row.split(',').collect::<Vec<_>>()[..] else { panic!("three fields: {row}") };
        let height: u32 = side.parse().unwrap();
        if height > most {
            continue;
        }
        let tree = WideGo::new(Board { height, length: height }).unwrap();
        let got = estimate(&tree, Plan { runs, kept, seed: SEED, threads: 2 }, |_| {});
        let bound = Huge::power(3.0, (height * height).into());
        let ours = got.mean.divided_by(bound);
        // One unit of the last digit that is printed: 0.0173 has 1e-4, 9e-11 has 1e-11.
        let digits = fraction.split('e').next().unwrap();
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
        let power: i32 = fraction.split_once('e').map_or(0, |(_, power)| power.parse().unwrap());
        let unit = 10_f64.powi(power - decimals);
        let error = got.error.unwrap().divided_by(bound).to_f64();
        let printed: f64 = fraction.parse().unwrap();
        let percent = 100.0 * error / ours.to_f64();
        let text = format!("seed {SEED}: {side}: {ours:.3} +- {percent:.1} %, printed {fraction}");
        eprintln!("{text}");
        assert!((ours.to_f64() - printed).abs() <= unit + 4.0 * error, "{text}");
        rows += 1;
    }
    assert!(rows > 0);
}

#[test]
fn small_boards_of_table_4() {
    check_table_4(19, 200, 1);
}

#[test]
#[ignore = "takes minutes: cargo test --release -p keima-sample -- --ignored --nocapture"]
fn all_of_table_4() {
    check_table_4(99, 40, 32);
}
