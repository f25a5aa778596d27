//! Rows that are set aside in a pass, for blocks that are not done yet.
//!
//! ```text
//!   done          b0' b1' b2' b3'                    operations of b1 lead to b3, those of b2 to b9
//!   set aside     b1 > b3 | b2 > b9 | b3 > b5 | ...  in the order of the sources
//!   settled       b2 > b9 | b3 > b5 | ...            b3 has got its rows, and the others have moved up
//! ```
//!
//! The rows are added when the buffer for them is full, and after the pass. Most targets stand near their sources: in the
//! largest families of Go a third of the states is set aside in a pass, but at most a twelfth at a time.
//!
//! Which operations wait follows from the tables, so nothing is kept about them. Cost: each time that rows are added, a
//! look at the operations since the oldest that waits, and a copy of the rows that go on waiting.

use keima_model::{BlockTables, Family, Far};

use crate::block::rows::lanes::Row;
use crate::block::rows::tables::far_operations_up;

/// What waits in one pass of a family.
pub(crate) struct Waiting<'a> {
    tables: &'a BlockTables,
    pass: usize,
    /// The oldest block whose operations may wait.
    first: u32,
    /// Blocks before this one had got all their rows when rows were last added.
    settled: u32,
    /// Rows that are set aside.
    pub(crate) rows: usize,
}

/// An operation that waits, and the place of its rows among those that are set aside.
#[derive(Clone, Copy)]
pub(crate) struct WaitingFar<'a> {
    source: u32,
    pub(crate) target: u32,
    pub(crate) far: &'a Far,
    pub(crate) at: usize,
}

impl<'a> Waiting<'a> {
    /// At the beginning of a pass.
    pub(crate) fn new(tables: &'a BlockTables, family: &Family, pass: usize) -> Self {
        Self { tables, pass, first: family.blocks.start, settled: family.blocks.start, rows: 0 }
    }

    /// The operations that wait, of blocks before `until`, in the order of their rows.
    pub(crate) fn operations(&self, until: u32) -> impl Iterator<Item = WaitingFar<'a>> + use<'a> {
        let (tables, pass, settled) = (self.tables, self.pass, self.settled);
        let mut at = 0;
        let of = move |source| far_operations_up(tables, source, pass).map(move |(far, target)| (source, far, target));
        let waits = move |&(source, _, target): &(u32, &Far, u32)| source >= settled || target >= settled;
        (self.first..until).flat_map(of).filter(waits).map(move |(source, far, target)| {
            let place = at;
            at += far.pairs.len();
            WaitingFar { source, target, far, at: place }
        })
    }

    /// Drops the rows for blocks before `until`, which were added, and moves the others up.
    pub(crate) fn settle<const K: usize>(&mut self, until: u32, aside: &mut [Row<K>]) {
        let (mut first, mut rows) = (until, 0);
        for WaitingFar { source, far, at, .. } in self.operations(until).filter(|waiting| waiting.target >= until) {
            first = first.min(source);
            aside.copy_within(at..at + far.pairs.len(), rows);
            rows += far.pairs.len();
        }
        (self.first, self.settled, self.rows) = (first, until, rows);
    }
}

/// Rows that a block sets aside in a pass.
pub(crate) fn rows_up(tables: &BlockTables, block: u32, pass: usize) -> usize {
    if tables.far[pass].descending {
        return 0;
    }
    far_operations_up(tables, block, pass).map(|(far, _)| far.pairs.len()).sum()
}

/// Rows to set aside in a pass: in all, and at least, where they are added as soon as may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AsideRows {
    pub(crate) all: usize,
    pub(crate) least: usize,
}

impl AsideRows {
    /// Of a pass over a family. Takes 4 bytes a block while it counts.
    pub(crate) fn of_pass(tables: &BlockTables, family: &Family, pass: usize) -> Self {
        let mut rows = Self::default();
        if tables.far[pass].descending {
            return rows;
        }
        let first = family.blocks.start;
        // Rows that wait for each block.
        let mut for_block = vec![0_u32; family.blocks.len()];
        let mut waiting = 0;
        for block in family.blocks.clone() {
            for (far, target) in far_operations_up(tables, block, pass) {
                for_block[(target - first) as usize] += far.pairs.len() as u32;
                waiting += far.pairs.len();
                rows.all += far.pairs.len();
            }
            rows.least = rows.least.max(waiting);
            waiting -= for_block[(block - first) as usize] as usize;
        }
        rows
    }

    /// Room for both.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { all: self.all.max(other.all), least: self.least.max(other.least) }
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{FarTargets, PassTable, Signature};

    use super::*;

    /// Blocks with one operation of `rows` rows each, to `targets`.
    fn tables(rows: usize, targets: &[u32]) -> BlockTables {
        let far = Far { pairs: vec![(0, 0); rows] };
        let pass = PassTable { far: vec![far], ..PassTable::default() };
        let signature = Signature { entries: vec![1, 1], passes: vec![pass], descendants: vec![1] };
        let blocks = targets.len() as u32;
        BlockTables {
            signatures: vec![signature.into()],
            signature_of: vec![0; targets.len()],
            far: vec![FarTargets { first: (0..=blocks).collect(), targets: targets.to_vec(), descending: false }],
            families: vec![Family { blocks: 0..blocks, ..Family::default() }],
            ..BlockTables::default()
        }
    }

    #[test]
    fn rows_wait_for_their_targets() {
        for (rows, targets, all, least) in [
            (1, &[1, 2, 3, 0][..], 3, 2),
            (1, &[3, 3, 3, 0], 3, 3),
            (2, &[0, 0, 0, 0], 0, 0),
            (3, &[5, 2, 0, 4, 0, 0], 9, 6),
        ] {
            let tables = tables(rows, targets);
            let got = AsideRows::of_pass(&tables, &tables.families[0], 0);
            assert_eq!(got, AsideRows { all, least }, "{rows} to {targets:?}");
        }
    }

    /// Blocks 0, 1 and 3 set one row aside each, for 5, 2 and 4.
    #[test]
    fn what_is_settled_makes_room() {
        let tables = tables(1, &[5, 2, 0, 4, 0, 0]);
        let mut waiting = Waiting::new(&tables, &tables.families[0], 0);
        let mut aside = [[50], [20], [40]];
        let seen = |waiting: &Waiting<'_>, until| -> Vec<(u32, usize)> {
            waiting.operations(until).map(|waiting| (waiting.target, waiting.at)).collect()
        };
        waiting.rows = 2;
        assert_eq!(seen(&waiting, 3), [(5, 0), (2, 1)]);
        waiting.settle(3, &mut aside);
        assert_eq!((waiting.rows, aside[0]), (1, [50]));
        aside[1] = [40];
        waiting.rows = 2;
        assert_eq!(seen(&waiting, 5), [(5, 0), (4, 1)]);
        waiting.settle(5, &mut aside);
        assert_eq!((waiting.rows, waiting.first), (1, 0));
        assert_eq!(seen(&waiting, 6), [(5, 0)]);
        waiting.settle(6, &mut aside);
        assert_eq!((waiting.rows, seen(&waiting, 6)), (0, vec![]));
    }
}
