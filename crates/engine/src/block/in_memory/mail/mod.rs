//! Mail: the values that far operations carry between blocks, while each block goes through all passes of a window at
//! once.
//!
//! Far operations lead to smaller block numbers (see [`FarTargets::descending`](keima_model::FarTargets)). So blocks
//! can go one after the other, from the last to the first, each through the whole window while it is in the cache.
//! What a block carries to a lower block in a pass is added up in that block's *box* of the pass. The lower block
//! takes it out on its turn. Transposed, blocks go from the first to the last: a block leaves in its boxes the rows
//! that higher blocks will read.
//!
//! ```text
//!   operations of pass 3 that lead to block 5, from blocks 9, 8 and 7
//!       from 9 to entries    0  2  3     7
//!       from 8 to            0     3  6
//!       from 7 to               2  3     7
//!   its box of pass 3:       0  2  3  6  7       a row for each entry that any of them leads to
//!   slots of 8's             0     2  3          where in the box the pairs of an operation belong
//!
//!   family's mail = boxes of block 0 | boxes of block 1 | ...
//!   a block's     = box of pass 0 | box of pass 1 | ...
//! ```
//!
//! Boxes of many blocks have the same entries, and many operations the same slots. Each list is stored once.
//!
//! Blocks without operations between them can go at the same time. Such blocks stand side by side, in *levels*:
//!
//! ```text
//!   forward      | below: not begun | level | above: done |     what a level adds is for blocks below it
//!   transposed   | below: done | level | above: not begun |     what a level reads was left below it
//! ```
//!
//! Where a window does not start at the top, its first pass has operations that lead up as well. They are *early*.
//! Forward, their values come from the vector before, and are in the boxes before the first block goes. Transposed,
//! their values are added to the vector after at the end.
//!
//! Memory: one row for each entry of a box. Many pairs of operations share an entry, so boxes need far fewer rows
//! than one row a pair. A pass-by-pass sweep needs no mail, but reads and writes the family once a pass instead of
//! once a window.

pub(crate) mod boxes;
pub(crate) mod delivery;

use std::ops::Range;

use keima_model::{BlockTables, Family};

use crate::block::error::BlockError;
use crate::block::in_memory::mail::boxes::{AllIncoming, BoxBuilder, EntryLists};

/// Layout of the mail of a window's far operations. Places count from the first family's mail.
#[derive(Debug, Default)]
pub(crate) struct MailLayout {
    passes: usize,
    /// Start of each block's boxes, and at last the end.
    base: Vec<u64>,
    /// The box of block `b` and pass `p` is `boxes[b * passes + p]`.
    boxes: Vec<BoxEntries>,
    lists: EntryLists,
    /// `slots_at[pass][i]`: start of the slots of the operation with [`FarTargets`](keima_model::FarTargets) number
    /// `i`.
    slots_at: Vec<Vec<u32>>,
    slots: Vec<u16>,
    /// Blocks with early operations.
    early: Vec<u32>,
    /// First blocks of the levels, ascending.
    levels: Vec<u32>,
}

/// A box: its first row, from the start of its block's boxes, and the number of its list of entries.
#[derive(Clone, Copy, Debug, Default)]
struct BoxEntries {
    offset: u32,
    list: u32,
}

/// Where a box lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxAt {
    /// Its number among the boxes of the window.
    pub(crate) number: usize,
    /// The place of its first row.
    pub(crate) place: usize,
    /// Number of its rows.
    pub(crate) rows: usize,
}

impl MailLayout {
    /// Refuses tables whose far operations lead up in another than the first pass.
    pub(crate) fn new(tables: &BlockTables) -> Result<Self, BlockError> {
        if tables.far.iter().skip(1).any(|far| !far.descending) {
            return Err(BlockError::Order);
        }
        let incoming = AllIncoming::new(tables);
        let mut mail = Self { passes: tables.far.len(), ..Self::default() };
        mail.build_boxes(tables, &incoming);
        for family in &tables.families {
            mail.find_early_and_levels(tables, family, &incoming);
        }
        Ok(mail)
    }

    fn build_boxes(&mut self, tables: &BlockTables, incoming: &AllIncoming) {
        let mut builder = BoxBuilder::new(tables);
        self.slots_at = tables.far.iter().map(|far| vec![0; far.targets.len()]).collect();
        let (mut end, mut which) = (0, Vec::new());
        self.base.push(end);
        for block in 0..tables.signature_of.len() as u32 {
            let mut offset = 0;
            for pass in 0..self.passes {
                let operations = incoming.get(block, pass);
                which.clear();
                which.extend(operations.iter().map(|&operation| builder.targets(pass, operation)));
                which.sort_unstable();
                which.dedup();
                let list = builder.list(&which, &mut self.lists);
                for &operation in operations {
                    let targets = builder.targets(pass, operation);
                    self.slots_at[pass][operation.place as usize] =
                        builder.slots(targets, list, &self.lists, &mut self.slots);
                }
                self.boxes.push(BoxEntries { offset, list });
                offset += self.lists.get(list).len() as u32;
            }
            end += u64::from(offset);
            self.base.push(end);
        }
    }

