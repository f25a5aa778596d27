//! Builds one window: sorts its blocks, has the tables of its signatures built, and finds the targets of far operations.
//!
//! Cost: one look-up and one expansion per block and far operation. All blocks of a window are sorted; those of some families come
//! in their order.

use std::sync::Arc;

use keima_model::{BlockTables, Directions, Family, FarTargets, Window};

use super::block_numbers::BlockNumbers;
use super::{GoWindow, StateIndex};
use crate::go::block::cells::{family, inside_of, potential, rest};
use crate::go::block::cut::{in_parallel, piece};
use crate::go::block::passes::builder::TableBuilder;
use crate::go::block::signature::cache::CacheView;
use crate::go::block::signature::entry_index::EntryIndex;
use crate::go::block::signature::fold::Fold;
use crate::go::block::signature::lists::WindowSignatures;
use crate::go::block::signature::tables::{FarSample, SignatureTables};
use crate::go::state::{Word, normalise, stones, successors};

/// Blocks whose targets are looked up together.
const LOOKED_UP: usize = 64;

/// A window in its column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowCut {
    /// Cells in the column.
    pub(crate) height: u32,
    pub(crate) window: Window,
    /// The window before; the column's last one for its first.
    pub(crate) before: Window,
}

impl WindowCut {
    /// The potential of an outside.
    fn potential<W: Word>(&self, outside: W) -> u32 {
        potential(outside, 0..self.window.first) + potential(outside, self.window.end()..self.height)
    }
}

impl<W: Word> GoWindow<W> {
    /// All blocks of a window. `fold` leaves out states whose mirror images are kept.
    pub(crate) fn new(
        cut: WindowCut,
        directions: Directions,
        fold: Option<Fold>,
    ) -> Result<(Self, StateIndex<W>), String> {
        let inside: W = inside_of(cut.window);
        let mut signatures = WindowSignatures::new(cut.height, cut.window)?;
        if let Some(fold) = fold {
            signatures = fold.refine(cut.window, inside, signatures);
        }
        let WindowSignatures { signatures, mut outsides } = signatures;
        let rest_cells = W::ONES & !(inside | inside_of(cut.before));
        outsides.sort_by_cached_key(|&(word, _)| (rest(word, rest_cells), family(word), cut.potential(word), word));
        let blocks = Blocks::new(&outsides, 1)?;
        drop(outsides);
        let builder = TableBuilder::new(cut.window, inside, signatures, 1)?;
        let tables = builder.with_passes(|outside| blocks.signature_at(outside), directions.transposed())?;
        blocks.into_window(cut.window, &tables)
    }

    /// The blocks of some families, told by their colours (see [`crate::go::block::parts::families`]) and given in order.
    /// Takes the signatures that the cache knows, and adds the others to it. Uses `threads` threads.
    pub(crate) fn of_families(
        cut: WindowCut,
        patterns: &[W],
        cache: &CacheView<'_, W>,
        threads: usize,
    ) -> Result<Self, String> {
        let (signatures, new) = WindowSignatures::of_families(cut.height, cut.window, patterns, cache, threads)?;
        let WindowSignatures { signatures, outsides } = signatures;
        let blocks = Blocks::new(&outsides, threads)?;
        drop(outsides);
        let builder = TableBuilder::new(cut.window, inside_of(cut.window), signatures, threads)?;
        let tables = builder.with_passes(|outside| blocks.signature_at(outside), false)?;
        let of = |number: u32| tables.get(number as usize).map(Arc::clone);
        cache.insert(new.into_iter().map(|(key, number)| (key, number.and_then(of))));
        // Nobody looks a block up by its outside once the tables are there.
        let (window, _) = blocks.into_window(cut.window, &tables)?;
        Ok(window)
    }
}

/// The blocks of a window in their order.
struct Blocks<W> {
    /// The outside of each.
    outsides: Vec<W>,
    /// The signature of each.
    signature_of: Vec<u32>,
    /// The number of each by its outside.
    block_of: BlockNumbers<W>,
    /// Threads that may work on them.
    threads: usize,
}

impl<W: Word> Blocks<W> {
    /// Blocks of sorted (outside, signature).
    fn new(pairs: &[(W, u32)], threads: usize) -> Result<Self, String> {
        let signature_of = pairs.iter().map(|&(_, signature)| signature).collect();
        // Not in the memory of the pairs, which is at least twice as large.
        let outsides: Vec<W> = pairs.iter().map(|&(word, _)| word).collect();
        let block_of = BlockNumbers::by_threads(&outsides, threads)?;
        Ok(Self { outsides, signature_of, block_of, threads })
    }

    fn signature_at(&self, outside: W) -> Option<u32> {
        Some(self.signature_of[self.block_of.get(outside)? as usize])
    }

