//! The counting problems. A problem is one folder and one line in `PROBLEMS`.
//!
//! Each problem climbs a ladder: an obvious brute force, a border-state recurrence in a plain map, and the same
//! recurrence as a [`keima_model::Problem`] for the engine. Tests check each rung against the one below. Nothing here knows
//! files or networks; threads only build large tables.

#![forbid(unsafe_code)]

mod byte_table;
mod choose;
pub mod go;
pub mod grid;
pub mod hard_squares;
pub mod knight;
mod per_window;
pub mod quoridor;
pub mod quoridor_fences;
mod size;
pub mod square_free;
mod word;

use keima_model::{About, AnyProblem, ProblemError, ProblemRequest, Registry};

/// Opens one problem.
type Open = fn(&ProblemRequest) -> Result<AnyProblem, ProblemError>;

/// All problems: name, function that opens it, and description.
const PROBLEMS: &[(&str, Open, &About)] = &[
    ("go", go::open, &go::ABOUT),
    ("grid-cycles", grid::open_cycles, &grid::CYCLES),
    ("grid-paths", grid::open_paths, &grid::PATHS),
    ("hard-squares", hard_squares::open, &hard_squares::ABOUT),
    ("knight", knight::open, &knight::ABOUT),
    ("quoridor", quoridor::open, &quoridor::ABOUT),
    ("quoridor-fences", quoridor_fences::open, &quoridor_fences::ABOUT),
    ("square-free", square_free::open, &square_free::ABOUT),
];

/// The problems of this crate by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Problems;

impl Problems {
    /// Names that [`Registry::open`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROBLEMS.iter().map(|(name, ..)| *name)
    }

    /// Description of the problem of this name.
    pub fn about(name: &str) -> Option<&'static About> {
        PROBLEMS.iter().find(|(known, ..)| *known == name).map(|(_, _, about)| *about)
    }
}

impl Registry for Problems {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        match PROBLEMS.iter().find(|(name, ..)| *name == request.name) {
            Some((_, open, _)) => open(request),
            None => Err(ProblemError::UnknownProblem {
                got: request.name.clone(),
                known: Self::names().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &str) -> ProblemRequest {
        ProblemRequest { name: name.to_owned(), size: "5x9".to_owned(), options: Vec::new() }
    }

    #[test]
    fn problems_are_found_by_name() {
        let problem = Problems.open(&request("go")).unwrap();
        assert_eq!((problem.info().name(), problem.info().size()), ("go", "5x9".to_owned()));
        let error = Problems.open(&request("chess")).map(|_| ()).unwrap_err();
        assert!(error.to_string().starts_with("there is no problem called \"chess\"; known problems: go"), "{error}");
    }
}