    /// A block begins a new level if an operation connects it with a block of the present one.
    fn find_early_and_levels(&mut self, tables: &BlockTables, family: &Family, incoming: &AllIncoming) {
        let mut level = family.blocks.start;
        self.levels.push(level);
        for block in family.blocks.clone() {
            let targets = |far: &keima_model::FarTargets| {
                far.first[block as usize] as usize..far.first[block as usize + 1] as usize
            };
            let leads_to = |to: Range<u32>| {
                tables.far.iter().any(|far| far.targets[targets(far)].iter().any(|target| to.contains(target)))
            };
            if leads_to(block + 1..family.blocks.end) {
                self.early.push(block);
            }
            let comes_from = |pass| incoming.get(block, pass).iter().any(|i| (level..block).contains(&i.source));
            if leads_to(level..block) || (0..self.passes).any(comes_from) {
                level = block;
                self.levels.push(level);
            }
        }
    }

    /// Start of a block's boxes. It is also the end of the boxes of the block before.
    #[inline(always)]
    pub(crate) fn base(&self, block: u32) -> usize {
        self.base[block as usize] as usize
    }

    /// Rows of a family's mail.
    pub(crate) fn rows(&self, family: &Family) -> usize {
        self.base(family.blocks.end) - self.base(family.blocks.start)
    }

    /// Numbers of the boxes of some blocks.
    pub(crate) fn numbers(&self, blocks: &Range<u32>) -> Range<usize> {
        blocks.start as usize * self.passes..blocks.end as usize * self.passes
    }

    /// Lengths of the boxes of some blocks.
    pub(crate) fn lengths(&self, blocks: &Range<u32>) -> impl Iterator<Item = usize> {
        self.boxes[self.numbers(blocks)].iter().map(|at| self.lists.get(at.list).len())
    }

    /// A block's box in a pass, and the entries of its rows.
    #[inline(always)]
    pub(crate) fn arriving(&self, block: u32, pass: usize) -> (BoxAt, &[u16]) {
        let number = block as usize * self.passes + pass;
        let BoxEntries { offset, list } = self.boxes[number];
        let entries = self.lists.get(list);
        (BoxAt { number, place: self.base(block) + offset as usize, rows: entries.len() }, entries)
    }

    /// The slots, in the target's box, of the operation with [`FarTargets`](keima_model::FarTargets) number
    /// `operation`.
    #[inline(always)]
    pub(crate) fn slots(&self, pass: usize, operation: usize) -> &[u16] {
        &self.slots[self.slots_at[pass][operation] as usize..]
    }

    /// Blocks of a family with early operations.
    pub(crate) fn early(&self, family: &Family) -> &[u32] {
        within(&self.early, family)
    }

    /// A family's levels, ascending. No operation leads from a block of a level to another block of it.
    pub(crate) fn levels<'a>(&'a self, family: &'a Family) -> impl DoubleEndedIterator<Item = Range<u32>> + 'a {
        let starts = within(&self.levels, family);
        let end = move |number: usize| starts.get(number + 1).copied().unwrap_or(family.blocks.end);
        (0..starts.len()).map(move |number| starts[number]..end(number))
    }
}

/// The part of an ascending list of blocks that belongs to a family.
fn within<'a>(blocks: &'a [u32], family: &Family) -> &'a [u32] {
    let place = |first: u32| blocks.partition_point(|&block| block < first);
    &blocks[place(family.blocks.start)..place(family.blocks.end)]
}

#[cfg(test)]
mod tests {
    use keima_model::{Far, FarTargets, PassTable, Signature};

    use super::*;

