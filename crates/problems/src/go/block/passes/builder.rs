//! Builds the transitions of each signature: expands one sample outside with every inside code.
//!
//! A successor of (outside, inside) with the same outside is *local*: an entry in the list of the same signature. A
//! successor with another outside is *far*: a string behind an open connection was freed, or a connection was dropped or
//! merged. The changed outside is looked up once, for its signature. All codes that change the outside in the same way
//! make up one far operation. It does something else to each outside of the signature, but the target's signature and the
//! entries are always the same: they depend on what the two signatures say.
//!
//! ```text
//!   height 3, window of cells 0 and 1; the block with nBa at cell 2: needy, black, its string has a stone above. Cells are
//!   . empty, f free, n needy, B or W, with the flags a above and b below; each entry with its sources in the block
//!
//!   step 0       after pass 0           after pass 1
//!   0 nBb nBab   0 nBb fW   <- 3        0 fW nBb   <- 2
//!   1 fW nBb     1 nBb nW   <- 4        1 nW nBb   <- 6
//!   2 nW nBb     2 fW nBb   <- 1        2 nBb fW   <- 0
//!   3 nBb fW     3 nB nBb   <- 1        3 nBb nW   <- 1 4
//!   4 nBb nW     4 nBb nBab <- 0        4 nBb nBab <- 0 3 4
//!                5 . nBb    <- 1 2
//!                6 nW nBb   <- 0 2
//!   far, pass 0, to the block with fB at cell 2: 4 15, 0 18, 3 19
//!   far, pass 0, to the block with nB at cell 2: 3 0, 4 2
//!   far, pass 1, to the block with fB at cell 2: 5 9, 5 11, 0 15, 1 15, 3 15, 4 15, 2 16, 6 16
//!   far, pass 1, to the block with nB at cell 2: 3 7, 5 10, 2 11, 6 12
//!
//!   entry 1, fW nBb, in pass 0: cell 0 becomes empty (entry 5), black (3) or white (2). Entry 0, nBb nBab: empty frees all
//!   of the string, a far operation (0 18); black joins it (4); white leaves its two stones below (6)
//! ```
//!
//! Cost: two expansions per entry of each list.

use std::sync::Arc;

use keima_model::{PassTable, Window};

use super::ordered_lists::OrderedLists;
use super::pass_builder::{BuiltPass, FarTarget, PassBuilder};
use crate::go::block::cut::in_parallel;
use crate::go::block::signature::entry_index::EntryIndex;
use crate::go::block::signature::lists::SignatureLists;
use crate::go::block::signature::tables::{FarSample, SignatureTables};
use crate::go::state::{Word, successors};

/// The signatures of a window, some with tables that are known, the others with lists.
pub(crate) struct TableBuilder<W> {
    window: Window,
    inside: W,
    known: Vec<Option<Arc<SignatureTables<W>>>>,
    /// Lists of the signatures that are not known.
    ordered: Vec<Option<OrderedLists<W>>>,
    threads: usize,
}

impl<W: Word> TableBuilder<W> {
    /// Puts the lists of new signatures in order. `threads` threads do what there is to do.
    pub(crate) fn new(
        window: Window,
        inside: W,
        signatures: Vec<SignatureLists<W>>,
        threads: usize,
    ) -> Result<Self, String> {
        let (known, new): (Vec<_>, Vec<_>) = signatures
            .into_iter()
            .map(|SignatureLists { lists, sample, known }| {
                let new = known.is_none().then_some((lists, sample));
                (known, new)
            })
            .unzip();
        let order = |new: Option<_>| new.map(|(lists, sample)| OrderedLists::new(window, inside, lists, sample));
        let ordered = in_parallel(threads, new, order)?;
        Ok(Self { window, inside, known, ordered, threads })
    }

    /// The tables of all signatures; new ones have lists only.
    pub(crate) fn without_passes(self) -> Vec<Arc<SignatureTables<W>>> {
        let all = self.ordered.into_iter().zip(self.known).map(|(ordered, known)| {
            let new = ordered.map(|ordered| ordered.into_tables(Vec::new(), Vec::new(), Vec::new()));
            known.or(new)
        });
        all.flatten().collect()
    }

    /// The tables of all signatures. `signature_at` tells the signature of an outside. Without `rows`,
    /// [`PassTable::rows`] are empty.
    pub(crate) fn with_passes(
        mut self,
        signature_at: impl Fn(W) -> Option<u32> + Sync,
        rows: bool,
    ) -> Result<Vec<Arc<SignatureTables<W>>>, String> {
        let passes = in_parallel(self.threads, &self.ordered, |ordered| {
            ordered.as_ref().map(|ordered| self.passes(ordered, &signature_at)).transpose()
        })?;
        let passes = passes.into_iter().collect::<Result<Vec<_>, String>>()?;
        let ways = self.ways(&passes);
        let mut all = Vec::with_capacity(passes.len());
        for (number, (passes, ways)) in passes.into_iter().zip(ways).enumerate() {
            match (passes, self.ordered[number].take(), self.known[number].take()) {
                (Some(passes), Some(ordered), _) => {
                    let (mut tables, far): (Vec<PassTable>, Vec<_>) =
                        passes.into_iter().map(|pass| (pass.table, pass.far)).unzip();
                    if !rows {
                        for pass in &mut tables {
                            pass.rows = Vec::new();
                        }
                    }
                    all.push(ordered.into_tables(tables, far, ways));
                }
                (.., known) => all.extend(known),
            }
        }
        Ok(all)
    }

