//! One window: blocks in their order, families, bases, and the targets of far operations.
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
//! Blocks are sorted by family (the colours of the outside, those outside the window before first, so that families
//! that exchange states with the same others are neighbours), then by potential, then by word. The potential of an
//! outside is 32 x (needy stones) + (connections open out of its two parts). Every far operation lowers it, but for
//! those of the first pass of a window that does not begin at the top, where the cell above the window can still
//! change: freeing takes needy stones away, and joining or dropping closes connections without making needy stones. So
//! within a family far operations lead to blocks that stand before, and one ascending sweep does a whole pass.
//!
//! Cost: one look-up and one expansion per block and far operation.

use std::ops::Range;

use rustc_hash::FxHashMap;

use keima_model::{BlockTables, Directions, End, Family, FarTargets, Window};

use super::super::layout;
use super::super::state::{normalise, stones, successors};
use super::fold::Fold;
use super::lists::{Lists, open_connections};
use super::places::Places;
use super::tables::{Ordered, Tables};

/// One window of a column.
pub(super) struct GoWindow {
    pub(super) window: Window,
    /// All bits of the window's cells.
    pub(super) inside: u64,
    /// The outside of each block.
    pub(super) outsides: Vec<u64>,
    /// `lists[end][signature]` at the first and at the last step.
    pub(super) lists: [Vec<Vec<u64>>; 2],
    /// `twins[end]`: for the outside without stones, for each entry the one of it and its reversal that stands for
    /// both.
    pub(super) twins: [Vec<u16>; 2],
    pub(super) tables: BlockTables,
}

/// Where the states of a window are found: needed while tables are made.
pub(super) struct Finder {
    /// Number of the block of each outside.
    pub(super) block_of: FxHashMap<u64, u32>,
    /// `places[end][signature]`: places of the codes in the lists.
    pub(super) places: [Vec<Places>; 2],
}

impl GoWindow {
    /// `before` is the window before, the last one for the first. `fold` leaves out states whose mirror images are there.
    pub(super) fn new(
        height: u32,
        window: Window,
        before: Window,
        directions: Directions,
        fold: Option<Fold>,
    ) -> Result<(Self, Finder), String> {
        let outside_cells = layout::outside::<u64>(height, window);
        let column = if height == 16 { u64::MAX } else { (1 << (4 * height)) - 1 };
        let inside = column & !(outside_cells * 0xf);
        let mut lists = Lists::new(height, window)?;
        if let Some(fold) = fold {
            lists = fold.refine(window, inside, lists);
        }
        let Lists { signatures, mut outsides } = lists;
        let rest_cells = outside_cells & layout::outside::<u64>(height, before);
        outsides.sort_by_cached_key(|&(word, _)| {
            let potential = potential(word, 0..window.first) + potential(word, window.end()..height);
            (rest(word, rest_cells), family(word), potential, word)
        });
        let block_of: FxHashMap<u64, u32> = outsides.iter().map(|&(word, _)| word).zip(0..).collect();
        let signature_of: Vec<u32> = outsides.iter().map(|&(_, signature)| signature).collect();
        // Not in the memory of the pairs, which is twice as large and more.
        let outsides: Vec<u64> = outsides.iter().map(|&(word, _)| word).collect();

        let mut ordered = Ordered::new(window, inside, signatures);
        let signature_at = |outside: u64| Some(signature_of[*block_of.get(&outside)? as usize]);
        let Tables { mut signatures, far: samples } = Tables::new(window, inside, &ordered, signature_at)?;
        if directions == Directions::Forward {
            signatures.iter_mut().flat_map(|signature| &mut signature.passes).for_each(|pass| pass.rows = Vec::new());
        }

        let mut far = Vec::new();
        for pass in 0..window.len {
            let first = Vec::with_capacity(outsides.len() + 1);
            let mut all = FarTargets { descending: true, first, ..FarTargets::default() };
            for (&outside, (&signature, block)) in outsides.iter().zip(signature_of.iter().zip(0..)) {
                all.first.push(all.targets.len() as u32);
                let list = &ordered.lists[signature as usize][pass as usize];
                for found in &samples[signature as usize][pass as usize] {
                    let state = outside | list[usize::from(found.entry)];
                    let (next, _) = successors(window.first + pass, state);
                    let changed = next[usize::from(found.successor)] & !inside;
                    let target = *block_of.get(&changed).ok_or("a far operation leads to no block")?;
                    all.descending &= target < block;
                    all.targets.push(target);
                }
            }
            all.first.push(all.targets.len() as u32);
            all.targets.shrink_to_fit();
            far.push(all);
        }

        let steps = window.len as usize + 1;
        let mut base = vec![Vec::with_capacity(outsides.len()); steps];
        let mut states = vec![0_u64; steps];
        let mut families: Vec<Family> = Vec::new();
        let mut last = None;
        for (&word, (&signature, block)) in outsides.iter().zip(signature_of.iter().zip(0_u32..)) {
            let colours = family(word);
            if last != Some(colours) {
                last = Some(colours);
                families.push(Family { blocks: block..block, start: states.clone(), size: vec![0; steps] });
            }
            let Some(current) = families.last_mut() else { continue };
            current.blocks.end = block + 1;
            for (step, entries) in signatures[signature as usize].entries.iter().enumerate() {
                base[step].push(current.size[step]);
                current.size[step] =
                    current.size[step].checked_add(*entries).ok_or("a family has more than 2^32 states")?;
                states[step] += u64::from(*entries);
            }
        }

        let last = steps - 1;
        let ends = [0, last].map(|step| {
            let lists: Vec<Vec<u64>> = ordered.lists.iter_mut().map(|lists| lists[step].clone()).collect();
            let places: Vec<Places> =
                ordered.places.iter_mut().map(|places| std::mem::take(&mut places[step])).collect();
            (lists, places)
        });
        let [(first_lists, first_places), (last_lists, last_places)] = ends;
        let tables = BlockTables { signatures, signature_of, base, far, families, states };
        let found = Finder { block_of, places: [first_places, last_places] };
        let lists = [first_lists, last_lists];
        let empty =
            outsides.iter().position(|&word| stones(word) == 0).map(|block| tables.signature_of[block] as usize);
        let twins = [0, 1].map(|end| match empty {
            Some(signature) => twins(&lists[end][signature], &found.places[end][signature]),
            None => Vec::new(),
        });
        Ok((Self { window, inside, outsides, lists, twins, tables }, found))
    }
}

