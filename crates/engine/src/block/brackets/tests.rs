//! Counts over bracket words against the border recurrence, which shares no code with them; vectors against the stream
//! executor's successors; and the laws.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use keima_model::{Board, BracketProblem, BracketWord, Problem as _, ProblemInfo as _, Successors, Window};
use keima_problems::grid::{Curves, Grid, border};
use keima_residue::primes_below;

use super::column::{Vector, Way};
use super::count::{BracketOrder, count_brackets};
use super::laws::totals;
use super::tables::BracketTables;
use super::ways::ways;
use crate::block::error::BlockError;
use crate::block::in_memory::count::order::Counted;
use crate::block::rows::lanes::Moduli;
use crate::block::rows::vector::Rows;

fn primes(number: usize) -> Vec<u64> {
    let mut primes: Vec<u64> = primes_below(1 << 60).take(number).collect();
    primes.reverse();
    primes
}

fn grid(board: Board, curves: Curves) -> Grid {
    Grid::new(board.to_string(), board, curves)
}

fn form(grid: &Grid) -> &dyn BracketProblem {
    grid.brackets().unwrap()
}

fn count(
    grid: &Grid,
    moduli: &[u64],
    [lanes, threads, right]: [usize; 3],
    stop: &AtomicBool,
) -> Result<Counted, BlockError> {
    let order = BracketOrder {
        tables: &BracketTables::new(form(grid), right as u32),
        first_column: &form(grid).first_column(),
        length: grid.board().length,
        moduli,
        salt: 7,
        threads,
        stop,
        progress: &|_, _| {},
    };
    count_brackets(&order, lanes, &mut ())
}

/// All boards whose sides are at most 7, and all curves: the residues of the board and of all shorter ones, in any number of
/// sweeps, with any number of threads and wherever words are cut.
#[test]
fn counts_are_the_border_recurrences() {
    let go_on = AtomicBool::new(false);
    for (height, length) in (2..=7).flat_map(|height| (2..=7).map(move |length| (height, length))) {
        let board = Board { height, length };
        for curves in Curves::all(board) {
            let moduli = primes(3);
            let kind = (height + 2 * length) as usize;
            let lanes = [1, 2, 3, 5, 8][kind % 5];
            let way = [lanes, 1 + kind % 3, [2, 3, 4, 5, 9][(kind + curves.ends.map_or(0, |(_, b)| b as usize)) % 5]];
            let counted = count(&grid(board, curves), &moduli, way, &go_on).unwrap();
            // Shorter boards have their curves' ends elsewhere.
            for shorter in 2..=length {
                let ends = curves.ends.map(|(a, b)| (a, if b < height { b } else { b - (length - shorter) * height }));
                let expected = border::count(Board { height, length: shorter }, Curves { ends, ..curves });
                let residues: Vec<u64> = moduli.iter().map(|&p| (expected % u128::from(p)) as u64).collect();
                let got = &counted.boards[shorter as usize - 1];
                assert_eq!(got, &(shorter, residues), "{board} {curves:?} {way:?}");
            }
        }
    }
}

