//! The tables of one window: its blocks, its families, and the passes of its signatures.
//!
//! ```text
//!   position of an entry = start of its family in the vector + start of its block in the family + entry
//! ```
//!
//! [`super`] says what blocks, signatures and far operations are. Cost: memory only, told by the `bytes` functions.

use std::ops::Range;
use std::sync::Arc;

/// Most entries of a list: indices into a block are `u16`.
pub const MOST_ENTRIES: usize = 1 << 16;

/// The tables of one window.
#[derive(Clone, Debug, Default)]
pub struct BlockTables {
    /// The signatures that the blocks share.
    pub signatures: Vec<Arc<Signature>>,
    /// Signature of each block, an index into `signatures`.
    pub signature_of: Vec<u32>,
    /// `base[step][block]`: where the block begins, counted from the start of its family. Families of 2^32 entries and more
    /// have the lower half here: see [`BlockTables::place`].
    pub base: Vec<Vec<u32>>,
    /// The upper half; empty where it is 0 for all blocks.
    pub base_upper: Vec<Vec<u8>>,
    /// `far[pass]`: target blocks of the far operations of all blocks.
    pub far: Vec<FarTargets>,
    /// The families, in the order of their blocks.
    pub families: Vec<Family>,
    /// `states[step]`: entries of the vector.
    pub states: Vec<u64>,
}

impl BlockTables {
    /// Whether the tables hold what transposed passes need.
    pub fn are_transposed(&self) -> bool {
        self.signatures.iter().any(|signature| signature.passes.iter().any(|pass| !pass.rows.is_empty()))
    }

    /// Memory of the signatures.
    pub fn signature_bytes(&self) -> u64 {
        self.signatures.iter().map(|signature| signature.bytes()).sum()
    }

    /// Where a block begins at a step, counted from the start of its family.
    #[inline]
    pub fn place(&self, step: usize, block: u32) -> u64 {
        let lower = u64::from(self.base[step][block as usize]);
        match self.base_upper.get(step) {
            None => lower,
            Some(upper) => u64::from(upper[block as usize]) << 32 | lower,
        }
    }

    /// Memory of blocks and families.
    pub fn block_bytes(&self) -> u64 {
        let family = |family: &Family| size_of::<Family>() + of(&family.start) + of(&family.size);
        let bytes = of(&self.signature_of)
            + self.base.iter().map(|base| of(base)).sum::<usize>()
            + self.base_upper.iter().map(|base| of(base)).sum::<usize>()
            + self.far.iter().map(|far| of(&far.first) + of(&far.targets)).sum::<usize>()
            + self.families.iter().map(family).sum::<usize>();
        bytes as u64
    }
}

fn of<T>(items: &[T]) -> usize {
    size_of_val(items)
}

/// The targets of one pass's far operations.
#[derive(Clone, Debug, Default)]
pub struct FarTargets {
    /// The targets of block `b` are `targets[first[b]..first[b + 1]]`, one for each entry of the signature's
    /// [`PassTable::far`]. One entry more than blocks.
    pub first: Vec<u32>,
    /// Target blocks.
    pub targets: Vec<u32>,
    /// Whether every target stands before its source. Then one sweep over the blocks in ascending order may do local and
    /// far operations together: the target's own local sums are complete.
    pub descending: bool,
}

/// States that no pass of the window leads out of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// Its blocks.
    pub blocks: Range<u32>,
    /// `start[step]`: where the family begins in the vector; `start[step] + size[step]` is where it ends.
    pub start: Vec<u64>,
    /// `size[step]`: its entries.
    pub size: Vec<u64>,
}

/// The lists and passes that all blocks of a signature share.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// `entries[step]`: length of the list of inside codes.
    pub entries: Vec<u32>,
    /// One per pass.
    pub passes: Vec<PassTable>,
    /// Number of ways through all passes of the window, for each entry at step 0.
    pub descendants: Vec<u32>,
}

impl Signature {
    /// Memory of the signature.
    pub fn bytes(&self) -> u64 {
        let pass = |pass: &PassTable| {
            let far: usize = pass.far.iter().map(|far| of(&far.pairs)).sum();
            let rows: usize = pass.rows.iter().map(|group| of(&group.rows)).sum();
            of(&pass.in_degrees) + of(&pass.sources) + far + rows
        };
        (of(&self.entries) + of(&self.descendants) + self.passes.iter().map(pass).sum::<usize>()) as u64
    }
}

/// One pass for the blocks of one signature.
#[derive(Clone, Debug, Default)]
pub struct PassTable {
    /// `in_degrees[d]`: number of entries after the pass with d sources within the block. Lists are in ascending order of d.
    pub in_degrees: Vec<u32>,
    /// The sources within the block, entry by entry.
    pub sources: Vec<u16>,
    /// The far operations.
    pub far: Vec<Far>,
    /// The same matrix by rows, for the transposed pass: the entries before it, grouped by the blocks of their successors.
    pub rows: Vec<RowGroup>,
}

/// A far operation: pairs (entry before the pass in this block, entry after it in the target block).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Far {
    /// The pairs, in ascending order of the second.
    pub pairs: Vec<(u16, u16)>,
}

/// Entries before a pass whose successors lie in the same blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowGroup {
    /// Number of successors, 1 to 3.
    pub degree: u8,
    /// The block of each successor: 0 for the block itself, `i` for the target of far operation `i - 1`.
    pub blocks: [u8; 3],
    /// (entry before the pass, entries of the successors after it).
    pub rows: Vec<[u16; 4]>,
}
