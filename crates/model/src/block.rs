//! Dense blocks: tables for problems whose families fall into blocks that share their transitions.
//!
//! Over a window a state is a pair (outside, inside): the codes of the border cells outside and inside the window.
//! Where the inside codes that are valid depend on a small *signature* of the outside only, all outsides of one
//! signature share one list of inside codes per pass boundary, and a vector is an array of counts without keys:
//!
//! ```text
//!   vector  = family 0 | family 1 | ...           states that agree in what no pass of the window changes
//!   family  = block 0 | block 1 | ...             one block per outside
//!   block   = count of list[0] | list[1] | ...    the inside codes of the block's signature at this boundary
//! ```
//!
//! A pass is then, per signature, one sparse matrix inside the block (*local*), and a few *far* operations that change
//! the outside: each leads from a block to one other block of the same family, and for all blocks of a signature its
//! pairs of entries are the same. Nothing is decoded on the way.
//!
//! Boundaries of a window of w passes are numbered 0 to w ("steps"); pass number `t` leads from step `t` to step `t+1`.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ProblemInfo, Window};

/// Most entries of a list: indices into a block are `u16`.
pub const MOST_ENTRIES: usize = 1 << 16;

/// Share of a boundary's states that is fingerprinted.
pub const SAMPLE_ONE_IN: u64 = 64;

/// The tables of one window.
#[derive(Clone, Debug, Default)]
pub struct BlockTables {
    /// What the blocks share.
    pub signatures: Vec<Arc<Signature>>,
    /// Signature of each block, an index into `signatures`.
    pub signature_of: Vec<u32>,
    /// `base[step][block]`: where the block begins, counted from the start of its family; of families of 2^32 entries
    /// and more the lower half of that, see [`BlockTables::place`].
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
    /// Whether there is what transposed passes need.
    pub fn are_transposed(&self) -> bool {
        self.signatures.iter().any(|signature| signature.passes.iter().any(|pass| !pass.rows.is_empty()))
    }

    /// Memory that the signatures take.
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

    /// Memory that blocks and families take.
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

/// Where the far operations of one pass lead.
#[derive(Clone, Debug, Default)]
pub struct FarTargets {
    /// The targets of block `b` are `targets[first[b]..first[b + 1]]`, one for each entry of the signature's
    /// [`PassTable::far`]. One entry more than blocks.
    pub first: Vec<u32>,
    /// Target blocks.
    pub targets: Vec<u32>,
    /// Whether every target stands before its source: then one sweep over the blocks in ascending order may do local
    /// and far operations together, since the target's own local sums are complete.
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

/// What all blocks of a signature share.
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
    /// Memory that it takes.
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
    /// How many entries after the pass have 0, 1, 2 ... sources within the block: lists are in ascending order of it.
    pub in_degrees: Vec<u32>,
    /// Those sources, entry by entry.
    pub sources: Vec<u16>,
    /// The far operations.
    pub far: Vec<Far>,
    /// The same matrix by rows, for the transposed pass: states before the pass, by where their successors lie.
    pub rows: Vec<RowGroup>,
}

/// A far operation: pairs (entry before the pass in this block, entry after it in the target block).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Far {
    /// In ascending order of the second.
    pub pairs: Vec<(u16, u16)>,
}

/// Entries before a pass whose successors lie in the same blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowGroup {
    /// Number of successors, 1 to 3.
    pub degree: u8,
    /// Where each successor lies: 0 in the block itself, `i` in the target of far operation `i - 1`.
    pub blocks: [u8; 3],
    /// (entry before the pass, entries of the successors after it).
    pub rows: Vec<[u16; 4]>,
}

/// Which end of a window: step 0, or its last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// Before the first pass.
    First,
    /// After the last pass.
    Last,
}

impl End {
    /// The window that shares this end of window number `window`, in a column of `count`: the last one of a column is
    /// followed by the first.
    pub fn neighbour(self, window: usize, count: usize) -> usize {
        let step = if self == Self::First { count - 1 } else { 1 };
        (window + step) % count
    }
}

/// Which way a vector goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// From the first column to the last: in how many ways a state is reached.
    Forward,
    /// From the accepting states back: how many completions a state has.
    Backward,
}

impl Direction {
    /// The end of a window at which a vector comes in.
    pub fn enters(self) -> End {
        match self {
            Self::Forward => End::First,
            Self::Backward => End::Last,
        }
    }

    /// The end of a window at which it comes out.
    pub fn leaves(self) -> End {
        match self {
            Self::Forward => End::Last,
            Self::Backward => End::First,
        }
    }
}

/// What the tables of a column are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// Passes from the first column to the last. [`PassTable::rows`] are empty, and there is no exchange with the
    /// window before ([`BlockColumn::positions`] at [`End::First`]): about half of the memory.
    Forward,
    /// Transposed passes too.
    Both,
    /// The same, and of two states that are images of each other at the start of a column only one, where the problem
    /// knows how: see [`BlockColumn::images`].
    Folded,
}

