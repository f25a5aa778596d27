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

use keima_model::{BlockColumn, BlockPart, BlockParts, BlockTables, End, FamilyList, Sources, Window};
use rustc_hash::FxHashMap;

use super::super::state::{Word, accepts};
use super::catalogue::{Catalogue, Shelf};
use super::column::{check_cut, in_parallel, one_column};
use super::exchange::{Exchange, Side, family_numbers};
use super::families::Families;
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

    /// Tables of some families of the window before, without passes; those of the last part if they are of the same.
    fn source(&self, number: usize, families: &[u32], last: Option<&Sources>) -> Result<Arc<GoWindow<W>>, String> {
        let same = last.filter(|last| last.families == families);
        if let Some(window) = same.and_then(|last| Arc::clone(&last.tables).downcast::<GoWindow<W>>().ok())
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

    fn part(&self, window: usize, families: Range<u32>, last: Option<&Sources>) -> Result<BlockPart, String> {
        let before = self.before(window);
        let all = &self.families[window];
        let own = families.start as usize..families.end as usize;
        let (Some(patterns), Some(rests)) = (all.patterns.get(own.clone()), all.list.rests[0].get(own)) else {
            return Err(format!("window {window} has {} families, and not {families:?}", all.patterns.len()));
        };
        let by_rest = &self.by_rest[before];
        let mut sources = Vec::new();
        for rest in rests.chunk_by(|a, b| a == b).filter_map(|same| same.first()) {
            let first = by_rest.partition_point(|(other, _)| other < rest);
            sources.extend(by_rest[first..].iter().take_while(|(other, _)| other == rest).map(|&(_, family)| family));
        }
        sources.sort_unstable();
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
mod tests {
    use std::collections::BTreeMap;

    use keima_model::Directions;

    use super::super::super::state::{normalise, successors};
    use super::super::GoColumn;
    use super::super::tests::through;
    use super::*;

    /// The keys of all blocks of some families at `end`, in their order.
    fn keys(column: &dyn BlockColumn, window: usize, end: End, families: &[u32]) -> Vec<Vec<u128>> {
        let tables = column.tables(window);
        let blocks = families.iter().flat_map(|&family| tables.families[family as usize].blocks.clone());
        let keys = |block| {
            let mut keys = Vec::new();
            column.keys(window, end, block, &mut keys);
            keys
        };
        // Without entries at the last step only.
        blocks.map(keys).filter(|keys| !keys.is_empty()).collect()
    }

    /// A part's tables against those of the whole column: the same entries at the same places, the same passes, and the
    /// same ways from the window before and to the one after.
    fn check(
        whole: &dyn BlockColumn,
        parts: &dyn BlockParts,
        window: usize,
        families: Range<u32>,
        last: &mut Option<Sources>,
        what: &str,
    ) {
        let BlockPart { column: part, sources } = parts.part(window, families.clone(), last.as_ref()).unwrap();
        *last = Some(sources.clone());
        let part = part.as_ref();
        let (own, all) = (part.tables(window), whole.tables(window));
        let global: Vec<u32> = families.clone().collect();
        let local: Vec<u32> = (0..global.len() as u32).collect();
        for end in [End::First, End::Last] {
            assert_eq!(keys(part, window, end, &local), keys(whole, window, end, &global), "{what}, {end:?}");
        }
        let first_block = all.families[families.start as usize].blocks.start;
        for (block, global) in (0..own.signature_of.len() as u32).zip(first_block..) {
            let own_passes = &own.signatures[own.signature_of[block as usize] as usize].passes;
            let passes = &all.signatures[all.signature_of[global as usize] as usize].passes;
            for (pass, (one, other)) in own_passes.iter().zip(passes).enumerate() {
                assert_eq!((&one.in_degrees, &one.sources, &one.far), (&other.in_degrees, &other.sources, &other.far));
                let targets = |far: &keima_model::FarTargets, block: u32| {
                    let range = far.first[block as usize] as usize..far.first[block as usize + 1] as usize;
                    far.targets[range].to_vec()
                };
                let expected = targets(&all.far[pass], global);
                let got: Vec<u32> =
                    targets(&own.far[pass], block).into_iter().map(|target| target + first_block).collect();
                assert_eq!(got, expected, "{what}: far targets of block {block}");
            }
            for end in [End::First, End::Last] {
                let (mut one, mut other) = (Vec::new(), Vec::new());
                part.sample(window, end, block, 7, &mut one);
                whole.sample(window, end, global, 7, &mut other);
                assert_eq!(one, other, "{what}: sample");
                assert_eq!(part.twins(window, end, block), whole.twins(window, end, global), "{what}: twins");
            }
            let (mut one, mut other) = (Vec::new(), Vec::new());
            part.families(window, End::Last, block, &mut one);
            whole.families(window, End::Last, global, &mut other);
            assert_eq!(one, other, "{what}: families after");
            assert_eq!(part.weight(window, block), whole.weight(window, global));
            if window + 1 == part.windows().len() {
                assert_eq!(part.accepting(block), whole.accepting(global), "{what}: accepting");
            }
        }
        let base = all.families[families.start as usize].start[0];
        let end = all.families[families.end as usize - 1].start[0] + all.families[families.end as usize - 1].size[0];
        let mut start = part.start(window, End::First);
        start.sort_unstable();
        let mut expected = whole.start(window, End::First);
        expected.retain(|position| (base..end).contains(position));
        for position in &mut expected {
            *position -= base;
        }
        expected.sort_unstable();
        assert_eq!(start, expected, "{what}: start");
        check_sources(whole, part, window, (&sources.families, families, base), what);
    }

    /// Every entry of the window before that goes to the part, and where.
    fn check_sources(
        whole: &dyn BlockColumn,
        part: &dyn BlockColumn,
        window: usize,
        (sources, families, base): (&[u32], Range<u32>, u64),
        what: &str,
    ) {
        let before = (window + whole.windows().len() - 1) % whole.windows().len();
        // (key, position) of the entries that go there, in their order.
        let ways = |column: &dyn BlockColumn, numbers: &[u32], wanted: Range<u32>, base: u64| {
            let tables = column.tables(before);
            let (mut met, mut positions, mut keys, mut ways) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            for block in numbers.iter().flat_map(|&number| tables.families[number as usize].blocks.clone()) {
                column.families(before, End::Last, block, &mut met);
                let entries: Vec<u16> =
                    (0..).zip(&met).filter(|&(_, family)| wanted.contains(family)).map(|(entry, _)| entry).collect();
                column.positions_of(before, End::Last, block, &entries, &mut positions);
                column.keys_of(before, End::Last, block, &entries, &mut keys);
                ways.extend(keys.iter().copied().zip(positions.iter().map(|position| position - base)));
            }
            ways
        };
        let all: Vec<u32> = (0..whole.tables(before).families.len() as u32).collect();
        let expected = ways(whole, &all, families.clone(), base);
        let local: Vec<u32> = (0..sources.len() as u32).collect();
        assert_eq!(ways(part, &local, 0..families.end - families.start, 0), expected, "{what}: from the window before");
        assert!(!expected.is_empty());
    }

    #[test]
    fn parts_are_parts_of_the_whole() {
        for lengths in [&[1, 1][..], &[2, 2], &[3, 2], &[2, 2, 1], &[1, 2, 2], &[2, 3, 2], &[2, 2, 2, 2]] {
            let windows = Window::of_lengths(lengths);
            let height = lengths.iter().sum();
            let whole = GoColumn::<u64>::new(height, &windows, Directions::Forward).unwrap();
            // One of which nothing is kept for the next part, and one that keeps all.
            let narrow = GoParts::<u64>::new(height, &windows, 0).unwrap();
            let wide = GoParts::<u128>::new(height, &windows, 1 << 30).unwrap();
            let mut last = None;
            for window in 0..windows.len() {
                let count = narrow.families(window).ends.len() as u32;
                let all: Vec<Range<u32>> = match count {
                    0..6 => (0..count).flat_map(|from| (from + 1..=count).map(move |to| from..to)).collect(),
                    _ => {
                        vec![0..1, 1..count / 3, count / 3..count / 2, count / 2..count - 1, count - 1..count, 0..count]
                    }
                };
                for families in all {
                    let what = format!("{lengths:?}, window {window}, families {families:?}");
                    check(&whole, &narrow, window, families.clone(), &mut None, &what);
                    check(&whole, &wide, window, families, &mut last, &what);
                }
            }
        }
    }

    /// Families of boards too high for whole tables: each state of a part through a window by plain expansion.
    #[test]
    fn parts_of_high_columns_expand_as_states_do() {
        for lengths in [&[6, 6, 5][..], &[5, 6, 6]] {
            let windows = Window::of_lengths(lengths);
            let height = lengths.iter().sum();
            let parts = GoParts::<u128>::new(height, &windows, 1 << 20).unwrap();
            for (number, &window) in windows.iter().enumerate() {
                for family in [0, 1, 40, 600] {
                    let part = parts.part(number, family..family + 1, None).unwrap().column;
                    let what = format!("{lengths:?}, window {number}, family {family}");
                    check_expansion(part.as_ref(), number, window, &what);
                }
            }
        }
    }

    /// All states of a part, each with the value 1.
    fn check_expansion(part: &dyn BlockColumn, number: usize, window: Window, what: &str) {
        let tables = part.tables(number);
        let all = |end| keys(part, number, end, &[0]).concat();
        let mut expected: BTreeMap<u128, u64> = BTreeMap::new();
        for key in all(End::First) {
            let mut states = vec![key];
            for cell in window.first..window.end() {
                let next = |&state: &u128| {
                    let (next, count) = successors(cell, state);
                    next.into_iter().take(count)
                };
                states = states.iter().flat_map(next).collect();
            }
            for state in states {
                *expected.entry(normalise(state, 0)).or_default() += 1;
            }
        }
        let after = through(tables, &vec![1; tables.states[0] as usize]);
        let mut got: BTreeMap<u128, u64> = BTreeMap::new();
        // Some states are in no state's reach.
        for (key, value) in all(End::Last).into_iter().zip(after).filter(|&(_, value)| value > 0) {
            *got.entry(key).or_default() += value;
        }
        assert!(!got.is_empty() && got == expected, "{what}: {} states, expected {}", got.len(), expected.len());
    }
}
