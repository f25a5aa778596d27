//! Builds the table of one pass of one signature, entry by entry.
//!
//! ```text
//!   entry 3 --expand--> same outside, entry 0   --> local (0, 3)                                  in-degrees, sources
//!                       other outside, entry 7  --> far operation of that outside: (3, 7)         pairs by target
//!                       both                    --> row of 3: blocks [own, the operation's], entries 0 and 7
//! ```
//!
//! Cost: a counting sort over the local successors.

use keima_model::{Far, PassTable, RowGroup};

use crate::go::block::signature::tables::FarSample;
use crate::go::state::Word;

/// A pass table that is being built.
pub(crate) struct PassBuilder<W> {
    /// Number of entries after the pass.
    entries_after: usize,
    /// (entry after the pass, source) of each local successor, the sources ascending.
    local: Vec<(u16, u16)>,
    far: Vec<FarOperation<W>>,
    rows: Vec<RowGroup>,
}

/// A far operation, as an entry meets it.
#[derive(Clone, Copy)]
pub(crate) struct FarTarget<W> {
    /// The sample's outside after the operation.
    pub(crate) outside: W,
    /// The signature of that outside.
    pub(crate) signature: u32,
    pub(crate) sample: FarSample<W>,
}

struct FarOperation<W> {
    /// The target that the first entry met.
    target: FarTarget<W>,
    pairs: Vec<(u16, u16)>,
}

/// A pass and where its far operations lead.
pub(crate) struct BuiltPass<W> {
    pub(crate) table: PassTable,
    /// One for each far operation of the table.
    pub(crate) far: Vec<FarSample<W>>,
    /// The target's signature for each far operation.
    pub(crate) leads_to: Vec<u32>,
}

/// A successor of an entry: 0 for its own block or the number of the far operation from 1 on, and the entry there.
pub(crate) type Successor = (u8, u16);

const NO_ENTRY: &str = "a successor stands in no list; this is a fault of the program";

impl<W: Word> PassBuilder<W> {
    pub(crate) fn new(entries_after: usize) -> Self {
        Self { entries_after, local: Vec::new(), far: Vec::new(), rows: Vec::new() }
    }

    /// Adds a successor in the same block.
    pub(crate) fn local(&mut self, source: u16, entry: Option<u16>) -> Result<Successor, String> {
        let entry = entry.ok_or(NO_ENTRY)?;
        self.local.push((entry, source));
        Ok((0, entry))
    }

    /// Adds a successor in another block.
    pub(crate) fn far(&mut self, target: FarTarget<W>, source: u16, entry: Option<u16>) -> Result<Successor, String> {
        let entry = entry.ok_or(NO_ENTRY)?;
        let known = self.far.iter().position(|far| far.target.outside == target.outside);
        let number = known.unwrap_or_else(|| {
            self.far.push(FarOperation { target, pairs: Vec::new() });
            self.far.len() - 1
        });
        self.far[number].pairs.push((source, entry));
        let number = u8::try_from(number + 1).map_err(|_| "more than 254 far operations in one pass")?;
        Ok((number, entry))
    }

    /// Adds the row of an entry with all of its successors, which it sorts by block.
    pub(crate) fn row(&mut self, source: u16, successors: &mut [Successor]) {
        successors.sort_unstable();
        let (mut blocks, mut row) = ([0; 3], [source, 0, 0, 0]);
        for (i, &(block, entry)) in successors.iter().enumerate() {
            (blocks[i], row[i + 1]) = (block, entry);
        }
        let degree = successors.len() as u8;
        match self.rows.iter_mut().find(|group| group.blocks == blocks && group.degree == degree) {
            Some(group) => group.rows.push(row),
            None => self.rows.push(RowGroup { degree, blocks, rows: vec![row] }),
        }
    }

    /// The pass, once all entries have been added.
    pub(crate) fn finish(mut self) -> BuiltPass<W> {
        self.rows.iter_mut().for_each(|group| group.rows.shrink_to_fit());
        // A counting sort by entry; the sources of one entry stay in their order.
        let mut degrees = vec![0_usize; self.entries_after];
        for &(entry, _) in &self.local {
            degrees[usize::from(entry)] += 1;
        }
        let mut in_degrees = vec![0; degrees.iter().max().map_or(1, |most| most + 1)];
        for &degree in &degrees {
            in_degrees[degree] += 1;
        }
        let mut free: Vec<usize> = degrees
            .iter()
            .scan(0, |end, degree| {
                *end += degree;
                Some(*end - degree)
            })
            .collect();
        let mut sources = vec![0; self.local.len()];
        for &(entry, source) in &self.local {
            let free = &mut free[usize::from(entry)];
            sources[*free] = source;
            *free += 1;
        }
        let found = self.far.iter().map(|far| far.target.sample).collect();
        let leads_to = self.far.iter().map(|far| far.target.signature).collect();
        let far = self.far.into_iter().map(|mut far| {
            far.pairs.sort_unstable_by_key(|&(source, target)| (target, source));
            far.pairs.shrink_to_fit();
            Far { pairs: far.pairs }
        });
        let table = PassTable { in_degrees, sources, far: far.collect(), rows: self.rows };
        BuiltPass { table, far: found, leads_to }
    }
}
