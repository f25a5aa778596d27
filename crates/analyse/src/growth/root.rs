//! lambda and a from a recurrence alone: the largest root of its characteristic polynomial, with proved bounds.
//!
//! ```text
//!   lambda   a change of sign of the polynomial between two decimals, in exact integers
//!   largest  all other roots are smaller: [`super::rest`] bounds them
//!   a        -P(y) / (Q'(y) y^(1 - first)) at y = 1/lambda, in interval arithmetic
//! ```
//!
//! Cost: some evaluations with numbers of order x digits.

use rug::Integer;
use rug::ops::{DivRounding, Pow};

use super::GrowthError;
use super::decimal::{Bounds, ten_to};
use super::rest::Rest;
use crate::recurrence::Lifted;

/// Digits after the point of a.
const SCALE: u32 = 80;
/// Digits of lambda to try, until a is known.
const PRECISIONS: [u32; 5] = [80, 160, 320, 640, 1280];
/// Most terms that are looked at for the ratio of two successive ones.
const MOST_TERMS: usize = 8000;

/// The constants of a recurrence.
#[derive(Clone, Debug)]
pub(super) struct Root {
    /// Bounds of a.
    pub(super) a: Bounds,
    /// Bounds of lambda.
    pub(super) lambda: Bounds,
    /// What the other roots add, if they are proved to be smaller.
    pub(super) rest: Option<Rest>,
}

/// The constants of a lifted recurrence with positive terms.
pub(super) fn root(lifted: &Lifted) -> Result<Root, GrowthError> {
    for precision in PRECISIONS {
        let lambda = bracket(lifted, precision)?;
        if let Some(a) = constant(lifted, &lambda) {
            let width = Integer::from(&a.high - &a.low);
            if a.low > 0 && width < ten_to(SCALE - 55) {
                let rest = Rest::of_recurrence(lifted, &a, &lambda);
                return Ok(Root { a, lambda, rest });
            }
        }
    }
    Err(GrowthError::TooClose { digits: PRECISIONS.iter().copied().max().unwrap_or(SCALE) })
}

/// A root to `precision` digits, which the ratio of two successive terms finds and a change of sign proves.
fn bracket(lifted: &Lifted, precision: u32) -> Result<Bounds, GrowthError> {
    let ten = ten_to(precision + 10);
    let not_dominant = GrowthError::NotDominant { digits: precision, terms: MOST_TERMS };
    let mut before: Option<(Integer, Integer)> = None;
    for (number, term) in lifted.terms().take(MOST_TERMS).enumerate() {
        let (last, ratio) = before.take().unwrap_or_default();
        if number % 8 == 0 || last.is_zero() {
            let ratio = if last.is_zero() { ratio } else { Integer::from(&term * &ten).div_floor(&last) };
            before = Some((term, ratio));
            continue;
        }
        if number % 8 == 7 {
            let now = Integer::from(&term * &ten).div_floor(&last);
            if Integer::from(&now - &ratio).abs() < 1000 && now > 0 {
                if term < 0 {
                    return Err(GrowthError::Negative);
                }
                let middle = now.div_floor(ten_to(10));
                let bounds = Bounds { low: Integer::from(&middle - 1), high: middle + 2_u32, scale: precision };
                return if sign_at(lifted, &bounds.low, precision) * sign_at(lifted, &bounds.high, precision) < 0 {
                    Ok(bounds)
                } else {
                    Err(not_dominant)
                };
            }
        }
        before = Some((term, ratio));
    }
    Err(not_dominant)
}

/// The sign of the characteristic polynomial at x / 10^scale.
fn sign_at(lifted: &Lifted, x: &Integer, scale: u32) -> i32 {
    let ten = ten_to(scale);
    let (mut value, mut power) = (Integer::new(), Integer::from(1));
    for q in &lifted.q {
        value = value * x + Integer::from(q * &power);
        power *= &ten;
    }
    value.cmp0() as i32
}

/// a in interval arithmetic; `None` if an interval holds zero.
fn constant(lifted: &Lifted, lambda: &Bounds) -> Option<Bounds> {
    let scale = lambda.scale;
    let ten = ten_to(scale);
    let square = ten_to(2 * scale);
    // y = 1 / lambda, times 10^scale.
    let y = (Integer::from(&square).div_floor(&lambda.high), square.div_ceil(&lambda.low));
    // All y are positive: the product of an interval with y takes its ends by their signs.
    let times = |(low, high): (Integer, Integer)| {
        let low = if low.is_negative() { low * &y.1 } else { low * &y.0 };
        let high = if high.is_negative() { high * &y.0 } else { high * &y.1 };
        (low.div_floor(&ten), high.div_ceil(&ten))
    };
    let at_y = |coefficients: &mut dyn Iterator<Item = Integer>| {
        coefficients.fold((Integer::new(), Integer::new()), |sum, c| {
            let (low, high) = times(sum);
            let c = c * &ten;
            (low + &c, high + c)
        })
    };
    let p = at_y(&mut lifted.p.iter().rev().cloned());
    let derivative = (1_u32..).zip(lifted.q.iter().skip(1)).map(|(i, q)| Integer::from(q * i)).collect::<Vec<_>>();
    let slope = at_y(&mut derivative.into_iter().rev());
    // -P(y) lambda / Q'(y) / lambda^first: P is positive and Q falls through its first root.
    if p.0 <= 0 || slope.1 >= 0 {
        return None;
    }
    let (least, most) = (Integer::from(-&slope.1), Integer::from(-&slope.0));
    let shown = ten_to(SCALE);
    let (mut low, mut high) = ((p.0 * &shown).div_floor(most), (p.1 * &shown).div_ceil(least));
    if lifted.first == 0 {
        low = (low * &lambda.low).div_floor(&ten);
        high = (high * &lambda.high).div_ceil(&ten);
    } else {
        let power = lifted.first - 1;
        low = (low * ten.clone().pow(power)).div_floor(lambda.high.clone().pow(power));
        high = (high * ten.clone().pow(power)).div_ceil(lambda.low.clone().pow(power));
    }
    Some(Bounds { low, high, scale: SCALE })
}
