//! A column too high for the tables of all of its blocks: tables of a few families at a time.
//!
//! States go from one window to the next within one *rest*, the colours of the cells outside both. So a task needs the
//! tables of its own families, and the blocks of the window before that have the same rests. The latter go by one after the
//! other, and have no tables ([`sources`]).
//!
//! ```text
//!   height 9, windows of 3; families of the middle window with the colours B . B in cells 0 to 2 and W . . in 6 to 8
//!
//!   before   cells 0-2   rest: cells 6 to 8 are W . .   27 families, one for each colouring of cells 3 to 5; no tables
//!   own      cells 3-5   this one family                all tables, and where states land ([`landing`])
//!   after    cells 6-8   the list of all families, for where rows go
//! ```
//!
//! Between parts these stay: the lists of families, and the signatures ([`super::signature::cache`]). A part's blocks and
//! entries are in the order of the tables of all families, so that runs are the same.
//!
//! Cost of a part: the lists and two expansions an entry and step for each new signature, as in
//! [`super::passes::builder`]; a look-up for each block and far operation, which is most of the time; and the block memory that
//! [`super::memory`] estimates. Several threads can share it: they take pieces of the blocks, and signatures.

pub(crate) mod families;
mod landing;
mod part;
mod sources;

use std::ops::Range;

use keima_model::{BlockPart, BlockParts, BlockTables, End, FamilyBounds, FamilyList, Window};
use rustc_hash::FxHashMap;

use super::cells::inside_of;
use super::cut::{check_cut, in_parallel, one_column};
use super::exchange::{Exchange, Neighbour, family_numbers};
use super::family_sizes::FAMILY_BOUNDS;
use super::memory::{self, WindowStates};
use super::signature::cache::{SignatureCache, TableKind};
use super::window::GoWindow;
use super::window::build::WindowCut;
use crate::go::state::Word;
use families::Families;
use landing::PartLanding;
use part::{GoPart, PartOf};

/// The families of all windows of a column.
pub struct GoParts<W> {
    height: u32,
    spans: Vec<Window>,
    families: Vec<Families<W>>,
    cache: SignatureCache<W>,
    /// (rest with the window after, family) for each window, ascending.
    by_rest: Vec<Vec<(u64, u32)>>,
}

impl<W: Word> GoParts<W> {
    /// Prepares a column of `height` cells, cut into two `windows` or more. The cache of signatures keeps `kept_bytes`.
    pub fn new(height: u32, windows: &[Window], kept_bytes: u64) -> Result<Self, String> {
        check_cut(height, windows)?;
        if windows.len() < 2 {
            return Err("tables of parts need a column of two windows or more".into());
        }
        let count = windows.len();
        let families = in_parallel(count, 0..count, |number| {
            let [before, after] = [End::First, End::Last].map(|end| windows[end.neighbour(number, count)]);
            Families::new(height, windows[number], before, after)
        })?;
        let by_rest = families.iter().map(|families| {
            let mut by_rest: Vec<(u64, u32)> = families.list.rests[1].iter().copied().zip(0..).collect();
            by_rest.sort_unstable();
            by_rest
        });
        let cache = SignatureCache::new(kept_bytes);
        Ok(Self { height, spans: windows.to_vec(), cache, by_rest: by_rest.collect(), families })
    }

    /// The number of the window before.
    fn before(&self, window: usize) -> usize {
        End::First.neighbour(window, self.spans.len())
    }

    /// The families of the window before that have states for these, ascending.
    fn source_families(&self, window: usize, families: Range<u32>) -> Option<Vec<u32>> {
        let rests = self.families[window].list.rests[0].get(families.start as usize..families.end as usize)?;
        let by_rest = &self.by_rest[self.before(window)];
        let mut sources = Vec::new();
        for rest in rests.chunk_by(|a, b| a == b).filter_map(|same| same.first()) {
            let first = by_rest.partition_point(|(other, _)| other < rest);
            sources.extend(by_rest[first..].iter().take_while(|(other, _)| other == rest).map(|&(_, family)| family));
        }
        sources.sort_unstable();
        Some(sources)
    }
}

impl<W: Word> BlockParts for GoParts<W> {
    fn windows(&self) -> &[Window] {
        &self.spans
    }

    fn families(&self, window: usize) -> &FamilyList {
        &self.families[window].list
    }

    fn bytes(&self) -> u64 {
        let by_rest = self.by_rest.iter().map(|by_rest| size_of_val(by_rest.as_slice()) as u64);
        by_rest.chain(self.families.iter().map(Families::bytes)).sum::<u64>() + self.cache.limit_bytes()
    }

    fn family_bounds(&self) -> FamilyBounds {
        FAMILY_BOUNDS
    }

    fn part_bytes(&self, window: usize, families: Range<u32>) -> u64 {
        let list = &self.families[window].list;
        let states = |family: u32| list.ends.get(family as usize).map_or(0, |ends| ends[0].max(ends[1]));
        memory::part_bytes(self.height, WindowStates { window: self.spans[window], states: families.map(states).sum() })
    }

    fn part(&self, window: usize, families: Range<u32>, threads: usize) -> Result<Box<dyn BlockPart + '_>, String> {
        let (count, before) = (self.spans.len(), self.before(window));
        let all = &self.families[window];
        let patterns = all.patterns.get(families.start as usize..families.end as usize);
        let (Some(patterns), Some(sources)) = (patterns, self.source_families(window, families.clone())) else {
            return Err(format!("window {window} has {} families; {families:?} were asked for", all.patterns.len()));
        };
        let cut = WindowCut { height: self.height, window: self.spans[window], before: self.spans[before] };
        let cache = self.cache.of_kind(TableKind { window, passes: true });
        let own = GoWindow::of_families(cut, patterns, &cache, threads)?;
        if own.tables.families.len() != patterns.len() {
            return Err("a family has no blocks; this is a fault of the program".into());
        }
        let after = End::Last.neighbour(window, count);
        let (inside_before, inside_after) = (inside_of(self.spans[before]), inside_of(self.spans[after]));
        let nobody = FxHashMap::default();
        let side = |inside, families| Neighbour { inside, families, blocks: None };
        let first = Exchange::new(&own, End::First, &side(inside_before, &nobody))?;
        let last = Exchange::new(&own, End::Last, &side(inside_after, &self.families[after].numbers))?;
        let part = GoPart {
            height: self.height,
            spans: self.spans.clone(),
            number: window,
            numbers: family_numbers(&own),
            landing: PartLanding::new(&own, inside_before, threads)?,
            accepting: if after == 0 { own.accepting() } else { Vec::new() },
            own,
            sources,
            ends: [first, last],
            no_tables: BlockTables::default(),
        };
        Ok(Box::new(PartOf { parts: self, part }))
    }

    fn one_column(&self) -> u64 {
        one_column(self.height)
    }
}

#[cfg(test)]
mod tests;
