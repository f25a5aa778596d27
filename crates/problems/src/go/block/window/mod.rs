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
use std::sync::Arc;

use rustc_hash::FxHashMap;

use keima_model::{BlockTables, Directions, End, Family, FarTargets, Window};

use crate::go::block::passes::builder::{SignatureTables, TableBuilder};
use crate::go::block::signature::cache::{SignatureCache, TableKind};
use crate::go::block::signature::entry_index::EntryIndex;
use crate::go::block::signature::fold::Fold;
use crate::go::block::signature::lists::{WindowSignatures, open_connections};
use crate::go::state::{Word, accepts, normalise, stones, successors};

/// One window of a column.
pub(crate) struct GoWindow<W> {
    pub(crate) window: Window,
    /// All bits of the window's cells.
    pub(crate) inside: W,
    /// The outside of each block.
    pub(crate) outsides: Vec<W>,
    /// `lists[end][signature]` at the first and at the last step.
    pub(crate) lists: [Vec<Arc<Vec<W>>>; 2],
    /// `twins[end]`: for the outside without stones, for each entry the one of it and its reversal that stands for
    /// both.
    pub(crate) twins: [Vec<u16>; 2],
    pub(crate) tables: BlockTables,
}

/// Where the states of a window are found: needed while tables are made.
pub(crate) struct StateIndex<W> {
    /// Number of the block of each outside.
    pub(crate) block_of: FxHashMap<W, u32>,
    /// `places[end][signature]`: places of the codes in the lists.
    pub(crate) places: [Vec<Arc<EntryIndex<W>>>; 2],
}

impl<W: Word> GoWindow<W> {
    /// `before` is the window before, the last one for the first. `fold` leaves out states whose mirror images are there.
    pub(crate) fn new(
        height: u32,
        window: Window,
        before: Window,
        directions: Directions,
        fold: Option<Fold>,
    ) -> Result<(Self, StateIndex<W>), String> {
        let mut lists = WindowSignatures::new(height, window)?;
        if let Some(fold) = fold {
            lists = fold.refine(window, inside_of(window), lists);
        }
        Self::of(height, window, before, Some(directions), (lists, false), |_| {})
    }

    /// Of some families, told by their colours (see [`crate::go::block::parts::families`]), with the signatures that the catalogue
    /// has, and for it those that it does not have. Without passes there are lists and sizes at the last step only.
    pub(crate) fn of_families(
        height: u32,
        window: Window,
        before: Window,
        patterns: &[W],
        (cache, kind): (&SignatureCache<W>, TableKind),
    ) -> Result<(Self, StateIndex<W>), String> {
        let directions = kind.passes.then_some(Directions::Forward);
        let (lists, unknown) = WindowSignatures::of_families(height, window, patterns, (cache, kind))?;
        Self::of(height, window, before, directions, (lists, true), |made| {
            let of = |number: u32| made.get(number as usize).map(Arc::clone);
            cache.keep(kind, unknown.into_iter().map(|(key, number)| (key, number.and_then(of))));
        })
    }

