//! Sums within a block: the inner loops of the block executor.
//!
//! ```text
//!   after[i] = sum of before[source] for its sources
//! ```
//!
//! In memory, `in_memory::family::fused` takes one block at a time through all passes of a window. Out of core,
//! `out_of_core::passes` takes a family through one pass at a time. Both use these sums.
//!
//! Entries are ordered by their number of sources, so each loop has sums of one length and no branches. The source
//! buffer has 2^16 rows, so every `u16` is a valid index and no index needs a check.
//!
//! Cost: one load of 8 K bytes for each source, mostly from the cache that holds the block.

use keima_model::{Far, MOST_ENTRIES, PassTable};

use crate::block::rows::lanes::{Moduli, Row, add};

/// Room for any block: every `u16` is a valid index.
pub(crate) type BlockRows<const K: usize> = [Row<K>; MOST_ENTRIES];

/// The sums within a block. Overwrites the first rows of `after`.
#[inline(always)]
pub(crate) fn local<const K: usize>(
    table: &PassTable,
    source: &[Row<K>; MOST_ENTRIES],
    after: &mut [Row<K>],
    moduli: &Moduli<K>,
) {
    let mut after = after;
    let mut sources = table.sources.as_slice();
    for (degree, &count) in table.in_degrees.iter().enumerate() {
        let (rows, later) = after.split_at_mut(count as usize);
        let (these, rest) = sources.split_at(degree * count as usize);
        (after, sources) = (later, rest);
        match degree {
            0 => rows.fill([0; K]),
            1 => pull::<K, 1>(source, rows, these, moduli),
            2 => pull::<K, 2>(source, rows, these, moduli),
            3 => pull::<K, 3>(source, rows, these, moduli),
            4 => pull::<K, 4>(source, rows, these, moduli),
            5 => pull::<K, 5>(source, rows, these, moduli),
            6 => pull::<K, 6>(source, rows, these, moduli),
            7 => pull::<K, 7>(source, rows, these, moduli),
            8 => pull::<K, 8>(source, rows, these, moduli),
            _ => pull_many(source, rows, these, degree, moduli),
        }
    }
}

/// Sums of `D` rows each.
#[inline(always)]
fn pull<const K: usize, const D: usize>(
    source: &[Row<K>; MOST_ENTRIES],
    rows: &mut [Row<K>],
    sources: &[u16],
    moduli: &Moduli<K>,
) {
    for (row, these) in rows.iter_mut().zip(sources.as_chunks::<D>().0) {
        let mut sum = source[usize::from(these[0])];
        for &one in &these[1..] {
            add(&mut sum, &source[usize::from(one)]);
        }
        moduli.reduce::<D>(&mut sum);
        *row = sum;
    }
}

/// Sums of any number of rows, reduced after every eight.
#[inline(always)]
fn pull_many<const K: usize>(
    source: &[Row<K>; MOST_ENTRIES],
    rows: &mut [Row<K>],
    sources: &[u16],
    degree: usize,
    moduli: &Moduli<K>,
) {
    for (row, these) in rows.iter_mut().zip(sources.chunks_exact(degree)) {
        let mut sum = [0; K];
        for few in these.chunks(8) {
            for &one in few {
                add(&mut sum, &source[usize::from(one)]);
            }
            moduli.reduce::<9>(&mut sum);
        }
        *row = sum;
    }
}

/// The transposed sums within a block. Overwrites each row with the sum over its successors in the block itself.
#[inline(always)]
pub(crate) fn local_transposed<const K: usize>(
    table: &PassTable,
    after: &[Row<K>; MOST_ENTRIES],
    rows: &mut [Row<K>; MOST_ENTRIES],
    moduli: &Moduli<K>,
) {
    for group in &table.rows {
        // Successors are in the order of their blocks. The block itself is number 0.
        match group.blocks[..usize::from(group.degree)].partition_point(|&place| place == 0) {
            0 => group.rows.iter().for_each(|row| rows[usize::from(row[0])] = [0; K]),
            1 => rows_of::<K, 1>(after, rows, &group.rows, moduli),
            2 => rows_of::<K, 2>(after, rows, &group.rows, moduli),
            _ => rows_of::<K, 3>(after, rows, &group.rows, moduli),
        }
    }
}

#[inline(always)]
fn rows_of<const K: usize, const D: usize>(
    after: &[Row<K>; MOST_ENTRIES],
    rows: &mut [Row<K>; MOST_ENTRIES],
    table: &[[u16; 4]],
    moduli: &Moduli<K>,
) {
    for &[row, successors @ ..] in table {
        let mut sum = after[usize::from(successors[0])];
        for &successor in &successors[1..D] {
            add(&mut sum, &after[usize::from(successor)]);
        }
        moduli.reduce::<D>(&mut sum);
        rows[usize::from(row)] = sum;
    }
}

/// Adds the values of a far operation to the entries of its target.
#[inline(always)]
pub(crate) fn add_far<'v, const K: usize>(
    far: &Far,
    values: impl Iterator<Item = &'v Row<K>>,
    target: &mut [Row<K>],
    moduli: &Moduli<K>,
) {
    for (&(_, to), value) in far.pairs.iter().zip(values) {
        moduli.put(&mut target[usize::from(to)], value);
    }
}
