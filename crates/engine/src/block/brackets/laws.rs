//! Sums over a vector, for the laws that it must obey.
//!
//! ```text
//!   written       sum of values after a column          must be the sum of value x ways before it
//!   read          sum of values before the next one     must be what was written
//!   fingerprint   sum of h(position) x value over one row in 64, written and read
//! ```
//!
//! Cost: two passes over the rows for each column, which has one for each cell.

use keima_model::{Key, SAMPLE_ONE_IN};
use keima_residue::reduce_wide;

use crate::block::error::BlockError;
use crate::block::rows::lanes::{Moduli, Row, Weighted, dispatch_in_memory};
use crate::block::rows::sums::{add_up, merge};
use crate::block::rows::threads::crew;

/// Rows that a thread adds up at a time.
const ROWS_AT_A_TIME: usize = 1 << 16;
/// Bits of the sum of the ways that are added up between two reductions.
const WAYS_BITS: u32 = 32;

/// What a vector adds up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals<const K: usize> {
    /// Sum of the values.
    pub(crate) values: Row<K>,
    /// Sum of value x ways, where ways were given.
    pub(crate) ways: Row<K>,
    /// Fingerprint of the last lane.
    pub(crate) fingerprint: u64,
}

/// Adds up a vector. `ways` come with a number of bits, at most 32, that all of them have at most. `salt` selects the
/// fingerprint's rows and their factors.
pub(crate) fn totals<const K: usize>(
    rows: &[Row<K>],
    ways: Option<(&[u32], u32)>,
    moduli: &Moduli<K>,
    salt: u64,
    threads: usize,
) -> Result<Totals<K>, BlockError> {
    let pieces = rows.chunks(ROWS_AT_A_TIME).enumerate().map(|(number, rows)| {
        let first = number * ROWS_AT_A_TIME;
        Piece { first, rows, ways: ways.map(|(ways, bits)| (&ways[first..first + rows.len()], bits)), moduli, salt }
    });
    let sums = crew(threads, pieces, |piece| Ok::<_, BlockError>(dispatch_in_memory::<K, _>(piece)))?;
    let (mut values, mut by_ways, mut fingerprint) = ([0; K], [0; K], 0);
    for (more, more_ways, print) in sums {
        merge(&mut values, more, moduli);
        merge(&mut by_ways, more_ways, moduli);
        fingerprint += print;
    }
    let reduced = |sums: [u128; K]| std::array::from_fn(|lane| reduce_wide(sums[lane], moduli.values()[lane]));
    Ok(Totals {
        values: reduced(values),
        ways: reduced(by_ways),
        fingerprint: reduce_wide(fingerprint, moduli.values()[K - 1]),
    })
}

struct Piece<'a, const K: usize> {
    first: usize,
    rows: &'a [Row<K>],
    /// Ways, and the number of bits that each of them fits.
    ways: Option<(&'a [u32], u32)>,
    moduli: &'a Moduli<K>,
    salt: u64,
}

impl<const K: usize> pulp::WithSimd for Piece<'_, K> {
    type Output = ([u128; K], [u128; K], u128);
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let (mut values, mut by_ways) = ([0; K], [0; K]);
        let mut sum = Weighted::ZERO;
        if let Some((ways, bits)) = self.ways {
            let at_a_time = 1 << (WAYS_BITS - bits);
            for (rows, ways) in self.rows.chunks(at_a_time).zip(ways.chunks(at_a_time)) {
                let mut weighted = Weighted::ZERO;
                for (row, &ways) in rows.iter().zip(ways) {
                    sum.add(1, row);
                    weighted.add(ways, row);
                }
                add_up(&mut by_ways, &weighted, self.moduli);
            }
        } else {
            self.rows.iter().for_each(|row| sum.add(1, row));
        }
        add_up(&mut values, &sum, self.moduli);
        let step = SAMPLE_ONE_IN as usize;
        // The first row of the sample in this piece.
        let offset = (self.salt as usize).wrapping_sub(self.first) % step;
        let sample = self.rows.iter().enumerate().skip(offset).step_by(step);
        let print = sample.fold(0_u128, |sum, (place, row)| {
            let factor = (self.first + place) as u64;
            let term = u128::from(factor.mix(self.salt) >> 32) * u128::from(row[K - 1]);
            // 2^16 / 64 terms of 92 bits.
            sum + term
        });
        (values, by_ways, u128::from(reduce_wide(print, self.moduli.values()[K - 1])))
    }
}
