//! The tables of windows, state by state: sizes, transitions, order of lists, blocks and far operations.

use keima_model::{BlockColumn, Directions, End, Window};

use super::{CUTS, GoColumn, check_expansion, check_far};
use crate::go::automaton;
use crate::go::block::cells::colours;
use crate::go::block::signature::lists::WindowSignatures;
use crate::go::block::window::GoWindow;
use crate::go::block::window::build::WindowCut;
use crate::go::state::{normalise, successors};

/// The longest windows. At an end of a column lists of eight cells have room for all their codes, however many cells are
/// beside them. With two cells on each side, and for a whole column, they have too many.
#[test]
fn lists_of_eight_cells_have_places_at_the_ends() {
    for (height, first, expected) in [
        (8, 0, Err("lists of 75571 codes")),
        (9, 0, Ok(58_334)),
        (9, 1, Ok(59_608)),
        (10, 1, Ok(57_269)),
        (10, 2, Ok(59_608)),
        (12, 2, Err("lists of 72411 codes")),
        (13, 0, Ok(58_334)),
        (13, 5, Ok(59_608)),
    ] {
        let what = format!("{height} cells, window from {first}");
        let longest = |lists: WindowSignatures<u64>| {
            lists.signatures.iter().flat_map(|signature| &signature.lists).map(Vec::len).max().unwrap_or(0)
        };
        match (WindowSignatures::new(height, Window { first, len: 8 }).map(longest), expected) {
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{what}: {error}"),
            (found, expected) => assert_eq!(found, expected.map_err(str::to_owned), "{what}"),
        }
    }
}

/// Each pass has as many states as the automaton counts.
fn check_sizes(column: &GoColumn, number: usize, what: &str) {
    let height: u32 = column.windows().iter().map(|window| window.len).sum();
    let classes = automaton::classes(height);
    let tables = column.tables(number);
    for (step, &states) in tables.states.iter().enumerate() {
        let kink = (column.windows()[number].first + step as u32) % height;
        // The outside without stones has both colourings of what is inside.
        let stoneless = tables.families.iter().find(|f| column.weight(number, f.blocks.start) == 1).unwrap();
        let twice = stoneless.size[step] / 2;
        assert_eq!(u128::from(states - twice), classes[kink as usize], "{what}, step {step}");
    }
}

fn check_tables(column: &GoColumn, number: usize, what: &str) {
    check_expansion(column, number, what);
    check_sizes(column, number, what);
    check_far(column, number, what);
}

#[test]
fn tables_are_what_they_claim() {
    for lengths in CUTS {
        let windows = Window::of_lengths(lengths);
        let column = GoColumn::new(lengths.iter().sum(), &windows, Directions::Both).unwrap();
        for (number, window) in windows.iter().enumerate() {
            check_tables(&column, number, &format!("cut {lengths:?}, {window:?}"));
        }
    }
}

/// Every window that there is in a column: a window's tables do not depend on how the rest is cut.
fn check_all_windows(height: u32) {
    for first in 0..height {
        // A whole column of eight cells is longer than there are places.
        let longest = if height > 8 { 8 } else { 7 };
        for len in 1..=(height - first).min(longest) {
            let around = |cells: u32| [cells / 2, cells - cells / 2].into_iter().filter(|&len| len > 0);
            let lengths: Vec<u32> = around(first).chain([len]).chain(around(height - first - len)).collect();
            let column = GoColumn::new(height, &Window::of_lengths(&lengths), Directions::Both).unwrap();
            check_tables(&column, around(first).count(), &format!("{height} cells, window {first}..{}", first + len));
        }
    }
}

#[test]
fn tables_of_all_windows_up_to_7_cells() {
    (2..=7).for_each(check_all_windows);
}

#[test]
fn tables_of_all_windows_of_8_cells() {
    check_all_windows(8);
}

#[test]
fn tables_of_all_windows_of_9_cells() {
    check_all_windows(9);
}

#[test]
fn descendants_are_the_ways_through_the_window() {
    for lengths in CUTS {
        let windows = Window::of_lengths(lengths);
        let column = GoColumn::new(lengths.iter().sum(), &windows, Directions::Both).unwrap();
        for (number, window) in windows.iter().enumerate() {
            let tables = column.tables(number);
            let (mut keys, mut expected, mut got) = (Vec::new(), Vec::new(), Vec::<u32>::new());
            for block in 0..tables.signature_of.len() as u32 {
                column.keys(number, End::First, block, &mut keys);
                for &key in &keys {
                    let mut states = vec![key as u64];
                    for cell in window.first..window.end() {
                        let next = |state: &u64| {
                            let (states, count) = successors(cell, *state);
                            states.into_iter().take(count)
                        };
                        states = states.iter().flat_map(next).collect();
                    }
                    expected.push(states.len() as u32);
                }
                got.extend(&tables.signatures[tables.signature_of[block as usize] as usize].descendants);
            }
            assert!(got == expected, "{lengths:?} {window:?}");
            if lengths.iter().sum::<u32>() > 6 {
                break;
            }
        }
    }
}

/// Neighbours in the window's lists at both ends that have one colouring, and one number of sources where that comes first.
/// Those whose first stone is white are left out: no block has them as they are.
fn neighbours(window: &GoWindow<u64>) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    let [firsts, lasts] = &window.lists;
    for ((signature, first), last) in window.tables.signatures.iter().zip(firsts).zip(lasts) {
        all.extend(first.windows(2));
        let mut rest = last.as_slice();
        for &count in &signature.passes[signature.passes.len() - 1].in_degrees {
            let (part, after) = rest.split_at(count as usize);
            all.extend(part.windows(2));
            rest = after;
        }
        assert!(rest.is_empty());
    }
    let same = |&(one, next): &(u64, u64)| colours(one, window.inside) == colours(next, window.inside);
    let pairs = all.into_iter().map(|pair| (pair[0], pair[1]));
    pairs.filter(same).filter(|&(one, _)| normalise(one, 0) == one).collect()
}

/// Of two windows one's codes are the other's outsides, and stand in the order of its blocks.
#[test]
fn lists_are_in_the_order_of_blocks() {
    for (top, height) in [(2, 5), (3, 6), (4, 6), (4, 8)] {
        let windows = [Window { first: 0, len: top }, Window { first: top, len: height - top }];
        let make = |window, before| {
            GoWindow::<u64>::new(WindowCut { height, window, before }, Directions::Both, None).unwrap()
        };
        let [upper, lower] = [make(windows[0], windows[1]), make(windows[1], windows[0])];
        for ((own, _), (_, other)) in [(&upper, &lower), (&lower, &upper)] {
            let pairs = neighbours(own);
            assert!(!pairs.is_empty());
            for (one, next) in pairs {
                let what = format!("{height} {:?}: {one:x} {next:x}", own.window);
                assert!(other.block_of.get(one).unwrap() < other.block_of.get(next).unwrap(), "{what}");
            }
        }
    }
}
