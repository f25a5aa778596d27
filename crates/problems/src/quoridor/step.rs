//! Successors of a packed border state: the fence on one intersection, and the pawns on the new squares below it.
//!
//! ```text
//!   fence    allowed where                     fences
//!   empty    always                            0
//!   Cross    the last one in the line is not   1        cuts the new square here off from the one above
//!   Split    the last one at the gap is not    1        does not join the two squares above
//! ```
//!
//! Cost: a few bit walks a successor; no allocation, no panic and no endless loop on any bit pattern.

use keima_model::Successors;

use super::state::{Bits, State, UNPLACED};

/// The parameters of all passes.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Squares a side.
    pub n: u32,
    /// States that need more fences are left out: their values are zero.
    pub max_fences: u32,
}

impl Rules {
    /// The states before the first pass: one line of squares, pawns placed in all ways.
    pub fn start(self) -> Vec<u64> {
        let mut states = vec![State::bare(self.n)];
        for place in 0..self.n {
            states = states.iter().flat_map(|&state| placements(state, 1 << place).into_iter().flatten()).collect();
        }
        states.iter().map(|state| state.key(self.n)).collect()
    }

    /// Appends the successors of each of `keys` at `place` of `line` to `out`.
    pub fn expand(self, line: u32, place: u32, keys: &[u64], out: &mut Successors<u64>) {
        // A gap names one fence at most, and so does the cross bit.
        let prune = self.max_fences < self.n;
        let cell = Cell { n: self.n, line, place, most: prune.then_some(self.max_fences) };
        for &key in keys {
            let before = out.keys.len();
            cell.successors(State::of(key, self.n), out);
            out.degrees.push((out.keys.len() - before) as u8);
        }
    }
}

/// The intersection that a pass fills.
#[derive(Clone, Copy)]
struct Cell {
    n: u32,
    line: u32,
    place: u32,
    /// States that need more fences are left out.
    most: Option<u32>,
}

impl Cell {
    fn successors(self, state: State, out: &mut Successors<u64>) {
        let gap = 1 << self.place;
        let above = state.split & gap != 0;
        let blocked = state.cross == 1;
        let mut empty = state.with_fences(state.split & !gap, 0);
        if !above {
            empty.join(gap);
            // Before squares leave: a pawn that has reached its goal cannot be cut off.
            empty.reduce();
        }
        self.finish(empty, blocked, 0, out);
        if !blocked {
            self.finish(empty.with_fences(empty.split, 1), true, 1, out);
        }
        if !above {
            self.finish(state.with_fences(state.split | gap, 0), blocked, 1, out);
        }
    }

    /// Appends the states with new squares, with and without pawns. The new squares are below those whose edges are now
    /// known. `blocked`: the one at this place is cut off from its predecessor; `shift`: the fences just placed.
    #[inline]
    fn finish(self, mut state: State, blocked: bool, shift: u8, out: &mut Successors<u64>) {
        let Self { n, line, place, most } = self;
        let (square, last) = (1 << place, 1 << (n - 1));
        let goals = [1, last];
        let ends_line = place == n - 2;
        if blocked && !state.detach(square, goals) {
            return;
        }
        if ends_line {
            if state.cross == 1 && !state.detach(last, goals) {
                return;
            }
            state.cross = 0;
        }
        state.reduce();
        let mut push = |state: State| {
            if most.is_none_or(|most| state.least_fences(n, line, place) <= most) {
                out.keys.push(state.key(n));
                out.shifts.push(shift);
            }
        };
        for state in placements(state, square).into_iter().flatten() {
            if ends_line {
                placements(state, last).into_iter().flatten().for_each(&mut push);
            } else {
                push(state);
            }
        }
    }
}

/// `state` with each choice of pawns on a new square: none, the first, the second, or both on a goal of the first.
#[inline]
fn placements(state: State, square: Bits) -> [Option<State>; 4] {
    let unplaced = state.pawns.map(|pawn| pawn == UNPLACED);
    [
        Some(state),
        unplaced[0].then(|| state.with_pawn(0, square)),
        unplaced[1].then(|| state.with_pawn(1, square)),
        (unplaced == [true; 2] && square == 1).then(|| state.with_shared(square)),
    ]
}
