//! Published numbers of tours.
//!
//! A corner has two neighbours, so every closed tour goes through both of its edges. On boards of at least 3x3 closed tours
//! are then the open ones from a corner to a cell a knight's move away. Cost: a look-up.

use keima_model::Board;

use super::tours::{Tours, adjacent, steps};

/// 6x6, all pairs of ends: `y1,x1,y2,x2,k,count`.
const SIX: &str = include_str!("../../../../tests/golden/knight_open_tours_6x6.csv");
/// Totals (no ends) and some pairs: `board,y1,x1,y2,x2,k,count`.
const SOME: &str = include_str!("../../../../tests/golden/knight_open_tours_some.csv");

/// All tours of rectangles: `tours,m,n,count`.
const RECTANGLES: &str = include_str!("../../../../tests/golden/knight_tours.csv");

/// The published number of tours, in decimal.
pub fn known(board: Board, tours: Tours) -> Option<String> {
    let kind = match tours {
        Tours::Open => "open",
        Tours::Closed => "closed",
        Tours::Between(..) => "",
    };
    let wanted = format!("{kind},{},{},", board.height.min(board.length), board.height.max(board.length));
    let rectangle = RECTANGLES.lines().find_map(|line| line.strip_prefix(&wanted));
    rectangle.map(str::to_owned).or_else(|| of_square(board, tours))
}

/// The same for square boards, which are published by pairs of ends.
fn of_square(board: Board, tours: Tours) -> Option<String> {
    let side = board.height;
    if board.length != side {
        return None;
    }
    let size = format!("{side}x{side}");
    let rows: Vec<Vec<&str>> = SOME.lines().map(|line| line.split(',').collect()).collect();
    let listed = rows.iter().filter(|row| row[0] == size).map(|row| &row[1..]);
    let six: Vec<Vec<&str>> = SIX.lines().map(|line| line.split(',').collect()).collect();
    let six = six.iter().filter(|row| side == 6 && row.len() == 6).map(Vec::as_slice);
    let mut rows = listed.chain(six);
    let count = |row: &[&str]| Some((*row.last()?).to_owned());
    let (a, b) = match tours {
        Tours::Open if side == 6 => {
            let product = |row: &[&str]| Some(row[4].parse::<u64>().ok()? * row[5].parse::<u64>().ok()?);
            return Some(rows.filter_map(product).sum::<u64>().to_string());
        }
        Tours::Open => return rows.find(|row| row[0].is_empty()).and_then(count),
        Tours::Closed if side >= 3 => (0, steps(side).find(|&step| adjacent(board, 0, step))?),
        Tours::Closed => return None,
        Tours::Between(a, b) => (a, b),
    };
    let wanted = class(side, a, b);
    rows.find(|row| {
        let squares: Vec<u32> = row.iter().take(4).map_while(|field| field.parse().ok()).collect();
        // In a square board it does not matter which way round rows and columns are.
        matches!(squares[..], [y, x, v, u] if class(side, y * side + x, v * side + u) == wanted)
    })
    .and_then(count)
}

/// The least pair of cells that a symmetry of the square makes of this one.
fn class(side: u32, mut a: u32, mut b: u32) -> (u32, u32) {
    let turn = |cell: u32| (cell % side) * side + (side - 1 - cell / side);
    let flip = |cell: u32| (cell % side) * side + cell / side;
    let mut best = (u32::MAX, u32::MAX);
    for _ in 0..4 {
        for (a, b) in [(a, b), (flip(a), flip(b))] {
            best = best.min((a, b)).min((b, a));
        }
        (a, b) = (turn(a), turn(b));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_are_found() {
        let square = |side| Board { height: side, length: side };
        for (side, tours, expected) in [
            (6, Tours::Open, Some("3318960")),
            (7, Tours::Open, Some("82787609160")),
            (8, Tours::Open, Some("9795914085489952")),
            (6, Tours::Closed, Some("9862")),
            (8, Tours::Closed, Some("13267364410532")),
            (7, Tours::Closed, None),
            (5, Tours::Open, Some("864")),
            (9, Tours::Open, None),
            // (0,0) to (0,1), and the same up and down.
            (6, Tours::Between(0, 6), Some("46666")),
            (6, Tours::Between(34, 35), Some("46666")),
            (6, Tours::Between(0, 14), None),
            (7, Tours::Between(0, 2), Some("674230890")),
            (2, Tours::Closed, None),
        ] {
            assert_eq!(known(square(side), tours).as_deref(), expected, "{side} {tours:?}");
        }
        for (height, length, tours, expected) in [
            (6, 7, Tours::Open, None),
            (5, 10, Tours::Open, Some("7886117822")),
            (6, 8, Tours::Closed, Some("55488142")),
            (8, 7, Tours::Closed, Some("34524432316")),
            (5, 10, Tours::Closed, None),
            (5, 6, Tours::Between(0, 7), None),
        ] {
            assert_eq!(known(Board { height, length }, tours).as_deref(), expected, "{height}x{length} {tours:?}");
        }
    }

    #[test]
    fn two_sources_agree_on_squares() {
        for side in 5..=8 {
            let board = Board { height: side, length: side };
            for tours in [Tours::Open, Tours::Closed] {
                if let Some(square) = of_square(board, tours) {
                    assert_eq!(known(board, tours), Some(square), "{board} {tours:?}");
                }
            }
        }
    }
}
