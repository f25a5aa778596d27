//! A family that several threads take through a window together.
//!
//! ```text
//!   forward      levels descending     | below | level: block | block | block ... | above |
//!   transposed   levels ascending                 a thread takes the next one
//! ```
//!
//! No operation leads from a block of a level to another block of that level (`mail`), and each block writes its own
//! rows of the vector after. So a level is cut into parts of a few blocks each, and threads take them one by one. All
//! threads wait at the end of a level. Transposed, each block writes its own boxes. Forward, several blocks may add
//! to one box, which is locked meanwhile; the sums do not depend on the order.
//!
//! Cost: at each level threads start, and wait about half a block's time at the end.

use std::ops::Range;

use keima_model::{Direction, Family, MOST_ENTRIES};

use crate::block::error::BlockError;
use crate::block::in_memory::family::stage::WindowStage;
use crate::block::in_memory::family::sums::FamilySums;
use crate::block::in_memory::family::worker::Worker;
use crate::block::in_memory::mail::delivery::{Delivery, ForwardMail, TransposedMail, shared_boxes};
use crate::block::rows::lanes::Row;
use crate::block::rows::threads::each;

/// Fewest parts of a level for each thread, where there are enough blocks.
const PARTS: usize = 8;

/// Consecutive blocks with the memory that they write.
struct LevelPart<'p, const K: usize> {
    blocks: Range<u32>,
    /// Their rows of the vector after.
    own: &'p mut [Row<K>],
    /// Transposed: their boxes, and the place where these begin.
    mail: &'p mut [Row<K>],
    start: usize,
}

/// Memory from which parts are cut in ascending order.
struct RowsLeft<'p, const K: usize> {
    rows: &'p mut [Row<K>],
    /// Number of its first row.
    first: usize,
}

impl<'p, const K: usize> RowsLeft<'p, K> {
    fn none(first: usize) -> Self {
        Self { rows: &mut [], first }
    }

    fn cut(&mut self, range: &Range<usize>) -> &'p mut [Row<K>] {
        let (until, rest) = std::mem::take(&mut self.rows).split_at_mut(range.end - self.first);
        let skipped = range.start - self.first;
        *self = Self { rows: rest, first: range.end };
        &mut until[skipped..]
    }
}

impl<const K: usize> WindowStage<'_, K> {
    /// Takes a family through the window by all workers. The mail is in the first worker's memory. `own` has the
    /// family's rows of the vector after.
    pub(crate) fn family_by_all(
        &self,
        family: &Family,
        own: &mut [Row<K>],
        workers: &mut [Worker<'_, K>],
    ) -> Result<(), BlockError> {
        for worker in &mut *workers {
            worker.sums = FamilySums::default();
        }
        let Some(first) = workers.first_mut() else { return Err(BlockError::Order) };
        let mail = std::mem::take(&mut first.mail);
        let result = self.levels(family, own, mail, workers);
        if let Some(first) = workers.first_mut() {
            first.mail = mail;
        }
        result?;
        let sums = self.sum_all(workers.iter().map(|worker| &worker.sums));
        let Some(first) = workers.first_mut() else { return Err(BlockError::Order) };
        self.close(family, &sums, &mut first.window)
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
                let boxes = shared_boxes(self.fused.mail, &family.blocks, mail);
                let first = self.fused.mail.numbers(&family.blocks).start;
                let added = || ForwardMail::Shared { boxes: &boxes, first };
                each(workers, None, early.to_vec(), |block, worker| {
                    self.fill_early(block, &mut added(), worker);
                    Ok::<_, BlockError>(())
                })?;
                for level in self.fused.mail.levels(family).rev() {
                    let pieces = self.cut(family, self.parts(level, workers.len()), own, RowsLeft::none(start));
                    each(workers, None, pieces, |piece, worker| {
                        self.blocks(family, piece.blocks, piece.own, &mut Delivery::Forward(added()), worker)
                    })?;
                }
                Ok(())
            }
            Direction::Transposed => {
                for level in self.fused.mail.levels(family) {
                    let (below, rest) = mail.split_at_mut(self.fused.mail.base(level.start) - start);
                    let first = self.fused.mail.base(level.start);
                    let pieces =
                        self.cut(family, self.parts(level, workers.len()), own, RowsLeft { rows: rest, first });
                    each(workers, None, pieces, |piece, worker| {
                        let LevelPart { blocks, own, mail, start: first } = piece;
                        let left = TransposedMail { own: mail, start: first, below, below_start: start };
                        self.blocks(family, blocks, own, &mut Delivery::Transposed(left), worker)
                    })?;
                }
                let early = early.iter().map(|&block| block..block + 1);
                let (pieces, mail) = (self.cut(family, early, own, RowsLeft::none(start)), &*mail);
                each(workers, None, pieces, |piece, worker| {
                    let left =
                        TransposedMail { own: &mut [], start: start + mail.len(), below: mail, below_start: start };
                    self.add_early(piece.blocks.start, &left, piece.own, worker);
                    Ok::<_, BlockError>(())
                })
            }
        }
    }

    /// Cuts a level into ascending parts of blocks that can be read together. There are enough parts that threads do
    /// not wait long at the end.
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

    /// Cuts the memory of ascending parts. If there is no mail memory, parts have no mail.
    fn cut<'p>(
        &self,
        family: &Family,
        parts: impl IntoIterator<Item = Range<u32>>,
        own: &'p mut [Row<K>],
        mail: RowsLeft<'p, K>,
    ) -> Vec<LevelPart<'p, K>> {
        let silent = mail.rows.is_empty();
        let (mut own, mut mail) = (RowsLeft { rows: own, first: 0 }, mail);
        let piece = |blocks: Range<u32>| {
            let places = self.fused.mail.base(blocks.start)..self.fused.mail.base(blocks.end);
            let mail: &'p mut [Row<K>] = if silent { &mut [] } else { mail.cut(&places) };
            let own = own.cut(&self.rows_of(family, &blocks));
            LevelPart { blocks, own, mail, start: places.start }
        };
        parts.into_iter().map(piece).collect()
    }
}
