//! A count against an estimate, in exact arithmetic.
//!
//! The estimate is a product of decimal constants to integer powers, hence a fraction of integers N / D with D a power
//! of ten. |count / estimate - 1| = |count D - N| / N is compared with the tolerance, itself an exact fraction: no
//! rounding stands between a count and its check. For 21x21 the integers have some 10,000 digits: microseconds.

use keima_model::{Decimal, Formula};
use keima_residue::{Integer, Rational};

/// Formulas whose exact value is longer than this are refused rather than computed for minutes.
const MOST_DIGITS: u32 = 1_000_000;

/// How a count compares with its estimate.
pub(super) struct Comparison {
    /// count / estimate - 1, rounded.
    pub(super) error: f64,
    /// Whether its exact size is within the tolerance.
    pub(super) accepted: bool,
}

/// Compares `count` with `formula`; `Err` says what is wrong with the formula.
pub(super) fn relative_error(formula: &Formula, count: &Integer) -> Result<Comparison, String> {
    let mut numerator = Integer::from(1);
    let (mut places, mut digits_left) = (0, MOST_DIGITS);
    for (decimal, exponent) in &formula.factors {
        let length = u32::try_from(decimal.0.len()).ok().and_then(|length| length.checked_mul(*exponent));
        digits_left = length
            .and_then(|length| digits_left.checked_sub(length))
            .ok_or_else(|| format!("its powers have more than {MOST_DIGITS} digits"))?;
        let (digits, decimals) = parse(decimal)?;
        numerator *= power(digits, *exponent);
        places += decimals * exponent;
    }
    if numerator == 0 {
        return Err("the estimate is 0".into());
    }
    let tolerance = Rational::from_f64(formula.tolerance)
        .ok_or_else(|| format!("expected a number as the tolerance, got {}", formula.tolerance))?;
    let scaled = count * power(Integer::from(10), places);
    let error = Rational::from((scaled - &numerator, numerator));
    Ok(Comparison { error: error.to_f64(), accepted: error.abs() <= tolerance })
}

/// `"2.97"` as (297, 2).
fn parse(decimal: &Decimal) -> Result<(Integer, u32), String> {
    let bad = || format!("expected a decimal constant, got {:?}", decimal.0);
    let (whole, fraction) = decimal.0.split_once('.').unwrap_or((&decimal.0, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    Ok((digits.parse().map_err(|_| bad())?, u32::try_from(fraction.len()).map_err(|_| bad())?))
}

/// `base ^ exponent` by squaring.
fn power(mut base: Integer, mut exponent: u32) -> Integer {
    let mut power = Integer::from(1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power *= &base;
        }
        exponent >>= 1;
        if exponent > 0 {
            base.square_mut();
        }
    }
    power
}
