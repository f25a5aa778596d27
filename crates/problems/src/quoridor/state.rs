//! The working form of a border state, and bit operations on it.
//!
//! The frontier runs from goal to goal: square 0 touches goal A, the first player's, and square n-1 goal B, the second's.
//! The squares' components do not cross, so two bits a square hold them as brackets. `open`: the component has another
//! frontier square to the right; `close`: to the left. `close` is read before `open`. A pawn is named by the first square
//! of its component. Key, 5n + 9 bits:
//!
//! ```text
//!   bits  n-1      n      n      n      n      1      1        4      4
//!        | split | touch | touch | close | open | cross | shared | pawn 1 | pawn 2 |      pawn: 0..n-1 first square of
//!        |       |   B   |   A   |       |      |       |        |        |        |      its component, 14 resolved,
//!                                                                                         15 unplaced
//! ```
//!
//! `split`: per gap, whether the last fence chosen there is Split. `cross`: whether the last one in this line is Cross (0 at
//! a line's start; names as in [`super::border`]). `shared`: both pawns were put on one square of the first player's goal,
//! for the variant with neither pawn on its goal (see [`super::Quoridor`]).
//!
//! Exact reductions merge states with equal completions. Once the first pawn is resolved, goal A no longer matters: its
//! flags are dropped. All components that touch B become one, since the second pawn only needs to reach any of them; if it
//! stood in one, it would be resolved. The same holds with the players exchanged. When both are resolved, the components
//! are dropped too.
//!
//! Cost: a few bit walks a function; no allocation, no panic and no endless loop on any bit pattern.

/// A set of frontier squares or gaps, one bit each.
pub(super) type Bits = u32;

/// A pawn that has a way to its goal.
const RESOLVED: u32 = 14;
/// A pawn that is still to be placed.
pub(super) const UNPLACED: u32 = 15;
/// Bits of a pawn.
const PAWN_BITS: u32 = 4;
/// Low bits of a key that are not per square: two pawns, `shared` and `cross`.
const LOW_BITS: u32 = 2 * PAWN_BITS + 2;

/// Bits of a key.
pub const fn key_bits(n: u32) -> u32 {
    split_shift(n) + n - 1
}

/// Where the `split` bits begin: they come first in the key.
pub const fn split_shift(n: u32) -> u32 {
    LOW_BITS + 4 * n
}

/// A border state: all that completions depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub(super) split: Bits,
    touch: [Bits; 2],
    close: Bits,
    open: Bits,
    pub(super) cross: Bits,
    shared: Bits,
    pub(super) pawns: [u32; 2],
}

impl State {
    /// A line of squares that are not connected, without pawns.
    pub(super) fn bare(n: u32) -> Self {
        let touch = [1, 1 << (n - 1)];
        Self { split: 0, touch, close: 0, open: 0, cross: 0, shared: 0, pawns: [UNPLACED; 2] }
    }

    /// The state of a key. Keys that no state has give some state.
    #[inline]
    pub fn of(key: u64, n: u32) -> Self {
        let plane = |index: u32| (key >> (LOW_BITS + index * n)) as Bits & ((1 << n) - 1);
        let low = |at: u32, bits: u32| (key >> at) as u32 & ((1 << bits) - 1);
        Self {
            split: (key >> split_shift(n)) as Bits & ((1 << (n - 1)) - 1),
            touch: [plane(2), plane(3)],
            close: plane(1),
            open: plane(0),
            cross: low(9, 1),
            shared: low(8, 1),
            pawns: [low(4, 4), low(0, 4)],
        }
    }

    /// The key.
    #[inline]
    pub fn key(&self, n: u32) -> u64 {
        let Self { split, touch: [a, b], close, open, cross, shared, pawns: [first, second] } = *self;
        let planes = [open, close, a, b, split].into_iter().rev().fold(0, |key, plane| key << n | u64::from(plane));
        planes << LOW_BITS | u64::from(cross << 9 | shared << 8 | first << 4 | second)
    }