impl Directions {
    /// Whether there are transposed passes.
    pub fn transposed(self) -> bool {
        self != Self::Forward
    }
}

/// The blocks of a column, window by window; the last window of a column is followed by the first of the next.
pub trait BlockColumn: Send + Sync {
    /// The windows, from the top of the column to its end.
    fn windows(&self) -> &[Window];
    /// The tables of window number `window`.
    fn tables(&self, window: usize) -> &BlockTables;
    /// Memory that a process has less for the tables of all windows, and the exchanges between them: with what building
    /// them has left behind.
    fn bytes(&self) -> u64;
    /// The exchange: overwrites `positions` with the places of the entries of `block` at `end` in the vector of the
    /// neighbouring window that shares this boundary: the window before at its last step for [`End::First`], the window
    /// after at step 0 for [`End::Last`].
    fn positions(&self, window: usize, end: End, block: u32, positions: &mut Vec<u64>);
    /// Where the column is folded ([`Directions::Folded`]): overwrites `positions` with the places of the images of the
    /// entries of `block` of the first window at step 0, in the vector of the last window at its last step, and tells
    /// which of the entries have images that are entries of this window too. `None` where it is not folded.
    ///
    /// What goes into the first window is the sum of an entry's value and its image's, and half of it for an entry whose
    /// image is there too. Its values are up to twice as large then. [`BlockColumn::positions`] of the last window tells
    /// the place of the image for an entry that is not there itself.
    fn images(&self, _block: u32, _positions: &mut Vec<u64>) -> Option<&[bool]> {
        None
    }
    /// Where the column is folded: for each entry of `block` of the first window at step 0 whether its image is an entry
    /// too, as [`BlockColumn::images`] tells.
    fn tied(&self, _block: u32) -> Option<&[bool]> {
        None
    }
    /// Overwrites `keys` with the canonical keys of the entries of `block` at `end`.
    fn keys(&self, window: usize, end: End, block: u32, keys: &mut Vec<u128>);
    /// The same for some of the block's entries only.
    fn keys_of(&self, window: usize, end: End, block: u32, entries: &[u16], keys: &mut Vec<u128>);
    /// How often the value of an entry of `block` counts in the value of its canonical key.
    fn weight(&self, window: usize, block: u32) -> u64;
    /// Entries of `block` at the end of the column (the last window's last step) that are accepting.
    fn accepting(&self, block: u32) -> &[u16];
    /// The same for some of the block's entries only, ascending or not. Not for the last window of a folded column at its
    /// end.
    fn positions_of(&self, window: usize, end: End, block: u32, entries: &[u16], positions: &mut Vec<u64>);
    /// Overwrites `families` with the family of the neighbouring window that each entry of `block` at `end` belongs to.
    fn families(&self, window: usize, end: End, block: u32, families: &mut Vec<u32>);
    /// Blocks of one signature and one class at `end` lead, entry by entry, to the same families.
    fn exchange_class(&self, window: usize, end: End, block: u32) -> u32;
    /// A name of what a family and those that it exchanges states with at `end` have in common; both sides give the
    /// same. A window's families are in ascending order of what they have in common with the window before.
    fn rest(&self, window: usize, end: End, family: u32) -> u64;
    /// Where the entries of `block` at `end` are more than one to a canonical key: for each entry the one that stands
    /// for its key, itself or another, with the same value. Empty where they are not.
    fn twins(&self, window: usize, end: End, block: u32) -> Vec<u16>;
    /// Overwrites `sample` with the entries of `block` at `end` that are in the sample of the boundary: the same
    /// states, about one in [`SAMPLE_ONE_IN`], whichever of the two neighbouring windows is asked. Each state is in the
    /// samples of one `key` in [`SAMPLE_ONE_IN`].
    fn sample(&self, window: usize, end: End, block: u32, key: u64, sample: &mut Vec<u16>);
    /// Positions, in the vector at `end` of a window, of the states of a first column: each has the value 1 after it.
    fn start(&self, window: usize, end: End) -> Vec<u64>;
    /// Number of accepting states of a first column, each colouring of a class counted: the count of the board that has
    /// no other.
    fn one_column(&self) -> u64;
}

/// The families of a window, without their blocks: enough to make groups of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyList {
    /// Entries of each family before the first pass and after the last.
    pub ends: Vec<[u64; 2]>,
    /// What each has in common with those that it exchanges states with, in the window before and in the one after: see
    /// [`BlockColumn::rest`].
    pub rests: [Vec<u64>; 2],
}

impl FamilyList {
    /// Of a window whose tables are there.
    pub fn of(column: &dyn BlockColumn, window: usize) -> Self {
        let tables = column.tables(window);
        let last = tables.states.len() - 1;
        let ends = tables.families.iter().map(|family| [0, last].map(|step| family.size[step])).collect();
        let rests = [End::First, End::Last].map(|end| {
            let numbers = (0..).zip(&tables.families).map(|(number, _)| number);
            numbers.map(|number| column.rest(window, end, number)).collect()
        });
        Self { ends, rests }
    }

