//! First digits and number of digits of L(n) = a lambda^n (1 +- 2^-b) for large n, with proved bounds.
//!
//! ```text
//!   a number is (low .. high) 10^e; after each product both ends keep 90 digits, the lower rounded down, the upper up
//!   the last bounds are widened by what the other roots add
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

/// Number of decimal digits of the whole part of a lambda^n (1 +- 2^-rest), and its first digits, at most `most`: those on
/// which both bounds agree. `None` if they agree in none, or the number is below 1. Without `rest` it is a lambda^n alone.
pub fn first_digits(a: &Bounds, lambda: &Bounds, n: u64, most: usize, rest: Option<u32>) -> Option<(u64, String)> {
    let mut power = power(a, lambda, n);
    if let Some(bits) = rest {
        power.low -= Integer::from(&power.low >> bits) + 1_u32;
        power.high += Integer::from(&power.high >> bits) + 1_u32;
    }
    let (low, high) = (power.low.to_string(), power.high.to_string());
    if low.len() != high.len() || power.low <= 0 {
        return None;
    }
    let digits = u64::try_from(low.len() as i64 + power.exponent).ok().filter(|&digits| digits > 0)?;
    let same: String = low.chars().zip(high.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).take(most).collect();
    (!same.is_empty()).then_some((digits, same))
}

/// A bound on the number of decimal digits of a lambda^n.
pub fn most_digits(a: &Bounds, lambda: &Bounds, n: u64) -> u64 {
    let power = power(a, lambda, n);
    u64::try_from(power.high.to_string().len() as i64 + power.exponent).unwrap_or(0).max(1)
}

fn power(a: &Bounds, lambda: &Bounds, n: u64) -> Floating {
    let mut power = Floating::of(a);
    let mut square = Floating::of(lambda);
    let mut left = n;
    while left > 0 {
        if left & 1 == 1 {
            power = power.times(&square);
        }
        square = square.times(&square);
        left >>= 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_three_have_their_first_digits() {
        let exactly = |value: u32| Bounds { low: ten_to(30) * value, high: ten_to(30) * value, scale: 30 };
        for n in [0, 1, 2, 100, 1000, 4321] {
            let expected = (Integer::from(Integer::u_pow_u(3, n)) * 7_u32).to_string();
            let (digits, first) = first_digits(&exactly(7), &exactly(3), n.into(), 40, None).unwrap();
            assert_eq!(digits, expected.len() as u64, "{n}");
            assert!(
                first.len() >= expected.len().min(40) && first.starts_with(&expected[..expected.len().min(40)]),
                "{n}"
            );
        }
        // Bounds on both sides of a power of ten agree in no digit, and still bound their number.
        let around = Bounds { low: ten_to(31) - Integer::from(1), high: ten_to(31) + Integer::from(1), scale: 30 };
        assert_eq!(first_digits(&exactly(1), &around, 1000, 9, None), None);
        assert_eq!(most_digits(&exactly(1), &around, 1000), 1001);
        let wide = Bounds { low: Integer::from(10), high: Integer::from(99), scale: 1 };
        assert_eq!(first_digits(&wide, &wide, 3, 9, None), None);
        // 7 (1 +- 1/8) is 6.1 to 7.9, 77 (1 +- 1/256) is 76.6 to 77.4.
        for (value, bits, expected) in [(7, 3, None), (77, 8, Some((2, "7"))), (75, 8, Some((2, "7")))] {
            let got = first_digits(&exactly(value), &exactly(1), 5, 9, Some(bits));
            assert_eq!(got.as_ref().map(|(digits, first)| (*digits, first.as_str())), expected, "{value}");
        }
    }
}
