//! Checks of L(m,n): published values, and the asymptotic formula with its tolerance.
//!
//! L(m,n) is close to A B^(m+n) L^(mn). The constants are those that `keima analyse go --constants` finds in all published
//! values and in the counts of boards of heights 1 to 13; the paper prints two to five digits fewer. The relative error is nearly
//! d(m) + d(n) + n e(m) + m e(n):
//!
//! ```text
//!    m      d(m)      e(m)        measured: count / formula - 1
//!    1   -1.5e-01   -3.6e-02     1x1   -5.8e-01   1x2   -2.6e-01    useless at any length
//!    2   -2.1e-02   -1.9e-03     2x2   -1.7e-02   2x3   -1.3e-02
//!    3    1.6e-03    1.2e-04     3x3    5.2e-03   3x4    2.7e-03
//!    4    5.8e-04    1.1e-05     4x4    1.2e-03   4x5    6.7e-04
//!    5    3.5e-05    5.8e-09     5x5    7.0e-05   5x6    3.1e-05
//!    6   -3.5e-06   -2.3e-08     6x6   -7.3e-06   6x7   -4.3e-06
//!    7   -6.4e-07   -9.5e-11     7x7   -1.3e-06   7x8   -6.5e-07
//!    8   -1.2e-08    4.6e-11     8x8   -2.3e-08   8x9   -6.1e-09
//!    9    5.4e-09   -3.2e-13     9x9    1.1e-08   9x10   5.9e-09
//!   10    4.7e-10   -1.2e-13    10x10   9.3e-10  10x11   4.4e-10
//!   11   -2.3e-11    1.7e-15    11x11  -4.6e-11  11x12  -2.9e-11
//!   12   -5.9e-12    3.5e-16    12x12  -1.2e-11  12x13  -6.0e-12
//!   13   -1.1e-13   -4.3e-18    13x13  -2.2e-13  13x14  -5.9e-14
//!   14    5.2e-14   -9.4e-19    14x14   1.0e-13  14x15   5.7e-14
//!   15    4.1e-15    1.2e-20    15x15   8.1e-15  15x16   3.7e-15
//!   16   -3.2e-16    2.4e-21    16x16  -6.4e-16  16x17  -3.8e-16
//!   17   -6.1e-17   -3.8e-23    17x17  -1.2e-16  17x18  -6.1e-17
//!   18   -5.2e-20   -6.0e-24    18x18  -1.0e-19  18x19   6.0e-19
//!   19    6.5e-19    1.5e-25    19x19   1.3e-18  19x20   6.9e-19
//!   20    3.9e-20               larger ones are not counted
//!   21   -4.7e-21
//!   22   -7.1e-22
//! ```
//!
//! Sources. d and e come from boards of heights 1 to 13 and of length n, up to 30, which tell them without n x n: what
//! `keima analyse go --constants` prints, and for m <= 9 the growth of the series (the paper's table 2). keima counted those
//! boards (`tests/golden/go_rectangles.csv`). From height 12 to 13, e(17) and e(18) change by a quarter of themselves, e(19) by
//! half, and d(n) in the fourth digit. The last rows, 22 for d and 19 for e, stand for all larger boards, where both are smaller.
//! The constants were made with the counts of 18x18, 18x19 and 19x19: these three are no check of the constants.
//!
//! Cost: a look-up; checks evaluate the formula in as many digits as the count has.
//!
//! The accepted error is three times the sum of the absolute values of the three parts, plus a floor for the bars of the
//! constants. Where that is more than [`USELESS`], there is no formula.

use std::sync::LazyLock;

use keima_model::{Decimal, Formula};
use rustc_hash::FxHashMap;

/// L(m,n) for m <= n <= m+1, as published.
const VALUES: &str = include_str!("../../../../tests/golden/go_legal_positions.csv");

/// L(m,n) of further boards, as keima counted them: rows `m,n,count`.
pub const RECTANGLES: &str = include_str!("../../../../tests/golden/go_rectangles.csv");

