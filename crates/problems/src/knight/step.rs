//! The successors of a state by bit operations: the new cell's choice of edges.
//!
//! An edge from the end of a path with code `a` to a later cell with code `c`:
//!
//! ```text
//!   c                         that cell      the cell that had the same code as
//!   untouched                 a              -
//!   other pair or finished    full           a: gets c           (where a is finished: as c, gets a)
//!   a                         full           -                   closes: only if all else is full
//! ```
//!
//! A cell without edges takes two. The first makes it the end of a path: of a new pair if the other cell is untouched,
//! else of the path that ended there. An end of the tour takes one edge fewer, as if it had come with code "finished".
//! Given ends enter the window with that code, and no other cell becomes an end.
//!
//! Where keys have 64 bits and no cell becomes an end of the tour, [`super::batch`] makes the same successors in the same
//! order.
//!
//! Cost: this is the stream executor's inner loop; at most 11 successors a state, no panic and no endless loop on any bit
//! pattern.

use keima_model::{Board, Successors};

use super::batch;
use super::prune::{Colours, Degrees, EndsLeft, Prunes, colours_allow};
use super::state::{self, FINISHED, FULL, UNTOUCHED, Word, code};
use super::tours::{Tours, adjacent, steps};

/// The data of one pass.
pub struct CellPass<W> {
    /// The cell that enters the window, in its place.
    entering: W,
    /// Bit numbers of the later neighbours, after the cell itself has left.
    neighbours: [u32; 4],
    neighbour_count: usize,
    /// The state of a complete tour.
    complete: W,
    /// Whether cells lie beyond the window after the pass.
    more: bool,
    tours: Tours,
    /// Index of the cell's colour in [`EndsLeft`].
    colour: usize,
    colours: Colours<W>,
    degrees: Option<Degrees<W>>,
    /// No tour has these colours.
    dead: bool,
}

/// The code of a cell without edges.
pub fn fresh(board: Board, tours: Tours, cell: u32) -> u32 {
    match tours {
        _ if cell >= board.passes() => FULL,
        Tours::Between(a, b) if cell == a || cell == b => FINISHED,
        _ => UNTOUCHED,
    }
}

/// The state of a complete tour: all cells full.
pub fn complete<W: Word>(board: Board) -> W {
    window(board, |_| FULL)
}

/// The state before the first pass.
pub fn start<W: Word>(board: Board, tours: Tours) -> W {
    window(board, |cell| fresh(board, tours, cell))
}

fn window<W: Word>(board: Board, code: impl Fn(u32) -> u32) -> W {
    (0..=2 * board.height).fold(W::ZERO, |state, cell| state | W::truncate(code(cell).into()) << (4 * cell))
}

impl<W: Word> CellPass<W> {
    /// The pass of `cell`.
    pub fn new(board: Board, tours: Tours, prunes: Prunes, cell: u32) -> Self {
        let span = 2 * board.height + 1;
        let mut neighbours = [0; 4];
        let mut neighbour_count = 0;
        for step in steps(board.height).filter(|&step| adjacent(board, cell, cell + step)) {
            neighbours[neighbour_count] = 4 * (step - 1);
            neighbour_count += 1;
        }
        let colours = Colours::new(board, cell, prunes.colours);
        let after = Colours::<W>::new(board, cell + 1, prunes.colours);
        Self {
            entering: W::truncate(fresh(board, tours, cell + span).into()) << (4 * (span - 1)),
            neighbours,
            neighbour_count,
            complete: complete(board),
            more: cell + 1 + span < board.passes(),
            tours,
            colour: usize::from(colours.black() & W::ONE == W::ZERO),
            colours,
            degrees: prunes.degree.then(|| Degrees::new(board, cell + 1, after.black())),
            dead: prunes.colours && !colours_allow(board, tours),
        }
    }

    /// Appends the successors of `keys` to `out`.
    pub fn expand(&self, keys: &[W], out: &mut Successors<W>) {
        if self.dead {
            out.degrees.resize(out.degrees.len() + keys.len(), 0);
        } else if self.tours == Tours::Open || W::BITS > 64 {
            // No machine has vectors of wider words.
            self.expand_one_by_one(keys, out);
        } else {
            let cell = batch::Cell {
                entering: self.entering,
                neighbours: &self.neighbours[..self.neighbour_count],
                closed: if self.more { W::ZERO } else { self.complete },
                path: self.tours != Tours::Closed,
                degrees: self.degrees.as_ref(),
            };
            cell.expand(keys, out);
        }
    }

