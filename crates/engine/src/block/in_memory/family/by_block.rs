//! A family through a window: its blocks are read out of the vector before, some at a time ([`crate::block::in_memory::family::exchange`]), taken
//! through all passes each at once ([`crate::block::in_memory::family::fused`]), or with all others pass by pass where the family is small
//! ([`crate::block::in_memory::family::by_pass`]), and written to their places in the vector after.
//!
//! Mass balance is held for every family: the sum of what comes out is the sum over what goes in of value x ways.
//! Forward these are the ways on from a state through the window, which its signature tells; transposed, the ways that
//! lead to it, which a vector of ones tells that is taken through the window once ([`crate::block::Sweep::arrivals`]).
//!
//! That begins with rows that were read. Whether they are those that stand in the vector, each once and in its place,
//! the sums of all families together tell, see [`Masses`].
//!
//! Cost: that of reading and of the passes, see there.

use std::ops::Range;
use std::time::Instant;

use keima_model::{Direction, End, Family};

use crate::block::error::BlockError;
use crate::block::in_memory::family::by_pass::{Buffers, ByPass};
use crate::block::in_memory::family::stage::Place;
use crate::block::in_memory::family::sums::Sums;
use crate::block::in_memory::family::worker::Worker;
use crate::block::in_memory::mail::delivery::{Added, Left, Letters};
use crate::block::rows::lanes::{Row, Weighted, dispatch_in_memory};
use crate::clock::nanos_since;

/// The work of blocks that are read together, to be compiled once for each kind of vector instructions; which, is
/// decided at run time ([`dispatch_in_memory`]).
struct Work<'a, 'l, 'm, const K: usize> {
    place: &'a Place<'a, K>,
    family: &'a Family,
    blocks: Range<u32>,
    own: &'a mut [Row<K>],
    letters: &'a mut Letters<'l, K>,
    worker: &'a mut Worker<'m, K>,
}

impl<const K: usize> pulp::WithSimd for Work<'_, '_, '_, K> {
    type Output = Result<(), BlockError>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { place, family, blocks, own, letters, worker } = self;
        let Worker { x, y, positions, sums, times, .. } = worker;
        let started = Instant::now();
        let start = |block| place.start_of(&blocks, block);
        place.read(family, blocks.clone(), &mut x[..], start, positions, sums)?;
        times.read_nanos += nanos_since(started);
        let started = Instant::now();
        let first = place.rows_of(family, &blocks).start;
        for number in 0..blocks.len() as u32 {
            let block = place.nth(&blocks, number);
            let x = x[start(block)..].first_chunk_mut().ok_or(BlockError::Order)?;
            let rows = match letters {
                Letters::Added(added) => place.fused.forward(block, x, y, added),
                Letters::Left(left) => place.fused.backward(block, x, y, left),
            };
            place.give(block, &rows[..], &mut own[place.rows_of(family, &(block..block + 1)).start - first..], sums);
        }
        times.map_nanos += nanos_since(started);
        Ok(())
    }
}

impl<const K: usize> Place<'_, K> {
    /// A family by one worker. `own` are its rows of the vector after.
    pub(crate) fn family(
        &self,
        family: &Family,
        own: &mut [Row<K>],
        worker: &mut Worker<'_, K>,
    ) -> Result<(), BlockError> {
        worker.sums = Sums::default();
        if let Some(buffers) = Buffers::new(family, self.by_pass_bytes, worker.mail) {
            worker.by_pass_states += family.size.first().copied().unwrap_or(0);
            let Worker { positions, sums, times, .. } = worker;
            dispatch_in_memory::<K, _>(ByPass { place: self, family, own, buffers, positions, sums, times })?;
            return self.close(family, &worker.sums, &mut worker.masses);
        }
        let mail = std::mem::take(&mut worker.mail);
        let early = self.fused.mail.early(family);
        let mut letters = match self.direction {
            Direction::Forward => {
                let mut added = Added::new(self.fused.mail, &family.blocks, &mut *mail);
                for &block in early {
                    self.fill_early(block, &mut added, worker);
                }
                Letters::Added(added)
            }
            Direction::Backward => Letters::Left(Left::new(self.fused.mail.base(family.blocks.start), &mut *mail)),
        };
        let mut rest = family.blocks.clone();
        while !rest.is_empty() {
            let blocks = self.next_together(&mut rest);
            let own = &mut own[self.rows_of(family, &blocks)];
            self.blocks(family, blocks, own, &mut letters, worker)?;
        }
        if let Letters::Left(left) = &letters {
            for &block in early {
                self.add_early(block, left, &mut own[self.rows_of(family, &(block..block + 1))], worker);
            }
        }
        worker.mail = mail;
        self.close(family, &worker.sums, &mut worker.masses)
    }

    /// Takes blocks through the window that are read together. `own` are their rows of the vector after.
    pub(crate) fn blocks(
        &self,
        family: &Family,
        blocks: Range<u32>,
        own: &mut [Row<K>],
        letters: &mut Letters<'_, K>,
        worker: &mut Worker<'_, K>,
    ) -> Result<(), BlockError> {
        dispatch_in_memory::<K, _>(Work { place: self, family, blocks, own, letters, worker })
    }

    /// What a block's early operations carry, out of the vector before.
    pub(crate) fn fill_early(&self, block: u32, added: &mut Added<'_, K>, worker: &mut Worker<'_, K>) {
        let started = Instant::now();
        let mut entries = Vec::new();
        for (far, at, slots) in self.fused.early(block) {
            entries.clear();
            entries.extend(far.pairs.iter().map(|&(from, _)| from));
            let positions = worker.positions.one();
            self.column.positions_of(self.window, End::First, block, &entries, positions);
            added.open(at, |rows| {
                for (&slot, &position) in slots.iter().zip(&*positions) {
                    self.fused.moduli.put(&mut rows[usize::from(slot)], &self.before.row(position));
                }
            });
        }
        worker.times.read_nanos += nanos_since(started);
    }

    /// What a block's early operations carry back, into its rows of the vector after.
    pub(crate) fn add_early(&self, block: u32, left: &Left<'_, K>, own: &mut [Row<K>], worker: &mut Worker<'_, K>) {
        for (far, at, slots) in self.fused.early(block) {
            let rows = left.read(at);
            let added = far.pairs.iter().zip(slots).map(|(&(from, _), &slot)| (from, &rows[usize::from(slot)]));
            let mut sum = Weighted::ZERO;
            for (from, value) in added.clone() {
                self.fused.moduli.put(&mut own[usize::from(from)], value);
                sum.add(1, value);
            }
            self.accumulate(&mut worker.sums.given, &sum);
            let print = self.print_added(block, added, &mut worker.sums.sampled);
            worker.sums.given_print = (worker.sums.given_print + print) % u128::from(self.last_modulus());
        }
    }
}