    /// Where the codes of a signature's list at `step` stand.
    fn entries(&self, signature: u32, step: usize) -> Option<&EntryIndex<W>> {
        let known = self.known.get(signature as usize)?.as_ref().map(|known| &known.entries);
        let entries = known.or_else(|| Some(&self.ordered[signature as usize].as_ref()?.entries))?;
        entries.get(step).map(Arc::as_ref)
    }

    /// All passes of a new signature.
    fn passes(
        &self,
        ordered: &OrderedLists<W>,
        signature_at: impl Fn(W) -> Option<u32>,
    ) -> Result<Vec<BuiltPass<W>>, String> {
        let (inside, sample) = (self.inside, ordered.sample);
        let mut all = Vec::new();
        for (pass, list) in ordered.lists.iter().take(self.window.len as usize).enumerate() {
            let after = &ordered.entries[pass + 1];
            let mut builder = PassBuilder::new(ordered.lists[pass + 1].len());
            for (&code, source) in list.iter().zip(0..=u16::MAX) {
                let (next, count) = successors(self.window.first + pass as u32, sample | code);
                let mut row = [(0_u8, 0_u16); 3];
                for (successor, &state) in next[..count].iter().enumerate() {
                    let (outside, next_code) = (state & !inside, state & inside);
                    row[successor] = if outside == sample {
                        builder.local(source, after.get(next_code))?
                    } else {
                        let signature = signature_at(outside).ok_or("a far operation leads to no outside")?;
                        let entry = self.entries(signature, pass + 1).and_then(|entries| entries.get(next_code));
                        let sample = FarSample { code, successor: successor as u8 };
                        builder.far(FarTarget { outside, signature, sample }, source, entry)?
                    };
                }
                builder.row(source, &mut row[..count]);
            }
            let built = builder.finish();
            check_law(&built.table, list.len())?;
            all.push(built);
        }
        Ok(all)
    }

    /// `ways[signature][step]` of the new signatures: ways through the rest of the window, from its last step up.
    fn ways(&self, passes: &[Option<Vec<BuiltPass<W>>>]) -> Vec<Vec<Vec<u16>>> {
        let steps = self.window.len as usize + 1;
        let mut all: Vec<Vec<Vec<u16>>> = vec![vec![Vec::new(); steps]; passes.len()];
        for (ways, ordered) in all.iter_mut().zip(&self.ordered) {
            ways[steps - 1] = vec![1; ordered.as_ref().map_or(0, |ordered| ordered.lists[steps - 1].len())];
        }
        for pass in (0..steps - 1).rev() {
            for (number, new) in passes.iter().enumerate() {
                let (Some(new), Some(ordered)) = (new, &self.ordered[number]) else { continue };
                let BuiltPass { table, leads_to, .. } = &new[pass];
                let mut ways = vec![0; ordered.lists[pass].len()];
                for group in &table.rows {
                    for row in &group.rows {
                        for successor in 0..usize::from(group.degree) {
                            let target = match group.blocks[successor] {
                                0 => number,
                                far => leads_to[usize::from(far) - 1] as usize,
                            };
                            let after = self.known[target].as_ref().map_or(&all[target], |known| &known.ways);
                            ways[usize::from(row[0])] += after[pass + 1][usize::from(row[successor + 1])];
                        }
                    }
                }
                all[number][pass] = ways;
            }
        }
        all
    }
}

/// Go's own law, new + dropped = 3 old: a state has three successors, or two and one that is dropped. If each entry has
/// two or three, the same in both directions, the law follows from the mass balance of the families.
fn check_law(pass: &PassTable, entries: usize) -> Result<(), String> {
    let mut ways = vec![0_u32; entries];
    let far = pass.far.iter().flat_map(|far| far.pairs.iter().map(|(source, _)| source));
    pass.sources.iter().chain(far).for_each(|&source| ways[usize::from(source)] += 1);
    let mut back = vec![0; entries];
    for group in &pass.rows {
        group.rows.iter().for_each(|row| back[usize::from(row[0])] += u32::from(group.degree));
    }
    match ways.iter().zip(&back).position(|(ways, back)| !(2..=3).contains(ways) || ways != back) {
        None => Ok(()),
        Some(entry) => Err(format!(
            "an entry has {} ways on and, transposed, {}: two or three are expected; this is a fault of the program",
            ways[entry], back[entry]
        )),
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{Far, RowGroup};

    use super::*;

    #[test]
    fn tables_that_break_the_law_are_refused() {
        let group = |degree, rows| RowGroup { degree, blocks: [0; 3], rows };
        let far = vec![Far { pairs: vec![(1, 0)] }];
        let rows = vec![group(2, vec![[0, 0, 1, 0]]), group(3, vec![[1, 0, 1, 0]])];
        let whole = PassTable { in_degrees: vec![], sources: vec![0, 1, 0, 1], far, rows };
        assert_eq!(check_law(&whole, 2), Ok(()));
        let check = |damage: fn(&mut PassTable), expected: &str| {
            let mut table = whole.clone();
            damage(&mut table);
            let error = check_law(&table, 2).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        check(|table| table.sources[0] = 1, "1 ways on and, transposed, 2");
        check(|table| table.far.clear(), "2 ways on and, transposed, 3");
        check(|table| table.rows[0].degree = 3, "2 ways on and, transposed, 3");
        check(|table| table.far[0].pairs.push((1, 1)), "4 ways on and, transposed, 3");
        check(|table| table.rows.clear(), "2 ways on and, transposed, 0");
    }
}
