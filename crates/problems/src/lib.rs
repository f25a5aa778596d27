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
mod power;
pub mod quoridor;
pub mod quoridor_fences;
mod size;
pub mod square_free;
mod word;

use keima_model::{About, AnyProblem, ProblemError, ProblemRequest, Registry, did_you_mean};

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

/// Opens problems on the turned board where the count is the same there: columns run along the longer side. Others open as
/// they are. For a second count of one number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turned;

impl Turned {
    /// The problem on its turned board. `None` where there is none that can be counted, or the board is square.
    pub fn problem(request: &ProblemRequest) -> Option<AnyProblem> {
        match request.name.as_str() {
            "go" => go::turned(request),
            "hard-squares" => hard_squares::turned(request),
            "knight" => knight::turned(request),
            _ => None,
        }
    }
}

impl Registry for Turned {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        Self::problem(request).map_or_else(|| Problems.open(request), Ok)
    }
}

impl Registry for Problems {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        match PROBLEMS.iter().find(|(name, ..)| *name == request.name) {
            Some((_, open, about)) => open(request).map_err(|error| with_hint(error, about)),
            None => Err(ProblemError::UnknownProblem {
                got: request.name.clone(),
                known: Self::names().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

/// Adds to the error of an unknown option the known one that it may stand for.
fn with_hint(error: ProblemError, about: &About) -> ProblemError {
    let known = || about.options.iter().map(|(name, ..)| *name);
    match error {
        ProblemError::BadOption { problem, option, got, why } if known().all(|name| name != option) => {
            let why = why + &did_you_mean(&option, known());
            ProblemError::BadOption { problem, option, got, why }
        }
        other => other,
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

    #[test]
    fn mistyped_names_bring_a_question() {
        for (words, expected) in [
            ("hardsquares 8x8", "there is no problem called \"hardsquares\" (did you mean hard-squares?); known"),
            (
                "grid-cycles 6x6 hamiltonain",
                "option hamiltonain: grid-cycles has no such option; it has hamiltonian (did you mean hamiltonian?)",
            ),
            (
                "quoridor 3x3 maxfences=2",
                "option maxfences=\"2\": quoridor has the options max-fences and all (did you mean max-fences?)",
            ),
            ("quoridor 3x3 walls=2", "option walls=\"2\": quoridor has the options max-fences and all"),
            (
                "knight 6x6 close",
                "option close: knight has no such option; it has open, closed, from and to (did you mean closed?)",
            ),
            ("go 9x9 ko", "option ko: go has no options; leave it out"),
        ] {
            let error = Problems.open(&ProblemRequest::from_words(words).unwrap()).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(expected), "{words}: {error}");
            assert_eq!(expected.contains("mean"), error.contains("mean"), "{words}: {error}");
        }
    }
}
