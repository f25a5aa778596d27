//! A vector goes through a column, in place.
//!
//! A word between two cells stands for two states: the edges of the last cell lead right, or one of them down. Both have
//! the same value, since the cell chooses freely. Only a new pair, which leads both ways, needs a value of its own:
//!
//! ```text
//!   vector      a row for each word: one letter for the last cell, wherever its edge leads
//!   new pairs   a row for each word of the other letters
//! ```
//!
//! A cell reads and writes the rows of its own words. Joins read words that the cell does not change. So nothing needs a
//! second vector, and tasks on different blocks do not meet. Above, blocks are read or written as their letters say. Below,
//! left words keep their brackets' places, and those with the same places are a family. A family goes through all cells below
//! the cut while it is in a cache.
//!
//! Memory: 8 K bytes for each word and each new pair. Cost: [`kernel`](super::kernel).

use std::sync::atomic::{AtomicBool, Ordering};

use keima_residue::add_mod;

use super::above::{AbovePass, Move};
use super::kernel::{Carried, Joined, join_outer, within};
use super::tables::{BracketTables, Outer};
use crate::block::error::BlockError;
use crate::block::rows::lanes::{Moduli, Row, dispatch_in_memory};
use crate::block::rows::threads::crew;
use crate::block::rows::vector::Rows;

/// Rows that a task should have at least: fewer are not worth a turn.
const TASK_ROWS: usize = if cfg!(test) { 8 } else { 1 << 14 };
/// Below this many residues of a vector one thread does a cell alone. To start another costs more.
const ONE_THREAD_RESIDUES: usize = if cfg!(test) { 1 } else { 1 << 20 };

/// A vector.
pub(crate) struct Vector<const K: usize> {
    pub(crate) rows: Rows<K>,
    pub(crate) new_pairs: Rows<K>,
    /// Curves that are complete.
    pub(crate) complete: Row<K>,
}

/// How a vector goes through columns.
pub(crate) struct Way<'a, const K: usize> {
    pub(crate) tables: &'a BracketTables,
    pub(crate) moduli: Moduli<K>,
    pub(crate) threads: usize,
    pub(crate) stop: &'a AtomicBool,
}

