//! Time of a column over bracket words: `cargo bench -p keima-engine --bench brackets -- 13,15 1,2`.
//!
//! Arguments: heights, threads. Prints nanoseconds of one thread for one word and cell, for all residues of a row.

use keima_blocks::brackets::RIGHT_LETTERS;
use keima_engine::block::{BracketTables, bracket_nanos};
use keima_model::{Board, ProblemInfo as _};
use keima_problems::grid::{Curves, Grid};

fn numbers(text: &str) -> Vec<u32> {
    text.split(',').map(|number| number.parse().expect("numbers with commas between them")).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let argument = |i: usize, default: &str| arguments.get(i).cloned().unwrap_or_else(|| default.to_owned());
    for height in numbers(&argument(0, "11,13")) {
        let board = Board { height, length: height };
        let ends = Some((0, board.passes() - 1));
        let grid = Grid::new(board.to_string(), board, Curves { ends, hamiltonian: false });
        let started = std::time::Instant::now();
        let right = numbers(&argument(2, &RIGHT_LETTERS.to_string()))[0];
        let tables = BracketTables::new(grid.brackets().expect("bracket words"), right);
        let seconds = started.elapsed().as_secs_f64();
        println!("{board}: {} words, tables in {seconds:.3} s", tables.words());
        for threads in numbers(&argument(1, "1,2")) {
            for nanos in bracket_nanos(&tables, threads as usize).expect("memory") {
                let each = nanos.forward / f64::from(nanos.lanes);
                println!("  {threads} threads, {} lanes: {:.2} ns, {each:.2} each", nanos.lanes, nanos.forward);
            }
        }
    }
}
