//! Knight's tours by a border-state recurrence in a plain map: the rung to check by reading.
//!
//! The cells choose one by one, down a column, then the next. Each chooses its edges to *later* cells, so that it has two in
//! all, or one if it is an end of the tour. The completions of a partial tour depend on each later cell: whether it has no
//! edge so far, two, or one. With one edge it is the end of a path, and the path's other end counts too. That is another
//! later cell, its *mate* (pairs may cross, for edges do), or an end of the tour among the earlier cells.
//!
//! ```text
//!   new cell o, its later neighbours a b c d        before:  a-----x   b   c full   d...(tour end)
//!
//!   edges o-a, o-b:  the path x-a-o-b               after:   a full,   b-----x, ...
//!   edges o-a, o-d:  x's path ends in the tour end           a full,   d full,  x...(tour end)
//! ```
//!
//! An edge between mates closes a cycle, and one between two paths from tour ends completes a path. Both are allowed only if
//! no cell misses an edge then.
//!
//! Nothing is packed, no state is discarded before it is impossible, and nothing is shared with `state.rs` and `step.rs`.
//! Cost: some map operations a state and pass.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use keima_model::Board;

use super::tours::{Tours, adjacent};

/// Where a path leads from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Far {
    /// To another cell that waits for an edge: its number.
    Cell(u32),
    /// To an end of the tour.
    TourEnd,
}

/// A cell that has not chosen yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// No edge.
    Untouched,
    /// One edge: the end of a path whose other end is given.
    End(Far),
    /// As many edges as it needs.
    Full,
}

/// The cells that have not chosen yet, in order. The last one is always the board's last cell.
pub type Border = Vec<Cell>;

/// All border states after each pass, with the number of partial tours that lead to them.
pub struct Scan<C> {
    board: Board,
    tours: Tours,
    pass: u32,
    states: BTreeMap<Border, C>,
}

impl<C> Scan<C>
where
    C: Clone + From<u8> + for<'a> AddAssign<&'a C>,
{
    /// Before the first cell.
    pub fn new(board: Board, tours: Tours) -> Self {
        let start = vec![Cell::Untouched; board.passes() as usize];
        Self { board, tours, pass: 0, states: BTreeMap::from([(start, C::from(1))]) }
    }

    /// The next cell chooses its edges.
    pub fn advance(&mut self) {
        let mut next = BTreeMap::new();
        for (border, count) in &self.states {
            for after in step(self.board, self.tours, self.pass, border) {
                *next.entry(after).or_insert_with(|| C::from(0)) += count;
            }
        }
        self.states = next;
        self.pass += 1;
    }

    /// The cell that chooses next.
    pub fn pass(&self) -> u32 {
        self.pass
    }

    /// The states with their counts.
    pub fn states(&self) -> &BTreeMap<Border, C> {
        &self.states
    }
}

/// Counts the undirected tours of `board`. The count type must hold them.
pub fn count<C>(board: Board, tours: Tours) -> C
where
    C: Clone + From<u8> + for<'a> AddAssign<&'a C>,
{
    let mut scan = Scan::new(board, tours);
    (0..board.passes()).for_each(|_| scan.advance());
    // No cell is left, so there is but one state, or none.
    scan.states.into_values().next().unwrap_or_else(|| C::from(0))
}

/// The borders after `cell`, the first of `border`, has chosen.
pub fn step(board: Board, tours: Tours, cell: u32, border: &[Cell]) -> Vec<Border> {
    let has = match border[0] {
        // A full cell that is to be an end of the tour has an edge too many.
        Cell::Full if must_end(tours, cell) => return Vec::new(),
        Cell::Full => return vec![border[1..].to_vec()],
        Cell::End(_) => 1,
        Cell::Untouched => 0,
    };
    let later: Vec<u32> = (cell + 1..board.passes()).filter(|&other| adjacent(board, cell, other)).collect();
    let mut made = Vec::new();
    for set in 0_u32..1 << later.len() {
        let ends = match has + set.count_ones() {
            2 if !must_end(tours, cell) => false,
            // No edge at all: a tour of one cell.
            0 | 1 if may_end(tours, cell, border) => true,
            _ => continue,
        };
        let chosen = (0..).zip(&later).filter(|(i, _)| set >> i & 1 == 1).map(|(_, &other)| other);
        let joined = chosen.into_iter().try_fold(border.to_vec(), |border, other| join(tours, cell, border, other));
        let after = if ends { joined.and_then(|border| end(cell, border)) } else { joined };
        made.extend(after.map(|border| border[1..].to_vec()));
    }
    made
}

