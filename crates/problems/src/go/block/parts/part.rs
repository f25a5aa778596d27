//! The tables of some families of a window, as the engine sees them.
//!
//! Cost: look-ups only; [`GoParts`](super::GoParts) builds the tables.

use keima_model::{BlockColumn, BlockPart, BlockSources, BlockTables, End, Window};
use rustc_hash::FxHashMap;

use super::GoParts;
use super::landing::PartLanding;
use super::sources::GoSources;
use crate::go::block::cells::{inside_of, normal_colours};
use crate::go::block::cut::one_column;
use crate::go::block::exchange::Exchange;
use crate::go::block::window::GoWindow;
use crate::go::state::{Word, accepts};

/// The tables of some families of a window.
pub(crate) struct GoPart<W> {
    pub(crate) height: u32,
    pub(crate) spans: Vec<Window>,
    /// Number of the window.
    pub(crate) number: usize,
    pub(crate) own: GoWindow<W>,
    /// The numbers of the families, by their colours.
    pub(crate) numbers: FxHashMap<W, u32>,
    /// Families of the window before that have states for these.
    pub(crate) sources: Vec<u32>,
    /// Where these states go.
    pub(crate) landing: PartLanding<W>,
    /// The exchanges at the window's own ends: families, classes and samples, no positions.
    pub(crate) ends: [Exchange; 2],
    /// `accepting[signature]`: the accepting entries, where the window ends the column.
    pub(crate) accepting: Vec<Vec<u16>>,
    /// For windows without tables.
    pub(crate) no_tables: BlockTables,
}

/// A part, and what it was built of.
pub(crate) struct PartOf<'a, W> {
    pub(crate) parts: &'a GoParts<W>,
    pub(crate) part: GoPart<W>,
}

impl<W: Word> GoPart<W> {
    /// The number of the window before.
    pub(crate) fn before(&self) -> usize {
        End::First.neighbour(self.number, self.spans.len())
    }

    /// All bits of the cells of the window before.
    pub(crate) fn inside_before(&self) -> W {
        inside_of(self.spans[self.before()])
    }

    /// All bits of the cells outside both windows.
    pub(crate) fn rest_bits(&self) -> W {
        !(self.own.inside | self.inside_before())
    }

    /// The low bit of each of these cells.
    pub(crate) fn rest_cells(&self) -> W {
        self.rest_bits() & W::ONES
    }

    /// Whether the part has the family of these colours outside its window, or of their reversal.
    pub(crate) fn has(&self, colours: W) -> bool {
        self.numbers.contains_key(&normal_colours(colours))
    }

    fn exchange(&self, end: End) -> &Exchange {
        let [first, last] = &self.ends;
        match end {
            End::First => first,
            End::Last => last,
        }
    }
}

impl<W: Word> BlockPart for PartOf<'_, W> {
    fn column(&self) -> &dyn BlockColumn {
        &self.part
    }

    fn source_families(&self) -> &[u32] {
        &self.part.sources
    }

    fn sources(&self) -> Box<dyn BlockSources + '_> {
        Box::new(GoSources::new(self.parts, &self.part, self.part.before()))
    }
}

impl<W: Word> BlockColumn for GoPart<W> {
    fn windows(&self) -> &[Window] {
        &self.spans
    }

    fn tables(&self, window: usize) -> &BlockTables {
        if window == self.number { &self.own.tables } else { &self.no_tables }
    }

    fn bytes(&self) -> u64 {
        let own = self.own.list_bytes() + self.own.block_bytes();
        own + self.landing.bytes() + self.ends.iter().map(Exchange::bytes).sum::<u64>()
    }

    fn positions(&self, _window: usize, _end: End, _block: u32, positions: &mut Vec<u64>) {
        // Only the states that enter have positions here: see `BlockSources`.
        positions.clear();
    }

    fn positions_of(&self, _window: usize, _end: End, _block: u32, _entries: &[u16], positions: &mut Vec<u64>) {
        positions.clear();
    }

    fn families(&self, _window: usize, end: End, block: u32, families: &mut Vec<u32>) {
        self.exchange(end).families(block, self.own.signature(block), families);
    }

    fn rest(&self, window: usize, end: End, family: u32) -> u64 {
        self.own.rest(self.spans[end.neighbour(window, self.spans.len())], family)
    }

    fn exchange_class(&self, _window: usize, end: End, block: u32) -> u32 {
        self.exchange(end).class(block)
    }

    fn sample(&self, _window: usize, end: End, block: u32, key: u64, sample: &mut Vec<u16>) {
        self.exchange(end).sample(block, self.own.signature(block), key, sample);
    }

    fn twins(&self, _window: usize, end: End, block: u32) -> Vec<u16> {
        self.own.twins(end, block)
    }

    fn keys(&self, _window: usize, end: End, block: u32, keys: &mut Vec<u128>) {
        self.own.keys(end, block, None, keys);
    }

    fn keys_of(&self, _window: usize, end: End, block: u32, entries: &[u16], keys: &mut Vec<u128>) {
        self.own.keys(end, block, Some(entries), keys);
    }

    fn weight(&self, _window: usize, block: u32) -> u64 {
        self.own.weight(block)
    }

    fn family_keys(&self, window: usize, block: u32, entries: u64) -> u64 {
        // Without stones outside, a state and its reversal are both entries.
        if self.weight(window, block) == 1 { entries.div_ceil(2) } else { entries }
    }

    fn accepting(&self, block: u32) -> &[u16] {
        let accepting = self.accepting.get(self.own.signature(block) as usize);
        accepting.filter(|_| accepts(self.own.outsides[block as usize])).map_or(&[], Vec::as_slice)
    }

    fn start(&self, window: usize, end: End) -> Vec<u64> {
        if window == self.number { self.own.start(self.height, &self.own.index(), end) } else { Vec::new() }
    }

    fn one_column(&self) -> u64 {
        one_column(self.height)
    }
}
