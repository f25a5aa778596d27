//! The transitions of each signature, found by expanding one sample outside with every inside code.
//!
//! Where a successor of (outside, inside) has the same outside, it is *local*: a place in the list of the same
//! signature. A successor with another outside (a string behind an open connection was freed, or a connection dropped
//! or merged) is *far*: the changed outside is looked up once, to learn its signature, and all that change it in the
//! same way make up one far operation. What a far operation does to the other outsides of the signature differs, but
//! its signature and the places in the lists do not: both depend on what the two signatures say.
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
//! Lists are ordered by in-degree, so that sums of one length stand together; places are `u16`. At both ends of a window
//! what comes next is the order in which blocks stand that have these codes outside: neighbours in a list are neighbours
//! among the blocks of the next window mostly, which are read together.
//! Cost: two expansions per entry of each list, about 0.3 us.

use std::sync::Arc;

use keima_model::{PassTable, Signature, Window};

use crate::go::block::passes::pass_builder::PassBuilder;
use crate::go::block::signature::entry_index::EntryIndex;
use crate::go::block::signature::lists::SignatureLists;
use crate::go::block::window::{colours, potential};
use crate::go::state::{Word, successors};

/// What all blocks of a signature share, and what the tables of others are made from.
pub(crate) struct SignatureTables<W> {
    /// The inside codes at the first step and at the last, in their final order.
    pub(crate) lists: [Arc<Vec<W>>; 2],
    /// `places[step]`: where each code stands.
    pub(crate) places: Vec<Arc<EntryIndex<W>>>,
    pub(crate) signature: Arc<Signature>,
    /// `far[pass]`: how to find the targets of the operations.
    pub(crate) far: Vec<Vec<FarSample<W>>>,
    /// `ways[step]`: ways through the rest of the window, for each entry: fewer than 3^10.
    ways: Vec<Vec<u16>>,
}

impl<W: Word> SignatureTables<W> {
    /// Memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let lists: usize = self.lists.iter().map(|list| size_of_val(list.as_slice())).sum();
        let ways: usize = self.ways.iter().map(|ways| size_of_val(ways.as_slice())).sum();
        let places: u64 = self.places.iter().map(|places| places.bytes()).sum();
        (lists + ways) as u64 + places + self.signature.bytes()
    }
}

/// A far operation by the first code that it was seen at: the code, and which of its successors it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FarSample<W> {
    pub(crate) code: W,
    pub(crate) successor: u8,
}

/// The lists of a signature in their final order, and where each code stands.
struct OrderedLists<W> {
    lists: Vec<Vec<W>>,
    places: Vec<Arc<EntryIndex<W>>>,
    sample: W,
}

impl<W: Word> OrderedLists<W> {
    /// Orders all lists but that of step 0 by the number of local sources; at the ends of the window by family and
    /// potential.
    fn new(window: Window, inside: W, mut lists: Vec<Vec<W>>, sample: W) -> Self {
        let as_blocks = |code| (colours(code, inside), potential(code, window.first..window.end()), code);
        let mut places = Vec::with_capacity(lists.len());
        for step in 0..lists.len() {
            if step > 0 {
                let mut degrees = vec![0_u16; lists[step].len()];
                for &code in &lists[step - 1] {
                    let (next, count) = successors(window.first + step as u32 - 1, sample | code);
                    for &state in &next[..count] {
                        // This step's list is still in ascending order.
                        let local = state & !inside == sample;
                        let place = local.then(|| lists[step].binary_search(&(state & inside)));
                        if let Some(Ok(place)) = place {
                            degrees[place] += 1;
                        }
                    }
                }
                let last = step + 1 == lists.len();
                let as_blocks = |code| if last { as_blocks(code) } else { (W::ZERO, 0, code) };
                let codes = lists[step].iter().map(|&code| as_blocks(code));
                let mut order: Vec<(u16, (W, u32, W))> = degrees.into_iter().zip(codes).collect();
                order.sort_unstable();
                lists[step].iter_mut().zip(order).for_each(|(code, (_, (.., ordered)))| *code = ordered);
            } else {
                lists[step].sort_by_cached_key(|&code| as_blocks(code));
            }
            places.push(Arc::new(EntryIndex::new(&lists[step], inside)));
        }
        Self { lists, places, sample }
    }
}