/// Whether the user wants this cell to be an end.
fn must_end(tours: Tours, cell: u32) -> bool {
    matches!(tours, Tours::Between(a, b) if cell == a || cell == b)
}

/// Whether this cell may be an end. Each end so far stands at the far side of a path, as long as none is complete.
fn may_end(tours: Tours, cell: u32, border: &[Cell]) -> bool {
    match tours {
        Tours::Open => border.iter().filter(|&&c| c == Cell::End(Far::TourEnd)).count() < 2,
        Tours::Closed => false,
        Tours::Between(..) => must_end(tours, cell),
    }
}

/// Whether no cell waits for an edge.
fn complete(border: &[Cell]) -> bool {
    border.iter().all(|&cell| cell == Cell::Full)
}

/// The other end of the path that ends in cell `index` of the border; the cell itself where it has no edge.
fn other_end(first: u32, border: &[Cell], index: usize) -> Far {
    match border[index] {
        Cell::End(far) => far,
        Cell::Untouched | Cell::Full => Far::Cell(first + index as u32),
    }
}

/// An edge from `cell`, the border's first, to `other`; `None` where it is impossible, or closes too early.
fn join(tours: Tours, cell: u32, mut border: Border, other: u32) -> Option<Border> {
    let index = (other - cell) as usize;
    if border[0] == Cell::Full || border[index] == Cell::Full {
        return None;
    }
    let (mine, its) = (other_end(cell, &border, 0), other_end(cell, &border, index));
    for end in [0, index] {
        if border[end] != Cell::Untouched {
            border[end] = Cell::Full;
        }
    }
    let closes = mine == Far::Cell(other);
    if !closes {
        for (far, new) in [(mine, its), (its, mine)] {
            if let Far::Cell(number) = far {
                border[(number - cell) as usize] = Cell::End(new);
            }
        }
    }
    let allowed = match () {
        () if closes => tours == Tours::Closed && complete(&border),
        () if mine == Far::TourEnd && its == Far::TourEnd => complete(&border),
        () => true,
    };
    allowed.then_some(border)
}

/// `cell`, the border's first, becomes an end of the tour.
fn end(cell: u32, mut border: Border) -> Option<Border> {
    let far = other_end(cell, &border, 0);
    border[0] = Cell::Full;
    match far {
        Far::Cell(number) if number != cell => {
            border[(number - cell) as usize] = Cell::End(Far::TourEnd);
            Some(border)
        }
        // A path from end to end, or a cell alone: nothing else may be left.
        Far::Cell(_) | Far::TourEnd => complete(&border).then_some(border),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knight::brute;

    #[test]
    fn agrees_with_walking() {
        for (height, length) in [(1, 1), (1, 4), (2, 6), (3, 3), (3, 4), (3, 5), (3, 6), (3, 7), (4, 4), (4, 5)] {
            let board = Board { height, length };
            let pairs = (0..board.passes()).map(|cell| Tours::Between(board.passes() - 1, cell)).skip(1).step_by(2);
            let pairs = pairs.filter(|&tours| !matches!(tours, Tours::Between(a, b) if a == b));
            for tours in [Tours::Open, Tours::Closed].into_iter().chain(pairs) {
                let expected = brute::count(board, tours);
                assert_eq!(Some(count::<u128>(board, tours)), expected.map(u128::from), "{board} {tours:?}");
            }
        }
    }
}