// As `keima analyse go --constants` prints them, with all digits that its bars leave.
const A: &str = "0.850639925845714476870";
const B: &str = "0.9655350593383738719235";
const L: &str = "2.97573419204335724938093";

/// |d(m)| of the table above, m from 1; the last one for all larger m too.
const SIDE_ERROR: [f64; 22] = [
    1.55e-1, 2.14e-2, 1.62e-3, 5.83e-4, 3.51e-5, 3.54e-6, 6.41e-7, 1.20e-8, 5.39e-9, 4.67e-10, 2.29e-11, 5.9e-12,
    1.2e-13, 5.3e-14, 4.1e-15, 3.3e-16, 6.2e-17, 5.2e-20, 6.6e-19, 4.0e-20, 4.8e-21, 7.2e-22,
];
/// |e(m)| of the table above, m from 1; the last one for all larger m too.
const COLUMN_ERROR: [f64; 19] = [
    3.62e-2, 1.89e-3, 1.21e-4, 1.13e-5, 5.8e-9, 2.27e-8, 9.6e-11, 4.6e-11, 3.2e-13, 1.3e-13, 1.7e-15, 3.6e-16, 4.5e-18,
    9.5e-19, 1.3e-20, 2.6e-21, 5.1e-23, 8.1e-24, 2.9e-25,
];
/// Error that the bars of the constants allow: of A, per side of B, and per point of L.
const DIGITS: [f64; 3] = [5e-21, 3e-22, 5e-23];
/// Margin on the measured errors.
const MARGIN: f64 = 3.0;
/// Tolerance above which the formula is not worth a check.
pub const USELESS: f64 = 0.5;

/// The published number of legal positions on `height` x `length`, in decimal.
pub fn known(height: u32, length: u32) -> Option<&'static str> {
    /// By the smaller and the larger side: a long board asks for each of its columns, and more than once.
    static BY_SIDES: LazyLock<FxHashMap<(u32, u32), &'static str>> = LazyLock::new(|| {
        let row = |line: &'static str| {
            let mut fields = line.split(',');
            let sides = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
            Some((sides, fields.next()?))
        };
        VALUES.lines().filter_map(row).collect()
    });
    BY_SIDES.get(&(height.min(length), height.max(length))).copied()
}

/// The asymptotic formula for `height` x `length`, where its tolerance is useful and its powers are not too long.
pub fn formula(height: u32, length: u32) -> Option<Formula> {
    let tolerance = tolerance(height, length);
    let factor = |base: &str, exponent| (Decimal(base.to_owned()), exponent);
    let factors = vec![factor(A, 1), factor(B, height + length), factor(L, height * length)];
    let says = tolerance <= USELESS && Formula::digits(&factors) <= Formula::MOST_DIGITS;
    says.then(|| Formula { text: "A B^(m+n) L^(mn)".to_owned(), factors, tolerance })
}

/// Largest accepted |count / formula - 1|.
fn tolerance(height: u32, length: u32) -> f64 {
    let (short, long) = (height.min(length), height.max(length));
    let look_up = |table: &[f64], side: u32| table[(side as usize).clamp(1, table.len()) - 1];
    let measured =
        look_up(&SIDE_ERROR, short) + look_up(&SIDE_ERROR, long) + f64::from(long) * look_up(&COLUMN_ERROR, short);
    let [constant, side, point] = DIGITS;
    MARGIN * measured + constant + side * f64::from(short + long) + point * f64::from(short) * f64::from(long)
}

#[cfg(test)]
mod tests {
    use rug::{Integer, Rational, ops::Pow};

    use super::*;
    use crate::go::border;

    fn decimal(digits: &str) -> Rational {
        let (whole, fraction) = digits.split_once('.').unwrap();
        let scale = Integer::from(10).pow(fraction.len() as u32);
        Rational::from((format!("{whole}{fraction}").parse::<Integer>().unwrap(), scale))
    }

