//! The successors of many states without branches, for tours that are closed or have given ends: the same as
//! [`super::step`]'s.
//!
//! Neither whether a cell is full, the end of a path or untouched can be predicted, nor which of its edges are possible. So
//! the states are sorted by that first. All of one kind then have the same candidates, which vector instructions make:
//!
//! ```text
//!   the cell is     candidates
//!   full            the state without new edges
//!   end of a path   an edge to each later neighbour          0 to 4
//!   untouched       edges to each two of them                0 to 6
//!
//!   keys -> lists by kind -> candidates, 0 where there is none or it is hopeless -> the others -> with pairs numbered
//!        -> in the order of the keys
//! ```
//!
//! Lists are made shorter by writing everything, and going on only behind what stays.
//!
//! Cost: some 120 bit operations a candidate, on four words at a time with AVX2.

// Code for the machine's vector instructions must be inlined into the dispatched function.
#![allow(clippy::inline_always)]

use keima_model::Successors;

use super::prune::Degrees;
use super::state::{self, FINISHED, FULL, UNTOUCHED, Word};

/// States at a time: their lists stay in the nearest cache.
const CHUNK: usize = 256;

/// Most candidates of a state.
const MOST: usize = 6;

/// The code of a new pair until pairs are numbered: that of pair 13. No state with two untouched cells has so many.
const NEW: u32 = 7;

/// Kinds of states: the next cell is the end of a path, untouched, or full.
const KINDS: usize = 3;
const END: usize = 0;
const FRESH: usize = 1;
const DONE: usize = 2;

/// The kind by the next cell's code.
const KIND: [u8; 16] = {
    let mut kinds = [END as u8; 16];
    kinds[UNTOUCHED as usize] = FRESH as u8;
    kinds[FULL as usize] = DONE as u8;
    kinds
};

/// The data of one pass.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a, W> {
    /// The cell that enters the window, in its place.
    pub(super) entering: W,
    /// Bit numbers of the later neighbours, after the cell itself has left.
    pub(super) neighbours: &'a [u32],
    /// The state that an edge may close a tour with; 0 if none may.
    pub(super) closed: W,
    /// Whether only a path between ends of the tour may close.
    pub(super) path: bool,
    pub(super) degrees: Option<&'a Degrees<W>>,
}

impl<W: Word> Cell<'_, W> {
    /// Appends the successors of `keys`.
    pub(super) fn expand(&self, keys: &[W], out: &mut Successors<W>) {
        let mut room = Room::new();
        for keys in keys.chunks(CHUNK) {
            room.sort(keys);
            room.found.clear();
            room.ends.clear();
            room.ends.push(0);
            self.find(END, self.neighbours.iter().map(|&at| (None, at)), &mut room);
            let later = self.neighbours.iter().zip(1..).map(|(&first, next)| (first, &self.neighbours[next..]));
            self.find(FRESH, later.flat_map(|(first, at)| at.iter().map(move |&at| (Some(first), at))), &mut room);
            state::normalise_all(&mut room.found);
            for &key in &room.sorted[DONE][..room.sizes[DONE]] {
                room.found.push(self.passed(key));
                room.ends.push(room.found.len() as u16);
            }
            room.hand_out(keys.len(), out);
        }
    }

    /// The state after this cell without new edges.
    #[inline(always)]
    fn passed(&self, key: W) -> W {
        key >> 4 | self.entering
    }

    /// Appends the states to which edges of a kind's states lead: an untouched cell's first edge, if that is given, and one
    /// more.
    fn find(&self, kind: usize, edges: impl Iterator<Item = (Option<u32>, u32)>, room: &mut Room<W>) {
        let Room { sorted, sizes, candidates, found, ends, .. } = room;
        let sources = &sorted[kind][..sizes[kind]];
        let mut slots = 0;
        for ((first, at), candidates) in edges.zip(&mut *candidates) {
            let candidates = &mut candidates[..sources.len()];
            pulp::Arch::new().dispatch(Join { cell: *self, first, at, sources, candidates });
            slots += 1;
        }
        let mut end = found.len();
        found.resize(end + slots * sources.len() + 1, W::ZERO);
        for source in 0..sources.len() {
            for candidates in &candidates[..slots] {
                found[end] = candidates[source];
                end += usize::from(candidates[source] != W::ZERO);
            }
            ends.push(end as u16);
        }
        found.truncate(end);
    }

    /// An edge from the end of a path, with code `own`, to the cell at bit `at`; 0 if there is none.
    #[inline(always)]
    fn join(&self, state: W, own: W, at: u32) -> W {
        let other = nibble(state, at);
        let filled = state & !(code::<W>(0xf) << at) | code::<W>(FULL) << at;
        // The cells with one of the codes get the other; those that are finished stay so.
        let from = if own == code(FINISHED) { other } else { own };
        let same = state::zeros(filled ^ from.repeated());
        let recoded = filled ^ same.times(0xf) & (own ^ other).repeated();
        let joined = if other == code(UNTOUCHED) { state | own << at } else { recoded };
        let open = (filled != self.closed) | self.path & (own != code(FINISHED));
        let joined = if (other == own) & open { W::ZERO } else { joined };
        if other == code(FULL) { W::ZERO } else { joined }
    }

    /// An edge from an untouched cell to the one at bit `at`: the state then, and the cell's code; 0 if there is none.
    #[inline(always)]
    fn begin(state: W, at: u32) -> (W, W) {
        let other = nibble(state, at);
        let cleared = state & !(code::<W>(0xf) << at);
        let is_new = other == code(UNTOUCHED);
        let own = if is_new { code(NEW) } else { other };
        (cleared | if is_new { code(NEW) } else { code::<W>(FULL) } << at, own)
    }
}

