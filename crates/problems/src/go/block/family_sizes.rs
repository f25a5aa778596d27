//! How large the families of a window are, without building them: bounds for plans, and kinds of sizes for forecasts.
//!
//! In the largest family the colours of the cells outside the window alternate. Each pair of neighbours outside that has
//! one colour leaves a part r of the states. So the families with k such pairs of n are about C(n, k), each of size r^k:
//!
//! ```text
//!   cells outside on one side of the window      n = cells outside - 1
//!   cells outside on both sides                  n = cells outside - 2, and twice as many families: the two sides meet in
//!                                                two ways
//! ```
//!
//! Families with empty cells outside are smaller still, and are left out. Tests of the forecast hold the kinds against the
//! families of real tables.
//!
//! Cost: one step per cell outside.

use keima_model::{FamilyBounds, FamilyKind, Window};

/// Bounds of what families take, a few percent above the largest that tables of heights 8 to 15 show.
pub(crate) const FAMILY_BOUNDS: FamilyBounds = FamilyBounds {
    codes: 4,
    block_percent: 125,
    buffer_percent: [105, 113],
    transposed_percent: 22,
    mail_percent: [125, 40],
};

/// r: what a pair of neighbours of one colour leaves of a family. Tables of heights 8 to 15 have 0.28 to 0.39.
const PAIR_RATIO: f64 = 0.31;

/// See `BlockProblem::family_kinds`.
pub(crate) fn family_kinds(height: u32, window: Window) -> Vec<FamilyKind> {
    let outside = height.saturating_sub(window.len);
    let two_sides = window.first > 0 && window.end() < height;
    let (pairs, ways) = if two_sides { (outside.saturating_sub(2), 2.0) } else { (outside.saturating_sub(1), 1.0) };
    let (mut relative_size, mut families) = (1.0, ways);
    let kind = |pair: u32| {
        let kind = FamilyKind { relative_size, families };
        relative_size *= PAIR_RATIO;
        families *= f64::from(pairs - pair) / f64::from(pair + 1);
        kind
    };
    (0..=pairs).map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_binomial() {
        let check = |height, first, len, expected: &[(f64, f64)]| {
            let kinds = family_kinds(height, Window { first, len });
            let got: Vec<(f64, f64)> = kinds.iter().map(|kind| (kind.relative_size, kind.families)).collect();
            assert_eq!(got, expected, "{height} {first} {len}");
        };
        check(6, 0, 6, &[(1.0, 1.0)]);
        check(6, 0, 4, &[(1.0, 1.0), (0.31, 1.0)]);
        check(6, 3, 3, &[(1.0, 1.0), (0.31, 2.0), (0.31 * 0.31, 1.0)]);
        check(6, 1, 4, &[(1.0, 2.0)]);
        check(6, 2, 2, &[(1.0, 2.0), (0.31, 4.0), (0.31 * 0.31, 2.0)]);
    }
}
