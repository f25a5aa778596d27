//! Keeps the tables of signatures for parts that are built later.
//!
//! Parts of one window have most of their signatures in common, and a signature's tables depend on its key alone.
//!
//! ```text
//!   (upper, lower)  -->  tables      lists, entries, passes
//!                        nothing     no inside code fits between these two
//! ```
//!
//! A cache that outgrows its limit is emptied. Whoever uses tables of it keeps them alive. The tasks of a stage follow
//! the order of their families, so a cache mostly loses tables that were not needed for a while.
//!
//! Cost: a look-up for each signature of a part.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::scan::{LowerSignature, UpperSignature};
use super::tables::SignatureTables;
use crate::go::state::Word;

/// A signature: its upper and its lower half.
pub(crate) type SignatureKey = (UpperSignature, LowerSignature);

/// Which tables of a signature: the number of the window, and whether they have passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableKind {
    pub(crate) window: usize,
    pub(crate) passes: bool,
}

/// The signatures of all windows.
pub(crate) struct SignatureCache<W> {
    limit_bytes: u64,
    state: Mutex<CacheState<W>>,
}

struct CacheState<W> {
    tables: FxHashMap<(TableKind, SignatureKey), Option<Arc<SignatureTables<W>>>>,
    bytes: u64,
}

impl<W> Default for CacheState<W> {
    fn default() -> Self {
        Self { tables: FxHashMap::default(), bytes: 0 }
    }
}

impl<W: Word> SignatureCache<W> {
    /// An empty cache of at most `limit_bytes`.
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cache for tables of one kind.
    pub(crate) fn of_kind(&self, kind: TableKind) -> CacheView<'_, W> {
        CacheView { cache: self, kind }
    }

    /// Most memory that the cache takes.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }
}

/// The tables of one kind in the cache.
pub(crate) struct CacheView<'a, W> {
    cache: &'a SignatureCache<W>,
    pub(crate) kind: TableKind,
}

impl<W: Word> CacheView<'_, W> {
    /// The tables of a signature. `None` if the cache does not know it; `Some(None)` if no inside code fits.
    #[expect(clippy::option_option, reason = "not known, and known not to be")]
    pub(crate) fn find(&self, key: SignatureKey) -> Option<Option<Arc<SignatureTables<W>>>> {
        self.cache.lock().tables.get(&(self.kind, key)).cloned()
    }

    /// Adds new tables.
    pub(crate) fn insert(&self, new: impl Iterator<Item = (SignatureKey, Option<Arc<SignatureTables<W>>>)>) {
        let limit_bytes = self.cache.limit_bytes;
        let mut state = self.cache.lock();
        for (key, tables) in new {
            let bytes = (size_of::<(TableKind, SignatureKey, Arc<SignatureTables<W>>)>() as u64)
                + tables.as_ref().map_or(0, |tables| tables.bytes());
            if bytes > limit_bytes {
                continue;
            }
            if state.bytes + bytes > limit_bytes {
                *state = CacheState::default();
            }
            if state.tables.insert((self.kind, key), tables).is_none() {
                state.bytes += bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::Colours;
    use super::*;

    /// What does not fit empties the cache and then stays. What is larger than the limit is not kept.
    #[test]
    fn a_full_cache_begins_anew() {
        let key = |number: u32| {
            let none = Colours::default();
            (UpperSignature { stack: none, last: number, across: 0 }, LowerSignature { demands: none, first: number })
        };
        let kind = TableKind { window: 1, passes: true };
        let entry_bytes = size_of::<(TableKind, SignatureKey, Arc<SignatureTables<u64>>)>() as u64;
        let cache = SignatureCache::<u64>::new(3 * entry_bytes);
        let known = |number| cache.of_kind(kind).find(key(number)).is_some();
        let insert = |numbers: &[u32]| cache.of_kind(kind).insert(numbers.iter().map(|&number| (key(number), None)));
        insert(&[0, 1, 1, 2]);
        assert!((0..3).all(known) && !known(3));
        assert!(cache.of_kind(TableKind { passes: false, ..kind }).find(key(0)).is_none());
        insert(&[3]);
        assert!(known(3) && !(0..3).any(known), "the fourth");
        insert(&[4, 5]);
        assert!((3..6).all(known), "three again");
        assert_eq!(cache.lock().bytes, 3 * entry_bytes);
        let small = SignatureCache::<u64>::new(entry_bytes - 1);
        small.of_kind(kind).insert(std::iter::once((key(0), None)));
        assert!(small.of_kind(kind).find(key(0)).is_none());
    }
}
