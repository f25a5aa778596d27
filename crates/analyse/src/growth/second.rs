//! |second eigenvalue|, estimated from ratios of Hankel determinants (Hadamard 1892).
//!
//! ```text
//!   H2(n) = L(n) L(n+2) - L(n+1)^2       H2(n+1) / H2(n) -> lambda1 lambda2              if |lambda2| stands alone
//!   H3(n) = the 3 x 3 determinant        H3(n+1) / H3(n) -> lambda1 |lambda2|^2          if it is a conjugate pair
//! ```
//!
//! Of the two, the one whose last values agree in more digits is taken. That is an estimate: nothing bounds its error.
//! Cost: some products of exact terms.

use rug::Integer;
use rug::ops::DivRounding;

use super::decimal::{Bounds, Decimal, ten_to};

/// Values whose spread gives the digits.
const LAST: usize = 9;
const SCALE: u32 = 40;
/// Digits that are shown at most.
const DIGITS: u32 = 15;

/// The estimate; `None` if the terms are too few or the values do not settle in a single digit.
pub(super) fn second(terms: &[Integer], lambda: &Bounds) -> Option<Decimal> {
    let end = terms.len().checked_sub(LAST + 6)?;
    let lambda = &lambda.low / ten_to(lambda.scale.checked_sub(SCALE)?);
    let ratios = |determinant: &dyn Fn(&[Integer]) -> Integer, root: u32| -> Option<Bounds> {
        let values: Vec<Integer> = (end..=(end + LAST)).map(|n| determinant(&terms[n..])).collect();
        let mut all = Vec::new();
        for pair in values.windows(2) {
            if pair[0].is_zero() {
                return None;
            }
            let ratio = (&pair[1] * ten_to(2 * SCALE)).div_floor(&pair[0]).abs().div_floor(&lambda);
            all.push(if root == 2 { (&ratio * ten_to(SCALE)).sqrt() } else { ratio });
        }
        Some(Bounds { low: all.iter().min()?.clone(), high: all.iter().max()?.clone(), scale: SCALE })
    };
    let two = |t: &[Integer]| Integer::from(&t[0] * &t[2]) - Integer::from(t[1].square_ref());
    let three = |t: &[Integer]| {
        let minor =
            |a: usize, b: usize, c: usize, d: usize| Integer::from(&t[a] * &t[d]) - Integer::from(&t[b] * &t[c]);
        (&t[0] * minor(2, 3, 3, 4)) - &t[1] * minor(1, 3, 2, 4) + &t[2] * minor(1, 2, 2, 3)
    };
    let width = |bounds: &Bounds| Integer::from(&bounds.high - &bounds.low);
    let candidates = [ratios(&two, 1), ratios(&three, 2)];
    let best = candidates.into_iter().flatten().filter(|bounds| bounds.high > 0).min_by_key(width)?;
    best.decimal(DIGITS)
}
