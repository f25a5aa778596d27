//! Time of the block executor's passes: `cargo bench -p keima-engine --bench block -- 12x12 6,6 1,4 1,2`.
//!
//! Arguments: board, lengths of the windows, residues carried at once, threads. Prints, for each direction, nanoseconds
//! per state-pass (one state through one pass, for all residues), and the value modulo the first prime.

use std::time::Instant;

use keima_engine::block::{Moduli, Rows, Sweep};
use keima_model::{BlockColumn, BlockProblem, Board, Direction, Directions, End, Window};
use keima_problems::go::Go;
use keima_residue::primes_below;

fn numbers(text: &str) -> Vec<u32> {
    text.split(',').map(|number| number.parse().expect("numbers with commas between them")).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let argument = |i: usize, default: &str| arguments.get(i).cloned().unwrap_or_else(|| default.to_owned());
    let size = argument(0, "9x9");
    let sides: Vec<u32> = size.split('x').map(|side| side.parse().expect("a size such as 9x9")).collect();
    let (height, length) = (sides[0], sides[1]);
    let windows = Window::of_lengths(&numbers(&argument(1, "5,4")));
    let started = Instant::now();
    let column =
        Go::<u64>::new(size, Board { height, length }).column(&windows, Directions::Both).expect("windows that fit");
    println!("tables: {:.2} s, {} bytes", started.elapsed().as_secs_f64(), column.bytes());
    for (number, window) in windows.iter().enumerate() {
        let tables = column.tables(number);
        let (signatures, blocks) = (tables.signatures.len(), tables.signature_of.len());
        let largest = tables.families.iter().flat_map(|family| &family.size).max().copied().unwrap_or(0);
        println!(
            "  cells {}..{}: {signatures} signatures, {blocks} blocks, {} families (largest {largest}), {} states, {} bytes",
            window.first,
            window.end(),
            tables.families.len(),
            tables.states.iter().max().copied().unwrap_or(0),
            tables.signature_bytes() + tables.block_bytes()
        );
    }
    for &residues in &numbers(&argument(2, "1,4")) {
        for &threads in &numbers(&argument(3, "1,2")) {
            match residues {
                1 => bench::<1>(column.as_ref(), length, threads),
                2 => bench::<2>(column.as_ref(), length, threads),
                4 => bench::<4>(column.as_ref(), length, threads),
                8 => bench::<8>(column.as_ref(), length, threads),
                _ => panic!("1, 2, 4 or 8 residues"),
            }
        }
    }
}

fn bench<const K: usize>(column: &dyn BlockColumn, length: u32, threads: u32) {
    let primes: [u64; K] = primes_below(1 << 60).take(K).collect::<Vec<_>>().try_into().expect("enough primes");
    let moduli = Moduli::new(primes).expect("primes below 2^60");
    let mut sweep = Sweep::new(column, moduli, threads as usize).expect("memory");
    let count = column.windows().len();
    let last = column.tables(count - 1);
    let step = last.states.len() - 1;
    let most = (0..count).flat_map(|window| &column.tables(window).states).max().copied().unwrap_or(0) as usize;
    let (mut now, mut next) = (Rows::<K>::zeroed(most).expect("memory"), Rows::<K>::zeroed(most).expect("memory"));
    let starts = |block: u32, family: &keima_model::Family| {
        (family.start[step] + u64::from(last.base[step][block as usize])) as usize
    };
    // Goes through a column first, so that all memory has been touched.
    for window in 0..count {
        sweep.run(Direction::Forward, window, &now, &mut next, None).expect("balance");
        std::mem::swap(&mut now, &mut next);
    }
    now.fill([0; K]);
    let start = column.start(column.windows().len() - 1, keima_model::End::Last);
    for &position in &start {
        now[position as usize] = [1; K];
    }
    let passes: u64 =
        (0..count).map(|window| column.tables(window).states.iter().rev().skip(1).sum::<u64>()).sum::<u64>()
            * u64::from(length - 1);
    let started = Instant::now();
    for _ in 1..length {
        for window in 0..count {
            sweep.run(Direction::Forward, window, &now, &mut next, None).expect("balance");
            std::mem::swap(&mut now, &mut next);
        }
    }
    let nanos = started.elapsed().as_nanos() as f64;
    let mut sum = 0_u128;
    for family in &last.families {
        for block in family.blocks.clone() {
            for &entry in column.accepting(block) {
                sum += u128::from(now[starts(block, family) + usize::from(entry)][0])
                    * u128::from(column.weight(count - 1, block));
            }
        }
    }
    println!(
        "forward   K={K} threads={threads}: {:.3} s, {:.2} ns a state-pass, value {} modulo {}",
        nanos / 1e9,
        nanos / passes as f64,
        sum % u128::from(primes[0]),
        primes[0]
    );
    // Transposed: accepting states, at the first step of window 0.
    let mut positions = Vec::new();
    for family in &last.families {
        for block in family.blocks.clone() {
            column.positions(count - 1, End::Last, block, &mut positions);
            for &position in &positions {
                next[position as usize] = [0; K];
            }
        }
    }
    for family in &last.families {
        for block in family.blocks.clone() {
            column.positions(count - 1, End::Last, block, &mut positions);
            for &entry in column.accepting(block) {
                next[positions[usize::from(entry)] as usize] = [1; K];
            }
        }
    }
    std::mem::swap(&mut now, &mut next);
    let started = Instant::now();
    for _ in 1..length {
        for window in (0..count).rev() {
            sweep.run(Direction::Transposed, window, &now, &mut next, None).expect("balance");
            std::mem::swap(&mut now, &mut next);
        }
    }
    let nanos = started.elapsed().as_nanos() as f64;
    let mut sum = 0_u128;
    let mut starting = vec![false; last.states[step] as usize];
    for &position in &start {
        starting[position as usize] = true;
    }
    for family in &last.families {
        for block in family.blocks.clone() {
            column.positions(count - 1, End::Last, block, &mut positions);
            for (&position, _) in
                positions.iter().zip(&starting[starts(block, family)..]).filter(|(_, starts)| **starts)
            {
                sum += u128::from(now[position as usize][0]) * u128::from(column.weight(count - 1, block));
            }
        }
    }
    println!(
        "backward  K={K} threads={threads}: {:.3} s, {:.2} ns a state-pass, value {}",
        nanos / 1e9,
        nanos / passes as f64,
        sum % u128::from(primes[0])
    );
}
