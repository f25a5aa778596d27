//! Growth against the published table, in both ways.

use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;

use super::*;
use crate::graph::Exact;
use crate::recurrence::{find, lift};

/// Tromp, Farnebäck (2016), table 2.
const TABLE: &str = include_str!("../../../../tests/golden/go_recurrences.csv");

fn graph(words: &str) -> Graph {
    Graph::discover(&Problems.open(&ProblemRequest::from_words(words).unwrap()).unwrap()).unwrap()
}

/// The published numbers were computed in floating point: a to 20 digits, of which 16 hold, and the root of lambda in double
/// precision. So they may differ by some units of the 16th digit from the proved ones, and do.
fn check(what: &str, bounds: &Bounds, printed: &str) {
    const LARGEST_DIFFERENCE: f64 = 7e-16;
    let own = bounds.decimal(DIGITS).unwrap().digits;
    assert!(own.len() >= DIGITS as usize, "{what}: {own}");
    let scaled = |text: &str| -> rug::Integer {
        let (whole, fraction) = text.split_once('.').unwrap();
        format!("{whole}{fraction:0<25}").get(..whole.len() + 25).unwrap().parse().unwrap()
    };
    let difference = (scaled(&own) - scaled(printed)).to_f64() / 1e25;
    assert!(difference.abs() < LARGEST_DIFFERENCE, "{what}: {own}, printed {printed}");
}

/// a and the root of lambda of a row of the table.
fn check_height(height: u32) {
    let row = TABLE.lines().find(|line| line.starts_with(&format!("{height},"))).unwrap();
    let fields: Vec<&str> = row.split(',').collect();
    let growth = Growth::of_graph(&graph(&format!("go {height}x60")), &|_| {}).unwrap();
    check(&format!("a of {height}"), &growth.a, fields[3]);
    check(&format!("lambda of {height}"), &growth.lambda.root(height), fields[4]);
}

#[test]
fn growth_of_go_is_the_published_one() {
    (1..=6).for_each(check_height);
}

/// Command: `cargo test --release -p keima-analyse --lib height_7 -- --ignored`
#[test]
#[ignore = "seconds in an optimised build"]
fn growth_of_height_7_is_the_published_one() {
    check_height(7);
}

#[test]
fn both_ways_agree() {
    for words in ["go 1x60", "go 2x60", "go 3x60", "go 4x60", "hard-squares 4x60", "grid-paths 3x60"] {
        let graph = graph(words);
        let found = find(&graph, usize::MAX, 2, None, &|_, _| {}).unwrap();
        let lifted = lift::lift(&graph, &found, 1, 1, &|_| {}).unwrap();
        let root = Growth::of_recurrence(&lifted).unwrap();
        assert_eq!(root.proof, Proof::LargestRoot, "{words}");
        // Paths that have ended, or not yet left, keep the map of grid-paths from being primitive.
        let Ok(perron) = Growth::of_graph(&graph, &|_| {}) else {
            assert!(words.starts_with("grid"), "{words}");
            continue;
        };
        let digits = |bounds: &Bounds| bounds.decimal(DIGITS).unwrap().digits;
        assert_eq!(digits(&root.a), digits(&perron.a), "{words}");
        assert_eq!(digits(&root.lambda), digits(&perron.lambda), "{words}");
    }
}

/// The bound of a from the states holds for all later columns.
#[test]
fn first_digits_of_far_terms_are_those_of_the_exact_count() {
    for words in ["go 1x60", "go 2x60", "hard-squares 4x60"] {
        let graph = graph(words);
        let growth = Growth::of_graph(&graph, &|_| {}).unwrap();
        assert_eq!(growth.first_digits(20, 50), None, "{words}");
        for n in [400, 1000, 3000] {
            let term = Exact::new(&graph).nth(n - 1).unwrap().to_string();
            let (digits, first) = growth.first_digits(n as u64, 50).unwrap();
            assert_eq!(digits, term.len() as u64, "{words}, {n}");
            assert!(first.len() >= 49 && term.starts_with(&first), "{words}, {n}: {first}");
        }
    }
}

#[test]
fn the_second_eigenvalue_of_height_1_is_known() {
    // x^3 - 3x^2 + x - 1: the others are a pair with the product 1 / 2.769292354238631.
    let growth = Growth::of_graph(&graph("go 1x60"), &|_| {}).unwrap();
    let second = growth.second.unwrap();
    assert!(second.digits.starts_with("0.60091853069168"), "{second:?}");
}
