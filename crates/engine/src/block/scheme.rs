//! The primes of a count in memory, the lanes that its numbers need, and where its two directions meet.
//!
//! ```text
//!           primes                           lanes for 3^78 (13x13)   for 3^91 (14x14)
//!   full    just below 2^60                  4                        4      sums are reduced as they are made
//!   lazy    just below 2^46, for 2^18 ways   4                        8      each row once a window
//! ```
//!
//! Lazy primes are so small that what a window adds up to any state fits a word (see [`super::lanes`]): with the most ways
//! that lead to a state known, they are as large as that allows. They cost lanes where numbers are long, and save time
//! where they do not. Rows of two lanes, for which they save little, have a prime just below 2^60 beside the spare.
//!
//! The spare is the largest of the primes: rows that differ in one residue, modulo p, differ by k times the product of the
//! others with 0 < k < p, so that no single wrong residue passes the spare's check. (Of rows of two lanes with a lazy spare
//! one in 2^40 or less does.)

use keima_model::MOST_SUCCESSORS;
use keima_residue::{Integer, primes_below};

use super::BlockError;
use super::lanes::{MODULUS_LIMIT, Moduli, Row};

/// Numbers of lanes, with the relative times of their passes: full primes, and lazy ones (measured at 11x11, and at 12x12 and
/// 13x13; those of eight lazy lanes are reckoned).
const LANES: [(usize, [u32; 2]); 3] = [(2, [37, 37]), (4, [50, 44]), (8, [100, 88])];

/// Primes beside the spare that the most lanes have.
const PRIMES: usize = 7;

/// How a count in memory is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scheme {
    /// The spare prime.
    pub(super) spare: u64,
    /// The others of four lanes and more, [`PRIMES`] of them.
    primes: Vec<u64>,
    /// That of two lanes.
    first: u64,
    /// Those of four lanes and more, and the spare, are lazy ones of so many bits.
    bits: Option<u32>,
    /// Ways to fill a cell.
    choices: u32,
    /// The column after which the two directions meet.
    pub(super) middle: u32,
    /// Lanes of the largest numbers.
    pub(super) most_lanes: usize,
    /// Relative time of all columns.
    cost: u32,
}

impl Scheme {
    /// With the primes `moduli`, the last of them the spare, and such as they are where these are not enough. `None` if
    /// numbers outgrow the most lanes; an error unless all primes are between 2^59 and 2^60.
    pub(super) fn full(moduli: &[u64], choices: u32, height: u32, length: u32) -> Result<Option<Self>, BlockError> {
        let (&spare, given) = moduli.split_last().ok_or(BlockError::Moduli)?;
        let more = primes_below(MODULUS_LIMIT.into()).filter(|prime| !moduli.contains(prime));
        let primes: Vec<u64> = given.iter().copied().chain(more).take(PRIMES).collect();
        let suit = primes.iter().chain([&spare]).all(|prime| (MODULUS_LIMIT / 2..MODULUS_LIMIT).contains(prime));
        if suit { Ok(Self::new((spare, primes, None), choices, height, length)) } else { Err(BlockError::Moduli) }
    }

    /// With lazy primes, if at most `ways` lead to any state within a window, and from any; the spare is none of `given`.
    /// `None` if numbers outgrow the most lanes, or all is done in one direction.
    pub(super) fn lazy(ways: u64, given: &[u64], choices: u32, height: u32, length: u32) -> Option<Self> {
        let bits = ways.saturating_sub(1).leading_zeros().min(MODULUS_LIMIT.ilog2());
        let mut primes = primes_below(1 << bits).skip_while(|prime| given.contains(prime));
        let spare = primes.next()?;
        let scheme = Self::new((spare, primes.take(PRIMES).collect(), Some(bits)), choices, height, length)?;
        (scheme.moduli::<8>().is_some() && scheme.middle < length).then_some(scheme)
    }

    fn new(
        (spare, primes, bits): (u64, Vec<u64>, Option<u32>),
        choices: u32,
        height: u32,
        length: u32,
    ) -> Option<Self> {
        let first = match bits {
            Some(_) => primes_below(MODULUS_LIMIT.into()).find(|&prime| prime != spare)?,
            None => *primes.first()?,
        };
        let mut scheme = Self { spare, primes, first, bits, choices, middle: 0, most_lanes: 0, cost: 0 };
        let cost = |columns: u32| (1..=columns).map(|column| scheme.cost_for(height * column)).sum::<Option<u32>>();
        // At the least cost, and of equal ones nearest to the board's middle. What does not fit the lanes is no choice.
        let middles = (1..=length).filter_map(|middle| {
            let total = cost(middle - 1)? + cost(length - middle)?;
            Some((total, (2 * middle).abs_diff(length + 1), middle))
        });
        let (cost, _, middle) = middles.min()?;
        let most_lanes = scheme.lanes_for((middle - 1).max(length - middle) * height)?;
        (scheme.cost, scheme.middle, scheme.most_lanes) = (cost, middle, most_lanes);
        Some(scheme)
    }

    /// This one, or another that takes less time, and no more memory.
    pub(super) fn or_better(self, other: Option<Self>) -> Self {
        let better = other.filter(|other| other.cost < self.cost && other.most_lanes <= self.most_lanes);
        better.unwrap_or(self)
    }

    /// Lanes that numbers of so many cells need, the spare included: 2, 4 or 8. Where a column is folded, they are up to
    /// twice as large as the bound of the problem.
    pub(super) fn lanes_for(&self, cells: u32) -> Option<usize> {
        let bound = 2 * Integer::from(Integer::u_pow_u(self.choices, cells));
        let hold = |primes: &[u64]| primes.iter().product::<Integer>() > bound;
        LANES.iter().map(|&(lanes, _)| lanes).find(|&lanes| self.primes_of(lanes).is_some_and(hold))
    }

