//! A large family through a window in one buffer by several threads: each pass in batches of blocks.
//!
//! ```text
//!   before a batch     done ..........  room  | b5 b6 b7 | b8 ...
//!   sums               done ..... b5' b6' b7' | b5 b6 b7 | b8 ...     each thread takes blocks of the batch
//!   far operations     done += far values of b5 b6 b7                 each thread takes some of the targets
//! ```
//!
//! The passes and the buffer are those of one thread (`forward`). A batch has as many blocks as fit in front of its
//! first block, so that no thread writes what others read. [`GroupLayout::with_room`] makes room for larger batches.
//! The operations of a batch are sorted by target and cut into ranges of targets with similar numbers of operations.
//! Values for blocks that are not yet done are set aside (`waiting`), and are added in the same way.
//!
//! Cost: the work of one thread, and one more read of each row that is carried. Memory: 24 bytes for each operation
//! of a batch.
//!
//! [`GroupLayout::with_room`]: crate::block::out_of_core::passes::buffer::GroupLayout::with_room

use std::ops::Range;

use keima_model::{BlockTables, Family, Far};

use crate::TaskError;
use crate::block::out_of_core::passes::buffer::FamilyLayout;
use crate::block::out_of_core::passes::waiting::{Waiting, WaitingFar, rows_up};
use crate::block::rows::kernel::{add_far, local};
use crate::block::rows::lanes::{Moduli, Row, dispatch};
use crate::block::rows::ranges::{LEAST_RANGE_ROWS, RANGES_PER_THREAD, block_at, place_or_end, ranges};
use crate::block::rows::tables::{entry_count, far_operations};
use crate::block::rows::threads::crew;

/// Most rows of a batch.
const BATCH: usize = 16 << 20;
/// Operations that are sorted together when the rows that wait are added.
const LIST: usize = 1 << 14;

/// Rows of room for each pass that make good batches of a family of so many rows. A small family is one batch.
pub(crate) fn room(rows: usize) -> usize {
    (rows / 64).max(rows.min(16 * LEAST_RANGE_ROWS)).min(BATCH)
}

/// All passes of a family by several threads; of a transposed vector (`transposed`) also by one.
pub(crate) struct Batches<'a, const K: usize> {
    pub(crate) tables: &'a BlockTables,
    pub(crate) family: &'a Family,
    pub(crate) layout: &'a FamilyLayout,
    pub(crate) moduli: &'a Moduli<K>,
    pub(crate) threads: usize,
    /// See [`LEAST_RANGE_ROWS`].
    pub(crate) least_rows: usize,
}

/// A far operation with its target, and the place of its values or of its source block.
struct Carried<'a> {
    target: u32,
    far: &'a Far,
    at: usize,
}

/// Blocks of a batch, for one thread.
struct BatchPart<'p, const K: usize> {
    blocks: Range<u32>,
    /// Their rows after the pass, and the rows that they set aside.
    own: &'p mut [Row<K>],
    aside: &'p mut [Row<K>],
}

/// Targets for one thread: their numbers and their rows, of which the first is number `start`.
struct Targets<'p, const K: usize> {
    blocks: Range<u32>,
    rows: &'p mut [Row<K>],
    start: usize,
}

