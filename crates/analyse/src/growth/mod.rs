//! The growth of a series: L(n) ~ a lambda^n, and how fast the ratio comes close to it.
//!
//! There are two ways, which share no code beyond decimals: [`perron`] from the vectors of a graph, [`root`] from a
//! recurrence. Both prove their bounds. [`second`] is an estimate.

mod decimal;
mod perron;
pub mod power;
mod rest;
mod root;
mod second;

pub(crate) use decimal::ten_to;
pub use decimal::{Bounds, Decimal};
pub use rest::Rest;
pub(crate) use rest::log2;

use crate::graph::{Graph, Hub};
use crate::recurrence::Lifted;

/// Digits that are printed.
pub const DIGITS: u32 = 50;

/// Bits of the rest that first digits need: 54 digits.
const LEAST_BITS: u32 = 180;

/// The growth of a series.
#[derive(Clone, Debug)]
pub struct Growth {
    /// a.
    pub a: Bounds,
    /// lambda.
    pub lambda: Bounds,
    /// |second eigenvalue|: an estimate. `None` if it does not settle.
    pub second: Option<Decimal>,
    /// How far a lambda^n lies from L(n), where that is proved.
    pub rest: Option<Rest>,
    /// What proves it.
    pub proof: Proof,
}

/// What proves the bounds of a growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The map of a column is primitive, as a hub shows; bounds by Collatz and Wielandt.
    Primitive(Hub),
    /// A change of sign of the characteristic polynomial; all its other roots are smaller.
    LargestRoot,
    /// A change of sign alone: that no other root is as large was not proved.
    SomeRoot,
}

/// There is no growth to be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrowthError {
    /// No state is reached from all and reaches all.
    #[error(
        "no state was found that every state reaches and that reaches every state: the largest eigenvalue is not proved \
             to stand alone"
    )]
    NotPrimitive,
    /// Terms do not behave as a power.
    #[error(
        "the ratio of two successive terms does not settle to {digits} digits within {terms} terms: the largest root is a multiple \
             one, or others are as large or nearly so"
    )]
    NotDominant {
        /// Digits after the point.
        digits: u32,
        /// Terms that were looked at.
        terms: usize,
    },
    /// Nothing grows.
    #[error("all terms from n = {from} on are 0")]
    Zero {
        /// The first index of the zeros.
        from: u64,
    },
    /// The largest term is of the other sign.
    #[error(
        "the terms are negative from some n on; a and lambda are told of positive ones alone: analyse the negated numbers"
    )]
    Negative,
    /// a is too small, or too close to 0, for the digits of lambda.
    #[error("a is not certain with {digits} digits of lambda: another root is close to the largest")]
    TooClose {
        /// Digits after the point.
        digits: u32,
    },
    /// The recurrence is that of no series without end.
    #[error(
        "coefficient {place} of the recurrence is {value}: no series of integers goes on that way, so that none grows"
    )]
    Fraction {
        /// Its place, from 1.
        place: usize,
        /// The fraction.
        value: String,
    },
    /// The digits need too many columns.
    #[error("{columns} columns do not suffice for the digits: the second eigenvalue is close to the largest")]
    TooSlow {
        /// Columns that were counted.
        columns: usize,
    },
}

impl Growth {
    /// Growth from the states. `told` hears of the columns so far.
    pub fn of_graph(graph: &Graph, told: &dyn Fn(usize)) -> Result<Self, GrowthError> {
        let found = perron::perron(graph, told)?;
        let second = second::second(&found.terms, &found.lambda);
        Ok(Self {
            a: found.a,
            lambda: found.lambda,
            second,
            rest: Some(found.rest),
            proof: Proof::Primitive(found.hub),
        })
    }

    /// Growth from a recurrence.
    pub fn of_recurrence(lifted: &Lifted) -> Result<Self, GrowthError> {
        /// Terms from which the second eigenvalue is estimated.
        const TERMS: usize = 150;
        if let Some((place, value)) = lifted.first_fraction() {
            return Err(GrowthError::Fraction { place, value: value.to_string() });
        }
        if lifted.q.iter().skip(1).all(|q| *q == 0) {
            return Err(GrowthError::Zero { from: lifted.holds_from() });
        }
        let found = root::root(lifted)?;
        let terms: Vec<_> = lifted.terms().take(TERMS).collect();
        let second = second::second(&terms, &found.lambda);
        let proof = if found.rest.is_some() { Proof::LargestRoot } else { Proof::SomeRoot };
        Ok(Self { a: found.a, lambda: found.lambda, second, rest: found.rest, proof })
    }

    /// Number of digits of L(n) and the first of them, at most `most` of 54. `None` where they are not proved, as for terms so
    /// early that other roots matter, and where the term has no more than that.
    pub fn first_digits(&self, n: u64, most: usize) -> Option<(u128, String)> {
        let bits = self.rest?.bits(n).filter(|&bits| bits >= LEAST_BITS)?;
        power::first_digits(&self.a, &self.lambda, n, most, Some(bits)).filter(|&(digits, _)| digits > most as u128)
    }
}

#[cfg(test)]
mod tests;
