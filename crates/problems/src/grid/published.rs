//! Published numbers of paths and cycles of square boards, from the On-Line Encyclopedia of Integer Sequences.

use keima_model::Board;

/// `sequence,n,count`, where n is the side of the board in cells.
const TABLE: &str = include_str!("../../../../tests/golden/grid_curves.csv");

/// The published number for this board, in decimal. `series` is P for paths between opposite corners, S for paths along
/// a side, C for cycles.
pub fn known(board: Board, series: &str, hamiltonian: bool) -> Option<String> {
    let side = board.height;
    if board.length != side {
        return None;
    }
    let sequence = match (series, hamiltonian) {
        ("P", false) => "A007764",
        ("P", true) => "A001184",
        ("S", true) => "A000532",
        ("C", false) => "A140517",
        ("C", true) => "A003763",
        _ => return None,
    };
    let prefix = format!("{sequence},{side},");
    TABLE.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_found() {
        let square = |side| Board { height: side, length: side };
        for (side, series, hamiltonian, expected) in [
            (3, "P", false, Some("12")),
            (3, "P", true, Some("2")),
            (4, "P", true, None),
            (4, "S", true, Some("8")),
            (4, "S", false, None),
            (3, "C", false, Some("13")),
            (6, "C", true, Some("1072")),
            (5, "C", true, None),
        ] {
            assert_eq!(known(square(side), series, hamiltonian).as_deref(), expected, "{side} {series} {hamiltonian}");
        }
        assert_eq!(known(Board { height: 3, length: 4 }, "P", false), None);
    }
}
