//! The families of a window with their sizes, without their blocks.
//!
//! A family is a colouring of the cells outside the window whose first stone is black. Its entries are the borders with
//! these colours there and anything inside. Borders are scanned from the top, cell by cell, and a table counts the ways to
//! each (last code, open connections). Each colour of a cell outside the window is a branch, so the families are the leaves
//! of a tree:
//!
//! ```text
//!   height 4, window of cells 1 and 2:     cell 0    cells 1, 2     cell 3
//!
//!                                          .     --> any, any  -->  .   B        W would be B reversed
//!                                          B     --> any, any  -->  .   B   W
//! ```
//!
//! A leaf's size is its number of ways without open connections. Below the last cell outside nothing branches: there the
//! ways on are counted once for each state of the scan.
//!
//! Cost: (colourings) x (states of the scan, some 10 to 100) for each end of the window.

use rustc_hash::FxHashMap;

use keima_model::{FamilyList, Window};

use crate::go::block::cells::{colours, family, inside_of, rest};
use crate::go::block::signature::scan::{Colours, Scan, ScanRules};
use crate::go::state::{EMPTY, FREE, Word, stones};

/// Families of a window, in the order of their blocks.
pub(crate) struct Families<W> {
    /// The colours, as borders of free stones and empty cells.
    pub(crate) patterns: Vec<W>,
    pub(crate) list: FamilyList,
    /// The number of each by its colours, as [`colours`] tells them.
    pub(crate) numbers: FxHashMap<W, u32>,
}

impl<W: Word> Families<W> {
    /// The families of a window between two others. With one other window, it is before and after.
    pub(crate) fn new(height: u32, window: Window, before: Window, after: Window) -> Self {
        let inside = inside_of::<W>(window);
        let rests = [before, after].map(|neighbour| W::ONES & !(inside | inside_of::<W>(neighbour)));
        let mut sizes = [window.first, window.end()].map(|kink| FamilyTree::new(height, window, kink).sizes);
        let mut patterns: Vec<W> = sizes[0].keys().copied().collect();
        patterns.sort_by_cached_key(|&pattern| (rest(pattern, rests[0]), family(pattern)));
        let mut end = |end: usize, pattern: &W| sizes[end].remove(pattern).unwrap_or(0);
        let ends = patterns.iter().map(|pattern| [end(0, pattern), end(1, pattern)]).collect();
        let rests = rests.map(|cells| patterns.iter().map(|&pattern| rest(pattern, cells)).collect());
        let numbers = patterns.iter().map(|&pattern| colours(pattern, W::ONES)).zip(0..).collect();
        Self { patterns, list: FamilyList { ends, rests }, numbers }
    }

    /// Memory that the lists take.
    pub(crate) fn bytes(&self) -> u64 {
        let numbers = self.numbers.capacity() * (size_of::<(W, u32)>() + 1);
        self.list.bytes() + (size_of_val(self.patterns.as_slice()) + numbers) as u64
    }
}

/// What a scan remembers of the cells that it has passed, without their codes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct ScanState {
    last: u32,
    /// The code that the next cell has for a neighbour.
    neighbour: u32,
    stack: Colours,
}

/// The families at one kink.
struct FamilyTree<W> {
    height: u32,
    window: Window,
    kink: u32,
    /// Ways to scan on from a cell to the end, where only cells of the window are left.
    ways_on: FxHashMap<(u32, ScanState), u64>,
    sizes: FxHashMap<W, u64>,
}

impl<W: Word> FamilyTree<W> {
    fn new(height: u32, window: Window, kink: u32) -> Self {
        let mut tree = Self { height, window, kink, ways_on: FxHashMap::default(), sizes: FxHashMap::default() };
        let nothing = Scan::<W>::default();
        let state = ScanState { last: nothing.last, neighbour: nothing.last, stack: nothing.stack };
        tree.branch(0, W::ZERO, &[(state, 1)]);
        tree
    }

    /// Adds the families whose cells above `cell` have the colours of `pattern`. `states` has the ways to scan these cells.
    fn branch(&mut self, cell: u32, pattern: W, states: &[(ScanState, u64)]) {
        if cell == self.height || (cell >= self.window.first && self.window.end() == self.height) {
            let ways = states.iter().map(|&(state, ways)| ways * self.ways_on(cell, state)).sum();
            self.sizes.insert(pattern, ways);
        } else if cell >= self.window.first && cell < self.window.end() {
            let next = self.scan_cell(cell, W::ZERO, states);
            self.branch(cell + 1, pattern, &next);
        } else {
            // The first stone is black.
            let colours = if stones(pattern) == W::ZERO { 2 } else { 3 };
            for &code in &[EMPTY, FREE, FREE + 1][..colours] {
                let pattern = pattern | W::truncate(code.into()) << (4 * cell);
                let next = self.scan_cell(cell, pattern, states);
                self.branch(cell + 1, pattern, &next);
            }
        }
    }

