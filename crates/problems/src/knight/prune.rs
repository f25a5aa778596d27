//! Prunes: discards states that no tour completes, by the colours of the tour's ends and by cells that lack neighbours.
//!
//! *Colours.* A knight's move changes the colour. So the ends of a path have different colours on a board with an even
//! number of cells, and both have the majority colour on an odd one. A cycle needs an even board. Every edge serves one
//! cell of either colour. So the missing edges of black cells less those of white cells change only where an end of the
//! tour goes without its second edge. That difference tells the colour of the first end.
//!
//! *Degree.* A cell may miss more edges than it has neighbours that can give one. Then it must be an end of the tour, and
//! is hopeless if it misses two more. A neighbour can give an edge if it has not chosen yet and is not full. The cell's
//! mate cannot: an edge to it closes a cycle, which only the last edge may do.
//!
//! Both discard only states that lead to no tour, so counts are the same without them. Cost: some bit operations a state.

// Code for the machine's vector instructions must be inlined into the dispatched function.
#![allow(clippy::inline_always)]

use keima_model::Board;

use super::state::{self, Word};
use super::tours::{Tours, adjacent, is_black, steps};

/// Which prunes are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prunes {
    /// The ends' colours.
    pub colours: bool,
    /// Cells that lack neighbours.
    pub degree: bool,
}

impl Prunes {
    /// All prunes.
    pub const ALL: Self = Self { colours: true, degree: true };
    /// None: every state that the definition allows.
    pub const NONE: Self = Self { colours: false, degree: false };
}

/// Numbers of cells of either colour that may still become ends of the tour: `[black, white]`.
pub type EndsLeft = [u32; 2];

/// Whether the colours allow any tour at all.
pub fn colours_allow(board: Board, tours: Tours) -> bool {
    let excess = |cell: u32| if is_black(board, cell) { 1 } else { -1 };
    let all = i64::from(board.passes() % 2);
    match tours {
        Tours::Open => true,
        Tours::Closed => all == 0,
        // Black cells are the majority of an odd board: they stand in the corners.
        Tours::Between(a, b) => excess(a) + excess(b) == 2 * all,
    }
}

/// The colours' part of one pass. Without the prune, all cells count as black.
#[derive(Clone, Copy)]
pub struct Colours<W> {
    /// Black cells of the window before the pass.
    black: W,
    /// Cells of the window that are on the board.
    window: W,
    /// Missing edges of the black cells behind the window less those of the white ones.
    beyond: i64,
    even: bool,
    active: bool,
}

impl<W: Word> Colours<W> {
    /// For the window that starts at cell `first`.
    pub fn new(board: Board, first: u32, active: bool) -> Self {
        let end = board.passes();
        let span = 2 * board.height + 1;
        let window = (first..end.min(first + span)).fold(W::ZERO, |set, cell| set | W::ONE << (4 * (cell - first)));
        let black = (first..end.min(first + span))
            .filter(|&cell| is_black(board, cell))
            .fold(W::ZERO, |set, cell| set | W::ONE << (4 * (cell - first)));
        let beyond = 2 * black_excess_from(board, first + span);
        Self { black: if active { black } else { window }, window, beyond, even: end.is_multiple_of(2), active }
    }

    /// The black cells among those of the window.
    pub fn black(&self) -> W {
        self.black
    }

    /// The ends that the completions of `state` may have on either colour.
    #[inline]
    pub fn ends_left(&self, state: W) -> EndsLeft {
        let used = state::finished(state).count();
        let total = 2_u32.saturating_sub(used);
        if !self.active || !self.even {
            return [total, 0];
        }
        if used != 1 {
            return [total / 2, total / 2];
        }
        // +1 if the first end is white, -1 if it is black.
        if self.missing_black_less_white(state) > 0 { [1, 0] } else { [0, 1] }
    }

    #[inline]
    fn missing_black_less_white(&self, state: W) -> i64 {
        let untouched = state::zeros(state) & self.window;
        let ends = state::ends(state) & self.window;
        let sum = |cells: W| i64::from((cells & self.black).count()) - i64::from((cells & !self.black).count());
        self.beyond + 2 * sum(untouched) + sum(ends)
    }
}

