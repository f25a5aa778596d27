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
            assert_eq!(digits, term.len() as u128, "{words}, {n}");
            assert!(first.len() >= 49 && term.starts_with(&first), "{words}, {n}: {first}");
        }
    }
}

/// Numbers of digits beyond 2^63 and 2^64, by another program.
#[test]
fn numbers_of_digits_are_not_cut_to_64_bits() {
    for (words, n, expected) in [
        ("go 5x60", 9_000_000_000_000_000_000, 21_174_648_537_478_615_826),
        ("go 3x60", u64::MAX, 25_928_793_390_645_050_148),
    ] {
        let growth = Growth::of_graph(&graph(words), &|_| {}).unwrap();
        assert_eq!(growth.first_digits(n, 20).map(|(digits, _)| digits), Some(expected), "{words}");
    }
}

/// A series without growth says what is true of it.
#[test]
fn what_does_not_grow_says_why() {
    let not_settled = Some("does not settle to 80 digits within 8000 terms");
    for (name, term, expected) in [
        ("0", &(|_| rug::Integer::new()) as &dyn Fn(u32) -> rug::Integer, Some("all terms from n = 0 on are 0")),
        ("5, 7, 0, 0", &|n| [5, 7].get(n as usize).copied().unwrap_or(0).into(), Some("all terms from n = 2 on are 0")),
        ("n(n-1)/2", &|n| (u64::from(n) * u64::from(n.saturating_sub(1)) / 2).into(), not_settled),
        ("n mod 3", &|n| (n % 3).into(), not_settled),
        ("1000^n + 999^n", &|n| power(1000, n) + power(999, n), not_settled),
        ("-3^n", &|n| -power(3, n), Some("the terms are negative")),
        ("2^n 10^100 + 3^n", &|n| power(2, n) * power(10, 100) + power(3, n), None),
    ] {
        let list: Vec<rug::Integer> = (0..30).map(term).collect();
        let found = find(list.as_slice(), usize::MAX, 1, None, &|_, _| {}).unwrap();
        let lifted = lift::lift(list.as_slice(), &found, 0, 1, &|_| {}).unwrap();
        let error = Growth::of_recurrence(&lifted).err().map(|error| error.to_string());
        assert_eq!(error.is_some(), expected.is_some(), "{name}: {error:?}");
        assert!(error.unwrap_or_default().contains(expected.unwrap_or_default()), "{name}");
    }
    // A hub alone makes no growth: boards of height 1 have no cycle.
    let graph = graph("grid-cycles 1x60");
    assert!(graph.hub().is_some());
    assert_eq!(Growth::of_graph(&graph, &|_| {}).err(), Some(GrowthError::Zero { from: 1 }));
}

fn power(base: u32, n: u32) -> rug::Integer {
    rug::Integer::from(rug::Integer::u_pow_u(base, n))
}

#[test]
fn the_second_eigenvalue_of_height_1_is_known() {
    // x^3 - 3x^2 + x - 1: the others are a pair with the product 1 / 2.769292354238631.
    let growth = Growth::of_graph(&graph("go 1x60"), &|_| {}).unwrap();
    let second = growth.second.unwrap();
    assert!(second.digits.starts_with("0.60091853069168"), "{second:?}");
}
