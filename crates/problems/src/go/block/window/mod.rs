//! One window of a column: its blocks in order, its families, and where each block begins.
//!
//! ```text
//!   height 5, window of cells 2 and 3; of the family with black, white and black at cells 0, 1 and 4:
//!
//!   cell 0           cell 1    cell 4           potential
//!   free             free      free              0      <---------------.  a liberty for the string of cells 0 and 4
//!   needy            free      free             32                      |  frees both of them: a far operation, and
//!   free             free      needy            32                      |  it leads to a block that stands before
//!   needy            free      needy            64                      |
//!   needy, below     free      needy, above     64 + 2  ----------------'
//! ```
//!
//! Blocks are sorted by family, then by potential, then by word. Families are sorted by the colours outside the window and
//! the one before it first, so that families that exchange states with the same others are neighbours. The potential of an
//! outside is 32 x (needy stones) + (connections open out of its two parts). Every far operation lowers it: freeing takes
//! needy stones away, and joining or dropping closes connections without making needy stones. So within a family far
//! operations lead to blocks that stand before, and one ascending sweep does a whole pass. The exception is the first pass
//! of a window that does not begin at the top: there the cell above the window can still change.
//!
//! Cost: one look-up and one expansion per block and far operation.

mod block_numbers;
pub(crate) mod build;

use std::ops::Range;
use std::sync::Arc;

use keima_model::{BlockTables, End, Family, Window};

use block_numbers::BlockNumbers;

use crate::go::block::cells::{colours, inside_of, rest};
use crate::go::block::signature::entry_index::EntryIndex;
use crate::go::state::{Word, accepts, normalise, stones, successors};

/// The weights of blocks: without a stone outside, entries of both colourings are stored; with one, an entry stands for
/// both.
pub(crate) const WEIGHTS: [u64; 2] = [1, 2];

/// One window of a column.
pub(crate) struct GoWindow<W> {
    pub(crate) window: Window,
    /// All bits of the window's cells.
    pub(crate) inside: W,
    /// The outside of each block.
    pub(crate) outsides: Vec<W>,
    /// `lists[end][signature]` at the first and at the last step.
    pub(crate) lists: [Vec<Arc<Vec<W>>>; 2],
    /// `twins[end]`, for the outside without stones: for each entry the one of it and its reversal that stands for both.
    pub(crate) twins: [Vec<u16>; 2],
    pub(crate) tables: BlockTables,
}

/// Finds the states of a window. Only building tables needs it.
pub(crate) struct StateIndex<W> {
    /// Number of the block of each outside.
    pub(crate) block_of: BlockNumbers<W>,
    /// `entries[end][signature]`: entries of the codes in the lists.
    pub(crate) entries: [Vec<Arc<EntryIndex<W>>>; 2],
}

impl<W: Word> GoWindow<W> {
    /// Memory of the lists and of the signatures' tables.
    pub(crate) fn list_bytes(&self) -> u64 {
        let lists: usize = self.lists.iter().flatten().map(|list| size_of_val(list.as_slice())).sum();
        lists as u64 + self.tables.signature_bytes()
    }

    /// Memory of the blocks.
    pub(crate) fn block_bytes(&self) -> u64 {
        size_of_val(self.outsides.as_slice()) as u64 + self.tables.block_bytes()
    }

    /// Builds the index of the window's states again.
    pub(crate) fn index(&self) -> StateIndex<W> {
        StateIndex {
            block_of: BlockNumbers::new(&self.outsides),
            entries: [0, 1]
                .map(|end| self.lists[end].iter().map(|list| Arc::new(EntryIndex::new(list, self.inside))).collect()),
        }
    }

