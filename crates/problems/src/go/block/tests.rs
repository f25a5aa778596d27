//! What the tables claim, state by state: sizes, transitions, order of far operations, places in the next window.

use std::collections::{BTreeMap, BTreeSet};

use keima_model::{BlockColumn, BlockTables, Board, Directions, End, ProblemInfo, SAMPLE_ONE_IN, Window};

use super::HEIGHTS;
use crate::go::Go;
use crate::go::automaton;
use crate::go::block::signature::fold::{Fate, Fold, mirror};
use crate::go::block::signature::lists::WindowSignatures;
use crate::go::block::window::potential;
use crate::go::state::{accepts, normalise, successors};

type GoColumn = super::GoColumn<u64>;

/// What users are told where there are no blocks names the heights that there are.
#[test]
fn the_reason_names_the_heights() {
    for (height, made) in [(*HEIGHTS.start() - 1, false), (*HEIGHTS.start(), true), (*HEIGHTS.end(), true)] {
        let problem = Go::<u128>::new(String::new(), Board { height, length: 20 });
        assert_eq!(problem.blocks().is_some(), made, "{height}");
        let range = format!("{} to {}", HEIGHTS.start(), HEIGHTS.end());
        assert!(problem.why_no_blocks().contains(&range), "{range}");
    }
}

/// Windows that are no cut, or too long for any table, are refused before anything is made.
#[test]
fn cuts_that_cannot_be_are_refused() {
    for (height, lengths, expected) in
        [(5, &[3, 1][..], "do not cut a column of 5"), (16, &[15, 1], "a window of 15 cells"), (9, &[9], "9 cells")]
    {
        let error = GoColumn::new(height, &Window::of_lengths(lengths), Directions::Forward).err();
        assert!(error.as_ref().is_some_and(|error| error.contains(expected)), "{lengths:?}: {error:?}");
    }
}

/// The longest windows: at an end of a column lists of eight cells have places for all their codes, however many cells are
/// beside them; with two cells on each side, and of a whole column, they have too many.
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

/// Cuts of a column that differ in every way that could matter.
const CUTS: &[&[u32]] = &[
    &[2],
    &[1, 1],
    &[3],
    &[2, 1],
    &[1, 1, 1],
    &[2, 2],
    &[1, 2, 1],
    &[5],
    &[3, 2],
    &[2, 3],
    &[2, 2, 1],
    &[4, 2],
    &[2, 2, 2],
    &[1, 1, 4],
    &[4, 3],
    &[3, 2, 2],
    &[4, 4],
    &[3, 3, 2],
    &[5, 4],
    &[3, 3, 3],
];

/// The whole vector through a window, by the tables, in the plainest way.
pub(crate) fn through(tables: &BlockTables, vector: &[u64]) -> Vec<u64> {
    let position = |step: usize, family: &keima_model::Family, block: u32, entry: u16| {
        (family.start[step] + u64::from(tables.base[step][block as usize]) + u64::from(entry)) as usize
    };
    let mut now = vector.to_vec();
    for pass in 0..tables.far.len() {
        let mut next = vec![0_u64; tables.states[pass + 1] as usize];
        for family in &tables.families {
            for block in family.blocks.clone() {
                let signature = &tables.signatures[tables.signature_of[block as usize] as usize];
                let table = &signature.passes[pass];
                let mut sources = table.sources.iter();
                let mut entry = 0;
                for (degree, &count) in table.in_degrees.iter().enumerate() {
                    for _ in 0..count {
                        for &source in sources.by_ref().take(degree) {
                            let from = now[position(pass, family, block, source)];
                            let to = &mut next[position(pass + 1, family, block, entry)];
                            *to = to.wrapping_add(from);
                        }
                        entry = entry.wrapping_add(1);
                    }
                }
                let first = tables.far[pass].first[block as usize] as usize;
                for (far, &target) in table.far.iter().zip(&tables.far[pass].targets[first..]) {
                    assert!(family.blocks.contains(&target), "a far operation leaves its family");
                    for &(source, entry) in &far.pairs {
                        let from = now[position(pass, family, block, source)];
                        let to = &mut next[position(pass + 1, family, target, entry)];
                        *to = to.wrapping_add(from);
                    }
                }
            }
        }
        now = next;
    }
    now
}

