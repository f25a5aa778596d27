//! A small family through a window pass by pass, between two buffers that stay in the cache.
//!
//! ```text
//!   forward      y[block]  = sums of x[block]                      for all blocks
//!                y[target] += x[block]                             for all far operations, the target's sums being done
//!   transposed   y[block]  = sums of x[block], += x[target]        for all blocks
//! ```
//!
//! Where all of a family is at hand no mail is needed: what an operation carries is read where it stands and added where
//! it belongs. A family that does not fit the cache goes block by block instead
//! ([`crate::block::in_memory::family::fused`]).
//!
//! Cost: 0.8 to 1.0 times that of block by block (Go, 11x11 and 13x13, K = 1 and 4), and for K = 8 about the same.

use std::time::Instant;

use keima_blocks::in_memory::by_pass_rows;
use keima_model::{Direction, Family, MOST_ENTRIES};
use keima_runs::TaskTimes;

use crate::block::error::BlockError;
use crate::block::in_memory::family::exchange::Positions;
use crate::block::in_memory::family::stage::Place;
use crate::block::in_memory::family::sums::Sums;
use crate::block::rows::kernel::{BlockRows, local, local_transposed};
use crate::block::rows::lanes::Row;
use crate::block::rows::tables::{far, step_at};
use crate::clock::nanos_since;

/// Rows that a family takes in two buffers, if it may go pass by pass with rows of any number of lanes; else 0.
pub(crate) fn rows(family: &Family) -> usize {
    by_pass_rows(most_states(family))
}

fn most_states(family: &Family) -> usize {
    family.size.iter().max().map_or(0, |&size| size as usize)
}

/// Two buffers of a family's states at any step, each followed by padding: a block is looked at as if it were of the
/// largest size.
pub(crate) struct Buffers<'m, const K: usize> {
    x: &'m mut [Row<K>],
    y: &'m mut [Row<K>],
}

impl<'m, const K: usize> Buffers<'m, K> {
    /// In some memory, if there is enough and they take no more than `most_bytes`.
    pub(crate) fn new(family: &Family, most_bytes: usize, memory: &'m mut [Row<K>]) -> Option<Self> {
        let states = most_states(family);
        let rows = states + MOST_ENTRIES;
        let suits = 2 * states * size_of::<Row<K>>() <= most_bytes && 2 * rows <= memory.len();
        let (x, rest) = suits.then(|| memory.split_at_mut(rows))?;
        Some(Self { x, y: &mut rest[..rows] })
    }
}

/// A family's work, to be compiled for the machine's vector instructions.
pub(crate) struct ByPass<'a, 'w, const K: usize> {
    pub(crate) place: &'a Place<'a, K>,
    pub(crate) family: &'a Family,
    /// Its rows of the vector after.
    pub(crate) own: &'w mut [Row<K>],
    pub(crate) buffers: Buffers<'w, K>,
    pub(crate) positions: &'w mut Positions,
    pub(crate) sums: &'w mut Sums<K>,
    pub(crate) times: &'w mut TaskTimes,
}

impl<const K: usize> pulp::WithSimd for ByPass<'_, '_, K> {
    type Output = Result<(), BlockError>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { place, family, own, buffers: Buffers { mut x, mut y }, positions, sums, times } = self;
        let started = Instant::now();
        let tables = place.fused.tables;
        let passes = tables.far.len();
        let first = match place.direction {
            Direction::Forward => 0,
            Direction::Backward => passes,
        };
        let mut rest = family.blocks.clone();
        while !rest.is_empty() {
            let blocks = place.next_together(&mut rest);
            place.read(family, blocks, x, |block| tables.base[first][block as usize] as usize, positions, sums)?;
        }
        times.read_nanos += nanos_since(started);
        let started = Instant::now();
        for number in 0..passes {
            match place.direction {
                Direction::Forward => forward(place, family, number, x, y),
                Direction::Backward => backward(place, family, passes - 1 - number, x, y),
            }
            std::mem::swap(&mut x, &mut y);
        }
        let last = step_at(tables, place.direction.leaves());
        for block in family.blocks.clone() {
            let start = tables.base[last][block as usize] as usize;
            place.give(block, &x[start..], &mut own[start..], sums);
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

/// The same, to write.
#[inline(always)]
fn block_at_mut<const K: usize>(rows: &mut [Row<K>], start: u32) -> &mut BlockRows<K> {
    rows[start as usize..].first_chunk_mut().expect("buffers are padded")
}

#[inline(always)]
fn forward<const K: usize>(place: &Place<'_, K>, family: &Family, pass: usize, x: &[Row<K>], y: &mut [Row<K>]) {
    if place.fused.tables.far[pass].descending {
        for block in family.blocks.clone() {
            add_up(place, block, pass, x, y);
            carry(place, block, pass, x, y);
        }
    } else {
        for block in family.blocks.clone() {
            add_up(place, block, pass, x, y);
        }
        for block in family.blocks.clone() {
            carry(place, block, pass, x, y);
        }
    }
}

/// The sums within a block.
#[inline(always)]
fn add_up<const K: usize>(place: &Place<'_, K>, block: u32, pass: usize, x: &[Row<K>], y: &mut [Row<K>]) {
    let tables = place.fused.tables;
    let table = &tables.signatures[tables.signature_of[block as usize] as usize].passes[pass];
    let (before, after) = (tables.base[pass][block as usize], tables.base[pass + 1][block as usize]);
    local(table, block_at(x, before), &mut y[after as usize..], place.fused.moduli);
}

/// What a block's far operations carry.
#[inline(always)]
fn carry<const K: usize>(place: &Place<'_, K>, block: u32, pass: usize, x: &[Row<K>], y: &mut [Row<K>]) {
    let tables = place.fused.tables;
    let source = block_at(x, tables.base[pass][block as usize]);
    for (far, target) in far(tables, block, pass) {
        let target = block_at_mut(y, tables.base[pass + 1][target as usize]);
        for &(from, to) in &far.pairs {
            place.fused.moduli.put(&mut target[usize::from(to)], &source[usize::from(from)]);
        }
    }
}

#[inline(always)]
fn backward<const K: usize>(place: &Place<'_, K>, family: &Family, pass: usize, x: &[Row<K>], y: &mut [Row<K>]) {
    let (tables, moduli) = (place.fused.tables, place.fused.moduli);
    let (before, after) = (&tables.base[pass], &tables.base[pass + 1]);
    for block in family.blocks.clone() {
        let table = &tables.signatures[tables.signature_of[block as usize] as usize].passes[pass];
        let rows = block_at_mut(y, before[block as usize]);
        local_transposed(table, block_at(x, after[block as usize]), rows, moduli);
        for (far, target) in far(tables, block, pass) {
            let target = block_at(x, after[target as usize]);
            for &(from, to) in &far.pairs {
                place.fused.moduli.put(&mut rows[usize::from(from)], &target[usize::from(to)]);
            }
        }
    }
}