    /// The primes of so many lanes, without the spare.
    fn primes_of(&self, lanes: usize) -> Option<&[u64]> {
        if lanes == 2 { Some(std::slice::from_ref(&self.first)) } else { self.primes.get(..lanes.checked_sub(1)?) }
    }

    fn cost_for(&self, cells: u32) -> Option<u32> {
        let lanes = self.lanes_for(cells)?;
        let (_, costs) = LANES.into_iter().find(|&(found, _)| found == lanes)?;
        Some(costs[usize::from(self.bits.is_some())])
    }

    /// Whether the primes of so many lanes are lazy ones.
    pub(super) fn is_lazy_for(&self, lanes: usize) -> bool {
        self.bits.is_some() && lanes != 2
    }

    /// Those of K lanes, the spare last.
    pub(super) fn moduli<const K: usize>(&self) -> Option<Moduli<K>> {
        let mut row: Row<K> = [self.spare; K];
        row[..K - 1].copy_from_slice(self.primes_of(K)?);
        match self.bits.filter(|_| self.is_lazy_for(K)) {
            Some(bits) => Moduli::lazy(row, bits),
            None => Moduli::new(row),
        }
    }
}

/// As many ways, at most, as lead from a state through a window of so many cells, or through a part of it.
pub(super) fn ways_on(cells: u32) -> u64 {
    (MOST_SUCCESSORS as u64).saturating_pow(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(height: u32, length: u32) -> Option<Scheme> {
        let moduli: Vec<u64> = primes_below(1 << 60).take(2).collect();
        Scheme::full(&moduli, 3, height, length).unwrap()
    }

    #[test]
    fn lazy_primes_are_for_numbers_that_fit_them() {
        // (height, length, ways, lanes of full and lazy primes, whether lazy ones are better)
        for (height, length, log_ways, lanes, better) in [
            (10, 10, 14, [4, 4], true),
            (12, 12, 17, [4, 4], true),
            (13, 13, 18, [4, 4], true),
            (14, 14, 20, [4, 8], false),
            (15, 15, 22, [4, 8], false),
            // Nothing has more than two lanes.
            (9, 9, 13, [2, 2], false),
            (4, 40, 8, [4, 4], true),
            (5, 60, 9, [8, 8], true),
        ] {
            let (full, lazy) =
                (full(height, length).unwrap(), Scheme::lazy(1 << log_ways, &[], 3, height, length).unwrap());
            let what = format!("{height}x{length}");
            assert_eq!([full.most_lanes, lazy.most_lanes], lanes, "{what}");
            assert_eq!(lazy.bits, Some(64 - log_ways), "{what}");
            assert_eq!((full.middle, lazy.middle), (length.div_ceil(2), length.div_ceil(2)), "{what}");
            let expected = if better { &lazy } else { &full };
            assert_eq!(&full.clone().or_better(Some(lazy.clone())), expected, "{what}");
            assert_eq!(full.clone().or_better(None), full, "{what}");
            assert!(lazy.primes.iter().all(|&prime| prime < lazy.spare && prime > lazy.spare / 2), "{what}");
        }
        assert_eq!(Scheme::lazy((1 << 18) + 1, &[], 3, 13, 13).unwrap().bits, Some(45), "one way more");
        assert_eq!(Scheme::lazy(1, &[], 3, 4, 8).unwrap().bits, Some(60));
        assert_eq!(Scheme::lazy(u64::MAX, &[], 3, 4, 8), None, "no such primes");
        assert_eq!(Scheme::lazy(1 << 18, &[], 3, 4, 1), None, "one direction");
        // A spare that is another residue's prime would tell nothing new of the count.
        let given: Vec<u64> = primes_below(1 << 60).take(2).collect();
        let lazy = Scheme::lazy(9, &given, 3, 3, 60).unwrap();
        assert_eq!(lazy.bits, Some(60));
        assert!(lazy.spare < given[1] && lazy.primes[0] < lazy.spare, "{lazy:?}");
    }

    #[test]
    fn lanes_hold_what_they_must() {
        let scheme = Scheme::lazy(1 << 18, &[], 3, 13, 13).unwrap();
        for (cells, lanes) in [(0, 2), (37, 2), (38, 4), (86, 4), (87, 8), (200, 8)] {
            assert_eq!(scheme.lanes_for(cells), Some(lanes), "{cells} cells");
        }
        assert_eq!(scheme.lanes_for(204), None);
        assert_eq!(full(13, 13).unwrap().lanes_for(112), Some(4));
        let (two, four) = (scheme.moduli::<2>().unwrap(), scheme.moduli::<4>().unwrap());
        assert!(!two.are_lazy() && four.are_lazy() && scheme.moduli::<1>().unwrap().are_lazy());
        assert_eq!((two.values()[1], four.values()[3]), (scheme.spare, scheme.spare));
        assert_eq!(scheme.moduli::<1>().unwrap().values(), &[scheme.spare]);
        assert_eq!(two.values()[0], (1 << 60) - 93);
    }

    #[test]
    fn primes_of_another_size_are_refused() {
        for moduli in [&[][..], &[(1 << 59) - 55], &[(1 << 60) - 93, (1 << 46) - 21], &[(1 << 60) + 33]] {
            assert!(matches!(Scheme::full(moduli, 3, 5, 5), Err(BlockError::Moduli)), "{moduli:?}");
        }
        let long = Scheme::full(&[(1 << 60) - 93], 3, 3, 201);
        assert!(matches!(long, Ok(None)), "numbers of more than eight lanes: {long:?}");
    }
}
