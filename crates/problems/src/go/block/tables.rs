//! The transitions of each signature, found by expanding one sample outside with every inside code.
//!
//! Where a successor of (outside, inside) has the same outside, it is *local*: a place in the list of the same
//! signature. A successor with another outside (a string behind an open connection was freed, or a connection dropped
//! or merged) is *far*: the changed outside is looked up once, to learn its signature, and all that change it in the
//! same way make up one far operation. What a far operation does to the other outsides of the signature differs, but
//! its signature and the places in the lists do not: both depend on what the two signatures say.
//!
//! ```text
//!   pass 0, list of signature s        in-degree 1: 0 0      entry 0 of step 1 has the source 3, entry 1 the source 0
//!     sources  3 0 | 1 2               in-degree 2:          entry 2 has the sources 1 and 2
//!     far      op 0: (1, 7) (2, 9)     into entries 7 and 9 of the block to which the operation leads
//! ```
//!
//! Lists are ordered by in-degree, so that sums of one length stand together; places are `u16`. At both ends of a window
//! what comes next is the order in which blocks stand that have these codes outside: neighbours in a list are neighbours
//! among the blocks of the next window mostly, which are read together.
//! Cost: two expansions per entry of each list, about 0.3 us.

use keima_model::{Far, PassTable, RowGroup, Signature, Window};

use super::super::state::successors;
use super::lists::Listed;
use super::places::Places;
use super::window::{colours, potential};

/// The lists of all signatures in their final order, and where each code stands.
pub(super) struct Ordered {
    /// `lists[signature][step]`.
    pub(super) lists: Vec<Vec<Vec<u64>>>,
    /// `places[signature][step]`.
    pub(super) places: Vec<Vec<Places>>,
    pub(super) samples: Vec<u64>,
}

impl Ordered {
    /// Orders all lists but those of step 0 by the number of local sources; at the ends of the window by family and
    /// potential.
    pub(super) fn new(window: Window, inside: u64, signatures: Vec<Listed>) -> Self {
        let mut all = Self { lists: Vec::new(), places: Vec::new(), samples: Vec::new() };
        let as_blocks = |code| (colours(code, inside), potential(code, window.first..window.end()), code);
        for Listed { mut lists, sample } in signatures {
            let mut places: Vec<Places> = Vec::with_capacity(lists.len());
            for step in 0..lists.len() {
                if step > 0 {
                    let mut degrees = vec![0_u16; lists[step].len()];
                    for &code in &lists[step - 1] {
                        let (next, count) = successors(window.first + step as u32 - 1, sample | code);
                        for state in &next[..count] {
                            // This step's list is still in ascending order.
                            let local = state & !inside == sample;
                            let place = local.then(|| lists[step].binary_search(&(state & inside)));
                            if let Some(Ok(place)) = place {
                                degrees[place] += 1;
                            }
                        }
                    }
                    let last = step + 1 == lists.len();
                    let as_blocks = |code| if last { as_blocks(code) } else { (0, 0, code) };
                    let codes = lists[step].iter().map(|&code| as_blocks(code));
                    let mut order: Vec<(u16, (u64, u32, u64))> = degrees.into_iter().zip(codes).collect();
                    order.sort_unstable();
                    lists[step].iter_mut().zip(order).for_each(|(code, (_, (.., ordered)))| *code = ordered);
                } else {
                    lists[step].sort_by_cached_key(|&code| as_blocks(code));
                }
                places.push(Places::new(&lists[step], inside));
            }
            all.lists.push(lists);
            all.places.push(places);
            all.samples.push(sample);
        }
        all
    }
}

/// A far operation by the first entry that it was seen at: the entry, and which of its successors it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FarSample {
    pub(super) entry: u16,
    pub(super) successor: u8,
}

/// The tables of all signatures, and for `far[signature][pass]` how to find the targets of the operations.
pub(super) struct Tables {
    pub(super) signatures: Vec<Signature>,
    pub(super) far: Vec<Vec<Vec<FarSample>>>,
}

impl Tables {
    /// `signature_at` tells the signature of an outside.
    pub(super) fn new(
        window: Window,
        inside: u64,
        ordered: &Ordered,
        signature_at: impl Fn(u64) -> Option<u32>,
    ) -> Result<Self, String> {
        let mut tables = Self { signatures: Vec::new(), far: Vec::new() };
        // Signature of the target of each far operation, by signature and pass.
        let mut leads_to: Vec<Vec<Vec<u32>>> = Vec::new();
        for (signature, (lists, &sample)) in ordered.lists.iter().zip(&ordered.samples).enumerate() {
            let entries = lists.iter().map(|list| list.len() as u32).collect();
            let (mut passes, mut far, mut targets) = (Vec::new(), Vec::new(), Vec::new());
            for (pass, list) in lists.iter().take(window.len as usize).enumerate() {
                let after = &ordered.places[signature][pass + 1];
                let mut building = Building::new(lists[pass + 1].len());
                for (&code, entry) in list.iter().zip(0..=u16::MAX) {
                    let (next, count) = successors(window.first + pass as u32, sample | code);
                    let mut row = [(0_u8, 0_u16); 3];
                    for (successor, &state) in next[..count].iter().enumerate() {
                        let (outside, code) = (state & !inside, state & inside);
                        row[successor] = if outside == sample {
                            building.local(entry, after.get(code))?
                        } else {
                            let target = signature_at(outside).ok_or("a far operation leads to no outside")?;
                            let place = ordered.places[target as usize][pass + 1].get(code);
                            let found = FarSample { entry, successor: successor as u8 };
                            building.far(outside, target, found, place)?
                        };
                    }
                    building.row(entry, &mut row[..count]);
                }
                far.push(building.far.iter().map(|far| far.found).collect());
                targets.push(building.far.iter().map(|far| far.target).collect());
                let table = building.finish();
                check_law(&table, list.len())?;
                passes.push(table);
            }
            tables.signatures.push(Signature { entries, passes, descendants: Vec::new() });
            tables.far.push(far);
            leads_to.push(targets);
        }
        tables.count_descendants(window, &leads_to);
        Ok(tables)
    }