    /// Blocks of one family. Each has an operation in pass 0, and all but the first one in pass 1. They carry to the
    /// entries `to`, block by block.
    fn tables(targets: [&[u32]; 2], to: [&[&[u16]]; 2]) -> BlockTables {
        let far = |to: &[u16]| Far { pairs: (0..).zip(to.iter().copied()).collect() };
        let blocks = targets[0].len() as u32;
        let signature = |block: usize| {
            let pass = |to: Option<&&[u16]>| PassTable {
                far: to.map(|to| far(to)).into_iter().collect(),
                ..PassTable::default()
            };
            let passes = vec![pass(to[0].get(block)), pass(block.checked_sub(1).and_then(|number| to[1].get(number)))];
            Signature { passes, ..Signature::default() }.into()
        };
        let first = [(0..=blocks).collect(), (0..=blocks).map(|block| block.saturating_sub(1)).collect()];
        let far = targets.into_iter().zip(first).map(|(targets, first): (_, Vec<u32>)| {
            let descending = targets.iter().all(|&target| target == 0);
            FarTargets { first, targets: targets.to_vec(), descending }
        });
        BlockTables {
            signatures: (0..blocks as usize).map(signature).collect(),
            signature_of: (0..blocks).collect(),
            far: far.collect(),
            families: vec![Family { blocks: 0..blocks, ..Family::default() }],
            ..BlockTables::default()
        }
    }

    #[test]
    fn boxes_have_a_row_for_each_entry_that_operations_lead_to() {
        let to: [&[&[u16]]; 2] = [&[&[1, 4], &[2, 3], &[0]], &[&[0, 2, 3, 7], &[0, 3, 6]]];
        let tables = tables([&[2, 0, 1], &[0, 0]], to);
        let mail = MailLayout::new(&tables).unwrap();
        // Block 0: of pass 0 entries 2 and 3 by block 1, of pass 1 those by blocks 1 and 2. 1: entry 0 by block 2. 2: entries
        // 1 and 4 by block 0.
        let boxes: Vec<_> = (0..3).flat_map(|block| (0..2).map(move |pass| (block, pass))).collect();
        let found: Vec<_> = boxes.iter().map(|&(block, pass)| mail.arriving(block, pass)).collect();
        let expected: [(usize, &[u16]); 6] =
            [(0, &[2, 3]), (2, &[0, 2, 3, 6, 7]), (7, &[0]), (8, &[]), (8, &[1, 4]), (10, &[])];
        for (number, ((at, entries), (place, list))) in found.into_iter().zip(expected).enumerate() {
            assert_eq!((at, entries), (BoxAt { number, place, rows: list.len() }, list), "box {number}");
        }
        assert_eq!(mail.lengths(&(0..3)).collect::<Vec<_>>(), [2, 5, 1, 0, 2, 0]);
        assert_eq!(mail.numbers(&(1..3)), 2..6);
        assert_eq!(mail.rows(&tables.families[0]), 10);
        assert_eq!((0..4).map(|block| mail.base(block)).collect::<Vec<_>>(), [0, 7, 8, 10]);
        let slots: [(usize, usize, &[u16]); 5] =
            [(0, 0, &[0, 1]), (0, 1, &[0, 1]), (0, 2, &[0]), (1, 0, &[0, 1, 2, 4]), (1, 1, &[0, 2, 3])];
        for (pass, operation, expected) in slots {
            assert_eq!(
                mail.slots(pass, operation)[..expected.len()],
                *expected,
                "operation {operation} of pass {pass}"
            );
        }
        assert_eq!(mail.early(&tables.families[0]), [0]);
        assert_eq!(mail.early(&Family { blocks: 1..3, ..Family::default() }), [0; 0]);
    }

    #[test]
    fn what_is_alike_is_kept_once() {
        let same: &[u16] = &[1, 5];
        let tables = tables([&[0, 0, 0, 0], &[0, 0, 0]], [&[same, same, same, same], &[same, same, same]]);
        let mail = MailLayout::new(&tables).unwrap();
        assert_eq!((&mail.slots[..], &mail.lists.entries[..]), (&[0, 1][..], same));
    }

    #[test]
    fn blocks_of_a_level_have_nothing_to_do_with_one_another() {
        // Targets of pass 0 of blocks 0, 1 and 2; pass 1 leads from 1 and 2 to 0.
        for (targets, levels) in [
            ([2, 0, 1], &[0..1, 1..2, 2..3][..]),
            ([2, 0, 0], &[0..1, 1..3]),
            ([1, 0, 0], &[0..1, 1..3]),
            ([1, 2, 0], &[0..1, 1..2, 2..3]),
        ] {
            let tables = tables([&targets, &[0, 0]], [&[&[0], &[1], &[2]], &[&[0], &[0]]]);
            let mail = MailLayout::new(&tables).unwrap();
            assert_eq!(mail.levels(&tables.families[0]).collect::<Vec<_>>(), levels, "{targets:?}");
        }
    }

    #[test]
    fn operations_that_lead_up_later_are_refused() {
        let tables = tables([&[2, 0, 1], &[2, 0]], [&[&[0], &[0], &[0]], &[&[0], &[0]]]);
        assert!(matches!(MailLayout::new(&tables), Err(BlockError::Order)));
    }
}