/// A code as a word.
#[inline(always)]
fn code<W: Word>(code: u32) -> W {
    W::truncate(code.into())
}

/// The nibble at bit `at`, as a word.
#[inline(always)]
fn nibble<W: Word>(state: W, at: u32) -> W {
    state >> at & code(0xf)
}

/// One candidate for all states of a kind.
struct Join<'a, W> {
    cell: Cell<'a, W>,
    /// An untouched cell's first edge leads to the cell at this bit.
    first: Option<u32>,
    at: u32,
    sources: &'a [W],
    candidates: &'a mut [W],
}

impl<W: Word> pulp::WithSimd for Join<'_, W> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { cell, first, at, sources, candidates } = self;
        // A copy: the compiler then knows that writes do not change it.
        let degrees = cell.degrees.copied();
        let make = |key: W| {
            let state = cell.passed(key);
            let Some(first) = first else { return cell.join(state, key & code(0xf), at) };
            let (begun, own) = Cell::begin(state, first);
            let joined = cell.join(begun, own, at);
            if own == code(FULL) { W::ZERO } else { joined }
        };
        for (candidate, &key) in candidates.iter_mut().zip(sources) {
            *candidate = make(key);
        }
        let Some(degrees) = degrees else { return };
        for candidate in candidates {
            *candidate = if degrees.hopeless(*candidate, [0, 0]) { W::ZERO } else { *candidate };
        }
    }
}

/// The lists of a chunk.
struct Room<W> {
    /// The keys by kind, and how many there are of each.
    sorted: [[W; CHUNK]; KINDS],
    sizes: [usize; KINDS],
    /// The kind of each key.
    kinds: [u8; CHUNK],
    candidates: [[W; CHUNK]; MOST],
    /// What is found for the keys of each kind, one after the other.
    found: Vec<W>,
    /// 0, and where what is found for each key ends.
    ends: Vec<u16>,
}

impl<W: Word> Room<W> {
    fn new() -> Self {
        Self {
            sorted: [[W::ZERO; CHUNK]; KINDS],
            sizes: [0; KINDS],
            kinds: [0; CHUNK],
            candidates: [[W::ZERO; CHUNK]; MOST],
            found: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Sorts keys by kind.
    fn sort(&mut self, keys: &[W]) {
        let mut sizes = [0; KINDS];
        for (&key, to) in keys.iter().zip(&mut self.kinds) {
            let kind = KIND[key.low() as usize & 0xf];
            *to = kind;
            // All of them are written: where to is then known at once.
            for (list, &size) in self.sorted.iter_mut().zip(&sizes) {
                list[size] = key;
            }
            for (size, of) in sizes.iter_mut().zip(0..) {
                *size += usize::from(kind == of);
            }
        }
        self.sizes = sizes;
    }

    /// Appends what is found to `out`, in the order of the keys.
    fn hand_out(&mut self, keys: usize, out: &mut Successors<W>) {
        let Self { found, ends, .. } = self;
        let mut next = [0, self.sizes[END], self.sizes[END] + self.sizes[FRESH]];
        let (first, all) = (out.keys.len(), found.len());
        let mut end = first;
        // A fixed number of words is copied for each key, whether wanted or not.
        found.resize(all + MOST, W::ZERO);
        out.keys.resize(first + all + MOST, W::ZERO);
        for &kind in &self.kinds[..keys] {
            let source = next[usize::from(kind)];
            next[usize::from(kind)] += 1;
            let from = usize::from(ends[source]);
            out.keys[end..end + MOST].copy_from_slice(&found[from..from + MOST]);
            let count = usize::from(ends[source + 1]) - from;
            end += count;
            out.degrees.push(count as u8);
        }
        out.keys.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use keima_model::Board;

    use super::*;
    use crate::knight::prune::Prunes;
    use crate::knight::{Tours, step};

    /// All states of a board have the successors, in the order, that they have one by one.
    fn check(board: Board, tours: Tours, prunes: Prunes) {
        let mut states = vec![step::start::<u64>(board, tours)];
        for pass in 0..board.passes() {
            let cell = step::CellPass::new(board, tours, prunes, pass);
            let (mut got, mut expected) = (Successors::default(), Successors::default());
            cell.expand(&states, &mut got);
            cell.expand_one_by_one(&states, &mut expected);
            assert_eq!(got.keys, expected.keys, "{board} {tours:?} {prunes:?} pass {pass}");
            assert_eq!(got.degrees, expected.degrees, "{board} {tours:?} {prunes:?} pass {pass}");
            states = BTreeSet::from_iter(got.keys).into_iter().collect();
            // Wide boards have many; every seventh leads to all kinds of cases.
            if states.len() > 20_000 {
                states = states.into_iter().step_by(7).collect();
            }
        }
    }

    #[test]
    fn many_have_the_successors_of_one() {
        for (height, length) in [(1, 3), (2, 4), (3, 4), (3, 8), (4, 4), (5, 4), (5, 6), (6, 4), (7, 4)] {
            let board = Board { height, length };
            for tours in [Tours::Closed, Tours::Between(0, 1), Tours::Between(height - 1, board.passes() - 1)] {
                for prunes in [Prunes::ALL, Prunes::NONE] {
                    check(board, tours, prunes);
                }
            }
        }
    }
}
