//! Exact inner products of a forward and a transposed vector, and sums over accepting states.
//!
//! ```text
//!   <f, b> = sum over states of f(s) b(s) = sum over digits i, j of (sum over states f_i b_j) P_i P_j
//! ```
//!
//! f(s) counts the ways to a state, b(s) those from it on, so the inner product at any boundary is the count of the
//! whole board. The sums of products of digits are exact, in 192 bits. Beside them the products of the spare lanes are
//! added up: the spare's residue of the count, in which no digit has a hand. Every entry of both vectors is held
//! against its spare lane on the way, but for a vector that is its spare lane alone.
//!
//! Cost: 20 to 40 ns a state.

use std::sync::atomic::{AtomicUsize, Ordering};

use keima_model::{BlockColumn, End};
use keima_residue::Integer;

use crate::block::error::BlockError;
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::mixed_radix::Radix;
use crate::block::rows::prefetch::read_on;
use crate::block::rows::tables::{each_block, step_at};

/// Blocks that a thread takes at a time.
const BLOCKS_AT_A_TIME: usize = 64;

/// A sum of 121-bit products.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wide {
    low: u128,
    carries: u64,
}

impl Wide {
    #[inline(always)]
    pub(crate) fn add(&mut self, a: u64, b: u64) {
        let (low, carry) = self.low.overflowing_add(u128::from(a) * u128::from(b));
        self.low = low;
        self.carries += u64::from(carry);
    }
    pub(crate) fn value(&self) -> Integer {
        (Integer::from(self.carries) << 128) + self.low
    }
}

/// A count, and its residue modulo the spare prime from the spare lanes alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) count: Integer,
    pub(crate) spare: u64,
}

/// One vector to be read, with its moduli.
pub(crate) struct Vector<'a, const K: usize> {
    pub(crate) moduli: &'a Moduli<K>,
    pub(crate) rows: &'a [Row<K>],
}

/// What a thread adds up, for one weight.
struct Part<const F: usize, const B: usize> {
    digits: [[Wide; B]; F],
    spare: Wide,
}

impl<const F: usize, const B: usize> Part<F, B> {
    const ZERO: Self = Self { digits: [[Wide { low: 0, carries: 0 }; B]; F], spare: Wide { low: 0, carries: 0 } };
}

/// `<forward, backward>` at the boundary after window number `window`: `forward` at its last step, `backward` at the
/// first step of the window after it. A forward vector that is only its spare lane gives only the spare's residue.
pub(crate) fn product<const F: usize, const B: usize>(
    column: &dyn BlockColumn,
    window: usize,
    forward: &Vector<'_, F>,
    backward: &Vector<'_, B>,
    threads: usize,
) -> Result<Sum, BlockError> {
    let tables = column.tables(window);
    let mut blocks = Vec::with_capacity(tables.signature_of.len());
    each_block(tables, |block, start| {
        blocks.push((block, start));
        Ok(())
    })?;
    let (f_radix, b_radix) = (Radix::new(*forward.moduli.values()), Radix::new(*backward.moduli.values()));
    let next = AtomicUsize::new(0);
    let work = || -> Result<[Part<F, B>; 2], BlockError> {
        let mut parts = [Part::ZERO, Part::ZERO];
        let (mut positions, mut gathered) = (Vec::new(), Vec::new());
        loop {
            let first = next.fetch_add(BLOCKS_AT_A_TIME, Ordering::Relaxed);
            let Some(some) = blocks.get(first..blocks.len().min(first + BLOCKS_AT_A_TIME)) else { return Ok(parts) };
            for &(block, start) in some {
                let part = &mut parts[usize::from(column.weight(window, block) == 2)];
                column.positions(window, End::Last, block, &mut positions);
                // All rows first: one that is not in the cache would hold up the arithmetic of those before it.
                gathered.clear();
                gathered.extend((0..positions.len()).map(|number| *read_on(backward.rows, &positions, number)));
                for (f, b) in forward.rows[start..].iter().zip(&gathered) {
                    part.spare.add(f[F - 1], b[B - 1]);
                    if F == 1 {
                        continue;
                    }
                    let wrong = || BlockError::Spare { position: start as u64 };
                    let (f_digits, b_digits) =
                        (f_radix.digits(f).ok_or_else(wrong)?, b_radix.digits(b).ok_or_else(wrong)?);
                    for (sums, f) in part.digits.iter_mut().zip(&f_digits[..F - 1]) {
                        for (sum, b) in sums.iter_mut().zip(&b_digits[..B - 1]) {
                            sum.add(*f, *b);
                        }
                    }
                }
            }
        }
    };
    let parts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or(Err(BlockError::Poisoned)))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let (mut count, mut spare) = (Integer::new(), Integer::new());
    for [once, twice] in &parts {
        for (weight, part) in [(1_u32, once), (2, twice)] {
            spare += weight * part.spare.value();
            for (sums, f_place) in part.digits.iter().zip(f_radix.places()) {
                for (sum, b_place) in sums.iter().zip(b_radix.places()) {
                    count += weight * sum.value() * &f_place * b_place;
                }
            }
        }
    }
    Ok(Sum { count, spare: keima_residue::residue_of(&spare, forward.moduli.values()[F - 1]) })
}

/// The sum over the accepting states of a forward vector at the end of a column: the count of the board that ends
/// there.
pub(crate) fn accepted<const F: usize>(column: &dyn BlockColumn, forward: &Vector<'_, F>) -> Result<Sum, BlockError> {
    let window = column.windows().len() - 1;
    let tables = column.tables(window);
    let radix = Radix::new(*forward.moduli.values());
    let mut parts = [Part::<F, 1>::ZERO, Part::ZERO];
    each_block(tables, |block, start| {
        let part = &mut parts[usize::from(column.weight(window, block) == 2)];
        for &entry in column.accepting(block) {
            let Some(row) = forward.rows.get(start + usize::from(entry)) else { continue };
            let digits = radix.digits(row).ok_or(BlockError::Spare { position: start as u64 })?;
            for (sum, digit) in part.digits.iter_mut().zip(digits) {
                sum[0].add(1, digit);
            }
            part.spare.add(1, row[F - 1]);
        }
        Ok(())
    })?;
    let (mut count, mut spare) = (Integer::new(), Integer::new());
    for (weight, part) in (1_u32..).zip(&parts) {
        spare += weight * part.spare.value();
        for (sum, place) in part.digits.iter().zip(radix.places()) {
            count += weight * sum[0].value() * place;
        }
    }
    Ok(Sum { count, spare: keima_residue::residue_of(&spare, forward.moduli.values()[F - 1]) })
}

/// The same modulo each lane's prime, with no lane held against another.
pub(crate) fn residues<const F: usize>(column: &dyn BlockColumn, forward: &Vector<'_, F>) -> Row<F> {
    let window = column.windows().len() - 1;
    let tables = column.tables(window);
    let step = step_at(tables, End::Last);
    let mut sums = [Wide::default(); F];
    for family in &tables.families {
        for block in family.blocks.clone() {
            let start = family.start[step] as usize + tables.base[step][block as usize] as usize;
            let weight = column.weight(window, block);
            for row in column.accepting(block).iter().filter_map(|&entry| forward.rows.get(start + usize::from(entry)))
            {
                sums.iter_mut().zip(row).for_each(|(sum, &residue)| sum.add(weight, residue));
            }
        }
    }
    std::array::from_fn(|lane| keima_residue::residue_of(&sums[lane].value(), forward.moduli.values()[lane]))
}
