//! A small family through a window, pass by pass, between two buffers that stay in the cache.
//!
//! ```text
//!   forward      y[block]  = sums of x[block]                      for all blocks
//!                y[target] += x[block]                             for all far operations, the target's sums being done
//!   transposed   y[block]  = sums of x[block], += x[target]        for all blocks
//! ```
//!
//! The whole family is at hand, so no mail is needed: an operation reads at its source and adds at its target. A
//! family that does not fit the cache goes block by block (`by_block`).
//!
//! Cost: that of `by_block`, without the mail.

use std::time::Instant;

use keima_blocks::in_memory::by_pass_rows;
use keima_model::{Direction, Family, MOST_ENTRIES};
use keima_runs::TaskTimes;

use crate::block::error::BlockError;
use crate::block::in_memory::family::exchange::Positions;
use crate::block::in_memory::family::stage::WindowStage;
use crate::block::in_memory::family::sums::FamilySums;
use crate::block::rows::kernel::{BlockRows, local, local_transposed};
use crate::block::rows::lanes::Row;
use crate::block::rows::tables::{far_operations, step_at};
use crate::clock::nanos_since;

/// Rows of the two buffers of a family that is small enough for rows of one lane; else 0.
pub(crate) fn rows(family: &Family) -> usize {
    by_pass_rows(most_states(family))
}

fn most_states(family: &Family) -> usize {
    family.size.iter().max().map_or(0, |&size| size as usize)
}

/// Two buffers for a family's states at any step. Padding follows each, because blocks are accessed as if they had
/// the largest size.
pub(crate) struct Buffers<'m, const K: usize> {
    x: &'m mut [Row<K>],
    y: &'m mut [Row<K>],
}

impl<'m, const K: usize> Buffers<'m, K> {
    /// Buffers in `memory`, if there is enough and the buffers take at most `most_bytes`.
    pub(crate) fn new(family: &Family, most_bytes: usize, memory: &'m mut [Row<K>]) -> Option<Self> {
        let states = most_states(family);
        let rows = states + MOST_ENTRIES;
        let suits = 2 * states * size_of::<Row<K>>() <= most_bytes && 2 * rows <= memory.len();
        let (x, rest) = suits.then(|| memory.split_at_mut(rows))?;
        Some(Self { x, y: &mut rest[..rows] })
    }
}

/// A family's passes, to be compiled for the machine's vector instructions.
pub(crate) struct PassByPass<'a, 'w, const K: usize> {
    pub(crate) stage: &'a WindowStage<'a, K>,
    pub(crate) family: &'a Family,
    /// The family's rows of the vector after.
    pub(crate) own: &'w mut [Row<K>],
    pub(crate) buffers: Buffers<'w, K>,
    pub(crate) positions: &'w mut Positions,
    pub(crate) sums: &'w mut FamilySums<K>,
    pub(crate) times: &'w mut TaskTimes,
}

impl<const K: usize> pulp::WithSimd for PassByPass<'_, '_, K> {
    type Output = Result<(), BlockError>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { stage, family, own, buffers: Buffers { mut x, mut y }, positions, sums, times } = self;
        let started = Instant::now();
        let tables = stage.fused.tables;
        let passes = tables.far.len();
        let first = match stage.direction {
            Direction::Forward => 0,
            Direction::Transposed => passes,
        };
        let mut rest = family.blocks.clone();
        while !rest.is_empty() {
            let blocks = stage.next_together(&mut rest);
            stage.read(family, blocks, x, |block| tables.base[first][block as usize] as usize, positions, sums)?;
        }
        times.read_nanos += nanos_since(started);
        let started = Instant::now();
        for number in 0..passes {
            match stage.direction {
                Direction::Forward => forward(stage, family, number, x, y),
                Direction::Transposed => transposed(stage, family, passes - 1 - number, x, y),
            }
            std::mem::swap(&mut x, &mut y);
        }
        let last = step_at(tables, stage.direction.leaves());
        for block in family.blocks.clone() {
            let start = tables.base[last][block as usize] as usize;
            stage.write_block(block, &x[start..], &mut own[start..], sums);
        }
        times.map_nanos += nanos_since(started);
        Ok(())
    }
}

/// The block that begins at `start`.
#[inline(always)]
fn block_at<const K: usize>(rows: &[Row<K>], start: u32) -> &BlockRows<K> {
    rows[start as usize..].first_chunk().expect("buffers are padded")
}

/// The mutable block that begins at `start`.
#[inline(always)]
fn block_at_mut<const K: usize>(rows: &mut [Row<K>], start: u32) -> &mut BlockRows<K> {
    rows[start as usize..].first_chunk_mut().expect("buffers are padded")
}

#[inline(always)]
fn forward<const K: usize>(stage: &WindowStage<'_, K>, family: &Family, pass: usize, x: &[Row<K>], y: &mut [Row<K>]) {
    if stage.fused.tables.far[pass].descending {
        for block in family.blocks.clone() {
            add_up(stage, block, pass, x, y);
            carry(stage, block, pass, x, y);
        }
    } else {
        for block in family.blocks.clone() {
            add_up(stage, block, pass, x, y);
        }
        for block in family.blocks.clone() {
            carry(stage, block, pass, x, y);
        }
    }
}

/// The sums within a block.
#[inline(always)]
fn add_up<const K: usize>(stage: &WindowStage<'_, K>, block: u32, pass: usize, x: &[Row<K>], y: &mut [Row<K>]) {
    let tables = stage.fused.tables;
    let table = &tables.signatures[tables.signature_of[block as usize] as usize].passes[pass];
    let (before, after) = (tables.base[pass][block as usize], tables.base[pass + 1][block as usize]);
    local(table, block_at(x, before), &mut y[after as usize..], stage.fused.moduli);
}

/// Adds what a block's far operations carry.
#[inline(always)]
fn carry<const K: usize>(stage: &WindowStage<'_, K>, block: u32, pass: usize, x: &[Row<K>], y: &mut [Row<K>]) {
    let tables = stage.fused.tables;
    let source = block_at(x, tables.base[pass][block as usize]);
    for (far, target) in far_operations(tables, block, pass) {
        let target = block_at_mut(y, tables.base[pass + 1][target as usize]);
        for &(from, to) in &far.pairs {
            stage.fused.moduli.put(&mut target[usize::from(to)], &source[usize::from(from)]);
        }
    }
}

#[inline(always)]
fn transposed<const K: usize>(
    stage: &WindowStage<'_, K>,
    family: &Family,
    pass: usize,
    x: &[Row<K>],
    y: &mut [Row<K>],
) {
    let (tables, moduli) = (stage.fused.tables, stage.fused.moduli);
    let (before, after) = (&tables.base[pass], &tables.base[pass + 1]);
    for block in family.blocks.clone() {
        let table = &tables.signatures[tables.signature_of[block as usize] as usize].passes[pass];
        let rows = block_at_mut(y, before[block as usize]);
        local_transposed(table, block_at(x, after[block as usize]), rows, moduli);
        for (far, target) in far_operations(tables, block, pass) {
            let target = block_at(x, after[target as usize]);
            for &(from, to) in &far.pairs {
                stage.fused.moduli.put(&mut rows[usize::from(from)], &target[usize::from(to)]);
            }
        }
    }
}