/// At every column's end each word has the value that the stream executor's successors give its key, and no other word has
/// one.
#[test]
fn vectors_are_those_of_the_stream_executor() {
    for (height, length) in [(2, 5), (3, 5), (4, 5), (5, 4), (6, 4)] {
        let board = Board { height, length };
        for curves in Curves::all(board) {
            let grid = grid(board, curves);
            let tables = BracketTables::new(form(&grid), 3);
            let moduli = Moduli::new([(1 << 60) - 93]).unwrap();
            let stop = AtomicBool::new(false);
            let way = Way { tables: &tables, moduli, threads: 2, stop: &stop };
            let (rows, new_pairs) = (Rows::zeroed(tables.words()).unwrap(), Rows::zeroed(tables.new_pairs()).unwrap());
            let first = form(&grid).first_column();
            let mut vector = Vector { rows, new_pairs, complete: [first.complete] };
            for &word in &first.words {
                vector.rows[tables.position(word).unwrap()] = [1];
            }
            let mut expected = BTreeMap::from([(0_u64, 1_u64)]);
            for pass in 0..board.passes() - height {
                let mut next = BTreeMap::new();
                for (&key, &value) in &expected {
                    let mut successors = Successors::default();
                    grid.expand(pass, Window { first: 0, len: height }, &[key], &mut successors);
                    for after in successors.keys {
                        *next.entry(after).or_default() += value;
                    }
                }
                expected = next;
                if !board.ends_column(pass) {
                    continue;
                }
                if pass >= height {
                    way.column(&mut vector).unwrap();
                }
                let mut words = vec![0; tables.words()];
                let mut complete = 0;
                for (&key, &value) in &expected {
                    let rows = (1_u64 << height) - 1;
                    let edges = key >> (height + 2) & rows;
                    let word = BracketWord { edges, closing: key >> 2 & rows & edges };
                    match key {
                        // No edges, "is closing": the complete curve.
                        2 => complete = value,
                        _ => words[tables.position(word).unwrap()] = value,
                    }
                }
                let got: Vec<u64> = vector.rows.iter().map(|row| row[0]).collect();
                assert_eq!(got, words, "{board} {curves:?} pass {pass}");
                // Where curves are read off on the way, none is complete before the last column.
                assert_eq!(vector.complete[0], complete, "{board} {curves:?} pass {pass}");
            }
        }
    }
}

/// The sum of value x ways is the sum after the column, for any values. A changed value breaks the law.
#[test]
fn mass_balance_holds_and_notices_changes() {
    for (height, ends, hamiltonian) in [
        (6, None, false),
        (7, None, true),
        (7, Some((0, 13)), false),
        (8, Some((0, 15)), true),
        (6, Some((0, 5)), false),
    ] {
        let board = Board { height, length: 2 };
        let grid = grid(board, Curves { ends, hamiltonian });
        let tables = BracketTables::new(form(&grid), 4);
        let moduli = Moduli::new([(1 << 60) - 93, 1_000_003]).unwrap();
        let stop = AtomicBool::new(false);
        let way = Way { tables: &tables, moduli, threads: 2, stop: &stop };
        let (mut rows, mut new_pairs) =
            (Rows::zeroed(tables.words()).unwrap(), Rows::zeroed(tables.new_pairs()).unwrap());
        let ways = ways(&tables, &mut rows, &mut new_pairs).unwrap();
        let mut number = 1_u64;
        let mut any = || {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            number >> 8
        };
        for changed in [false, true] {
            let (rows, new_pairs) = (Rows::zeroed(tables.words()).unwrap(), Rows::zeroed(tables.new_pairs()).unwrap());
            let mut vector = Vector { rows, new_pairs, complete: [0; 2] };
            for row in vector.rows.iter_mut() {
                *row = moduli.values().map(|p| any() % p);
            }
            let before = totals(&vector.rows, Some((&ways, height)), &moduli, 5, 2).unwrap();
            // A word that leads on.
            let place = ways.iter().position(|&ways| ways > 1).unwrap();
            if changed {
                let salt = (1 << 40) + place as u64;
                vector.rows[place][1] ^= 1;
                let print = totals(&vector.rows, None, &moduli, salt, 2).unwrap().fingerprint;
                vector.rows[place][1] ^= 1;
                assert_ne!(print, totals(&vector.rows, None, &moduli, salt, 2).unwrap().fingerprint);
                vector.rows[place][1] ^= 1;
            }
            way.column(&mut vector).unwrap();
            let after = totals(&vector.rows, None, &moduli, 5, 1).unwrap();
            assert_eq!(before.ways[0], after.values[0], "{board} {ends:?} {hamiltonian}");
            assert_eq!(before.ways[1] == after.values[1], !changed, "{board} {ends:?} {hamiltonian}");
        }
    }
}

#[test]
fn counts_that_cannot_go_on_say_why() {
    let board = Board { height: 5, length: 5 };
    let grid = grid(board, Curves { ends: None, hamiltonian: false });
    let stopped = count(&grid, &primes(2), [2, 1, 9], &AtomicBool::new(true));
    assert!(matches!(stopped, Err(BlockError::Stopped)));
    let large = count(&grid, &[u64::MAX - 58], [1, 1, 9], &AtomicBool::new(false));
    assert!(matches!(large, Err(BlockError::Moduli)));
}