    /// The window, by the tables of its signatures.
    fn into_window(
        self,
        window: Window,
        shared: &[Arc<SignatureTables<W>>],
    ) -> Result<(GoWindow<W>, StateIndex<W>), String> {
        let inside = inside_of(window);
        let far = (0..window.len).map(|pass| self.far_targets(window, pass, shared)).collect::<Result<_, _>>()?;
        let steps = window.len as usize + 1;
        let (families, states) = self.families(steps, shared);
        let bases = in_parallel(self.threads, 0..steps, |step| {
            let entries = |&signature: &u32| shared[signature as usize].signature.entries[step];
            bases(&families, step, self.signature_of.iter().map(entries))
        })?;
        let (base, mut base_upper): (Vec<_>, Vec<_>) = bases.into_iter().unzip();
        if base_upper.iter().all(Vec::is_empty) {
            base_upper.clear();
        }

        let last = steps - 1;
        let lists = [0, 1].map(|end| shared.iter().map(|shared| Arc::clone(&shared.lists[end])).collect::<Vec<_>>());
        let entries = [0, last].map(|step| shared.iter().map(|shared| Arc::clone(&shared.entries[step])).collect());
        let signatures = shared.iter().map(|shared| Arc::clone(&shared.signature)).collect();
        let Self { outsides, signature_of, block_of, .. } = self;
        let tables = BlockTables { signatures, signature_of, base, base_upper, far, families, states };
        let index = StateIndex { block_of, entries };
        let stoneless = outsides.iter().position(|&word| stones(word) == W::ZERO);
        let stoneless = stoneless.map(|block| tables.signature_of[block] as usize);
        let twins = [0, 1].map(|end| match stoneless {
            Some(signature) => twins(&lists[end][signature], &index.entries[end][signature]),
            None => Vec::new(),
        });
        Ok((GoWindow { window, inside, outsides, lists, twins, tables }, index))
    }

    /// The targets of a pass's far operations for all blocks.
    fn far_targets(&self, window: Window, pass: u32, shared: &[Arc<SignatureTables<W>>]) -> Result<FarTargets, String> {
        let samples = |block: usize| shared[self.signature_of[block] as usize].far[pass as usize].as_slice();
        let inside: W = inside_of(window);
        let change = |block: usize, sample: &FarSample<W>| {
            let (next, _) = successors(window.first + pass, self.outsides[block] | sample.code);
            next[usize::from(sample.successor)] & !inside
        };
        let mut first = Vec::with_capacity(self.outsides.len() + 1);
        let mut count = 0;
        first.push(0);
        first.extend((0..self.outsides.len()).map(|block| {
            count += samples(block).len() as u32;
            count
        }));
        let mut targets = vec![0; count as usize];
        let mut left = targets.as_mut_slice();
        let mut pieces = Vec::new();
        let step = piece(self.outsides.len(), self.threads);
        for from in (0..self.outsides.len()).step_by(step) {
            let blocks = from..self.outsides.len().min(from + step);
            let (own, later) = left.split_at_mut((first[blocks.end] - first[blocks.start]) as usize);
            pieces.push((blocks, own));
            left = later;
        }
        let descending = in_parallel(self.threads, pieces, |(blocks, mut targets)| {
            let (mut changed, mut descending) = (Vec::new(), true);
            for from in blocks.clone().step_by(LOOKED_UP) {
                let some = from..blocks.end.min(from + LOOKED_UP);
                // All outsides before the first look-up: look-ups wait for memory, and so many do at the same time.
                changed.extend(
                    some.flat_map(|block| samples(block).iter().map(move |sample| (block, change(block, sample)))),
                );
                let own = targets.split_off_mut(..changed.len()).ok_or("more far operations than targets")?;
                for ((block, outside), target) in changed.drain(..).zip(own) {
                    *target = self.block_of.get(outside).ok_or("a far operation leads to no block")?;
                    descending &= (*target as usize) < block;
                }
            }
            Ok(descending)
        })?;
        let descending = descending.into_iter().collect::<Result<Vec<bool>, String>>()?;
        Ok(FarTargets { first, targets, descending: !descending.contains(&false) })
    }

    /// The families, and the states of all of them at each step.
    fn families(&self, steps: usize, shared: &[Arc<SignatureTables<W>>]) -> (Vec<Family>, Vec<u64>) {
        let mut states = vec![0_u64; steps];
        let mut families: Vec<Family> = Vec::new();
        // Blocks of each signature, and the signatures that have some.
        let (mut blocks_of, mut met) = (vec![0_u64; shared.len()], Vec::new());
        for outsides in self.outsides.chunk_by(|&one, &other| family(one) == family(other)) {
            let first = families.last().map_or(0, |last| last.blocks.end);
            let blocks = first..first + outsides.len() as u32;
            for &signature in &self.signature_of[blocks.start as usize..blocks.end as usize] {
                if blocks_of[signature as usize] == 0 {
                    met.push(signature as usize);
                }
                blocks_of[signature as usize] += 1;
            }
            let (start, mut size) = (states.clone(), vec![0; steps]);
            for signature in met.drain(..) {
                let blocks = std::mem::take(&mut blocks_of[signature]);
                for (size, &entries) in size.iter_mut().zip(&shared[signature].signature.entries) {
                    *size += blocks * u64::from(entries);
                }
            }
            states.iter_mut().zip(&size).for_each(|(states, size)| *states += size);
            families.push(Family { blocks, start, size });
        }
        (families, states)
    }
}

/// Where blocks with these numbers of entries begin in their families at a step: the lower halves, and the upper ones if a
/// family is so large.
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

/// For each code the entry of its class's representative. The list of the outside without stones has both colourings.
fn twins<W: Word>(list: &[W], entries: &EntryIndex<W>) -> Vec<u16> {
    let twin = |code: &W| entries.get(normalise(*code, W::ZERO));
    list.iter().zip(0..).map(|(code, entry)| twin(code).unwrap_or(entry)).collect()
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
