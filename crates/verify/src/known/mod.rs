//! What this crate knows by itself: published numbers and proved bounds.

pub(crate) mod formula;

use keima_residue::Integer;

use crate::form::certificate::Head;

/// L(m,n) for m <= n <= m+1.
const GO: &str = include_str!("../../../../tests/golden/go_legal_positions.csv");
/// Sequence, side, number.
const GRID: &str = include_str!("../../../../tests/golden/grid_curves.csv");
/// Open or closed, both sides, number.
const KNIGHT: &str = include_str!("../../../../tests/golden/knight_tours.csv");
/// Fences, number.
const FENCES: &str = include_str!("../../../../tests/golden/quoridor_fences_9x9.csv");
/// Side, number.
const SQUARES: &str = include_str!("../../../../tests/golden/avoid_the_square.csv");
/// Side, number: A006506 of the OEIS.
const HARD_SQUARES: &str = include_str!("../../../../tests/golden/hard_squares.txt");

/// The number in the line that begins with `prefix`.
fn find(table: &str, prefix: &str) -> Option<Integer> {
    table.lines().find_map(|line| line.strip_prefix(prefix)).and_then(|number| number.parse().ok())
}

/// The published number of a whole board, the smaller side first.
pub(crate) fn count(problem: &str, options: &[(String, String)], height: u32, length: u32) -> Option<Integer> {
    let mut names: Vec<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    let is_square = height == length;
    match (problem, &names[..]) {
        ("go" | "hard-squares", []) => board(problem, height, length),
        ("knight", [tours @ ("open" | "closed")]) => find(KNIGHT, &format!("{tours},{height},{length},")),
        ("grid-paths" | "grid-cycles", names) if is_square => {
            let sequence = match (problem, names) {
                ("grid-paths", []) => "A007764",
                ("grid-paths", ["hamiltonian"]) => "A001184",
                ("grid-paths", ["hamiltonian", "side"]) => "A000532",
                ("grid-cycles", []) => "A140517",
                ("grid-cycles", ["hamiltonian"]) => "A003763",
                _ => return None,
            };
            find(GRID, &format!("{sequence},{height},"))
        }
        _ => None,
    }
}

/// The published number of a board that is met on the way: so many columns of this height.
pub(crate) fn board(problem: &str, height: u32, length: u32) -> Option<Integer> {
    match problem {
        "go" => find(GO, &format!("{},{},", height.min(length), height.max(length))),
        "hard-squares" if height == length => find(HARD_SQUARES, &format!("{height} ")),
        _ => None,
    }
}

/// The published number in a row of a table.
pub(crate) fn row(problem: &str, height: u32, length: u32, table: &str, index: &str) -> Option<Integer> {
    match (problem, table) {
        ("quoridor-fences", "by_fences") if (height, length) == (8, 8) => find(FENCES, &format!("{index},")),
        // A square of n x n cells, of which the sequence has the boards with equal numbers of both.
        ("square-free", "balance") if index == "balanced" => find(SQUARES, &format!("{height},")),
        _ => None,
    }
}

/// A proved bound on the numbers that are read off after a pass, as a power, for problems whose definition gives it at once.
pub(crate) fn bound(head: &Head, after_pass: u32) -> Option<(u32, u32)> {
    let cells = u64::from(after_pass) + 1;
    if cells > head.passes() {
        return None;
    }
    let power = |base: u32, exponent: u64| Some((base, u32::try_from(exponent).ok()?));
    match head.problem.as_str() {
        // A point has three colours.
        "go" => power(3, cells),
        // Pairs of neighbours on a path through all cells, with three sets each.
        "hard-squares" => power(3, cells.div_ceil(2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_numbers_are_found() {
        let options =
            |words: &str| words.split_whitespace().map(|word| (word.to_owned(), String::new())).collect::<Vec<_>>();
        for (problem, words, height, length, expected) in [
            ("go", "", 2, 3, Some("489")),
            ("go", "suicide", 2, 3, None),
            ("hard-squares", "", 3, 3, Some("63")),
            ("hard-squares", "", 3, 4, None),
            ("knight", "closed", 6, 6, Some("9862")),
            ("knight", "from to", 6, 6, None),
            ("grid-paths", "", 3, 3, Some("12")),
            ("grid-paths", "side hamiltonian", 4, 4, Some("8")),
            ("grid-cycles", "hamiltonian", 6, 6, Some("1072")),
            ("grid-cycles", "", 3, 4, None),
        ] {
            let got = count(problem, &options(words), height, length).map(|number| number.to_string());
            assert_eq!(got.as_deref(), expected, "{problem} {words} {height}x{length}");
        }
        assert_eq!(row("quoridor-fences", 8, 8, "by_fences", "1").map(|n| n.to_string()).as_deref(), Some("128"));
        assert_eq!(row("square-free", 3, 3, "balance", "balanced").map(|n| n.to_string()).as_deref(), Some("92"));
    }
}
