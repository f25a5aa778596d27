//! Exact inner products of a forward and a transposed vector, and sums over accepting states.
//!
//! ```text
//!   <f, b> = sum over states of f(s) b(s) = sum over digits i, j of (sum over states f_i b_j) P_i P_j
//! ```
//!
//! f(s) counts the ways to a state, b(s) the ways from it to the end. So the inner product at any boundary is the
//! count of the whole board. The sums of products of digits are exact, in 192 bits. The products of the spare lanes
//! are summed separately: they give the count's residue modulo the spare prime, independent of all digits. The spare
//! lane of every entry is checked on the way, except in a vector that has no other lane.
//!
//! Cost: for rows of F and B lanes, F B multiplications a state, the two conversions to digits (`mixed_radix`), and
//! one row read from memory at random.

use std::sync::atomic::{AtomicUsize, Ordering};

use keima_model::{BlockColumn, End};
use keima_residue::Integer;

use crate::block::error::BlockError;
use crate::block::rows::lanes::{Moduli, Row};
use crate::block::rows::mixed_radix::Radix;
use crate::block::rows::prefetch::read_on;
use crate::block::rows::tables::{each_block, step_at};
use crate::block::rows::threads::crew;

/// Blocks that a thread takes at a time.
const BLOCKS_AT_A_TIME: usize = 64;

/// An exact sum of up to 2^64 products of two words.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WideSum {
    low: u128,
    carries: u64,
}

impl WideSum {
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

/// A count, and its residue modulo the spare prime. The residue comes from the spare lanes alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckedCount {
    pub(crate) count: Integer,
    pub(crate) spare: u64,
}

/// A vector to read, with its moduli.
pub(crate) struct Vector<'a, const K: usize> {
    pub(crate) moduli: &'a Moduli<K>,
    pub(crate) rows: &'a [Row<K>],
}

/// Sums of products of digits, and of products of the spare lanes, over all states of one weight.
struct DigitSums<const F: usize, const B: usize> {
    weight: u64,
    digits: [[WideSum; B]; F],
    spare: WideSum,
}

/// One such sum for each weight that occurs ([`BlockColumn::weight`]).
struct WeightedSums<const F: usize, const B: usize>(Vec<DigitSums<F, B>>);

impl<const F: usize, const B: usize> WeightedSums<F, B> {
    const NONE: Self = Self(Vec::new());

    /// The sums over states of this weight.
    fn of_weight(&mut self, weight: u64) -> &mut DigitSums<F, B> {
        let found = self.0.iter().position(|sums| sums.weight == weight);
        let number = found.unwrap_or_else(|| {
            let none = WideSum { low: 0, carries: 0 };
            self.0.push(DigitSums { weight, digits: [[none; B]; F], spare: none });
            self.0.len() - 1
        });
        &mut self.0[number]
    }

    /// Adds these sums, times their weights, to a count and to the sum of its spare lanes.
    fn add_to(&self, total: &mut ExactSum, f_places: &[Integer], b_places: &[Integer]) {
        for part in &self.0 {
            total.spare += part.weight * part.spare.value();
            for (sums, f_place) in part.digits.iter().zip(f_places) {
                for (sum, b_place) in sums.iter().zip(b_places) {
                    total.count += part.weight * sum.value() * f_place * b_place;
                }
            }
        }
    }
}

/// A count and the sum of the spare lanes, not yet reduced.
#[derive(Default)]
struct ExactSum {
    count: Integer,
    spare: Integer,
}

impl ExactSum {
    fn reduced(self, spare_modulus: u64) -> CheckedCount {
        CheckedCount { count: self.count, spare: keima_residue::residue_of(&self.spare, spare_modulus) }
    }
}

/// `<forward, transposed>` at the boundary after window number `window`. `forward` stands at that window's last step,
/// `transposed` at the first step of the next window. If `forward` has only its spare lane, the result has only the
/// spare's residue.
pub(crate) fn product<const F: usize, const B: usize>(
    column: &dyn BlockColumn,
    window: usize,
    forward: &Vector<'_, F>,
    transposed: &Vector<'_, B>,
    threads: usize,
) -> Result<CheckedCount, BlockError> {
    let tables = column.tables(window);
    let mut blocks = Vec::with_capacity(tables.signature_of.len());
    each_block(tables, |block, start| {
        blocks.push((block, start));
        Ok(())
    })?;
    let (f_radix, b_radix) = (Radix::new(*forward.moduli.values()), Radix::new(*transposed.moduli.values()));
    let next = AtomicUsize::new(0);
    let work = || -> Result<WeightedSums<F, B>, BlockError> {
        let mut parts = WeightedSums::NONE;
        let (mut positions, mut gathered) = (Vec::new(), Vec::new());
        loop {
            let first = next.fetch_add(BLOCKS_AT_A_TIME, Ordering::Relaxed);
            let Some(some) = blocks.get(first..blocks.len().min(first + BLOCKS_AT_A_TIME)) else { return Ok(parts) };
            for &(block, start) in some {
                let part = parts.of_weight(column.weight(window, block));
                column.positions(window, End::Last, block, &mut positions);
                // All rows first: a cache miss would otherwise delay the arithmetic of earlier rows.
                gathered.clear();
                gathered.extend((0..positions.len()).map(|number| *read_on(transposed.rows, &positions, number)));
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
    let parts = crew(threads, 0..threads.max(1), |_| work())?;
    let (mut total, f_places, b_places) = (ExactSum::default(), f_radix.places(), b_radix.places());
    for sums in &parts {
        sums.add_to(&mut total, &f_places, &b_places);
    }
    Ok(total.reduced(forward.moduli.values()[F - 1]))
}

/// The sum over the accepting states of a forward vector at the end of a column. It is the count of the board that
/// ends there.
pub(crate) fn accepted<const F: usize>(
    column: &dyn BlockColumn,
    forward: &Vector<'_, F>,
) -> Result<CheckedCount, BlockError> {
    let window = column.windows().len() - 1;
    let tables = column.tables(window);
    let radix = Radix::new(*forward.moduli.values());
    let mut parts = WeightedSums::<F, 1>::NONE;
    each_block(tables, |block, start| {
        let part = parts.of_weight(column.weight(window, block));
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
    let mut total = ExactSum::default();
    parts.add_to(&mut total, &radix.places(), &[Integer::from(1)]);
    Ok(total.reduced(forward.moduli.values()[F - 1]))
}

/// The same sum modulo each lane's prime. No spare lane is checked.
pub(crate) fn residues<const F: usize>(column: &dyn BlockColumn, forward: &Vector<'_, F>) -> Row<F> {
    let window = column.windows().len() - 1;
    let tables = column.tables(window);
    let step = step_at(tables, End::Last);
    let mut sums = [WideSum::default(); F];
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
