//! Avoid the square by definition: a test of every square of every colouring. Cost: 2^(n^2) boards.

/// Largest side: 2^25 boards with 50 squares each.
pub const MAX_SIDE: u32 = 5;

/// The squares with corners in the cells of an n x n board, of all sizes and tilts, each once. A square is a set of four
/// cells; cell (row, column) is bit `row * side + column`.
///
/// A square has a corner and a side vector (down, right) with `down >= 0` and `right > 0`. The other side vector is the first
/// one turned by 90 degrees, (right, -down). Of the four ways round a square exactly one starts so.
pub fn squares(side: u32) -> Vec<u128> {
    let inside = |row: i64, column: i64| {
        let side = i64::from(side);
        (0..side).contains(&row) && (0..side).contains(&column)
    };
    let range = || 0..i64::from(side);
    let mut squares = Vec::new();
    for (row, column) in range().flat_map(|row| range().map(move |column| (row, column))) {
        for (down, right) in range().flat_map(|down| range().skip(1).map(move |right| (down, right))) {
            let corners = [(0, 0), (down, right), (down + right, right - down), (right, -down)]
                .map(|(down, right)| (row + down, column + right));
            if corners.iter().all(|&(row, column)| inside(row, column)) {
                squares.push(corners.iter().fold(0, |set, &(row, column)| set | 1 << (row * i64::from(side) + column)));
            }
        }
    }
    squares
}

/// Whether a board, given by its cells with x, has no square of four equal counters.
pub fn is_square_free(board: u128, squares: &[u128]) -> bool {
    squares.iter().all(|&corners| board & corners != corners && board & corners != 0)
}

/// The number of boards without a square of four equal counters, by number of x; `None` beyond [`MAX_SIDE`].
pub fn counts(side: u32) -> Option<Vec<u64>> {
    if !(1..=MAX_SIDE).contains(&side) {
        return None;
    }
    let squares = squares(side);
    let mut counts = vec![0; (side * side + 1) as usize];
    for board in 0..1_u128 << (side * side) {
        if is_square_free(board, &squares) {
            counts[board.count_ones() as usize] += 1;
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn squares_are_as_many_as_they_should_be_and_differ() {
        for side in 1..=11_u32 {
            let squares = squares(side);
            assert_eq!(squares.len() as u32, side * side * (side * side - 1) / 12, "{side}");
            assert_eq!(squares.iter().collect::<BTreeSet<_>>().len(), squares.len(), "{side}");
            assert!(squares.iter().all(|square| square.count_ones() == 4));
        }
    }

    #[test]
    fn small_boards_worked_by_hand() {
        // 2x2: one square; all but the two boards of one colour.
        assert_eq!(counts(1), Some(vec![1, 1]));
        assert_eq!(counts(2), Some(vec![0, 4, 6, 4, 0]));
        assert_eq!(counts(3).map(|counts| counts[5]), Some(92));
        assert_eq!((counts(0), counts(6)), (None, None));
    }
}
