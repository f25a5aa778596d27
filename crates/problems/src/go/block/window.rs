//! One window: blocks in their order, families, bases, and the targets of far operations.
//!
//! Blocks are sorted by family (the colours of the outside, those outside the window before first, so that families that
//! exchange states with the same others are neighbours), then by potential, then by word. The potential of an outside
//! is 32 x (needy stones) + (connections open out of its two parts). Every far operation lowers it, but for those of the
//! first pass of a window that does not begin at the top, where the cell above the window can still change: freeing takes
//! needy stones away, and joining or dropping closes connections without making needy stones. So within a family far
//! operations lead to blocks that stand before, and one ascending sweep does a whole pass.
//!
//! Cost: one look-up and one expansion per block and far operation.

use rustc_hash::FxHashMap;

use keima_model::{BlockTables, End, Family, FarTargets, Window};

use super::super::layout;
use super::super::state::{stones, successors};
use super::lists::{Lists, open_connections};
use super::tables::{Ordered, Places, Tables};

/// One window of a column.
pub(super) struct GoWindow {
    pub(super) window: Window,
    /// All bits of the window's cells.
    pub(super) inside: u64,
    /// The outside of each block.
    pub(super) outsides: Vec<u64>,
    /// Number of the block of each outside.
    pub(super) block_of: FxHashMap<u64, u32>,
    /// `lists[end][signature]` at the first and at the last step.
    pub(super) lists: [Vec<Vec<u64>>; 2],
    /// Places of the codes in them.
    pub(super) places: [Vec<Places>; 2],
    pub(super) tables: BlockTables,
}

impl GoWindow {
    /// `before` is the window before, the last one for the first.
    pub(super) fn new(height: u32, window: Window, before: Window) -> Result<Self, String> {
        let outside_cells = layout::outside::<u64>(height, window);
        let column = if height == 16 { u64::MAX } else { (1 << (4 * height)) - 1 };
        let inside = column & !(outside_cells * 0xf);
        let Lists { signatures, mut outsides } = Lists::new(height, window)?;
        let rest_cells = outside_cells & layout::outside::<u64>(height, before);
        outsides.sort_by_cached_key(|&(word, _)| {
            (rest(word, rest_cells), family(word), potential(height, window, word), word)
        });
        let block_of: FxHashMap<u64, u32> = outsides.iter().map(|&(word, _)| word).zip(0..).collect();
        let signature_of: Vec<u32> = outsides.iter().map(|&(_, signature)| signature).collect();
        let outsides: Vec<u64> = outsides.into_iter().map(|(word, _)| word).collect();

        let mut ordered = Ordered::new(window, inside, signatures);
        let signature_at = |outside: u64| Some(signature_of[*block_of.get(&outside)? as usize]);
        let Tables { signatures, far: samples } = Tables::new(window, inside, &ordered, signature_at)?;

        let mut far = Vec::new();
        for pass in 0..window.len {
            let mut all = FarTargets { descending: true, ..FarTargets::default() };
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
            let lists = ordered.lists.iter_mut().map(|lists| lists[step].clone()).collect();
            let places = ordered.places.iter_mut().map(|places| std::mem::take(&mut places[step])).collect();
            (lists, places)
        });
        let [(first_lists, first_places), (last_lists, last_places)] = ends;
        Ok(Self {
            window,
            inside,
            outsides,
            block_of,
            lists: [first_lists, last_lists],
            places: [first_places, last_places],
            tables: BlockTables { signatures, signature_of, base, far, families, states },
        })
    }
}

impl GoWindow {
    /// Memory that it takes.
    pub(super) fn bytes(&self) -> u64 {
        let lists: usize = self.lists.iter().flatten().map(|list| size_of_val(list.as_slice())).sum();
        let places: usize = self.places.iter().flatten().map(|places| map_bytes(places.capacity(), 10)).sum();
        let own = lists + places + size_of_val(self.outsides.as_slice()) + map_bytes(self.block_of.capacity(), 12);
        own as u64 + self.tables.bytes()
    }

    /// Where a state as it is stored stands in the vector at `end`.
    pub(super) fn position(&self, end: End, state: u64) -> Option<u64> {
        let block = *self.block_of.get(&(state & !self.inside))? as usize;
        let signature = self.tables.signature_of[block] as usize;
        let (places, step) = match end {
            End::First => (&self.places[0], 0),
            End::Last => (&self.places[1], self.window.len as usize),
        };
        let place = *places[signature].get(&(state & self.inside))?;
        let family = self.tables.families.partition_point(|family| family.blocks.end as usize <= block);
        Some(self.tables.families[family].start[step] + u64::from(self.tables.base[step][block]) + u64::from(place))
    }
}

/// Memory of a hash map: an eighth of its buckets is free, and each has a byte beside its entry, which is aligned.
pub(super) fn map_bytes(capacity: usize, entry_bytes: usize) -> usize {
    capacity * 8 / 7 * (entry_bytes.next_multiple_of(8) + 1)
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

/// What far operations lower.
fn potential(height: u32, window: Window, word: u64) -> u32 {
    let needy = (word >> 3 & 0x1111_1111_1111_1111).count_ones();
    32 * needy + open_connections(word, 0..window.first) + open_connections(word, window.end()..height)
}
