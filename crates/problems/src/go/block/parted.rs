//! A column too high for the tables of all of its blocks: tables of a few families at a time.
//!
//! States go from one window to the next within one *rest*, the colours of the cells outside both. So whoever takes some
//! families of a window through it needs the tables of these, and of the window before the blocks whose rests are theirs:
//!
//! ```text
//!   height 9, windows of 3; families of the middle window with the colours B . B in cells 0 to 2 and W . . in 6 to 8
//!
//!   before   cells 0-2   rest: cells 6 to 8 are W . .   27 families, one for each colouring of cells 3 to 5; no passes
//!   own      cells 3-5   this one family                all tables
//!   after    cells 6-8   the list of all families, for where rows go
//! ```
//!
//! Between parts the lists of families are kept, signatures ([`super::catalogue`]), and for a part that follows another of the
//! same rests the blocks of the window before. A part's blocks and entries stand in the order in which they stand in the
//! tables of all families, so that runs are the same.
//!
//! Cost of a part: for each signature that is new its lists and two expansions an entry and step, as in [`super::tables`];
//! and what [`super::memory`] tells of blocks.

use std::ops::Range;
use std::sync::Arc;

use keima_model::{BlockColumn, BlockPart, BlockParts, BlockTables, End, FamilyBounds, FamilyList, Sources, Window};
use rustc_hash::FxHashMap;

use super::super::state::{Word, accepts};
use super::catalogue::{Catalogue, Shelf};
use super::column::{check_cut, in_parallel, one_column};
use super::exchange::{Exchange, Side, family_numbers};
use super::families::Families;
use super::memory;
use super::window::{Finder, GoWindow, inside_of};

/// The families of all windows of a column.
pub struct GoParts<W> {
    height: u32,
    spans: Vec<Window>,
    families: Vec<Families<W>>,
    catalogue: Catalogue<W>,
    /// For each window (rest with the window after, family), ascending.
    by_rest: Vec<Vec<(u64, u32)>>,
}

impl<W: Word> GoParts<W> {
    /// Of `windows`, two or more, which cut a column of `height` cells; some `kept_bytes` of what parts have in common are
    /// kept for others.
    pub fn new(height: u32, windows: &[Window], kept_bytes: u64) -> Result<Self, String> {
        check_cut(height, windows)?;
        if windows.len() < 2 {
            return Err("parts are of columns of two windows and more".into());
        }
        let count = windows.len();
        let numbers: Vec<usize> = (0..count).collect();
        let families = in_parallel(&numbers, |&number| {
            let [before, after] = [End::First, End::Last].map(|end| windows[end.neighbour(number, count)]);
            Families::new(height, windows[number], before, after)
        })?;
        let by_rest = families.iter().map(|families| {
            let mut by_rest: Vec<(u64, u32)> = families.list.rests[1].iter().copied().zip(0..).collect();
            by_rest.sort_unstable();
            by_rest
        });
        let catalogue = Catalogue::new(kept_bytes);
        Ok(Self { height, spans: windows.to_vec(), catalogue, by_rest: by_rest.collect(), families })
    }

    fn before(&self, window: usize) -> usize {
        End::First.neighbour(window, self.spans.len())
    }

    fn window(&self, number: usize, patterns: &[W], passes: bool) -> Result<(GoWindow<W>, Finder<W>), String> {
        let (window, before) = (self.spans[number], self.spans[self.before(number)]);
        let shelf = Shelf { window: number, passes };
        GoWindow::of_families(self.height, window, before, patterns, (&self.catalogue, shelf))
    }

    /// Families of the window before that have states for some of a window, ascending.
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

    /// Tables of some families of the window before, without passes; those of the last part if they are of the same.
    fn source(&self, number: usize, families: &[u32], last: Option<Sources>) -> Result<Arc<GoWindow<W>>, String> {
        let same = last.filter(|last| last.families == families);
        if let Some(window) = same.and_then(|last| last.tables.downcast::<GoWindow<W>>().ok())
            && window.window == self.spans[number]
        {
            return Ok(window);
        }
        let patterns: Vec<W> = families.iter().map(|&family| self.families[number].patterns[family as usize]).collect();
        Ok(Arc::new(self.window(number, &patterns, false)?.0))
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
        by_rest.chain(self.families.iter().map(Families::bytes)).sum::<u64>() + self.catalogue.limit_bytes()
    }

    fn family_bounds(&self) -> FamilyBounds {
        memory::FAMILY_BOUNDS
    }

    fn part_bytes(&self, window: usize, families: Range<u32>) -> u64 {
        let before = self.before(window);
        let states = |number: usize, family: u32| {
            self.families[number].list.ends.get(family as usize).map_or(0, |ends| ends[0].max(ends[1]))
        };
        let sources = self.source_families(window, families.clone()).unwrap_or_default();
        let source_states = sources.iter().map(|&family| states(before, family)).sum();
        let own_states = families.map(|family| states(window, family)).sum();
        memory::part_bytes((self.spans[window], own_states), (self.spans[before], source_states))
    }