impl GoWindow {
    /// Memory that the lists and what belongs to them take.
    pub(super) fn list_bytes(&self) -> u64 {
        let lists: usize = self.lists.iter().flatten().map(|list| size_of_val(list.as_slice())).sum();
        lists as u64 + self.tables.signature_bytes()
    }

    /// Memory that the blocks take.
    pub(super) fn block_bytes(&self) -> u64 {
        size_of_val(self.outsides.as_slice()) as u64 + self.tables.block_bytes()
    }

    /// Where its states are found, once more.
    pub(super) fn finder(&self) -> Finder {
        Finder {
            block_of: self.outsides.iter().copied().zip(0..).collect(),
            places: [0, 1].map(|end| self.lists[end].iter().map(|list| Places::new(list, self.inside)).collect()),
        }
    }

    /// Where a state as it is stored stands in the vector at `end`.
    pub(super) fn position(&self, finder: &Finder, end: End, state: u64) -> Option<u64> {
        let block = *finder.block_of.get(&(state & !self.inside))? as usize;
        let signature = self.tables.signature_of[block] as usize;
        let (places, step) = match end {
            End::First => (&finder.places[0], 0),
            End::Last => (&finder.places[1], self.window.len as usize),
        };
        let place = places[signature].get(state & self.inside)?;
        let family = self.tables.families.partition_point(|family| family.blocks.end as usize <= block);
        Some(self.tables.families[family].start[step] + u64::from(self.tables.base[step][block]) + u64::from(place))
    }
}

/// The entry of each code or of its reversal: lists that belong to no stones hold both.
fn twins(list: &[u64], places: &Places) -> Vec<u16> {
    let twin = |code: &u64| places.get(normalise(*code, 0));
    list.iter().zip(0..).map(|(code, entry)| twin(code).unwrap_or(entry)).collect()
}

/// What of an outside no pass of the window changes: where its stones are, and their colours.
fn family(word: u64) -> (u64, u64) {
    let all = stones(word);
    (all, word & all)
}

/// The colours of some cells in two bits of each nibble: 0 empty, 2 black, 3 white. `cells` has the low bit of each.
pub(super) fn colours(word: u64, cells: u64) -> u64 {
    let all = stones(word) & cells;
    all << 1 | word & all
}

/// The same with black and white exchanged.
pub(super) fn reverse_colours(colours: u64) -> u64 {
    colours ^ (colours >> 1 & 0x1111_1111_1111_1111)
}

/// The colours of some cells, the same for both colourings of a class.
pub(super) fn rest(word: u64, cells: u64) -> u64 {
    let colours = colours(word, cells);
    colours.min(reverse_colours(colours))
}

/// What far operations lower, of the part of `word` in `cells`: that of an outside is the sum over its two parts.
pub(super) fn potential(word: u64, cells: Range<u32>) -> u32 {
    let needy = cells.clone().filter(|&cell| word >> (4 * cell + 3) & 1 != 0).count() as u32;
    32 * needy + open_connections(word, cells)
}
