//! Identities of the problems of the catalogue.

use std::collections::BTreeMap;

use keima_model::{ProblemRequest, Registry};
use keima_problems::Problems;

/// Every problem has an identity at every size, however large, and no two have the same.
#[test]
fn no_two_problems_have_the_same_identity() {
    let words = "go 1x1, go 3x4, go 9x9, go 19x19, go 21x10000, knight 6x6 closed, knight 5x8 open, \
                 grid-paths 4x4, grid-paths 4x4 hamiltonian, grid-paths 12x12, grid-cycles 4x4, grid-cycles 12x12, quoridor 3, \
                 quoridor 4 all, quoridor 5 max-fences=2, quoridor-fences 3x3, quoridor-fences 8x8 max-fences=4, \
                 square-free 4, square-free 6, hard-squares 1x1, hard-squares 18x27, hard-squares 27x30";
    let mut seen = BTreeMap::new();
    for words in words.split(", ") {
        let request = ProblemRequest::from_words(words).unwrap();
        let problem = Problems.open(&request).unwrap_or_else(|error| panic!("{words}: {error}"));
        let identity = problem.identity();
        assert_eq!(identity, Problems.open(&request).unwrap().identity(), "{words}: opened twice");
        assert!(identity.len() <= 1000 && identity.is_ascii(), "{identity}");
        let behaviour = identity.split_once("; behaviour ").unwrap().1.to_owned();
        assert_eq!(seen.insert(behaviour, words), None, "{words}");
    }
}
