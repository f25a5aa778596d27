//! Counts over bracket words against the border recurrence, which shares no code with them.

use std::sync::atomic::AtomicBool;

use keima_model::{Board, BracketProblem, ProblemInfo};
use keima_problems::grid::{Curves, Grid, border};
use keima_residue::primes_below;

use super::count::{BracketOrder, count_brackets};
use super::tables::BracketTables;
use crate::block::in_memory::count::order::Counted;

fn primes(number: usize) -> Vec<u64> {
    let mut primes: Vec<u64> = primes_below(1 << 60).take(number).collect();
    primes.reverse();
    primes
}

fn count(grid: &Grid, moduli: &[u64], lanes: usize, threads: usize, right: u32) -> Counted {
    let problem: &dyn BracketProblem = grid.brackets().unwrap();
    let tables = BracketTables::new(problem, right);
    let order = BracketOrder {
        tables: &tables,
        first_column: &problem.first_column(),
        length: grid.board().length,
        moduli,
        salt: 7,
        threads,
        stop: &AtomicBool::new(false),
        progress: &|_, _| {},
    };
    count_brackets(&order, lanes, &mut ()).unwrap()
}

/// All boards whose sides are at most 7, all curves: the residues of the board modulo several primes, in any number of
/// sweeps, with any number of threads and wherever words are cut.
#[test]
fn counts_are_the_border_recurrences() {
    for height in 2..=7 {
        for length in 2..=7 {
            let board = Board { height, length };
            for curves in Curves::all(board) {
                let grid = Grid::new(board.to_string(), board, curves);
                let expected = border::count(board, curves);
                let moduli = primes(3);
                let (lanes, threads) = [(1, 1), (2, 2), (4, 3)][(height + length) as usize % 3];
                let right = [2, 3, 4, 5, 9][(height + 2 * length) as usize % 5];
                let counted = count(&grid, &moduli, lanes, threads, right);
                let residues: Vec<u64> = moduli.iter().map(|&p| (expected % u128::from(p)) as u64).collect();
                let got = counted.boards.last().map(|(_, residues)| residues.clone());
                assert_eq!(got, Some(residues), "{board} {curves:?}");
            }
        }
    }
}
