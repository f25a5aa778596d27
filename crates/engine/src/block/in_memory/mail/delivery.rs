//! A family's mail ([`super`]) as a thread uses it while it works on a block.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::block::in_memory::mail::{BoxAt, MailLayout};
use crate::block::rows::lanes::Row;

/// The mail of a vector on its way, by direction.
pub(crate) enum Delivery<'m, const K: usize> {
    /// Forward: blocks add to boxes.
    Forward(ForwardMail<'m, K>),
    /// Transposed: blocks leave rows in boxes.
    Transposed(TransposedMail<'m, K>),
}

/// Forward mail: boxes to which blocks add.
pub(crate) enum ForwardMail<'m, const K: usize> {
    /// The boxes of one thread, from number `first` on, in memory from the place `start` on. `begun` tells which
    /// boxes have been added to.
    Own { rows: &'m mut [Row<K>], start: usize, first: usize, begun: Vec<bool> },
    /// Boxes that several threads add to, from number `first` on.
    Shared { boxes: &'m [Mutex<SharedBox<'m, K>>], first: usize },
}

/// A box that threads share. `begun` tells whether it has been added to.
#[derive(Debug)]
pub(crate) struct SharedBox<'m, const K: usize> {
    rows: &'m mut [Row<K>],
    begun: bool,
}

/// Transposed mail: boxes in which blocks leave rows. `own` are the boxes that this thread writes, from the place
/// `start` on. `below` are boxes that were filled before, from the place `below_start` on.
pub(crate) struct TransposedMail<'m, const K: usize> {
    pub(crate) own: &'m mut [Row<K>],
    pub(crate) start: usize,
    pub(crate) below: &'m [Row<K>],
    pub(crate) below_start: usize,
}

impl<'m, const K: usize> ForwardMail<'m, K> {
    /// The boxes of some blocks, in memory with arbitrary contents.
    pub(crate) fn new(mail: &MailLayout, blocks: &Range<u32>, rows: &'m mut [Row<K>]) -> Self {
        let numbers = mail.numbers(blocks);
        Self::Own { rows, start: mail.base(blocks.start), first: numbers.start, begun: vec![false; numbers.len()] }
    }

    /// Opens a box to add to it or to take out its rows. An unused box holds zeros.
    #[inline(always)]
    pub(crate) fn open(&mut self, at: BoxAt, act: impl FnOnce(&mut [Row<K>])) {
        let mut guard;
        let (rows, begun) = match self {
            Self::Own { rows, start, first, begun } => {
                let start = at.place - *start;
                (&mut rows[start..start + at.rows], &mut begun[at.number - *first])
            }
            Self::Shared { boxes, first } => {
                guard = boxes[at.number - *first].lock().unwrap_or_else(PoisonError::into_inner);
                let SharedBox { rows, begun } = &mut *guard;
                (&mut rows[..], begun)
            }
        };
        if !std::mem::replace(begun, true) {
            rows.fill([0; K]);
        }
        act(rows);
    }
}

impl<'m, const K: usize> TransposedMail<'m, K> {
    /// All boxes from the place `start` on, used by one thread.
    pub(crate) fn new(start: usize, own: &'m mut [Row<K>]) -> Self {
        Self { own, start, below: &[], below_start: start }
    }

    /// A box to fill.
    #[inline(always)]
    pub(crate) fn write(&mut self, at: BoxAt) -> &mut [Row<K>] {
        &mut self.own[at.place - self.start..][..at.rows]
    }

    /// The rows of a filled box.
    #[inline(always)]
    pub(crate) fn read(&self, at: BoxAt) -> &[Row<K>] {
        match at.place.checked_sub(self.start) {
            Some(place) => &self.own[place..][..at.rows],
            None => &self.below[at.place - self.below_start..][..at.rows],
        }
    }
}

/// Cuts `rows` into the boxes of some blocks, for threads to share.
pub(crate) fn shared_boxes<'m, const K: usize>(
    mail: &MailLayout,
    blocks: &Range<u32>,
    rows: &'m mut [Row<K>],
) -> Vec<Mutex<SharedBox<'m, K>>> {
    let mut rest = rows;
    let cut = |rows: usize| {
        let (own, later) = std::mem::take(&mut rest).split_at_mut(rows);
        rest = later;
        Mutex::new(SharedBox { rows: own, begun: false })
    };
    mail.lengths(blocks).map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boxes of 2, 0 and 3 rows, the first at place 100, in memory with arbitrary contents.
    const BOXES: [BoxAt; 3] = [
        BoxAt { number: 7, place: 100, rows: 2 },
        BoxAt { number: 8, place: 102, rows: 0 },
        BoxAt { number: 9, place: 102, rows: 3 },
    ];

    fn junk() -> Vec<Row<1>> {
        vec![[99]; 5]
    }

    /// Adds 1 to the rows of the last box, twice, then reads all boxes.
    fn check(mut added: ForwardMail<'_, 1>) {
        for _ in 0..2 {
            added.open(BOXES[2], |rows| rows.iter_mut().for_each(|row| row[0] += 1));
        }
        let mut found = Vec::new();
        for at in BOXES {
            added.open(at, |rows| found.push(rows.to_vec()));
        }
        assert_eq!(found, [vec![[0]; 2], vec![], vec![[2]; 3]]);
    }

    #[test]
    fn a_box_begins_with_zeros_and_keeps_what_is_added() {
        let mut rows = junk();
        check(ForwardMail::Own { rows: &mut rows, start: 100, first: 7, begun: vec![false; 3] });
        let mut rows = junk();
        let (one, other) = rows.split_at_mut(2);
        let boxes = [one, &mut [], other].map(|rows| Mutex::new(SharedBox { rows, begun: false }));
        check(ForwardMail::Shared { boxes: &boxes, first: 7 });
    }

    #[test]
    fn what_is_left_in_a_box_is_read_from_above() {
        let mut rows = junk();
        let (below, own) = rows.split_at_mut(2);
        below.fill([5]);
        let mut left = TransposedMail { own, start: 102, below, below_start: 100 };
        left.write(BOXES[2]).fill([6]);
        assert_eq!((left.read(BOXES[0]), left.read(BOXES[2])), (&[[5]; 2][..], &[[6]; 3][..]));
        let mut left = TransposedMail::new(100, &mut rows);
        left.write(BOXES[0]).fill([7]);
        assert_eq!((left.read(BOXES[0]), left.read(BOXES[2])), (&[[7]; 2][..], &[[6]; 3][..]));
    }
}
