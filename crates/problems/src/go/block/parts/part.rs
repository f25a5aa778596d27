//! The tables of some families of a window, as the engine sees them.
//!
//! See [`super`] for which tables a part has. Cost: look-ups only; [`GoParts`](super::GoParts) builds the tables.

use std::sync::Arc;

use keima_model::{BlockColumn, BlockTables, End, Window};

use crate::go::block::cut::one_column;
use crate::go::block::exchange::Exchange;
use crate::go::block::window::{GoWindow, StateIndex};
use crate::go::state::{Word, accepts};

/// The tables of some families of a window, and of the families of the window before that have states for them.
pub(crate) struct GoPart<W> {
    pub(crate) height: u32,
    pub(crate) spans: Vec<Window>,
    /// Number of the window.
    pub(crate) number: usize,
    pub(crate) own: GoWindow<W>,
    pub(crate) index: StateIndex<W>,
    pub(crate) source: Arc<GoWindow<W>>,
    /// The exchange from the window before.
    pub(crate) into: Exchange,
    /// The exchanges at the window's own ends: families, classes and samples, no positions.
    pub(crate) ends: [Exchange; 2],
    /// `accepting[signature]`: the accepting entries, where the window ends the column.
    pub(crate) accepting: Vec<Vec<u16>>,
    /// For windows without tables.
    pub(crate) no_tables: BlockTables,
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
            _ => &self.no_tables,
        }
    }

    fn bytes(&self) -> u64 {
        let windows = [&self.own, &self.source].map(|window| window.list_bytes() + window.block_bytes());
        let exchanges = [&self.into, &self.ends[0], &self.ends[1]].map(Exchange::bytes);
        windows.iter().chain(&exchanges).sum::<u64>() + self.index.bytes()
    }

    fn positions(&self, _window: usize, _end: End, _block: u32, positions: &mut Vec<u64>) {
        // Only some of the entries have positions here: see `positions_of`.
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

    fn family_keys(&self, window: usize, block: u32, entries: u64) -> u64 {
        // Without stones outside, a state and its reversal are both entries.
        if self.weight(window, block) == 1 { entries.div_ceil(2) } else { entries }
    }

    fn accepting(&self, block: u32) -> &[u16] {
        let accepting = self.accepting.get(self.own.signature(block) as usize);
        accepting.filter(|_| accepts(self.own.outsides[block as usize])).map_or(&[], Vec::as_slice)
    }

    fn start(&self, window: usize, end: End) -> Vec<u64> {
        if window == self.number { self.own.start(self.height, &self.index, end) } else { Vec::new() }
    }

    fn one_column(&self) -> u64 {
        one_column(self.height)
    }
}
