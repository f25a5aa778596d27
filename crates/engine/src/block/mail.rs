//! Mail: what far operations carry from block to block while each block goes through all passes of a window at once.
//!
//! Far operations lead down a family (see [`FarTargets::descending`](keima_model::FarTargets)), so its blocks can be
//! taken one after the other, from the last to the first, each through the whole window while it lies in the cache.
//! What a block has for those below it is put into its mail, and taken out when they are reached; transposed, blocks
//! are taken from the first to the last, and the same places carry values the other way.
//!
//! ```text
//!   family's mail = mail of block 0 | mail of block 1 | ...
//!   block's mail  = what the block itself writes, one row per pair of entries:
//!                   forward      pass 0: its operations | pass 1: ... | ...
//!                   transposed   last pass: operations that lead to it | the pass before: ... | ...
//!   incoming      = for each block and pass: (source block, number of the operation)
//! ```
//!
//! So a thread that does a block writes into one piece of memory that is that block's alone. Blocks between which there
//! are no operations can be done at the same time; they stand side by side, in *levels*:
//!
//! ```text
//!   forward      | below: not begun | level: each block writes its own | above: done, read by all |
//!   transposed   | below: done, read by all | level: each block writes its own | above: not begun |
//! ```
//!
//! Where a window does not start at the top, its first pass has operations that lead up as well. They are *early*:
//! their mail is filled before the first block, out of the vector before, or, transposed, added to the vector after at
//! the end.
//!
//! Memory: 2 to 3.5 rows of mail for each state of the family. A pass-by-pass sweep (see [`super::kernel`]) takes half
//! of that and moves three times as many bytes: each family is read and written once a pass instead of once a window.

use std::ops::Range;

use keima_model::{BlockTables, Directions, Family, Far};

use super::BlockError;

/// A far operation, seen from the block that it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incoming {
    /// The block that it comes from.
    pub(super) source: u32,
    /// Its number among those of the source's signature in its pass.
    pub(super) operation: u8,
}

/// Where the mail of a window's far operations lies. Places count from the first family's on.
#[derive(Debug, Default)]
pub(super) struct Mail {
    passes: usize,
    forward: Forward,
    /// Where it is asked for.
    transposed: Option<Transposed>,
    /// Those of block `b` and pass `p` are `incoming[first[b * passes + p]..first[b * passes + p + 1]]`.
    first: Vec<u32>,
    incoming: Vec<Incoming>,
    /// Blocks that have early operations.
    early: Vec<u32>,
    /// First blocks of the levels, ascending.
    levels: Vec<u32>,
}

/// Mail in the order of those who send it.
#[derive(Debug, Default)]
struct Forward {
    /// Where the mail of each block begins; after the last its end.
    base: Vec<u64>,
    /// `offsets[signature][pass][operation]`: from the start of its block's.
    offsets: Vec<Vec<Vec<u32>>>,
}

/// Mail in the order of those who send it back: the blocks that an operation leads to.
#[derive(Debug)]
struct Transposed {
    /// Where the mail of each block begins; after the last its end.
    base: Vec<u64>,
    /// `offsets[pass][i]`: from the start of its block's, for the operation with
    /// [`FarTargets`](keima_model::FarTargets) number `i`.
    offsets: Vec<Vec<u32>>,
}

