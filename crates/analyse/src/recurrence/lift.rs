//! From a recurrence modulo primes to its integers.
//!
//! ```text
//!   sum over n of L(n) x^(n - first) = P(x) / Q(x),  Q = 1 + q1 x + ... + qr x^r,  deg P < r,  L(n) = -(q1 L(n-1) + ... )
//! ```
//!
//! P is lifted with Q, so that no long exact terms are needed: its coefficients are as short as those of Q. Primes are
//! added until one more prime changes nothing; that prime and a fresh one verify it. A list of numbers may also follow a
//! recurrence with fractions, as 8, 4, 2, 1 does: then P and Q are multiplied by the common denominator, which is Q(0).
//! Cost: per prime the terms, two order^2 and 2 r steps of the Chinese remainder theorem.

use keima_residue::{is_prime, primes_below};
use rug::{Integer, Rational};

use super::crt::{Crt, Fractions};
use super::massey::{Massey, product_sum};
use super::source::{GROUP, Source, signed_residue};
use super::{Found, primes, terms_needed};
use crate::graph::lanes::MODULUS_LIMIT;

/// The recurrence, P and Q in integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifted {
    /// Index n of the first term.
    pub first: u32,
    /// q0, q1, ..., qr. q0 is 1 for every series of integers without end (Fatou), else the common denominator.
    pub q: Vec<Integer>,
    /// Coefficients of P, as many as the order, times q0 too.
    pub p: Vec<Integer>,
    /// Primes whose residues made the coefficients.
    pub primes_used: usize,
    /// The prime that verified them on all terms.
    pub fresh_prime: u64,
    /// Terms modulo the fresh prime.
    pub fresh_terms: usize,
}

/// The coefficients cannot be lifted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiftError {
    /// A limit was reached.
    #[error("the coefficients are longer than {primes} primes of 60 bits allow")]
    TooLong {
        /// Primes so far.
        primes: usize,
    },
    /// The primes that found the order are special.
    #[error(
        "the recurrence has order {expected} modulo the first two primes, but another one modulo {prime}: the terms are \
             special modulo the first two; if all terms share a factor, divide them by it"
    )]
    OtherOrder {
        /// The order that was found.
        expected: usize,
        /// A prime that says otherwise.
        prime: u64,
    },
    /// It does not hold.
    #[error("the lifted recurrence fails modulo the fresh prime {prime} at term {term}; expected 0, got {got}")]
    Fails {
        /// The prime.
        prime: u64,
        /// The term's number.
        term: usize,
        /// What the recurrence misses.
        got: u64,
    },
}

/// Most primes. For a list of numbers the size of its terms bounds them too.
const MOST_PRIMES: usize = 20_000;
/// Primes beyond those that agree that may have another order.
const MOST_MISSES: usize = 8;
/// Bits that a prime carries at least.
const PRIME_BITS: usize = 59;

impl Lifted {
    /// The order.
    pub fn order(&self) -> usize {
        self.q.len().saturating_sub(1)
    }
    /// The least n from which on the recurrence holds, with L(n-1), ..., L(n-r) all terms of the series.
    pub fn holds_from(&self) -> u64 {
        u64::from(self.first) + self.order() as u64
    }
    /// q0: 1 where the coefficients are integers.
    pub fn denominator(&self) -> Integer {
        self.q.first().cloned().unwrap_or_else(|| Integer::from(1))
    }
    /// c1, ..., cr with L(n) = c1 L(n-1) + ... + cr L(n-r).
    pub fn coefficients(&self) -> Vec<Rational> {
        let denominator = self.denominator();
        self.q.iter().skip(1).map(|q| Rational::from((Integer::from(-q), denominator.clone()))).collect()
    }
    /// The first coefficient that is no integer, and its place from 1.
    pub fn first_fraction(&self) -> Option<(usize, Rational)> {
        (1..).zip(self.coefficients()).find(|(_, c)| !c.is_integer())
    }
    /// The terms, exactly: the power series of P/Q, as long as it has integers. It never ends where the coefficients are
    /// integers.
    pub fn terms(&self) -> impl Iterator<Item = Integer> + '_ {
        let order = self.order();
        let denominator = self.denominator();
        let mut last: std::collections::VecDeque<Integer> = std::collections::VecDeque::with_capacity(order + 1);
        (0_usize..).map_while(move |n| {
            let mut term = self.p.get(n).cloned().unwrap_or_default();
            for (q, earlier) in self.q.iter().skip(1).zip(&last) {
                term -= q * earlier;
            }
            if !term.is_divisible(&denominator) {
                return None;
            }
            term.div_exact_mut(&denominator);
            last.truncate(order.saturating_sub(1));
            last.push_front(term.clone());
            Some(term)
        })
    }
}

