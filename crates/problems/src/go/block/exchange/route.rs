//! The way from a state of one window to the block of the neighbouring window that holds it.
//!
//! ```text
//!   Route, 64 bits:   | row of the table of entries: 2 x signature + reversed | where the block begins in the vector |
//!                     |<---------------------- 24 bits ---------------------->|<------------- 40 bits -------------->|
//! ```
//!
//! Both are in one word, since looking them up is what an exchange does most.
//!
//! Cost: one hash look-up for each route while tables are built; none later.

use std::sync::atomic::{AtomicU64, Ordering};

use keima_model::End;

use crate::go::block::window::{GoWindow, StateIndex};
use crate::go::state::{Word, normalise};

/// No family of the neighbour has the state, or nobody asks for the code.
pub(crate) const NONE: u32 = u32::MAX;

/// The entry of a state that is in no list: the column is folded, and the list has its image. Folded lists are shorter.
pub(crate) const NO_ENTRY: u16 = u16::MAX;

/// The position of such a state.
pub(crate) const NO_POSITION: u64 = u64::MAX;

/// Where a block begins in the vector, and which row of a table has the entries of its list.
#[derive(Clone, Copy)]
pub(crate) struct Route(u64);

impl Route {
    /// Bits of a start: a vector of 2^40 rows takes 8 TiB at least.
    const START_BITS: u32 = 40;
    /// Bits of a signature. Its row is twice its number, or the next one where the block's outside is reversed.
    const SIGNATURE_BITS: u32 = u64::BITS - Self::START_BITS - 1;
    /// No block of the boundary has the state.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// The route to a block that is not reversed. [`BlockStarts::new`] has checked that both numbers fit.
    fn new(signature: u32, start: u64) -> Self {
        Self(u64::from(signature) << (Self::START_BITS + 1) | start)
    }

    /// The route to the same block, where its outside is reversed.
    fn reversed_if(self, reversed: bool) -> Self {
        Self(self.0 | u64::from(reversed) << Self::START_BITS)
    }

    #[inline]
    pub(crate) fn start(self) -> u64 {
        self.0 & ((1 << Self::START_BITS) - 1)
    }

    #[inline]
    pub(crate) fn row(self) -> usize {
        (self.0 >> Self::START_BITS) as usize
    }
}

/// Routes that several threads fill in.
pub(crate) struct RouteCells(Vec<AtomicU64>);

impl RouteCells {
    /// So many, all [`Route::NONE`].
    pub(crate) fn new(count: usize) -> Self {
        Self(std::iter::repeat_with(|| AtomicU64::new(Route::NONE.0)).take(count).collect())
    }

    /// Sets one. Nobody reads before all threads have ended.
    pub(crate) fn set(&self, number: usize, route: Route) {
        self.0[number].store(route.0, Ordering::Relaxed);
    }

    /// What was set.
    pub(crate) fn into_routes(self) -> Vec<Route> {
        self.0.into_iter().map(|cell| Route(cell.into_inner())).collect()
    }
}

/// The route to each block of a vector, not reversed.
pub(crate) struct BlockStarts(Vec<Route>);

impl BlockStarts {
    /// The routes at the first (0) or the last step (1) of a window.
    pub(crate) fn new<W: Word>(window: &GoWindow<W>, end: usize) -> Result<Self, String> {
        let tables = &window.tables;
        let step = if end == 0 { 0 } else { window.window.len as usize };
        let (states, signatures) = (tables.states[step], tables.signatures.len());
        if states >> Route::START_BITS != 0 || signatures >> Route::SIGNATURE_BITS != 0 {
            return Err(format!(
                "a vector of {states} states in blocks of {signatures} signatures: fewer than 2^{} states and \
                 2^{} signatures are possible; use shorter windows",
                Route::START_BITS,
                Route::SIGNATURE_BITS
            ));
        }
        let mut starts = Vec::with_capacity(tables.signature_of.len());
        for family in &tables.families {
            starts.extend(family.blocks.clone().map(|block| {
                let start = family.start[step] + tables.place(step, block);
                Route::new(tables.signature_of[block as usize], start)
            }));
        }
        Ok(Self(starts))
    }

    /// The route to a block, not reversed and reversed.
    pub(crate) fn both_ways(&self, block: usize) -> [Route; 2] {
        [false, true].map(|reversed| self.0[block].reversed_if(reversed))
    }

    /// Where a block begins.
    pub(crate) fn of(&self, block: u32) -> u64 {
        self.0[block as usize].start()
    }

    /// The route to the block of an outside or its reversal, if there is one; `outside` is [`outside_cells`].
    pub(crate) fn route<W: Word>(&self, index: &StateIndex<W>, outside: W, word: W) -> Route {
        let representative = normalise(word, outside);
        let block = index.block_of.get(representative);
        block.map_or(Route::NONE, |block| self.0[block as usize].reversed_if(representative != word))
    }

    /// Memory that the routes take.
    pub(crate) fn bytes(&self) -> u64 {
        size_of_val(self.0.as_slice()) as u64
    }
}

/// The low bit of the nibble of every cell outside a window.
pub(crate) fn outside_cells<W: Word>(window: &GoWindow<W>) -> W {
    !window.inside & W::ONES
}

/// 0 for the first step of a window, 1 for its last.
pub(crate) fn index(end: End) -> usize {
    match end {
        End::First => 0,
        End::Last => 1,
    }
}
