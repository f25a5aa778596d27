//! Successors of many states without branches: the same as [`super::step`]'s, for a cell that is no end of the curve.
//!
//! A key has the same bits before and after a pass, but for two edges: the one down, and the one in the cell's row. So the
//! rest stays where it is. The two edges before the pass, 16 cases, say what is added:
//!
//! ```text
//!   successor    the rest | what the case adds             two are written always, and counted where there are such
//!   of ( and (   less the partner's closing bit            changed afterwards, from a list of such states
//!   of ) and )   | the partner's closing bit               the same; without a partner the curve closes
//! ```
//!
//! Which case comes next cannot be predicted, and neither can how far a partner is. The search has a nibble for each row,
//! +1 for an opening and -1 for a closing bracket. One multiplication gives all sums from the first row on. The first that
//! is negative is the partner's. With at most 15 rows no sum before it exceeds 7.
//!
//! Cost: about 30 instructions a state, and 40 for a partner.

use keima_model::{Board, Successors};

use super::curves::Curves;
use super::step::CLOSED;

/// Largest height at which a nibble holds every sum.
pub(super) const MAX_HEIGHT: u32 = 16;

/// States at a time: what is made of them stays in the nearest cache.
const CHUNK: usize = 256;

/// In place of a successor that is none. No key is as large.
const NONE: u64 = u64::MAX;

/// The lowest bit of every nibble.
const ONES: u64 = 0x1111_1111_1111_1111;

/// What becomes of a state with two given edges.
#[derive(Clone, Copy, Default)]
struct Case {
    /// Bits of either successor besides the rest.
    adds: [u64; 2],
    /// Whether there is one: 1, or 0.
    has: [usize; 2],
    /// Whether there is a first one if there are no other edges.
    if_empty: usize,
    /// Whether a partner opens, or closes.
    opens: usize,
    closes: usize,
}

/// The data of one pass.
pub(super) struct Cell {
    height: u32,
    row: u32,
    /// All bits but those of the edge down and of the row's edge.
    keep: u64,
    cases: [Case; 16],
    /// Whether a curve may be complete after this pass.
    may_close: bool,
}

impl Cell {
    /// The cell in `row` of a column, and whether it may have edges to the right and down, and a curve may be complete after
    /// the pass. The height must be at most [`MAX_HEIGHT`].
    pub(super) fn new(board: Board, curves: Curves, row: u32, [right, down]: [bool; 2], may_close: bool) -> Self {
        let height = board.height;
        let of_row = |closing: bool| 1 << (row + height + 2) | u64::from(closing) << (row + 2);
        let of_down = |closing: bool| 1 | u64::from(closing) << 1;
        let lead_on = |closing: bool| Case {
            adds: [of_row(closing), of_down(closing)],
            has: [right.into(), down.into()],
            ..Case::default()
        };
        let joined = Case { has: [1, 0], ..Case::default() };
        let case = |number: usize| {
            let bracket = |edge: usize| (number >> edge & 1 == 1).then_some(number >> (edge + 1) & 1 == 1);
            match (bracket(0), bracket(2)) {
                _ if number == CLOSED as usize => {
                    Case { adds: [CLOSED, 0], has: [(!curves.hamiltonian).into(), 0], ..Case::default() }
                }
                (None, None) => Case {
                    adds: [0, of_row(false) | of_down(true)],
                    has: [(!curves.hamiltonian).into(), (right && down).into()],
                    ..Case::default()
                },
                (Some(closing), None) | (None, Some(closing)) => lead_on(closing),
                (Some(false), Some(true)) => {
                    Case { adds: [CLOSED, 0], if_empty: (curves.ends.is_none() && may_close).into(), ..Case::default() }
                }
                (Some(false), Some(false)) => Case { opens: 1, ..joined },
                (Some(true), Some(true)) => Case { closes: 1, ..joined },
                (Some(true), Some(false)) => joined,
            }
        };
        Self { height, row, keep: !(of_row(true) | of_down(true)), cases: std::array::from_fn(case), may_close }
    }

