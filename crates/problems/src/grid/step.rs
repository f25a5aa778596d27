//! Successors of a packed border state.
//!
//! The border is read from the top. A cell's two edges to earlier cells are at its places `row` (from above) and `row + 1`
//! (from the left). Its edges to later cells take the same places: to the right at `row`, down at `row + 1`.
//!
//! ```text
//!   above  left     becomes
//!   none   none     none none, or a new pair: ( to the right, ) down
//!   one of them     the same bracket to the right, or down
//!   (      )        a closed cycle
//!   (      (        the partner of the left one, ), opens: it now belongs to the other's
//!   )      )        the partner of the upper one, if any, closes: it belongs to the left one's, or to an end of the curve
//!   )      (        nothing to change; the partners find each other, for between them all is paired
//! ```
//!
//! An end of the curve is a ) without a partner. A cell that is an end begins such a bracket, or makes one of the partner
//! of the edge that leads to it. Two of them that meet complete a path.
//!
//! Most cells are taken by [`super::batch`], which makes of a state the same successors in the same order. Here are those of
//! an end of the curve, and of boards too high for it.
//!
//! Cost: one step per edge to find a partner.

use keima_model::{Board, Successors};

use super::batch;
use super::curves::Curves;

/// The state of a complete curve: the edge down is none, but "is closing".
pub const CLOSED: u64 = 2;

/// The state whose only edge leads right from `row` and comes from an end of the curve.
pub fn single_end(height: u32, row: u32) -> u64 {
    1 << (row + height + 2) | 1 << (row + 2)
}

/// The border read from the top: one bit a place.
#[derive(Clone, Copy)]
struct BracketWord {
    edges: u64,
    /// Which of them are closing brackets.
    closing: u64,
}

impl BracketWord {
    fn has(self, place: u32) -> bool {
        self.edges >> place & 1 == 1
    }
    fn closes(self, place: u32) -> bool {
        self.closing >> place & 1 == 1
    }
    /// The same with a bracket at this place.
    fn with(self, place: u32, closing: bool) -> Self {
        Self { edges: self.edges | 1 << place, closing: self.closing | u64::from(closing) << place }
    }
    /// The partner, further down, of an opening bracket at `place`.
    fn partner_below(self, place: u32) -> Option<u32> {
        let mut left = self.edges & !((2 << place) - 1);
        let mut open = 0;
        while left != 0 {
            let at = left.trailing_zeros();
            left &= left - 1;
            match self.closes(at) {
                true if open == 0 => return Some(at),
                true => open -= 1,
                false => open += 1,
            }
        }
        None
    }
    /// The partner, further up, of a closing bracket at `place`; none for an end of the curve.
    fn partner_above(self, place: u32) -> Option<u32> {
        let mut left = self.edges & ((1 << place) - 1);
        let mut closed = 0;
        while left != 0 {
            let at = left.ilog2();
            left &= !(1 << at);
            match self.closes(at) {
                false if closed == 0 => return Some(at),
                false => closed -= 1,
                true => closed += 1,
            }
        }
        None
    }
}

/// The data of one pass.
pub struct CellPass {
    board: Board,
    row: u32,
    right: bool,
    down: bool,
    /// Ends of the curve in this cell: two where the path is this cell alone.
    ends: u32,
    curves: Curves,
    /// Whether a curve may be complete after this pass.
    may_close: bool,
}

impl CellPass {
    /// The cell that `pass` adds.
    pub fn new(board: Board, curves: Curves, pass: u32) -> Self {
        let is_end = |(a, b)| u32::from(a == pass) + u32::from(b == pass);
        Self {
            board,
            row: board.cell(pass),
            right: board.column(pass) + 1 < board.length,
            down: !board.ends_column(pass),
            ends: curves.ends.map_or(0, is_end),
            curves,
            // A curve through all cells of whole columns is read off there, and goes no further.
            may_close: !curves.hamiltonian || board.ends_column(pass),
        }
    }

    /// Appends the successors of `keys`.
    pub fn expand(&self, keys: &[u64], out: &mut Successors<u64>) {
        if self.ends > 0 || self.board.height > batch::MAX_HEIGHT {
            return self.expand_one_by_one(keys, out);
        }
        let cell = batch::Cell::new(self.board, self.curves, self.row, [self.right, self.down], self.may_close);
        cell.expand(keys, out);
    }

    /// The same, for any cell.
    pub(super) fn expand_one_by_one(&self, keys: &[u64], out: &mut Successors<u64>) {
        for &key in keys {
            let before = out.keys.len();
            if key == CLOSED {
                out.keys.extend((!self.curves.hamiltonian).then_some(CLOSED));
            } else {
                self.choose(self.unpack(key), &mut out.keys);
            }
            out.degrees.push((out.keys.len() - before) as u8);
        }
    }