    /// Whether no pawn is placed. Such states count the arrangements of fences.
    pub fn is_bare(&self) -> bool {
        self.pawns == [UNPLACED; 2]
    }

    /// The component of `square`: all its frontier squares.
    #[inline]
    fn component(&self, square: Bits) -> Bits {
        let mut squares = square;
        let mut at = square;
        while at & self.close != 0 {
            at = self.before(at);
            squares |= at;
        }
        at = square;
        while at & self.open != 0 {
            at = self.after(at);
            squares |= at;
        }
        squares
    }

    /// The square before `square` in its component: the last unmatched opening bracket to the left, or none.
    #[inline]
    fn before(&self, square: Bits) -> Bits {
        let mut opening = self.open & square.wrapping_sub(1);
        let mut closing = self.close & square.wrapping_sub(1);
        loop {
            let last = highest(opening);
            // Each closing bracket after it is matched by this or a later opening one: drop them in pairs.
            let inside = closing & !(last | last.wrapping_sub(1));
            if inside == 0 || last == 0 {
                return last;
            }
            opening ^= last;
            closing ^= lowest(inside);
        }
    }

    /// The square after `square` in its component: the first unmatched closing bracket to the right, or none.
    #[inline]
    fn after(&self, square: Bits) -> Bits {
        let beyond = !(square | square.wrapping_sub(1));
        let mut opening = self.open & beyond;
        let mut closing = self.close & beyond;
        loop {
            let first = lowest(closing);
            let inside = opening & first.wrapping_sub(1);
            if inside == 0 || first == 0 {
                return first;
            }
            opening ^= lowest(inside);
            closing ^= first;
        }
    }

    /// Connects `square` with the next one on the frontier.
    #[inline]
    pub(super) fn join(&mut self, square: Bits) {
        let next = square << 1;
        let (opens, closes) = (self.open & square != 0, self.close & next != 0);
        if opens && closes {
            // Nothing lies between them: they are of one component.
            return;
        }
        let (left, right) = (self.component(square), self.component(next));
        let joined = left | right;
        // Where one component lies within a bracket of the other, its far end takes the bracket over.
        if opens {
            self.open |= highest(right);
        } else if closes {
            self.close |= lowest(left);
        }
        self.open |= square;
        self.close |= next;
        for touch in &mut self.touch {
            if *touch & joined != 0 {
                *touch |= joined;
            }
        }
        for pawn in &mut self.pawns {
            if *pawn < RESOLVED && joined >> *pawn & 1 == 1 {
                *pawn = lowest(joined).trailing_zeros();
            }
        }
    }

    /// A new square without connection takes the place of `square`; false if that cuts off a pawn.
    #[inline]
    pub(super) fn detach(&mut self, square: Bits, goals: [Bits; 2]) -> bool {
        let (opens, closes) = (self.open & square != 0, self.close & square != 0);
        let mut heir = 0;
        match (closes, opens) {
            (false, true) => {
                heir = self.after(square);
                self.close &= !heir;
            }
            (true, false) => {
                let before = self.before(square);
                self.open &= !before;
            }
            // Alone, or between two: those become neighbours of each other, the brackets say so by themselves.
            (false, false) | (true, true) => {}
        }
        self.open &= !square;
        self.close &= !square;
        for (touch, goal) in self.touch.iter_mut().zip(goals) {
            *touch = *touch & !square | goal & square;
        }
        let leaving = square.trailing_zeros();
        for pawn in &mut self.pawns {
            if *pawn == leaving {
                if heir == 0 {
                    return false;
                }
                *pawn = heir.trailing_zeros();
            }
        }
        true
    }

    /// The same with other fences: the `split` bits and the `cross` bit.
    #[inline]
    pub(super) fn with_fences(self, split: Bits, cross: Bits) -> Self {
        Self { split, cross, ..self }
    }

