//! Proved bounds on the number of tours, of which the least is taken.
//!
//! *Permutations.* A directed closed tour takes each cell to a neighbour: a permutation. There are at most prod d!^(1/d) of
//! those, over the numbers d of the cells' neighbours (Bregman 1973). A directed path from a to b is such a permutation with
//! b taken to a. An open tour is two such paths, one for each order of its ends.
//!
//! *Matchings.* Every second edge of a tour is a matching, and the two matchings determine the tour. M(k) is the number of
//! matchings that miss k cells. Both edges of a cell with two neighbours are in a closed tour, one in each matching. Two such
//! cells sort the perfect matchings into four classes: c says which edge each cell takes, and C(c) is the size of a class.
//!
//! ```text
//!   closed                             sum over c of C(c) C(not c) / 2
//!   open, an even number of cells      M(0) M(2)
//!   open, an odd number of cells       M(1) (M(1) - 1) / 2
//! ```
//!
//! 8x8 closed: 2^91 by permutations, below 2^60 by matchings, 2^44 in truth. A third class cell would gain another bit and
//! double the memory. Cost of matchings: 2^(2m+1) words a cell, within [`MOST_WORK`]; they are counted once.

use keima_model::Board;

use super::tours::{Tours, adjacent, place, steps};
use crate::power::{bits, power};

/// Most words that are visited to count matchings: a tenth of a second.
const MOST_WORK: u64 = 1 << 24;
/// Classes of perfect matchings.
const CLASSES: usize = 4;

/// The least of the bounds on the number of tours, as powers.
pub fn bound(board: Board, tours: Tours) -> Vec<(u32, u32)> {
    let of_permutations = permutations(board, tours);
    match matchings(board, tours) {
        Some(factors) if bits(&factors) < bits(&of_permutations) => factors,
        _ => of_permutations,
    }
}

/// The bound by permutations. Exponents are rounded up. A cell without neighbours leaves no tour, unless it is the whole board.
fn permutations(board: Board, tours: Tours) -> Vec<(u32, u32)> {
    let mut cells_by_degree = [0_u32; 9];
    for cell in 0..board.passes() {
        cells_by_degree[degree(board, cell)] += 1;
    }
    let mut factors: Vec<(u32, u32)> = (2..=8)
        .map(|degree| ((2..=degree).product::<u32>(), cells_by_degree[degree as usize].div_ceil(degree)))
        .filter(|&(_, exponent)| exponent > 0)
        .collect();
    if tours == Tours::Open {
        factors.push((board.passes(), 2));
    }
    if factors.is_empty() {
        factors.push((1, 1));
    }
    factors
}

/// The bound by matchings. `None` where they are too many to count, or too large.
fn matchings(board: Board, tours: Tours) -> Option<Vec<(u32, u32)>> {
    if tours == Tours::Closed {
        let classes = classes(board)?;
        // All cells that sort are set in the last class.
        let all = (CLASSES - 1) >> (2 - sorting(board).len());
        let mut products =
            classes.iter().take(all + 1).enumerate().map(|(class, &one)| one.checked_mul(classes[all - class]));
        let pairs = products.try_fold(0_u128, |sum, product| sum.checked_add(product?))?;
        return Some(power(pairs.div_ceil(2)));
    }
    let missed = missing(board)?;
    let even = board.passes().is_multiple_of(2);
    let (one, other) = if even { (missed[0], missed[2]) } else { (missed[1], missed[1].div_ceil(2)) };
    Some([power(one), power(other)].concat())
}

/// Numbers of matchings of the board that miss 0, 1 and 2 cells.
fn missing(board: Board) -> Option<[u128; 3]> {
    count_matchings(
        board,
        |missed, _, other| if other.is_some() { Some(missed) } else { (missed < 2).then_some(missed + 1) },
    )
}

/// Cells with two neighbours that sort perfect matchings into classes, each with its farther neighbour.
fn sorting(board: Board) -> Vec<(u32, u32)> {
    let cells = (0..board.passes()).filter(|&cell| degree(board, cell) == 2).take(2);
    let farther = |cell: u32| (0..board.passes()).rev().find(|&other| adjacent(board, cell, other));
    cells.filter_map(|cell| Some((cell, farther(cell)?))).collect()
}

/// Numbers of perfect matchings by class: bit `i` is set where sorting cell `i` is matched with its farther neighbour.
fn classes(board: Board) -> Option<[u128; CLASSES]> {
    let sorting = sorting(board);
    count_matchings(board, |class, cell, other| {
        let other = other?;
        let bits = (0..).zip(&sorting).filter(|&(_, &edge)| edge == (cell, other) || edge == (other, cell));
        Some(bits.fold(class, |class, (bit, _)| class | 1 << bit))
    })
}

