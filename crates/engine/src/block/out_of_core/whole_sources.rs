//! The blocks of the source window by tables of all families, for a group: [`BlockSources`] as a part has them.
//!
//! Cost: a look-up for each block, and those of the exchange for each state. Memory: the entries that belong to the group,
//! for each signature and class of blocks that occurs.

use std::ops::Range;
use std::sync::Arc;

use keima_model::{BlockColumn, BlockSources, End};
use rustc_hash::FxHashMap;

use crate::block::out_of_core::gather::stands;

/// A reader of the source window's blocks.
pub(crate) struct WholeSources<'a> {
    column: &'a dyn BlockColumn,
    /// The source window, and the end at which its states leave it.
    window: usize,
    end: End,
    /// The group's families, by their numbers in the window to come.
    own: Range<u32>,
    /// The entries that belong to the group, ascending, for each signature and class of blocks.
    routes: FxHashMap<(u32, u32), Arc<[u16]>>,
    /// Blocks that are left of the family.
    blocks: Range<u32>,
    /// The present block and its entries.
    block: u32,
    entries: Arc<[u16]>,
}

impl<'a> WholeSources<'a> {
    /// For the families `own` of the window to come.
    pub(crate) fn new(column: &'a dyn BlockColumn, window: usize, end: End, own: Range<u32>) -> Self {
        let (routes, entries) = (FxHashMap::default(), Arc::default());
        Self { column, window, end, own, routes, blocks: 0..0, block: 0, entries }
    }

    /// The entries of a block that belong to the group and represent their keys.
    fn route(&mut self, block: u32) -> Arc<[u16]> {
        let Self { column, window, end, ref own, .. } = *self;
        let signature = column.tables(window).signature_of[block as usize];
        let class = column.exchange_class(window, end, block);
        let route = self.routes.entry((signature, class)).or_insert_with(|| {
            let mut families = Vec::new();
            column.families(window, end, block, &mut families);
            let twins = column.twins(window, end, block);
            (0..=u16::MAX)
                .zip(&families)
                .filter(|&(ref entry, family)| own.contains(family) && stands(&twins, *entry))
                .map(|(entry, _)| entry)
                .collect()
        });
        Arc::clone(route)
    }
}

impl BlockSources for WholeSources<'_> {
    fn open(&mut self, family: u32) -> Result<(), String> {
        let families = &self.column.tables(self.window).families;
        let Some(family) = families.get(family as usize) else {
            return Err(format!("window {} has {} families, without {family}", self.window, families.len()));
        };
        self.blocks = family.blocks.clone();
        Ok(())
    }

    fn advance(&mut self) -> bool {
        let Some(block) = self.blocks.next() else {
            self.entries = Arc::default();
            return false;
        };
        (self.block, self.entries) = (block, self.route(block));
        true
    }

    fn positions(&self, positions: &mut Vec<u64>) {
        self.column.positions_of(self.window, self.end, self.block, &self.entries, positions);
    }

    fn keys(&self, keys: &mut Vec<u128>) {
        self.column.keys_of(self.window, self.end, self.block, &self.entries, keys);
    }
}
