//! One far term of a series from its generating function (Bostan, Mori 2021).
//!
//! ```text
//!   [x^N] P(x)/Q(x) = [x^N] P(x) Q(-x) / (Q(x) Q(-x)),  whose denominator has even powers only: halve N
//! ```
//!
//! Q(0) = 1, so that it works modulo any number and needs no inverse. Cost: two products of polynomials per bit of N.
//!
//! An exact term is one modulo a power of two that is above it ([`most_bits`]):
//!
//! ```text
//!   1 = |q1|/R + |q2|/R^2 + ...    =>    |[x^n] 1/Q| <= R^n    =>    |[x^n] P/Q| <= (|p0| + |p1| + ...) R^n,  R >= 1
//! ```
//!
//! After k halvings of n the same holds for other polynomials, whose R is much closer to the 2^k-th power of the largest root.
//!
//! A product of different primes below 2^60 needs no integers at all: the recurrence is found modulo each, and the Chinese
//! remainder theorem puts the terms together. Cost: a search per prime, and trial division, 2^30 divisions at most.

use keima_residue::{crt, is_prime};
use rug::Integer;
use rug::ops::RemRounding;

use crate::graph::lanes::MODULUS_LIMIT;
use crate::growth::log2;
use crate::polynomial::{mirrored, product};
use crate::recurrence::lift::modulo_prime;
use crate::recurrence::{Lifted, Source};

/// The term of index `n` modulo `modulus`, from 0 on; `None` if the series begins later or coefficients are fractions.
pub fn modulo(lifted: &Lifted, n: &Integer, modulus: &Integer) -> Option<Integer> {
    let mut n = Integer::from(n - lifted.first);
    if n.is_negative() || lifted.denominator() != 1 {
        return None;
    }
    let reduce = |c: Vec<Integer>| -> Vec<Integer> { c.into_iter().map(|c| c.rem_euc(modulus)).collect() };
    let (mut p, mut q) = (reduce(lifted.p.clone()), reduce(lifted.q.clone()));
    while n != 0 {
        let (half_p, half_q) = halved(&p, &q, n.is_odd());
        (p, q) = (reduce(half_p), reduce(half_q));
        n >>= 1;
    }
    // Q(0) stays 1.
    Some(p.into_iter().next().unwrap_or_default())
}

/// P and Q for half of n.
fn halved(p: &[Integer], q: &[Integer], is_odd: bool) -> (Vec<Integer>, Vec<Integer>) {
    let mirrored = mirrored(q);
    let half = |c: &[Integer], from: usize| product(c, &mirrored).into_iter().skip(from).step_by(2).collect();
    (half(p, usize::from(is_odd)), half(q, 0))
}

/// Bits of the polynomials up to which n is halved for a bound on a term.
const HALVED_BITS: usize = 1 << 27;
/// What the rounding of logarithms may do to a sum of powers.
const ROUNDING: f64 = 1e-6;

/// Bits that hold the absolute value of the term of index `n`: a bound that is proved, and close for large n. `None` if the series
/// begins later or coefficients are fractions.
pub fn most_bits(lifted: &Lifted, n: &Integer) -> Option<f64> {
    let mut n = Integer::from(n - lifted.first);
    if n.is_negative() || lifted.denominator() != 1 {
        return None;
    }
    let (mut p, mut q) = (lifted.p.clone(), lifted.q.clone());
    let mut least = f64::INFINITY;
    loop {
        let sum: Integer = p.iter().map(|c| Integer::from(c.abs_ref())).sum();
        let bits = f64::from(sum.significant_bits()) + n.to_f64() * log2_radius(&q) * (1.0 + 1e-12) + 1.0;
        least = least.min(bits);
        let longest = p.iter().chain(&q).map(Integer::significant_bits).max().unwrap_or(0);
        // Further halvings would cost as much as the term itself.
        if n == 0 || f64::from(longest) > least || q.len().saturating_mul(longest as usize) > HALVED_BITS {
            return Some(least);
        }
        (p, q) = halved(&p, &q, n.is_odd());
        n >>= 1;
    }
}

/// log2 of an R, at least 1, with |q1|/R + |q2|/R^2 + ... <= 1.
fn log2_radius(q: &[Integer]) -> f64 {
    let logs: Vec<(f64, f64)> = (1_u32..)
        .zip(q.iter().skip(1))
        .filter(|(_, c)| **c != 0)
        .map(|(i, c)| (f64::from(i), log2(&Integer::from(c.abs_ref()))))
        .collect();
    let fits = |log: f64| logs.iter().map(|(i, c)| (c - i * log).exp2()).sum::<f64>() <= 1.0 - ROUNDING;
    // Fujiwara: with twice the largest of these, the sum is below 1/2 + 1/4 + ...
    let mut low = logs.iter().map(|(i, c)| c / i).fold(0.0, f64::max);
    let mut high = low + 1.0 + ROUNDING;
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if fits(middle) { high = middle } else { low = middle }
    }
    if logs.is_empty() { 0.0 } else { high }
}

/// The term of index `n` of a series from 1 on modulo a product of different primes below 2^60; `None` if it is none, if the
/// terms do not suffice, or if the series begins later. `told` hears of the terms so far and the order, for each prime.
pub fn modulo_primes<S: Source + ?Sized>(
    source: &S,
    n: &Integer,
    modulus: u64,
    told: &dyn Fn(usize, usize),
) -> Option<Integer> {
    let residues = primes_of(modulus)?.into_iter().map(|prime| {
        let own = modulo_prime(source, prime, told)?;
        Some((prime, modulo(&own, n, &prime.into())?.to_u64()?))
    });
    crt(&residues.collect::<Option<Vec<_>>>()?).ok()
}

