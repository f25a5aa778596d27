//! A proved bound on the number of curves of a board, by colourings of its faces.
//!
//! The symmetric difference of two paths between the same ends has an even number of edges at every cell, as a cycle has.
//! So it is the set of edges between the black and the white ones of the board's (m-1)(n-1) unit faces, in one colouring
//! with white around. Take one path along the rim. Then different curves give different colourings: at most
//! 2^((m-1)(n-1)). The rim's path changes nothing at the cells inside the board. There a curve has two edges or none, and
//! two if it enters all cells. The four faces around such a cell say how many:
//!
//! ```text
//!   edges of the curve    0      2 (12 ways)                  4
//!   faces                 . .    # .   # #   # .              # .
//!                         . .    . .   . .   # .   ...        . #
//! ```
//!
//! Faces are cut into blocks. In each, colourings are counted whose inner cells have no four edges, nor none for curves
//! through all cells. A colouring of the board is one of every block: the product is a bound. 15x15: 172 bits instead of
//! 196; 157 in truth.
//!
//! The same holds for the states at the end of a column: the edges that lead on leave cells of the rim. A set of paths along
//! the rim joins all ends, and any other partial curve of the state differs from it by an even set.
//!
//! Cost: 2^(a+1) words a face of a block of a rows, at most ten: a few milliseconds.

use std::collections::BTreeMap;

use keima_model::Board;

use crate::power::power;

/// Most rows of a block of faces.
const MOST_ROWS: u32 = 10;
/// Most faces of a block, so that the colourings of any fit 128 bits.
const MOST_FACES: u32 = 127;

/// The bound as a product of powers: for the curves of `board`, and for each state when its last column is full.
pub fn bound(board: Board, hamiltonian: bool) -> Vec<(u32, u32)> {
    let mut blocks = BTreeMap::new();
    for rows in pieces(board.height - 1, MOST_ROWS) {
        for columns in pieces(board.length - 1, MOST_FACES / rows) {
            *blocks.entry((rows, columns)).or_insert(0) += 1;
        }
    }
    let powers = blocks.into_iter().flat_map(|((rows, columns), number)| {
        let one = power(colourings(rows, columns, hamiltonian));
        one.into_iter().map(move |(base, exponent)| (base, exponent * number))
    });
    [(1, 1)].into_iter().chain(powers).collect()
}

/// `len` in as few pieces of at most `most` as there can be, about equally long.
fn pieces(len: u32, most: u32) -> impl Iterator<Item = u32> {
    let count = len.div_ceil(most);
    (0..count).map(move |i| (i + 1) * len / count - i * len / count)
}

/// Colourings of a block of faces. A word has the colours of the last column and one more, the newest in bit 0.
fn colourings(rows: u32, columns: u32, hamiltonian: bool) -> u128 {
    let mask = (1_usize << (rows + 1)) - 1;
    let mut words = vec![0_u128; mask + 1];
    words[0] = 1;
    for face in 0..rows * columns {
        let inner = face % rows > 0 && face / rows > 0;
        let mut next = vec![0_u128; words.len()];
        for (word, &count) in words.iter().enumerate().filter(|(_, count)| **count > 0) {
            let [above, left, before] = [0, rows - 1, rows].map(|at| word >> at & 1);
            for colour in [0, 1] {
                let four = colour == before && above == left && above != colour;
                let none = colour == before && above == left && above == colour;
                if !inner || !(four || none && hamiltonian) {
                    next[(word << 1 | colour) & mask] += count;
                }
            }
        }
        words = next;
    }
    words.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::super::published;
    use super::*;
    use crate::power::bits;

    /// One colouring after the other.
    fn brute(rows: u32, columns: u32, hamiltonian: bool) -> u128 {
        let allowed = |colours: u32| {
            let face = |row: u32, column: u32| colours >> (row * columns + column) & 1;
            (1..rows).all(|row| {
                (1..columns).all(|column| {
                    let around =
                        [face(row, column), face(row - 1, column - 1), face(row - 1, column), face(row, column - 1)];
                    match around {
                        [a, b, c, d] if a == b && c == d => a == c && !hamiltonian,
                        _ => true,
                    }
                })
            })
        };
        (0..1 << (rows * columns)).filter(|&colours| allowed(colours)).count() as u128
    }

    #[test]
    fn colourings_are_all_counted() {
        for (rows, columns) in [(1, 1), (1, 5), (5, 1), (2, 2), (2, 5), (3, 3), (3, 4), (4, 3), (4, 4)] {
            for hamiltonian in [false, true] {
                let expected = brute(rows, columns, hamiltonian);
                assert_eq!(colourings(rows, columns, hamiltonian), expected, "{rows}x{columns} {hamiltonian}");
            }
        }
        assert_eq!((colourings(2, 2, false), colourings(2, 2, true)), (14, 12));
    }

    #[test]
    fn pieces_make_the_whole() {
        for (len, most, expected) in [(0, 10, vec![]), (1, 10, vec![1]), (14, 10, vec![7, 7]), (23, 10, vec![7, 8, 8])]
        {
            assert_eq!(pieces(len, most).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn published_numbers_are_within_the_bound() {
        let mut compared = 0;
        for (side, series, hamiltonian) in (1..=27)
            .flat_map(|side| ["P", "S", "C"].map(|series| (side, series)))
            .flat_map(|(side, series)| [false, true].map(|hamiltonian| (side, series, hamiltonian)))
        {
            let board = Board { height: side, length: side };
            let Some(known) = published::known(board, series, hamiltonian) else { continue };
            let (known, bound) =
                (known.parse::<f64>().expect("a number").max(1.0).log2(), bits(&bound(board, hamiltonian)));
            assert!(bound >= known - 1e-9, "{side} {series} {hamiltonian}: {known} {bound}");
            assert!(bound <= f64::from((side - 1).pow(2)) + 1e-6, "{side}: {bound}");
            compared += 1;
        }
        assert!(compared > 40, "{compared} published numbers");
    }

    #[test]
    fn bounds_have_the_bits_that_they_should() {
        for (height, length, hamiltonian, most) in [
            (15, 15, false, 180.0),
            (12, 12, false, 120.0),
            (14, 14, true, 120.0),
            (24, 1000, false, 22_000.0),
            (1, 9, false, 0.1),
        ] {
            let got = bits(&bound(Board { height, length }, hamiltonian));
            assert!(got < most, "{height}x{length} {hamiltonian}: {got} bits");
        }
    }
}
