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
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use keima_model::{BlockColumn, Direction, End, Family, Window};

use crate::block::BlockError;
use crate::block::in_memory::family::by_pass::{Buffers, ByPass};
use crate::block::in_memory::family::fingerprint::Sampled;
use crate::block::in_memory::family::fused::Fused;
use crate::block::in_memory::mail::delivery::{Added, Left, Letters};
use crate::block::in_memory::sweep::step_at;
use crate::block::out_of_core::task::stage::nanos;
use crate::block::rows::lanes::{LastLane, Row, Weighted, dispatch_in_memory};
use crate::block::rows::threads::Worker;

/// A stage: all that its families have in common.
pub(crate) struct Place<'a, const K: usize> {
    pub(crate) column: &'a dyn BlockColumn,
    pub(crate) window: usize,
    pub(crate) direction: Direction,
    pub(crate) fused: Fused<'a, K>,
    pub(crate) before: Source<'a, K>,
    /// Of the window, for the mass balance of a transposed vector.
    pub(crate) arrivals: Option<&'a [u32]>,
    /// See [`crate::block::in_memory::family::by_pass`].
    pub(crate) by_pass_bytes: usize,
    /// Whether the column is folded at its start.
    pub(crate) folded: bool,
    /// Windows that the vector has gone through.
    pub(crate) turn: u64,
    /// Key of the fingerprints.
    pub(crate) salt: u64,
    pub(crate) stop: &'a AtomicBool,
}

/// What goes into a window.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a, const K: usize> {
    /// A vector, by way of the exchange.
    Vector(&'a [Row<K>]),
    /// 1 for every state.
    Ones,
}

impl<const K: usize> Source<'_, K> {
    #[inline(always)]
    fn row(&self, position: u64) -> Row<K> {
        match self {
            Self::Vector(before) => before[position as usize],
            Self::Ones => [1; K],
        }
    }
}

/// What went into a family and what came out, modulo each prime.
pub(crate) struct Sums<const K: usize> {
    pub(crate) taken: [u128; K],
    given: [u128; K],
    /// Of the rows that were read, and of those that came out and have an image that is not there, the sums in the last
    /// lane.
    pub(crate) read: u128,
    imaged: u128,
    /// Fingerprints of what was read and of what came out, in the last lane.
    pub(crate) read_print: u128,
    given_print: u128,
    pub(crate) sampled: Sampled,
}

impl<const K: usize> Default for Sums<K> {
    fn default() -> Self {
        let sampled = Sampled::default();
        Self { taken: [0; K], given: [0; K], read: 0, imaged: 0, read_print: 0, given_print: 0, sampled }
    }
}

/// The sums over all states, each as often as it counts ([`BlockColumn::weight`]), modulo the last lane's prime. What a
/// window has read is what stood in the vector before, whichever window wrote that and however its states are ordered:
/// a row that was read twice, or not at all, shows. With them go fingerprints, see [`crate::block::in_memory::family::fingerprint`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masses {
    /// Of the rows that were read, images added up where the column is folded.
    pub read: u64,
    /// Of the rows that were written, each image that is not there counted as if it were.
    pub written: u64,
    /// Fingerprint of the rows that were read.
    pub read_print: u64,
    /// Fingerprint of the rows that were written.
    pub written_print: u64,
}

impl Masses {
    /// What `window` has read is what the window `before` it has written, where that is known.
    pub(crate) fn hold(self, before: Option<Self>, window: Window, modulus: u64) -> Result<(), BlockError> {
        let Some(before) = before else { return Ok(()) };
        if before.written != self.read {
            return Err(BlockError::Exchange { window, modulus, expected: before.written, got: self.read });
        }
        if before.written_print != self.read_print {
            let (expected, got) = (before.written_print, self.read_print);
            return Err(BlockError::Fingerprint { window, modulus, expected, got });
        }
        Ok(())
    }

