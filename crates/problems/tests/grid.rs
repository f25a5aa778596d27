//! Paths and cycles of the grid in the engine's terms against the lower rungs, the published values and symmetries.

mod common;

use keima_model::{Board, ProblemInfo, Window};
use keima_problems::grid::border::{Far, State};
use keima_problems::grid::{Curves, Grid, border, brute, published, step};

fn problem(height: u32, length: u32, curves: Curves) -> Grid {
    Grid::new(format!("{height}x{length}"), Board { height, length }, curves)
}

fn count(height: u32, length: u32, curves: Curves) -> u128 {
    common::count(&problem(height, length, curves))
}

/// Every board of at most so many cells, with all that is counted on it.
fn boards(cells: u32) -> impl Iterator<Item = (Board, Curves)> {
    let boards = (1..=cells).flat_map(move |height| (1..=cells / height).map(move |length| Board { height, length }));
    boards.filter(|board| board.height <= 26).flat_map(|board| Curves::all(board).into_iter().map(move |c| (board, c)))
}

#[test]
fn counts_are_those_of_walking() {
    for (board, curves) in boards(20) {
        let expected = brute::count(board, curves).map(u128::from);
        assert_eq!(expected, Some(count(board.height, board.length, curves)), "{board} {curves:?}");
    }
}

#[test]
#[ignore = "seconds of walking"]
fn counts_are_those_of_walking_up_to_30_cells() {
    for (board, curves) in boards(30) {
        let expected = brute::count(board, curves).map(u128::from);
        assert_eq!(expected, Some(count(board.height, board.length, curves)), "{board} {curves:?}");
    }
}

/// The key of a plain border before a cell of `row`: edges, brackets, and the edge down, which stands at the row's
/// place.
fn key(board: Board, row: u32, state: &State) -> u64 {
    let State::Open(places) = state else { return step::CLOSED };
    let mut key = 0;
    for (place, far) in (0..).zip(places) {
        let Some(far) = far else { continue };
        let closing = u64::from(!matches!(far, Far::Place(other) if *other > place as usize));
        key |= match place {
            place if place == row => 1 | closing << 1,
            place => {
                let of_row = if place < row { place } else { place - 1 };
                1 << (board.height + 2 + of_row) | closing << (2 + of_row)
            }
        };
    }
    key
}

#[test]
fn vectors_are_those_of_the_plain_recurrence() {
    for (height, length) in [(1, 4), (2, 5), (3, 4), (4, 5), (5, 5), (6, 4), (7, 3)] {
        let board = Board { height, length };
        for curves in Curves::all(board) {
            let mut vector = border::start(board);
            common::run(&problem(height, length, curves), &Window::cut(height, height), |pass, _, states| {
                let row = if pass == board.passes() { 0 } else { pass % height };
                let mut expected = common::Vector::new();
                for (state, &count) in &vector {
                    assert!(expected.insert(key(board, row, state), vec![count]).is_none(), "{state:?}");
                }
                assert!(*states == expected, "{board} {curves:?} before pass {pass}");
                if pass < board.passes() {
                    vector = border::pass(board, curves, pass, &vector);
                }
            });
        }
    }
}

#[test]
fn shorter_boards_are_read_off_on_the_way() {
    for (height, length) in [(1, 5), (2, 6), (3, 6), (4, 5), (5, 5)] {
        let board = Board { height, length };
        let corner = |length: u32, curves: Curves| match curves.ends {
            None => None,
            Some((_, b)) if b < height => Some((0, b)),
            Some((_, b)) => Some((0, height * (length - 1) + b % height)),
        };
        for curves in Curves::all(board) {
            let values = common::values(&problem(height, length, curves));
            for (length, value) in (1..).zip(values) {
                let shorter = Curves { ends: corner(length, curves), ..curves };
                let expected = border::count(Board { height, length }, shorter);
                assert_eq!(value[0], expected, "{height}x{length} of {board} {curves:?}");
            }
        }
    }
}