    /// The same, for any tours: first all states that edges lead to, then, by vector instructions, which of them are not
    /// hopeless, and the numbers of their pairs.
    pub(super) fn expand_one_by_one(&self, keys: &[W], out: &mut Successors<W>) {
        let (mut reached, mut counts, mut keep) = (Reached::default(), Vec::with_capacity(keys.len()), Vec::new());
        for &key in keys {
            let before = reached.states.len();
            self.successors(key, &mut reached);
            counts.push(reached.states.len() - before);
        }
        match &self.degrees {
            Some(degrees) => degrees.hopeful(&reached.states, &reached.left, &mut keep),
            None => keep.resize(reached.states.len(), true),
        }
        let first = out.keys.len();
        out.keys.resize(first + keys.len() + keep.len(), W::ZERO);
        let (mut at, mut end) = (0, first);
        for (&key, count) in keys.iter().zip(counts) {
            let before = end;
            if key.low() & 0xf == FULL {
                out.keys[end] = self.passed(key);
                end += 1;
            }
            // What is not kept is overwritten: whether it is cannot be predicted.
            for (&state, &keep) in reached.states[at..].iter().zip(&keep[at..]).take(count) {
                out.keys[end] = state;
                end += usize::from(keep);
            }
            at += count;
            out.degrees.push((end - before) as u8);
        }
        out.keys.truncate(end);
        state::normalise_all(&mut out.keys[first..]);
    }

    /// The state after this cell without new edges.
    #[inline]
    fn passed(&self, key: W) -> W {
        key >> 4 | self.entering
    }

    /// The states that the edges of a cell lead to that is not full.
    #[inline]
    fn successors(&self, key: W, out: &mut Reached<W>) {
        let own = key.low() & 0xf;
        let state = self.passed(key);
        if own == FULL {
            return;
        }
        let left = if self.tours == Tours::Open { self.colours.ends_left(key) } else { [0, 0] };
        let may_end = left[self.colour] > 0;
        let mut left_after = left;
        left_after[self.colour] = left[self.colour].saturating_sub(1);
        let neighbours = &self.neighbours[..self.neighbour_count];
        if own != UNTOUCHED {
            for &at in neighbours {
                self.keep(self.join(state, own, at), left, out);
            }
            if may_end {
                self.keep(self.end(state, own), left_after, out);
            }
            return;
        }
        let pairs = (state::ends(key).count() - state::finished(key).count()) / 2;
        for (index, &at) in neighbours.iter().enumerate() {
            let (own, joined) = match code(state, at) {
                FULL => continue,
                UNTOUCHED => {
                    let pair = state::pair(pairs + 1);
                    (pair, state | W::truncate(pair.into()) << at)
                }
                other => (other, fill(state, at)),
            };
            for &second in &neighbours[index + 1..] {
                self.keep(self.join(joined, own, second), left, out);
            }
            if may_end {
                self.keep(self.join(state, FINISHED, at), left_after, out);
            }
        }
        if may_end && left_after != [0, 0] {
            // The cell alone: a tour only where it is the whole board.
            self.keep(self.end(state, FINISHED), [0, 0], out);
        }
    }

    /// An edge from the end of a path, with code `own`, to the cell at bit `at`.
    #[inline]
    fn join(&self, state: W, own: u32, at: u32) -> Option<W> {
        let other = code(state, at);
        if other == FULL {
            return None;
        }
        if other == UNTOUCHED {
            return Some(state | W::truncate(own.into()) << at);
        }
        let filled = fill(state, at);
        if other == own {
            let closes = own == FINISHED || self.tours == Tours::Closed;
            return (closes && self.is_complete(filled)).then_some(filled);
        }
        Some(if own == FINISHED { recode(filled, other, own) } else { recode(filled, own, other) })
    }

    /// The cell, the end of a path with code `own`, becomes an end of the tour.
    #[inline]
    fn end(&self, state: W, own: u32) -> Option<W> {
        if own == FINISHED {
            return self.is_complete(state).then_some(state);
        }
        Some(recode(state, own, FINISHED))
    }

    #[inline]
    fn is_complete(&self, state: W) -> bool {
        state == self.complete && !self.more
    }

    /// Appends a state with the ends left then.
    #[inline]
    fn keep(&self, state: Option<W>, left: EndsLeft, out: &mut Reached<W>) {
        let Some(state) = state else { return };
        out.states.push(state);
        if self.tours == Tours::Open {
            out.left.push(left);
        }
    }
}

/// The states that the edges of a batch lead to.
#[derive(Default)]
struct Reached<W> {
    states: Vec<W>,
    /// Ends left in each, for open tours.
    left: Vec<EndsLeft>,
}

/// The cell at bit `at` needs no more edges.
#[inline]
fn fill<W: Word>(state: W, at: u32) -> W {
    state & !(W::truncate(0xf) << at) | W::truncate(FULL.into()) << at
}

/// The cells with code `from` get code `to`.
#[inline]
fn recode<W: Word>(state: W, from: u32, to: u32) -> W {
    state ^ state::cells_with(state, from).times(from ^ to)
}