impl<const K: usize> Way<'_, K> {
    /// Takes a vector through a column.
    pub(crate) fn column(&self, vector: &mut Vector<K>) -> Result<(), BlockError> {
        let tables = self.tables;
        self.first_cell(vector)?;
        for (place, pass) in (0..).zip(&tables.above) {
            if let Some(value) = tables.completed_at(place).and_then(|position| vector.rows.get(position)) {
                let value = *value;
                self.complete(&mut vector.complete, &value);
            }
            self.above(vector, pass)?;
        }
        for value in self.below(vector)? {
            self.complete(&mut vector.complete, &value);
        }
        Ok(())
    }

    /// Adds the curves that a cell completes.
    fn complete(&self, complete: &mut Row<K>, value: &Row<K>) {
        for ((complete, &more), &modulus) in complete.iter_mut().zip(value).zip(self.moduli.values()) {
            // Curves through all cells of fewer columns are not among those of more.
            *complete = if self.tables.covers { more } else { add_mod(*complete, more, modulus) };
        }
    }

    fn go_on(&self) -> Result<(), BlockError> {
        if self.stop.load(Ordering::Relaxed) { Err(BlockError::Stopped) } else { Ok(()) }
    }

    /// Threads for `rows` rows.
    fn threads_for(&self, rows: usize) -> usize {
        if rows * K < ONE_THREAD_RESIDUES { 1 } else { self.threads }
    }

    /// The first cell of a column, which has no cell above: what has no edge there may begin a pair. These words come first.
    fn first_cell(&self, vector: &mut Vector<K>) -> Result<(), BlockError> {
        let covers = self.tables.covers;
        let pieces = vector.rows.chunks_mut(TASK_ROWS).zip(vector.new_pairs.chunks_mut(TASK_ROWS));
        let threads = self.threads_for(self.tables.new_pairs());
        crew(threads, pieces, |(rows, new_pairs)| {
            let rows = &mut rows[..new_pairs.len()];
            new_pairs.copy_from_slice(rows);
            if covers {
                rows.fill([0; K]);
            }
            Ok::<_, BlockError>(())
        })?;
        Ok(())
    }

    fn above(&self, vector: &mut Vector<K>, pass: &AbovePass) -> Result<(), BlockError> {
        let tables = self.tables;
        let (mut written, mut read) = (Vec::with_capacity(tables.long.len()), Vec::with_capacity(tables.long.len()));
        for (block, &only_read) in split(&mut vector.rows, &tables.long).zip(&pass.read_only) {
            let (block, shared): (&mut [Row<K>], &[Row<K>]) = if only_read { (&mut [], block) } else { (block, &[]) };
            written.push(block);
            read.push(shared);
        }
        let mut take = |block: u32| std::mem::take(&mut written[block as usize]);
        let mut tasks = Tasks::new();
        for (new_pairs, made) in split(&mut vector.new_pairs, &tables.pairs).zip(&pass.moves) {
            let rows = new_pairs.len();
            let operation = match *made {
                Move::Nothing => continue,
                Move::Carry { upper, lower } => {
                    Operation::Carry(Carried { upper: take(upper), lower: take(lower), new_pairs })
                }
                Move::Join { empty, pair, sources: [first, end], inner } => {
                    let inner = inner.and_then(|(block, depth)| {
                        // What follows the block is of the height of `empty` and two.
                        let height = tables.long_heights[block as usize] as usize;
                        Some((read[block as usize], tables.inner[height].get(depth as usize)?.as_slice()))
                    });
                    let sources = &pass.sources[first as usize..end as usize];
                    Operation::Join(Joined { empty: take(empty), pair: take(pair), new_pairs, sources, inner })
                }
            };
            tasks.add(operation, 3 * rows);
        }
        let threads = self.threads_for(vector_rows(tables));
        crew(threads, tasks.finish(), |operations| {
            self.go_on()?;
            let (moduli, covers) = (self.moduli, tables.covers);
            dispatch_in_memory::<K, _>(AboveTask { operations, moduli, covers, read_only: &read });
            Ok::<_, BlockError>(())
        })?;
        Ok(())
    }

    /// All cells below the cut, one family after the other. Returns the values of the words that complete curves, in the order
    /// of the cells.
    fn below(&self, vector: &mut Vector<K>) -> Result<Vec<Row<K>>, BlockError> {
        let tables = self.tables;
        let mut blocks: Vec<(&mut [Row<K>], &mut [Row<K>])> =
            split(&mut vector.rows, &tables.blocks).zip(split(&mut vector.new_pairs, &tables.pairs)).collect();
        let mut tasks = Tasks::new();
        for (number, family) in tables.families.iter().enumerate() {
            let block = |&block: &u32| {
                let (rows, new_pairs) = std::mem::take(&mut blocks[block as usize]);
                let outer =
                    tables.first_outer[block as usize] as usize..tables.first_outer[block as usize + 1] as usize;
                Block { rows, new_pairs, height: tables.heights[block as usize], outer: &tables.outer[outer] }
            };
            let family: Vec<Block<'_, K>> = family.iter().map(block).collect();
            let rows = family.iter().map(|block| block.rows.len()).sum::<usize>() * tables.below.len();
            // Curves are completed by words without other brackets.
            tasks.add(Family { blocks: family, completes: number == 0 }, rows);
        }
        let threads = self.threads_for(vector_rows(tables));
        let completed = crew(threads, tasks.finish(), |families| {
            self.go_on()?;
            Ok::<_, BlockError>(dispatch_in_memory::<K, _>(BelowTask { families, tables, moduli: self.moduli }))
        })?;
        Ok(completed.concat())
    }
}