impl Mail {
    /// Refuses tables whose far operations lead up elsewhere than in the first pass.
    pub(super) fn new(tables: &BlockTables, directions: Directions) -> Result<Self, BlockError> {
        if tables.far.iter().skip(1).any(|far| !far.descending) {
            return Err(BlockError::Order);
        }
        let mut mail = Self { passes: tables.far.len(), forward: Forward::new(tables), ..Self::default() };
        mail.sort(tables);
        mail.find_levels(tables);
        if directions.transposed() {
            mail.transposed = Some(mail.transpose(tables));
        }
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

    /// A block begins a level where an operation joins it with one of the level before.
    fn find_levels(&mut self, tables: &BlockTables) {
        for family in &tables.families {
            let mut level = family.blocks.start;
            self.levels.push(level);
            for block in family.blocks.clone() {
                let leads_to = |far: &keima_model::FarTargets| {
                    let own = &far.targets[far.first[block as usize] as usize..far.first[block as usize + 1] as usize];
                    own.iter().any(|target| (level..block).contains(target))
                };
                let comes_from = |pass| self.incoming(block, pass).iter().any(|i| (level..block).contains(&i.source));
                if tables.far.iter().any(leads_to) || (0..self.passes).any(comes_from) {
                    level = block;
                    self.levels.push(level);
                }
            }
        }
    }

    fn transpose(&self, tables: &BlockTables) -> Transposed {
        let blocks = tables.signature_of.len();
        let offsets = tables.far.iter().map(|far| vec![0; far.targets.len()]).collect();
        let mut transposed = Transposed { base: Vec::with_capacity(blocks + 1), offsets };
        let mut end = 0;
        for block in 0..blocks as u32 {
            transposed.base.push(end);
            let mut rows = 0;
            for pass in (0..self.passes).rev() {
                for operation in self.incoming(block, pass) {
                    let signature = tables.signature_of[operation.source as usize] as usize;
                    let number = usize::from(operation.operation);
                    let first = tables.far[pass].first[operation.source as usize] as usize;
                    transposed.offsets[pass][first + number] = rows;
                    rows += tables.signatures[signature].passes[pass].far[number].pairs.len() as u32;
                }
            }
            end += u64::from(rows);
        }
        transposed.base.push(end);
        transposed
    }

    /// Whether it was made for transposed passes too.
    pub(super) fn is_transposed(&self) -> bool {
        self.transposed.is_some()
    }

    /// Where the mail begins that `block` writes forward, and where that of the block before it ends.
    #[inline(always)]
    pub(super) fn base(&self, block: u32) -> usize {
        self.forward.base[block as usize] as usize
    }

    /// The same for transposed mail; nothing where it was not asked for.
    #[inline(always)]
    pub(super) fn transposed_base(&self, block: u32) -> usize {
        self.transposed.as_ref().map_or(0, |transposed| transposed.base[block as usize] as usize)
    }

    /// Rows of a family's mail. As many transposed, since no operation leaves the family.
    pub(super) fn rows(&self, family: &Family) -> usize {
        self.base(family.blocks.end) - self.base(family.blocks.start)
    }

    /// Where forward the mail of an operation begins.
    #[inline(always)]
    pub(super) fn place(&self, tables: &BlockTables, pass: usize, operation: Incoming) -> usize {
        let signature = tables.signature_of[operation.source as usize] as usize;
        self.base(operation.source) + self.forward.offsets[signature][pass][usize::from(operation.operation)] as usize
    }

    /// Where transposed the mail of an operation begins that leads to `target`.
    #[inline(always)]
    pub(super) fn transposed_place(
        &self,
        tables: &BlockTables,
        pass: usize,
        operation: Incoming,
        target: u32,
    ) -> usize {
        let first = tables.far[pass].first[operation.source as usize] as usize;
        let offset = |transposed: &Transposed| transposed.offsets[pass][first + usize::from(operation.operation)];
        self.transposed_base(target) + self.transposed.as_ref().map_or(0, offset) as usize
    }

    /// The operations that lead into a block in a pass.
    #[inline(always)]
    pub(super) fn incoming(&self, block: u32, pass: usize) -> &[Incoming] {
        let place = block as usize * self.passes + pass;
        &self.incoming[self.first[place] as usize..self.first[place + 1] as usize]
    }

    /// Blocks of a family that have early operations.
    pub(super) fn early(&self, family: &Family) -> &[u32] {
        within(&self.early, family)
    }

    /// A family's levels, ascending: no operation leads from one block of a level to another.
    pub(super) fn levels<'a>(&'a self, family: &'a Family) -> impl DoubleEndedIterator<Item = Range<u32>> + 'a {
        let starts = within(&self.levels, family);
        let end = move |number: usize| starts.get(number + 1).copied().unwrap_or(family.blocks.end);
        (0..starts.len()).map(move |number| starts[number]..end(number))
    }
}

impl Forward {
    fn new(tables: &BlockTables) -> Self {
        let mut rows_of = Vec::new();
        let mut offsets = Vec::new();
        for signature in &tables.signatures {
            let mut rows = 0;
            let mut place = |far: &Far| {
                rows += far.pairs.len() as u32;
                rows - far.pairs.len() as u32
            };
            offsets.push(signature.passes.iter().map(|pass| pass.far.iter().map(&mut place).collect()).collect());
            rows_of.push(u64::from(rows));
        }
        let mut end = 0;
        let mut base = vec![0];
        base.extend(tables.signature_of.iter().map(|&signature| {
            end += rows_of[signature as usize];
            end
        }));
        Self { base, offsets }
    }
}

/// Those of some blocks, ascending, that are a family's.
fn within<'a>(blocks: &'a [u32], family: &Family) -> &'a [u32] {
    let place = |first: u32| blocks.partition_point(|&block| block < first);
    &blocks[place(family.blocks.start)..place(family.blocks.end)]
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
            signatures: vec![idle.into(), busy.into()],
            signature_of: vec![0, 1, 1],
            far: far.collect(),
            families: vec![Family { blocks: 0..3, ..Family::default() }],
            ..BlockTables::default()
        }
    }

    #[test]
    fn mail_is_where_both_sides_look_for_it() {
        let tables = tables([&[2, 0, 1], &[0, 0]], [vec![0, 1, 2, 3], vec![0, 0, 1, 2]]);
        let mail = Mail::new(&tables, Directions::Both).unwrap();
        // 3 rows of block 0, then 3 + 2 of blocks 1 and 2.
        assert_eq!(mail.rows(&tables.families[0]), 13);
        let from = |source| Incoming { source, operation: 0 };
        // Transposed: block 0 has 2 + 2 rows of pass 1 and 3 of pass 0, blocks 1 and 2 have 3.
        for (pass, source, target, place, transposed) in
            [(0, 0, 2, 0, 10), (0, 1, 0, 3, 4), (1, 1, 0, 6, 0), (0, 2, 1, 8, 7), (1, 2, 0, 11, 2)]
        {
            assert_eq!(mail.place(&tables, pass, from(source)), place, "pass {pass} of block {source}");
            let found = mail.transposed_place(&tables, pass, from(source), target);
            assert_eq!(found, transposed, "transposed, pass {pass} of block {source}");
        }
        assert_eq!((0..4).map(|block| mail.base(block)).collect::<Vec<_>>(), [0, 3, 8, 13]);
        assert_eq!((0..4).map(|block| mail.transposed_base(block)).collect::<Vec<_>>(), [0, 7, 10, 13]);
        assert_eq!(mail.incoming(0, 0), [from(1)]);
        assert_eq!(mail.incoming(1, 0), [from(2)]);
        assert_eq!(mail.incoming(2, 0), [from(0)]);
        assert_eq!(mail.incoming(0, 1), [from(1), from(2)]);
        assert_eq!(mail.incoming(1, 1), []);
        assert_eq!(mail.early(&tables.families[0]), [0]);
        assert_eq!(mail.early(&Family { blocks: 1..3, ..Family::default() }), [0; 0]);
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
            let tables = tables([&targets, &[0, 0]], [vec![0, 1, 2, 3], vec![0, 0, 1, 2]]);
            let mail = Mail::new(&tables, Directions::Forward).unwrap();
            assert_eq!(mail.levels(&tables.families[0]).collect::<Vec<_>>(), levels, "{targets:?}");
        }
    }

    #[test]
    fn operations_that_lead_up_later_are_refused() {
        let tables = tables([&[2, 0, 1], &[2, 0]], [vec![0, 1, 2, 3], vec![0, 0, 1, 2]]);
        assert!(matches!(Mail::new(&tables, Directions::Both), Err(BlockError::Order)));
    }
}
