//! Whole columns against plain expansion, and helpers for the tests of tables and exchanges.

mod exchange;
mod memory;
mod tables;

use std::collections::BTreeMap;

use keima_model::{BlockColumn, BlockTables, Board, Directions, End, ProblemInfo, Window};

use super::HEIGHTS;
use super::cells::potential;
use crate::go::Go;
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
