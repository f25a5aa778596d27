//! A count against an estimate, in exact arithmetic.
//!
//! The estimate is a product of decimal constants to integer powers, hence a fraction of integers N / D with D a power
//! of ten. |count / estimate - 1| = |count D - N| / N is compared with the tolerance, itself an exact fraction: no
//! rounding stands between a count and its check, and no fraction is reduced. Cost: a few products of integers of at most
//! [`Formula::MOST_DIGITS`] digits.

use keima_model::{Decimal, Formula};
use keima_residue::{Integer, Rational};

/// How a count compares with its estimate.
pub(super) struct Comparison {
    /// count / estimate - 1, rounded.
    pub(super) error: f64,
    /// Whether its exact size is within the tolerance.
    pub(super) accepted: bool,
}

/// Compares `count` with `formula`. The error says what is wrong with the formula.
pub(super) fn relative_error(formula: &Formula, count: &Integer) -> Result<Comparison, String> {
    let most = Formula::MOST_DIGITS;
    if Formula::digits(&formula.factors) > most {
        return Err(format!("its powers have more than {most} digits"));
    }
    let mut numerator = Integer::from(1);
    let mut places = 0;
    for (decimal, exponent) in &formula.factors {
        let (digits, decimals) = parse(decimal)?;
        numerator *= power(digits, *exponent);
        places += decimals * exponent;
    }
    if numerator == 0 {
        return Err("the estimate is 0".into());
    }
    let tolerance = Rational::from_f64(formula.tolerance)
        .ok_or_else(|| format!("expected a number as the tolerance, got {}", formula.tolerance))?;
    let difference = count * power(Integer::from(10), places) - &numerator;
    let error = quotient(&difference, &numerator);
    let (tolerated, parts) = tolerance.into_numer_denom();
    Ok(Comparison { error, accepted: difference.abs() * parts <= numerator * tolerated })
}

/// count / estimate - 1, rounded; `None` for a formula that makes no sense.
pub fn formula_error(formula: &Formula, count: &Integer) -> Option<f64> {
    relative_error(formula, count).ok().map(|comparison| comparison.error)
}

/// `a / b`, rounded.
fn quotient(a: &Integer, b: &Integer) -> f64 {
    let ((a, a_exponent), (b, b_exponent)) = (a.to_f64_exp(), b.to_f64_exp());
    let exponent = i64::from(a_exponent) - i64::from(b_exponent);
    // Beyond these a double has no room.
    a / b * 2.0_f64.powi(exponent.clamp(-1100, 1100) as i32)
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
