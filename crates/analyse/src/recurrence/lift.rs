//! From a recurrence modulo primes to its integers.
//!
//! ```text
//!   sum over n of L(n) x^(n - first) = P(x) / Q(x),  Q = 1 + q1 x + ... + qr x^r,  deg P < r,  L(n) = -(q1 L(n-1) + ... )
//! ```
//!
//! P is lifted with Q, so that no long exact terms are needed: its coefficients are as short as those of Q. Primes are
//! added until one more prime changes nothing; that prime and a fresh one verify it. Cost: per prime the terms, two order^2
//! and 2 r steps of the Chinese remainder theorem.

use keima_residue::{is_prime, mul_mod};
use rug::Integer;

use super::massey::{Massey, product_sum};
use super::source::{GROUP, Source, signed_residue};
use super::{Found, primes, terms_needed};
use crate::graph::lanes::MODULUS_LIMIT;

/// The recurrence in integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifted {
    /// Index n of the first term.
    pub first: u32,
    /// 1, q1, ..., qr.
    pub q: Vec<Integer>,
    /// Coefficients of P, as many as the order.
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

/// Most primes.
const MOST_PRIMES: usize = 20_000;

impl Lifted {
    /// The order.
    pub fn order(&self) -> usize {
        self.q.len().saturating_sub(1)
    }
    /// c1, ..., cr with L(n) = c1 L(n-1) + ... + cr L(n-r).
    pub fn coefficients(&self) -> Vec<Integer> {
        self.q.iter().skip(1).map(|q| Integer::from(-q)).collect()
    }
    /// The terms, exactly: the power series of P/Q. It never ends.
    pub fn terms(&self) -> impl Iterator<Item = Integer> + '_ {
        let order = self.order();
        let mut last: std::collections::VecDeque<Integer> = std::collections::VecDeque::with_capacity(order + 1);
        (0_usize..).map(move |n| {
            let mut term = self.p.get(n).cloned().unwrap_or_default();
            for (q, earlier) in self.q.iter().skip(1).zip(&last) {
                term -= q * earlier;
            }
            last.truncate(order.saturating_sub(1));
            last.push_front(term.clone());
            term
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
    let mut primes = primes();
    let mut crt = Crt { values: vec![Integer::new(); 2 * order], product: Integer::from(1), primes: 0 };
    'more: loop {
        let groups: Vec<[u64; GROUP]> =
            (0..threads.max(1)).map(|_| std::array::from_fn(|_| primes.next().unwrap_or(2))).collect();
        let results: Vec<Vec<Option<Vec<u64>>>> = std::thread::scope(|scope| {
            let work = |group: [u64; GROUP]| move || fractions(source, group, terms, order);
            let running: Vec<_> = groups.iter().map(|&group| scope.spawn(work(group))).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
        });
        for (&prime, fraction) in groups.iter().flatten().zip(results.into_iter().flatten()) {
            // Modulo a few primes the order is smaller: these say nothing.
            let Some(fraction) = fraction else { continue };
            if crt.primes > 0 && crt.agrees(&fraction, prime) {
                break 'more;
            }
            crt.add(&fraction, prime);
        }
        told(crt.primes);
        if crt.primes > MOST_PRIMES {
            return Err(LiftError::TooLong { primes: crt.primes });
        }
    }
    let primes_used = crt.primes;
    let mut q = vec![Integer::from(1)];
    let signed = crt.signed();
    q.extend_from_slice(&signed[..order]);
    let fresh_prime = primes.next().unwrap_or(2);
    let fresh_terms = found.terms_used + found.terms_verified;
    let lifted = Lifted { first, q, p: signed[order..].to_vec(), primes_used, fresh_prime, fresh_terms };
    verify(&lifted, source, fresh_prime, fresh_terms)?;
    Ok(lifted)
}

/// The recurrence of a series modulo one prime alone: P and Q with coefficients from 0 to below it. `None` if `prime` is none,
/// is not below 2^60, or the terms do not suffice.
pub fn modulo_prime<S: Source + ?Sized>(source: &S, prime: u64) -> Option<Lifted> {
    if prime >= MODULUS_LIMIT || !is_prime(prime) {
        return None;
    }
    let mut massey = Massey::new(prime);
    for residue in source.residues(prime) {
        massey.push(residue);
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

/// Many integers known modulo a growing product of primes.
struct Crt {
    values: Vec<Integer>,
    product: Integer,
    primes: usize,
}

impl Crt {
    /// Values in the symmetric range.
    fn signed(&self) -> Vec<Integer> {
        let half = Integer::from(&self.product >> 1);
        self.values
            .iter()
            .map(|value| if *value > half { Integer::from(value - &self.product) } else { value.clone() })
            .collect()
    }
    fn agrees(&self, residues: &[u64], prime: u64) -> bool {
        let half = Integer::from(&self.product >> 1);
        let product = signed_residue(&self.product, prime);
        self.values.iter().zip(residues).all(|(value, &residue)| {
            let own = signed_residue(value, prime);
            let own = if *value > half { (own + prime - product) % prime } else { own };
            own == residue
        })
    }
    fn add(&mut self, residues: &[u64], prime: u64) {
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
}
