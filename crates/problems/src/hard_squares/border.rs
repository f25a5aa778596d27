//! Hard squares by a border-state recurrence in a plain map.
//!
//! The rest of the board depends on which of the last `m` cells are taken: the one above the next cell and the one to its
//! left forbid it. A cell is left empty, or taken if both of those are empty. Cost: some map operations a state and pass.

use std::collections::BTreeMap;

use keima_model::Board;

/// For each of the `m` rows, whether the cell last filled in it is taken.
pub type Border = Vec<bool>;

/// All border states with the number of partial boards that lead to each.
pub type Vector = BTreeMap<Border, u128>;

/// Before the first cell: nothing is taken.
pub fn start(height: usize) -> Vector {
    Vector::from([(vec![false; height], 1)])
}

/// Fills the next cell of `row`.
pub fn pass(vector: &Vector, row: usize) -> Vector {
    let mut next = Vector::new();
    for (border, count) in vector {
        let left = border[row];
        let above = row > 0 && border[row - 1];
        for taken in [false, true] {
            if !(taken && (left || above)) {
                let mut after = border.clone();
                after[row] = taken;
                *next.entry(after).or_default() += count;
            }
        }
    }
    next
}

/// Counts `height` x 1, `height` x 2, ..., `height` x `length`; up to 128 cells.
pub fn series(height: usize, length: usize) -> Vec<u128> {
    let mut vector = start(height);
    let mut column = || {
        (0..height).for_each(|row| vector = pass(&vector, row));
        vector.values().sum()
    };
    (0..length).map(|_| column()).collect()
}

/// The number of border states before `pass`. The rows filled in this column and those of the column before are two
/// independent paths, and any two sets on them occur together.
pub fn states(board: Board, pass: u32) -> u128 {
    let new = board.cell(pass);
    let old = if pass < board.height { 0 } else { board.height - new };
    paths(new) * paths(old)
}

/// Independent sets of a path of `cells` cells: 1, 2, 3, 5, 8, ...
fn paths(cells: u32) -> u128 {
    (0..cells).fold((1, 1), |(count, before), _| (count + before, count)).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hard_squares::brute;

    #[test]
    fn agrees_with_every_set() {
        for height in 1..=16 {
            for (length, count) in (1..).zip(series(height, 16 / height)) {
                assert_eq!(brute::count(height as u32, length).map(u128::from), Some(count), "{height}x{length}");
            }
        }
    }
}
