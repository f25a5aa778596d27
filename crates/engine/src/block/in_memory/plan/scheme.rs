//! The primes of a count in memory, the lanes that its values need, and where its two directions meet.
//!
//! ```text
//!   lanes   primes             with 3 choices a cell, folded, up to
//!   2       p0, spare          37 cells
//!   4       p0 p1 p2, spare    112 cells
//!   8       p0 ... p6, spare   264 cells
//! ```
//!
//! The primes are the job's first ones, all between 2^59 and 2^60. Where these are not enough, more primes near 2^60
//! are added. The spare is the job's largest prime, so that no single wrong lane of a row passes. Proof: two numbers
//! that differ in one residue, modulo p, differ by k times the product of the other primes with 0 < k < p, and the
//! spare does not divide that.

use keima_blocks::limits::{LEAST_MODULUS, MODULUS_LIMIT};
use keima_residue::{Integer, primes_below};

use crate::block::error::BlockError;
use crate::block::rows::lanes::{Moduli, Row};

/// Numbers of lanes, each with the relative cost of a pass.
const LANES: [(usize, u32); 3] = [(2, 37), (4, 50), (8, 100)];

/// Most primes beside the spare.
const PRIMES: usize = 7;

/// The primes and lanes of a count in memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    /// The spare prime.
    pub(crate) spare: u64,
    /// The other primes, [`PRIMES`] of them.
    primes: Vec<u64>,
    /// Most ways to fill a cell.
    choices: u32,
    /// The column after which the two directions meet.
    pub(crate) middle: u32,
    /// Lanes of the largest numbers.
    pub(crate) most_lanes: usize,
}

impl Scheme {
    /// A scheme on the primes `moduli`, of which the last is the spare. `None` if values need more than the most
    /// lanes. An error unless all primes are between 2^59 and 2^60.
    pub(crate) fn new(moduli: &[u64], choices: u32, height: u32, length: u32) -> Result<Option<Self>, BlockError> {
        let (&spare, given) = moduli.split_last().ok_or(BlockError::Moduli)?;
        let more = primes_below(MODULUS_LIMIT.into()).filter(|prime| !moduli.contains(prime));
        let primes: Vec<u64> = given.iter().copied().chain(more).take(PRIMES).collect();
        if !primes.iter().chain([&spare]).all(|prime| (LEAST_MODULUS..MODULUS_LIMIT).contains(prime)) {
            return Err(BlockError::Moduli);
        }
        let scheme = Self { spare, primes, choices, middle: 0, most_lanes: 0 };
        Ok(scheme.meeting(height, length))
    }

    /// Chooses the middle with the least cost, and of equal ones the one nearest to the board's middle.
    fn meeting(self, height: u32, length: u32) -> Option<Self> {
        let cost = |columns: u32| (1..=columns).map(|column| self.cost_for(height * column)).sum::<Option<u32>>();
        // Skips a middle whose values do not fit the lanes.
        let middles = (1..=length).filter_map(|middle| {
            let total = cost(middle - 1)? + cost(length - middle)?;
            Some((total, (2 * middle).abs_diff(length + 1), middle))
        });
        let (.., middle) = middles.min()?;
        let most_lanes = self.lanes_for((middle - 1).max(length - middle) * height)?;
        Some(Self { middle, most_lanes, ..self })
    }

    /// Lanes for values that depend on so many cells, the spare included: 2, 4 or 8. A folded column doubles the
    /// problem's bound.
    pub(crate) fn lanes_for(&self, cells: u32) -> Option<usize> {
        self.row_for(cells).map(|(lanes, _)| lanes)
    }

    fn cost_for(&self, cells: u32) -> Option<u32> {
        self.row_for(cells).map(|(_, cost)| cost)
    }

    fn row_for(&self, cells: u32) -> Option<(usize, u32)> {
        let bound = 2 * Integer::from(Integer::u_pow_u(self.choices, cells));
        LANES.into_iter().find(|&(lanes, _)| self.primes.iter().take(lanes - 1).product::<Integer>() > bound)
    }

    /// The moduli of K lanes, the spare last.
    pub(crate) fn moduli<const K: usize>(&self) -> Option<Moduli<K>> {
        let mut row: Row<K> = [self.spare; K];
        row[..K - 1].copy_from_slice(self.primes.get(..K - 1)?);
        Moduli::new(row)
    }
}

/// Lanes of the largest numbers of a count from both ends; `None` if numbers outgrow the most lanes.
pub fn most_lanes(choices: u32, height: u32, length: u32) -> Option<u32> {
    let spare = primes_below(MODULUS_LIMIT.into()).next()?;
    Some(Scheme::new(&[spare], choices, height, length).ok()??.most_lanes as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(height: u32, length: u32) -> Option<Scheme> {
        let mut moduli: Vec<u64> = primes_below(1 << 60).take(2).collect();
        moduli.reverse();
        Scheme::new(&moduli, 3, height, length).unwrap()
    }

    #[test]
    fn directions_meet_where_that_takes_least() {
        for (height, length, middle, lanes) in [
            (9, 9, 5, 2),
            (9, 10, 5, 4),
            (13, 13, 7, 4),
            (14, 14, 7, 4),
            (15, 15, 8, 4),
            (17, 17, 9, 8),
            (3, 1, 1, 2),
            (3, 2, 1, 2),
            (4, 40, 20, 4),
        ] {
            let scheme = scheme(height, length).unwrap();
            assert_eq!((scheme.middle, scheme.most_lanes), (middle, lanes), "{height}x{length}");
        }
        assert_eq!(scheme(3, 201), None, "numbers of more than eight lanes");
    }

    #[test]
    fn lanes_hold_what_they_must() {
        let scheme = scheme(13, 13).unwrap();
        for (cells, lanes) in [(0, 2), (37, 2), (38, 4), (112, 4), (113, 8), (264, 8)] {
            assert_eq!(scheme.lanes_for(cells), Some(lanes), "{cells} cells");
        }
        assert_eq!(scheme.lanes_for(265), None);
        let (first, spare) = ((1 << 60) - 107, (1 << 60) - 93);
        assert_eq!(scheme.moduli::<1>().unwrap().values(), &[spare]);
        assert_eq!(scheme.moduli::<2>().unwrap().values(), &[first, spare]);
        let eight = *scheme.moduli::<8>().unwrap().values();
        let primes: Vec<u64> = primes_below(1 << 60).filter(|&prime| prime != spare).take(PRIMES).collect();
        assert_eq!(eight, <Row<8>>::try_from([&primes[..], &[spare]].concat()).unwrap());
    }

    #[test]
    fn primes_of_another_size_are_refused() {
        for moduli in [&[][..], &[(1 << 59) - 55], &[(1 << 60) - 93, (1 << 46) - 21], &[(1 << 60) + 33]] {
            assert!(matches!(Scheme::new(moduli, 3, 5, 5), Err(BlockError::Moduli)), "{moduli:?}");
        }
    }
}