    /// Resolves pawns, and applies the reductions.
    #[inline]
    pub(super) fn reduce(&mut self) {
        for (pawn, touch) in self.pawns.iter_mut().zip(self.touch) {
            if *pawn < RESOLVED && touch >> *pawn & 1 == 1 {
                *pawn = RESOLVED;
            }
        }
        let resolved = self.pawns.map(|pawn| pawn == RESOLVED);
        match resolved {
            [false, false] => {}
            [true, true] => (self.open, self.close, self.touch) = (0, 0, [0, 0]),
            [first, _] => {
                // The flags of the resolved pawn are dropped.
                self.touch[usize::from(!first)] = 0;
                let wanted = self.touch[usize::from(first)];
                self.open |= wanted & !highest(wanted);
                self.close |= wanted & !lowest(wanted);
            }
        }
    }

    /// Puts the pawn of `player`, unplaced so far, on `square`.
    #[inline]
    pub(super) fn with_pawn(mut self, player: usize, square: Bits) -> Self {
        self.pawns[player] = lowest(self.component(square)).trailing_zeros();
        self.reduce();
        self
    }

    /// Puts both pawns on one square of the first player's goal.
    #[inline]
    pub(super) fn with_shared(mut self, square: Bits) -> Self {
        self.shared = 1;
        self.pawns[0] = RESOLVED;
        self.with_pawn(1, square)
    }

    /// The state after the last pass with the last line's gaps joined where no fence stands above them.
    fn closed(mut self, n: u32) -> Self {
        for gap in 0..n - 1 {
            if self.split >> gap & 1 == 0 {
                self.join(1 << gap);
                self.reduce();
            }
        }
        self
    }

    /// After the last pass: whether both pawns have a way to their goals.
    pub fn is_legal(&self, n: u32) -> bool {
        self.shared == 0 && self.closed(n).pawns == [RESOLVED; 2]
    }

    /// After the last pass: whether the second pawn is alone and has a way to its goal.
    pub fn is_legal_alone(&self, n: u32) -> bool {
        self.closed(n).pawns == [UNPLACED, RESOLVED]
    }

    /// After the last pass: whether the pawns share a square from which the second has a way to its goal.
    pub fn is_legal_shared(&self, n: u32) -> bool {
        self.shared == 1 && self.closed(n).pawns == [RESOLVED; 2]
    }

    /// A lower bound on the fences of every way to this state, after the pass at `place` of `line`.
    ///
    /// Split bits and the cross bit are one fence each. Neighbours on the frontier without a Split fence above them are
    /// connected through the line above, unless a fence is in the way. That is a Cross fence below that line at one of three
    /// places, or a forgotten Split fence. A Cross fence explains at most three gaps. Nothing is above line 0.
    #[inline]
    pub(super) fn least_fences(&self, n: u32, line: u32, place: u32) -> u32 {
        let last_gap = if line == 0 { place } else { n - 2 };
        let gaps = (2 << last_gap) - 1;
        let mut unexplained = gaps & !self.split & !(self.open & self.close >> 1);
        if self.pawns == [RESOLVED; 2] {
            unexplained = 0;
        }
        if self.cross == 1 {
            // It stands at gap `place` and explains its neighbours at most.
            unexplained &= !(7 << place >> 1);
        }
        let mut least = self.split.count_ones() + self.cross;
        while unexplained != 0 {
            least += 1;
            let first = lowest(unexplained);
            unexplained &= !(first | first << 1 | first << 2);
        }
        least
    }
}

#[inline]
fn lowest(bits: Bits) -> Bits {
    bits & bits.wrapping_neg()
}

#[inline]
fn highest(bits: Bits) -> Bits {
    const TOP: Bits = 1 << (Bits::BITS - 1);
    TOP.checked_shr(bits.leading_zeros()).unwrap_or(0)
}
