//! A large family through a window in one buffer by several threads: each pass in batches of blocks.
//!
//! ```text
//!   before a batch     done ..........  room  | b5 b6 b7 | b8 ...
//!   sums               done ..... b5' b6' b7' | b5 b6 b7 | b8 ...     each thread takes blocks of the batch
//!   far operations     done += what b5 b6 b7 carry there              each thread takes some of the targets
//! ```
//!
//! The same passes over the same buffer as by one thread ([`crate::block::out_of_core::passes::forward`]). A batch is of as many blocks as find room
//! in front of the first of them, so that nobody writes what others read; [`Lines::with_room`] makes it. What their
//! operations carry is sorted by target, and cut into ranges of targets with about as many operations each. What leads
//! to blocks that are yet to be done is put aside and goes the same way when the pass is over.
//!
//! Cost: the time of all threads is twice that of one that does it alone: rows are read once more for what is carried, a
//! row for each state and pass, and one thread is near what memory gives (13x13, a family of 4,157,922 states, K = 4, two
//! threads: as long as one; reading and writing take two threads 0.6 of the time). Memory: 24 bytes for each operation of
//! a batch.
//!
//! [`Lines::with_room`]: crate::block::out_of_core::passes::buffer::Lines::with_room

use std::ops::Range;

use keima_model::{BlockTables, Family, Far};

use crate::TaskError;
use crate::block::out_of_core::passes::buffer::Line;
use crate::block::rows::kernel::{add_far, local};
use crate::block::rows::lanes::{Moduli, Row, dispatch};
use crate::block::rows::ranges::{RANGES, WORTH, block_at, place, ranges};
use crate::block::rows::tables::{entries, far, up};
use crate::block::rows::threads::crew;

/// Rows of a batch, at most.
const BATCH: usize = 16 << 20;

/// Rows of room for each pass that make good batches of a family of so many rows: a small one is a batch.
pub(crate) fn room(rows: usize) -> usize {
    (rows / 64).max(rows.min(16 * WORTH)).min(BATCH)
}

/// All passes of a family by several threads; transposed ones ([`crate::block::out_of_core::passes::transposed`]) by one, too.
pub(crate) struct Batches<'a, const K: usize> {
    pub(crate) tables: &'a BlockTables,
    pub(crate) family: &'a Family,
    pub(crate) line: &'a Line,
    pub(crate) moduli: &'a Moduli<K>,
    pub(crate) threads: usize,
    /// See [`WORTH`].
    pub(crate) worth: usize,
}

/// A far operation: its target, and where what it carries begins or its source block stands.
struct Carried<'a> {
    target: u32,
    far: &'a Far,
    at: usize,
}

/// Blocks of a batch for one thread.
struct Piece<'p, const K: usize> {
    blocks: Range<u32>,
    /// Their rows after the pass, and what they put aside.
    own: &'p mut [Row<K>],
    aside: &'p mut [Row<K>],
}

/// Targets for one thread: their numbers, and their rows, the first of which is number `start`.
struct Targets<'p, const K: usize> {
    blocks: Range<u32>,
    rows: &'p mut [Row<K>],
    start: usize,
}