    /// `in_order` says that families follow one another already. Without `directions` nobody looks for blocks.
    fn of(
        height: u32,
        window: Window,
        before: Window,
        directions: Option<Directions>,
        (lists, in_order): (WindowSignatures<W>, bool),
        keep: impl FnOnce(&[Arc<SignatureTables<W>>]),
    ) -> Result<(Self, StateIndex<W>), String> {
        let inside = inside_of(window);
        let WindowSignatures { signatures, mut outsides } = lists;
        let cells: W = inside | inside_of(before);
        let rest_cells = W::ONES & !cells;
        let potential = |word| potential(word, 0..window.first) + potential(word, window.end()..height);
        if in_order {
            let families = outsides.chunk_by_mut(|&(one, _), &(other, _)| family(one) == family(other));
            families.for_each(|family| family.sort_by_cached_key(|&(word, _)| (potential(word), word)));
        } else {
            outsides.sort_by_cached_key(|&(word, _)| (rest(word, rest_cells), family(word), potential(word), word));
        }
        let found = if directions.is_some() { outsides.len() } else { 0 };
        let block_of: FxHashMap<W, u32> = outsides[..found].iter().map(|&(word, _)| word).zip(0..).collect();
        let signature_of: Vec<u32> = outsides.iter().map(|&(_, signature)| signature).collect();
        // Not in the memory of the pairs, which is twice as large and more.
        let outsides: Vec<W> = outsides.iter().map(|&(word, _)| word).collect();

        let maker = TableBuilder::new(window, inside, signatures);
        let signature_at = |outside: W| Some(signature_of[*block_of.get(&outside)? as usize]);
        let made = match directions {
            Some(directions) => maker.with_passes(signature_at, directions.transposed())?,
            None => maker.without_passes(),
        };
        keep(&made);

        let mut far = Vec::new();
        for pass in 0..if directions.is_some() { window.len } else { 0 } {
            let first = Vec::with_capacity(outsides.len() + 1);
            let mut all = FarTargets { descending: true, first, ..FarTargets::default() };
            for (&outside, (&signature, block)) in outsides.iter().zip(signature_of.iter().zip(0..)) {
                all.first.push(all.targets.len() as u32);
                for found in &made[signature as usize].far[pass as usize] {
                    let (next, _) = successors(window.first + pass, outside | found.code);
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
            for (step, &entries) in made[signature as usize].signature.entries.iter().enumerate() {
                current.size[step] += u64::from(entries);
                states[step] += u64::from(entries);
            }
        }
        let bases = (0..steps).map(|step| {
            let entries = |&signature: &u32| made[signature as usize].signature.entries[step];
            bases(&families, step, signature_of.iter().map(entries))
        });
        let (base, mut base_upper): (Vec<_>, Vec<_>) = bases.unzip();
        if base_upper.iter().all(Vec::is_empty) {
            base_upper.clear();
        }

        let last = steps - 1;
        let lists = [0, 1].map(|end| made.iter().map(|made| Arc::clone(&made.lists[end])).collect::<Vec<_>>());
        let places = [0, last].map(|step| made.iter().map(|made| Arc::clone(&made.places[step])).collect());
        let signatures = made.iter().map(|made| Arc::clone(&made.signature)).collect();
        let tables = BlockTables { signatures, signature_of, base, base_upper, far, families, states };
        let found = StateIndex { block_of, places };
        let empty =
            outsides.iter().position(|&word| stones(word) == W::ZERO).map(|block| tables.signature_of[block] as usize);
        let twins = [0, 1].map(|end| match empty {
            Some(signature) => twins(&lists[end][signature], &found.places[end][signature]),
            None => Vec::new(),
        });
        Ok((Self { window, inside, outsides, lists, twins, tables }, found))
    }
}

/// Where blocks of so many entries begin in their families at a step: the lower halves, and if families are so large the
/// upper ones.
fn bases(families: &[Family], step: usize, entries: impl Iterator<Item = u32>) -> (Vec<u32>, Vec<u8>) {
    let is_wide = families.iter().any(|family| family.size[step] > u64::from(u32::MAX));
    let blocks = families.last().map_or(0, |family| family.blocks.end as usize);
    let mut lower = Vec::with_capacity(blocks);
    let mut upper = Vec::with_capacity(if is_wide { blocks } else { 0 });
    let mut starts = families.iter().map(|family| family.blocks.start).peekable();
    let mut place = 0_u64;
    for (entries, block) in entries.zip(0..) {
        if starts.next_if_eq(&block).is_some() {
            place = 0;
        }
        lower.push(place as u32);
        if is_wide {
            upper.push((place >> u32::BITS) as u8);
        }
        place += u64::from(entries);
    }
    (lower, upper)
}

impl<W: Word> StateIndex<W> {
    /// Memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let places: u64 = self.places.iter().flatten().map(|places| places.bytes()).sum();
        (self.block_of.capacity() * (size_of::<(W, u32)>() + 1)) as u64 + places
    }
}

impl<W: Word> GoWindow<W> {
    /// Memory that the lists and what belongs to them take.
    pub(crate) fn list_bytes(&self) -> u64 {
        let lists: usize = self.lists.iter().flatten().map(|list| size_of_val(list.as_slice())).sum();
        lists as u64 + self.tables.signature_bytes()
    }

