//! Scans a border from the top: what the cells above, in and below a window must know of each other.
//!
//! A border is valid if neighbouring cells agree and the connection flags match as brackets of one colour (see
//! [`crate::go::automaton`]; [`crate::go::kink`] has the rules for neighbours). A scan from the top remembers a stack of
//! open connections and the code of the last cell:
//!
//! ```text
//!   cell    code
//!    0      needy black, below     opens a black connection                         stack: B
//!    1      needy white, below     opens a white one                                       B W
//!   ------------------------------------------------------------------------- upper part: stack B W, last code
//!    2      needy white, above     closes it: must be white, the top of the stack          B
//!    3      free black ...                                                                 B
//!   ------------------------------------------------------------------------- window: turns the stack B W into B
//!    4      needy black, above     closes the black one, opened far above        demand:   B
//!   ------------------------------------------------------------------------- lower part: demands B, first code
//! ```
//!
//! The lower part is scanned on its own. Each connection that it closes but did not open is a *demand*; the first demand
//! is for the top of the stack. So two stacks of colours and the codes beside the window decide whether upper part,
//! window and lower part fit together. They are the signature.
//!
//! Cost: one step per code of each cell.

use std::ops::Range;

use crate::go::kink::{neighbour_across_kink, neighbours_agree};
use crate::go::state::{ABOVE, BELOW, COLOUR, EDGE, EMPTY, FREE, NEEDY, Word};

/// The codes that a cell can have after the first column.
const CODES: [u32; 11] = [EMPTY, FREE, FREE + 1, 8, 9, 10, 11, 12, 13, 14, 15];
/// Those of a black and of a white stone.
const STONES: [[u32; 5]; 2] = [[FREE, 8, 10, 12, 14], [FREE + 1, 9, 11, 13, 15]];

/// A stack or a list of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Colours {
    /// Bit i is the colour of entry i, the bottom first.
    bits: u32,
    pub(crate) len: u32,
}

impl Colours {
    fn push(mut self, colour: u32) -> Self {
        self.bits |= colour << self.len;
        self.len += 1;
        self
    }
    /// The stack without its top, if the top has this colour.
    fn pop(mut self, colour: u32) -> Option<Self> {
        self.len = self.len.checked_sub(1)?;
        (self.bits >> self.len & 1 == colour).then_some(())?;
        self.bits &= !(1 << self.len);
        Some(self)
    }
    /// A number that no other stack has: a one, then the entries in binary.
    pub(crate) fn number(self) -> usize {
        1 << self.len | self.bits as usize
    }
    /// The list from its other end.
    pub(crate) fn reversed(self) -> Self {
        (0..self.len).rev().fold(Self::default(), |list, i| list.push(self.bits >> i & 1))
    }
}

/// What a scan remembers of the cells that it has passed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scan<W> {
    /// The codes, four bits a cell, at their places in the border's word.
    pub(crate) word: W,
    /// Code of the last cell; [`EDGE`] for none.
    pub(crate) last: u32,
    /// The code that the next cell has for a neighbour if the kink lies between the two.
    pub(crate) across: u32,
    /// Open connections, the innermost on top.
    pub(crate) stack: Colours,
    /// Connections that were closed here but not opened here, in order.
    pub(crate) demands: Colours,
}

/// What a scan accepts.
#[derive(Clone, Copy)]
pub(crate) struct ScanRules<W> {
    /// The cell right below the kink. It agrees with [`Scan::across`] instead of [`Scan::last`].
    pub(crate) kink: Option<u32>,
    /// Whether connections may be closed that were not opened.
    pub(crate) may_demand: bool,
    /// Most connections that may be open at the end.
    pub(crate) most_open: u32,
    /// The colours that the cells must have: a border of free stones and empty cells, 0 where any will do.
    pub(crate) only: W,
}

impl<W: Word> Default for ScanRules<W> {
    /// No kink, no demands, any number of open connections, and any colours.
    fn default() -> Self {
        Self { kink: None, may_demand: false, most_open: u32::MAX, only: W::ZERO }
    }
}

impl<W: Word> ScanRules<W> {
    /// The codes that a cell may have, ascending.
    pub(crate) fn codes(&self, cell: u32) -> &'static [u32] {
        match (self.only >> (4 * cell)).low() & 0xf {
            0 => &CODES,
            EMPTY => &CODES[..1],
            stone => &STONES[(stone & COLOUR) as usize],
        }
    }
}

