//! A family through a window, block by block.
//!
//! Some blocks at a time are read out of the vector before (`exchange`). Each goes through all passes (`fused`) and
//! is written to its place in the vector after. A small family goes pass by pass instead (`by_pass`).
//!
//! Mass balance of every family: sum of outputs = sum of inputs x ways. Forward, these are the ways from a state
//! through the window, which its signature has. Transposed, these are the ways that lead to the state. To count them,
//! a vector of ones goes through the window once ([`crate::block::Sweep::arrivals`]).
//!
//! Mass balance begins with the rows that were read. The sums of all families together show whether these are the
//! vector's rows, each read once and in its place: see `sums`.
//!
//! Cost: reading (`exchange`) and the passes (`fused`).

use std::ops::Range;
use std::time::Instant;

use keima_model::{Direction, End, Family};

use crate::block::error::BlockError;
use crate::block::in_memory::family::by_pass::{Buffers, PassByPass};
use crate::block::in_memory::family::stage::WindowStage;
use crate::block::in_memory::family::sums::FamilySums;
use crate::block::in_memory::family::worker::Worker;
use crate::block::in_memory::mail::delivery::{Delivery, ForwardMail, TransposedMail};
use crate::block::rows::lanes::{Row, Weighted, dispatch_in_memory};
use crate::clock::nanos_since;

/// Blocks that are read together, on their way through the window. Compiled for each kind of vector instructions and
/// dispatched at run time ([`dispatch_in_memory`]).
struct BlocksThroughWindow<'a, 'l, 'm, const K: usize> {
    stage: &'a WindowStage<'a, K>,
    family: &'a Family,
    blocks: Range<u32>,
    own: &'a mut [Row<K>],
    delivery: &'a mut Delivery<'l, K>,
    worker: &'a mut Worker<'m, K>,
}

impl<const K: usize> pulp::WithSimd for BlocksThroughWindow<'_, '_, '_, K> {
    type Output = Result<(), BlockError>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { stage, family, blocks, own, delivery, worker } = self;
        let Worker { x, y, positions, sums, times, .. } = worker;
        let started = Instant::now();
        let start = |block| stage.start_of(&blocks, block);
        stage.read(family, blocks.clone(), &mut x[..], start, positions, sums)?;
        times.read_nanos += nanos_since(started);
        let started = Instant::now();
        let first = stage.rows_of(family, &blocks).start;
        for number in 0..blocks.len() as u32 {
            let block = stage.nth(&blocks, number);
            let x = x[start(block)..].first_chunk_mut().ok_or(BlockError::Order)?;
            let rows = match delivery {
                Delivery::Forward(added) => stage.fused.forward(block, x, y, added),
                Delivery::Transposed(left) => stage.fused.transposed(block, x, y, left),
            };
            stage.write_block(
                block,
                &rows[..],
                &mut own[stage.rows_of(family, &(block..block + 1)).start - first..],
                sums,
            );
        }
        times.map_nanos += nanos_since(started);
        Ok(())
    }
}

impl<const K: usize> WindowStage<'_, K> {
    /// Takes a family through the window by one worker. `own` has its rows of the vector after.
    pub(crate) fn family(
        &self,
        family: &Family,
        own: &mut [Row<K>],
        worker: &mut Worker<'_, K>,
    ) -> Result<(), BlockError> {
        worker.sums = FamilySums::default();
        if let Some(buffers) = Buffers::new(family, self.by_pass_bytes, worker.mail) {
            worker.by_pass_states += family.size.first().copied().unwrap_or(0);
            let Worker { positions, sums, times, .. } = worker;
            dispatch_in_memory::<K, _>(PassByPass { stage: self, family, own, buffers, positions, sums, times })?;
            return self.close(family, &worker.sums, &mut worker.window);
        }
        let mail = std::mem::take(&mut worker.mail);
        let early = self.fused.mail.early(family);
        let mut delivery = match self.direction {
            Direction::Forward => {
                let mut added = ForwardMail::new(self.fused.mail, &family.blocks, &mut *mail);
                for &block in early {
                    self.fill_early(block, &mut added, worker);
                }
                Delivery::Forward(added)
            }
            Direction::Transposed => {
                Delivery::Transposed(TransposedMail::new(self.fused.mail.base(family.blocks.start), &mut *mail))
            }
        };
        let mut rest = family.blocks.clone();
        while !rest.is_empty() {
            let blocks = self.next_together(&mut rest);
            let own = &mut own[self.rows_of(family, &blocks)];
            self.blocks(family, blocks, own, &mut delivery, worker)?;
        }
        if let Delivery::Transposed(left) = &delivery {
            for &block in early {
                self.add_early(block, left, &mut own[self.rows_of(family, &(block..block + 1))], worker);
            }
        }
        worker.mail = mail;
        self.close(family, &worker.sums, &mut worker.window)
    }

    /// Takes blocks that are read together through the window. `own` has their rows of the vector after.
    pub(crate) fn blocks(
        &self,
        family: &Family,
        blocks: Range<u32>,
        own: &mut [Row<K>],
        delivery: &mut Delivery<'_, K>,
        worker: &mut Worker<'_, K>,
    ) -> Result<(), BlockError> {
        dispatch_in_memory::<K, _>(BlocksThroughWindow { stage: self, family, blocks, own, delivery, worker })
    }

    /// Puts the values of a block's early operations, out of the vector before, into boxes.
    pub(crate) fn fill_early(&self, block: u32, added: &mut ForwardMail<'_, K>, worker: &mut Worker<'_, K>) {
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

    /// Adds the values of a block's early operations, out of boxes, to its rows of the vector after.
    pub(crate) fn add_early(
        &self,
        block: u32,
        left: &TransposedMail<'_, K>,
        own: &mut [Row<K>],
        worker: &mut Worker<'_, K>,
    ) {
        for (far, at, slots) in self.fused.early(block) {
            let rows = left.read(at);
            let added = far.pairs.iter().zip(slots).map(|(&(from, _), &slot)| (from, &rows[usize::from(slot)]));
            let mut sum = Weighted::ZERO;
            for (from, value) in added.clone() {
                self.fused.moduli.put(&mut own[usize::from(from)], value);
                sum.add(1, value);
            }
            self.accumulate(&mut worker.sums.written, &sum);
            let fingerprint = self.fingerprint_added(block, added, &mut worker.sums.sample);
            worker.sums.written_fingerprint =
                (worker.sums.written_fingerprint + fingerprint) % u128::from(self.last_modulus());
        }
    }
}