/// The degrees' part: the window's cells and their neighbours.
#[derive(Clone, Copy)]
pub struct Degrees<W> {
    /// Per distance, in bits: the cells that have a neighbour in the window so far above them.
    links: [(u32, W); 3],
    /// Cells with at least one, and at least two neighbours beyond the window.
    beyond: [W; 2],
    window: W,
    /// Black cells; see [`Colours`].
    black: W,
    /// Whether there are cells beyond the window.
    more: bool,
}

impl<W: Word> Degrees<W> {
    /// For the window that starts at cell `first`.
    pub fn new(board: Board, first: u32, black: W) -> Self {
        let (span, end) = (2 * board.height + 1, board.passes());
        let cells = || first..end.min(first + span);
        let mark = |cell: u32| W::ONE << (4 * (cell - first));
        let mut links = [(0, W::ZERO); 3];
        // The longest move, 2m+1 cells, leads out of the window from everywhere.
        for (link, step) in links.iter_mut().zip(steps(board.height).filter(|&step| step < span)) {
            let linked = cells().filter(|&cell| cell + step < first + span && adjacent(board, cell, cell + step));
            *link = (4 * step, linked.fold(W::ZERO, |set, cell| set | mark(cell)));
        }
        let mut beyond = [W::ZERO; 2];
        for cell in cells() {
            let outside = (first + span).max(cell)..end.min(cell + span + 1);
            let count = outside.filter(|&other| adjacent(board, cell, other)).count();
            for level in beyond.iter_mut().take(count) {
                *level = *level | mark(cell);
            }
        }
        let window = cells().fold(W::ZERO, |set, cell| set | mark(cell));
        Self { links, beyond, window, black, more: first + span < end }
    }

    /// Which of `states` are not hopeless. `left` has an entry for each, or none where none has any left.
    pub fn hopeful(&self, states: &[W], left: &[EndsLeft], out: &mut Vec<bool>) {
        out.clear();
        out.resize(states.len(), false);
        pulp::Arch::new().dispatch(Hopeful { degrees: self, states, left, out });
    }

    /// Whether `state` has more cells that must be ends of the tour than may be.
    #[inline(always)]
    pub fn hopeless(&self, state: W, left: EndsLeft) -> bool {
        let ends = state::ends(state) & self.window;
        let untouched = state::zeros(state) & self.window;
        let open = ends | untouched;
        // The last edge may close the cycle, or the path.
        let last = !self.more && open.rest().rest() == W::ZERO;
        let allowed = if last { W::ONES } else { W::ZERO };
        let [mut one, mut two] = self.beyond;
        for (step, linked) in self.links {
            let mates = state::zeros(state ^ state >> step) & ends;
            let linked = linked & (!mates | allowed);
            for free in [open >> step & linked, (open & linked) << step] {
                two = two | one & free;
                one = one | free;
            }
        }
        let lacking = ends & !one | untouched & !two;
        let black = lacking & self.black;
        let white = lacking & !self.black;
        // Without branches, for vector instructions.
        (untouched & !one != W::ZERO) | (beyond(black, left[0]) != W::ZERO) | (beyond(white, left[1]) != W::ZERO)
    }
}

/// A batch for [`Degrees::hopeful`].
struct Hopeful<'a, W> {
    degrees: &'a Degrees<W>,
    states: &'a [W],
    left: &'a [EndsLeft],
    out: &'a mut [bool],
}

impl<W: Word> pulp::WithSimd for Hopeful<'_, W> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { degrees, states, left, out } = self;
        // A copy: the compiler then knows that writes do not change it.
        let degrees = *degrees;
        if left.is_empty() {
            for (out, &state) in out.iter_mut().zip(states) {
                *out = !degrees.hopeless(state, [0, 0]);
            }
        } else {
            for ((out, &state), &left) in out.iter_mut().zip(states).zip(left) {
                *out = !degrees.hopeless(state, left);
            }
        }
    }
}

