//! Moduli: distinct primes whose product, the spare left out, exceeds the proved bound.
//!
//! There are two families of primes. Sums of up to 16 residues below 2^60 fit a machine word, so that a kernel reduces
//! them rarely. Primes just below 2^64 hold more: if they save a residue, they save its share of all work and disk. So
//! the primes lie just below 2^60, unless that costs a residue.

use keima_blocks::limits::MODULUS_LIMIT;
use keima_model::ProblemInfo;
use keima_residue::{Integer, primes_below};

use super::Plan;

/// Limits of the two families, the preferred one first.
const LIMITS: [u128; 2] = [MODULUS_LIMIT as u128, 1 << 64];

/// The value of a bound that is given as powers, product of `base ^ exponent`.
pub(crate) fn bound_product(powers: &[(u32, u32)]) -> Integer {
    powers.iter().map(|&(base, exponent)| Integer::from(Integer::u_pow_u(base, exponent))).product()
}

/// A bound for people: `"3^81"`.
pub(crate) fn bound_text(powers: &[(u32, u32)]) -> String {
    let factors: Vec<_> = powers.iter().map(|(base, exponent)| format!("{base}^{exponent}")).collect();
    if factors.is_empty() { "1".into() } else { factors.join(" * ") }
}

/// Fewest primes of one family whose product exceeds `bound`, then the spare.
///
/// The spare is the largest of them, so that a single wrong residue *never* passes its check. Proof: two candidates that
/// differ in the residue modulo p differ by k times the product of the other moduli, with 0 < k < p. A prime spare above
/// p divides neither factor.
pub(super) fn choose(bound: &Integer) -> Vec<u64> {
    // The first of equally short ones.
    LIMITS.map(|limit| below(limit, bound)).into_iter().min_by_key(Vec::len).unwrap_or_default()
}

impl Plan {
    /// The same plan modulo other primes, the next ones below those that it has: for a second count of one number.
    #[must_use]
    pub fn with_other_primes(self, info: &dyn ProblemInfo) -> Self {
        let number = self.moduli.len();
        let Some(&largest) = self.moduli.iter().max() else { return self };
        let primes: Vec<u64> = primes_below(u128::from(largest) + 1).skip(number).take(number).collect();
        let moduli: Vec<u64> = primes.iter().skip(1).chain(primes.first()).copied().collect();
        let product: Integer = moduli.iter().rev().skip(1).map(|&prime| Integer::from(prime)).product();
        // They are smaller by a part in 10^15. Where that is too much, the plan keeps its own.
        if product > bound_product(&info.bound()) { Self { moduli, ..self } } else { self }
    }
}

/// The fewest primes just below `limit` that suffice, and the spare.
pub(super) fn below(limit: u128, bound: &Integer) -> Vec<u64> {
    let mut primes = primes_below(limit);
    let spare = primes.next();
    let mut moduli = Vec::new();
    let mut product = Integer::from(1);
    for prime in primes {
        product *= prime;
        moduli.push(prime);
        if product > *bound {
            break;
        }
    }
    moduli.extend(spare);
    moduli
}
