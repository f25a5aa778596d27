//! Sums over a family's rows that the laws compare, compiled for the machine's widest vector instructions.

use std::ops::Range;

use keima_model::BlockTables;
use keima_residue::reduce_wide;

use crate::block::rows::lanes::{Moduli, Row, Weighted};

/// Rows in a weighted sum between two reductions.
pub(crate) const WEIGHED_AT_A_TIME: usize = 256;

pub(crate) fn add_up<const K: usize>(total: &mut [u128; K], sum: &Weighted<K>, moduli: &Moduli<K>) {
    merge(total, sum.values(), moduli);
}

pub(crate) fn merge<const K: usize>(total: &mut [u128; K], more: [u128; K], moduli: &Moduli<K>) {
    for ((total, more), &modulus) in total.iter_mut().zip(more).zip(moduli.values()) {
        *total = u128::from(reduce_wide(*total + u128::from(reduce_wide(more, modulus)), modulus));
    }
}

/// The rows of some blocks of a family as they enter a window.
pub(crate) struct Enter<'a, const K: usize> {
    pub(crate) tables: &'a BlockTables,
    pub(crate) blocks: Range<u32>,
    pub(crate) rows: &'a [Row<K>],
    /// Ways of each row through the window. `None` where the block's signature has them.
    pub(crate) ways: Option<&'a [u32]>,
    pub(crate) moduli: &'a Moduli<K>,
}

/// Sums of the values, and of value x ways.
pub(crate) struct Entering<const K: usize> {
    pub(crate) values: [u128; K],
    pub(crate) ways: [u128; K],
}

impl<const K: usize> pulp::WithSimd for Enter<'_, K> {
    type Output = Entering<K>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let mut entering = Entering { values: [0; K], ways: [0; K] };
        if let Some(ways) = self.ways {
            entering.add(self.rows, ways, self.moduli);
            return entering;
        }
        let mut rest = self.rows;
        for block in self.blocks {
            let ways = &self.tables.signatures[self.tables.signature_of[block as usize] as usize].descendants;
            let (rows, later) = rest.split_at(ways.len());
            rest = later;
            entering.add(rows, ways, self.moduli);
        }
        entering
    }
}

impl<const K: usize> Entering<K> {
    #[inline(always)]
    fn add(&mut self, rows: &[Row<K>], ways: &[u32], moduli: &Moduli<K>) {
        for (rows, ways) in rows.chunks(WEIGHED_AT_A_TIME).zip(ways.chunks(WEIGHED_AT_A_TIME)) {
            let (mut values, mut sum) = (Weighted::ZERO, Weighted::ZERO);
            for (row, &ways) in rows.iter().zip(ways) {
                values.add(1, row);
                sum.add(ways, row);
            }
            add_up(&mut self.values, &values, moduli);
            add_up(&mut self.ways, &sum, moduli);
        }
    }
}

/// Sums rows.
pub(crate) struct Total<'a, const K: usize> {
    pub(crate) rows: &'a [Row<K>],
    pub(crate) moduli: &'a Moduli<K>,
}

impl<const K: usize> pulp::WithSimd for Total<'_, K> {
    type Output = [u128; K];
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let mut total = [0; K];
        for rows in self.rows.chunks(1 << 16) {
            let mut sum = Weighted::ZERO;
            for row in rows {
                sum.add(1, row);
            }
            add_up(&mut total, &sum, self.moduli);
        }
        total
    }
}
