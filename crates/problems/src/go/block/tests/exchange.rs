//! The exchange between windows: positions, families, samples, and mirror images.

use std::collections::{BTreeMap, BTreeSet};

use keima_model::{BlockColumn, Directions, End, SAMPLE_ONE_IN, Window};

use super::{CUTS, GoColumn, check_expansion, check_far, values};
use crate::go::block::cells::mirror;
use crate::go::block::signature::fold::{Fate, Fold};
use crate::go::state::normalise;

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

/// The exchange tells the same families, rests, twins and samples as the positions and the keys.
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

/// Folded columns: passes lead where expansion leads, each image is at its position, and of two images just the kept ones
/// are entries.
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
                assert_eq!(fate, if tied { Fate::Tied } else { Fate::Kept }, "{lengths:?}: {key:x}");
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
