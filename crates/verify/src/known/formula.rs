//! Go's asymptotic formula A B^(m+n) L^(mn), from the paper of Tromp and Farneback, in exact fractions.
//!
//! How far a count may lie from it: four times the sum of three measured errors. For boards of m rows they are d(m) and
//! d(n) at the sides, and e(m) a column; the values are from the paper's table 2 and from exact series.

use keima_residue::{Integer, Rational};

/// A constant of the formula, as its digits and how many of them stand behind the point.
struct Decimal {
    digits: &'static str,
    decimals: u32,
}

const A: Decimal = Decimal { digits: "08506399258457145", decimals: 16 };
const B: Decimal = Decimal { digits: "096553505933837387", decimals: 17 };
const L: Decimal = Decimal { digits: "2975734192043357249381", decimals: 21 };

/// d(m) from m = 1; the last one for all larger m.
const SIDE: [f64; 16] = [
    1.55e-1, 2.14e-2, 1.62e-3, 5.83e-4, 3.51e-5, 3.54e-6, 6.41e-7, 1.20e-8, 5.39e-9, 4.66e-10, 2.29e-11, 5.9e-12,
    1.2e-13, 5.3e-14, 4.1e-15, 4e-16,
];
/// e(m) from m = 1; the last one for all larger m.
const COLUMN: [f64; 11] =
    [3.62e-2, 1.89e-3, 1.21e-4, 1.13e-5, 5.8e-9, 2.27e-8, 9.6e-11, 4.6e-11, 3.2e-13, 1.3e-13, 1.7e-15];
/// Above this tolerance the formula says nothing.
const USELESS: f64 = 0.5;
/// Most points: more digits would take too long.
const MOST_POINTS: u32 = 40_000;

/// Whether a count agrees; `None` where the formula says nothing.
pub(crate) fn agrees(height: u32, length: u32, count: &Integer) -> Option<Result<(), String>> {
    let (m, n) = (height.min(length), height.max(length));
    let points = m.checked_mul(n).filter(|&points| points > 0 && points <= MOST_POINTS)?;
    let of = |table: &[f64], side: u32| table[(side as usize).clamp(1, table.len()) - 1];
    let measured = of(&SIDE, m) + of(&SIDE, n) + f64::from(n) * of(&COLUMN, m);
    // The constants' own digits.
    let tolerance = 4.0 * measured + 1e-15 + 1e-17 * f64::from(m + n) + 1e-21 * f64::from(points);
    if tolerance > USELESS {
        return None;
    }
    // Exact fractions of a count of another length would take long, and say nothing more.
    let [a, b, l] = [A, B, L].map(|Decimal { digits, decimals }| {
        digits.parse().map_or(0.0, |number: f64| number.log2() - f64::from(decimals) * std::f64::consts::LOG2_10)
    });
    let (expected, got) = (a + f64::from(m + n) * b + f64::from(points) * l + 1.0, f64::from(count.significant_bits()));
    if (got - expected).abs() > 2.0 {
        return Some(Err(format!("expected a number of about {expected:.0} bits from the formula, got {got} bits")));
    }
    let estimate = power(A, 1)? * power(B, m + n)? * power(L, points)?;
    let error = (Rational::from(count) / estimate - 1_u32).abs();
    if error <= Rational::from_f64(tolerance)? {
        return Some(Ok(()));
    }
    let error = error.to_f64();
    Some(Err(format!("expected a relative difference of at most {tolerance:.1e} from the formula, got {error:.1e}")))
}

fn power(Decimal { digits, decimals }: Decimal, exponent: u32) -> Option<Rational> {
    let mut numerator = Integer::from(1);
    let digits: Integer = digits.parse().ok()?;
    // By squaring.
    for bit in (0..u32::BITS).rev() {
        numerator.square_mut();
        if exponent >> bit & 1 == 1 {
            numerator *= &digits;
        }
    }
    Some(Rational::from((numerator, Integer::from(Integer::u_pow_u(10, decimals.checked_mul(exponent)?)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_counts_agree_and_others_do_not() {
        for side in 2..=19 {
            for (m, n) in [(side, side), (side, side + 1)] {
                let count = crate::known::board("go", m, n).unwrap();
                assert_eq!(agrees(m, n, &count), Some(Ok(())), "{m}x{n}");
                if m > 4 {
                    let wrong = Integer::from(&count * 1001_u32) / 1000_u32;
                    assert!(matches!(agrees(m, n, &wrong), Some(Err(_))), "{m}x{n}");
                }
            }
        }
        assert_eq!(agrees(1, 1, &Integer::from(1)), None);
        for count in [Integer::new(), Integer::from(57), Integer::from(Integer::u_pow_u(3, 80_000))] {
            let far = agrees(200, 200, &count).unwrap().unwrap_err();
            assert!(far.contains("bits"), "{count}: {far}");
        }
    }
}
