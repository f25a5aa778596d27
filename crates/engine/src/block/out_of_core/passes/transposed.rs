//! A family through a window in one buffer, transposed: from the last step to the first.
//!
//! ```text
//!   after pass p     b0' b1' b2' b3' b4' . . . .         the states stand where a forward pass would leave them
//!   while it goes    b0' b1' b2' . | b3  b4  . .         b3 = sums over the successors of b3, in b3' and below it
//!   before pass p    . . . . | b0 b1 b2 b3 b4 ...        lead[p] rows in front of the states
//! ```
//!
//! The reverse of `forward`, over the same buffer and with the same leads. There each block is written in front of
//! its source, so here each is written behind the rows that are still to be read. Blocks go in descending order. Most
//! far operations lead to blocks that are not yet done, whose rows are still there. Rows of targets that are done
//! earlier would be overwritten: these are set aside before the pass.
//!
//! Several threads work in batches: blocks whose new rows fit behind all rows that are read for them. Each block is
//! written by one thread, and no thread writes what others read.
//!
//! Cost: that of a forward pass, with a bounds check for each row that is read. The ways that lead to each state, for
//! the mass balance, take one more forward pass with one lane ([`arrivals`]).

use std::ops::Range;

use keima_blocks::limits::MODULUS_LIMIT;
use keima_model::{BlockTables, Family, PassTable};

use crate::TaskError;
use crate::block::out_of_core::passes::batches::Batches;
use crate::block::out_of_core::passes::buffer::FamilyLayout;
use crate::block::out_of_core::passes::forward::Passes;
use crate::block::rows::lanes::{MOST_WAYS, Moduli, Row, add, dispatch};
use crate::block::rows::ranges::{LEAST_RANGE_ROWS, ranges};
use crate::block::rows::tables::{entry_count, far_operations, far_operations_up};
use crate::block::rows::threads::crew;

/// Blocks of a batch, for one thread.
struct TransposedPart<'p, const K: usize> {
    blocks: Range<u32>,
    /// Their rows before the pass.
    own: &'p mut [Row<K>],
    /// Rows that were set aside for them.
    aside: &'p [Row<K>],
}

impl<const K: usize> Batches<'_, K> {
    /// The states after the last pass begin at 0 of `rows`. When all is done, the states before the first pass begin
    /// after the first lead. `aside` has the rows that the layout asks for.
    pub(crate) fn run_transposed(&self, rows: &mut [Row<K>], aside: &mut [Row<K>]) -> Result<(), TaskError> {
        (0..self.tables.far.len()).rev().try_for_each(|pass| self.pass_transposed(pass, rows, aside))
    }

    /// Where a block ends after a pass.
    fn end_after(&self, pass: usize, block: u32) -> usize {
        self.after(pass, block) + entry_count(self.tables, block, pass + 1)
    }

    fn pass_transposed(&self, pass: usize, rows: &mut [Row<K>], aside: &mut [Row<K>]) -> Result<(), TaskError> {
        let mut put = self.put_aside(pass, rows, aside);
        let mut left = self.family.blocks.clone();
        let mut until = self.layout.leads[pass] + self.family.size[pass] as usize;
        while !left.is_empty() {
            let start = self.last_blocks(pass, &left);
            let batch = start..left.end;
            let first = self.before(pass, start);
            let (after, own) = rows[..until].split_at_mut(first);
            (left.end, until) = (start, first);
            let from = put - self.rows_aside(pass, &batch);
            let kept = &aside[from..put];
            put = from;
            if self.threads == 1 {
                let part = TransposedPart { blocks: batch, own, aside: kept };
                dispatch::<K, _>(TransposedSums { batches: self, pass, part, after });
                continue;
            }
            let parts = self.parts(pass, &batch, own, kept);
            let after = &*after;
            crew(self.threads, parts, |part| {
                dispatch::<K, _>(TransposedSums { batches: self, pass, part, after });
                Ok::<_, TaskError>(())
            })?;
        }
        Ok(())
    }

    /// First of the last blocks in `left` whose rows before the pass stand behind all rows that are read for them.
    /// One block at a time for a single thread.
    fn last_blocks(&self, pass: usize, left: &Range<u32>) -> u32 {
        let last = left.end - 1;
        let read = self.end_after(pass, last);
        if self.threads == 1 {
            return last;
        }
        let (mut low, mut high) = (left.start, last);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.before(pass, middle) < read { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn parts<'p>(
        &self,
        pass: usize,
        batch: &Range<u32>,
        own: &'p mut [Row<K>],
        aside: &'p [Row<K>],
    ) -> Vec<TransposedPart<'p, K>> {
        let (mut own, mut aside) = (own, aside);
        let part = |blocks: Range<u32>| {
            let rows = blocks.clone().map(|block| entry_count(self.tables, block, pass)).sum();
            let (piece_rows, piece_aside);
            (piece_rows, own) = std::mem::take(&mut own).split_at_mut(rows);
            (piece_aside, aside) = aside.split_at(self.rows_aside(pass, &blocks));
            TransposedPart { blocks, own: piece_rows, aside: piece_aside }
        };
        ranges(self.tables, self.family, pass, batch, self.threads, self.least_rows).into_iter().map(part).collect()
    }

    /// Sets the rows aside that operations lead to in blocks with larger numbers, in the order of the source blocks.
    /// Returns how many.
    fn put_aside(&self, pass: usize, rows: &[Row<K>], aside: &mut [Row<K>]) -> usize {
        if self.tables.far[pass].descending {
            return 0;
        }
        let mut put = 0;
        for (far, target) in self.family.blocks.clone().flat_map(|block| far_operations_up(self.tables, block, pass)) {
            let target = &rows[self.after(pass, target)..];
            for (kept, &(_, to)) in aside[put..].iter_mut().zip(&far.pairs) {
                *kept = target[usize::from(to)];
            }
            put += far.pairs.len();
        }
        put
    }
}

