//! A family's [mail](super::mail) in the hands of a thread.

use std::sync::{Mutex, PoisonError};

use super::lanes::Row;
use super::mail::{BoxAt, Mail};

/// A family's boxes, as a thread sees them that does a block.
pub(super) enum Letters<'m, const K: usize> {
    /// All of them: those of numbers from `first` on, in memory from the place `start` on. Whether anything was added to
    /// each.
    All { rows: &'m mut [Row<K>], start: usize, first: usize, begun: Vec<bool> },
    /// Forward, where several threads may add to a box: those of numbers from `first` on.
    Locked { boxes: &'m [Mutex<Locked<'m, K>>], first: usize },
    /// Transposed, where only its own block's thread writes a box: those of some blocks from the place `start` on, and
    /// what others have left below.
    Piece { own: &'m mut [Row<K>], start: usize, below: &'m [Row<K>], below_start: usize },
}

/// A box that threads share, and whether anything was added to it.
#[derive(Debug)]
pub(super) struct Locked<'m, const K: usize> {
    rows: &'m mut [Row<K>],
    begun: bool,
}

impl<'m, const K: usize> Letters<'m, K> {
    /// Those of the blocks `blocks`, with anything in them.
    pub(super) fn all(mail: &Mail, blocks: &std::ops::Range<u32>, rows: &'m mut [Row<K>]) -> Self {
        let numbers = mail.numbers(blocks);
        Self::All { rows, start: mail.base(blocks.start), first: numbers.start, begun: vec![false; numbers.len()] }
    }

    /// Adds to a box, or takes out what was added. Zeros before anything was.
    #[inline(always)]
    pub(super) fn open(&mut self, at: BoxAt, act: impl FnOnce(&mut [Row<K>])) {
        let mut guard;
        let (rows, begun) = match self {
            Self::All { rows, start, first, begun } => {
                let start = at.place - *start;
                (&mut rows[start..start + at.rows], &mut begun[at.number - *first])
            }
            Self::Locked { boxes, first } => {
                guard = boxes[at.number - *first].lock().unwrap_or_else(PoisonError::into_inner);
                let Locked { rows, begun } = &mut *guard;
                (&mut rows[..], begun)
            }
            // Transposed nothing is added.
            Self::Piece { .. } => return,
        };
        if !std::mem::replace(begun, true) {
            rows.fill([0; K]);
        }
        act(rows);
    }

    /// A box to leave rows in.
    #[inline(always)]
    pub(super) fn write(&mut self, at: BoxAt) -> &mut [Row<K>] {
        let (rows, start) = match self {
            Self::All { rows, start, .. } | Self::Piece { own: rows, start, .. } => (rows, start),
            Self::Locked { .. } => return &mut [],
        };
        let start = at.place - *start;
        &mut rows[start..start + at.rows]
    }

    /// What was left in a box of a block below.
    #[inline(always)]
    pub(super) fn read(&self, at: BoxAt) -> &[Row<K>] {
        let (rows, start) = match self {
            Self::All { rows, start, .. } => (&**rows, start),
            Self::Piece { below, below_start, .. } => (*below, below_start),
            Self::Locked { .. } => return &[],
        };
        let start = at.place - *start;
        &rows[start..start + at.rows]
    }
}

/// Boxes of some blocks for threads to share, which take all of `rows` one by one.
pub(super) fn locked<'m, const K: usize>(
    mail: &Mail,
    blocks: &std::ops::Range<u32>,
    rows: &'m mut [Row<K>],
) -> Vec<Mutex<Locked<'m, K>>> {
    let mut rest = rows;
    let cut = |rows: usize| {
        let (own, later) = std::mem::take(&mut rest).split_at_mut(rows);
        rest = later;
        Mutex::new(Locked { rows: own, begun: false })
    };
    mail.lengths(blocks).map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boxes of 2, 0 and 3 rows, the first at place 100, in memory with something in it.
    const BOXES: [BoxAt; 3] = [
        BoxAt { number: 7, place: 100, rows: 2 },
        BoxAt { number: 8, place: 102, rows: 0 },
        BoxAt { number: 9, place: 102, rows: 3 },
    ];

    fn junk() -> Vec<Row<1>> {
        vec![[99]; 5]
    }

    /// Adds 1 to the rows of the last box, twice, and takes out what is in all of them.
    fn check(mut letters: Letters<'_, 1>) {
        for _ in 0..2 {
            letters.open(BOXES[2], |rows| rows.iter_mut().for_each(|row| row[0] += 1));
        }
        let mut found = Vec::new();
        for at in BOXES {
            letters.open(at, |rows| found.push(rows.to_vec()));
        }
        assert_eq!(found, [vec![[0]; 2], vec![], vec![[2]; 3]]);
    }

    #[test]
    fn a_box_begins_with_zeros_and_keeps_what_is_added() {
        let mut rows = junk();
        check(Letters::All { rows: &mut rows, start: 100, first: 7, begun: vec![false; 3] });
        let mut rows = junk();
        let (one, other) = rows.split_at_mut(2);
        let boxes = [one, &mut [], other].map(|rows| Mutex::new(Locked { rows, begun: false }));
        check(Letters::Locked { boxes: &boxes, first: 7 });
    }

    #[test]
    fn what_is_left_in_a_box_is_read_from_above() {
        let mut rows = junk();
        let (below, own) = rows.split_at_mut(2);
        below.fill([5]);
        let mut letters = Letters::Piece { own, start: 102, below, below_start: 100 };
        assert_eq!(letters.read(BOXES[0]), [[5]; 2]);
        letters.write(BOXES[2]).fill([6]);
        letters.open(BOXES[2], |_| panic!("transposed nothing is added"));
        assert_eq!(rows, [[5], [5], [6], [6], [6]]);
        let mut letters = Letters::All { rows: &mut rows, start: 100, first: 7, begun: vec![false; 3] };
        letters.write(BOXES[0]).fill([7]);
        assert_eq!((letters.read(BOXES[0]), letters.read(BOXES[2])), (&[[7]; 2][..], &[[6]; 3][..]));
    }
}
