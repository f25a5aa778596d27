//! The growth of a series: L(n) ~ a lambda^n, and how fast the ratio comes close to it.
//!
//! There are two ways, which share no code beyond decimals: [`perron`] from the vectors of a graph, [`root`] from a
//! recurrence. Both prove their bounds. [`second`] is an estimate.

mod decimal;
mod perron;
pub mod power;
mod root;
mod second;

pub(crate) use decimal::ten_to;
pub use decimal::{Bounds, Decimal};

use crate::graph::{Graph, Hub};
use crate::recurrence::Lifted;

/// Digits that are printed.
pub const DIGITS: u32 = 50;

/// The growth of a series.
#[derive(Clone, Debug)]
pub struct Growth {
    /// a.
    pub a: Bounds,
    /// lambda.
    pub lambda: Bounds,
    /// |second eigenvalue|: an estimate. `None` if it does not settle.
    pub second: Option<Decimal>,
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
    #[error("the ratio of successive terms does not settle: no root stands alone as the largest")]
    NotDominant,
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
        Ok(Self { a: found.a, lambda: found.lambda, second, proof: Proof::Primitive(found.hub) })
    }

    /// Growth from a recurrence.
    pub fn of_recurrence(lifted: &Lifted) -> Result<Self, GrowthError> {
        /// Terms from which the second eigenvalue is estimated.
        const TERMS: usize = 150;
        let found = root::root(lifted)?;
        let terms: Vec<_> = lifted.terms().take(TERMS).collect();
        let second = second::second(&terms, &found.lambda);
        let proof = if found.is_dominant { Proof::LargestRoot } else { Proof::SomeRoot };
        Ok(Self { a: found.a, lambda: found.lambda, second, proof })
    }
}

#[cfg(test)]
mod tests;
