//! First digits and number of digits of a lambda^n for large n, with proved bounds.
//!
//! ```text
//!   a number is (low .. high) 10^e; after each product both ends keep 90 digits, the lower rounded down, the upper up
//! ```
//!
//! Cost: two products of 90 digits per bit of n.

use rug::Integer;
use rug::ops::DivRounding;

use super::decimal::{Bounds, ten_to};

/// Digits that are kept.
const KEPT: u32 = 90;

/// Bounds of a positive number, times 10^exponent.
#[derive(Clone, Debug)]
struct Floating {
    low: Integer,
    high: Integer,
    exponent: i64,
}

impl Floating {
    fn of(bounds: &Bounds) -> Self {
        Self { low: bounds.low.clone(), high: bounds.high.clone(), exponent: -i64::from(bounds.scale) }.cut()
    }
    fn times(&self, other: &Self) -> Self {
        let (low, high) = (Integer::from(&self.low * &other.low), Integer::from(&self.high * &other.high));
        Self { low, high, exponent: self.exponent + other.exponent }.cut()
    }
    fn cut(self) -> Self {
        let length = self.high.to_string().len() as u32;
        if length <= KEPT {
            return self;
        }
        let unit = ten_to(length - KEPT);
        let exponent = self.exponent + i64::from(length - KEPT);
        Self { low: self.low.div_floor(&unit), high: self.high.div_ceil(&unit), exponent }
    }
}

/// Number of decimal digits of floor(a lambda^n), and its first digits, at most `most`: those on which both bounds agree.
/// `None` if they agree in none, or the number is below 1.
pub fn first_digits(a: &Bounds, lambda: &Bounds, n: u64, most: usize) -> Option<(u64, String)> {
    let mut power = Floating::of(a);
    let mut square = Floating::of(lambda);
    let mut rest = n;
    while rest > 0 {
        if rest & 1 == 1 {
            power = power.times(&square);
        }
        square = square.times(&square);
        rest >>= 1;
    }
    let (low, high) = (power.low.to_string(), power.high.to_string());
    if low.len() != high.len() || power.low <= 0 {
        return None;
    }
    let digits = u64::try_from(low.len() as i64 + power.exponent).ok().filter(|&digits| digits > 0)?;
    let same: String = low.chars().zip(high.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).take(most).collect();
    (!same.is_empty()).then_some((digits, same))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_three_have_their_first_digits() {
        let exactly = |value: u32| Bounds { low: ten_to(30) * value, high: ten_to(30) * value, scale: 30 };
        for n in [0, 1, 2, 100, 1000, 4321] {
            let expected = (Integer::from(Integer::u_pow_u(3, n)) * 7_u32).to_string();
            let (digits, first) = first_digits(&exactly(7), &exactly(3), n.into(), 40).unwrap();
            assert_eq!(digits, expected.len() as u64, "{n}");
            assert!(
                first.len() >= expected.len().min(40) && first.starts_with(&expected[..expected.len().min(40)]),
                "{n}"
            );
        }
        let wide = Bounds { low: Integer::from(10), high: Integer::from(99), scale: 1 };
        assert_eq!(first_digits(&wide, &wide, 3, 9), None);
    }
}