/// The primes whose product a number below 2^60 is; `None` if a square divides it, or for 0 and 1.
fn primes_of(number: u64) -> Option<Vec<u64>> {
    let mut rest = Some(number).filter(|number| (2..MODULUS_LIMIT).contains(number))?;
    let (mut primes, mut from) = (Vec::new(), 2);
    while rest > 1 {
        // What is no prime has a divisor up to its root.
        let divisor =
            if is_prime(rest) { rest } else { (from..=rest).find(|&divisor| rest.is_multiple_of(divisor))? };
        rest /= divisor;
        if rest.is_multiple_of(divisor) {
            return None;
        }
        primes.push(divisor);
        from = divisor + 1;
    }
    Some(primes)
}

/// The term itself, of either sign, if its absolute value is below 2^`bits`.
pub fn exact(lifted: &Lifted, n: &Integer, bits: u32) -> Option<Integer> {
    let modulus = Integer::from(1) << (bits + 1);
    let term = modulo(lifted, n, &modulus)?;
    Some(if term.significant_bits() > bits { term - modulus } else { term })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 5, 15, 41, 113: L(n) = 3 L(n-1) - L(n-2) + L(n-3).
    fn series() -> Lifted {
        let own = |c: &[i32]| c.iter().map(|&c| Integer::from(c)).collect::<Vec<_>>();
        let (q, p) = (own(&[1, -3, 1, -1]), own(&[1, 2, 1]));
        Lifted { first: 1, q, p, primes_used: 1, fresh_prime: 2, fresh_terms: 0 }
    }

    #[test]
    fn far_terms_are_those_of_the_recurrence() {
        let lifted = series();
        for (n, term) in (1..200_u32).zip(lifted.terms()) {
            let n = Integer::from(n);
            assert_eq!(exact(&lifted, &n, 400), Some(term.clone()), "{n}");
            for modulus in [1, 2, 10, 1_000_000_007] {
                assert_eq!(modulo(&lifted, &n, &modulus.into()), Some(Integer::from(&term % modulus)), "{n}");
            }
        }
        assert_eq!(exact(&lifted, &Integer::new(), 400), None);
    }

    /// Terms of either sign fit into their bits, which are not many more than they have.
    #[test]
    fn terms_fit_into_their_bits() {
        let of = |q: &[i64], p: &[i64]| {
            let own = |c: &[i64]| c.iter().map(|&c| Integer::from(c)).collect::<Vec<_>>();
            Lifted { first: 0, q: own(q), p: own(p), primes_used: 1, fresh_prime: 1_000_003, fresh_terms: 0 }
        };
        for (name, lifted, spare) in [
            ("go 1", series(), 1.02),
            ("zero", of(&[1], &[]), 1.0),
            ("5, 7, then zero", of(&[1, 0, 0], &[5, 7]), 1.0),
            ("n(n-1)/2", of(&[1, -3, 3, -1], &[0, 0, 1]), 1.0),
            ("n mod 3", of(&[1, 0, 0, -1], &[0, 1, 2]), 1.0),
            ("-3^n", of(&[1, -3], &[-1]), 1.02),
            ("(-3)^n", of(&[1, 3], &[1]), 1.02),
            ("1000^n + 999^n", of(&[1, -1999, 999_000], &[2, -1999]), 1.02),
            ("(1+i)^n + (1-i)^n", of(&[1, -2, 2], &[2, -2]), 1.1),
        ] {
            for (n, term) in (0_u32..).zip(lifted.terms().take(1001)) {
                let index = Integer::from(n + lifted.first);
                let bits = most_bits(&lifted, &index).unwrap();
                let own = f64::from(term.significant_bits());
                assert!(own <= bits, "{name}, {n}: {own} bits, bound {bits}");
                assert!(n < 1000 || bits <= own * spare + 40.0, "{name}, {n}: {own} bits, bound {bits}");
                assert_eq!(exact(&lifted, &index, bits as u32), Some(term), "{name}, {n}");
            }
        }
        // A bound where the term itself is out of reach: 3^n has n log2(3) bits.
        let n = Integer::from(u64::MAX);
        let bits = most_bits(&of(&[1, -3], &[1]), &n).unwrap() / n.to_f64();
        assert!((bits - 3_f64.log2()).abs() < 1e-5, "{bits}");
        let far = (&n * Integer::from(&n - 1_u32)) / 2_u32;
        let squares = of(&[1, -3, 3, -1], &[0, 0, 1]);
        assert_eq!(exact(&squares, &n, most_bits(&squares, &n).unwrap() as u32), Some(far));
        assert_eq!(most_bits(&series(), &Integer::new()), None, "before the first");
    }

    #[test]
    fn products_of_different_primes_need_no_integers() {
        let lifted = series();
        let list: Vec<Integer> = lifted.terms().take(400).collect();
        for (modulus, primes) in [
            (2, Some(vec![2])),
            (210, Some(vec![2, 3, 5, 7])),
            (10_000_030, Some(vec![2, 5, 1_000_003])),
            (1_000_000_007, Some(vec![1_000_000_007])),
            (65_537 * 65_539, Some(vec![65_537, 65_539])),
            (0, None),
            (1, None),
            (12, None),
            (1_000_003 * 1_000_003, None),
            (3 << 60, None),
        ] {
            assert_eq!(primes_of(modulus), primes, "{modulus}");
            for n in [1_u32, 300, 100_000] {
                let n = Integer::from(n);
                let expected = primes.as_ref().and_then(|_| super::modulo(&lifted, &n, &modulus.into()));
                assert_eq!(modulo_primes(list.as_slice(), &n, modulus, &|_, _| {}), expected, "{modulus}, {n}");
            }
        }
    }
}
