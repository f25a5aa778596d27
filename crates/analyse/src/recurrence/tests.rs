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
            let all = |found: &Found| (found.order, found.terms_verified, found.is_proved);
            assert_eq!(all(&found), all(&whole));
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

/// Command: `cargo test --release -p keima-analyse --lib height_7 -- --ignored`
#[test]
#[ignore = "seconds in an optimised build"]
fn order_and_classes_of_height_7_are_the_published_ones() {
    let row: Vec<&str> = TABLE.lines().find(|line| line.starts_with("7,")).unwrap().split(',').collect();
    let graph = graph("go 7x60");
    let found = find(&graph, usize::MAX, 2, None, &|_, _| {}).unwrap();
    assert_eq!((found.order.to_string().as_str(), found.is_proved), (row[2], true));
    let classes: usize = row[1].parse().unwrap();
    // The columns until the classes hold add one each.
    let bound = graph.order_bound([268_435_399, 268_435_367]);
    assert!((classes..=classes + graph.settled_after()).contains(&bound), "{bound}, {classes} classes");
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

/// What is printed does not depend on the number of threads, nor on which is the fastest.
#[test]
fn equal_searches_find_equal_numbers() {
    let graph = graph("go 3x60");
    let numbers = |threads: usize| {
        let found = find(&graph, usize::MAX, threads, None, &|_, _| {}).unwrap();
        let lifted = lift::lift(&graph, &found, 1, threads, &|_| {}).unwrap();
        (found.order, found.terms_used, found.terms_verified, lifted)
    };
    let expected = numbers(1);
    for threads in [1, 1, 2, 3, 8] {
        assert_eq!(numbers(threads), expected, "{threads} threads");
    }
}

#[test]
fn equations_say_from_where_on_they_hold() {
    for (terms, expected, from) in [
        (&[0, 0, 0, 0, 0, 0][..], "L(n) = 0", 1),
        (&[5, 0, 0, 0, 0, 0], "L(n) = 0, n >= 2", 2),
        (&[1, 1, 2, 4, 8, 16, 32, 64], "L(n) = 2 L(n-1), n >= 3", 3),
        (&[2, 4, 8, 16, 32, 64], "L(n) = 2 L(n-1)", 2),
        (&[1, 1, 2, 3, 5, 8, 13, 21], "L(n) = L(n-1) + L(n-2)", 3),
    ] {
        let list: Vec<Integer> = terms.iter().map(|&term: &i32| term.into()).collect();
        let (_, lifted) = both(list.as_slice());
        assert_eq!((lifted.equation().as_str(), lifted.holds_from()), (expected, from), "{terms:?}");
    }
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
    // A changed term is no recurrence of order 19 any more. It is told where enough terms before verify one; where enough
    // come after it, the longest one takes it in.
    for (changed, terms, at, order) in [
        (59, 60, Some(59), None),
        (50, 60, Some(50), None),
        (42, 60, Some(42), None),
        (41, 60, None, None),
        (5, 60, None, Some(25)),
        (6, 60, None, Some(26)),
        (11, 60, None, None),
        (50, 160, Some(50), Some(70)),
    ] {
        let mut list: Vec<Integer> = Exact::new(&graph).take(terms).collect();
        list[changed] += 1;
        let (broken, found) = match find(list.as_slice(), usize::MAX, 2, None, &|_, _| {}) {
            Ok(found) => (found.broken, Some(found.order)),
            Err(error) => (error.broken, None),
        };
        assert_eq!((broken, found), (at.map(|at| Broken { order: 19, at }), order), "{changed} of {terms}");
    }
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
    assert_eq!((found.order, lifted.coefficients()), (2, vec![(-5).into(), big.into()]));
    assert_eq!(lifted.terms().take(20).collect::<Vec<_>>(), list);
}

#[test]
fn fractions_are_reconstructed_with_as_many_primes_as_their_size_needs() {
    // The first terms, each recurrence c1 to cr, the number of terms; each such list stays whole so long.
    for (first, coefficients, terms, equation, most_primes) in [
        (vec!["64"], vec!["1/2"], 7, "L(n) = 1/2 L(n-1)", 1),
        (vec!["59049"], vec!["-2/3"], 11, "L(n) = -2/3 L(n-1)", 1),
        (vec!["46656", "46656"], vec!["5/6", "-1/6"], 7, "L(n) = 5/6 L(n-1) - 1/6 L(n-2)", 4),
        (vec!["1024", "256"], vec!["0", "1/4"], 10, "L(n) = 1/4 L(n-2)", 4),
        (vec!["1048576", "7"], vec!["1", "1/1"], 12, "L(n) = L(n-1) + L(n-2)", 1),
    ] {
        let mut list: Vec<rug::Rational> = first.iter().map(|text| text.parse().unwrap()).collect();
        let coefficients: Vec<rug::Rational> = coefficients.iter().map(|text| text.parse().unwrap()).collect();
        while list.len() < terms {
            let next = coefficients.iter().zip(list.iter().rev()).map(|(c, term)| rug::Rational::from(c * term)).sum();
            list.push(next);
        }
        let whole: Vec<Integer> =
            list.iter().filter(|term| term.is_integer()).map(|term| term.numer().clone()).collect();
        assert_eq!(whole.len(), terms, "{equation}: {list:?}");
        let (_, lifted) = both(whole.as_slice());
        assert_eq!((lifted.equation().as_str(), &lifted.coefficients()), (equation, &coefficients));
        assert!(lifted.primes_used <= most_primes, "{equation}: {} primes", lifted.primes_used);
        assert_eq!(lifted.terms().take(terms).collect::<Vec<_>>(), whole, "{equation}");
        assert_eq!(lifted.first_fraction().is_some(), equation.contains('/'));
    }
}

#[test]
fn terms_that_share_the_first_primes_are_refused() {
    let shared = Integer::from(268_435_399_u64) * 268_435_367_u64;
    let list: Vec<Integer> = (1..=20_u32).map(|n| Integer::from(n * n) * &shared).collect();
    let found = find(list.as_slice(), usize::MAX, 2, None, &|_, _| {}).unwrap();
    let error = lift::lift(list.as_slice(), &found, 1, 1, &|_| {}).unwrap_err();
    assert_eq!(found.order, 0);
    assert!(error.to_string().contains("but another one modulo 115292150460684"), "{error}");
}