/// Where the values of operations are.
#[derive(Clone, Copy)]
enum CarriedFrom<'r, const K: usize> {
    /// In the source block's rows, by entry.
    Block(&'r [Row<K>]),
    /// Set aside, in the order of the pairs.
    Aside(&'r [Row<K>]),
}

impl<'a, const K: usize> Batches<'a, K> {
    /// `rows` and `aside` are those of [`crate::block::out_of_core::passes::forward::Passes`].
    pub(crate) fn run(&self, rows: &mut [Row<K>], aside: &mut [Row<K>]) -> Result<(), TaskError> {
        (0..self.tables.far.len()).try_for_each(|pass| self.pass(pass, rows, aside))
    }

    /// Start of a block after a pass. For the block after the last: the family's end.
    pub(crate) fn after(&self, pass: usize, block: u32) -> usize {
        self.layout.leads[pass + 1] + place_or_end(self.tables, self.family, pass + 1, block)
    }

    pub(crate) fn before(&self, pass: usize, block: u32) -> usize {
        self.layout.leads[pass] + self.tables.place(pass, block) as usize
    }

    fn pass(&self, pass: usize, rows: &mut [Row<K>], aside: &mut [Row<K>]) -> Result<(), TaskError> {
        let mut left = self.family.blocks.clone();
        let mut waiting = Waiting::new(self.tables, self.family, pass);
        while !left.is_empty() {
            if waiting.rows + rows_up(self.tables, left.start, pass) > aside.len() {
                self.settle(&mut waiting, pass, left.start, rows, aside)?;
            }
            let batch = self.batch(pass, &mut left, aside.len() - waiting.rows);
            let first = self.before(pass, batch.start);
            let (done, source) = rows.split_at_mut(first);
            let (done, source) = (&mut done[..self.after(pass, batch.end)], &*source);
            let mut parts = Vec::new();
            let (mut own, mut free) = (&mut done[self.after(pass, batch.start)..], &mut aside[waiting.rows..]);
            for blocks in ranges(self.tables, self.family, pass + 1, &batch, self.threads, self.least_rows) {
                let rows = self.after(pass, blocks.end) - self.after(pass, blocks.start);
                let rows_aside = self.rows_aside(pass, &blocks);
                waiting.rows += rows_aside;
                let (piece_rows, piece_aside);
                (piece_rows, own) = own.split_at_mut(rows);
                (piece_aside, free) = free.split_at_mut(rows_aside);
                parts.push(BatchPart { blocks, own: piece_rows, aside: piece_aside });
            }
            let sums = |part| BatchSums { batches: self, pass, part, source, first };
            let lists = crew(self.threads, parts, |part| Ok::<_, TaskError>(dispatch::<K, _>(sums(part))))?;
            self.carry(pass, &lists, CarriedFrom::Block(source), done)?;
        }
        if waiting.rows > 0 {
            self.settle(&mut waiting, pass, self.family.blocks.end, rows, aside)?;
        }
        Ok(())
    }

    /// Adds the rows that wait for blocks before `until`, which are done.
    fn settle(
        &self,
        waiting: &mut Waiting<'a>,
        pass: usize,
        until: u32,
        rows: &mut [Row<K>],
        aside: &mut [Row<K>],
    ) -> Result<(), TaskError> {
        let done = &mut rows[..self.after(pass, until)];
        let ready = waiting.operations(until).filter(|waiting| waiting.target < until);
        let mut ready = ready.map(|WaitingFar { target, far, at, .. }| Carried { target, far, at }).peekable();
        while ready.peek().is_some() {
            let list = || ready.by_ref().take(LIST).collect::<Vec<Carried<'a>>>();
            let lists = std::iter::repeat_with(list).take(RANGES_PER_THREAD * self.threads);
            let lists: Vec<Vec<Carried<'a>>> = lists.take_while(|list| !list.is_empty()).collect();
            let sorted = |mut list: Vec<Carried<'a>>| {
                sort_by_target(&mut list);
                Ok::<_, TaskError>(list)
            };
            let lists = crew(self.threads, lists, sorted)?;
            self.carry(pass, &lists, CarriedFrom::Aside(aside), done)?;
        }
        waiting.settle(until, aside);
        Ok(())
    }

    /// The next batch: blocks whose rows after the pass fit in front of the rows of the first of them, and that set no more
    /// than `free` rows aside. One block is always taken.
    fn batch(&self, pass: usize, left: &mut Range<u32>, free: usize) -> Range<u32> {
        let start = left.start;
        let room = self.before(pass, start) - self.layout.leads[pass + 1];
        let most = room.min(self.tables.place(pass + 1, start) as usize + BATCH);
        // A block ends where the next begins. One block always fits.
        let fits = block_at(self.tables, pass + 1, left, most + 1).max(start + 1);
        let whole = fits == left.end && self.family.size[pass + 1] as usize <= most;
        let end = if whole { fits } else { (fits - 1).max(start + 1) };
        let mut aside = 0;
        let end = (start..end)
            .find(|&block| {
                aside += rows_up(self.tables, block, pass);
                aside > free
            })
            .map_or(end, |block| block.max(start + 1));
        left.start = end;
        start..end
    }

    /// Rows that blocks set aside in a pass.
    pub(crate) fn rows_aside(&self, pass: usize, blocks: &Range<u32>) -> usize {
        blocks.clone().map(|block| rows_up(self.tables, block, pass)).sum()
    }

    /// Adds the values of operations to `done`. Each list is sorted by target.
    fn carry(
        &self,
        pass: usize,
        lists: &[Vec<Carried<'a>>],
        from: CarriedFrom<'_, K>,
        done: &mut [Row<K>],
    ) -> Result<(), TaskError> {
        let all: usize = lists.iter().map(Vec::len).sum();
        let count = if lists.len() > 1 { RANGES_PER_THREAD * self.threads } else { 1 };
        // An even sample stands for all operations.
        let step = (all / (count * 16)).max(1);
        let mut some: Vec<u32> =
            lists.iter().flat_map(|list| list.iter().step_by(step)).map(|carried| carried.target).collect();
        some.sort_unstable();
        let (mut rest, mut start, mut first) = (done, 0, self.family.blocks.start);
        let mut targets = Vec::with_capacity(count);
        for number in 1..=count {
            let last = number == count;
            let end =
                if last { self.family.blocks.end } else { some.get(some.len() * number / count).copied().unwrap_or(0) };
            if end <= first {
                continue;
            }
            let until = if last { start + rest.len() } else { self.after(pass, end) };
            let (rows, later) = rest.split_at_mut(until - start);
            targets.push(Targets { blocks: first..end, rows, start });
            (rest, start, first) = (later, until, end);
        }
        crew(self.threads, targets, |targets| {
            dispatch::<K, _>(AddCarried { batches: self, pass, lists, from, targets });
            Ok::<_, TaskError>(())
        })?;
        Ok(())
    }
}

/// Sorts operations by their targets. It is not generic, so there is one copy for all widths of rows.
fn sort_by_target(carried: &mut [Carried<'_>]) {
    carried.sort_unstable_by_key(|carried| carried.target);
}

/// The sums within the blocks of a part. Returns the far operations to carry.
struct BatchSums<'s, 'p, 'a, const K: usize> {
    batches: &'s Batches<'a, K>,
    pass: usize,
    part: BatchPart<'p, K>,
    /// The buffer from the batch's first row on. That row is number `first` of the whole buffer.
    source: &'s [Row<K>],
    first: usize,
}

impl<'a, const K: usize> pulp::WithSimd for BatchSums<'_, '_, 'a, K> {
    type Output = Vec<Carried<'a>>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { batches, pass, part: BatchPart { blocks, mut own, mut aside }, source, first } = self;
        let (tables, mut carried) = (batches.tables, Vec::new());
        // A copy: the compiler then knows that writes do not change the moduli.
        let moduli = *batches.moduli;
        for number in blocks {
            let at = batches.before(pass, number) - first;
            let rows = source[at..].first_chunk().expect("buffers are padded");
            let table = &tables.signatures[tables.signature_of[number as usize] as usize].passes[pass];
            let block;
            (block, own) = own.split_at_mut(entry_count(tables, number, pass + 1));
            local(table, rows, block, &moduli);
            for (far, target) in far_operations(tables, number, pass) {
                if target > number {
                    let kept;
                    (kept, aside) = aside.split_at_mut(far.pairs.len());
                    for (row, &(entry, _)) in kept.iter_mut().zip(&far.pairs) {
                        *row = rows[usize::from(entry)];
                    }
                } else {
                    carried.push(Carried { target, far, at });
                }
            }
        }
        sort_by_target(&mut carried);
        carried
    }
}

