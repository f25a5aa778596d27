//! Primes near the top of the machine word: deterministic Miller-Rabin.
//!
//! The first twelve primes as bases decide every n < 3.3e24 (Sorenson, Webster: *Strong pseudoprimes to twelve prime
//! bases*, 2015), so for 64 bits the answer is proved, not probable. Cost: at most 12 * 64 multiplications per candidate,
//! and about 40 candidates per prime.

use crate::{mul_mod, pow_mod};

const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// Whether `n` is prime.
pub fn is_prime(n: u64) -> bool {
    if n < 2 {
        return false;
    }
    for p in BASES {
        if n.is_multiple_of(p) {
            return n == p;
        }
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    BASES.iter().all(|&base| {
        let mut x = pow_mod(base, odd, n);
        if x == 1 || x == n - 1 {
            return true;
        }
        for _ in 1..twos {
            x = mul_mod(x, x, n);
            if x == n - 1 {
                return true;
            }
        }
        false
    })
}

/// The primes below `limit` (which may be 2^64), the largest first.
pub fn primes_below(limit: u128) -> impl Iterator<Item = u64> {
    let top = u64::try_from(limit.saturating_sub(1)).unwrap_or(u64::MAX);
    (2..=top).rev().filter(|&n| is_prime(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_trial_division() {
        for n in 0..20_000_u64 {
            let trial = n >= 2 && (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0);
            assert_eq!(is_prime(n), trial, "{n}");
        }
    }

    #[test]
    fn strong_pseudoprimes_are_not_fooled_by() {
        // Smallest strong pseudoprimes to the first k bases: OEIS A014233.
        for n in [2047, 1_373_653, 25_326_001, 3_215_031_751, 3_825_123_056_546_413_051] {
            assert!(!is_prime(n), "{n}");
        }
    }

    #[test]
    fn known_largest_primes() {
        // 2^64 - 59 and 2^60 - 93 are the largest primes below these powers: OEIS A013603.
        assert_eq!(primes_below(1 << 64).next(), Some(u64::MAX - 58));
        assert_eq!(primes_below(1 << 60).next(), Some((1 << 60) - 93));
    }
}