    /// |count / formula - 1| as a share of the tolerance; none where there is no formula.
    fn error_share(height: u32, length: u32, count: &Integer) -> Option<f64> {
        let formula = formula(height, length)?;
        let ratio = formula.factors.iter().fold(Rational::from(count), |ratio, (base, exponent)| {
            let base = decimal(&base.0);
            ratio / Rational::from((base.numer().clone().pow(*exponent), base.denom().clone().pow(*exponent)))
        });
        Some((ratio - 1_u32).abs().to_f64() / formula.tolerance)
    }

    #[track_caller]
    fn check(height: u32, length: u32, count: &Integer) {
        let share = error_share(height, length, count);
        assert!(share.is_none_or(|share| share < 0.5), "{height}x{length}: {share:?} of the tolerance");
    }

    #[test]
    fn published_values_lie_well_within_the_tolerance() {
        let mut rows = 0;
        for (m, n) in (1..=19).flat_map(|m| [(m, m), (m, m + 1)]) {
            let count = known(m, n).unwrap().parse().unwrap();
            assert_eq!(known(n, m), known(m, n));
            check(m, n, &count);
            rows += usize::from(formula(m, n).is_some());
        }
        assert_eq!(rows, 36, "all but 1x1 and 1x2 have a formula");
        assert_eq!(known(3, 5), None);
    }

    #[test]
    fn long_thin_boards_lie_well_within_the_tolerance() {
        for (height, length) in [(1, 60), (2, 80), (3, 200), (4, 60), (5, 30), (6, 12)] {
            for (length, count) in (1..).zip(border::series::<Integer>(height, length)) {
                check(height as u32, length, &count);
            }
        }
    }

    /// Rows `m,n,count` of the counted rectangles.
    fn rectangles() -> Vec<(u32, u32, Integer)> {
        let rows = RECTANGLES.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        let row = |line: &str| {
            let [m, n, count] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
            (m.parse().unwrap(), n.parse().unwrap(), count.parse().unwrap())
        };
        rows.map(row).collect()
    }

    #[test]
    fn counted_rectangles_lie_well_within_the_tolerance() {
        let rows = rectangles();
        for (m, n, count) in &rows {
            check(*m, *n, count);
            if let Some(published) = known(*m, *n) {
                assert_eq!(published, count.to_string(), "{m}x{n}");
            }
        }
        let with_formula = rows.iter().filter(|(m, n, _)| formula(*m, *n).is_some()).count();
        assert!(rows.len() == 315 && with_formula > 250, "{} {with_formula}", rows.len());
    }

    #[test]
    fn counted_rectangles_are_those_of_the_recurrence() {
        for height in 1..=6 {
            let row = rectangles().into_iter().filter(|(m, ..)| *m == height).map(|(_, n, count)| (n, count));
            let counted = (1..).zip(border::series::<Integer>(height as usize, 30)).skip(height as usize - 1);
            assert!(row.eq(counted.take(31 - height as usize)), "{height}");
        }
    }

    #[test]
    fn a_wrong_count_does_not_pass() {
        let right: Integer = known(13, 13).unwrap().parse().unwrap();
        let wrong = right.clone() + (right >> 38);
        assert!(error_share(13, 13, &wrong).unwrap() > 1.0);
        for (side, tolerance) in [(5, 2.2e-4), (9, 3.3e-8), (13, 7.3e-13), (16, 2.0e-15), (19, 4.1e-18), (30, 7.4e-20)]
        {
            assert!(formula(side, side).unwrap().tolerance < tolerance, "{side}");
        }
        assert_eq!(formula(1, 7), None);
        assert_eq!(formula(2, 300), None);
        assert!(formula(7, 300).is_some());
        // Its powers would have more than a million digits.
        assert!(formula(5, 6710).is_some() && formula(21, 1820).is_some());
        assert_eq!((formula(5, 6711), formula(21, 10_000)), (None, None));
    }
}