    /// Appends the successors of `keys`.
    pub(super) fn expand(&self, keys: &[u64], out: &mut Successors<u64>) {
        let mut made = Made::default();
        for keys in keys.chunks(CHUNK) {
            self.make(keys, &mut made);
            let mut complete = true;
            for &place in &made.opens[..made.opening] {
                let key = &mut made.keys[usize::from(place)];
                *key = self.partner_opens(*key);
                complete &= *key != NONE;
            }
            for &place in &made.closes[..made.closing] {
                let key = &mut made.keys[usize::from(place)];
                *key = self.partner_closes(*key);
                complete &= *key != NONE;
            }
            if !complete {
                made.drop_none(keys.len());
            }
            out.keys.extend_from_slice(&made.keys[..made.count]);
            out.degrees.extend_from_slice(&made.degrees[..keys.len()]);
        }
    }

    /// The successors of a chunk, but for partners.
    fn make(&self, keys: &[u64], made: &mut Made) {
        let in_row = self.row + 2;
        let (mut count, mut opening, mut closing) = (0, 0, 0);
        for (&key, degree) in keys.iter().zip(&mut made.degrees) {
            let edges = key & 3 | (key >> (in_row + self.height) & 1) << 2 | (key >> in_row & 1) << 3;
            let case = &self.cases[edges as usize & 15];
            let rest = key & self.keep;
            let before = count;
            made.opens[opening] = count as u16;
            made.closes[closing] = count as u16;
            opening += case.opens;
            closing += case.closes;
            made.keys[count] = rest | case.adds[0];
            count += case.has[0] | case.if_empty & usize::from(rest == 0);
            made.keys[count] = rest | case.adds[1];
            count += case.has[1];
            *degree = (count - before) as u8;
        }
        (made.count, made.opening, made.closing) = (count, opening, closing);
    }

    /// Opening and closing brackets of a key's rows.
    #[inline]
    fn brackets(&self, key: u64) -> (u64, u64) {
        let edges = key >> (self.height + 2) & ((1 << self.height) - 1);
        let closing = key >> 2 & edges;
        (edges ^ closing, closing)
    }

    /// The first closing bracket below without a partner opens.
    #[inline]
    fn partner_opens(&self, rest: u64) -> u64 {
        let below = self.row + 1;
        let (opening, closing) = self.brackets(rest);
        match first_negative(spread(opening >> below), spread(closing >> below)) {
            Some(place) => rest & !(1 << (below + 2 + place)),
            None => NONE,
        }
    }

    /// The first opening bracket above without a partner closes. Without one the curve is complete, if there is no other
    /// path.
    #[inline]
    fn partner_closes(&self, rest: u64) -> u64 {
        let (opening, closing) = self.brackets(rest);
        // The row above this one comes first.
        let up = |rows: u64| spread_back(rows << (MAX_HEIGHT - self.row));
        match first_negative(up(closing), up(opening)) {
            Some(place) => rest | 1 << ((self.row + 1).saturating_sub(place)),
            None if self.may_close && opening | closing == 0 => CLOSED,
            None => NONE,
        }
    }
}

/// What becomes of a chunk.
struct Made {
    keys: [u64; 2 * CHUNK + 2],
    count: usize,
    degrees: [u8; CHUNK],
    /// Places in `keys` of states whose partners open, or close.
    opens: [u16; CHUNK + 1],
    opening: usize,
    closes: [u16; CHUNK + 1],
    closing: usize,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            keys: [0; 2 * CHUNK + 2],
            count: 0,
            degrees: [0; CHUNK],
            opens: [0; CHUNK + 1],
            opening: 0,
            closes: [0; CHUNK + 1],
            closing: 0,
        }
    }
}

