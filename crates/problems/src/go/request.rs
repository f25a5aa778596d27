//! Reads a user's request for a Go count.

use std::sync::Arc;

use keima_model::{About, AnyProblem, ProblemError, ProblemRequest};

use super::Go;
use crate::size;

/// Most points of the smaller side. The widest keys, of 5m-1 bits, would allow 25, but no disks hold the states of 21.
pub const MAX_HEIGHT: u32 = 21;
/// Most points of the larger side.
pub const MAX_LENGTH: u32 = 10_000;
/// Largest height whose keys of 5m-1 bits fit a u64.
const MAX_NARROW_HEIGHT: u32 = 13;

/// The description for `keima problems go`.
pub const ABOUT: About = About {
    summary: "legal Go positions",
    definition: "Colourings of the points of an m x n board with empty, black and white in which every string (connected \
                 stones of one colour) has an adjacent empty point: L(m,n). Positions, not games: the side to move and \
                 earlier moves do not matter.",
    size: "MxN in either order; the smaller side 1 to 21, the larger up to 10000",
    options: &[],
    known: "L(n,n) for n up to 19 and L(n,n+1): J. Tromp and G. Farneb\u{e4}ck, Combinatorics of Go (2016). L(m,k) for \
            all k up to n comes from the same run (--series).",
    examples: &["keima count go 9x9", "keima count go 9x13 --series", "keima submit go 13x13"],
};

/// The problem that `request` describes: size `"MxN"` in either order, no options.
pub fn open(request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
    size::no_options(request)?;
    let board = size::board(request, MAX_HEIGHT, MAX_LENGTH)?;
    let size = request.size.clone();
    Ok(if board.height <= MAX_NARROW_HEIGHT {
        AnyProblem::Narrow(Arc::new(Go::<u64>::new(size, board)))
    } else {
        AnyProblem::Wide(Arc::new(Go::<u128>::new(size, board)))
    })
}

/// The same number on the turned board; `None` for a square board, or one that would be too high.
pub(crate) fn turned(request: &ProblemRequest) -> Option<AnyProblem> {
    let board = size::turned(request, MAX_HEIGHT, MAX_LENGTH)?;
    let size = request.size.clone();
    Some(if board.height <= MAX_NARROW_HEIGHT {
        AnyProblem::Narrow(Arc::new(Go::<u64>::new(size, board)))
    } else {
        AnyProblem::Wide(Arc::new(Go::<u128>::new(size, board)))
    })
}

#[cfg(test)]
mod tests {
    use keima_model::Board;

    use super::*;

    fn request(size: &str) -> ProblemRequest {
        ProblemRequest { name: "go".to_owned(), size: size.to_owned(), options: Vec::new() }
    }

    #[test]
    fn the_smaller_side_becomes_the_border() {
        for (size, height, length, key_bytes) in [
            ("9x9", 9, 9, 8),
            ("5x9", 5, 9, 8),
            ("9x5", 5, 9, 8),
            ("1X1", 1, 1, 8),
            ("10000x1", 1, 10_000, 8),
            ("13x14", 13, 14, 8),
            ("14x14", 14, 14, 16),
            ("21x21", 21, 21, 16),
        ] {
            let problem = open(&request(size)).unwrap();
            assert_eq!(problem.info().board(), Board { height, length }, "{size}");
            assert_eq!(problem.key_bytes(), key_bytes, "{size}");
            assert_eq!(problem.info().size(), size);
            assert!(problem.info().key_bits() <= 8 * key_bytes);
        }
    }

    #[test]
    fn bad_sizes_say_what_is_wrong() {
        for (size, expected) in [
            ("0x5", "at least 1"),
            ("5x0", "at least 1"),
            ("22x22", "at most 21, it is 22"),
            ("5x10001", "at most 10000, it is 10001"),
            ("99999999999x5", "at most 10000"),
            ("9", "say 9x9"),
            ("nine", "such as 9x9"),
            ("", "such as 9x9"),
            ("-3x5", "\"-3\" is not a whole number"),
            ("+3x5", "\"+3\" is not a whole number"),
            ("3x5x7", "\"5x7\" is not a whole number"),
            ("x", "\"\" is not a whole number"),
        ] {
            let error = open(&request(size)).map(|_| ()).unwrap_err();
            assert!(matches!(&error, ProblemError::BadSize { got, .. } if got == size), "{error:?}");
            assert!(error.to_string().contains(expected), "{size}: {error}");
        }
    }

    #[test]
    fn options_are_refused() {
        let options = vec![("suicide".to_owned(), "yes".to_owned())];
        let error = open(&ProblemRequest { options, ..request("9x9") }).map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "go: option suicide=\"yes\": go has no options; leave it out");
    }
}