    /// Memory that it takes.
    pub fn bytes(&self) -> u64 {
        (of(&self.ends) + self.rests.iter().map(|rests| of(rests)).sum::<usize>()) as u64
    }
}

/// A column whose blocks are too many to have all of them at a time: tables are made for a few families when they are
/// needed.
pub trait BlockParts: Send + Sync {
    /// The windows, from the top of the column to its end; two or more.
    fn windows(&self) -> &[Window];
    /// The families of window number `window`, in the order of their blocks.
    fn families(&self, window: usize) -> &FamilyList;
    /// Memory that a process has less for what parts have in common.
    fn bytes(&self) -> u64;
    /// See [`BlockProblem::family_bounds`].
    fn family_bounds(&self) -> FamilyBounds;
    /// An estimate of the memory that [`BlockParts::part`] of these families takes, rather too much; at once.
    fn part_bytes(&self, window: usize, families: Range<u32>) -> u64;
    /// Tables for some consecutive families of a window, and for the families of the window before that have states for
    /// them. Where these are the same as for `last`, they are not made again; where not, `last` is dropped first.
    fn part(&self, window: usize, families: Range<u32>, last: Option<Sources>) -> Result<BlockPart, String>;
    /// See [`BlockColumn::one_column`].
    fn one_column(&self) -> u64;
}

/// Families of the window before a part's, with their tables.
#[derive(Clone)]
pub struct Sources {
    /// Their numbers there, ascending.
    pub families: Vec<u32>,
    /// For who made them.
    pub tables: Arc<dyn Any + Send + Sync>,
}

/// Tables for some families of a window, as if it had no others.
pub struct BlockPart {
    /// Its window has these families only, numbered from 0; the window before has those of `sources`, of which there
    /// are no passes and no exchange but that at [`End::Last`]: its [`BlockColumn::families`] tells `u32::MAX` for
    /// entries that go elsewhere, and its [`BlockColumn::positions_of`] is for the others. There are no tables of other
    /// windows; families of the window after have the numbers that they have there.
    pub column: Box<dyn BlockColumn>,
    /// Families of the window before.
    pub sources: Sources,
}

/// Bounds of what a problem's families take while they go through a window, whatever the window: for plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyBounds {
    /// Codes of a cell within a block: a block of a window of w cells has about `codes^w` entries, and
    /// `block_percent` of that at most.
    pub codes: u64,
    /// See `codes`.
    pub block_percent: u64,
    /// Rows of a buffer for a hundred states of its families: in a window at the top of a column, and in one below it,
    /// whose first pass puts some states aside. A block for each pass comes on top.
    pub buffer_percent: [u64; 2],
    /// Mail of the largest family of a window, and of the second largest, for a hundred states of the largest: what blocks
    /// send to other blocks of their family on its way through the window.
    pub mail_percent: [u64; 2],
}

/// An estimate of the memory for tables that are made a part at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartedBytes {
    /// Of a worker: [`BlockParts::bytes`], what is kept of parts left out.
    pub worker_bytes: u64,
    /// Of a task: its largest part.
    pub task_bytes: u64,
}

/// A problem with dense blocks.
pub trait BlockProblem: ProblemInfo {
    /// Ways to fill a cell, at most. The number of ways to a state after t cells is at most `choices^(t - m)` on a
    /// board of height m, since the state tells what is on the last m cells; and that of ways on, with c cells to go,
    /// `choices^c`.
    fn choices(&self) -> u32;
    /// An estimate of [`BlockColumn::bytes`] of a column cut into `windows`; at once, no table is built. [`u64::MAX`]
    /// where there are no tables of all families.
    fn table_bytes(&self, windows: &[Window], directions: Directions) -> u64;
    /// An estimate of what tables take that are made a part at a time.
    fn parted_bytes(&self, windows: &[Window]) -> PartedBytes;
    /// An estimate of the seconds that one thread takes to make them for all families of window number `window` once, with
    /// so many states in groups of `group_records`.
    fn parted_seconds(&self, windows: &[Window], window: usize, states: u64, group_records: u64) -> f64;
    /// Bounds of what families take on their way through a window.
    fn family_bounds(&self) -> FamilyBounds;
    /// Size of a family, relative to the largest, for each pair of neighbouring cells outside its window that has one
    /// colour where the largest family's colours alternate; for forecasts.
    fn pair_ratio(&self) -> f64;
    /// Builds the tables of a column cut into `windows`; seconds for large ones. `Err` says what is too large.
    fn column(&self, windows: &[Window], directions: Directions) -> Result<Box<dyn BlockColumn>, String>;
    /// Prepares a column cut into `windows`, two or more, for tables that are made a part at a time, for forward passes;
    /// `kept_bytes` of what parts have in common are kept for others.
    /// The states are those of [`BlockProblem::column`], in the same order.
    fn parts(&self, windows: &[Window], kept_bytes: u64) -> Result<Box<dyn BlockParts>, String>;
}
