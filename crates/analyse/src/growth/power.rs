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
    /// Wide: a term of index 2^64 has more than 2^63 digits.
    exponent: i128,
}

impl Floating {
    fn of(bounds: &Bounds) -> Self {
        Self { low: bounds.low.clone(), high: bounds.high.clone(), exponent: -i128::from(bounds.scale) }.cut()
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
        let exponent = self.exponent + i128::from(length - KEPT);
        Self { low: self.low.div_floor(&unit), high: self.high.div_ceil(&unit), exponent }
    }
}

/// Number of decimal digits of the whole part of a lambda^n (1 +- 2^-rest), and its first digits, at most `most`: those on
/// which both bounds agree. `None` if they agree in none, or the number is below 1. Without `rest` it is a lambda^n alone.
pub fn first_digits(a: &Bounds, lambda: &Bounds, n: u64, most: usize, rest: Option<u32>) -> Option<(u128, String)> {
    let mut power = power(a, lambda, n);
    if let Some(bits) = rest {
        power.low -= Integer::from(&power.low >> bits) + 1_u32;
        power.high += Integer::from(&power.high >> bits) + 1_u32;
    }
    let (low, high) = (power.low.to_string(), power.high.to_string());
    if low.len() != high.len() || power.low <= 0 {
        return None;
    }
    let digits = u128::try_from(low.len() as i128 + power.exponent).ok().filter(|&digits| digits > 0)?;
    let same: String = low.chars().zip(high.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).take(most).collect();
    (!same.is_empty()).then_some((digits, same))
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
            assert_eq!(digits, expected.len() as u128, "{n}");
            assert!(
                first.len() >= expected.len().min(40) && first.starts_with(&expected[..expected.len().min(40)]),
                "{n}"
            );
        }
        // Bounds on both sides of a power of ten agree in no digit.
        let around = Bounds { low: ten_to(31) - Integer::from(1), high: ten_to(31) + Integer::from(1), scale: 30 };
        assert_eq!(first_digits(&exactly(1), &around, 1000, 9, None), None);
        let wide = Bounds { low: Integer::from(10), high: Integer::from(99), scale: 1 };
        assert_eq!(first_digits(&wide, &wide, 3, 9, None), None);
        // 7 (1 +- 1/8) is 6.1 to 7.9, 77 (1 +- 1/256) is 76.6 to 77.4.
        for (value, bits, expected) in [(7, 3, None), (77, 8, Some((2, "7"))), (75, 8, Some((2, "7")))] {
            let got = first_digits(&exactly(value), &exactly(1), 5, 9, Some(bits));
            assert_eq!(got.as_ref().map(|(digits, first)| (*digits, first.as_str())), expected, "{value}");
        }
    }

    /// floor(n log10 b) + 1, by a program that has 80 digits.
    #[test]
    fn numbers_of_digits_go_beyond_64_bits() {
        let exactly = |value: u64| Bounds { low: ten_to(30) * value, high: ten_to(30) * value, scale: 30 };
        for (base, n, digits) in [
            (2, 1 << 63, 2_776_511_644_261_678_567),
            (10, u64::MAX, 1 << 64),
            (1_000_000_000_000, u64::MAX, 12 * u128::from(u64::MAX) + 1),
            (3, u64::MAX, 8_801_333_677_940_798_499),
        ] {
            let got = first_digits(&exactly(1), &exactly(base), n, 9, None).map(|(digits, _)| digits);
            assert_eq!(got, Some(digits), "{base}^{n}");
        }
    }
}
