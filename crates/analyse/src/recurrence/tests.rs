//! Orders against the published table, and series that are too short.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;
use rug::Integer;

use super::*;
use crate::graph::{Exact, Graph};

/// The published orders: Tromp, Farnebäck (2016), table 2.
const TABLE: &str = include_str!("../../../../tests/golden/go_recurrences.csv");

fn graph(words: &str) -> Graph {
    Graph::discover(&Problems.open(&ProblemRequest::from_words(words).unwrap()).unwrap()).unwrap()
}

fn both<S: Source + ?Sized>(source: &S) -> (Found, Lifted) {
    let found = find(source, usize::MAX, 2, None, &|_, _| {}).unwrap();
    let lifted = lift::lift(source, &found, 1, 1, &|_| {}).unwrap();
    (found, lifted)
}

#[test]
fn orders_of_go_are_the_published_ones() {
    let rows = TABLE.lines().filter_map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>().try_into().ok());
    let mut seen = 0;
    for [height, _, order, ..] in
        rows.filter(|row: &[String; 5]| matches!(row[0].as_str(), "1" | "2" | "3" | "4" | "5"))
    {
        let graph = graph(&format!("go {height}x60"));
        let (found, lifted) = both(&graph);
        assert_eq!(found.order.to_string(), order, "height {height}");
        assert!(found.is_proved && 10 * found.terms_verified >= found.terms_used, "{found:?}");
        // The lifted recurrence goes on as the exact counts do, beyond all terms that made it.
        let terms = if found.order < 100 { found.terms_used + found.terms_verified + 10 } else { 30 };
        assert_eq!(lifted.terms().take(terms).collect::<Vec<_>>(), Exact::new(&graph).take(terms).collect::<Vec<_>>());
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn the_order_of_height_6_is_the_published_one() {
    let found = find(&graph("go 6x60"), usize::MAX, 2, None, &|_, _| {}).unwrap();
    assert_eq!((found.order, found.is_proved), (791, true));
}

/// A process that is killed again and again: each keeps what it did, and the next one goes on.
struct Kill {
    kept: Mutex<Option<Kept>>,
    found: AtomicUsize,
}

impl Keeper for Kill {
    fn every(&self) -> Duration {
        Duration::ZERO
    }
    fn find(&self, _: [u64; 2]) -> Option<Kept> {
        let kept = self.kept.lock().unwrap().clone();
        self.found.fetch_add(kept.as_ref().map_or(0, |kept| kept.terms.len()), Ordering::Relaxed);
        kept
    }
    fn keep(&self, kept: &Kept) {
        *self.kept.lock().unwrap() = Some(kept.clone());
    }
}

#[test]
fn a_search_goes_on_after_a_kill() {
    let graph = graph("go 5x60");
    let whole = find(&graph, usize::MAX, 1, None, &|_, _| {}).unwrap();
    let keeper = Kill { kept: Mutex::default(), found: AtomicUsize::new(0) };
    // Each goes some terms further.
    for most in [100, 300, 450, usize::MAX] {
        if let Ok(found) = find(&graph, most, 2, Some(&keeper), &|_, _| {}) {
            // How many terms are made beyond those needed depends on the threads.
            assert_eq!((found.order, found.is_proved), (whole.order, true));
            assert_eq!(most, usize::MAX);
        }
    }
    assert!(keeper.found.into_inner() >= 100 + 300 + 400, "what was kept is found");
    // What fits no graph is left alone.
    for kept in [
        Kept { primes: [5, 7], terms: vec![[1, 1]; 100], counts: vec![1; graph.states()] },
        Kept { primes: [268_435_399, 268_435_367], terms: vec![[1, 1]; 100], counts: vec![1; 3] },
        Kept { primes: [268_435_399, 268_435_367], terms: vec![[1, 1]; 100], counts: vec![u64::MAX; graph.states()] },
    ] {
        let keeper = Kill { kept: Mutex::new(Some(kept)), found: AtomicUsize::new(0) };
        assert_eq!(find(&graph, usize::MAX, 1, Some(&keeper), &|_, _| {}).unwrap().order, whole.order);
    }
}

#[test]
fn small_recurrences_are_written_as_known() {
    let (_, lifted) = both(&graph("go 1x60"));
    assert_eq!(lifted.equation(), "L(n) = 3 L(n-1) - L(n-2) + L(n-3)");
    assert_eq!(lifted.characteristic_polynomial(), "x^3 - 3*x^2 + x - 1");
    let (p, q) = lifted.generating_function();
    assert_eq!((p.as_str(), q.as_str()), ("x + 2*x^2 + x^3", "1 - 3*x + x^2 - x^3"));
    assert_eq!(lifted.csv(), "i,coefficient\n1,3\n2,-1\n3,1");
    assert!(lifted.gp().starts_with("P = x + 2*x^2 + x^3;\nQ = 1 - 3*x + x^2 - x^3;\n"));
    assert!(lifted.sympy().contains("P = Poly([1, 2, 1, 0], x)\n"));
}

#[test]
fn lists_of_numbers_are_long_enough_or_say_how_many_are_missing() {
    let graph = graph("go 3x60");
    for (terms, expected) in [
        (42, Ok(19)),
        (60, Ok(19)),
        (41, Err("one of order 19 needs at least 1 more terms (42 in all")),
        (30, Err("order up to 14 ")),
        (1, Err("more terms")),
    ] {
        let list: Vec<Integer> = Exact::new(&graph).take(terms).collect();
        match (find(list.as_slice(), usize::MAX, 2, None, &|_, _| {}), expected) {
            (Ok(found), Ok(order)) => assert_eq!(found.order, order, "{terms}"),
            (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{terms}: {error}"),
            (got, expected) => panic!("{terms}: {got:?}, expected {expected:?}"),
        }
    }
    // A changed digit at the end is no recurrence of order 19 any more.
    let mut list: Vec<Integer> = Exact::new(&graph).take(60).collect();
    list[59] += 1;
    assert!(find(list.as_slice(), usize::MAX, 2, None, &|_, _| {}).is_err());
}

#[test]
fn negative_coefficients_and_terms_are_lifted() {
    // s(n) = -5 s(n-1) + 10^30 s(n-2)
    let big: Integer = "1000000000000000000000000000000".parse().unwrap();
    let mut list = vec![Integer::from(3), Integer::from(-7)];
    while list.len() < 20 {
        let next = Integer::from(-5 * &list[list.len() - 1]) + &big * &list[list.len() - 2];
        list.push(next);
    }
    let (found, lifted) = both(list.as_slice());
    assert_eq!((found.order, lifted.coefficients()), (2, vec![Integer::from(-5), big]));
    assert_eq!(lifted.terms().take(20).collect::<Vec<_>>(), list);
}