    /// The states after one more cell, with the colours of `only`.
    fn scan_cell(&self, cell: u32, only: W, states: &[(ScanState, u64)]) -> Vec<(ScanState, u64)> {
        let mut next = Vec::with_capacity(4 * states.len());
        for &(state, ways) in states {
            next.extend(self.steps(cell, only, state).map(|state| (state, ways)));
        }
        next.sort_unstable_by_key(|&(state, _)| state);
        next.dedup_by(|from, into| {
            let same = from.0 == into.0;
            into.1 += if same { from.1 } else { 0 };
            same
        });
        next
    }

    /// The states after one more cell, from one state.
    fn steps(&self, cell: u32, only: W, state: ScanState) -> impl Iterator<Item = ScanState> {
        let rules = ScanRules { kink: Some(cell), only, ..ScanRules::default() };
        let scan = Scan { last: state.last, across: state.neighbour, stack: state.stack, ..Scan::default() };
        let (left, kink) = (self.height - cell - 1, self.kink);
        rules.codes(cell).iter().filter_map(move |&code| {
            let next: Scan<W> = scan.extended(cell, code, &rules)?;
            let neighbour = if cell + 1 == kink { next.across } else { next.last };
            (next.stack.len <= left).then_some(ScanState { last: next.last, neighbour, stack: next.stack })
        })
    }

    /// Ways to scan on from `cell` to the end.
    fn ways_on(&mut self, cell: u32, state: ScanState) -> u64 {
        if cell == self.height {
            return u64::from(state.stack.len == 0);
        }
        if let Some(&ways) = self.ways_on.get(&(cell, state)) {
            return ways;
        }
        let next: Vec<ScanState> = self.steps(cell, W::ZERO, state).collect();
        let ways = next.into_iter().map(|state| self.ways_on(cell + 1, state)).sum();
        self.ways_on.insert((cell, state), ways);
        ways
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{Directions, End};

    use super::*;
    use crate::go::automaton;
    use crate::go::block::GoColumn;

    /// The families that whole tables have, in their order and with their sizes.
    #[test]
    fn families_are_those_of_the_tables() {
        for lengths in
            [&[2, 2][..], &[3, 2], &[2, 3], &[3, 3], &[2, 3, 2], &[3, 1, 3], &[4, 3], &[3, 3, 3], &[2, 2, 2, 2]]
        {
            let windows = Window::of_lengths(lengths);
            let height = lengths.iter().sum();
            let column = GoColumn::<u64>::new(height, &windows, Directions::Both).unwrap();
            for (number, &window) in windows.iter().enumerate() {
                let [before, after] = [End::First, End::Last].map(|end| windows[end.neighbour(number, windows.len())]);
                let found = Families::<u64>::new(height, window, before, after);
                let expected = FamilyList::of(&column, number);
                assert!(found.list == expected, "{lengths:?}, window {number}");
                assert!(Families::<u128>::new(height, window, before, after).list == expected);
            }
        }
    }

    /// Together as many states as the automaton counts, for heights of which nobody builds all tables.
    #[test]
    fn families_add_up() {
        for (height, window) in [(11, 0..5), (13, 5..9), (17, 11..17)] {
            let window = Window { first: window.start, len: window.end - window.start };
            let families = Families::<u128>::new(height, window, window, window);
            let classes = automaton::classes(height);
            let stoneless = families.patterns.iter().position(|&pattern| stones(pattern) == 0).unwrap();
            for end in 0..2 {
                let states: u64 = families.list.ends.iter().map(|ends| ends[end]).sum();
                // Of that without stones both colourings.
                let twice = families.list.ends[stoneless][end] / 2;
                let kink = if end == 0 { window.first } else { window.end() % height };
                assert_eq!(u128::from(states - twice), classes[kink as usize], "height {height}, {window:?}");
            }
            let largest = families.list.ends.iter().flatten().max().copied().map(u128::from);
            assert!(largest <= Some(automaton::largest_family(height, window)));
        }
    }
}