/// The tables of a signature before the ways through the window are counted.
struct Passes<W> {
    tables: Vec<PassTable>,
    far: Vec<Vec<FarSample<W>>>,
    /// `leads_to[pass]`: signature of the target of each far operation.
    leads_to: Vec<Vec<u32>>,
}

/// Signatures, each either made before or to be made.
pub(crate) struct TableBuilder<W> {
    window: Window,
    inside: W,
    known: Vec<Option<Arc<SignatureTables<W>>>>,
    /// Of those that are not known.
    ordered: Vec<Option<OrderedLists<W>>>,
}

impl<W: Word> TableBuilder<W> {
    /// Puts the lists of those that are not known in order.
    pub(crate) fn new(window: Window, inside: W, signatures: Vec<SignatureLists<W>>) -> Self {
        let (mut known, mut ordered) = (Vec::new(), Vec::new());
        for SignatureLists { lists, sample, made } in signatures {
            ordered.push(made.is_none().then(|| OrderedLists::new(window, inside, lists, sample)));
            known.push(made);
        }
        Self { window, inside, known, ordered }
    }

    /// Makes all of them, of new ones the lists only.
    pub(crate) fn without_passes(self) -> Vec<Arc<SignatureTables<W>>> {
        let made = self.ordered.into_iter().zip(self.known).map(|(ordered, known)| {
            let new = ordered.map(|ordered| ordered.made(Vec::new(), Vec::new(), Vec::new()));
            known.or(new)
        });
        made.flatten().collect()
    }

    /// Makes all of them. `signature_at` tells the signature of an outside; without `rows` there are none of
    /// [`PassTable::rows`].
    pub(crate) fn with_passes(
        mut self,
        signature_at: impl Fn(W) -> Option<u32>,
        rows: bool,
    ) -> Result<Vec<Arc<SignatureTables<W>>>, String> {
        let mut passes = Vec::with_capacity(self.ordered.len());
        for ordered in &self.ordered {
            passes.push(ordered.as_ref().map(|ordered| self.passes(ordered, &signature_at)).transpose()?);
        }
        let ways = self.ways(&passes);
        let mut all = Vec::with_capacity(passes.len());
        for (number, (passes, ways)) in passes.into_iter().zip(ways).enumerate() {
            match (passes, self.ordered[number].take(), self.known[number].take()) {
                (Some(mut passes), Some(ordered), _) => {
                    if !rows {
                        passes.tables.iter_mut().for_each(|pass| pass.rows = Vec::new());
                    }
                    all.push(ordered.made(passes.tables, passes.far, ways));
                }
                (.., made) => all.extend(made),
            }
        }
        Ok(all)
    }

    fn places(&self, signature: u32, step: usize) -> Option<&EntryIndex<W>> {
        let made = self.known.get(signature as usize)?.as_ref().map(|made| &made.places);
        let places = made.or_else(|| Some(&self.ordered[signature as usize].as_ref()?.places))?;
        places.get(step).map(Arc::as_ref)
    }

    fn passes(&self, ordered: &OrderedLists<W>, signature_at: impl Fn(W) -> Option<u32>) -> Result<Passes<W>, String> {
        let (inside, sample) = (self.inside, ordered.sample);
        let mut all = Passes { tables: Vec::new(), far: Vec::new(), leads_to: Vec::new() };
        for (pass, list) in ordered.lists.iter().take(self.window.len as usize).enumerate() {
            let after = &ordered.places[pass + 1];
            let mut building = PassBuilder::new(ordered.lists[pass + 1].len());
            for (&code, entry) in list.iter().zip(0..=u16::MAX) {
                let (next, count) = successors(self.window.first + pass as u32, sample | code);
                let mut row = [(0_u8, 0_u16); 3];
                for (successor, &state) in next[..count].iter().enumerate() {
                    let (outside, next_code) = (state & !inside, state & inside);
                    row[successor] = if outside == sample {
                        building.local(entry, after.get(next_code))?
                    } else {
                        let target = signature_at(outside).ok_or("a far operation leads to no outside")?;
                        let place = self.places(target, pass + 1).and_then(|places| places.get(next_code));
                        let found = FarSample { code, successor: successor as u8 };
                        building.far(outside, (target, found), entry, place)?
                    };
                }
                building.row(entry, &mut row[..count]);
            }
            all.far.push(building.far.iter().map(|far| far.found).collect());
            all.leads_to.push(building.far.iter().map(|far| far.target).collect());
            let table = building.finish();
            check_law(&table, list.len())?;
            all.tables.push(table);
        }
        Ok(all)
    }

