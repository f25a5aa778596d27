//! In how many ways each word goes through a column: the transposed map, applied to ones.
//!
//! The sum of value x ways before a column must be the sum of values after it: mass balance. The ways are computed by code
//! of their own, which sends where [`kernel`](super::kernel) gathers, so that both would have to err alike.
//!
//! Cost: one column with one lane, by one thread. Memory: 4 bytes for each word, and 16 while they are computed.

use super::above::Move;
use super::below::BelowPass;
use super::tables::{BracketTables, Outer};
use crate::MemoryRefused;
use crate::block::rows::vector::{Rows, Ways};

/// The ways of all words through a column whose end has cells to its right, each at most 2^height. `rows` and `new_pairs`
/// are of a vector's length; their contents do not matter.
pub(crate) fn ways(tables: &BracketTables, rows: &mut Rows<1>, new_pairs: &mut Rows<1>) -> Result<Ways, MemoryRefused> {
    rows.fill([1]);
    new_pairs.fill([0]);
    let mut back = Back {
        tables,
        keeps: u64::from(!tables.covers),
        rows: rows.as_flattened_mut(),
        new_pairs: new_pairs.as_flattened_mut(),
    };
    for passes in tables.below.iter().rev() {
        back.below(passes);
    }
    for pass in tables.above.iter().rev() {
        let longs = starts(&tables.long);
        let mut first = 0;
        for (made, &size) in pass.moves.iter().zip(&tables.pairs) {
            back.above(made, &pass.sources, &longs, first, size);
            first += size;
        }
    }
    for (row, new_pair) in back.rows.iter_mut().zip(back.new_pairs.iter()) {
        *row = *row * back.keeps + new_pair;
    }
    let mut ways = Ways::zeroed(tables.words())?;
    for (ways, &row) in ways.iter_mut().zip(back.rows.iter()) {
        // At most two ways a cell, and at most 24 cells.
        *ways = row as u32;
    }
    Ok(ways)
}

fn starts(sizes: &[usize]) -> Vec<usize> {
    let mut end = 0;
    sizes
        .iter()
        .map(|size| {
            end += size;
            end - size
        })
        .collect()
}

struct Back<'a> {
    tables: &'a BracketTables,
    /// 1 if a cell may stay empty, else 0.
    keeps: u64,
    rows: &'a mut [u64],
    new_pairs: &'a mut [u64],
}

impl Back<'_> {
    fn carry(&mut self, upper: usize, lower: usize, new_pair: usize) {
        let after = self.rows[upper];
        self.rows[upper] = after * self.keeps + self.rows[lower] + self.new_pairs[new_pair];
        self.new_pairs[new_pair] = after;
    }

    /// Returns what the sources get.
    fn join(&mut self, empty: usize, pair: usize, new_pair: usize) -> u64 {
        let after = self.rows[empty];
        self.rows[empty] = after * self.keeps + self.new_pairs[new_pair];
        self.new_pairs[new_pair] = self.rows[pair];
        after
    }

    fn above(&mut self, made: &Move, all: &[u32], longs: &[usize], first: usize, size: usize) {
        let start = |block: u32| longs[block as usize];
        match *made {
            Move::Nothing => {}
            Move::Carry { upper, lower } => {
                (0..size).for_each(|row| self.carry(start(upper) + row, start(lower) + row, first + row));
            }
            Move::Join { empty, pair, sources: [from, end], inner } => {
                let before = self.rows[start(empty)..][..size].to_vec();
                for (row, &after) in before.iter().enumerate() {
                    self.join(start(empty) + row, start(pair) + row, first + row);
                    for &source in &all[from as usize..end as usize] {
                        self.rows[start(source) + row] += after;
                    }
                }
                let Some((block, depth)) = inner else { return };
                let height = self.tables.long_heights[block as usize] as usize;
                let targets = self.tables.inner[height].get(depth as usize).map_or(&[][..], Vec::as_slice);
                for (row, &target) in targets.iter().enumerate() {
                    self.rows[start(block) + row] += before[usize::from(target)];
                }
            }
        }
    }

    fn below(&mut self, passes: &[BelowPass]) {
        let (blocks, pairs) = (starts(&self.tables.blocks), starts(&self.tables.pairs));
        // Before the joins within blocks, which overwrite what these read.
        for (target, &height) in self.tables.heights.iter().enumerate() {
            let Some(pass) = passes.get(height as usize + 2) else { continue };
            let range = self.tables.first_outer[target] as usize..self.tables.first_outer[target + 1] as usize;
            for &Outer { block, depth } in &self.tables.outer[range] {
                for &[source, to] in pass.outer.get(depth as usize).map_or(&[][..], Vec::as_slice) {
                    self.rows[blocks[block as usize] + usize::from(source)] +=
                        self.rows[blocks[target] + usize::from(to)];
                }
            }
        }
        for ((&block, &new_pairs), &height) in blocks.iter().zip(&pairs).zip(&self.tables.heights) {
            let Some(pass) = passes.get(height as usize) else { continue };
            for row in &pass.carries {
                let [upper, lower, new_pair] = row.map(usize::from);
                self.carry(block + upper, block + lower, new_pairs + new_pair);
            }
            for (degree, joins) in pass.joins.iter().enumerate() {
                for row in joins.rows.chunks_exact(degree + 3) {
                    let [empty, pair, new_pair] = [row[0], row[1], row[2]].map(usize::from);
                    let after = self.join(block + empty, block + pair, new_pairs + new_pair);
                    for &source in &row[3..] {
                        self.rows[block + usize::from(source)] += after;
                    }
                }
            }
        }
    }
}