/// Numbers of matchings of the board by kind. Cells choose a later neighbour one by one, or none; a word tells which of the
/// cells within reach are matched. `kind` tells the kind after a cell's choice from the one before.
fn count_matchings<const KINDS: usize>(
    board: Board,
    kind: impl Fn(usize, u32, Option<u32>) -> Option<usize>,
) -> Option<[u128; KINDS]> {
    let reach = 2 * board.height + 1;
    let work = 1_u64.checked_shl(reach).and_then(|words| words.checked_mul(board.passes().into()));
    if work.is_none_or(|work| work > MOST_WORK) {
        return None;
    }
    let mut words = vec![[0_u128; KINDS]; 1 << reach];
    words[0][0] = 1;
    for cell in 0..board.passes() {
        let later: Vec<u32> = steps(board.height).filter(|&step| adjacent(board, cell, cell + step)).collect();
        let mut next = vec![[0_u128; KINDS]; words.len()];
        // Bit 0 is the cell itself. No cell is later than the last one, so that no bit leaves the board.
        let mut add = |word: usize, kind: usize, count: u128| -> Option<()> {
            let sum = &mut next[word >> 1][kind];
            *sum = sum.checked_add(count)?;
            Some(())
        };
        for (word, counts) in words.iter().enumerate() {
            for (before, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                if word & 1 > 0 {
                    add(word, before, count)?;
                    continue;
                }
                if let Some(after) = kind(before, cell, None) {
                    add(word, after, count)?;
                }
                for &step in later.iter().filter(|&&step| word >> step & 1 == 0) {
                    if let Some(after) = kind(before, cell, Some(cell + step)) {
                        add(word | 1 << step, after, count)?;
                    }
                }
            }
        }
        words = next;
    }
    Some(words[0])
}

/// Number of neighbours.
fn degree(board: Board, cell: u32) -> usize {
    let (x, y) = place(board, cell);
    let (x, y) = (i64::from(x), i64::from(y));
    let moves = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];
    let on_board = |&&(dx, dy): &&(i64, i64)| {
        (0..i64::from(board.length)).contains(&(x + dx)) && (0..i64::from(board.height)).contains(&(y + dy))
    };
    moves.iter().filter(on_board).count()
}

#[cfg(test)]
mod tests {
    use super::super::published::known;
    use super::*;

    fn board(height: u32, length: u32) -> Board {
        Board { height, length }
    }

    /// Matchings that miss `left` cells, one edge after the other.
    fn brute(board: Board, cell: u32, taken: u64, left: u32) -> u128 {
        if cell == board.passes() {
            return u128::from(left == 0);
        }
        if taken >> cell & 1 > 0 {
            return brute(board, cell + 1, taken, left);
        }
        let missed = if left > 0 { brute(board, cell + 1, taken, left - 1) } else { 0 };
        let later = (cell + 1..board.passes()).filter(|&other| adjacent(board, cell, other) && taken >> other & 1 == 0);
        later.map(|other| brute(board, cell + 1, taken | 1 << other, left)).sum::<u128>() + missed
    }

    #[test]
    fn matchings_are_all_counted() {
        for (height, length) in [(1, 1), (1, 3), (2, 2), (2, 5), (3, 3), (3, 4), (4, 3), (4, 4), (5, 4), (4, 6), (5, 5)]
        {
            let board = board(height, length);
            let expected = [0, 1, 2].map(|missed| brute(board, 0, 0, missed));
            assert_eq!(missing(board), Some(expected), "{board}");
            assert_eq!(classes(board).map(|classes| classes.iter().sum()), Some(expected[0]), "{board}");
        }
    }

    #[test]
    fn published_numbers_are_within_the_bound() {
        let mut compared = 0;
        for (height, length) in (1..=8).flat_map(|height| (1..=10).map(move |length| (height, length))) {
            for tours in [Tours::Open, Tours::Closed] {
                let board = board(height, length);
                let Some(known) = known(board, tours) else { continue };
                let tours_bits = known.parse::<f64>().expect("a number").max(1.0).log2();
                for factors in [Some(permutations(board, tours)), matchings(board, tours)].into_iter().flatten() {
                    assert!(bits(&factors) >= tours_bits - 1e-9, "{board} {tours:?}: {known}, {factors:?}");
                }
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared} published numbers");
    }

    #[test]
    fn bounds_have_the_bits_that_they_should() {
        let check = |height, length, tours, least: f64, most: f64| {
            let got = bits(&bound(board(height, length), tours));
            assert!((least..most).contains(&got), "{height}x{length} {tours:?}: {got} bits");
        };
        // 13267364410532 closed tours, 9795914085489952 open ones.
        check(8, 8, Tours::Closed, 43.5, 60.0);
        check(8, 8, Tours::Open, 53.1, 75.0);
        // Too many words to count: by permutations.
        check(12, 12, Tours::Closed, 200.0, 260.0);
        check(1, 1, Tours::Open, 0.0, 0.1);
    }
}
