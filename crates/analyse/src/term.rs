//! One far term of a series from its generating function (Bostan, Mori 2021).
//!
//! ```text
//!   [x^N] P(x)/Q(x) = [x^N] P(x) Q(-x) / (Q(x) Q(-x)),  whose denominator has even powers only: halve N
//! ```
//!
//! Q(0) = 1, so that it works modulo any number and needs no inverse. Cost: two products of polynomials per bit of N.

use rug::Integer;
use rug::ops::RemRounding;

use crate::polynomial::product;
use crate::recurrence::Lifted;

/// The term of index `n` modulo `modulus`, from 0 on; `None` if the series begins later.
pub fn modulo(lifted: &Lifted, n: &Integer, modulus: &Integer) -> Option<Integer> {
    let mut n = Integer::from(n - lifted.first);
    if n.is_negative() {
        return None;
    }
    let reduce = |c: Vec<Integer>| -> Vec<Integer> { c.into_iter().map(|c| c.rem_euc(modulus)).collect() };
    let (mut p, mut q) = (reduce(lifted.p.clone()), reduce(lifted.q.clone()));
    while n != 0 {
        let mirrored: Vec<Integer> =
            q.iter().enumerate().map(|(i, c)| if i % 2 == 1 { Integer::from(-c) } else { c.clone() }).collect();
        let parity = usize::from(n.is_odd());
        p = reduce(product(&p, &mirrored).into_iter().skip(parity).step_by(2).collect());
        q = reduce(product(&q, &mirrored).into_iter().step_by(2).collect());
        n >>= 1;
    }
    // Q(0) stays 1.
    Some(p.into_iter().next().unwrap_or_default())
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
}
