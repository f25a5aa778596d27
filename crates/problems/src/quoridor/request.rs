//! Reads a user's request for a Quoridor count.

use std::sync::Arc;

use keima_model::{About, AnyProblem, ProblemError, ProblemRequest};

use super::Quoridor;
use crate::size::number;

/// Most squares a side: keys of 5n + 9 bits fit 64.
pub const MAX_SIDE: u32 = 11;
/// The default for the most fences: those of both players.
pub const DEFAULT_MAX_FENCES: u32 = 20;
/// Largest number of fences that a user may name: more than any board has intersections.
const MAX_MAX_FENCES: u32 = 1000;

/// The description for `keima problems quoridor`.
pub const ABOUT: About = About {
    summary: "legal Quoridor positions",
    definition: "Positions on N x N squares: each of the (N-1) x (N-1) intersections is empty or has a horizontal or vertical \
                 fence, two edges long, no two overlapping; two pawns on different squares; from each pawn's square an \
                 open path leads to its goal row (the last row for the first player, the first row for the second), and \
                 pawns do not block. Legal, not reachable: it does not matter whether a game leads there, or had ended \
                 before. The count is of all pairs of squares. The same run gives tables by number of fences: all \
                 positions, those without both pawns or without either pawn on its goal, and all with the fences in \
                 hand (ten a player) and the side to move. Tables and totals go up to the chosen number of fences.",
    size: "N (or NxN), squares a side, 2 to 11; the real board is 9",
    options: &[
        ("max-fences", "K", "count positions with up to K fences [default: 20]"),
        ("all", "", "count positions with any number of fences"),
    ],
    known: "Nothing published for the number of legal positions. Arrangements of fences on the 9x9 board by number of \
            fences: telemath, How many ways can you place fences; estimates: P. J. C. Mertens, A Quoridor-playing \
            Agent (2006).",
    examples: &[
        "keima count quoridor 5",
        "keima count quoridor 6 --all",
        "keima count quoridor 9 --max-fences 2",
        "keima submit quoridor 8",
    ],
};

/// The problem that `request` describes: size `"N"` or `"NxN"`, options `max-fences` and `all`.
pub fn open(request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
    let n = side(&request.size).map_err(|why| ProblemError::BadSize {
        problem: "quoridor".to_owned(),
        got: request.size.clone(),
        why,
    })?;
    let mut chosen: Option<(&str, Option<u32>)> = None;
    for (option, got) in &request.options {
        let refuse = |why: String| {
            Err(ProblemError::BadOption {
                problem: "quoridor".to_owned(),
                option: option.clone(),
                got: got.clone(),
                why,
            })
        };
        let most = match option.as_str() {
            "all" if got.is_empty() => None,
            "all" => return refuse("all takes no value".to_owned()),
            "max-fences" => match number(got) {
                Some(most) if most <= MAX_MAX_FENCES => Some(most),
                _ => {
                    return refuse(format!(
                        "expected a whole number from 0 to {MAX_MAX_FENCES}, such as {DEFAULT_MAX_FENCES}; for any \
                         number of fences use all"
                    ));
                }
            },
            _ => return refuse("quoridor has the options max-fences and all".to_owned()),
        };
        if let Some((other, _)) = chosen {
            return refuse(format!("{other} was given already; give max-fences or all, once"));
        }
        chosen = Some((option, most));
    }
    let most = chosen.map_or(Some(DEFAULT_MAX_FENCES), |(_, most)| most);
    Ok(AnyProblem::Narrow(Arc::new(Quoridor::new(n, most))))
}

/// The side that a size names. `Err` says what is expected.
fn side(size: &str) -> Result<u32, String> {
    let expected = format!("a size is the number of squares a side, such as 9 or 9x9, from 2 to {MAX_SIDE}");
    let (side, other) = size.split_once(['x', 'X']).unwrap_or((size, size));
    match (number(side), number(other)) {
        (Some(n), Some(other)) if n != other => Err(format!("the board must be square; {expected}")),
        (Some(n), Some(_)) if (2..=MAX_SIDE).contains(&n) => Ok(n),
        (Some(n), Some(_)) if n > MAX_SIDE => Err(format!("the side may be at most {MAX_SIDE}; {expected}")),
        (Some(_), Some(_)) => Err(format!("the side must be at least 2, for two pawns need two squares; {expected}")),
        _ => Err(format!("it is not a whole number; {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(size: &str, options: &[(&str, &str)]) -> ProblemRequest {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        ProblemRequest { name: "quoridor".to_owned(), size: size.to_owned(), options }
    }

    #[test]
    fn sizes_and_options() {
        for (size, options, shown, coefficients) in [
            ("9", &[][..], "9", 21),
            ("9x9", &[], "9", 21),
            ("9X9", &[("max-fences", "0")], "9", 1),
            ("9", &[("max-fences", "30")], "9", 31),
            ("9", &[("all", "")], "9", 65),
            ("3", &[], "3", 5),
            ("3", &[("max-fences", "1000")], "3", 5),
            ("2", &[("all", "")], "2", 2),
            ("11", &[("max-fences", "1")], "11", 2),
        ] {
            let problem = open(&request(size, options)).unwrap();
            let info = problem.info();
            assert_eq!((info.size().as_str(), info.coefficients()), (shown, coefficients), "{size} {options:?}");
            assert!(info.key_bits() <= 8 * problem.key_bytes(), "{size}");
        }
    }

    #[test]
    fn bad_sizes_say_what_is_wrong() {
        for (size, expected) in [
            ("1", "at least 2"),
            ("0", "at least 2"),
            ("12", "at most 11"),
            ("99999999999999999999", "at most 11"),
            ("9x8", "must be square"),
            ("nine", "not a whole number"),
            ("", "such as 9"),
            ("-9", "not a whole number"),
            ("9x", "not a whole number"),
        ] {
            let error = open(&request(size, &[])).map(|_| ()).unwrap_err();
            assert!(matches!(&error, ProblemError::BadSize { got, .. } if got == size), "{error:?}");
            assert!(error.to_string().contains(expected), "{size}: {error}");
        }
    }

    #[test]
    fn bad_options_say_what_is_accepted() {
        for (options, expected) in [
            (&[("fences", "3")][..], "max-fences and all"),
            (&[("max-fences", "")], "0 to 1000"),
            (&[("max-fences", "-1")], "0 to 1000"),
            (&[("max-fences", "1001")], "0 to 1000"),
            (&[("all", "yes")], "no value"),
            (&[("all", ""), ("max-fences", "3")], "once"),
            (&[("max-fences", "3"), ("max-fences", "4")], "once"),
        ] {
            let error = open(&request("9", options)).map(|_| ()).unwrap_err();
            assert!(matches!(error, ProblemError::BadOption { .. }), "{error:?}");
            assert!(error.to_string().contains(expected), "{options:?}: {error}");
        }
    }
}
