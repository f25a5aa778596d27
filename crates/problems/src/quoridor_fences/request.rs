//! Reads a user's request for Quoridor fences.

use std::sync::Arc;

use keima_model::{About, AnyProblem, ProblemError, ProblemRequest};

use super::QuoridorFences;
use crate::size;

/// Most intersections of the smaller side: 3 * 2^29 states.
const MAX_HEIGHT: u32 = 30;
/// Most intersections of the larger side.
const MAX_LENGTH: u32 = 1_000;
/// Fences of the game, and the default limit.
const FENCES: u32 = 20;

/// The description for `keima problems quoridor-fences`.
pub const ABOUT: About = About {
    summary: "placements of Quoridor fences, by their number",
    definition: "Ways to put fences on w x h intersections: each is empty, has a horizontal (H) or a vertical (V) \
                 fence; no two H are neighbours in a row, no two V in a column (they would overlap; two on one \
                 intersection would cross). The game's board of 9x9 squares has 8x8 intersections and 20 fences. \
                 Pawns, and whether they can still reach their goals, do not matter here. The count is the sum over \
                 the table by_fences.",
    size: "WxH intersections in either order (8x8 is the game's board of 9x9 squares); the smaller side 1 to 30, the \
           larger up to 1000",
    options: &[
        ("max-fences", "K", "count placements of 0 to K fences [default: 20]"),
        ("all", "", "count placements of any number of fences"),
    ],
    known: "8x8 with 0 to 20 fences: telemath, How many ways can you place fences; sum 1375968129062134174771. \
            P. J. C. Mertens, A Quoridor-playing Agent (2006), estimates 6.1582e38 for the same: the sum over k = \
            0..20 of the products 128 * 124 * 120 * ... of k factors, since each fence takes 4 of the 128 ways away. \
            That is 4.5e17 times too large: it counts each placement of k fences in all k! orders. With each term \
            divided by k! it gives 3.89e20, below the exact 1.376e21: fences at the rim take fewer than 4 ways away, \
            and it counts ways that two fences take away twice. (As typeset, the formula gives 2.2498e35; with one \
            factor more in each term 2.9608e40.)",
    examples: &[
        "keima count quoridor-fences 8x8",
        "keima count quoridor-fences 8x8 --max-fences 3",
        "keima count quoridor-fences 12x12 --all",
    ],
};

/// The problem that `request` describes: size `"WxH"` in either order, options `max-fences` or `all`.
pub fn open(request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
    let bad = |(option, got): &(String, String), why: String| ProblemError::BadOption {
        problem: request.name.clone(),
        option: option.clone(),
        got: got.clone(),
        why,
    };
    let mut limit = None;
    for option in &request.options {
        let asked = match (option.0.as_str(), option.1.as_str()) {
            ("all", "") => u32::MAX,
            ("all", _) => return Err(bad(option, "it takes no value".to_owned())),
            ("max-fences", "0") => 0,
            ("max-fences", text) => size::side(text)
                .map_err(|why| bad(option, format!("{why}; give a number of fences, such as {FENCES}, or 0")))?,
            _ => return Err(bad(option, "quoridor-fences has the options max-fences and all".to_owned())),
        };
        if limit.replace(asked).is_some() {
            return Err(bad(option, "give max-fences or all, once".to_owned()));
        }
    }
    let board = size::board(request, MAX_HEIGHT, MAX_LENGTH)?;
    Ok(AnyProblem::Narrow(Arc::new(QuoridorFences::new(request.size.clone(), board, limit.unwrap_or(FENCES)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(size: &str, options: &[(&str, &str)]) -> ProblemRequest {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        ProblemRequest { name: "quoridor-fences".to_owned(), size: size.to_owned(), options }
    }

    #[test]
    fn the_limit_is_20_unless_told() {
        for (size, options, coefficients) in [
            ("8x8", &[][..], 21),
            ("8x8", &[("max-fences", "3")], 4),
            ("8x8", &[("max-fences", "0")], 1),
            ("8x8", &[("max-fences", "99999999999")], 65),
            ("8x8", &[("all", "")], 65),
            ("3x4", &[], 13),
            ("30x1000", &[], 21),
        ] {
            let problem = open(&request(size, options)).unwrap();
            assert_eq!(problem.info().coefficients(), coefficients, "{size} {options:?}");
        }
        // The same numbers, the same problem.
        let identity = |size, options| open(&request(size, options)).unwrap().info().identity();
        assert_eq!(identity("4x3", &[]), identity("3x4", &[("all", "")]));
        assert_ne!(identity("8x8", &[]), identity("8x8", &[("all", "")]));
    }

    #[test]
    fn bad_requests_say_what_is_wrong() {
        for (size, options, expected) in [
            ("31x31", &[][..], "at most 30, it is 31"),
            ("8", &[], "say 8x8"),
            ("8x8", &[("fences", "3")], "has the options max-fences and all"),
            ("8x8", &[("all", "yes")], "takes no value"),
            ("8x8", &[("max-fences", "-1")], "\"-1\" is not a whole number"),
            ("8x8", &[("max-fences", "")], "not a whole number"),
            ("8x8", &[("max-fences", "3"), ("all", "")], "or all, once"),
            ("8x8", &[("max-fences", "3"), ("max-fences", "4")], "or all, once"),
        ] {
            let error = open(&request(size, options)).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