/// The vector by canonical keys.
fn canonical(column: &GoColumn, number: usize, end: End, vector: &[u64]) -> BTreeMap<u128, u64> {
    let tables = column.tables(number);
    let step = if end == End::First { 0 } else { tables.states.len() - 1 };
    let (mut keys, mut map) = (Vec::new(), BTreeMap::new());
    let mut values = vector.iter();
    for block in 0..tables.signature_of.len() as u32 {
        column.keys(number, end, block, &mut keys);
        let signature = &tables.signatures[tables.signature_of[block as usize] as usize];
        assert_eq!(keys.len(), signature.entries[step] as usize);
        for (&key, &value) in keys.iter().zip(values.by_ref()) {
            let sum: &mut u64 = map.entry(key).or_default();
            *sum = sum.wrapping_add(value.wrapping_mul(column.weight(number, block)));
        }
    }
    assert_eq!(values.next(), None);
    map
}

/// A value for each canonical key that has nothing to do with its place; the same for a state and its reversal.
fn values(column: &GoColumn, number: usize, end: End) -> Vec<u64> {
    let tables = column.tables(number);
    let (mut keys, mut all) = (Vec::new(), Vec::new());
    for block in 0..tables.signature_of.len() as u32 {
        column.keys(number, end, block, &mut keys);
        all.extend(keys.iter().map(|&key| keima_model::Key::mix(key, 11)));
    }
    all
}