/// Squares of these sides have the published numbers, of which there are as many as given.
fn check_published(sides: impl Iterator<Item = u32>, expected: usize) {
    let mut checked = 0;
    for side in sides {
        let board = Board { height: side, length: side };
        let of = |ends, hamiltonian| Curves { ends, hamiltonian };
        let (last, below) = (Some((0, side * side - 1)), Some((0, side - 1)));
        for (series, curves) in [
            ("P", of(last, false)),
            ("P", of(last, true)),
            ("S", of(below, true)),
            ("C", of(None, false)),
            ("C", of(None, true)),
        ] {
            let problem = problem(side, side, curves);
            let Some(known) = published::known(board, series, curves.hamiltonian) else { continue };
            assert_eq!(common::count(&problem).to_string(), known, "{side} {curves:?}");
            if side > 1 {
                assert_eq!(problem.functionals().last().and_then(|answer| answer.known.clone()), Some(known));
            }
            checked += 1;
        }
    }
    assert_eq!(checked, expected);
}

#[test]
fn squares_have_the_published_numbers() {
    check_published(1..=10, 10 + 5 + 10 + 9 + 5);
}

/// Run with `cargo test --release -p keima-problems --test grid -- --ignored`.
#[test]
#[ignore = "seconds: 50,000 states in a hash map, and values to 2^128"]
fn larger_squares_have_the_published_numbers() {
    check_published(11..=12, 2 + 1 + 2 + 2 + 1);
}

#[test]
fn none_where_colours_forbid_it() {
    // Of an odd number of cells there is no cycle through all, and a path has ends of the colour that has more; of an
    // even number it has ends of different colours.
    for (height, length) in [(2, 4), (3, 3), (3, 5), (4, 4), (4, 5), (5, 5), (4, 6), (3, 8)] {
        let cells = height * length;
        let of = |ends| Curves { ends, hamiltonian: true };
        assert_eq!(count(height, length, of(None)) > 0, cells % 2 == 0, "{height}x{length}");
        let opposite_differ = (height + length) % 2 == 1;
        let paths = count(height, length, of(Some((0, cells - 1))));
        assert_eq!(paths > 0, opposite_differ == (cells % 2 == 0), "{height}x{length}");
    }
}

#[test]
fn a_board_has_as_many_as_its_transpose() {
    for (m, n) in [(1, 5), (2, 6), (3, 7), (4, 6), (5, 6)] {
        for curves in Curves::all(Board { height: m, length: n }) {
            let turned = curves.ends.map(|(a, b)| (a, b % m * n + b / m));
            let turned = Curves { ends: turned, ..curves };
            assert_eq!(count(m, n, curves), count(n, m, turned), "{m}x{n} {curves:?}");
        }
    }
}

#[test]
fn what_every_problem_must_hold_to() {
    for (height, length) in [(1, 1), (1, 4), (2, 3), (4, 4), (5, 3), (3, 6)] {
        for curves in Curves::all(Board { height, length }) {
            let problem = problem(height, length, curves);
            common::check_windows(&problem);
            assert!(common::check_families(&problem) > 1 || height < 3 || curves.hamiltonian);
            common::check_bounds(&problem);
            common::check_any_keys(&problem);
        }
    }
}

#[test]
fn the_forecast_is_not_exceeded_and_hardly_missed() {
    for (height, length) in [(1, 4), (2, 5), (3, 7), (4, 5), (5, 6), (6, 6), (7, 7), (8, 8)] {
        for curves in Curves::all(Board { height, length }) {
            let problem = problem(height, length, curves);
            let counted = common::states(&problem);
            let forecast = problem.forecast().unwrap().states;
            assert_eq!(forecast.len(), counted.len());
            for (pass, (&counted, &forecast)) in counted.iter().zip(&forecast).enumerate() {
                assert!(counted as u128 <= forecast, "{height}x{length} {curves:?} pass {pass}: {counted} {forecast}");
            }
            let most = |counts: &mut dyn Iterator<Item = u128>| counts.max().unwrap_or(0);
            let (counted, forecast) =
                (most(&mut counted.iter().map(|&count| count as u128)), most(&mut forecast.iter().copied()));
            assert!(forecast <= counted + 2 || length < 5, "{height}x{length} {curves:?}: {counted} of {forecast}");
        }
    }
}
