//! How far a lambda^n lies from L(n), so that the first digits of far terms are certain.
//!
//! ```text
//!   |L(n) - a lambda^n| <= a lambda^n 2^-b(n),   b(n) = gap m - r log2(m + r) - loss,   m = n - first
//! ```
//!
//! From the states, the bound of a at the last column that was counted holds for all later columns: gap and r are 0 there.
//! From a recurrence P/Q of order r, with rho above all other roots, Q = (1 - lambda x) S and c = a lambda^first:
//!
//! ```text
//!   P/Q = c / (1 - lambda x) + R/S,                         R = (P - c S) / (1 - lambda x)
//!   1/S has coefficients of at most (m + r)^r rho^m:        complete symmetric polynomials of r - 1 roots
//!   |R(j)| <= 2 r^2 max(1, lambda)^(2r) 2^M max(1, c):      where M bits hold each coefficient of P and Q
//!   gap  = log2(lambda / rho)
//!   loss = 2 + 3 log2(r) + M + log2 max(1, 1/c) + 2 r log2 max(1, lambda)
//! ```
//!
//! rho, at least 1: k root squarings (Graeffe), then Pellet's test with the least whole s = |c(r-1)| / 2^i that passes
//!
//! ```text
//!   |c(r-1)| s^(r-1) > s^r + sum over i < r-1 of |c(i)| s^i     =>   r - 1 roots z have |z|^(2^k) < s
//! ```
//!
//! Cost: k products of polynomials, and some evaluations for s.

use rug::Integer;

use super::decimal::Bounds;
use crate::polynomial::{mirrored, product};
use crate::recurrence::Lifted;

/// Most root squarings.
const SQUARINGS: i32 = 10;
/// Orders up to which all other roots are bounded.
const MOST_ORDER: usize = 400;
/// Most bits that are told.
const MOST_BITS: f64 = 1000.0;
/// What the rounding of logarithms may do to a gap.
const ROUNDING: f64 = 1e-11;

/// A bound on |L(n) - a lambda^n|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// Index from which it holds.
    from: u64,
    /// Index of the first term.
    first: u64,
    gap: f64,
    order: f64,
    loss: f64,
}

impl Rest {
    /// The same bound for all terms from one on: |L(n) - a lambda^n| <= a lambda^n q / 10^scale.
    pub(super) fn from_column(from: u64, q: &Integer, scale: u32) -> Self {
        let loss = log2(&Integer::from(q + 1_u32)) - f64::from(scale) * 10_f64.log2();
        Self { from, first: 0, gap: 0.0, order: 0.0, loss }
    }
    /// Bits b with |L(n) - a lambda^n| <= a lambda^n 2^-b; `None` if that says nothing of this term.
    pub fn bits(&self, n: u64) -> Option<u32> {
        let m = n.checked_sub(self.first).filter(|_| n >= self.from)? as f64;
        // A bit more than needed, for the rounding here.
        let bits = self.gap * m - self.order * (m + self.order + 1.0).log2() - self.loss - 1.0;
        (bits >= 1.0).then_some(bits.min(MOST_BITS) as u32)
    }
    /// From a recurrence; `None` if it is not proved that one root is larger than all others, or if that is not lambda.
    pub(super) fn of_recurrence(lifted: &Lifted, a: &Bounds, lambda: &Bounds) -> Option<Self> {
        let order = lifted.order();
        let first = u64::from(lifted.first);
        if order == 1 {
            // There are no other roots: a lambda^n is L(n).
            return Some(Self { from: first, first, gap: 0.0, order: 0.0, loss: -MOST_BITS - 1.0 });
        }
        let log_rho = log_of_others(&lifted.q)?;
        let of = |bounds: &Bounds| log2(&bounds.low) - f64::from(bounds.scale) * 10_f64.log2();
        let (log_a, log_lambda) = (of(a), of(lambda));
        let gap = log_lambda - log_rho - ROUNDING * (1.0 + log_lambda.abs() + log_rho.abs());
        let bits = lifted.p.iter().chain(&lifted.q).map(Integer::significant_bits).max().unwrap_or(0);
        let r = order as f64;
        let positive = |log: f64| log.max(0.0);
        let loss = 2.0
            + 3.0 * r.log2()
            + f64::from(bits)
            + positive(-log_a - first as f64 * log_lambda)
            + 2.0 * r * positive(log_lambda);
        (gap > 0.0).then_some(Self { from: first + order as u64, first, gap, order: r, loss })
    }
}

/// log2 of a bound on all roots of a characteristic polynomial but one, from its highest coefficient down, which is 1.
fn log_of_others(q: &[Integer]) -> Option<f64> {
    if q.len() > MOST_ORDER + 1 {
        return None;
    }
    // Squarings keep the order of the coefficients.
    let mut q = q.to_vec();
    for squarings in 0..=SQUARINGS {
        if let Some(radius) = least_radius(&q) {
            return Some(log2(&radius) / f64::from(squarings).exp2());
        }
        let mirrored = mirrored(&q);
        q = product(&q, &mirrored).into_iter().step_by(2).collect();
    }
    None
}