/// What an operation finds its rows by.
#[derive(Clone, Copy)]
enum Origin<'r, const K: usize> {
    /// The source block's rows.
    Block(&'r [Row<K>]),
    /// The rows themselves, one after the other.
    Aside(&'r [Row<K>]),
}

impl<'a, const K: usize> Batches<'a, K> {
    /// `rows` and `aside` are those of [`crate::block::out_of_core::passes::forward::Passes`].
    pub(crate) fn run(&self, rows: &mut [Row<K>], aside: &mut [Row<K>]) -> Result<(), TaskError> {
        (0..self.tables.far.len()).try_for_each(|pass| self.pass(pass, rows, aside))
    }

    /// Where a block begins after a pass; the family's end for the one after its last.
    pub(crate) fn after(&self, pass: usize, block: u32) -> usize {
        self.line.leads[pass + 1] + place(self.tables, self.family, pass + 1, block)
    }

    pub(crate) fn before(&self, pass: usize, block: u32) -> usize {
        self.line.leads[pass] + self.tables.place(pass, block) as usize
    }

    fn pass(&self, pass: usize, rows: &mut [Row<K>], aside: &mut [Row<K>]) -> Result<(), TaskError> {
        let (mut left, mut put) = (self.family.blocks.clone(), 0);
        // Blocks that put something aside, and where it begins.
        let mut later: Vec<(Range<u32>, usize)> = Vec::new();
        while !left.is_empty() {
            let batch = self.batch(pass, &mut left);
            let first = self.before(pass, batch.start);
            let (done, source) = rows.split_at_mut(first);
            let (done, source) = (&mut done[..self.after(pass, batch.end)], &*source);
            let mut pieces = Vec::new();
            let (mut own, mut free) = (&mut done[self.after(pass, batch.start)..], &mut aside[put..]);
            for blocks in ranges(self.tables, self.family, pass + 1, &batch, self.threads, self.worth) {
                let rows = self.after(pass, blocks.end) - self.after(pass, blocks.start);
                let rows_aside = self.rows_aside(pass, &blocks);
                if rows_aside > 0 {
                    later.push((blocks.clone(), put));
                    put += rows_aside;
                }
                let (piece_rows, piece_aside);
                (piece_rows, own) = own.split_at_mut(rows);
                (piece_aside, free) = free.split_at_mut(rows_aside);
                pieces.push(Piece { blocks, own: piece_rows, aside: piece_aside });
            }
            let sums = |piece| Sums { batches: self, pass, piece, source, first };
            let lists = crew(self.threads, pieces, |piece| Ok::<_, TaskError>(dispatch::<K, _>(sums(piece))))?;
            self.carry(pass, &lists, Origin::Block(source), done)?;
        }
        for some in later.chunks(RANGES * self.threads) {
            let lists = crew(self.threads, some, |(blocks, put)| {
                let (mut at, mut list) = (*put, Vec::new());
                for (far, target) in blocks.clone().flat_map(|block| up(self.tables, block, pass)) {
                    list.push(Carried { target, far, at });
                    at += far.pairs.len();
                }
                list.sort_unstable_by_key(|carried: &Carried<'_>| carried.target);
                Ok::<_, TaskError>(list)
            })?;
            self.carry(pass, &lists, Origin::Aside(aside), &mut rows[..self.after(pass, self.family.blocks.end)])?;
        }
        Ok(())
    }

    /// The next blocks, whose rows after the pass fit in front of what the first of them is read from.
    fn batch(&self, pass: usize, left: &mut Range<u32>) -> Range<u32> {
        let start = left.start;
        let room = self.before(pass, start) - self.line.leads[pass + 1];
        let most = room.min(self.tables.place(pass + 1, start) as usize + BATCH);
        // Blocks end where others begin; one finds room always.
        let fits = block_at(self.tables, pass + 1, left, most + 1).max(start + 1);
        let whole = fits == left.end && self.family.size[pass + 1] as usize <= most;
        let end = if whole { fits } else { (fits - 1).max(start + 1) };
        left.start = end;
        start..end
    }

    /// Rows that blocks put aside in a pass.
    pub(crate) fn rows_aside(&self, pass: usize, blocks: &Range<u32>) -> usize {
        if self.tables.far[pass].descending {
            return 0;
        }
        blocks.clone().flat_map(|block| up(self.tables, block, pass)).map(|(far, _)| far.pairs.len()).sum()
    }

    /// Adds what operations carry, of which each list is sorted by target, to `done`.
    fn carry(
        &self,
        pass: usize,
        lists: &[Vec<Carried<'a>>],
        from: Origin<'_, K>,
        done: &mut [Row<K>],
    ) -> Result<(), TaskError> {
        let all: usize = lists.iter().map(Vec::len).sum();
        let count = if lists.len() > 1 { RANGES * self.threads } else { 1 };
        // Every so many operations one, which stand for all.
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
            dispatch::<K, _>(Add { batches: self, pass, lists, from, targets });
            Ok::<_, TaskError>(())
        })?;
        Ok(())
    }
}

/// The sums of a piece, and the list of what it carries.
struct Sums<'s, 'p, 'a, const K: usize> {
    batches: &'s Batches<'a, K>,
    pass: usize,
    piece: Piece<'p, K>,
    /// The buffer from the batch's first row on, which is number `first`.
    source: &'s [Row<K>],
    first: usize,
}

