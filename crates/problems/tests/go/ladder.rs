//! Each rung of the ladder against the one below: every colouring, the plain recurrence, the engine's terms.

use std::collections::HashMap;

use keima_model::{Problem, Successors, Window};
use keima_problems::go::border::{self, Colour, Point};
use keima_problems::go::state::{self, Word};
use keima_problems::go::{brute, published};

use crate::memory::{go, run};

/// L(m,1) to L(m,n) with windows of at most `len` cells.
fn series<K: Word>(height: u32, length: u32, len: u32) -> Vec<u128> {
    run(&go::<K>(height, length), &Window::cut(height, len), |_, _, _| ())
}

/// The working form (or its reversal) of a border of named strings.
fn encode(border: &[Point]) -> u64 {
    let code = |(cell, point): (usize, &Point)| match *point {
        Point::Edge => state::EDGE,
        Point::Empty => state::EMPTY,
        Point::Free(colour) => state::FREE | bit(colour),
        Point::Needy(colour, _) => {
            let above = if border[..cell].contains(point) { state::ABOVE } else { 0 };
            let below = if border[cell + 1..].contains(point) { state::BELOW } else { 0 };
            state::NEEDY | below | above | bit(colour)
        }
    };
    border.iter().enumerate().map(|(cell, point)| u64::from(code((cell, point))) << (4 * cell)).sum()
}

fn bit(colour: Colour) -> u32 {
    match colour {
        Colour::Black => 0,
        Colour::White => 1,
    }
}

/// The low bit of the nibble of every cell outside the window.
fn outside(height: u32, window: Window) -> u64 {
    (0..height).filter(|cell| !(window.first..window.end()).contains(cell)).map(|cell| 1 << (4 * cell)).sum()
}

#[test]
fn successors_are_those_of_the_plain_recurrence() {
    for height in 1..=5_u32 {
        let problem = go::<u64>(height, 9);
        let mut scan = border::Scan::<u128>::new(height as usize);
        let mut seen = 0;
        for pass in 0..8 * height {
            let row = scan.row();
            let windows = Window::cut(height, 1 + pass % height);
            let window = *windows.iter().find(|w| (w.first..w.end()).contains(&(row as u32))).unwrap();
            let outside = outside(height, window);
            for border in scan.states().keys() {
                let mut expected: Vec<u64> = border::CHOICES
                    .iter()
                    .filter_map(|&put| border::step(border, row, put))
                    .map(|after| state::normalise(encode(&after), outside))
                    .collect();
                let mut out = Successors::default();
                problem.expand(pass, window, &[state::normalise(encode(border), outside)], &mut out);
                assert_eq!(out.degrees, [expected.len() as u8]);
                expected.sort_unstable();
                out.keys.sort_unstable();
                assert_eq!(out.keys, expected, "{height} {window:?} row {row} {border:?}");
                seen += 1;
            }
            scan.advance();
        }
        assert!(seen > 3 * height, "{seen} states at height {height}");
    }
}

#[test]
fn vectors_are_those_of_the_plain_recurrence() {
    for (height, length) in [(1, 6), (2, 5), (3, 5), (4, 4), (5, 3)] {
        for len in 1..=height {
            let mut scan = border::Scan::<u128>::new(height as usize);
            run(&go::<u64>(height, length), &Window::cut(height, len), |pass, window, vector| {
                let mut expected = HashMap::new();
                for (border, count) in scan.states() {
                    *expected.entry(state::normalise(encode(border), outside(height, window))).or_default() += count;
                }
                assert_eq!(*vector, expected, "{height}x{length} {window:?} before pass {pass}");
                scan.advance();
            });
        }
    }
}

#[test]
fn counts_are_the_published_ones() {
    let mut checked = 0;
    for (height, length) in [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 7)] {
        for (index, value) in (1..).zip(series::<u64>(height, length, 3)) {
            if let Some(known) = published::known(height, index) {
                assert_eq!(value.to_string(), known, "L({height},{index})");
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 2 + 3 + 3 + 3 + 3 + 3 + 2);
}

#[test]
fn counts_are_those_of_every_colouring() {
    for height in 1..=12 {
        for len in 1..=height {
            let values = series::<u64>(height, 12 / height, len);
            for (length, value) in (1..).zip(values) {
                let expected = brute::count(height, length).map(u128::from);
                assert_eq!(Some(value), expected, "{height}x{length}, windows of {len}");
            }
        }
    }
    for (height, length) in [(4, 4), (2, 7)] {
        let expected = brute::count(height, length).map(u128::from);
        assert_eq!(series::<u64>(height, length, 2).last().copied(), expected, "{height}x{length}");
    }
}

/// Minutes: run with `cargo test --release -p keima-problems -- --ignored`.
#[test]
#[ignore = "minutes: 3^20 colourings a board"]
fn counts_are_those_of_every_colouring_up_to_20_points() {
    for points in 13..=20 {
        for height in (1..=points).filter(|height| points % height == 0 && height * height <= points) {
            let expected = brute::count(height, points / height).map(u128::from);
            assert_eq!(
                series::<u64>(height, points / height, 2).last().copied(),
                expected,
                "{height}x{}",
                points / height
            );
        }
    }
}

#[test]
fn a_board_has_as_many_positions_as_its_transpose() {
    for (m, n) in [(1, 9), (2, 7), (3, 8), (4, 6), (5, 7)] {
        assert_eq!(series::<u64>(m, n, 3).last(), series::<u64>(n, m, 2).last(), "{m}x{n}");
    }
}

#[test]
fn windows_and_key_widths_do_not_matter() {
    for (height, length) in [(1, 3), (2, 4), (5, 4), (6, 3)] {
        let expected = series::<u64>(height, length, height);
        for len in 1..=height {
            assert_eq!(series::<u64>(height, length, len), expected, "{height}x{length} windows of {len}");
            assert_eq!(series::<u128>(height, length, len), expected, "{height}x{length} windows of {len}, wide keys");
        }
    }
}
