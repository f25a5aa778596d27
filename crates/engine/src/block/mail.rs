//! Mail: what far operations carry from block to block while each block goes through all passes of a window at once.
//!
//! Far operations lead down a family (see [`FarTargets::descending`](keima_model::FarTargets)), so its blocks can be taken
//! one after the other, from the last to the first, each through the whole window while it lies in the cache. What a
//! block has for those below it is put into its mail, and taken out when they are reached; transposed, blocks are taken
//! from the first to the last, and the same places carry values the other way.
//!
//! ```text
//!   family's mail = mail of block 0 | mail of block 1 | ...
//!   block's mail  = pass 0: operation 0, operation 1 ... | pass 1: ... | ...      one row per pair of entries
//!   incoming      = for each block and pass: (source block, number of the operation)
//! ```
//!
//! Where a window does not start at the top, its first pass has operations that lead up as well. They are *early*: their
//! mail is filled before the first block, out of the vector before, or, transposed, added to the vector after at the end.
//!
//! Memory: 2 to 3.5 rows of mail for each state of the family. A pass-by-pass sweep (see [`super::kernel`]) takes half of
//! that and moves three times as many bytes: each family is read and written once a pass instead of once a window.

use keima_model::{BlockTables, Family, Far};

use super::BlockError;

/// A far operation, seen from the block that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    /// The block that it comes from.
    pub(super) source: u32,
    /// Its number among those of the source's signature in its pass.
    pub(super) operation: u8,
}

/// Where the mail of a window's far operations lies.
#[derive(Debug, Default)]
pub(super) struct Mail {
    passes: usize,
    /// Where the mail of each block begins, from the start of its family's.
    base: Vec<u64>,
    /// `offsets[signature][pass][operation]`: from the start of its block's.
    offsets: Vec<Vec<Vec<u32>>>,
    /// Those of block `b` and pass `p` are `incoming[first[b * passes + p]..first[b * passes + p + 1]]`.
    first: Vec<u32>,
    incoming: Vec<Incoming>,
    /// Blocks that have early operations.
    early: Vec<u32>,
    /// Rows of the largest family's mail.
    most_rows: usize,
}

impl Mail {
    /// Refuses tables whose far operations lead up elsewhere than in the first pass.
    pub(super) fn new(tables: &BlockTables) -> Result<Self, BlockError> {
        let passes = tables.far.len();
        if tables.far.iter().skip(1).any(|far| !far.descending) {
            return Err(BlockError::Order);
        }
        let mut mail = Self { passes, ..Self::default() };
        let mut rows_of = Vec::new();
        for signature in &tables.signatures {
            let mut rows = 0;
            let mut place = |far: &Far| {
                rows += far.pairs.len() as u32;
                rows - far.pairs.len() as u32
            };
            mail.offsets.push(signature.passes.iter().map(|pass| pass.far.iter().map(&mut place).collect()).collect());
            rows_of.push(rows);
        }
        mail.base = vec![0; tables.signature_of.len()];
        for family in &tables.families {
            let mut rows = 0;
            for block in family.blocks.clone() {
                mail.base[block as usize] = rows;
                rows += u64::from(rows_of[tables.signature_of[block as usize] as usize]);
            }
            mail.most_rows = mail.most_rows.max(rows as usize);
        }
        mail.sort(tables);
        Ok(mail)
    }

    /// Lists the operations by where they lead.
    fn sort(&mut self, tables: &BlockTables) {
        let passes = self.passes;
        self.first = vec![0; tables.signature_of.len() * passes + 1];
        let visit = |visit: &mut dyn FnMut(usize, Incoming, u32)| {
            for (pass, far) in tables.far.iter().enumerate() {
                for (source, range) in (0..).zip(far.first.windows(2)) {
                    for (operation, &target) in (0..).zip(&far.targets[range[0] as usize..range[1] as usize]) {
                        visit(pass, Incoming { source, operation }, target);
                    }
                }
            }
        };
        let place = |pass: usize, target: u32| target as usize * passes + pass;
        let early = &mut self.early;
        let first = &mut self.first;
        visit(&mut |pass, incoming, target| {
            first[place(pass, target) + 1] += 1;
            if target > incoming.source && early.last() != Some(&incoming.source) {
                early.push(incoming.source);
            }
        });
        for i in 1..self.first.len() {
            self.first[i] += self.first[i - 1];
        }
        let mut next = self.first.clone();
        self.incoming = vec![Incoming { source: 0, operation: 0 }; self.first.last().map_or(0, |&all| all as usize)];
        visit(&mut |pass, incoming, target| {
            let next = &mut next[place(pass, target)];
            self.incoming[*next as usize] = incoming;
            *next += 1;
        });
    }

