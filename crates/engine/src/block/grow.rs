//! More lanes for a row: from the residues modulo few primes to those modulo more.
//!
//! A number below the product of the first K-1 primes is written in mixed radix (see [`super::digits`]) and evaluated
//! modulo the primes that are new. The spare lane stays, and is held against what the digits predict: each row that is
//! widened is checked. Cost: K^2 / 2 + K (L - K) multiplications, 10 to 40 ns.

use super::digits::{Evaluation, Radix};
use super::lanes::{Moduli, Row};

/// From K lanes to L: the first K-1 primes and the spare are the same in both.
pub(super) struct Growth<const K: usize, const L: usize> {
    radix: Radix<K>,
    new: Vec<Evaluation<K>>,
}

impl<const K: usize, const L: usize> Growth<K, L> {
    pub(super) fn new(from: &Moduli<K>, to: &Moduli<L>) -> Self {
        let new = to.values()[K - 1..L - 1].iter().map(|&prime| Evaluation::new(from.values(), prime)).collect();
        Self { radix: Radix::new(*from.values()), new }
    }

    /// The wider row; `None` if the spare lane is not what the others predict.
    #[inline(always)]
    pub(super) fn row(&self, row: &Row<K>) -> Option<Row<L>> {
        let mut grown = [0; L];
        if *row == [0; K] {
            return Some(grown);
        }
        let digits = self.radix.digits(row)?;
        grown[..K - 1].copy_from_slice(&row[..K - 1]);
        for (lane, evaluation) in grown[K - 1..].iter_mut().zip(&self.new) {
            *lane = evaluation.of(&digits);
        }
        grown[L - 1] = row[K - 1];
        Some(grown)
    }
}

/// Makes rows of as many lanes as the stage has of those that were read.
pub(super) enum Widen<const K: usize> {
    Same,
    One(Box<Growth<2, K>>),
    Two(Box<Growth<4, K>>),
}

impl<const K: usize> Widen<K> {
    pub(super) fn new(from: &[u64], to: &Moduli<K>) -> Option<Self> {
        if from == to.values() {
            return Some(Self::Same);
        }
        // The primes that both have stand in the same places, the spare at the end of both.
        let kept = from.len().checked_sub(1).filter(|_| from.len() < K)?;
        if from[..kept] != to.values()[..kept] || from.last() != to.values().last() {
            return None;
        }
        Some(match kept {
            1 => Self::One(Box::new(Growth::new(&Moduli::new(from.try_into().ok()?)?, to))),
            3 => Self::Two(Box::new(Growth::new(&Moduli::new(from.try_into().ok()?)?, to))),
            _ => return None,
        })
    }

    pub(super) fn row(&self, row: &[u64]) -> Option<Row<K>> {
        match self {
            Self::Same => row.try_into().ok(),
            Self::One(growth) => growth.row(row.try_into().ok()?),
            Self::Two(growth) => growth.row(row.try_into().ok()?),
        }
    }
}
