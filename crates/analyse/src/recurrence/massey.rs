//! Berlekamp-Massey: the shortest recurrence of a sequence modulo a prime (Massey 1969), one term at a time.
//!
//! ```text
//!   s(n) + q1 s(n-1) + ... + qr s(n-r) = 0  for r <= n < terms, with the least r: the linear complexity
//!   two terms that a recurrence of order r misses: its order becomes max(r, n + 1 - r)
//! ```
//!
//! Cost: about r^2 products that are summed without reduction, and r^2 products by one factor with Shoup's quotient; r = 50,000
//! takes some 10 s.

use keima_residue::{inverse, mul_mod, reduce_wide};

use super::terms_needed;

/// Products of two numbers below 2^60 that add up in 128 bits.
const PRODUCTS: usize = 128;

/// A recurrence that more terms had verified than it needs, and that a term then missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its order.
    pub order: usize,
    /// The number of the term that it misses, from 0.
    pub at: usize,
}

/// The shortest recurrence of the terms so far.
#[derive(Clone, Debug)]
pub struct Massey {
    prime: u64,
    terms: Vec<u64>,
    /// 1, q1, ..., qr: may end before its order, where the rest is zero.
    connection: Vec<u64>,
    order: usize,
    /// The connection before the last change of the order, divided by its discrepancy, and the terms since.
    previous: Vec<u64>,
    discrepancy: u64,
    since: usize,
    broken: Option<Broken>,
}

impl Massey {
    /// No terms yet; `prime` is below 2^60.
    pub fn new(prime: u64) -> Self {
        Self {
            prime,
            terms: Vec::new(),
            connection: vec![1],
            order: 0,
            previous: vec![1],
            discrepancy: 1,
            since: 1,
            broken: None,
        }
    }
    /// The order of the shortest recurrence.
    pub fn order(&self) -> usize {
        self.order
    }
    /// The terms so far.
    pub fn terms(&self) -> &[u64] {
        &self.terms
    }
    /// The last recurrence that held on as many terms as verify one, and then failed. Zeros at the beginning are none.
    pub fn broken(&self) -> Option<Broken> {
        self.broken
    }
    /// 1, q1, ..., q of the order.
    pub fn connection(&self) -> Vec<u64> {
        let mut connection = self.connection.clone();
        connection.resize(self.order + 1, 0);
        connection
    }

    /// Takes the next term.
    pub fn push(&mut self, term: u64) {
        self.terms.push(term);
        let p = self.prime;
        let missed = product_sum(&self.connection, &self.terms, p);
        if missed == 0 {
            self.since += 1;
            return;
        }
        let factor = mul_mod(missed, inverse(self.discrepancy, p), p);
        let old_order = self.order;
        let held = self.terms.len() - 1;
        if old_order > 0 && held >= terms_needed(old_order) {
            self.broken = Some(Broken { order: old_order, at: held });
        }
        let grows = 2 * old_order < self.terms.len();
        let kept = grows.then(|| self.connection.clone());
        let needed = self.previous.len() + self.since;
        if self.connection.len() < needed {
            self.connection.resize(needed, 0);
        }
        subtract(&mut self.connection[self.since..], &self.previous, factor, p);
        if let Some(kept) = kept {
            self.order = self.terms.len() - old_order;
            self.previous = kept;
            self.discrepancy = missed;
            self.since = 1;
        } else {
            self.since += 1;
        }
    }
}

/// The sum of `connection[i] * terms[last - i]`, as far as both go.
pub(crate) fn product_sum(connection: &[u64], terms: &[u64], prime: u64) -> u64 {
    let length = connection.len().min(terms.len());
    let newest = &terms[terms.len() - length..];
    let mut total = 0;
    for (some, others) in connection[..length].chunks(PRODUCTS).zip(newest.rchunks(PRODUCTS)) {
        let sum: u128 = some.iter().zip(others.iter().rev()).map(|(&a, &b)| u128::from(a) * u128::from(b)).sum();
        total += reduce_wide(sum, prime);
        total -= if total >= prime { prime } else { 0 };
    }
    total
}

/// `target[i] -= factor * source[i]`. Shoup: with floor(factor 2^64 / p) the quotient is right or 1 too small.
fn subtract(target: &mut [u64], source: &[u64], factor: u64, prime: u64) {
    let quotients = ((u128::from(factor) << 64) / u128::from(prime)) as u64;
    for (t, &s) in target.iter_mut().zip(source) {
        let quotient = ((u128::from(quotients) * u128::from(s)) >> 64) as u64;
        let product = factor.wrapping_mul(s).wrapping_sub(quotient.wrapping_mul(prime));
        let product = if product >= prime { product - prime } else { product };
        *t = if *t >= product { *t - product } else { *t + prime - product };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIME: u64 = (1 << 60) - 93;

    #[test]
    fn known_sequences_have_their_orders() {
        for (name, order, terms) in [
            ("zero", 0, vec![0; 8]),
            ("one, then zero", 1, vec![1, 0, 0, 0, 0, 0]),
            ("powers", 1, vec![1, 3, 9, 27, 81]),
            ("Fibonacci", 2, vec![1, 1, 2, 3, 5, 8, 13]),
            ("squares", 3, vec![0, 1, 4, 9, 16, 25, 36, 49]),
            ("late start", 5, vec![0, 0, 0, 0, 1, 1, 1, 1, 1, 1]),
        ] {
            let mut massey = Massey::new(PRIME);
            for &term in &terms {
                massey.push(term);
            }
            assert_eq!(massey.order(), order, "{name}");
            for n in order..terms.len() {
                assert_eq!(product_sum(&massey.connection(), &terms[..=n], PRIME), 0, "{name} at {n}");
            }
        }
    }

    /// Sequences of a random recurrence give it back; long enough that sums are reduced several times.
    #[test]
    fn random_recurrences_are_found() {
        for seed in 1..=8_u64 {
            let mut state = seed;
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 3) % PRIME
            };
            let order = 37 * seed as usize;
            let mut connection: Vec<u64> = (0..=order).map(|_| random()).collect();
            connection[0] = 1;
            let mut terms: Vec<u64> = (0..order).map(|_| random()).collect();
            while terms.len() < 2 * order + 5 {
                terms.push(0);
                let sum = product_sum(&connection, &terms, PRIME);
                *terms.last_mut().unwrap() = (PRIME - sum) % PRIME;
            }
            let mut massey = Massey::new(PRIME);
            for &term in &terms {
                massey.push(term);
            }
            assert_eq!((massey.order(), massey.connection()), (order, connection), "seed {seed}");
        }
    }
}