    /// Position of a stored state in the vector at `end`.
    pub(crate) fn position(&self, index: &StateIndex<W>, end: End, state: W) -> Option<u64> {
        let block = index.block_of.get(state & !self.inside)? as usize;
        let signature = self.tables.signature_of[block] as usize;
        let (entries, step) = match end {
            End::First => (&index.entries[0], 0),
            End::Last => (&index.entries[1], self.window.len as usize),
        };
        let entry = entries[signature].get(state & self.inside)?;
        let family = self.tables.families.partition_point(|family| family.blocks.end as usize <= block);
        Some(self.tables.families[family].start[step] + self.tables.place(step, block as u32) + u64::from(entry))
    }

    fn list(&self, end: End, block: u32) -> &[W] {
        &self.lists[usize::from(end == End::Last)][self.signature(block) as usize]
    }

    pub(crate) fn signature(&self, block: u32) -> u32 {
        self.tables.signature_of[block as usize]
    }

    /// Overwrites `keys` with the canonical keys of a block's entries, or of some of them.
    pub(crate) fn keys(&self, end: End, block: u32, entries: Option<&[u16]>, keys: &mut Vec<u128>) {
        let (outside, list) = (self.outsides[block as usize], self.list(end, block));
        let key = |code: W| normalise(outside | code, W::ZERO).widen();
        keys.clear();
        match entries {
            None => keys.extend(list.iter().map(|&code| key(code))),
            Some(entries) => keys.extend(entries.iter().map(|&entry| key(list[usize::from(entry)]))),
        }
    }

    /// Whether no cell outside the window has a stone.
    fn is_stoneless(&self, block: u32) -> bool {
        stones(self.outsides[block as usize]) == W::ZERO
    }

    /// See `BlockColumn::weight`.
    pub(crate) fn weight(&self, block: u32) -> u64 {
        WEIGHTS[usize::from(!self.is_stoneless(block))]
    }

    /// See `BlockColumn::rest`; `neighbour` is the window at the end in question.
    pub(crate) fn rest(&self, neighbour: Window, family: u32) -> u64 {
        let cells: W = self.inside | inside_of(neighbour);
        rest(self.pattern(&self.tables.families[family as usize]), W::ONES & !cells)
    }

    /// See `BlockColumn::twins`.
    pub(crate) fn twins(&self, end: End, block: u32) -> Vec<u16> {
        if self.is_stoneless(block) { self.twins[usize::from(end == End::Last)].clone() } else { Vec::new() }
    }

    /// `accepting[signature]`: the accepting entries at the last step.
    pub(crate) fn accepting(&self) -> Vec<Vec<u16>> {
        let accepting = |list: &Arc<Vec<W>>| {
            (0..=u16::MAX).zip(list.iter()).filter(|&(_, &code)| accepts(code)).map(|(entry, _)| entry).collect()
        };
        self.lists[1].iter().map(accepting).collect()
    }

    /// The outside of a family's first block: it has the family's colours.
    pub(crate) fn pattern(&self, family: &Family) -> W {
        self.outsides[family.blocks.start as usize]
    }

    /// Positions at `end` of the states of a first column of `height` cells.
    pub(crate) fn start(&self, height: u32, index: &StateIndex<W>, end: End) -> Vec<u64> {
        let fixed = W::ONES & !self.inside;
        let mut positions = Vec::new();
        for family in &self.tables.families {
            let colours = colours(self.pattern(family), fixed);
            colourings(0..height, fixed, colours, W::ZERO, &mut |border| {
                positions.extend(self.position(index, end, border));
            });
        }
        positions
    }
}

/// Visits the borders after a first column whose cells in `fixed` have the colours `colours_there`. `border` has the cells before the
/// first of `cells`; `fixed` has the low bit of each cell's nibble.
fn colourings<W: Word>(cells: Range<u32>, fixed: W, colours_there: W, border: W, visit: &mut impl FnMut(W)) {
    if cells.is_empty() {
        return visit(border);
    }
    let (states, count) = successors(cells.start, border);
    let here = fixed & W::ONE << (4 * cells.start);
    for &state in &states[..count] {
        if colours(state, here) == colours_there & (here | here << 1) {
            colourings(cells.start + 1..cells.end, fixed, colours_there, state, visit);
        }
    }
}
