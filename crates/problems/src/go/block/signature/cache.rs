//! Signatures that have their tables, for parts that are made later.
//!
//! Parts of one window have most of their signatures in common: what a signature's tables are depends on nothing but the
//! upper and the lower half of it, and that of the far operations on the signatures that they lead to.
//!
//! ```text
//!   (upper, lower)  -->  made        lists, places, passes
//!                        nothing     no inside code fits between these two
//! ```
//!
//! Where the catalogue outgrows its limit it is emptied; who has tables of it keeps them. Tasks of a stage follow one
//! another in the order of their families, so what is made again is mostly what was not needed for a while.
//!
//! Cost: a look-up for each signature of a part.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::go::block::passes::builder::SignatureTables;
use crate::go::block::signature::scan::{LowerSignature, UpperSignature};
use crate::go::state::Word;

/// Both halves of a signature.
pub(crate) type SignatureKey = (UpperSignature, LowerSignature);

/// The signatures of all windows.
pub(crate) struct SignatureCache<W> {
    limit_bytes: u64,
    kept: Mutex<CacheState<W>>,
}

/// A part of it: the number of a window, and whether its signatures have passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableKind {
    pub(crate) window: usize,
    pub(crate) passes: bool,
}

struct CacheState<W> {
    made: FxHashMap<(TableKind, SignatureKey), Option<Arc<SignatureTables<W>>>>,
    bytes: u64,
}

impl<W: Word> SignatureCache<W> {
    /// For as many as take `limit_bytes`.
    pub(crate) fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, kept: Mutex::new(CacheState { made: FxHashMap::default(), bytes: 0 }) }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState<W>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A signature, if it is known; `Some(None)` if it is known that there is none.
    #[expect(clippy::option_option, reason = "not known, and known not to be")]
    pub(crate) fn find(&self, kind: TableKind, key: SignatureKey) -> Option<Option<Arc<SignatureTables<W>>>> {
        self.lock().made.get(&(kind, key)).cloned()
    }

    /// Keeps what was made.
    pub(crate) fn keep(
        &self,
        kind: TableKind,
        new: impl Iterator<Item = (SignatureKey, Option<Arc<SignatureTables<W>>>)>,
    ) {
        let mut kept = self.lock();
        for (key, made) in new {
            let bytes = (size_of::<(TableKind, SignatureKey, Arc<SignatureTables<W>>)>() as u64)
                + made.as_ref().map_or(0, |made| made.bytes());
            if bytes > self.limit_bytes {
                continue;
            }
            if kept.bytes + bytes > self.limit_bytes {
                (kept.made, kept.bytes) = (FxHashMap::default(), 0);
            }
            if kept.made.insert((kind, key), made).is_none() {
                kept.bytes += bytes;
            }
        }
    }

    /// Memory that it takes, at most.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go::block::signature::scan::Colours;

    /// What does not fit empties it, and is kept then; what is larger than all of it is not.
    #[test]
    fn a_full_catalogue_begins_anew() {
        let key = |number: u32| {
            let none = Colours::default();
            (UpperSignature { stack: none, last: number, across: 0 }, LowerSignature { demands: none, first: number })
        };
        let kind = TableKind { window: 1, passes: true };
        let entry_bytes = size_of::<(TableKind, SignatureKey, Arc<SignatureTables<u64>>)>() as u64;
        let cache = SignatureCache::<u64>::new(3 * entry_bytes);
        let known = |number| cache.find(kind, key(number)).is_some();
        let keep = |numbers: &[u32]| cache.keep(kind, numbers.iter().map(|&number| (key(number), None)));
        keep(&[0, 1, 1, 2]);
        assert!((0..3).all(known) && !known(3));
        assert!(cache.find(TableKind { passes: false, ..kind }, key(0)).is_none());
        keep(&[3]);
        assert!(known(3) && !(0..3).any(known), "the fourth");
        keep(&[4, 5]);
        assert!((3..6).all(known), "three again");
        assert_eq!(cache.lock().bytes, 3 * entry_bytes);
        let small = SignatureCache::<u64>::new(entry_bytes - 1);
        small.keep(kind, std::iter::once((key(0), None)));
        assert!(small.find(kind, key(0)).is_none());
    }
}
