//! The shortest linear recurrence of a series of integers.
//!
//! ```text
//!   order      Berlekamp-Massey modulo a prime, until at least 10 % more terms than 2 r agree
//!   lift       the coefficients modulo as many primes as they need, put together by the Chinese remainder theorem
//!   verify     on all terms modulo a fresh prime, at least 10 % of them not used before
//! ```
//!
//! A series of integers without end that has a rational generating function has one P/Q with integer coefficients and
//! Q(0) = 1 (Fatou 1906), for which symmetric residues suffice. The numbers of a file end, and may follow a recurrence with
//! fractions: these are reconstructed too, and show that no series of integers goes on that way.
//! Cost: order^2 per prime; [`massey`] and the terms are all that matters.

mod crt;
pub mod kept;
pub mod lift;
pub mod massey;
pub mod source;
pub mod write;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

use keima_residue::primes_below;

pub use kept::{Keeper, Kept};
pub use lift::Lifted;
pub use massey::Broken;
use massey::Massey;
pub use source::{Source, Terms};

use crate::graph::lanes::MODULUS_LIMIT;
use crate::graph::pass::PAIR_LIMIT;

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
    /// A shorter recurrence that held on many terms at the beginning, if there was one.
    pub broken: Option<Broken>,
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
    /// A recurrence that held on many terms, if there was one.
    pub broken: Option<Broken>,
}

/// The primes in the order in which they are used.
pub(crate) fn primes() -> impl Iterator<Item = u64> {
    primes_below(MODULUS_LIMIT.into())
}

/// Terms beyond the spare ones that a series without end gives.
const MORE_TERMS: usize = 8;
/// Terms between two words on the way.
const TOLD: usize = 1000;
/// Pairs of primes that are tried until both give one order.
const PAIRS: usize = 3;
/// Terms that are handed over together, and how many such parts may wait.
const PART: usize = 64;
const WAITING: usize = 4;

/// Finds the order modulo two primes at once, with at most `most` terms, which so many threads make. `told` hears of the terms
/// so far and the order.
pub fn find<S: Source + ?Sized>(
    source: &S,
    most: usize,
    threads: usize,
    keeper: Option<&dyn Keeper>,
    told: &(dyn Fn(usize, usize) + Sync),
) -> Result<Found, TooShort> {
    let most = source.terms().unwrap_or(usize::MAX).min(most);
    let primes: Vec<u64> = primes_below(PAIR_LIMIT.into()).take(2 * PAIRS).collect();
    let mut missing = too_short(0, 0);
    for &pair in primes.as_chunks().0 {
        let bound = source.order_bound(pair);
        let [one, other] = runs(source, pair, &Effort { most, threads, keeper, bound }, told);
        let order = one.order().max(other.order());
        let terms = one.terms().len();
        let broken = one.broken().filter(|_| one.broken() == other.broken());
        if one.order() == other.order() && terms >= terms_needed(order) {
            return Ok(Found {
                order,
                terms_used: 2 * order,
                terms_verified: terms - 2 * order,
                primes: pair.to_vec(),
                is_proved: bound.is_some_and(|bound| terms >= order + bound),
                broken,
            });
        }
        missing = TooShort { broken, ..too_short(terms, order) };
        // Modulo a few primes the order is smaller.
        if terms < terms_needed(order) {
            break;
        }
    }
    Err(missing)
}

/// How much is done for a recurrence.
struct Effort<'a> {
    most: usize,
    threads: usize,
    keeper: Option<&'a dyn Keeper>,
    bound: Option<usize>,
}

/// Both recurrences. Some threads make the terms, one a prime takes them. A series without end gives so many that 10 % verify
/// the order, and that order and bound prove it.
fn runs<S: Source + ?Sized>(
    source: &S,
    pair: [u64; 2],
    effort: &Effort<'_>,
    told: &(dyn Fn(usize, usize) + Sync),
) -> [Massey; 2] {
    let &Effort { most, threads, keeper, bound } = effort;
    let is_endless = source.terms().is_none();
    let enough = [AtomicBool::new(false), AtomicBool::new(false)];
    let take = |lane: usize, parts: Receiver<Vec<[u64; 2]>>| {
        let mut massey = Massey::new(pair[lane]);
        for residues in parts.iter().flatten() {
            // What the threads make beyond what is needed depends on how fast they are: it is left out.
            if enough[lane].load(Ordering::Relaxed) {
                continue;
            }
            massey.push(residues[lane]);
            let (terms, order) = (massey.terms().len(), massey.order());
            if lane == 0 && terms.is_multiple_of(TOLD) {
                told(terms, order);
            }
            // All terms of a list are used: it costs nothing, and one wrong number at its end must be seen.
            let needed = (terms_needed(order) + MORE_TERMS).max(order + bound.unwrap_or(0));
            enough[lane].store(is_endless && terms >= needed, Ordering::Relaxed);
        }
        massey
    };
    let kept = keeper.and_then(|keeper| keeper.find(pair)).filter(|kept| kept.primes == pair);
    let resumed = kept.and_then(|kept| source.pairs_after(&kept, threads).map(|terms| (kept, terms)));
    let from_start = || (Kept { primes: pair, ..Kept::default() }, source.pairs(pair, threads));
    let (mut kept, mut terms) = resumed.unwrap_or_else(from_start);
    std::thread::scope(|scope| {
        let (senders, threads): (Vec<_>, Vec<_>) = [0, 1]
            .map(|lane| {
                let (sender, receiver) = sync_channel(WAITING);
                let take = &take;
                (sender, scope.spawn(move || take(lane, receiver)))
            })
            .into_iter()
            .unzip();
        let (mut sent, mut since) = (0, Instant::now());
        while enough.iter().any(|enough| !enough.load(Ordering::Relaxed)) {
            let wanted = PART.min(most - sent.min(most));
            let missing = (sent + wanted).saturating_sub(kept.terms.len());
            kept.terms.extend(terms.by_ref().take(missing));
            let part = &kept.terms[sent..(sent + wanted).min(kept.terms.len())];
            // A thread that is gone has panicked, which its end tells.
            if part.is_empty() || senders.iter().any(|sender| sender.send(part.to_vec()).is_err()) {
                break;
            }
            sent += part.len();
            if let Some(keeper) = keeper.filter(|keeper| since.elapsed() >= keeper.every())
                && let Some(counts) = terms.counts()
            {
                kept.counts = counts;
                keeper.keep(&kept);
                since = Instant::now();
            }
        }
        drop(senders);
        let ended = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let both: Vec<Massey> = ended.collect();
        both.try_into().unwrap_or_else(|_| unreachable!("two threads"))
    })
}

fn too_short(terms: usize, order: usize) -> TooShort {
    let least = order.max(1);
    let needed = terms_needed(least);
    TooShort { terms, excluded: least - 1, least, more: needed.saturating_sub(terms).max(1), needed, broken: None }
}

#[cfg(test)]
mod tests;