/// The least of the radii |q1| / 2, |q1| / 4, ... that passes Pellet's test. Those that pass follow on one another.
fn least_radius(q: &[Integer]) -> Option<Integer> {
    let second = Integer::from(q.get(1)?.abs_ref());
    let radius = |shift: u32| Integer::from(&second >> shift);
    let passes = |shift: u32| pellet(q, &radius(shift));
    let mut shift = 1;
    if !passes(shift) {
        return None;
    }
    let mut step = 1;
    while passes(shift + step) {
        shift += step;
        step *= 2;
    }
    while step > 0 {
        shift += if passes(shift + step) { step } else { 0 };
        step /= 2;
    }
    Some(radius(shift))
}

/// Pellet's test for one root outside a radius.
fn pellet(q: &[Integer], radius: &Integer) -> bool {
    let [one, first, rest @ ..] = q else { return false };
    if *radius == 0 {
        return false;
    }
    // Divided by s^(r-1): |q1| - s > sum of |q(i)| / s^(i-1); times s^(r-1) again by Horner.
    let (mut left, mut right) = (Integer::from(first.abs_ref()) - Integer::from(radius * one), Integer::new());
    for c in rest {
        left *= radius;
        right = right * radius + Integer::from(c.abs_ref());
    }
    left > right
}

/// The logarithm of a positive number.
pub(crate) fn log2(x: &Integer) -> f64 {
    let (mantissa, exponent) = x.to_f64_exp();
    mantissa.log2() + f64::from(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::power::first_digits;
    use crate::growth::root;

    /// 1, -c1, ..., -cr and the first r terms, from index 0 on.
    fn lifted(q: &[i64], terms: &[i64]) -> Lifted {
        let q: Vec<Integer> = q.iter().map(|&c| c.into()).collect();
        let p = (0..terms.len()).map(|n| (0..=n).map(|i| Integer::from(&q[i] * terms[n - i])).sum()).collect();
        Lifted { first: 0, q, p, primes_used: 1, fresh_prime: 2, fresh_terms: 0 }
    }

    #[test]
    fn one_root_is_larger_or_not() {
        // Highest coefficient first; a bound on the others, if there is one, and how close it must come.
        for (coefficients, expected) in [
            (&[1, -3, 2][..], Some(1.0_f64)), // 1, 2
            (&[1, -39, 380], Some(19.0)),     // 19, 20
            (&[1, 0, -1], None),              // 1, -1
            (&[1, -2, 1], None),              // 1 twice
            (&[1, -1, -1], Some(1.0)),        // Fibonacci
            (&[1, -3, 1, -1], Some(1.0)),     // go 1
            (&[1, -2, 2, -1], None),          // 1 and two of absolute value 1
            (&[1, -1_000_000, 0, 1], Some(1.0)),
        ] {
            let q: Vec<Integer> = coefficients.iter().map(|&c: &i64| Integer::from(c)).collect();
            let got = log_of_others(&q);
            let fits = match (got, expected) {
                (Some(got), Some(expected)) => (expected.log2()..expected.log2() + 1.0).contains(&got),
                (got, expected) => got.is_none() && expected.is_none(),
            };
            assert!(fits, "{coefficients:?}: {got:?}, expected {expected:?}");
        }
    }

    #[test]
    fn first_digits_within_the_bound_are_those_of_the_term() {
        for (name, q, terms) in [
            ("20^n + 19^n", &[1, -39, 380][..], &[2, 39][..]),
            ("2^n + 1", &[1, -3, 2], &[2, 3]),
            ("2^n", &[1, -2], &[1]),
            ("Fibonacci", &[1, -1, -1], &[1, 1]),
            ("go 1", &[1, -3, 1, -1], &[1, 1, 5]),
            ("5^n + n 3^n", &[1, -11, 39, -45], &[1, 8, 43]),
        ] {
            let lifted = lifted(q, terms);
            let found = root::root(&lifted).unwrap();
            let rest = found.rest.unwrap();
            let mut told = 0;
            for (n, term) in (0_u64..4000).zip(lifted.terms()) {
                let Some(bits) = rest.bits(n) else { continue };
                let Some((digits, first)) = first_digits(&found.a, &found.lambda, n, 40, Some(bits)) else { continue };
                let term = term.to_string();
                assert_eq!(digits, term.len() as u128, "{name}, {n}");
                assert!(
                    term.starts_with(&first[..first.len().min(term.len())]),
                    "{name}, {n}: {term}, {first}, {bits} bits"
                );
                told += 1;
            }
            // Most terms are told something, and the last ones much.
            assert!(told > 2000 && rest.bits(1_000_000) == Some(1000), "{name}: {told}, {rest:?}");
        }
    }
}
