//! Quoridor fences by a border-state recurrence in a plain map, intersection by intersection, row by row.
//!
//! The rest of the board depends on two things. Which columns' last intersection has a V: the next one below must not have
//! one. And whether the intersection at the left has an H: this one must not. A value is the list of the numbers of partial
//! boards with 0, 1, 2, ... fences. Cost: some map operations a state and pass.

use std::collections::BTreeMap;

/// A border state: all that the rest of the board depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Border {
    /// Per column: the last intersection filled has a V.
    pub has_v: Vec<bool>,
    /// The intersection at the left of the next one has an H; never at the start of a row.
    pub left_is_h: bool,
}

/// All border states with their numbers of partial boards by number of fences.
pub type Vector = BTreeMap<Border, Vec<u128>>;

/// The content of an intersection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Put {
    Nothing,
    H,
    V,
}

/// Before the first intersection; numbers of fences beyond `most_fences` are not followed.
pub fn start(width: usize, most_fences: usize) -> Vector {
    let mut one = vec![0; most_fences + 1];
    one[0] = 1;
    Vector::from([(Border { has_v: vec![false; width], left_is_h: false }, one)])
}

/// Fills the next intersection of `column`.
pub fn pass(vector: &Vector, column: usize) -> Vector {
    let mut next = Vector::new();
    for (border, value) in vector {
        for put in [Put::Nothing, Put::H, Put::V] {
            if put == Put::H && border.left_is_h || put == Put::V && border.has_v[column] {
                continue;
            }
            let mut after = border.clone();
            after.has_v[column] = put == Put::V;
            after.left_is_h = put == Put::H && column + 1 < border.has_v.len();
            let sums = next.entry(after).or_insert_with(|| vec![0; value.len()]);
            let shift = usize::from(put != Put::Nothing);
            for (sum, count) in sums.iter_mut().skip(shift).zip(value) {
                *sum += count;
            }
        }
    }
    next
}

/// F(width, height, k) for k from 0 to `most_fences`; all must be below 2^128.
pub fn counts(width: usize, height: usize, most_fences: usize) -> Vec<u128> {
    let mut vector = start(width, most_fences);
    for column in (0..width).cycle().take(width * height) {
        vector = pass(&vector, column);
    }
    total(&vector)
}

/// Sums over all states.
pub fn total(vector: &Vector) -> Vec<u128> {
    let mut sums = Vec::new();
    for value in vector.values() {
        sums.resize(value.len(), 0);
        for (sum, count) in sums.iter_mut().zip(value) {
            *sum += count;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quoridor_fences::brute;

    #[test]
    fn agrees_with_every_placement() {
        for (width, height) in [(1, 1), (1, 7), (7, 1), (2, 2), (2, 5), (5, 2), (3, 3), (4, 3), (3, 4), (4, 4)] {
            let expected = brute::counts(width, height).unwrap();
            let got = counts(width as usize, height as usize, (width * height) as usize);
            assert!(got.iter().eq(expected.iter().map(|&count| u128::from(count)).collect::<Vec<_>>().iter()));
        }
    }
}
