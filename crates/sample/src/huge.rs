//! Numbers far beyond the range of a float: a float times a power of two.
//!
//! 3^40000 has 63,399 bits; the exponent here has 64. The precision is that of a float, 53 bits.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Mul};

/// Beyond this difference of exponents the smaller number is below the precision of the larger one.
const NEGLIGIBLE: i64 = 64;

/// A number that is not negative: `mantissa * 2^exponent`, with the mantissa in 1..2, or 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Huge {
    mantissa: f64,
    exponent: i64,
}

impl Huge {
    /// Nothing.
    pub const ZERO: Self = Self { mantissa: 0.0, exponent: 0 };

    /// The number `value * 2^exponent`. What is negative, infinite or no number counts as 0.
    pub fn new(value: f64, exponent: i64) -> Self {
        if !value.is_finite() || value <= 0.0 {
            return Self::ZERO;
        }
        // Lifts subnormal numbers, which have no exponent of their own.
        let (value, lifted) = if value < f64::MIN_POSITIVE { (value * 2_f64.powi(64), 64) } else { (value, 0) };
        let bits = value.to_bits();
        let own = (bits >> 52) as i64 - 1023;
        let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
        Self { mantissa, exponent: exponent.saturating_add(own - lifted) }
    }

    /// `base` to the power of `exponent`, for a positive base.
    pub fn power(base: f64, exponent: u64) -> Self {
        // Squares, so that no error of a logarithm is multiplied.
        let (mut result, mut square, mut left) = (Self::new(1.0, 0), Self::new(base, 0), exponent);
        while left > 0 {
            if left & 1 == 1 {
                result = result * square;
            }
            square = square * square;
            left >>= 1;
        }
        result
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.mantissa == 0.0
    }

    /// The float nearest to it: 0 or infinity where it is out of range.
    pub fn to_f64(self) -> f64 {
        let exponent = self.exponent.clamp(-1100, 1100) as i32;
        // In two steps, since 2^-1074 is the least float.
        self.mantissa * 2_f64.powi(exponent / 2) * 2_f64.powi(exponent - exponent / 2)
    }

    /// Its decimal logarithm; minus infinity for 0.
    pub fn log10(self) -> f64 {
        self.mantissa.log10() + self.exponent as f64 * std::f64::consts::LOG10_2
    }

    /// Its binary logarithm; minus infinity for 0.
    pub fn log2(self) -> f64 {
        self.mantissa.log2() + self.exponent as f64
    }

    /// Its square root.
    #[must_use]
    pub fn sqrt(self) -> Self {
        let odd = self.exponent.rem_euclid(2);
        Self::new((self.mantissa * 2_f64.powi(odd as i32)).sqrt(), (self.exponent - odd) / 2)
    }

    /// The difference, or 0 where `other` is not smaller.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let shift = self.exponent.saturating_sub(other.exponent);
        if other.is_zero() || shift > NEGLIGIBLE {
            return self;
        }
        if shift < -1 {
            return Self::ZERO;
        }
        Self::new(self.mantissa - other.mantissa * 2_f64.powi(-shift as i32), self.exponent)
    }

    /// The quotient; 0 for `other` = 0.
    #[must_use]
    pub fn divided_by(self, other: Self) -> Self {
        Self::new(self.mantissa / other.mantissa, self.exponent.saturating_sub(other.exponent))
    }

    /// The quotient as a float: infinite for `other` = 0.
    pub fn over(self, other: Self) -> f64 {
        let exponent = self.exponent.saturating_sub(other.exponent);
        if self.is_zero() {
            return 0.0;
        }
        Self::new(self.mantissa / other.mantissa, exponent).to_f64()
    }
}

impl From<u64> for Huge {
    fn from(value: u64) -> Self {
        Self::new(value as f64, 0)
    }
}

impl Add for Huge {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (large, small) = if other > self { (other, self) } else { (self, other) };
        let shift = large.exponent.saturating_sub(small.exponent);
        if small.is_zero() || shift > NEGLIGIBLE {
            return large;
        }
        Self::new(large.mantissa + small.mantissa * 2_f64.powi(-shift as i32), large.exponent)
    }
}

impl AddAssign for Huge {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul for Huge {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.mantissa * other.mantissa, self.exponent.saturating_add(other.exponent))
    }
}

impl PartialOrd for Huge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self.is_zero() || other.is_zero() {
            return self.mantissa.partial_cmp(&other.mantissa);
        }
        Some(self.exponent.cmp(&other.exponent).then(self.mantissa.total_cmp(&other.mantissa)))
    }
}

/// In decimal with as many digits as the format's precision after the point (3 by default): `2.082e170`.
impl fmt::Display for Huge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(3);
        if self.is_zero() {
            return f.write_str("0");
        }
        let log = self.log10();
        let mut exponent = log.floor();
        let mut text = format!("{:.digits$}", 10_f64.powf(log - exponent));
        if text.starts_with("10") {
            exponent += 1.0;
            text = format!("{:.digits$}", 1.0);
        }
        write!(f, "{text}e{exponent}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_agrees_with_floats() {
        for (a, b) in
            [(1.0, 1.0), (3.5, 0.25), (1e300, 1e290), (1e-300, 2e-300), (5e-324, 7.0), (6.0, 5.999), (2.0, 0.0)]
        {
            let (x, y) = (Huge::new(a, 0), Huge::new(b, 0));
            let close = |got: f64, expected: f64| (got - expected).abs() <= expected.abs() * 1e-14;
            assert!(close((x + y).to_f64(), a + b), "{a} + {b}");
            assert!(close(x.minus(y).to_f64(), (a - b).max(0.0)), "{a} - {b}");
            assert!(close(y.minus(x).to_f64(), (b - a).max(0.0)), "{b} - {a}");
            assert!(b == 0.0 || close(x.over(y), a / b), "{a} / {b}");
            assert!(close(x.sqrt().to_f64(), a.sqrt()), "root of {a}");
            assert_eq!(x > y, a > b, "{a} > {b}");
        }
    }

    #[test]
    fn powers_and_digits() {
        for (base, exponent, text) in [
            (10.0, 5, "1.000e5"),
            (3.0, 361, "1.741e172"),
            (3.0, 40_000, "7.083e19084"),
            (0.5, 2, "2.500e-1"),
            (9.9996, 1, "1.000e1"),
        ] {
            assert_eq!(Huge::power(base, exponent).to_string(), text);
        }
        assert_eq!(format!("{:.1} {}", Huge::from(57), Huge::ZERO), "5.7e1 0");
        for wrong in [f64::NAN, f64::INFINITY, -1.0] {
            assert!(Huge::new(wrong, 3).is_zero());
        }
    }
}