    /// Ways through the rest of the window, from its last step up.
    fn count_descendants(&mut self, window: Window, leads_to: &[Vec<Vec<u32>>]) {
        let mut after: Vec<Vec<u32>> =
            self.signatures.iter().map(|s| vec![1; s.entries[window.len as usize] as usize]).collect();
        for pass in (0..window.len as usize).rev() {
            after = (0..self.signatures.len())
                .map(|number| {
                    let signature = &self.signatures[number];
                    let mut ways = vec![0; signature.entries[pass] as usize];
                    for group in &signature.passes[pass].rows {
                        for row in &group.rows {
                            for successor in 0..usize::from(group.degree) {
                                let target = match group.blocks[successor] {
                                    0 => number,
                                    far => leads_to[number][pass][usize::from(far) - 1] as usize,
                                };
                                ways[usize::from(row[0])] += after[target][usize::from(row[successor + 1])];
                            }
                        }
                    }
                    ways
                })
                .collect();
        }
        for (signature, ways) in self.signatures.iter_mut().zip(after) {
            signature.descendants = ways;
        }
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

/// One pass of one signature while its entries are gone through.
struct Building {
    /// Entries after the pass.
    entries_after: usize,
    /// (place, source) of each local successor, the sources ascending.
    local: Vec<(u16, u16)>,
    far: Vec<FarBuilding>,
    rows: Vec<RowGroup>,
}

struct FarBuilding {
    /// The sample's outside after the operation.
    outside: u64,
    /// Its signature.
    target: u32,
    found: FarSample,
    pairs: Vec<(u16, u16)>,
}

const NO_PLACE: &str = "a successor stands in no list";

impl Building {
    fn new(entries_after: usize) -> Self {
        Self { entries_after, local: Vec::new(), far: Vec::new(), rows: Vec::new() }
    }

    fn local(&mut self, entry: u16, place: Option<u16>) -> Result<(u8, u16), String> {
        let place = place.ok_or(NO_PLACE)?;
        self.local.push((place, entry));
        Ok((0, place))
    }

    fn far(&mut self, outside: u64, target: u32, found: FarSample, place: Option<u16>) -> Result<(u8, u16), String> {
        let place = place.ok_or(NO_PLACE)?;
        let known = self.far.iter().position(|far| far.outside == outside);
        let number = known.unwrap_or_else(|| {
            self.far.push(FarBuilding { outside, target, found, pairs: Vec::new() });
            self.far.len() - 1
        });
        self.far[number].pairs.push((found.entry, place));
        let number = u8::try_from(number + 1).map_err(|_| "more than 254 far operations in one pass")?;
        Ok((number, place))
    }

    /// All successors of an entry, sorted by the block that they lie in.
    fn row(&mut self, entry: u16, successors: &mut [(u8, u16)]) {
        successors.sort_unstable();
        let (mut blocks, mut row) = ([0; 3], [entry, 0, 0, 0]);
        for (i, &(block, place)) in successors.iter().enumerate() {
            (blocks[i], row[i + 1]) = (block, place);
        }
        let degree = successors.len() as u8;
        match self.rows.iter_mut().find(|group| group.blocks == blocks && group.degree == degree) {
            Some(group) => group.rows.push(row),
            None => self.rows.push(RowGroup { degree, blocks, rows: vec![row] }),
        }
    }

    fn finish(mut self) -> PassTable {
        self.rows.iter_mut().for_each(|group| group.rows.shrink_to_fit());
        // By place, in a sort by counting; sources of one place stay in their order.
        let mut degrees = vec![0_usize; self.entries_after];
        for &(place, _) in &self.local {
            degrees[usize::from(place)] += 1;
        }
        let mut in_degrees = vec![0; degrees.iter().max().map_or(1, |most| most + 1)];
        for &degree in &degrees {
            in_degrees[degree] += 1;
        }
        let mut free: Vec<usize> = degrees
            .iter()
            .scan(0, |end, degree| {
                *end += degree;
                Some(*end - degree)
            })
            .collect();
        let mut sources = vec![0; self.local.len()];
        for &(place, source) in &self.local {
            let free = &mut free[usize::from(place)];
            sources[*free] = source;
            *free += 1;
        }
        let far = self.far.into_iter().map(|mut far| {
            far.pairs.sort_unstable_by_key(|&(source, target)| (target, source));
            far.pairs.shrink_to_fit();
            Far { pairs: far.pairs }
        });
        PassTable { in_degrees, sources, far: far.collect(), rows: self.rows }
    }
}

#[cfg(test)]
mod tests {
    use keima_model::Directions;

    use super::super::super::state::normalise;
    use super::super::window::GoWindow;
    use super::*;

    /// Neighbours in the window's lists at both ends, of one colouring, and of one number of sources where that comes
    /// first; those whose first stone is white stand in no block as they are.
    fn neighbours(window: &GoWindow) -> Vec<(u64, u64)> {
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