    /// Ways through the rest of the window for the new ones, from its last step up.
    fn ways(&self, passes: &[Option<Passes<W>>]) -> Vec<Vec<Vec<u16>>> {
        let steps = self.window.len as usize + 1;
        let mut all: Vec<Vec<Vec<u16>>> = vec![vec![Vec::new(); steps]; passes.len()];
        for (ways, ordered) in all.iter_mut().zip(&self.ordered) {
            ways[steps - 1] = vec![1; ordered.as_ref().map_or(0, |ordered| ordered.lists[steps - 1].len())];
        }
        for pass in (0..steps - 1).rev() {
            for (number, new) in passes.iter().enumerate() {
                let (Some(new), Some(ordered)) = (new, &self.ordered[number]) else { continue };
                let mut ways = vec![0; ordered.lists[pass].len()];
                for group in &new.tables[pass].rows {
                    for row in &group.rows {
                        for successor in 0..usize::from(group.degree) {
                            let target = match group.blocks[successor] {
                                0 => number,
                                far => new.leads_to[pass][usize::from(far) - 1] as usize,
                            };
                            let after = self.known[target].as_ref().map_or(&all[target], |made| &made.ways);
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

impl<W: Word> OrderedLists<W> {
    fn made(self, passes: Vec<PassTable>, far: Vec<Vec<FarSample<W>>>, ways: Vec<Vec<u16>>) -> Arc<SignatureTables<W>> {
        let Self { mut lists, places, .. } = self;
        let entries = lists.iter().map(|list| list.len() as u32).collect();
        let descendants = ways.first().map_or_else(Vec::new, |ways| ways.iter().map(|&ways| ways.into()).collect());
        let signature = Arc::new(Signature { entries, passes, descendants });
        let last = lists.len() - 1;
        let lists = [0, last].map(|step| Arc::new(std::mem::take(&mut lists[step])));
        Arc::new(SignatureTables { lists, places, signature, far, ways })
    }
}

/// Go's own law, new + dropped = 3 old: from a state there are three ways on, or two and one that is dropped. Where each
/// entry has two or three, and both directions the same, it follows from the mass balance of the families.
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
    use keima_model::{Directions, Far, RowGroup};

    use super::*;
    use crate::go::block::window::GoWindow;
    use crate::go::state::normalise;

    /// Neighbours in the window's lists at both ends, of one colouring, and of one number of sources where that comes
    /// first; those whose first stone is white stand in no block as they are.
    fn neighbours(window: &GoWindow<u64>) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        let [firsts, lasts] = &window.lists;
        for ((signature, first), last) in window.tables.signatures.iter().zip(firsts).zip(lasts) {
            all.extend(first.windows(2));
            let mut rest = last.as_slice();
            for &count in &signature.passes[signature.passes.len() - 1].in_degrees {
                let (part, after) = rest.split_at(count as usize);
                all.extend(part.windows(2));
                rest = after;
            }
            assert!(rest.is_empty());
        }
        let same = |&(one, next): &(u64, u64)| colours(one, window.inside) == colours(next, window.inside);
        let pairs = all.into_iter().map(|pair| (pair[0], pair[1]));
        pairs.filter(same).filter(|&(one, _)| normalise(one, 0) == one).collect()
    }

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

    /// Of two windows one's codes are the other's outsides, and stand in the order of its blocks.
    #[test]
    fn lists_are_in_the_order_of_blocks() {
        for (top, height) in [(2, 5), (3, 6), (4, 6), (4, 8)] {
            let windows = [Window { first: 0, len: top }, Window { first: top, len: height - top }];
            let make = |own, before| GoWindow::new(height, own, before, Directions::Both, None).unwrap();
            let [upper, lower] = [make(windows[0], windows[1]), make(windows[1], windows[0])];
            for ((own, _), (_, other)) in [(&upper, &lower), (&lower, &upper)] {
                let pairs = neighbours(own);
                assert!(!pairs.is_empty());
                for (one, next) in pairs {
                    let what = format!("{height} {:?}: {one:x} {next:x}", own.window);
                    assert!(other.block_of[&one] < other.block_of[&next], "{what}");
                }
            }
        }
    }
}