    fn choose(&self, word: BracketWord, out: &mut Vec<u64>) {
        let (above, left) = (self.row, self.row + 1);
        let keep = !(1 << above | 1 << left);
        let rest = BracketWord { edges: word.edges & keep, closing: word.closing & keep };
        match (self.ends, word.has(above), word.has(left)) {
            (0, false, false) => {
                if !self.curves.hamiltonian {
                    out.push(self.pack(rest));
                }
                if self.right && self.down {
                    out.push(self.pack(rest.with(above, false).with(left, true)));
                }
            }
            (0, true, true) => out.extend(self.join(word, rest)),
            (0, has_above, _) => self.lead_on(rest, word.closes(if has_above { above } else { left }), out),
            (1, false, false) => self.lead_on(rest, true, out),
            (1, true, false) => out.extend(self.end(word, rest, above)),
            (1, false, true) => out.extend(self.end(word, rest, left)),
            (2, false, false) => out.extend(self.close(rest)),
            _ => (),
        }
    }

    /// One bracket, to the right or down.
    fn lead_on(&self, rest: BracketWord, closing: bool, out: &mut Vec<u64>) {
        for (allowed, place) in [(self.right, self.row), (self.down, self.row + 1)] {
            out.extend(allowed.then(|| self.pack(rest.with(place, closing))));
        }
    }

    /// The edges from above and from the left meet.
    fn join(&self, word: BracketWord, rest: BracketWord) -> Option<u64> {
        let (above, left) = (self.row, self.row + 1);
        match (word.closes(above), word.closes(left)) {
            (false, true) if self.curves.ends.is_some() => None,
            (false, true) => self.close(rest),
            (false, false) => {
                let partner = word.partner_below(left)?;
                Some(self.pack(BracketWord { closing: rest.closing & !(1 << partner), ..rest }))
            }
            (true, true) => self.end(word, rest, above),
            (true, false) => Some(self.pack(rest)),
        }
    }

    /// The path behind the edge at `place` now leads to an end of the curve. Or to the edge of a closing bracket: its partner
    /// sees no difference.
    fn end(&self, word: BracketWord, rest: BracketWord, place: u32) -> Option<u64> {
        if !word.closes(place) {
            return Some(self.pack(rest));
        }
        match word.partner_above(place) {
            Some(partner) => Some(self.pack(BracketWord { closing: rest.closing | 1 << partner, ..rest })),
            None => self.close(rest),
        }
    }

    /// The curve is complete, if no other path has begun.
    fn close(&self, rest: BracketWord) -> Option<u64> {
        (self.may_close && rest.edges == 0).then_some(CLOSED)
    }

    /// Reads a key before this pass: the edge down stands among the rows, above this one.
    fn unpack(&self, key: u64) -> BracketWord {
        let above = (1 << self.row) - 1;
        let rows = (1 << self.board.height) - 1;
        let insert = |rows: u64, down: u64| rows & above | down << self.row | (rows & !above) << 1;
        let edges = insert(key >> (self.board.height + 2) & rows, key & 1);
        BracketWord { edges, closing: insert(key >> 2 & rows, key >> 1 & 1) & edges }
    }

    /// Writes a key after this pass.
    fn pack(&self, word: BracketWord) -> u64 {
        let above = (1 << (self.row + 1)) - 1;
        let rows = |word: u64| word & above | word >> 1 & !above;
        let down = |word: u64| word >> (self.row + 1) & 1;
        rows(word.edges) << (self.board.height + 2)
            | rows(word.closing) << 2
            | down(word.closing) << 1
            | down(word.edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the top: `.` no edge, `(` and `)` brackets.
    fn word(text: &str) -> BracketWord {
        let mask =
            |wanted: &str| (0..).zip(text.chars()).filter(|(_, c)| wanted.contains(*c)).map(|(i, _)| 1 << i).sum();
        BracketWord { edges: mask("()"), closing: mask(")") }
    }

    #[test]
    fn successors_worked_by_hand() {
        let cycle = Curves { ends: None, hamiltonian: false };
        let all = Curves { ends: None, hamiltonian: true };
        let path = Curves { ends: Some((0, 15)), hamiltonian: false };
        // A board 4 high; the edge from above is at the row's place, that from the left at the next.
        for (curves, pass, before, after) in [
            (cycle, 5, ".....", &[".....", ".().."][..]),
            (all, 5, "(..).", &["(())."][..]),
            (cycle, 5, "((.))", &["((.))", "(.())"]),
            (cycle, 5, ".()..", &["closed"]),
            (all, 5, ".()..", &[]),
            (path, 5, ".()..", &[]),
            (cycle, 5, ".()()", &[]),
            (cycle, 5, ".(())", &["...()"]),
            (cycle, 6, "(())", &["()"]),
            (path, 5, "())..", &[")...."]),
            (path, 5, ".)(.)", &["....)"]),
            // The last cell of a column leads to the right only.
            (cycle, 7, "(..).", &["(..)."]),
            (cycle, 7, "(...)", &["(..)."]),
            // The board's last cell ends the path.
            (path, 15, "...).", &["closed"]),
            (path, 15, "....)", &["closed"]),
            (path, 15, "...))", &[]),
        ] {
            let cell = CellPass::new(Board { height: 4, length: 4 }, curves, pass);
            let mut got = Vec::new();
            cell.choose(word(before), &mut got);
            let key = |text: &&str| if *text == "closed" { CLOSED } else { cell.pack(word(text)) };
            assert_eq!(got, after.iter().map(key).collect::<Vec<_>>(), "{curves:?} pass {pass} {before}");
        }
    }
}