    fn part(&self, window: usize, families: Range<u32>, last: Option<Sources>) -> Result<BlockPart, String> {
        let before = self.before(window);
        let all = &self.families[window];
        let patterns = all.patterns.get(families.start as usize..families.end as usize);
        let (Some(patterns), Some(sources)) = (patterns, self.source_families(window, families.clone())) else {
            return Err(format!("window {window} has {} families, and not {families:?}", all.patterns.len()));
        };
        let source = self.source(before, &sources, last)?;
        let (own, finder) = self.window(window, patterns, true)?;
        if own.tables.families.len() != patterns.len() || source.tables.families.len() != sources.len() {
            return Err("a family has no blocks; this is a fault of the program".into());
        }
        let after = End::Last.neighbour(window, self.spans.len());
        let numbers = family_numbers(&own);
        let side = Side { inside: own.inside, families: &numbers, blocks: Some((&own, &finder)) };
        let into = Exchange::new(&source, End::Last, &side)?;
        let nobody = FxHashMap::default();
        let side = |inside, families| Side { inside, families, blocks: None };
        let first = Exchange::new(&own, End::First, &side(source.inside, &nobody))?;
        let last = Exchange::new(&own, End::Last, &side(inside_of(self.spans[after]), &self.families[after].numbers))?;
        let accepting = if after == 0 { own.accepting() } else { Vec::new() };
        let part = GoPart {
            height: self.height,
            spans: self.spans.clone(),
            number: window,
            own,
            finder,
            source: Arc::clone(&source),
            into,
            ends: [first, last],
            accepting,
            none: BlockTables::default(),
        };
        let sources = Sources { families: sources, tables: source };
        Ok(BlockPart { column: Box::new(part), sources })
    }

    fn one_column(&self) -> u64 {
        one_column(self.height)
    }
}

/// Tables of some families of a window, and of those of the window before that have states for them.
struct GoPart<W> {
    height: u32,
    spans: Vec<Window>,
    /// Number of the window.
    number: usize,
    own: GoWindow<W>,
    finder: Finder<W>,
    source: Arc<GoWindow<W>>,
    /// From the window before.
    into: Exchange,
    /// What is known of the exchanges at the window's own ends: families, classes and samples.
    ends: [Exchange; 2],
    /// For each signature the accepting entries, where the window ends the column.
    accepting: Vec<Vec<u16>>,
    /// Of windows that there are no tables of.
    none: BlockTables,
}

impl<W: Word> GoPart<W> {
    fn window(&self, window: usize) -> &GoWindow<W> {
        if window == self.number { &self.own } else { &self.source }
    }

    fn exchange(&self, window: usize, end: End) -> &Exchange {
        match end {
            _ if window != self.number => &self.into,
            End::First => &self.ends[0],
            End::Last => &self.ends[1],
        }
    }
}

impl<W: Word> BlockColumn for GoPart<W> {
    fn windows(&self) -> &[Window] {
        &self.spans
    }

    fn tables(&self, window: usize) -> &BlockTables {
        let source = End::First.neighbour(self.number, self.spans.len());
        match window {
            _ if window == self.number => &self.own.tables,
            _ if window == source => &self.source.tables,
            _ => &self.none,
        }
    }

    fn bytes(&self) -> u64 {
        let windows = [&self.own, &self.source].map(|window| window.list_bytes() + window.block_bytes());
        let exchanges = [&self.into, &self.ends[0], &self.ends[1]].map(Exchange::bytes);
        windows.iter().chain(&exchanges).sum::<u64>() + self.finder.bytes()
    }

    fn positions(&self, _window: usize, _end: End, _block: u32, positions: &mut Vec<u64>) {
        // Of all entries: only some of them have positions here.
        positions.clear();
    }

    fn positions_of(&self, window: usize, end: End, block: u32, entries: &[u16], positions: &mut Vec<u64>) {
        let signature = self.window(window).signature(block);
        self.exchange(window, end).positions_of(block, signature, entries, positions);
    }

    fn families(&self, window: usize, end: End, block: u32, families: &mut Vec<u32>) {
        self.exchange(window, end).families(block, self.window(window).signature(block), families);
    }

    fn rest(&self, window: usize, end: End, family: u32) -> u64 {
        self.window(window).rest(self.spans[end.neighbour(window, self.spans.len())], family)
    }

    fn exchange_class(&self, window: usize, end: End, block: u32) -> u32 {
        self.exchange(window, end).class(block)
    }

    fn sample(&self, window: usize, end: End, block: u32, key: u64, sample: &mut Vec<u16>) {
        self.exchange(window, end).sample(block, self.window(window).signature(block), key, sample);
    }

    fn twins(&self, window: usize, end: End, block: u32) -> Vec<u16> {
        self.window(window).twins(end, block)
    }

    fn keys(&self, window: usize, end: End, block: u32, keys: &mut Vec<u128>) {
        self.window(window).keys(end, block, None, keys);
    }

    fn keys_of(&self, window: usize, end: End, block: u32, entries: &[u16], keys: &mut Vec<u128>) {
        self.window(window).keys(end, block, Some(entries), keys);
    }

    fn weight(&self, window: usize, block: u32) -> u64 {
        self.window(window).weight(block)
    }

    fn accepting(&self, block: u32) -> &[u16] {
        let accepting = self.accepting.get(self.own.signature(block) as usize);
        accepting.filter(|_| accepts(self.own.outsides[block as usize])).map_or(&[], Vec::as_slice)
    }

    fn start(&self, window: usize, end: End) -> Vec<u64> {
        if window == self.number { self.own.start(self.height, &self.finder, end) } else { Vec::new() }
    }

    fn one_column(&self) -> u64 {
        one_column(self.height)
    }
}

#[cfg(test)]
mod tests;