/// The sums of the blocks of a part.
struct TransposedSums<'s, 'p, 'a, const K: usize> {
    batches: &'s Batches<'a, K>,
    pass: usize,
    part: TransposedPart<'p, K>,
    /// The buffer in front of the batch's rows.
    after: &'s [Row<K>],
}

impl<const K: usize> pulp::WithSimd for TransposedSums<'_, '_, '_, K> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { batches, pass, part: TransposedPart { blocks, mut own, mut aside }, after } = self;
        let tables = batches.tables;
        // A copy: the compiler then knows that writes do not change the moduli.
        let moduli = *batches.moduli;
        let successors = |block: u32| &after[batches.after(pass, block)..batches.end_after(pass, block)];
        let mut groups: Vec<&[Row<K>]> = Vec::new();
        for number in blocks {
            let rows;
            (rows, own) = own.split_at_mut(entry_count(tables, number, pass));
            let table = &tables.signatures[tables.signature_of[number as usize] as usize].passes[pass];
            groups.clear();
            groups.push(successors(number));
            // Rows of targets with larger numbers were set aside, and are not read here.
            groups.extend(
                far_operations(tables, number, pass).map(|(_, to)| if to > number { &[][..] } else { successors(to) }),
            );
            sums_of(table, &groups, rows, &moduli);
            for (far, _) in far_operations_up(tables, number, pass) {
                for (&(from, _), value) in far.pairs.iter().zip(aside) {
                    moduli.put(&mut rows[usize::from(from)], value);
                }
                aside = &aside[far.pairs.len()..];
            }
        }
    }
}

/// Overwrites a block's rows with the sums over their successors in `groups`: the block itself, then the targets of
/// its far operations. Targets that are left out are empty.
#[inline(always)]
fn sums_of<const K: usize>(table: &PassTable, groups: &[&[Row<K>]], rows: &mut [Row<K>], moduli: &Moduli<K>) {
    for group in &table.rows {
        let mut there: [&[Row<K>]; 3] = [&[]; 3];
        let mut places = [0; 3];
        let mut count = 0;
        for (place, &block) in group.blocks.iter().take(usize::from(group.degree)).enumerate() {
            let found = groups.get(usize::from(block)).copied().unwrap_or_default();
            if !found.is_empty() {
                (there[count], places[count]) = (found, place);
                count += 1;
            }
        }
        match count {
            0 => group.rows.iter().for_each(|row| rows[usize::from(row[0])] = [0; K]),
            1 => rows_of::<K, 1>(&there, places, &group.rows, rows, moduli),
            2 => rows_of::<K, 2>(&there, places, &group.rows, rows, moduli),
            _ => rows_of::<K, 3>(&there, places, &group.rows, rows, moduli),
        }
    }
}

/// Sums of `D` rows each: those of `there`, at the entry's `places`.
#[inline(always)]
fn rows_of<const K: usize, const D: usize>(
    there: &[&[Row<K>]; 3],
    places: [usize; 3],
    table: &[[u16; 4]],
    rows: &mut [Row<K>],
    moduli: &Moduli<K>,
) {
    for &[row, successors @ ..] in table {
        let mut sum = there[0][usize::from(successors[places[0]])];
        for (there, &place) in there[1..D].iter().zip(&places[1..D]) {
            add(&mut sum, &there[usize::from(successors[place])]);
        }
        moduli.reduce::<D>(&mut sum);
        rows[usize::from(row)] = sum;
    }
}