    /// Rows of mail that the largest family has.
    pub(super) fn most_rows(&self) -> usize {
        self.most_rows
    }

    /// Where in its family's mail that of an operation begins.
    #[inline(always)]
    pub(super) fn place(&self, tables: &BlockTables, pass: usize, operation: Incoming) -> usize {
        let signature = tables.signature_of[operation.source as usize] as usize;
        self.base[operation.source as usize] as usize
            + self.offsets[signature][pass][usize::from(operation.operation)] as usize
    }

    /// The operations that lead into a block in a pass.
    #[inline(always)]
    pub(super) fn incoming(&self, block: u32, pass: usize) -> &[Incoming] {
        let place = block as usize * self.passes + pass;
        &self.incoming[self.first[place] as usize..self.first[place + 1] as usize]
    }

    /// Blocks of a family that have early operations.
    pub(super) fn early(&self, family: &Family) -> &[u32] {
        let place = |block: u32| self.early.partition_point(|&early| early < block);
        &self.early[place(family.blocks.start)..place(family.blocks.end)]
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{FarTargets, PassTable, Signature};

    use super::*;

    /// Three blocks with an operation of three pairs each in pass 0, and in pass 1 one of two pairs of blocks 1 and 2.
    fn tables(targets: [&[u32]; 2], first: [Vec<u32>; 2]) -> BlockTables {
        let far = |pairs: usize| Far { pairs: vec![(0, 0); pairs] };
        let pass = |pairs| PassTable { far: vec![far(pairs)], ..PassTable::default() };
        let idle = Signature { passes: vec![pass(3), PassTable::default()], ..Signature::default() };
        let busy = Signature { passes: vec![pass(3), pass(2)], ..Signature::default() };
        let far = targets.into_iter().zip(first).map(|(targets, first)| {
            let descending = targets == [0, 0];
            FarTargets { first, targets: targets.to_vec(), descending }
        });
        BlockTables {
            signatures: vec![idle, busy],
            signature_of: vec![0, 1, 1],
            far: far.collect(),
            families: vec![Family { blocks: 0..3, ..Family::default() }],
            ..BlockTables::default()
        }
    }

    #[test]
    fn mail_is_where_both_sides_look_for_it() {
        let tables = tables([&[2, 0, 1], &[0, 0]], [vec![0, 1, 2, 3], vec![0, 0, 1, 2]]);
        let mail = Mail::new(&tables).unwrap();
        // 3 rows of block 0, then 3 + 2 of blocks 1 and 2.
        assert_eq!(mail.most_rows(), 13);
        let from = |source| Incoming { source, operation: 0 };
        for (pass, source, place) in [(0, 0, 0), (0, 1, 3), (1, 1, 6), (0, 2, 8), (1, 2, 11)] {
            assert_eq!(mail.place(&tables, pass, from(source)), place, "pass {pass} of block {source}");
        }
        assert_eq!(mail.incoming(0, 0), [from(1)]);
        assert_eq!(mail.incoming(1, 0), [from(2)]);
        assert_eq!(mail.incoming(2, 0), [from(0)]);
        assert_eq!(mail.incoming(0, 1), [from(1), from(2)]);
        assert_eq!(mail.incoming(1, 1), []);
        assert_eq!(mail.early(&tables.families[0]), [0]);
        assert_eq!(mail.early(&Family { blocks: 1..3, ..Family::default() }), [0; 0]);
    }

    #[test]
    fn operations_that_lead_up_later_are_refused() {
        let tables = tables([&[2, 0, 1], &[2, 0]], [vec![0, 1, 2, 3], vec![0, 0, 1, 2]]);
        assert!(matches!(Mail::new(&tables), Err(BlockError::Order)));
    }
}