fn vector_rows(tables: &BracketTables) -> usize {
    tables.words() + tables.new_pairs()
}

/// Cuts rows into blocks.
fn split<'a, const K: usize>(rows: &'a mut [Row<K>], sizes: &'a [usize]) -> impl Iterator<Item = &'a mut [Row<K>]> {
    let mut rest = rows;
    sizes.iter().map(move |&size| {
        let (block, later) = std::mem::take(&mut rest).split_at_mut(size);
        rest = later;
        block
    })
}

/// Work in pieces of similar size.
struct Tasks<T> {
    done: Vec<Vec<T>>,
    now: Vec<T>,
    rows: usize,
}

impl<T> Tasks<T> {
    const fn new() -> Self {
        Self { done: Vec::new(), now: Vec::new(), rows: 0 }
    }
    fn add(&mut self, work: T, rows: usize) {
        self.now.push(work);
        self.rows += rows;
        if self.rows >= TASK_ROWS {
            self.done.push(std::mem::take(&mut self.now));
            self.rows = 0;
        }
    }
    fn finish(mut self) -> Vec<Vec<T>> {
        self.done.push(self.now);
        // Threads begin with the last.
        self.done.reverse();
        self.done
    }
}

enum Operation<'a, const K: usize> {
    Carry(Carried<'a, K>),
    Join(Joined<'a, K>),
}

struct AboveTask<'a, const K: usize> {
    operations: Vec<Operation<'a, K>>,
    moduli: Moduli<K>,
    covers: bool,
    read_only: &'a [&'a [Row<K>]],
}

impl<const K: usize> pulp::WithSimd for AboveTask<'_, K> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for operation in self.operations {
            match (operation, self.covers) {
                (Operation::Carry(carried), false) => carried.run::<false>(&self.moduli),
                (Operation::Carry(carried), true) => carried.run::<true>(&self.moduli),
                (Operation::Join(joined), false) => joined.run::<false>(&self.moduli, self.read_only),
                (Operation::Join(joined), true) => joined.run::<true>(&self.moduli, self.read_only),
            }
        }
    }
}

struct Block<'a, const K: usize> {
    rows: &'a mut [Row<K>],
    new_pairs: &'a mut [Row<K>],
    height: u32,
    outer: &'a [Outer],
}

struct Family<'a, const K: usize> {
    blocks: Vec<Block<'a, K>>,
    completes: bool,
}

struct BelowTask<'a, const K: usize> {
    families: Vec<Family<'a, K>>,
    tables: &'a BracketTables,
    moduli: Moduli<K>,
}

impl<const K: usize> pulp::WithSimd for BelowTask<'_, K> {
    type Output = Vec<Row<K>>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { families, tables, moduli } = self;
        let mut completed = Vec::new();
        for Family { mut blocks, completes } in families {
            for (cell, passes) in (tables.above.len() as u32..).zip(&tables.below) {
                let position = if completes { tables.completed_at(cell) } else { None };
                completed.extend(position.and_then(|position| blocks.first()?.rows.get(position)));
                for number in 0..blocks.len() {
                    let Block { rows, new_pairs, height, outer } = &mut blocks[number];
                    let (height, outer) = (*height as usize, *outer);
                    if tables.covers {
                        within::<K, true>(&passes[height], rows, new_pairs, &moduli);
                    } else {
                        within::<K, false>(&passes[height], rows, new_pairs, &moduli);
                    }
                    for &Outer { block, depth } in outer {
                        let Some(pairs) = passes[height + 2].outer.get(depth as usize) else { continue };
                        // Its words of these joins are the same before and after the cell.
                        let other = tables.member[block as usize] as usize;
                        if let Ok([target, other]) = blocks.get_disjoint_mut([number, other]) {
                            join_outer(pairs, target.rows, other.rows, &moduli);
                        }
                    }
                }
            }
        }
        completed
    }
}
