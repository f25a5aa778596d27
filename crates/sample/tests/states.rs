//! Estimated numbers of states against exact ones, on all passes of boards that are small enough to count them.

use keima_model::{AnyProblem, ProblemRequest, Registry};
use keima_problems::Problems;
use keima_sample::{Sampling, states_of};

const SEED: u64 = 20_260_101;

fn open(words: &str) -> AnyProblem {
    Problems.open(&ProblemRequest::from_words(words).unwrap()).unwrap()
}

/// The largest number and the sum over all passes are within `factor` of the exact ones, with samples of `kept`.
fn check(words: &str, kept: usize, factor: f64) {
    let problem = open(words);
    let exact = states_of(&problem, usize::MAX, SEED);
    let got = states_of(&problem, kept, SEED);
    assert_eq!(exact.exact, exact.states.len());
    assert!(got.exact < got.states.len(), "{words}: nothing was sampled");
    assert_eq!(got.states[..got.exact], exact.states[..got.exact], "{words}");
    let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let sum = |all: &[f64]| all.iter().sum::<f64>();
    for (what, ratio) in
        [("largest", most(&got.states) / most(&exact.states)), ("sum", sum(&got.states) / sum(&exact.states))]
    {
        println!("{words}, {kept} kept: {what} {ratio:.3}");
        assert!(
            (1.0 / factor..factor).contains(&ratio),
            "seed {SEED}: {words}, {kept} kept: {what} is {ratio} of the exact one"
        );
    }
}

#[test]
fn numbers_of_states_are_near_exact_ones() {
    for (words, kept, factor) in [
        // States never merge: the estimate is unbiased.
        ("square-free 6", 3000, 1.15),
        ("knight 5x8 closed", 5000, 2.0),
        ("quoridor 6 max-fences=2", 3000, 2.0),
        ("go 8x8", 10_000, 2.0),
        ("grid-paths 10x10", 3000, 2.0),
    ] {
        check(words, kept, factor);
    }
}

#[test]
fn problems_that_do_not_know_get_a_forecast() {
    let states = |registry: &dyn Registry, words: &str| {
        let problem = registry.open(&ProblemRequest::from_words(words).unwrap()).unwrap();
        problem.info().forecast().map(|forecast| forecast.states)
    };
    for words in ["knight 5x6 closed", "square-free 5", "quoridor 5 max-fences=3"] {
        let exact = states_of(&open(words), usize::MAX, SEED).states;
        let expected: Vec<u128> = exact.into_iter().map(|states| states as u128).collect();
        assert_eq!((states(&Problems, words), states(&Sampling(Problems), words)), (None, Some(expected)), "{words}");
    }
    let words = "go 6x6";
    assert_eq!(states(&Sampling(Problems), words), states(&Problems, words));
}