    /// Both together.
    pub(crate) fn and(self, other: Self, modulus: u64) -> Self {
        let sum = |one: u64, other: u64| ((u128::from(one) + u128::from(other)) % u128::from(modulus)) as u64;
        Self {
            read: sum(self.read, other.read),
            written: sum(self.written, other.written),
            read_print: sum(self.read_print, other.read_print),
            written_print: sum(self.written_print, other.written_print),
        }
    }
}

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
        times.read_nanos += nanos(started);
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
        times.map_nanos += nanos(started);
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

    /// Holds a family's laws, and takes up its part of the masses.
    pub(crate) fn close(&self, family: &Family, sums: &Sums<K>, masses: &mut Masses) -> Result<(), BlockError> {
        self.balance(family, sums)?;
        *masses = masses.and(self.masses(family, sums), self.last_modulus());
        Ok(())
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

    /// Where blocks lie in the vector after, from the start of their family's rows.
    pub(crate) fn rows_of(&self, family: &Family, blocks: &Range<u32>) -> Range<usize> {
        let step = step_at(self.fused.tables, self.direction.leaves());
        let base = &self.fused.tables.base[step];
        let end =
            if blocks.end == family.blocks.end { family.size[step] } else { u64::from(base[blocks.end as usize]) };
        base[blocks.start as usize] as usize..end as usize
    }

    /// Puts the block's rows where they belong in the vector after, which is where `own` begins.
    #[inline(always)]
    pub(crate) fn give(&self, block: u32, rows: &[Row<K>], own: &mut [Row<K>], sums: &mut Sums<K>) {
        let tables = self.fused.tables;
        let step = step_at(tables, self.direction.leaves());
        let entries = tables.signatures[tables.signature_of[block as usize] as usize].entries[step] as usize;
        let rows = &rows[..entries];
        own[..entries].copy_from_slice(rows);
        let mut sum = Weighted::ZERO;
        for row in rows {
            sum.add(1, row);
        }
        self.accumulate(&mut sums.given, &sum);
        let print = self.print(self.direction.leaves(), block, rows, &mut sums.sampled);
        sums.given_print = (sums.given_print + print) % u128::from(self.last_modulus());
        if self.direction == Direction::Backward && self.window == 0 {
            let mut imaged = LastLane::default();
            for (row, &tied) in rows.iter().zip(self.column.tied(block).unwrap_or_default()) {
                imaged.add(u64::from(!tied), row);
            }
            sums.imaged = (sums.imaged + imaged.value()) % u128::from(self.last_modulus());
        }
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
        worker.times.read_nanos += nanos(started);
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

    #[inline(always)]
    pub(crate) fn accumulate(&self, total: &mut [u128; K], sum: &Weighted<K>) {
        for ((total, sum), &modulus) in total.iter_mut().zip(sum.values()).zip(self.fused.moduli.values()) {
            *total = (*total + sum) % u128::from(modulus);
        }
    }

    /// Mass balance: what came out is what went in, each state as often as there are ways through the window.
    fn balance(&self, family: &Family, sums: &Sums<K>) -> Result<(), BlockError> {
        if self.direction == Direction::Backward && self.arrivals.is_none() {
            return Ok(());
        }
        for ((&expected, &got), &modulus) in sums.taken.iter().zip(&sums.given).zip(self.fused.moduli.values()) {
            if expected != got {
                let (window, blocks) = (self.column.windows()[self.window], family.blocks.clone());
                return Err(BlockError::Balance { window, blocks, modulus, expected, got });
            }
        }
        Ok(())
    }

    pub(crate) fn last_modulus(&self) -> u64 {
        self.fused.moduli.values()[K - 1]
    }

    /// A family's part of the masses.
    fn masses(&self, family: &Family, sums: &Sums<K>) -> Masses {
        let weight = u128::from(self.column.weight(self.window, family.blocks.start));
        let weighed = |sum: u128| (sum * weight % u128::from(self.last_modulus())) as u64;
        Masses {
            read: weighed(sums.read),
            written: weighed(sums.given[K - 1] + sums.imaged),
            read_print: weighed(sums.read_print),
            written_print: weighed(sums.given_print),
        }
    }

    /// Sums of all.
    pub(crate) fn all<'s>(&self, sums: impl Iterator<Item = &'s Sums<K>>) -> Sums<K> {
        let moduli = self.fused.moduli.values();
        sums.fold(Sums::default(), |all, sums| Sums {
            taken: std::array::from_fn(|lane| (all.taken[lane] + sums.taken[lane]) % u128::from(moduli[lane])),
            given: std::array::from_fn(|lane| (all.given[lane] + sums.given[lane]) % u128::from(moduli[lane])),
            read: (all.read + sums.read) % u128::from(moduli[K - 1]),
            imaged: (all.imaged + sums.imaged) % u128::from(moduli[K - 1]),
            read_print: (all.read_print + sums.read_print) % u128::from(moduli[K - 1]),
            given_print: (all.given_print + sums.given_print) % u128::from(moduli[K - 1]),
            sampled: Sampled::default(),
        })
    }
}