/// Counts the ways through the window to each state at its last step, into `ways`: a forward pass on ones.
///
/// `rows` and `aside` are as for [`Passes`]. They are overwritten.
pub(crate) fn arrivals(
    tables: &BlockTables,
    family: &Family,
    layout: &FamilyLayout,
    rows: &mut [Row<1>],
    aside: &mut [Row<1>],
    threads: usize,
    ways: &mut [u32],
) -> Result<(), TaskError> {
    let before = family.size.first().map_or(0, |&states| states as usize);
    rows[layout.leads[0]..][..before].fill([1]);
    let too_many =
        || TaskError::Refused("a window leads to a state in 2^24 ways or more; this is a fault of the program".into());
    // No number of ways reaches the modulus, so nothing is reduced.
    let moduli = &Moduli::new([MODULUS_LIMIT - 1]).ok_or_else(too_many)?;
    if threads > 1 && before.max(ways.len()) >= 2 * LEAST_RANGE_ROWS {
        Batches { tables, family, layout, moduli, threads, least_rows: LEAST_RANGE_ROWS }.run(rows, aside)?;
    } else {
        dispatch::<1, _>(Passes { tables, family, layout, rows, aside, moduli });
    }
    for (ways, row) in ways.iter_mut().zip(&*rows) {
        *ways = u32::try_from(row[0]).ok().filter(|&ways| ways < MOST_WAYS).ok_or_else(too_many)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use keima_model::{BlockProblem as _, Board, Direction, Directions, Window};
    use keima_problems::go::Go;
    use keima_residue::{add_mod, mul_mod};

    use super::*;
    use crate::block::out_of_core::passes::buffer::GroupLayout;
    use keima_blocks::rows::PADDING;

    /// For any two vectors f, b of a family `<A f, b> = <f, A' b>`. A are the passes of its window, A' the transposed
    /// ones, by any number of threads.
    #[test]
    fn transposed_passes_are_transposed() {
        let mut put_aside = 0;
        for (height, lengths) in [(5, &[5][..]), (7, &[3, 4]), (8, &[3, 3, 2])] {
            let go = Go::<u64>::new(String::new(), Board { height, length: height });
            let column = go.column(&Window::of_lengths(lengths), Directions::Both).unwrap();
            for window in 0..lengths.len() {
                let tables = column.tables(window);
                for (number, family) in tables.families.iter().enumerate() {
                    for (threads, room) in [(1, 0), (2, 1), (3, 1000), (2, 100_000)] {
                        let told = format!("{height} in {lengths:?}, window {window}, family {number}, room {room}");
                        put_aside += check(tables, family, threads, room, &told);
                    }
                }
            }
        }
        assert!(put_aside > 0, "some operations lead to later blocks");
    }

    /// Returns the most rows that were set aside in a pass.
    fn check(tables: &BlockTables, family: &Family, threads: usize, room: usize, told: &str) -> usize {
        let moduli = &Moduli::new([(1 << 59) + 9, (1 << 59) + 5]).unwrap();
        let group_layout =
            GroupLayout::new(tables, std::slice::from_ref(family), Direction::Transposed).with_room(room);
        let layout = &group_layout.families[0];
        let [before, after] = [0, tables.far.len()].map(|step| family.size[step] as usize);
        let vector = |states: usize, salt: u64| -> Vec<Row<2>> {
            let value = |n: u64| (n + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (0..states as u64).map(|n| moduli.values().map(|p| value(n) % p)).collect()
        };
        let (f, b) = (vector(before, 1), vector(after, 1 << 20));
        let (mut rows, mut aside) = (vec![[0; 2]; group_layout.rows() + PADDING], vec![[0; 2]; layout.aside.all]);
        rows[layout.leads[0]..][..before].copy_from_slice(&f);
        let passes = Passes { tables, family, layout, rows: &mut rows, aside: &mut aside, moduli };
        pulp::Arch::new().dispatch(passes);
        let forward = rows[..after].to_vec();
        rows[..after].copy_from_slice(&b);
        let batches = Batches { tables, family, layout, moduli, threads, least_rows: 10 };
        batches.run_transposed(&mut rows, &mut aside).unwrap();
        let back = &rows[layout.leads[0]..][..before];
        for (lane, &p) in moduli.values().iter().enumerate() {
            let product = |one: &[Row<2>], other: &[Row<2>]| {
                one.iter().zip(other).fold(0, |sum, (a, b)| add_mod(sum, mul_mod(a[lane], b[lane], p), p))
            };
            assert_eq!(product(&forward, &b), product(&f, back), "{told}");
        }
        // A forward pass on ones counts the ways to each state.
        let mut ones = vec![[0; 1]; group_layout.rows() + PADDING];
        let mut ways = vec![0; after];
        arrivals(tables, family, layout, &mut ones, &mut vec![[0]; layout.aside.all], threads, &mut ways).unwrap();
        let all: u64 = ways.iter().map(|&ways| u64::from(ways)).sum();
        let descendants = |block: u32| &tables.signatures[tables.signature_of[block as usize] as usize].descendants;
        let expected: u64 = family.blocks.clone().flat_map(descendants).map(|&ways| u64::from(ways)).sum();
        assert_eq!((ways.len(), all), (after, expected), "{told}");
        layout.aside.all
    }
}
