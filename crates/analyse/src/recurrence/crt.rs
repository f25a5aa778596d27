//! Integers and fractions from their residues modulo a growing product M of primes.
//!
//! ```text
//!   integers    the symmetric residue x, -M/2 < x <= M/2
//!   fractions   n/d = x modulo M with |n|, d <= sqrt(M/2): there is at most one, and Euclid's algorithm on M and x meets
//!               it (Wang 1981). All values share a denominator, which grows from value to value: most need no division.
//! ```
//!
//! A guess is right if one more prime agrees. Fractions are looked for after 1, 2, 3, 4, 6, 8, 11 ... primes. Cost: a product
//! of (bits of M) x 60 bits per value and prime, and some runs of Euclid's algorithm each time fractions are looked for.

use keima_residue::mul_mod;
use rug::Integer;

use super::source::signed_residue;

/// Many numbers known modulo a growing product of primes.
pub(super) struct Crt {
    values: Vec<Integer>,
    product: Integer,
    /// Number of primes so far.
    pub(super) primes: usize,
    /// Number of primes after which fractions are looked for again.
    next_look: usize,
}

/// Numbers with one denominator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fractions {
    /// Positive; 1 for integers.
    pub(super) denominator: Integer,
    pub(super) numerators: Vec<Integer>,
}

impl Crt {
    pub(super) fn new(values: usize) -> Self {
        Self { values: vec![Integer::new(); values], product: Integer::from(1), primes: 0, next_look: 1 }
    }
    /// The numbers, if what the primes so far say of them agrees with these residues: integers first, then fractions.
    pub(super) fn settled(&mut self, residues: &[u64], prime: u64) -> Option<Fractions> {
        if self.primes == 0 {
            return None;
        }
        if self.agrees(residues, prime) {
            let numerators = self.values.iter().map(|value| self.symmetric(value.clone())).collect();
            return Some(Fractions { denominator: Integer::from(1), numerators });
        }
        if self.primes < self.next_look {
            return None;
        }
        self.next_look = self.primes + self.primes / 4 + 1;
        self.fractions().filter(|fractions| fractions.agree(residues, prime))
    }
    pub(super) fn add(&mut self, residues: &[u64], prime: u64) {
        let modulus = Integer::from(prime);
        // Primes differ, so there is an inverse.
        let inverse =
            Integer::from(&self.product % &modulus).invert(&modulus).map_or(0, |inverse| inverse.to_u64_wrapping());
        for (value, &residue) in self.values.iter_mut().zip(residues) {
            let own = signed_residue(value, prime);
            let digit = mul_mod((residue + prime - own) % prime, inverse, prime);
            *value += &self.product * Integer::from(digit);
        }
        self.product *= prime;
        self.primes += 1;
    }
    /// Whether the symmetric residues have these residues.
    fn agrees(&self, residues: &[u64], prime: u64) -> bool {
        let half = Integer::from(&self.product >> 1);
        let product = signed_residue(&self.product, prime);
        self.values.iter().zip(residues).all(|(value, &residue)| {
            let own = signed_residue(value, prime);
            let own = if *value > half { (own + prime - product) % prime } else { own };
            own == residue
        })
    }
    fn symmetric(&self, value: Integer) -> Integer {
        let rest = value % &self.product;
        let rest = if rest.is_negative() { rest + &self.product } else { rest };
        if Integer::from(&rest * 2_u32) > self.product { rest - &self.product } else { rest }
    }
    /// The fractions with a small common denominator, if there are such.
    fn fractions(&self) -> Option<Fractions> {
        let bound = Integer::from(&self.product >> 1).sqrt();
        let mut denominator = Integer::from(1);
        for value in &self.values {
            let scaled = self.symmetric(Integer::from(value * &denominator));
            if *scaled.as_abs() > bound {
                denominator *= own_denominator(scaled, &self.product, &bound)?;
                if denominator > bound {
                    return None;
                }
            }
        }
        let numerators = self.values.iter().map(|value| self.symmetric(Integer::from(value * &denominator))).collect();
        Some(Fractions { denominator, numerators })
    }
}

impl Fractions {
    /// Whether the fractions have these residues.
    fn agree(&self, residues: &[u64], prime: u64) -> bool {
        let denominator = signed_residue(&self.denominator, prime);
        self.numerators
            .iter()
            .zip(residues)
            .all(|(numerator, &residue)| signed_residue(numerator, prime) == mul_mod(residue, denominator, prime))
    }
}

/// The denominator d of the fraction n/d = `value` modulo `product` with |n| and d up to `bound`.
fn own_denominator(value: Integer, product: &Integer, bound: &Integer) -> Option<Integer> {
    // Each rest is (factor x value) modulo the product, and factors grow as rests fall.
    let value = if value.is_negative() { value + product } else { value };
    let (mut before, mut rest) = (product.clone(), value);
    let (mut old, mut factor) = (Integer::new(), Integer::from(1));
    while rest > *bound {
        let (quotient, next) = before.div_rem(rest.clone());
        let next_factor = old - quotient * &factor;
        (before, rest, old, factor) = (rest, next, factor, next_factor);
    }
    let denominator = factor.abs();
    (denominator <= *bound && rest.gcd(&denominator) == 1).then_some(denominator)
}

#[cfg(test)]
mod tests {
    use keima_residue::inverse;
    use rug::Rational;

    use super::*;
    use crate::recurrence::primes;

    /// Residues of all fractions, and how many primes they take.
    fn found(all: &[Rational]) -> Option<(Vec<Rational>, usize)> {
        let mut crt = Crt::new(all.len());
        for prime in primes().take(40) {
            let residue = |x: &Rational| {
                let denominator = signed_residue(x.denom(), prime);
                mul_mod(signed_residue(x.numer(), prime), inverse(denominator, prime), prime)
            };
            let residues: Vec<u64> = all.iter().map(residue).collect();
            if let Some(settled) = crt.settled(&residues, prime) {
                let own = |n: Integer| Rational::from((n, settled.denominator.clone()));
                return Some((settled.numerators.into_iter().map(own).collect(), crt.primes));
            }
            crt.add(&residues, prime);
        }
        None
    }

    #[test]
    fn numbers_come_back_from_their_residues() {
        let long = "3".repeat(100);
        for (numbers, primes) in [
            (vec![], 1),
            (vec!["0", "-7", "5"], 1),
            (vec!["1/2"], 1),
            (vec!["-1/2", "0", "2/3", "5/7"], 1),
            (vec!["1/3", "-1000000000000000000000000000000/7"], 4),
            // 333 bits: six primes of an integer, twelve and a look at them of a fraction.
            (vec![long.as_str(), "-1"], 6),
            (vec!["1/2", long.as_str()], 14),
        ] {
            let numbers: Vec<Rational> = numbers.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(found(&numbers), Some((numbers.clone(), primes)), "{numbers:?}");
        }
        // More digits than 40 primes carry.
        assert_eq!(found(&[Rational::from((Integer::from(1) << 3000_u32, 3))]), None);
    }
}
