//! Hard squares by definition: a test of every pair of neighbours in every set of cells. Cost: 2^(mn) sets.

/// Most cells that a board may have.
pub const MAX_CELLS: u32 = 24;

/// Counts the sets of cells of a `height` x `length` board in which no two are neighbours, or `None` where there are
/// more than [`MAX_CELLS`] cells.
pub fn count(height: u32, length: u32) -> Option<u64> {
    let cells = height.checked_mul(length).filter(|cells| (1..=MAX_CELLS).contains(cells))?;
    // Cell `row` of `column` is number `column * height + row`.
    let below = (0..cells).filter(|cell| cell % height + 1 < height).map(|cell| (cell, cell + 1));
    let right = (0..cells).filter(|cell| cell / height + 1 < length).map(|cell| (cell, cell + height));
    let neighbours: Vec<(u32, u32)> = below.chain(right).collect();
    let has = |set: u32, cell: u32| set >> cell & 1 == 1;
    let independent = |set: &u32| !neighbours.iter().any(|&(a, b)| has(*set, a) && has(*set, b));
    Some((0_u32..1 << cells).filter(independent).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_boards_worked_by_hand() {
        // 1x1: empty or not. 1x2: all but both. 1x3: Fibonacci. 2x2: none, four singles, two diagonals.
        for (height, length, expected) in [(1, 1, 2), (1, 2, 3), (2, 1, 3), (1, 3, 5), (2, 2, 7), (3, 3, 63)] {
            assert_eq!(count(height, length), Some(expected), "{height}x{length}");
        }
        assert_eq!(count(5, 5), None);
        assert_eq!(count(0, 5), None);
        assert_eq!(count(u32::MAX, 2), None);
    }
}
