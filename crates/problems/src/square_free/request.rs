//! Reads a user's request for avoid the square.

use std::sync::Arc;

use keima_model::{About, AnyProblem, ProblemError, ProblemRequest};

use super::{MAX_SIDE, SquareFree};
use crate::size;

/// Largest side whose n^2 bits fit a u64.
const MAX_NARROW_SIDE: u32 = 8;

/// The description for `keima problems square-free`.
pub const ABOUT: About = About {
    summary: "avoid the square: boards of x and o without four equal counters at the corners of a square",
    definition: "Colourings of all cells of the n x n board with x and o in which no four equal counters stand at the \
                 corners of a square, of any size, tilted ones too. The count is of all of them. The tables give the \
                 balanced ones (ceil(n^2/2) x), the others, and the numbers by number of x. --list prints the boards \
                 themselves, for sides up to 7; there are at most 7120.",
    size: "N, the side of the board, 1 to 11",
    options: &[],
    known: "Balanced boards for n = 1 to 6: 1, 6, 92, 2094, 2704, 24 (C. Milson, MPMP10 - Avoid the Square). There \
            are none, balanced or not, from n = 7 on: the vector of partial boards grows, then collapses to nothing.",
    examples: &["keima count square-free 6", "keima count square-free 8", "keima count square-free 3 --list"],
};

/// The problem that `request` describes: size `"N"`, no options.
pub fn open(request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
    size::no_options(request)?;
    let side = side(&request.size).map_err(|why| ProblemError::BadSize {
        problem: request.name.clone(),
        got: request.size.clone(),
        why,
    })?;
    Ok(if side <= MAX_NARROW_SIDE {
        AnyProblem::Narrow(Arc::new(SquareFree::<u64>::new(side)))
    } else {
        AnyProblem::Wide(Arc::new(SquareFree::<u128>::new(side)))
    })
}

fn side(text: &str) -> Result<u32, String> {
    match size::side(text) {
        Ok(side) if side > MAX_SIDE => Err(format!("the side may be at most {MAX_SIDE}, it is {side}")),
        Ok(side) => Ok(side),
        Err(why) => Err(format!("{why}; boards are square, and the size is their side, such as 6")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(size: &str, options: &[(&str, &str)]) -> ProblemRequest {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        ProblemRequest { name: "square-free".to_owned(), size: size.to_owned(), options }
    }

    #[test]
    fn keys_are_as_wide_as_the_board_needs() {
        for (size, key_bytes) in [("1", 8), ("8", 8), ("9", 16), ("11", 16)] {
            let problem = open(&request(size, &[])).unwrap();
            assert_eq!((problem.key_bytes(), problem.info().size().as_str()), (key_bytes, size));
            assert!(problem.info().key_bits() <= 8 * key_bytes);
        }
    }

    #[test]
    fn bad_requests_say_what_is_wrong() {
        for (size, options, expected) in [
            ("12", &[][..], "at most 11, it is 12"),
            ("0", &[], "at least 1"),
            ("6x6", &[], "the size is their side, such as 6"),
            ("", &[], "not a whole number"),
            ("6", &[("list", "")], "has no options"),
        ] {
            let error = open(&request(size, options)).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
