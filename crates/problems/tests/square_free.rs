//! Avoid the square in the engine's terms against the lower rungs, published values and its symmetries.

mod common;

use std::collections::BTreeSet;

use keima_model::{ProblemInfo, ProblemRequest, Registry, Window};
use keima_problems::Problems;
use keima_problems::square_free::{SquareFree, border, brute};

/// Numbers by number of x.
fn counts(side: u32) -> Vec<u128> {
    let values = common::values(&SquareFree::<u64>::new(side));
    let by_x: Vec<u128> = values[1..].iter().map(|value| value[0]).collect();
    assert_eq!(values[0][0], by_x.iter().sum::<u128>(), "{side}: total");
    by_x
}

#[test]
fn counts_are_those_of_every_colouring() {
    for side in 1..=4 {
        let expected = brute::counts(side).unwrap().into_iter().map(u128::from);
        assert!(counts(side).into_iter().eq(expected), "{side}");
    }
}

/// Seconds in a release build: `cargo test --release -p keima-problems --test square_free -- --ignored`.
#[test]
#[ignore = "2^25 colourings"]
fn counts_are_those_of_every_colouring_of_25_cells() {
    let expected = brute::counts(5).unwrap().into_iter().map(u128::from);
    assert!(counts(5).into_iter().eq(expected));
}

#[test]
fn vectors_are_those_of_the_plain_filter() {
    for side in 1..=5_usize {
        let problem = SquareFree::<u64>::new(side as u32);
        let mut boards = border::start();
        common::run(&problem, &Window::cut(side as u32, side as u32), |pass, _, states| {
            // The plain filter goes along the rows; turned over its diagonal the board is filled down the columns.
            let key = |filled: &border::Filled| {
                let bit = |place: usize| place % side * side + place / side;
                filled.iter().enumerate().map(|(place, &x)| u64::from(x) << bit(place)).sum::<u64>()
            };
            let expected: BTreeSet<u64> =
                boards.iter().filter(|filled| filled.first() != Some(&false)).map(key).collect();
            assert_eq!(states.keys().copied().collect::<BTreeSet<_>>(), expected, "{side} before pass {pass}");
            assert!(states.values().all(|value| value == &[1]));
            if (pass as usize) < side * side {
                boards = border::pass(side, &boards);
            }
        });
    }
}

#[test]
fn published_numbers_of_balanced_boards() {
    for (side, balanced) in [(1, 1), (2, 6), (3, 92), (4, 2094), (5, 2704), (6, 24)] {
        let problem = SquareFree::<u64>::new(side);
        let values = common::values(&problem);
        let counts = counts(side);
        let balance = &problem.reports()[0];
        let sum = |row: usize| -> u128 {
            balance.rows[row].terms.iter().map(|&(number, _, _)| values[number as usize][0]).sum()
        };
        assert_eq!(sum(0), balanced, "{side}");
        assert_eq!(balance.rows[0].known, Some(balanced.to_string()), "{side}");
        assert_eq!(sum(0) + sum(1), counts.iter().sum::<u128>(), "{side}");
        assert!(counts.iter().eq(counts.iter().rev()), "{side}: colours may be exchanged");
        for (row, (x, &count)) in problem.reports()[1].rows.iter().zip(counts.iter().enumerate()) {
            assert_eq!((&row.index, values[row.terms[0].0 as usize][0]), (&x.to_string(), count));
        }
        assert_eq!(problem.reports()[1].rows.len(), counts.len());
    }
}

#[test]
fn live_boards_grow_and_collapse() {
    for (side, peak, dies_at) in [(5, 36_564, None), (6, 142_678, None), (7, 511_822, Some(41))] {
        let states = common::states(&SquareFree::<u64>::new(side));
        assert_eq!(states.iter().max(), Some(&(peak / 2)), "{side}: half of {peak}, colours exchanged");
        assert_eq!(states.iter().position(|&count| count == 0), dies_at, "{side}");
    }
}

/// Seconds in a release build.
#[test]
#[ignore = "2.2 million live boards"]
fn eight_by_eight_dies_at_cell_45() {
    let problem = SquareFree::<u64>::new(8);
    let states = common::states(&problem);
    assert_eq!(states.iter().max(), Some(&(2_222_444 / 2)));
    assert_eq!(states.iter().position(|&count| count == 0), Some(45));
    assert_eq!(common::count(&problem), 0);
}

#[test]
fn full_boards_stay_so_turned_mirrored_and_with_colours_exchanged() {
    for side in 3..=6_usize {
        let boards: BTreeSet<_> = border::boards(side, 200_000).unwrap().into_iter().collect();
        assert_eq!(boards.len() as u128, counts(side as u32).iter().sum::<u128>());
        for board in &boards {
            let moved = |to: fn(usize, usize, usize) -> (usize, usize)| {
                let mut image = vec![false; side * side];
                for (place, &x) in board.iter().enumerate() {
                    let (row, column) = to(place / side, place % side, side - 1);
                    image[row * side + column] = x;
                }
                image
            };
            assert!(boards.contains(&moved(|row, column, last| (column, last - row))), "turned");
            assert!(boards.contains(&moved(|row, column, last| (row, last - column))), "mirrored");
            assert!(boards.contains(&board.iter().map(|x| !x).collect::<Vec<_>>()), "exchanged");
        }
    }
}

#[test]
fn what_every_problem_must_hold_to() {
    for side in 1..=4 {
        let problem = SquareFree::<u64>::new(side);
        common::check_windows(&problem);
        assert!(common::check_families(&problem) > 1 || side < 3);
        common::check_bounds(&problem);
        common::check_any_keys(&problem);
        let wide = SquareFree::<u128>::new(side);
        common::check_families(&wide);
        assert_eq!(common::values(&wide), common::values(&problem));
    }
    common::check_bounds(&SquareFree::<u64>::new(6));
    common::check_any_keys(&SquareFree::<u64>::new(8));
    common::check_any_keys(&SquareFree::<u128>::new(11));
}

#[test]
fn found_by_name() {
    let request = ProblemRequest { name: "square-free".to_owned(), size: "6".to_owned(), options: Vec::new() };
    let problem = Problems.open(&request).unwrap();
    let functionals = problem.info().functionals();
    assert_eq!(functionals.len(), 38);
    assert!(functionals.iter().enumerate().all(|(number, functional)| functional.answer == (number == 0)));
}