/// Each state of a window, expanded cell by cell, leads where the tables say.
fn check_expansion(column: &GoColumn, number: usize, what: &str) {
    let window = column.windows()[number];
    let vector = values(column, number, End::First);
    let mut expected = canonical(column, number, End::First, &vector);
    for cell in window.first..window.end() {
        let mut next = BTreeMap::new();
        for (&key, &value) in &expected {
            let (states, count) = successors(cell, key as u64);
            for &state in &states[..count] {
                let sum: &mut u64 = next.entry(u128::from(normalise(state, 0))).or_default();
                *sum = sum.wrapping_add(value);
            }
        }
        expected = next;
    }
    let mut got = canonical(column, number, End::Last, &through(column.tables(number), &vector));
    // Valid states that nothing leads to.
    got.retain(|key, value| *value != 0 || expected.contains_key(key));
    assert!(got == expected, "{what}");
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

/// Far operations lead to blocks before, but for a window's first pass below the top.
fn check_far(column: &GoColumn, number: usize, what: &str) {
    let potentials = potentials(column, number);
    for (pass, far) in column.tables(number).far.iter().enumerate() {
        let may_rise = pass == 0 && column.windows()[number].first > 0;
        assert!(far.descending || may_rise, "{what}, pass {pass}");
        let rises = (0_u32..).zip(far.first.windows(2)).any(|(block, range)| {
            let targets = &far.targets[range[0] as usize..range[1] as usize];
            targets.iter().any(|&target| if may_rise { target == block } else { target >= block })
        });
        assert!(!rises, "{what}, pass {pass}");
        // Blocks of one potential stand in the order of their words: an operation between two of them would go unseen above.
        let falls = may_rise
            || potentials.iter().zip(far.first.windows(2)).all(|(potential, range)| {
                let targets = &far.targets[range[0] as usize..range[1] as usize];
                let known = |&target: &u32| potentials[target as usize].zip(*potential);
                targets.iter().filter_map(known).all(|(target, potential)| target < potential)
            });
        assert!(falls, "{what}, pass {pass}");
    }
}

/// Of the outside of each block of a window that has entries at one of its ends.
fn potentials(column: &GoColumn, number: usize) -> Vec<Option<u32>> {
    let (window, height) = (column.windows()[number], column.windows().iter().map(|window| window.len).sum());
    let mut keys = Vec::new();
    let of = |block| {
        let key = [End::First, End::Last].into_iter().find_map(|end| {
            column.keys(number, end, block, &mut keys);
            keys.first().map(|&key| key as u64)
        })?;
        Some(potential(key, 0..window.first) + potential(key, window.end()..height))
    };
    (0..column.tables(number).signature_of.len() as u32).map(of).collect()
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
fn the_exchange_finds_each_state_in_the_next_window() {
    for lengths in CUTS {
        let windows = Window::of_lengths(lengths);
        let column = GoColumn::new(lengths.iter().sum(), &windows, Directions::Both).unwrap();
        let count = windows.len();
        for number in 0..count {
            for (end, other, other_end) in
                [(End::First, (number + count - 1) % count, End::Last), (End::Last, (number + 1) % count, End::First)]
            {
                let (here, there) = (values(&column, number, end), values(&column, other, other_end));
                let (mut positions, mut all) = (Vec::new(), Vec::new());
                for block in 0..column.tables(number).signature_of.len() as u32 {
                    column.positions(number, end, block, &mut positions);
                    all.extend(positions.iter().map(|&position| there[position as usize]));
                }
                assert!(here == all, "{lengths:?} window {number} {end:?}");
            }
        }
    }
}

/// What the exchange says of families, rests, twins and samples is what the positions and the keys say.
#[test]
fn the_exchange_tells_families_and_samples() {
    for (height, lengths) in [(4, &[4][..]), (5, &[3, 2]), (6, &[2, 2, 2]), (7, &[3, 2, 2]), (7, &[4, 3])] {
        let column = GoColumn::new(height, &Window::of_lengths(lengths), Directions::Both).unwrap();
        let count = lengths.len();
        let (mut positions, mut some, mut families, mut keys) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut entries, mut sampled) = (Vec::new(), vec![[BTreeSet::new(), BTreeSet::new()]; count]);
        for number in 0..count {
            for end in [End::First, End::Last] {
                // The boundary after a window is the one before the next.
                let (there, there_step, boundary) = match end {
                    End::First => ((number + count - 1) % count, usize::MAX, (number + count - 1) % count),
                    End::Last => ((number + 1) % count, 0, number),
                };
                let there_tables = column.tables(there);
                let there_step = there_step.min(there_tables.states.len() - 1);
                let there_end = if end == End::First { End::Last } else { End::First };
                let here = column.tables(number);
                let mut of_class: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
                let mut last_rest = 0;
                for (family, index) in here.families.iter().zip(0_u32..) {
                    let rest = column.rest(number, end, index);
                    assert!(end == End::Last || rest >= last_rest, "families are in the order of their rests");
                    last_rest = rest;
                    for block in family.blocks.clone() {
                        column.positions(number, end, block, &mut positions);
                        column.families(number, end, block, &mut families);
                        assert_eq!(positions.len(), families.len());
                        for (&position, &family) in positions.iter().zip(&families) {
                            let found = &there_tables.families[family as usize];
                            let start = found.start[there_step];
                            assert!((start..start + found.size[there_step]).contains(&position));
                            assert_eq!(column.rest(there, there_end, family), rest, "both sides have the same rest");
                        }
                        let all: Vec<u16> = (0..positions.len() as u16).step_by(3).collect();
                        column.positions_of(number, end, block, &all, &mut some);
                        assert!(some.iter().eq(positions.iter().step_by(3)));
                        let class = (here.signature_of[block as usize], column.exchange_class(number, end, block));
                        assert_eq!(of_class.entry(class).or_insert_with(|| families.clone()), &families, "one class");

                        column.keys(number, end, block, &mut keys);
                        let twins = column.twins(number, end, block);
                        assert_eq!(twins.is_empty(), column.weight(number, block) == 2);
                        for (entry, &twin) in twins.iter().enumerate() {
                            assert_eq!(keys[entry], keys[usize::from(twin)]);
                            assert_eq!(twins[usize::from(twin)], twin, "one entry stands for each key");
                        }
                        let mut in_any = 0;
                        for key in 0..SAMPLE_ONE_IN {
                            column.sample(number, end, block, key + 3 * SAMPLE_ONE_IN, &mut entries);
                            in_any += entries.len();
                        }
                        assert_eq!(in_any, keys.len(), "each state is in the sample of one key");
                        column.sample(number, end, block, u64::from(height), &mut entries);
                        let mut of_sample = Vec::new();
                        column.keys_of(number, end, block, &entries, &mut of_sample);
                        assert!(entries.iter().map(|&e| keys[usize::from(e)]).eq(of_sample.iter().copied()));
                        sampled[boundary][usize::from(end == End::Last)].extend(of_sample);
                    }
                }
            }
        }
        for [first, last] in sampled {
            assert_eq!(first, last, "both windows have the same sample");
            assert!(!first.is_empty() || height < 6, "{height}: no sample");
        }
    }
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

/// Folded columns: passes lead from the states that are there where expansion says; each image is where it is said to
/// be; and of two images just those are there that are to be.
#[test]
fn folded_columns_know_the_images() {
    for lengths in CUTS {
        let (height, windows) = (lengths.iter().sum(), Window::of_lengths(lengths));
        let column = GoColumn::new(height, &windows, Directions::Folded).unwrap();
        let whole = GoColumn::new(height, &windows, Directions::Both).unwrap();
        let (mut positions, mut keys) = (Vec::new(), Vec::new());
        if lengths[0] < lengths[lengths.len() - 1] {
            assert!(column.images(0, &mut positions).is_none(), "{lengths:?}");
            continue;
        }
        let (fold, last) = (Fold::new(height), windows.len() - 1);
        for (number, window) in windows.iter().enumerate() {
            let what = format!("folded {lengths:?}, {window:?}");
            check_expansion(&column, number, &what);
            check_far(&column, number, &what);
            for (states, all) in column.tables(number).states.iter().zip(&whole.tables(number).states) {
                assert!(states <= all, "{what}");
            }
            let end = column.tables(number).states.last();
            assert!(number < last || end == whole.tables(number).states.last(), "{what}: all are there at the end");
        }
        // Values at both ends of the column: of a state the same wherever it is, and of its image another.
        let (before, after) = (values(&column, 0, End::First), values(&column, last, End::Last));
        let value = |key: u128| keima_model::Key::mix(key, 11);
        let image = |key: u128| u128::from(normalise(mirror(key as u64, height), 0));
        let mut kept = 0;
        for block in 0..column.tables(0).signature_of.len() as u32 {
            column.keys(0, End::First, block, &mut keys);
            let tied = column.images(block, &mut positions).unwrap();
            assert_eq!((positions.len(), tied.len()), (keys.len(), keys.len()));
            for ((&position, &key), &tied) in positions.iter().zip(&keys).zip(tied) {
                assert_eq!(after[position as usize], value(image(key)), "{lengths:?}: {key:x}");
                let fate = fold.fate(key as u64, 0);
                assert_eq!(fate, if tied { Fate::Tied } else { Fate::CacheState }, "{lengths:?}: {key:x}");
            }
            kept += keys.len();
        }
        assert!(kept < after.len(), "{lengths:?}: nothing was folded");
        for block in 0..column.tables(last).signature_of.len() as u32 {
            column.keys(last, End::Last, block, &mut keys);
            column.positions(last, End::Last, block, &mut positions);
            assert_eq!(positions.len(), keys.len());
            for (&position, &key) in positions.iter().zip(&keys) {
                let there = fold.fate(key as u64, 0) != Fate::Dropped;
                let expected = if there { value(key) } else { value(image(key)) };
                assert_eq!(before[position as usize], expected, "{lengths:?}: {key:x}");
            }
        }
    }
}

/// Whole boards: start after the first column, column by column, accepting sums against published values.
#[test]
fn boards_are_counted() {
    let known = [(2, 57), (3, 12_675), (4, 24_318_165), (5, 414_295_148_741)];
    for (height, expected) in known {
        for lengths in CUTS.iter().filter(|lengths| lengths.iter().sum::<u32>() == height) {
            let windows = Window::of_lengths(lengths);
            let column = GoColumn::new(height, &windows, Directions::Both).unwrap();
            let count = windows.len();
            let last = column.tables(count - 1);
            let mut vector = vec![0_u64; last.states[windows[count - 1].len as usize] as usize];
            for position in column.start(column.windows().len() - 1, End::Last) {
                vector[position as usize] = 1;
            }
            for _ in 1..height {
                for number in 0..count {
                    let (mut positions, mut next) = (Vec::new(), Vec::new());
                    for block in 0..column.tables(number).signature_of.len() as u32 {
                        column.positions(number, End::First, block, &mut positions);
                        next.extend(positions.iter().map(|&position| vector[position as usize]));
                    }
                    vector = through(column.tables(number), &next);
                }
            }
            let sum: u64 = canonical(&column, count - 1, End::Last, &vector)
                .into_iter()
                .filter(|&(key, _)| accepts(key as u64))
                .map(|(_, value)| value)
                .sum();
            assert_eq!(sum, expected, "{height}x{height}, {lengths:?}");
            let mut start = 0;
            let mut by_entries = 0;
            for (block, &signature) in last.signature_of.iter().enumerate() {
                let weight = column.weight(count - 1, block as u32);
                by_entries += column
                    .accepting(block as u32)
                    .iter()
                    .map(|&e| weight * vector[start + usize::from(e)])
                    .sum::<u64>();
                start += last.signatures[signature as usize].entries[windows[count - 1].len as usize] as usize;
            }
            assert_eq!(by_entries, expected);
        }
    }
}