    /// Memory that the blocks take.
    pub(crate) fn block_bytes(&self) -> u64 {
        size_of_val(self.outsides.as_slice()) as u64 + self.tables.block_bytes()
    }

    /// Where its states are found, once more.
    pub(crate) fn finder(&self) -> StateIndex<W> {
        StateIndex {
            block_of: self.outsides.iter().copied().zip(0..).collect(),
            places: [0, 1]
                .map(|end| self.lists[end].iter().map(|list| Arc::new(EntryIndex::new(list, self.inside))).collect()),
        }
    }

    /// Where a state as it is stored stands in the vector at `end`.
    pub(crate) fn position(&self, finder: &StateIndex<W>, end: End, state: W) -> Option<u64> {
        let block = *finder.block_of.get(&(state & !self.inside))? as usize;
        let signature = self.tables.signature_of[block] as usize;
        let (places, step) = match end {
            End::First => (&finder.places[0], 0),
            End::Last => (&finder.places[1], self.window.len as usize),
        };
        let place = places[signature].get(state & self.inside)?;
        let family = self.tables.families.partition_point(|family| family.blocks.end as usize <= block);
        Some(self.tables.families[family].start[step] + self.tables.place(step, block as u32) + u64::from(place))
    }
}

impl<W: Word> GoWindow<W> {
    fn list(&self, end: End, block: u32) -> &[W] {
        &self.lists[usize::from(end == End::Last)][self.signature(block) as usize]
    }

    pub(crate) fn signature(&self, block: u32) -> u32 {
        self.tables.signature_of[block as usize]
    }

    /// The canonical keys of a block's entries, or of some of them.
    pub(crate) fn keys(&self, end: End, block: u32, entries: Option<&[u16]>, keys: &mut Vec<u128>) {
        let (outside, list) = (self.outsides[block as usize], self.list(end, block));
        let key = |code: W| normalise(outside | code, W::ZERO).widen();
        keys.clear();
        match entries {
            None => keys.extend(list.iter().map(|&code| key(code))),
            Some(entries) => keys.extend(entries.iter().map(|&entry| key(list[usize::from(entry)]))),
        }
    }

    /// Whether no cell outside has a stone.
    fn is_stoneless(&self, block: u32) -> bool {
        stones(self.outsides[block as usize]) == W::ZERO
    }

    /// See `BlockColumn::weight`.
    pub(crate) fn weight(&self, block: u32) -> u64 {
        if self.is_stoneless(block) { 1 } else { 2 }
    }

    /// See `BlockColumn::rest`; the neighbour at the end in question.
    pub(crate) fn rest(&self, neighbour: Window, family: u32) -> u64 {
        let cells: W = self.inside | inside_of(neighbour);
        rest(self.pattern(&self.tables.families[family as usize]), W::ONES & !cells)
    }

    /// See `BlockColumn::twins`.
    pub(crate) fn twins(&self, end: End, block: u32) -> Vec<u16> {
        if self.is_stoneless(block) { self.twins[usize::from(end == End::Last)].clone() } else { Vec::new() }
    }

    /// For each signature the accepting entries at the last step.
    pub(crate) fn accepting(&self) -> Vec<Vec<u16>> {
        let accepting = |list: &Arc<Vec<W>>| {
            (0..=u16::MAX).zip(list.iter()).filter(|&(_, &code)| accepts(code)).map(|(entry, _)| entry).collect()
        };
        self.lists[1].iter().map(accepting).collect()
    }

    /// The colours of a family.
    pub(crate) fn pattern(&self, family: &Family) -> W {
        self.outsides[family.blocks.start as usize]
    }