impl<W: Word> Scan<W> {
    /// The potential of the cells that it has passed: see [`potential`](crate::go::block::cells::potential).
    pub(crate) fn potential(&self) -> u32 {
        32 * (self.word.widen() >> 3 & u128::ONES).count_ones() + self.stack.len + self.demands.len
    }

    /// The scan after `cell`, the next one, with one of its codes; `None` if the code does not fit.
    pub(crate) fn extended(&self, cell: u32, code: u32, rules: &ScanRules<W>) -> Option<Self> {
        let neighbour = if rules.kink == Some(cell) { self.across } else { self.last };
        if !neighbours_agree(neighbour, code) {
            return None;
        }
        let colour = code & COLOUR;
        let (mut stack, mut demands) = (self.stack, self.demands);
        if code >= NEEDY && code & ABOVE != 0 {
            if stack.len == 0 && rules.may_demand {
                demands = demands.push(colour);
            } else {
                stack = stack.pop(colour)?;
            }
        }
        if code >= NEEDY && code & BELOW != 0 {
            stack = stack.push(colour);
        }
        let word = self.word | W::truncate(code.into()) << (4 * cell);
        Some(Self { word, last: code, across: neighbour_across_kink(self.last, code), stack, demands })
    }
}

/// Visits all ways to scan `cells` after `from`.
pub(crate) fn scan<W: Word>(cells: Range<u32>, rules: &ScanRules<W>, from: Scan<W>, visit: &mut impl FnMut(&Scan<W>)) {
    let Some(cell) = cells.clone().next() else { return visit(&from) };
    for next in rules.codes(cell).iter().filter_map(|&code| from.extended(cell, code, rules)) {
        // Each cell closes one connection at most.
        if next.stack.len.saturating_sub(cells.end - cell - 1) <= rules.most_open {
            scan(cell + 1..cells.end, rules, next, visit);
        }
    }
}

/// What the cells below an upper part must know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UpperSignature {
    pub(crate) stack: Colours,
    pub(crate) last: u32,
    /// See [`Scan::across`].
    pub(crate) across: u32,
}

impl UpperSignature {
    /// The signature of a scan.
    pub(crate) fn of<W>(scan: &Scan<W>) -> Self {
        Self { stack: scan.stack, last: scan.last, across: scan.across }
    }
    /// A scan that has just passed such a part.
    pub(crate) fn scan<W: Word>(&self) -> Scan<W> {
        Scan { last: self.last, across: self.across, stack: self.stack, ..Scan::default() }
    }
}

/// What a lower part asks of the cells above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LowerSignature {
    /// The connections that it closes, the innermost first.
    pub(crate) demands: Colours,
    /// Code of its first cell; [`EDGE`] for an empty part.
    pub(crate) first: u32,
}

impl LowerSignature {
    /// The signature of a scan of `cells`.
    pub(crate) fn of<W: Word>(scan: &Scan<W>, cells: &Range<u32>) -> Self {
        let first = if cells.is_empty() { EDGE } else { (scan.word >> (4 * cells.start)).low() & 0xf };
        Self { demands: scan.demands, first }
    }
    /// Whether a lower part of this signature may follow `above`. `kink`: the kink is between the two.
    pub(crate) fn fits<W>(&self, above: &Scan<W>, kink: bool) -> bool {
        let neighbour = if kink { above.across } else { above.last };
        above.stack == self.demands.reversed() && (self.first == EDGE || neighbours_agree(neighbour, self.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go::automaton;

    /// Scans of a whole border at every kink are as many as the states that the automaton counts.
    #[test]
    fn whole_borders_are_as_many_as_the_automaton_counts() {
        for height in 1..=8 {
            let classes = automaton::classes(height);
            for kink in 0..height {
                let rules = ScanRules { kink: Some(kink), ..ScanRules::default() };
                let mut states = 0_u128;
                scan(0..height, &rules, Scan::<u64>::default(), &mut |scan| {
                    states += u128::from(scan.stack.len == 0);
                });
                assert_eq!(states.div_ceil(2), classes[kink as usize], "m={height} kink {kink}");
            }
        }
    }

    #[test]
    fn demands_are_met_from_the_top_of_the_stack() {
        let stack = Colours::default().push(0).push(1);
        let demands = Colours::default().push(1).push(0);
        assert_eq!(stack, demands.reversed());
        assert_ne!(stack, demands);
        assert_eq!(stack.pop(0), None);
        assert_eq!(stack.pop(1), Some(Colours::default().push(0)));
        assert_eq!(Colours::default().pop(0), None);
    }
}