impl<'a, const K: usize> pulp::WithSimd for Sums<'_, '_, 'a, K> {
    type Output = Vec<Carried<'a>>;
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { batches, pass, piece: Piece { blocks, mut own, mut aside }, source, first } = self;
        let (tables, mut carried) = (batches.tables, Vec::new());
        // A copy of its own: the rows that are written cannot be these.
        let moduli = *batches.moduli;
        for number in blocks {
            let at = batches.before(pass, number) - first;
            let rows = source[at..].first_chunk().expect("buffers are padded");
            let table = &tables.signatures[tables.signature_of[number as usize] as usize].passes[pass];
            let block;
            (block, own) = own.split_at_mut(entries(tables, number, pass + 1));
            local(table, rows, block, &moduli);
            for (far, target) in far(tables, number, pass) {
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
        carried.sort_unstable_by_key(|carried| carried.target);
        carried
    }
}

/// What goes to some of the targets.
struct Add<'s, 'p, 'a, const K: usize> {
    batches: &'s Batches<'a, K>,
    pass: usize,
    lists: &'s [Vec<Carried<'a>>],
    from: Origin<'s, K>,
    targets: Targets<'p, K>,
}

impl<const K: usize> pulp::WithSimd for Add<'_, '_, '_, K> {
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
                    Origin::Block(source) => {
                        let values = far.pairs.iter().map(|&(entry, _)| &source[at + usize::from(entry)]);
                        add_far(far, values, target, &moduli);
                    }
                    Origin::Aside(aside) => add_far(far, aside[at..].iter(), target, &moduli),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{BlockProblem as _, Board, Directions, Window};
    use keima_problems::go::Go;

    use super::*;
    use crate::block::out_of_core::passes::buffer::Lines;
    use crate::block::out_of_core::passes::forward::Passes;
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
                    let one = states_after(tables, family, None);
                    for (threads, room) in [(1, 0), (2, 1), (3, 1000), (2, 100_000)] {
                        assert_eq!(states_after(tables, family, Some((threads, room))), one, "{told}, room {room}");
                    }
                }
            }
        }
    }

    fn states_after(tables: &BlockTables, family: &Family, threads: Option<(usize, usize)>) -> Vec<Row<2>> {
        let moduli = Moduli::new([(1 << 59) + 9, (1 << 59) + 5]).unwrap();
        let lines = Lines::new(tables, std::slice::from_ref(family)).with_room(threads.map_or(0, |(_, room)| room));
        let line = &lines.families[0];
        let mut rows = vec![[0; 2]; lines.rows() + PADDING];
        let before = &mut rows[lines.lead..][..family.size[0] as usize];
        for (row, number) in before.iter_mut().zip(1_u64..) {
            *row = moduli.values().map(|p| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % p);
        }
        let mut aside = vec![[0; 2]; line.aside];
        let (rows_of, aside, moduli) = (rows.as_mut_slice(), &mut aside[..], &moduli);
        match threads {
            None => pulp::Arch::new().dispatch(Passes { tables, family, line, rows: rows_of, aside, moduli }),
            Some((threads, _)) => {
                Batches { tables, family, line, moduli, threads, worth: 10 }.run(rows_of, aside).unwrap();
            }
        }
        rows.truncate(*family.size.last().unwrap() as usize);
        rows
    }
}