/// Lifts the recurrence that was found. `told` hears of the primes so far.
pub fn lift<S: Source + ?Sized>(
    source: &S,
    found: &Found,
    first: u32,
    threads: usize,
    told: &(dyn Fn(usize) + Sync),
) -> Result<Lifted, LiftError> {
    let order = found.order;
    let terms = terms_needed(order);
    let most = source.coefficient_bits(order).map_or(MOST_PRIMES, |bits| most_primes(bits).min(MOST_PRIMES));
    let mut primes = primes();
    let mut crt = Crt::new(2 * order);
    let mut misses = 0;
    let (Fractions { denominator, numerators }, last) = 'more: loop {
        let groups: Vec<[u64; GROUP]> =
            (0..threads.max(1)).map(|_| std::array::from_fn(|_| primes.next().unwrap_or(2))).collect();
        let results: Vec<Vec<Option<Vec<u64>>>> = std::thread::scope(|scope| {
            let work = |group: [u64; GROUP]| move || fractions(source, group, terms, order);
            let running: Vec<_> = groups.iter().map(|&group| scope.spawn(work(group))).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
        });
        for (&prime, fraction) in groups.iter().flatten().zip(results.into_iter().flatten()) {
            // Modulo a few primes the order is another: these say nothing.
            let Some(residues) = fraction else {
                misses += 1;
                if misses > crt.primes + MOST_MISSES {
                    return Err(LiftError::OtherOrder { expected: order, prime });
                }
                continue;
            };
            if let Some(settled) = crt.settled(&residues, prime) {
                break 'more (settled, prime);
            }
            crt.add(&residues, prime);
            if crt.primes > most {
                return Err(LiftError::TooLong { primes: crt.primes });
            }
        }
        told(crt.primes);
    };
    let primes_used = crt.primes;
    let (q, p) = numerators.split_at(order);
    let q = std::iter::once(&denominator).chain(q).cloned().collect();
    // The next one, however many more the threads have looked at.
    let fresh_prime = primes_below(last.into()).next().unwrap_or(2);
    let fresh_terms = found.terms_used + found.terms_verified;
    let lifted = Lifted { first, q, p: p.to_vec(), primes_used, fresh_prime, fresh_terms };
    verify(&lifted, source, fresh_prime, fresh_terms)?;
    Ok(lifted)
}

/// The recurrence of a series modulo one prime alone: P and Q with coefficients from 0 to below it. `None` if `prime` is none,
/// is not below 2^60, or the terms do not suffice. `told` hears of the terms so far and the order.
pub fn modulo_prime<S: Source + ?Sized>(source: &S, prime: u64, told: &dyn Fn(usize, usize)) -> Option<Lifted> {
    if prime >= MODULUS_LIMIT || !is_prime(prime) {
        return None;
    }
    let mut massey = Massey::new(prime);
    for residue in source.residues(prime) {
        massey.push(residue);
        told(massey.terms().len(), massey.order());
        // Modulo a small prime a run of zeros says little: the spare terms are then as many as for a large one.
        if massey.terms().len() >= terms_needed(massey.order()) + spare_for(prime) {
            break;
        }
    }
    let (order, terms) = (massey.order(), massey.terms());
    (terms.len() >= terms_needed(order) + spare_for(prime)).then(|| {
        let q = massey.connection();
        let p = (0..order).map(|n| Integer::from(product_sum(&q, &terms[..=n], prime))).collect();
        let q = q.into_iter().map(Integer::from).collect();
        Lifted { first: 1, q, p, primes_used: 1, fresh_prime: prime, fresh_terms: terms.len() }
    })
}

/// Number of terms that are all zero by chance once in 2^128 cases.
fn spare_for(prime: u64) -> usize {
    128_usize.div_ceil(prime.ilog2().max(1) as usize)
}

/// Primes that suffice for fractions whose numerators and denominator have that many bits: twice as many bits, a quarter
/// more until they are looked for, and one that agrees.
fn most_primes(bits: usize) -> usize {
    let product = (2 * bits + 2).div_ceil(PRIME_BITS);
    product + product / 4 + 2
}

/// q1 to qr and p0 to p of r-1 modulo each of four primes; `None` where the order differs.
fn fractions<S: Source + ?Sized>(source: &S, group: [u64; GROUP], terms: usize, order: usize) -> Vec<Option<Vec<u64>>> {
    let all = source.group(group, terms);
    let one = |(terms, prime): (Vec<u64>, u64)| {
        let mut massey = Massey::new(prime);
        for &term in &terms {
            massey.push(term);
        }
        (massey.order() == order).then(|| {
            let q = massey.connection();
            let p = (0..order).map(|n| product_sum(&q, &terms[..=n], prime));
            let p: Vec<u64> = p.collect();
            q.into_iter().skip(1).chain(p).collect()
        })
    };
    all.into_iter().zip(group).map(one).collect()
}

/// The recurrence must hold on all terms modulo a prime that had no part in it.
fn verify<S: Source + ?Sized>(lifted: &Lifted, source: &S, prime: u64, terms: usize) -> Result<(), LiftError> {
    let residues: Vec<u64> = source.residues(prime).take(terms).collect();
    let q: Vec<u64> = lifted.q.iter().map(|q| signed_residue(q, prime)).collect();
    for term in 0..residues.len() {
        let sum = product_sum(&q, &residues[..=term], prime);
        let expected = lifted.p.get(term).map_or(0, |p| signed_residue(p, prime));
        if sum != expected {
            return Err(LiftError::Fails { prime, term: term + 1, got: sum });
        }
    }
    Ok(())
}