impl Made {
    /// Removes places that hold no successor of the batch's states.
    fn drop_none(&mut self, states: usize) {
        let (mut from, mut to) = (0, 0);
        for degree in &mut self.degrees[..states] {
            let before = to;
            for _ in 0..*degree {
                self.keys[to] = self.keys[from];
                to += usize::from(self.keys[from] != NONE);
                from += 1;
            }
            *degree = (to - before) as u8;
        }
        self.count = to;
    }
}

/// The first place at which there are more of the second kind than of the first. Both have a nibble for each place.
#[inline]
fn first_negative(first: u64, second: u64) -> Option<u32> {
    let sums = first.wrapping_sub(second).wrapping_mul(ONES);
    let negative = sums & ONES << 3;
    (negative != 0).then(|| negative.trailing_zeros() / 4)
}

/// The low 16 bits as nibbles, in their order.
#[inline]
fn spread(bits: u64) -> u64 {
    let nibbles = |byte: u64| u64::from(NIBBLES[byte as usize & 0xff]);
    nibbles(bits) | nibbles(bits >> 8) << 32
}

/// The low 16 bits as nibbles, the last one first.
#[inline]
fn spread_back(bits: u64) -> u64 {
    let nibbles = |byte: u64| u64::from(NIBBLES_BACK[byte as usize & 0xff]);
    nibbles(bits >> 8) | nibbles(bits) << 32
}

/// The bits of a byte as the lowest ones of nibbles.
const NIBBLES: [u32; 256] = nibbles(false);
/// The same for the last bit first.
const NIBBLES_BACK: [u32; 256] = nibbles(true);

const fn nibbles(back: bool) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            let to = if back { 7 - bit } else { bit };
            table[byte] |= (byte as u32 >> bit & 1) << (4 * to);
            bit += 1;
        }
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::grid::step;

    /// All states of these boards have the successors, in the order, that they have one by one.
    #[test]
    fn many_have_the_successors_of_one() {
        for (height, length) in [(1, 5), (2, 6), (3, 6), (4, 5), (5, 5), (6, 4), (7, 4), (8, 3), (16, 2), (17, 2)] {
            let board = Board { height, length };
            for curves in Curves::all(board) {
                let mut states = vec![0];
                for pass in 0..board.passes() {
                    let cell = step::CellPass::new(board, curves, pass);
                    let (mut got, mut expected) = (Successors::default(), Successors::default());
                    cell.expand(&states, &mut got);
                    cell.expand_one_by_one(&states, &mut expected);
                    assert_eq!(got.keys, expected.keys, "{board} {curves:?} pass {pass}");
                    assert_eq!(got.degrees, expected.degrees, "{board} {curves:?} pass {pass}");
                    states = BTreeSet::from_iter(got.keys).into_iter().collect();
                    // Wide boards have many; every seventh leads to all kinds of cases.
                    if states.len() > 20_000 {
                        states = states.into_iter().step_by(7).collect();
                    }
                }
            }
        }
    }

    #[test]
    fn partners_of_words_worked_by_hand() {
        // From the first place on: `.` no edge, `(` and `)` brackets; where the first ) without a partner is.
        for (word, expected) in [
            ("", None),
            (")", Some(0)),
            ("..)", Some(2)),
            ("()", None),
            ("(()).)", Some(5)),
            ("((((((()))))))).", Some(14)),
            ("()()()()()()()()", None),
        ] {
            let mask = |wanted: char| (0..).zip(word.chars()).filter(|&(_, c)| c == wanted).map(|(i, _)| 1 << i).sum();
            let (opening, closing): (u64, u64) = (mask('('), mask(')'));
            let got = first_negative(spread(opening), spread(closing));
            assert_eq!(got, expected, "{word}");
            let back = |bits: u64| spread_back((bits as u16).reverse_bits().into());
            assert_eq!(first_negative(back(opening), back(closing)), got, "{word}");
        }
    }
}
