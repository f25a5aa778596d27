//! The lists of a signature in their final order.
//!
//! After a pass a list is ordered by the number of local sources, so that sums of one length stand together. At both ends
//! of the window it is also ordered as the blocks of the next window are that have these codes outside. So neighbours in
//! a list mostly lead to neighbouring blocks, which are then read together.
//!
//! Cost: one expansion per entry of each list, and a sort.

use std::sync::Arc;

use keima_model::{PassTable, Signature, Window};

use crate::go::block::cells::{colours, potential};
use crate::go::block::signature::entry_index::EntryIndex;
use crate::go::block::signature::tables::{FarSample, SignatureTables};
use crate::go::state::{Word, successors};

/// The lists of a signature, with an index of each.
pub(crate) struct OrderedLists<W> {
    /// `lists[step]`: inside codes.
    pub(crate) lists: Vec<Vec<W>>,
    /// `entries[step]`: the entry of each code.
    pub(crate) entries: Vec<Arc<EntryIndex<W>>>,
    /// One outside of this signature.
    pub(crate) sample: W,
}

impl<W: Word> OrderedLists<W> {
    /// Orders lists that are in ascending order.
    pub(crate) fn new(window: Window, inside: W, mut lists: Vec<Vec<W>>, sample: W) -> Self {
        let as_blocks = |code| (colours(code, inside), potential(code, window.first..window.end()), code);
        let mut entries = Vec::with_capacity(lists.len());
        for step in 0..lists.len() {
            if step > 0 {
                let degrees = local_degrees(window, inside, sample, step, &lists);
                let last = step + 1 == lists.len();
                let as_blocks = |code| if last { as_blocks(code) } else { (W::ZERO, 0, code) };
                let codes = lists[step].iter().map(|&code| as_blocks(code));
                let mut order: Vec<(u16, (W, u32, W))> = degrees.into_iter().zip(codes).collect();
                order.sort_unstable();
                lists[step].iter_mut().zip(order).for_each(|(code, (_, (.., ordered)))| *code = ordered);
            } else {
                lists[step].sort_by_cached_key(|&code| as_blocks(code));
            }
            entries.push(Arc::new(EntryIndex::new(&lists[step], inside)));
        }
        Self { lists, entries, sample }
    }

    /// The tables of the signature, once its passes are known.
    pub(crate) fn into_tables(
        self,
        passes: Vec<PassTable>,
        far: Vec<Vec<FarSample<W>>>,
        ways: Vec<Vec<u16>>,
    ) -> Arc<SignatureTables<W>> {
        let Self { mut lists, entries, .. } = self;
        let lengths = lists.iter().map(|list| list.len() as u32).collect();
        let descendants = ways.first().map_or_else(Vec::new, |ways| ways.iter().map(|&ways| ways.into()).collect());
        let signature = Arc::new(Signature { entries: lengths, passes, descendants });
        let last = lists.len() - 1;
        let lists = [0, last].map(|step| Arc::new(std::mem::take(&mut lists[step])));
        Arc::new(SignatureTables { lists, entries, signature, far, ways })
    }
}

/// Number of local sources of each entry at `step`, whose list is still in ascending order.
fn local_degrees<W: Word>(window: Window, inside: W, sample: W, step: usize, lists: &[Vec<W>]) -> Vec<u16> {
    let mut degrees = vec![0_u16; lists[step].len()];
    for &code in &lists[step - 1] {
        let (next, count) = successors(window.first + step as u32 - 1, sample | code);
        for &state in &next[..count] {
            let local = state & !inside == sample;
            let entry = local.then(|| lists[step].binary_search(&(state & inside)));
            if let Some(Ok(entry)) = entry {
                degrees[entry] += 1;
            }
        }
    }
    degrees
}
