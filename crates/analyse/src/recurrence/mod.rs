//! The shortest linear recurrence of a series of integers.
//!
//! ```text
//!   order      Berlekamp-Massey modulo a prime, until at least 10 % more terms than 2 r agree
//!   lift       the coefficients modulo as many primes as they need, put together by the Chinese remainder theorem
//!   verify     on all terms modulo a fresh prime, at least 10 % of them not used before
//! ```
//!
//! Denominators do not occur: a series of integers with a rational generating function has one P/Q with integer
//! coefficients and Q(0) = 1 (Fatou 1906). So symmetric residues suffice where others need rational reconstruction.
//! Cost: order^2 per prime; [`massey`] and the terms are all that matters.

pub mod lift;
pub mod massey;
pub mod source;
pub mod write;

use keima_residue::primes_below;

pub use lift::Lifted;
use massey::Massey;
pub use source::Source;

use crate::graph::lanes::MODULUS_LIMIT;

/// Terms beyond 2 r that must agree, at least.
const LEAST_SPARE: usize = 2;

/// Terms that prove nothing else but that a recurrence of this order holds: 10 % of those it was made of.
pub const fn spare_terms(order: usize) -> usize {
    let tenth = (2 * order).div_ceil(10);
    if tenth > LEAST_SPARE { tenth } else { LEAST_SPARE }
}

/// Terms that a recurrence of this order needs: two for each coefficient, and the spare ones.
pub const fn terms_needed(order: usize) -> usize {
    2 * order + spare_terms(order)
}

/// The order of the shortest recurrence modulo two primes.
#[derive(Clone, Debug)]
pub struct Found {
    /// The order.
    pub order: usize,
    /// Terms that determine the coefficients: twice the order.
    pub terms_used: usize,
    /// Further terms on which the recurrence was tried, and holds.
    pub terms_verified: usize,
    /// The primes: the first that found it, and the fresh one that verified it.
    pub primes: Vec<u64>,
    /// Whether the terms are so many that the recurrence is proved for all n, modulo the fresh prime: order and bound
    /// together.
    pub is_proved: bool,
}

/// There is no recurrence that the terms could show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no recurrence of order up to {excluded} holds for these {terms} terms; one of order {least} needs at least {more} \
         more terms ({needed} in all, a tenth of them to verify it)"
)]
pub struct TooShort {
    /// Number of terms.
    pub terms: usize,
    /// No recurrence up to this order holds.
    pub excluded: usize,
    /// The least order that is still possible.
    pub least: usize,
    /// Terms that are missing.
    pub more: usize,
    /// Terms that are needed.
    pub needed: usize,
}

/// The primes in the order in which they are used.
pub(crate) fn primes() -> impl Iterator<Item = u64> {
    primes_below(MODULUS_LIMIT.into())
}

/// Terms beyond the spare ones that a series without end gives.
const MORE_TERMS: usize = 8;
/// Terms between two words on the way.
const TOLD: usize = 1000;

/// Finds the order modulo two primes at once, with at most `most` terms. `told` hears of the terms so far and the order.
pub fn find<S: Source + ?Sized>(
    source: &S,
    most: usize,
    told: &(dyn Fn(usize, usize) + Sync),
) -> Result<Found, TooShort> {
    let most = source.terms().unwrap_or(usize::MAX).min(most);
    let mut primes = primes();
    let (Some(prime), Some(fresh)) = (primes.next(), primes.next()) else {
        unreachable!("there are primes below 2^60")
    };
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| Run::of(source, fresh, most, source.order_bound(), &|_, _| {}));
        let one = Run::of(source, prime, most, None, told);
        (one, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let order = one.order.max(other.order);
    if one.order != other.order || !other.holds || one.terms < terms_needed(order) {
        return Err(too_short(one.terms, order));
    }
    Ok(Found {
        order,
        terms_used: 2 * order,
        terms_verified: other.terms - 2 * order,
        primes: vec![prime, fresh],
        is_proved: other.is_proved,
    })
}

/// What one prime says.
struct Run {
    order: usize,
    /// Terms that it has seen.
    terms: usize,
    /// Whether the recurrence holds on all of them.
    holds: bool,
    /// Whether they are as many as order and bound together.
    is_proved: bool,
}

impl Run {
    /// The shortest recurrence modulo a prime; with a bound on the order, tried on all terms that can tell.
    fn of<S: Source + ?Sized>(
        source: &S,
        prime: u64,
        most: usize,
        bound: Option<usize>,
        told: &dyn Fn(usize, usize),
    ) -> Self {
        let mut massey = Massey::new(prime);
        let mut residues = source.residues(prime).take(most);
        for residue in residues.by_ref() {
            massey.push(residue);
            let terms = massey.terms().len();
            if terms.is_multiple_of(TOLD) {
                told(terms, massey.order());
            }
            // All terms of a list are used: it costs nothing, and one wrong number at its end must be seen.
            if source.terms().is_none() && terms >= terms_needed(massey.order()) + MORE_TERMS {
                break;
            }
        }
        let order = massey.order();
        let mut run = Self { order, terms: massey.terms().len(), holds: true, is_proved: false };
        if let Some(bound) = bound {
            let mut terms = massey.terms().to_vec();
            terms.extend(residues.take((order + bound).saturating_sub(run.terms)));
            let connection = massey.connection();
            run.holds = (run.terms..terms.len()).all(|n| massey::product_sum(&connection, &terms[..=n], prime) == 0);
            run.terms = terms.len();
            run.is_proved = run.terms >= order + bound;
        }
        run
    }
}

fn too_short(terms: usize, order: usize) -> TooShort {
    let least = order.max(1);
    let needed = terms_needed(least);
    TooShort { terms, excluded: least - 1, least, more: needed.saturating_sub(terms).max(1), needed }
}

#[cfg(test)]
mod tests;
