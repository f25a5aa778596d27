//! Terms against the published numbers that problems know, in exact integers and modulo several numbers at once.

use keima_model::{AnyProblem, ProblemRequest, Registry};
use keima_problems::Problems;

use super::*;

fn open(words: &str) -> AnyProblem {
    Problems.open(&ProblemRequest::from_words(words).unwrap()).unwrap()
}

#[test]
fn terms_are_the_published_numbers() {
    for (words, states, terms) in [
        ("go 1x60", 3, "1 5 15 41 113"),
        ("go 2x60", 9, "5 57 489 4125"),
        ("go 5x60", 0, "113 35117 8180343 1840058693 414295148741 93332304864173"),
        ("hard-squares 3x60", 5, "5 17 63 227 827 2999"),
        ("grid-paths 3x60", 0, "1 4 12 38 125 414"),
    ] {
        let graph = Graph::discover(&open(words)).unwrap();
        if states > 0 {
            assert_eq!(graph.states(), states, "{words}");
        }
        let expected: Vec<rug::Integer> = terms.split(' ').map(|term| term.parse().unwrap()).collect();
        assert_eq!(Exact::new(&graph).take(expected.len()).collect::<Vec<_>>(), expected, "{words}");
        let moduli = [1_000_003, 7, (1 << 60) - 93];
        for (term, residues) in Exact::new(&graph).zip(Residues::new(&graph, moduli)).take(40) {
            assert_eq!(moduli.map(|modulus| keima_residue::residue_of(&term, modulus)), residues, "{words}: {term}");
        }
    }
}

#[test]
fn problems_without_a_series_are_refused_with_a_reason() {
    for (words, expected) in [
        ("knight 4x60 closed", "got 1 numbers: closed tours"),
        ("knight 4x60 closed", "grid-cycles, grid-paths and hard-squares"),
        ("quoridor-fences 3x60", "that is no series of numbers"),
        ("grid-cycles 3x60 hamiltonian", "differ from those after the next one, in all of 59 columns"),
        ("square-free 4", "got 18 numbers: Q(4)"),
    ] {
        let error = Graph::discover(&open(words)).unwrap_err().to_string();
        assert!(error.contains(expected), "{words}: {error}");
    }
}

#[test]
fn the_empty_border_of_go_is_a_hub() {
    for height in 1..=5 {
        let hub = Graph::discover(&open(&format!("go {height}x60"))).unwrap().hub().unwrap();
        assert!(hub.into <= 2, "{height}: {hub:?}");
        assert!(hub.out <= 2 * height + 1, "{height}: {hub:?}");
    }
}
