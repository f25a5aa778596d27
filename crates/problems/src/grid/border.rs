//! Paths and cycles of the grid graph by a border-state recurrence in a plain map: the rung to check by reading.
//!
//! The cells choose one by one, down a column, then the next. Each chooses its edges to the right and down. Edges from a
//! cell that has chosen to one that has not cut the border. The completions of a partial curve depend on where they are and
//! how the partial paths join them: two are the ends of one path, or the path leads to an end of the curve.
//!
//! ```text
//!   done | done         places 0 .. row-1      edges to the right from this column's cells
//!   ---- + ----         place  row             the edge down to the next cell
//!   done | next         places row+1 .. m      edges to the right from the column before; the first leads to the next cell
//!   done |
//! ```
//!
//! At a column's end place m is free, and all places move down by one. Nothing is packed, and nothing is shared with
//! `step.rs`. Cost: some map operations a state and pass.

use std::collections::BTreeMap;

use keima_model::Board;

use super::curves::Curves;

/// Where the path behind an edge leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Far {
    /// To the edge at another place.
    Place(usize),
    /// To an end of the curve.
    End,
}

/// A border state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// For each of the m+1 places the far end of the path whose edge cuts the border there, if one does.
    Open(Vec<Option<Far>>),
    /// The curve is complete.
    Closed,
}

/// All border states with the number of partial curves that lead to each.
pub type Vector = BTreeMap<State, u128>;

/// Before the first cell.
pub fn start(board: Board) -> Vector {
    Vector::from([(State::Open(vec![None; board.height as usize + 1]), 1)])
}

/// The cell of `pass` chooses.
pub fn pass(board: Board, curves: Curves, pass: u32, vector: &Vector) -> Vector {
    let mut next = Vector::new();
    for (state, count) in vector {
        for after in step(board, curves, pass, state) {
            *next.entry(after).or_default() += count;
        }
    }
    next
}

/// Counts the curves of `board`; the count must be below 2^128.
pub fn count(board: Board, curves: Curves) -> u128 {
    let all = (0..board.passes()).fold(start(board), |vector, number| pass(board, curves, number, &vector));
    all.get(&State::Closed).copied().unwrap_or(0)
}

/// The states after the cell of `pass` has chosen.
pub fn step(board: Board, curves: Curves, pass: u32, state: &State) -> Vec<State> {
    let State::Open(before) = state else {
        // The cells to come stay empty.
        return if curves.hamiltonian { Vec::new() } else { vec![State::Closed] };
    };
    let row = board.cell(pass) as usize;
    let is_a = curves.ends.is_some_and(|(a, _)| a == pass);
    let is_b = curves.ends.is_some_and(|(_, b)| b == pass);
    let has = usize::from(before[row].is_some()) + usize::from(before[row + 1].is_some());
    let mut after = Vec::new();
    for right in [false, true] {
        for down in [false, true] {
            let degree = has + usize::from(right) + usize::from(down);
            let fits = match (is_a, is_b) {
                (true, true) => degree == 0,
                (false, false) => degree == 2 || (degree == 0 && !curves.hamiltonian),
                _ => degree == 1,
            };
            let on_board = (!right || board.column(pass) + 1 < board.length) && (!down || !board.ends_column(pass));
            if fits && on_board {
                after.extend(join(board, curves, pass, before, [right, down]));
            }
        }
    }
    after
}

/// Joins the paths that meet in the cell, with the chosen edges to the right and down. `None` if that closes a curve that
/// must not close here.
fn join(board: Board, curves: Curves, pass: u32, before: &[Option<Far>], chosen: [bool; 2]) -> Option<State> {
    let row = board.cell(pass) as usize;
    let mut border = before.to_vec();
    let (up, left) = (border[row].take(), border[row + 1].take());
    // The far ends of the cell's edges. A cell with one edge is an end itself; a cell alone is both.
    let new = chosen.iter().zip([row, row + 1]).filter(|(chosen, _)| **chosen).map(|(_, place)| Far::Place(place));
    let ends = [curves.ends.is_some_and(|(a, _)| a == pass), curves.ends.is_some_and(|(_, b)| b == pass)];
    let own = ends.iter().filter(|is| **is).map(|_| Far::End);
    let fars: Vec<Far> = up.into_iter().chain(left).chain(new).chain(own).collect();
    let closes = match fars[..] {
        [] => false,
        // The edges from above and from the left are each other's far ends.
        [Far::Place(_), _] if up == Some(Far::Place(row + 1)) => true,
        [Far::End, Far::End] => true,
        [x, y] => {
            for (from, to) in [(x, y), (y, x)] {
                if let Far::Place(place) = from {
                    border[place] = Some(to);
                }
            }
            false
        }
        _ => return None,
    };
    if closes {
        let wanted = (fars[0] == Far::End) == curves.ends.is_some();
        let empty = border.iter().all(Option::is_none);
        // Other cells must not be left out; whole columns are boards of their own.
        return (wanted && empty && (!curves.hamiltonian || board.ends_column(pass))).then_some(State::Closed);
    }
    Some(State::Open(if board.ends_column(pass) { moved_down(&border) } else { border }))
}

/// A column's last border as the next column's first.
fn moved_down(border: &[Option<Far>]) -> Vec<Option<Far>> {
    let move_far =
        |far: &Option<Far>| far.map(|far| if let Far::Place(place) = far { Far::Place(place + 1) } else { far });
    std::iter::once(None).chain(border[..border.len() - 1].iter().map(move_far)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::brute;

    #[test]
    fn agrees_with_walking() {
        for height in 1..=20 {
            for length in 1..=20 / height {
                let board = Board { height, length };
                for curves in Curves::all(board) {
                    let walks = brute::count(board, curves).map(u128::from);
                    assert_eq!(walks, Some(count(board, curves)), "{board} {curves:?}");
                }
            }
        }
    }
}