/// Black cells less white ones among the cells `first ..` of the board.
fn black_excess_from(board: Board, first: u32) -> i64 {
    // The excess of the first `cells` cells.
    let excess = |cells: u32| {
        let (column, row) = (cells / board.height, cells % board.height);
        let of_columns = i64::from(board.height % 2 * (column % 2));
        let of_rows = i64::from(row % 2);
        of_columns + if column % 2 == 0 { of_rows } else { -of_rows }
    };
    let all = board.passes();
    if first < all { excess(all) - excess(first) } else { 0 }
}

/// A set without `most` of its cells, for `most` up to 2.
#[inline(always)]
fn beyond<W: Word>(set: W, most: u32) -> W {
    let one = if most > 0 { set.rest() } else { set };
    if most > 1 { one.rest() } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_cells_are_counted() {
        for (height, length) in [(1, 7), (2, 5), (3, 5), (4, 4), (5, 6), (7, 7)] {
            let board = Board { height, length };
            for first in 0..=board.passes() + 3 {
                let signs = (first..board.passes()).map(|cell| if is_black(board, cell) { 1 } else { -1 });
                assert_eq!(black_excess_from(board, first), signs.sum::<i64>(), "{board} from {first}");
            }
        }
    }

    #[test]
    fn the_first_end_tells_the_colour_of_the_second() {
        // 4x4: white cells are 1, 3, 4, 6, ... Cell 0 was an end and gave its edge to cell 9.
        let board = Board { height: 4, length: 4 };
        let after_black = u64::from(state::FINISHED) << (4 * 8);
        assert_eq!(Colours::new(board, 1, true).ends_left(after_black), [0, 1]);
        assert_eq!(Colours::new(board, 1, true).ends_left(0_u64), [1, 1]);
        assert_eq!(Colours::new(board, 1, false).ends_left(after_black), [1, 0]);
        // 5x5: only black ends.
        let odd = Board { height: 5, length: 5 };
        assert_eq!(Colours::new(odd, 0, true).ends_left(0_u64), [2, 0]);
        assert!(colours_allow(odd, Tours::Between(0, 2)) && !colours_allow(odd, Tours::Between(0, 1)));
        assert!(!colours_allow(odd, Tours::Closed) && colours_allow(board, Tours::Closed));
        assert!(!colours_allow(board, Tours::Between(0, 2)) && colours_allow(board, Tours::Between(0, 1)));
    }

    #[test]
    fn cells_without_neighbours_must_be_ends() {
        let board = Board { height: 3, length: 4 };
        // The window from cell `first` on: all cells full but those given.
        let state = |first: u32, cells: &[(u32, u32)]| {
            cells.iter().fold(0x111_1111_u64, |state, &(cell, code)| {
                let at = 4 * (cell - first);
                state & !(0xf << at) | u64::from(code) << at
            })
        };
        let (mate, end, untouched) = (state::pair(1), state::FINISHED, state::UNTOUCHED);
        for (first, cells, left, expected) in [
            // Cell 7's neighbours, 0 and 2, are done.
            (3, vec![(7, end)], [0, 0], true),
            (3, vec![(7, end)], [1, 0], false),
            (3, vec![(7, end)], [0, 1], true),
            (3, vec![(7, untouched)], [2, 0], true),
            // Cell 10 has but 5; 5 and 6 have each other, but are mates, and one of them has 10.
            (5, vec![(5, mate), (6, mate), (10, untouched)], [1, 0], true),
            (5, vec![(5, mate), (6, mate), (10, untouched)], [2, 0], false),
            (5, vec![(5, mate), (6, mate + 1), (10, untouched)], [1, 0], false),
            (5, vec![(5, mate), (6, mate)], [0, 0], false),
            (5, vec![], [0, 0], false),
        ] {
            let degrees = Degrees::new(board, first, u64::MAX);
            assert_eq!(degrees.hopeless(state(first, &cells), left), expected, "{cells:?} {left:?}");
        }
    }
}
