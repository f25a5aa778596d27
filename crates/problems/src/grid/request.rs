//! Reads a user's request for a count of paths or cycles.

use std::sync::Arc;

use keima_model::{About, AnyProblem, Board, ProblemError, ProblemRequest};

use super::Grid;
use super::curves::Curves;
use crate::size;

/// Most cells of the smaller side: some 10^12 states, and keys of 54 bits.
pub const MAX_HEIGHT: u32 = 26;
/// Most cells of the larger side.
pub const MAX_LENGTH: u32 = 1_000;

const SIZE: &str = "MxN, M rows and N columns of cells; the smaller side 1 to 26, the larger up to 1000";
const HAMILTONIAN: (&str, &str, &str) = ("hamiltonian", "", "only those through all cells");

/// The description for `keima problems grid-paths`.
pub const PATHS: About = About {
    summary: "paths of a grid from corner to corner, self-avoiding or Hamiltonian",
    definition: "Paths from the upper left cell of a board of M rows and N columns to the lower right one, or to the lower \
                 left one (-o side), by steps to neighbours in a row or column, that enter no cell twice: self-avoiding walks. \
                 M and N count cells, the vertices of the grid graph, not the squares between them. With -o side, MxN \
                 and NxM are different questions.",
    size: SIZE,
    options: &[
        HAMILTONIAN,
        ("side", "", "between the two corners of the left side, M cells apart, instead of opposite ones"),
    ],
    known: "On n x n cells, OEIS: A007764(n) (to n = 27: I. Jensen, H. Iwashita, R. Spaans). Hamiltonian: A001184((n+1)/2) for \
            odd n, none for even n. Hamiltonian along a side: A000532(n). Other boards: A064298.",
    examples: &[
        "keima count grid-paths 10x10",
        "keima count grid-paths 9x9 -o hamiltonian",
        "keima count grid-paths 10x10 -o hamiltonian -o side --series",
    ],
};

/// The description for `keima problems grid-cycles`.
pub const CYCLES: About = About {
    summary: "cycles of a grid, simple or Hamiltonian",
    definition: "Closed paths on a board of M rows and N columns, by steps to neighbours in a row or column, that enter no cell \
                 twice: simple cycles of the grid graph, of at least 4 cells, without a direction. Rotations and reflections \
                 count apart. M and N count cells, the vertices of the graph, not the squares between them.",
    size: SIZE,
    options: &[HAMILTONIAN],
    known: "On n x n cells, OEIS: A140517(n-1), which counts the squares between the cells. Hamiltonian: A003763(n/2) for even \
            n, none for odd n.",
    examples: &["keima count grid-cycles 10x10", "keima count grid-cycles 12x12 -o hamiltonian"],
};

/// The paths that `request` describes: size `"MxN"`, options `hamiltonian` and `side`.
pub fn open_paths(request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
    let (rows, columns) = size::sides(request, MAX_HEIGHT, MAX_LENGTH)?;
    let hamiltonian = has(request, "hamiltonian", &["hamiltonian", "side"])?;
    let side = has(request, "side", &["hamiltonian", "side"])?;
    let cells = rows * columns;
    let end = match side {
        false => cells - 1,
        // The left side is the first column of the board that is filled, or its first row.
        true if rows <= columns => rows - 1,
        true => cells - columns,
    };
    Ok(problem(request, rows, columns, Curves { ends: Some((0, end)), hamiltonian }))
}

/// The cycles that `request` describes: size `"MxN"`, option `hamiltonian`.
pub fn open_cycles(request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
    let (rows, columns) = size::sides(request, MAX_HEIGHT, MAX_LENGTH)?;
    let hamiltonian = has(request, "hamiltonian", &["hamiltonian"])?;
    Ok(problem(request, rows, columns, Curves { ends: None, hamiltonian }))
}

fn problem(request: &ProblemRequest, rows: u32, columns: u32, curves: Curves) -> AnyProblem {
    let board = Board { height: rows.min(columns), length: rows.max(columns) };
    AnyProblem::Narrow(Arc::new(Grid::new(request.size.clone(), board, curves)))
}

/// Whether the request has a switch. `Err` if it has an option that is not `known`, or one with a value.
fn has(request: &ProblemRequest, switch: &str, known: &[&str]) -> Result<bool, ProblemError> {
    for (option, value) in &request.options {
        let why = match known.iter().any(|known| known == option) {
            true if value.is_empty() => continue,
            true => format!("{option} takes no value"),
            false => format!("{} has no such option; it has {}", request.name, known.join(" and ")),
        };
        let (problem, option, got) = (request.name.clone(), option.clone(), value.clone());
        return Err(ProblemError::BadOption { problem, option, got, why });
    }
    Ok(request.options.iter().any(|(option, _)| option == switch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(name: &str, size: &str, options: &[(&str, &str)]) -> Result<AnyProblem, ProblemError> {
        let options = options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let request = ProblemRequest { name: name.to_owned(), size: size.to_owned(), options };
        if name == "grid-paths" { open_paths(&request) } else { open_cycles(&request) }
    }

    #[test]
    fn requests_name_curves() {
        let (all, side) = (("hamiltonian", ""), ("side", ""));
        for (name, size, options, expected) in [
            (
                "grid-paths",
                "3x5",
                &[][..],
                "grid-paths: paths through any cells from cell 0 to cell 14, board 3x5, encoding 1",
            ),
            (
                "grid-paths",
                "5x3",
                &[all],
                "grid-paths: paths through all cells from cell 0 to cell 14, board 3x5, encoding 1",
            ),
            (
                "grid-paths",
                "3x5",
                &[side],
                "grid-paths: paths through any cells from cell 0 to cell 2, board 3x5, encoding 1",
            ),
            (
                "grid-paths",
                "5x3",
                &[side, all],
                "grid-paths: paths through all cells from cell 0 to cell 12, board 3x5, encoding 1",
            ),
            (
                "grid-paths",
                "1x3",
                &[side],
                "grid-paths: paths through any cells from cell 0 to cell 0, board 1x3, encoding 1",
            ),
            ("grid-cycles", "5x3", &[], "grid-cycles: cycles through any cells, board 3x5, encoding 1"),
        ] {
            let problem = ask(name, size, options).unwrap();
            assert_eq!((problem.info().identity().as_str(), problem.info().name()), (expected, name));
            assert_eq!(problem.info().size(), size);
        }
    }

    #[test]
    fn bad_requests_say_what_is_wrong() {
        for (name, size, options, expected) in [
            ("grid-paths", "27x27", &[][..], "at most 26, it is 27"),
            ("grid-paths", "5", &[], "say 5x5"),
            ("grid-cycles", "3x1001", &[], "at most 1000"),
            ("grid-cycles", "5x5", &[("side", "")], "it has hamiltonian"),
            ("grid-paths", "5x5", &[("closed", "")], "it has hamiltonian and side"),
            ("grid-paths", "5x5", &[("side", "left")], "side takes no value"),
        ] {
            let error = ask(name, size, options).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(expected) && error.starts_with(name), "{size} {options:?}: {error}");
        }
    }
}
