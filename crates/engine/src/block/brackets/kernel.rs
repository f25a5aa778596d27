//! Sums of rows: the inner loops.
//!
//! `COVERS` says whether every cell lies on the curve: then a word is not kept where the cell stays empty.
//!
//! Cost: each row of a vector is read once a cell, and two in three are written; above the cut from memory.

use super::below::{BelowPass, Joins};
use crate::block::rows::lanes::{Moduli, Row, add};

/// A bracket leads on, for whole blocks.
pub(crate) struct Carried<'a, const K: usize> {
    pub(crate) upper: &'a mut [Row<K>],
    pub(crate) lower: &'a mut [Row<K>],
    pub(crate) new_pairs: &'a mut [Row<K>],
}

/// No bracket leaves the cell, for whole blocks.
pub(crate) struct Joined<'a, const K: usize> {
    pub(crate) empty: &'a mut [Row<K>],
    pub(crate) pair: &'a mut [Row<K>],
    pub(crate) new_pairs: &'a mut [Row<K>],
    /// Blocks whose words all join.
    pub(crate) sources: &'a [u32],
    /// A block of whose words some join, with the words that they become.
    pub(crate) inner: Option<(&'a [Row<K>], &'a [u16])>,
}

/// The rows of one bracket that leads on.
#[inline(always)]
fn carry<const K: usize, const COVERS: bool>(
    moduli: &Moduli<K>,
    upper: &mut Row<K>,
    lower: &mut Row<K>,
    new_pair: &mut Row<K>,
) {
    let old = *upper;
    if COVERS {
        *upper = *new_pair;
    } else {
        moduli.put(upper, new_pair);
    }
    moduli.put(lower, &old);
    *new_pair = old;
}

impl<const K: usize> Carried<'_, K> {
    #[inline(always)]
    pub(crate) fn run<const COVERS: bool>(self, moduli: &Moduli<K>) {
        for ((upper, lower), new_pair) in self.upper.iter_mut().zip(self.lower).zip(self.new_pairs) {
            carry::<K, COVERS>(moduli, upper, lower, new_pair);
        }
    }
}

impl<const K: usize> Joined<'_, K> {
    #[inline(always)]
    pub(crate) fn run<const COVERS: bool>(self, moduli: &Moduli<K>, read_only: &[&[Row<K>]]) {
        for ((empty, pair), new_pair) in self.empty.iter_mut().zip(self.pair).zip(self.new_pairs) {
            moduli.put(pair, new_pair);
            *new_pair = *empty;
            if COVERS {
                *empty = [0; K];
            }
        }
        let (fours, others) = self.sources.as_chunks::<4>();
        for four in fours {
            join(self.empty, four.map(|block| read_only[block as usize]), moduli);
        }
        match *others {
            [one] => join(self.empty, [read_only[one as usize]], moduli),
            [one, two] => join(self.empty, [one, two].map(|block| read_only[block as usize]), moduli),
            [one, two, three] => join(self.empty, [one, two, three].map(|block| read_only[block as usize]), moduli),
            _ => {}
        }
        if let Some((rows, targets)) = self.inner {
            for (row, &target) in rows.iter().zip(targets) {
                moduli.put(&mut self.empty[usize::from(target)], row);
            }
        }
    }
}

/// Adds blocks to a block.
#[inline(always)]
fn join<const K: usize, const D: usize>(target: &mut [Row<K>], sources: [&[Row<K>]; D], moduli: &Moduli<K>) {
    let sources = sources.map(|source| &source[..target.len()]);
    for (number, row) in target.iter_mut().enumerate() {
        let mut sum = *row;
        for source in sources {
            add(&mut sum, &source[number]);
        }
        moduli.reduce::<5>(&mut sum);
        *row = sum;
    }
}

/// One cell within a block.
#[inline(always)]
pub(crate) fn within<const K: usize, const COVERS: bool>(
    pass: &BelowPass,
    block: &mut [Row<K>],
    new_pairs: &mut [Row<K>],
    moduli: &Moduli<K>,
) {
    for &[upper, lower, new_pair] in &pass.carries {
        let [upper, lower, new_pair] = [upper, lower, new_pair].map(usize::from);
        let old = block[upper];
        let mut value = new_pairs[new_pair];
        new_pairs[new_pair] = old;
        if !COVERS {
            moduli.put(&mut value, &old);
        }
        block[upper] = value;
        moduli.put(&mut block[lower], &old);
    }
    for (degree, joins) in pass.joins.iter().enumerate() {
        match degree {
            0 => joined::<K, 0, 3, COVERS>(joins, block, new_pairs, moduli),
            1 => joined::<K, 1, 4, COVERS>(joins, block, new_pairs, moduli),
            2 => joined::<K, 2, 5, COVERS>(joins, block, new_pairs, moduli),
            3 => joined::<K, 3, 6, COVERS>(joins, block, new_pairs, moduli),
            4 => joined::<K, 4, 7, COVERS>(joins, block, new_pairs, moduli),
            5 => joined::<K, 5, 8, COVERS>(joins, block, new_pairs, moduli),
            _ => joined_many::<K, COVERS>(joins, degree, block, new_pairs, moduli),
        }
    }
}

/// Joins of `D` words each; `L` is three more.
#[inline(always)]
fn joined<const K: usize, const D: usize, const L: usize, const COVERS: bool>(
    joins: &Joins,
    block: &mut [Row<K>],
    new_pairs: &mut [Row<K>],
    moduli: &Moduli<K>,
) {
    for row in joins.rows.as_chunks::<L>().0 {
        let [empty, pair, new_pair] = [row[0], row[1], row[2]].map(usize::from);
        let old = block[empty];
        moduli.put(&mut block[pair], &new_pairs[new_pair]);
        new_pairs[new_pair] = old;
        let mut sum = if COVERS { [0; K] } else { old };
        for &source in &row[3..] {
            add(&mut sum, &block[usize::from(source)]);
        }
        match D {
            0 => {}
            1 => moduli.reduce::<2>(&mut sum),
            2 | 3 => moduli.reduce::<4>(&mut sum),
            _ => moduli.reduce::<8>(&mut sum),
        }
        block[empty] = sum;
    }
}

/// Joins of any number of words each.
#[inline(always)]
fn joined_many<const K: usize, const COVERS: bool>(
    joins: &Joins,
    degree: usize,
    block: &mut [Row<K>],
    new_pairs: &mut [Row<K>],
    moduli: &Moduli<K>,
) {
    for row in joins.rows.chunks_exact(degree + 3) {
        let [empty, pair, new_pair] = [row[0], row[1], row[2]].map(usize::from);
        let old = block[empty];
        moduli.put(&mut block[pair], &new_pairs[new_pair]);
        new_pairs[new_pair] = old;
        let mut sum = if COVERS { [0; K] } else { old };
        for few in row[3..].chunks(8) {
            for &source in few {
                add(&mut sum, &block[usize::from(source)]);
            }
            moduli.reduce::<9>(&mut sum);
        }
        block[empty] = sum;
    }
}

/// Joins of words of another block: (word there, word here).
#[inline(always)]
pub(crate) fn join_outer<const K: usize>(
    pairs: &[[u16; 2]],
    block: &mut [Row<K>],
    other: &[Row<K>],
    moduli: &Moduli<K>,
) {
    for &[source, target] in pairs {
        moduli.put(&mut block[usize::from(target)], &other[usize::from(source)]);
    }
}
