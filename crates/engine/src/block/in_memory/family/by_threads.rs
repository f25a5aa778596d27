//! A family that several threads take through a window together.
//!
//! ```text
//!   forward      levels descending     | below | level: block | block | block ... | above |
//!   transposed   levels ascending                 a thread takes the next one
//! ```
//!
//! No operation leads from one block of a level to another ([`crate::block::in_memory::mail`]), and what a block writes of the vector after
//! is its own: so a level is cut into pieces of a few blocks each, which threads take one by one. All wait at the end of a
//! level. Transposed, a block's boxes are its own, too. Forward several may add to one box, which is locked meanwhile; sums
//! are the same in any order.
//!
//! Cost: threads that wait, half a block's time each for each of its levels, and starting them: the largest family of
//! 13x13 has 1345 blocks in 22 levels, or 4922 in 35 (Go, windows of 7 and 6 cells).

use std::ops::Range;

use keima_model::{Direction, Family, MOST_ENTRIES};

use crate::block::error::BlockError;
use crate::block::in_memory::family::stage::Place;
use crate::block::in_memory::family::sums::Sums;
use crate::block::in_memory::family::worker::Worker;
use crate::block::in_memory::mail::delivery::{Added, Left, Letters, locked};
use crate::block::rows::lanes::Row;
use crate::block::rows::threads::each;

/// Parts of a level for each thread, at least, where there are as many blocks.
const PARTS: usize = 8;

/// What blocks write that follow each other.
struct Piece<'p, const K: usize> {
    blocks: Range<u32>,
    /// Their rows of the vector after.
    own: &'p mut [Row<K>],
    /// Transposed, their boxes, and the place where these begin.
    mail: &'p mut [Row<K>],
    start: usize,
}

/// Memory from which pieces are cut, in ascending order.
struct Rest<'p, const K: usize> {
    rows: &'p mut [Row<K>],
    /// Number of its first row.
    first: usize,
}

impl<'p, const K: usize> Rest<'p, K> {
    fn cut(&mut self, range: &Range<usize>) -> &'p mut [Row<K>] {
        let (until, rest) = std::mem::take(&mut self.rows).split_at_mut(range.end - self.first);
        let skipped = range.start - self.first;
        *self = Self { rows: rest, first: range.end };
        &mut until[skipped..]
    }
}

impl<const K: usize> Place<'_, K> {
    /// A family by all workers, with the mail in the memory of the first. `own` are its rows of the vector after.
    pub(crate) fn shared(
        &self,
        family: &Family,
        own: &mut [Row<K>],
        workers: &mut [Worker<'_, K>],
    ) -> Result<(), BlockError> {
        for worker in &mut *workers {
            worker.sums = Sums::default();
        }
        let Some(first) = workers.first_mut() else { return Err(BlockError::Order) };
        let mail = std::mem::take(&mut first.mail);
        let result = self.levels(family, own, mail, workers);
        if let Some(first) = workers.first_mut() {
            first.mail = mail;
        }
        result?;
        let sums = self.all(workers.iter().map(|worker| &worker.sums));
        let Some(first) = workers.first_mut() else { return Err(BlockError::Order) };
        self.close(family, &sums, &mut first.masses)
    }

    fn levels(
        &self,
        family: &Family,
        own: &mut [Row<K>],
        mail: &mut [Row<K>],
        workers: &mut [Worker<'_, K>],
    ) -> Result<(), BlockError> {
        let start = self.fused.mail.base(family.blocks.start);
        let (mail, _) = mail.split_at_mut(self.fused.mail.rows(family));
        let early = self.fused.mail.early(family);
        match self.direction {
            Direction::Forward => {
                let boxes = locked(self.fused.mail, &family.blocks, mail);
                let first = self.fused.mail.numbers(&family.blocks).start;
                let added = || Added::Locked { boxes: &boxes, first };
                each(workers, None, early.to_vec(), |block, worker| {
                    self.fill_early(block, &mut added(), worker);
                    Ok::<_, BlockError>(())
                })?;
                for level in self.fused.mail.levels(family).rev() {
                    let pieces = self.cut(family, self.parts(level, workers.len()), own, (&mut [], start));
                    each(workers, None, pieces, |piece, worker| {
                        self.blocks(family, piece.blocks, piece.own, &mut Letters::Added(added()), worker)
                    })?;
                }
                Ok(())
            }
            Direction::Backward => {
                for level in self.fused.mail.levels(family) {
                    let (below, rest) = mail.split_at_mut(self.fused.mail.base(level.start) - start);
                    let first = self.fused.mail.base(level.start);
                    let pieces = self.cut(family, self.parts(level, workers.len()), own, (rest, first));
                    each(workers, None, pieces, |piece, worker| {
                        let Piece { blocks, own, mail, start: first } = piece;
                        let left = Left { own: mail, start: first, below, below_start: start };
                        self.blocks(family, blocks, own, &mut Letters::Left(left), worker)
                    })?;
                }
                let early = early.iter().map(|&block| block..block + 1);
                let (pieces, mail) = (self.cut(family, early, own, (&mut [], start)), &*mail);
                each(workers, None, pieces, |piece, worker| {
                    let left = Left { own: &mut [], start: start + mail.len(), below: mail, below_start: start };
                    self.add_early(piece.blocks.start, &left, piece.own, worker);
                    Ok::<_, BlockError>(())
                })
            }
        }
    }

    /// A level in ascending parts for threads to take, each of blocks that can be read together; as many as keep threads
    /// from waiting long at its end.
    fn parts(&self, level: Range<u32>, threads: usize) -> Vec<Range<u32>> {
        let rows = level.clone().map(|block| self.rows_before(block)).sum::<usize>() / (PARTS * threads);
        let mut rest = level;
        let mut parts = Vec::new();
        while !rest.is_empty() {
            parts.push(self.next_of_rows(&mut rest, rows.min(MOST_ENTRIES)));
        }
        parts.sort_unstable_by_key(|part| part.start);
        parts
    }

    /// The pieces of ascending parts. `mail` is memory and the place where it begins; without memory pieces have no
    /// mail.
    fn cut<'p>(
        &self,
        family: &Family,
        parts: impl IntoIterator<Item = Range<u32>>,
        own: &'p mut [Row<K>],
        (mail, start): (&'p mut [Row<K>], usize),
    ) -> Vec<Piece<'p, K>> {
        let silent = mail.is_empty();
        let (mut own, mut mail) = (Rest { rows: own, first: 0 }, Rest { rows: mail, first: start });
        let piece = |blocks: Range<u32>| {
            let places = self.fused.mail.base(blocks.start)..self.fused.mail.base(blocks.end);
            let mail: &'p mut [Row<K>] = if silent { &mut [] } else { mail.cut(&places) };
            let own = own.cut(&self.rows_of(family, &blocks));
            Piece { blocks, own, mail, start: places.start }
        };
        parts.into_iter().map(piece).collect()
    }
}
