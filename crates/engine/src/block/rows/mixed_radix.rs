//! From residues to mixed-radix digits, and from digits to residues modulo other primes, entry by entry.
//!
//! A number x below p0 p1 ... has digits v with x = v0 + v1 p0 + v2 p0 p1 + ..., each below its prime (Garner; Knuth,
//! TAOCP 2, section 4.3.2). Horner's rule gives x modulo any other prime from the digits. A vector gets more lanes
//! this way, and the spare lane checks every entry.
//!
//! Multiplications by constants modulo a prime below 2^63 follow Shoup. With w' = floor(w 2^64 / p) precomputed, x w
//! mod p = x w - floor(x w' / 2^64) p, or p less.
//!
//! Cost: two multiplications for each product with a constant. R digits take R (R-1) / 2 such products.

use keima_residue::{Integer, inverse};

use crate::block::rows::lanes::Row;

/// Multiplication by a constant.
#[derive(Clone, Copy, Debug)]
struct Times {
    factor: u64,
    quotient: u64,
    modulus: u64,
}

impl Times {
    /// Fills unused entries of a table.
    const NONE: Self = Self { factor: 0, quotient: 0, modulus: 1 };

    fn new(factor: u64, modulus: u64) -> Self {
        let factor = factor % modulus;
        let quotient = ((u128::from(factor) << 64) / u128::from(modulus)) as u64;
        Self { factor, quotient, modulus }
    }

    /// `x` times the constant, reduced. `x` may be any word.
    #[inline(always)]
    fn of(&self, x: u64) -> u64 {
        let times = ((u128::from(x) * u128::from(self.quotient)) >> 64) as u64;
        let rest = x.wrapping_mul(self.factor).wrapping_sub(times.wrapping_mul(self.modulus));
        rest.min(rest.wrapping_sub(self.modulus))
    }
}

/// Converts K lanes (K-1 primes, then the spare) to digits.
pub(crate) struct Radix<const K: usize> {
    primes: Row<K>,
    /// `inverses[i][j]`, j < i: multiplication by the inverse of prime j modulo prime i.
    inverses: [[Times; K]; K],
    spare: Evaluation<K>,
}

/// Evaluates digits modulo one more prime.
pub(crate) struct Evaluation<const K: usize> {
    modulus: u64,
    /// Multiplication by prime j.
    primes: [Times; K],
}

impl<const K: usize> Evaluation<K> {
    pub(crate) fn new(primes: &Row<K>, modulus: u64) -> Self {
        Self { modulus, primes: primes.map(|prime| Times::new(prime, modulus)) }
    }

    /// The number with these digits, modulo the prime. The primes are close to each other, so a digit is below twice
    /// the modulus.
    #[inline(always)]
    pub(crate) fn of(&self, digits: &Row<K>) -> u64 {
        let below = |x: u64| x.min(x.wrapping_sub(self.modulus));
        let mut value = below(digits[K - 2]);
        for i in (0..K - 2).rev() {
            value = below(self.primes[i].of(value) + below(digits[i]));
        }
        value
    }
}

impl<const K: usize> Radix<K> {
    /// `primes` are K-1 primes and the spare, all between 2^59 and 2^60.
    pub(crate) fn new(primes: Row<K>) -> Self {
        let inverses = std::array::from_fn(|i| {
            std::array::from_fn(
                |j| if j < i { Times::new(inverse(primes[j], primes[i]), primes[i]) } else { Times::NONE },
            )
        });
        Self { primes, inverses, spare: Evaluation::new(&primes, primes[K - 1]) }
    }

    /// Digits of a row; the last element is unused and 0. `None` if the spare lane does not match the digits.
    #[inline(always)]
    pub(crate) fn digits(&self, row: &Row<K>) -> Option<Row<K>> {
        let mut digits: Row<K> = [0; K];
        for i in 0..K - 1 {
            let prime = self.primes[i];
            let mut digit = row[i];
            for (inverse, &before) in self.inverses[i][..i].iter().zip(&digits) {
                let before = before.min(before.wrapping_sub(prime));
                let difference = digit.wrapping_sub(before);
                // Adds the prime to negative differences.
                digit = inverse.of(difference.min(difference.wrapping_add(prime)));
            }
            digits[i] = digit;
        }
        (self.spare.of(&digits) == row[K - 1]).then_some(digits)
    }

    /// The place value of each digit: the product of the primes before it.
    pub(crate) fn places(&self) -> Vec<Integer> {
        let mut place = Integer::from(1);
        self.primes[..K - 1]
            .iter()
            .map(|&prime| {
                let this = place.clone();
                place *= prime;
                this
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keima_residue::{primes_below, residue_of};
    use proptest::prelude::*;

    fn primes<const K: usize>() -> Row<K> {
        primes_below(1 << 60)
            .skip(1)
            .take(K - 1)
            .chain(primes_below(1 << 60).take(1))
            .collect::<Vec<_>>()
            .try_into()
            .unwrap()
    }

    fn check<const K: usize>(words: [u64; 11], other: u64) {
        let primes = primes::<K>();
        let product: Integer = primes[..K - 1].iter().product();
        let x = words.iter().fold(Integer::new(), |x, &word| (x << 64) + word) % product;
        let radix = Radix::new(primes);
        let row = primes.map(|prime| residue_of(&x, prime));
        let digits = radix.digits(&row).expect("the spare agrees");
        let back: Integer = radix.places().iter().zip(digits).map(|(place, digit)| Integer::from(place * digit)).sum();
        assert_eq!(back, x);
        assert_eq!(Evaluation::new(&primes, other).of(&digits), residue_of(&x, other));
        // One wrong lane shows, whichever it is.
        for lane in 0..K {
            let mut wrong = row;
            wrong[lane] = (wrong[lane] + 1) % primes[lane];
            assert_eq!(radix.digits(&wrong), None, "lane {lane}");
        }
    }

    proptest! {
        #[test]
        fn digits_are_those_of_the_number(words: [u64; 11]) {
            let other = primes_below(1 << 60).nth(13).unwrap();
            check::<2>(words, other);
            check::<4>(words, other);
            check::<8>(words, other);
            check::<12>(words, other);
        }
    }
}
