//! Upper bounds on the numbers of states: bracket words.
//!
//! A state's word has a place for every edge that may cut the border. Each holds nothing, a bracket, or one of the ends of
//! the curve so far, which no pair encloses. Pairs nested d deep need d columns. In Hamiltonian curves the partial paths go
//! through all cells so far, and colours alternate along each, as on a chessboard. A path whose ends have colours s and t
//! (+1 or -1) has (s+t)/2 more cells of one colour than of the other. So over all paths the colours at the edges and at the
//! ends of the curve so far sum up to twice the excess of the cells.
//!
//! The number of words bounds that of states from above; the complete curve is one more. From the middle of the board on
//! the bound is nearly exact; the first columns have fewer states. Cost: a small dynamic program for each shape of pass;
//! passes of one shape share it.

use std::collections::HashMap;

use keima_model::{Board, Window};

use super::curves::Curves;
use crate::choose::choose;

/// All that the number of words depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shape {
    /// The colour of the cell at each place, from the top.
    places: Vec<i8>,
    /// Most pairs that may be nested in each other.
    depth: usize,
    /// Ends of the curve among the edges.
    ends: usize,
    /// The sum of the colours, if it is fixed.
    balance: Option<i32>,
}

/// Upper bounds for the numbers of states before each pass and at the end.
pub fn states(board: Board, curves: Curves) -> Vec<u128> {
    let mut known: HashMap<Shape, u128> = HashMap::new();
    let mut count = |shape: Shape| *known.entry(shape).or_insert_with_key(words);
    let mut excess = 0;
    let mut all: Vec<u128> = Vec::new();
    for pass in 0..board.passes() {
        let (column, row) = (board.column(pass), board.cell(pass));
        let shape = |right: bool, down: bool, balance: i32| shape(board, curves, pass, [right, down], balance);
        let words = match row {
            0 => count(shape(false, false, excess)),
            // The last cell of all leads to the right, or down, or nowhere; or both ways, in a pair of its own.
            _ if column + 1 < board.length => {
                let pair = excess - i32::from(colour(board, pass - 1));
                count(shape(true, false, excess)) + count(shape(false, true, excess)) + count(shape(false, false, pair))
                    - count(shape(false, false, excess))
            }
            _ => count(shape(false, true, excess)),
        };
        all.push(words + u128::from(pass > 0));
        excess += i32::from(colour(board, pass));
    }
    // No edges, and the complete curve.
    all.push(2);
    all
}

fn colour(board: Board, cell: u32) -> i8 {
    if (board.column(cell) + board.cell(cell)).is_multiple_of(2) { 1 } else { -1 }
}

/// The shape before `pass`: the excess of one colour among the cells so far, and the edges that the last of them may have.
fn shape(board: Board, curves: Curves, pass: u32, [right, down]: [bool; 2], excess: i32) -> Shape {
    let Board { height, length } = board;
    let (column, row) = (board.column(pass), board.cell(pass));
    let first = column * height;
    // Within a column the last cell counts by itself.
    let above = (first..pass.max(first + 1) - 1).filter(|_| column + 1 < length);
    let last = (row > 0).then(|| pass - 1).into_iter();
    let last = last.clone().filter(|_| right).chain(last.filter(|_| down));
    let before = (pass..first + height).filter(|_| column > 0).map(|cell| cell - height);
    let passed = curves.ends.into_iter().flat_map(|(a, b)| [a, b]).filter(|&end| end < pass);
    let of_ends: i32 = passed.clone().map(|end| i32::from(colour(board, end))).sum();
    let places: Vec<i8> = above.chain(last).chain(before).map(|cell| colour(board, cell)).collect();
    let depth = (column as usize + usize::from(row > 0)).min(places.len() / 2);
    // Without colours more shapes are the same.
    let (places, balance) =
        if curves.hamiltonian { (places, Some(2 * excess - of_ends)) } else { (vec![0; places.len()], None) };
    Shape { places, depth, ends: passed.count(), balance }
}

/// The number of words of a shape.
fn words(shape: &Shape) -> u128 {
    // By nesting so far, ends so far, and the sum of colours so far, from -n to n.
    let sums = 2 * shape.places.len() + 1;
    let zero = shape.places.len() as i32;
    let at = |open: usize, ends: usize, sum: i32| (open * (shape.ends + 1) + ends) * sums + (sum + zero) as usize;
    let mut counts = vec![0_u128; at(shape.depth + 1, 0, -zero)];
    counts[at(0, 0, 0)] = 1;
    for (&colour, reach) in shape.places.iter().zip(0..) {
        let mut next = counts.clone();
        for open in 0..=shape.depth {
            for ends in 0..=shape.ends {
                for sum in -reach..=reach {
                    let count = counts[at(open, ends, sum)];
                    let after = sum + i32::from(colour);
                    if open < shape.depth {
                        next[at(open + 1, ends, after)] += count;
                    }
                    if open > 0 {
                        next[at(open - 1, ends, after)] += count;
                    } else if ends < shape.ends {
                        next[at(0, ends + 1, after)] += count;
                    }
                }
            }
        }
        counts = next;
    }
    match shape.balance {
        Some(balance) if balance.abs() > zero => 0,
        Some(balance) => counts[at(0, shape.ends, balance)],
        None => counts[at(0, shape.ends, 0)],
    }
}

/// Upper bound on the number of states in a family. The edges outside the window are fixed; any row of the window may have
/// one, and so may the edge down. The complete curve is one state more.
pub fn largest_family(board: Board, curves: Curves, window: Window) -> u128 {
    let (fixed, free) = (board.height.saturating_sub(window.len), window.len + 1);
    let most_ends = if curves.ends.is_some() { 2 } else { 0 };
    let of = |ends| {
        let words = brackets((fixed + free) as usize, ends);
        let family =
            |fixed| (0..=free).map(|edges| choose(free, edges) * words[(fixed + edges) as usize]).sum::<u128>();
        (0..=fixed).map(family).max()
    };
    1 + (0..=most_ends).filter_map(of).max().unwrap_or(0)
}

/// The numbers of words of 0, 1, ..., `most` brackets without empty places, `ends` of them ends of the curve.
fn brackets(most: usize, ends: usize) -> Vec<u128> {
    // By ends so far and by nesting so far.
    let mut counts = vec![vec![0_u128; most + 2]; ends + 1];
    counts[0][0] = 1;
    let mut all = vec![counts[ends][0]];
    for _ in 0..most {
        let mut next = vec![vec![0; most + 2]; ends + 1];
        for (had, row) in counts.iter().enumerate() {
            for (open, &count) in row.iter().enumerate().take(most + 1) {
                next[had][open + 1] += count;
                if open > 0 {
                    next[had][open - 1] += count;
                } else if had < ends {
                    next[had + 1][0] += count;
                }
            }
        }
        counts = next;
        all.push(counts[ends][0]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_motzkin_and_ballot_numbers() {
        let any =
            |length: usize, ends| words(&Shape { places: vec![0; length], depth: length / 2, ends, balance: None });
        for (length, without, with_one) in [(0, 1, 0), (1, 1, 1), (2, 2, 2), (3, 4, 5), (4, 9, 12), (5, 21, 30)] {
            assert_eq!((any(length, 0), any(length, 1)), (without, with_one), "{length}");
        }
        assert_eq!(brackets(6, 0), [1, 0, 1, 0, 2, 0, 5]);
        assert_eq!(brackets(6, 1), [0, 1, 0, 2, 0, 5, 0]);
        assert_eq!(brackets(6, 2), [0, 0, 1, 0, 3, 0, 9]);
    }
}