/// Adds the values of far operations to some of the targets.
struct AddCarried<'s, 'p, 'a, const K: usize> {
    batches: &'s Batches<'a, K>,
    pass: usize,
    lists: &'s [Vec<Carried<'a>>],
    from: CarriedFrom<'s, K>,
    targets: Targets<'p, K>,
}

impl<const K: usize> pulp::WithSimd for AddCarried<'_, '_, '_, K> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { batches, pass, lists, from, targets: Targets { blocks, rows, start } } = self;
        let moduli = *batches.moduli;
        for list in lists {
            let place = |block| list.partition_point(|carried: &Carried<'_>| carried.target < block);
            for &Carried { target, far, at } in &list[place(blocks.start)..place(blocks.end)] {
                let target = &mut rows[batches.after(pass, target) - start..];
                match from {
                    CarriedFrom::Block(source) => {
                        let values = far.pairs.iter().map(|&(entry, _)| &source[at + usize::from(entry)]);
                        add_far(far, values, target, &moduli);
                    }
                    CarriedFrom::Aside(aside) => add_far(far, aside[at..].iter(), target, &moduli),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{BlockProblem as _, Board, Direction, Directions, Window};
    use keima_problems::go::Go;

    use super::*;
    use crate::block::out_of_core::passes::buffer::GroupLayout;
    use crate::block::out_of_core::passes::forward::Passes;
    use crate::block::out_of_core::passes::waiting::AsideRows;
    use keima_blocks::rows::PADDING;

    /// Every family of a board, by one thread and by several, with room for a block at a time and for many.
    #[test]
    fn threads_do_what_one_does() {
        for (height, lengths) in [(5, &[5][..]), (7, &[3, 4]), (8, &[3, 3, 2])] {
            let go = Go::<u64>::new(String::new(), Board { height, length: height });
            let column = go.column(&Window::of_lengths(lengths), Directions::Forward).unwrap();
            for window in 0..lengths.len() {
                let tables = column.tables(window);
                for (number, family) in tables.families.iter().enumerate() {
                    let told = format!("{height} in {lengths:?}, window {window}, family {number}");
                    let one_thread = Room { threads: None, between: 0, aside: 0 };
                    let one = states_after(tables, family, one_thread);
                    assert_eq!(states_after(tables, family, Room { aside: 1 << 30, ..one_thread }), one, "{told}");
                    for (threads, between, aside) in [(1, 0, 0), (2, 1, 1), (3, 1000, 10), (2, 100_000, 1 << 30)] {
                        let room = Room { threads: Some(threads), between, aside };
                        assert_eq!(states_after(tables, family, room), one, "{told}, {room:?}");
                    }
                }
            }
        }
    }

    /// Threads, if batches are used; rows between those that are read and written; rows set aside beyond the least.
    #[derive(Clone, Copy, Debug)]
    struct Room {
        threads: Option<usize>,
        between: usize,
        aside: usize,
    }

    fn states_after(tables: &BlockTables, family: &Family, room: Room) -> Vec<Row<2>> {
        let moduli = Moduli::new([(1 << 59) + 9, (1 << 59) + 5]).unwrap();
        let group_layout = GroupLayout::new(tables, std::slice::from_ref(family), Direction::Forward);
        let group_layout = group_layout.with_room(room.between);
        let layout = &group_layout.families[0];
        let mut rows = vec![[0; 2]; group_layout.rows() + PADDING];
        let before = &mut rows[group_layout.lead..][..family.size[0] as usize];
        for (row, number) in before.iter_mut().zip(1_u64..) {
            *row = moduli.values().map(|p| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % p);
        }
        let AsideRows { least, all } = layout.aside;
        let mut aside = vec![[0; 2]; (least + room.aside).min(all)];
        let (rows_of, aside, moduli) = (rows.as_mut_slice(), &mut aside[..], &moduli);
        match room.threads {
            None => pulp::Arch::new().dispatch(Passes { tables, family, layout, rows: rows_of, aside, moduli }),
            Some(threads) => {
                Batches { tables, family, layout, moduli, threads, least_rows: 10 }.run(rows_of, aside).unwrap();
            }
        }
        rows.truncate(*family.size.last().unwrap() as usize);
        rows
    }
}
