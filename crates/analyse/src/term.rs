//! One far term of a series from its generating function (Bostan, Mori 2021).
//!
//! ```text
//!   [x^N] P(x)/Q(x) = [x^N] P(x) Q(-x) / (Q(x) Q(-x)),  whose denominator has even powers only: halve N
//! ```
//!
//! Q(0) = 1, so that it works modulo any number and needs no inverse. Cost: two products of polynomials per bit of N.
//!
//! A product of different primes below 2^60 needs no integers at all: the recurrence is found modulo each, and the Chinese
//! remainder theorem puts the terms together. Cost: a search per prime, and trial division, 2^30 divisions at most.

use keima_residue::{crt, is_prime};
use rug::Integer;
use rug::ops::RemRounding;

use crate::graph::lanes::MODULUS_LIMIT;
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
        let mirrored = mirrored(&q);
        let parity = usize::from(n.is_odd());
        p = reduce(product(&p, &mirrored).into_iter().skip(parity).step_by(2).collect());
        q = reduce(product(&q, &mirrored).into_iter().step_by(2).collect());
        n >>= 1;
    }
    // Q(0) stays 1.
    Some(p.into_iter().next().unwrap_or_default())
}

/// The term of index `n` of a series from 1 on modulo a product of different primes below 2^60; `None` if it is none, if the
/// terms do not suffice, or if the series begins later.
pub fn modulo_primes<S: Source + ?Sized>(source: &S, n: &Integer, modulus: u64) -> Option<Integer> {
    let residues = primes_of(modulus)?.into_iter().map(|prime| {
        let own = modulo_prime(source, prime)?;
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

/// The term itself, for a series of numbers from 0 to below 2^`bits`.
pub fn exact(lifted: &Lifted, n: &Integer, bits: u32) -> Option<Integer> {
    modulo(lifted, n, &(Integer::from(1) << bits))
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
                assert_eq!(modulo_primes(list.as_slice(), &n, modulus), expected, "{modulus}, {n}");
            }
        }
    }
}