    /// Positions at `end` of the states of a first column of `height` cells.
    pub(crate) fn start(&self, height: u32, finder: &StateIndex<W>, end: End) -> Vec<u64> {
        let mut positions = Vec::new();
        for family in &self.tables.families {
            let colours = colours(self.pattern(family), W::ONES & !self.inside);
            colourings(0..height, (W::ONES & !self.inside, colours), W::ZERO, &mut |border| {
                positions.extend(self.position(finder, end, border));
            });
        }
        positions
    }
}

/// Visits the borders after a first column that have these colours in some cells, as [`colours`] tells them; `border`
/// has the cells before the first of `cells`.
fn colourings<W: Word>(cells: Range<u32>, only: (W, W), border: W, visit: &mut impl FnMut(W)) {
    if cells.is_empty() {
        return visit(border);
    }
    let (states, count) = successors(cells.start, border);
    let here = only.0 & W::ONE << (4 * cells.start);
    for &state in &states[..count] {
        if colours(state, here) == only.1 & (here | here << 1) {
            colourings(cells.start + 1..cells.end, only, state, visit);
        }
    }
}

/// The entry of each code or of its reversal: lists that belong to no stones hold both.
fn twins<W: Word>(list: &[W], places: &EntryIndex<W>) -> Vec<u16> {
    let twin = |code: &W| places.get(normalise(*code, W::ZERO));
    list.iter().zip(0..).map(|(code, entry)| twin(code).unwrap_or(entry)).collect()
}

/// All bits of a window's cells.
pub(crate) fn inside_of<W: Word>(window: Window) -> W {
    (window.first..window.end()).fold(W::ZERO, |inside, cell| inside | W::truncate(0xf) << (4 * cell))
}

/// What of an outside no pass of the window changes: where its stones are, and their colours.
pub(crate) fn family<W: Word>(word: W) -> (W, W) {
    let all = stones(word);
    (all, word & all)
}

/// The colours of some cells in two bits of each nibble: 0 empty, 2 black, 3 white. `cells` has the low bit of each.
pub(crate) fn colours<W: Word>(word: W, cells: W) -> W {
    let all = stones(word) & cells;
    all << 1 | word & all
}

/// The same with black and white exchanged.
pub(crate) fn reverse_colours<W: Word>(colours: W) -> W {
    colours ^ (colours >> 1 & W::ONES)
}

/// The colours of some cells, the same for both colourings of a class, in two bits a cell.
pub(crate) fn rest<W: Word>(word: W, cells: W) -> u64 {
    let colours = colours(word, cells);
    compact(colours.min(reverse_colours(colours)))
}

/// The low two bits of each nibble.
fn compact<W: Word>(colours: W) -> u64 {
    let half = |half: u64| {
        let pairs = (half | half >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
        let bytes = (pairs | pairs >> 4) & 0x00ff_00ff_00ff_00ff;
        let words = (bytes | bytes >> 8) & 0x0000_ffff_0000_ffff;
        (words | words >> 16) & 0xffff_ffff
    };
    let wide = colours.widen();
    half(wide as u64) | half((wide >> 64) as u64) << 32
}

/// What far operations lower, of the part of `word` in `cells`: that of an outside is the sum over its two parts.
pub(crate) fn potential<W: Word>(word: W, cells: Range<u32>) -> u32 {
    let needy = cells.clone().filter(|&cell| (word >> (4 * cell + 3)).low() & 1 != 0).count() as u32;
    32 * needy + open_connections(word, cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A family of 2^32 and more entries between two small ones.
    #[test]
    fn places_in_large_families_have_more_than_32_bits() {
        let sizes = [3, 70_000 * (1 << 16), 5];
        let blocks = [0..3_u32, 3..70_003, 70_003..70_004];
        let families: Vec<Family> = blocks
            .iter()
            .zip(sizes)
            .map(|(b, size)| Family { blocks: b.clone(), start: vec![0], size: vec![size] })
            .collect();
        let entries = [1, 1, 1].into_iter().chain(std::iter::repeat_n(1 << 16, 70_000)).chain([5]);
        let (base, upper) = bases(&families, 0, entries);
        let tables = BlockTables { base: vec![base], base_upper: vec![upper], ..BlockTables::default() };
        for (block, place) in
            [(0, 0), (2, 2), (3, 0), (4, 1 << 16), (65_539, 1 << 32), (70_002, 69_999 << 16), (70_003, 0)]
        {
            assert_eq!(tables.place(0, block), place, "block {block}");
        }
        let (base, upper) = bases(&families[..1], 0, [1, 1, 1].into_iter());
        assert_eq!((base, upper), (vec![0, 1, 2], vec![]));
    }
}
