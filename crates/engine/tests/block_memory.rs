//! Vectors in memory equal the stream executor's at every column end, folded and not, for any lanes. The column ends
//! of a longer board are those of all shorter ones.

#[path = "common/column.rs"]
mod blocks;
mod common;
#[path = "common/states.rs"]
mod states;

use std::collections::{BTreeMap, BTreeSet};

use common::{Settings, sweep_with};
use keima_engine::block::{Moduli, Row, Sweep};
use keima_model::{BlockColumn, Direction, Directions, End};
use keima_residue::add_mod;
use keima_runs::Tally;
use states::{add, empty, go, moduli, times};

/// The values of all canonical states at a column's end.
type Values<const K: usize> = BTreeMap<u128, Row<K>>;

/// A count in memory, forward. Returns the vector at each column end in canonical form, at the first with its
/// existing states only, and the sum over its accepting states: the count of the board that ends there.
fn ends_in_memory<const K: usize>(
    height: u32,
    length: u32,
    lengths: &[u32],
    directions: Directions,
) -> Vec<(Tally, Row<K>)> {
    let column = blocks::column(height, lengths, directions);
    let (column, last) = (column.as_ref(), lengths.len() - 1);
    let states = (0..=last).flat_map(|window| column.tables(window).states.clone()).max().unwrap() as usize;
    let (mut before, mut after) = (vec![[0; K]; states], vec![[0; K]; states]);
    column.start(last, End::Last).into_iter().for_each(|position| before[position as usize] = [1; K]);
    let moduli = moduli(K);
    let row: Row<K> = moduli.clone().try_into().unwrap();
    let mut sweep = Sweep::new(column, Moduli::new(row).unwrap(), 2).unwrap().share_from(1000);
    let times = times(column, (last, End::Last));
    // Where the first window is shorter than the last there is no folding.
    let folded = column.images(0, &mut Vec::new()).is_some();
    assert_eq!(folded, directions == Directions::Folded && lengths[0] >= lengths[last], "{height} {lengths:?}");
    let mut first = empty(K);
    for (key, row) in as_they_are(column, &before[..keys(column).len()]).iter().filter(|(_, row)| **row != [0; K]) {
        add(&mut first, *key, row, times[key], &moduli);
    }
    let mut ends = vec![(first, accepted(column, &before, &moduli))];
    for _ in 1..length {
        for window in 0..=last {
            sweep.run(Direction::Forward, window, &before, &mut after, None).unwrap();
            std::mem::swap(&mut before, &mut after);
        }
        let values = if folded { unfolded(column, &before, &moduli) } else { as_they_are(column, &before) };
        assert!(values.keys().eq(times.keys()), "{height}x{length} {lengths:?}: all canonical states have a value");
        let mut tally = empty(K);
        for (key, row) in &values {
            add(&mut tally, *key, row, times[key], &moduli);
        }
        ends.push((tally, accepted(column, &before, &moduli)));
    }
    ends
}

/// The sum over the accepting states of a vector at a column's end.
fn accepted<const K: usize>(column: &dyn BlockColumn, vector: &[Row<K>], moduli: &[u64]) -> Row<K> {
    let last = column.windows().len() - 1;
    let (mut sum, mut keys, mut rest) = ([0; K], Vec::new(), vector);
    for block in 0..column.tables(last).signature_of.len() as u32 {
        column.keys(last, End::Last, block, &mut keys);
        let (rows, later) = rest.split_at(keys.len());
        rest = later;
        for row in column.accepting(block).iter().map(|&entry| &rows[usize::from(entry)]) {
            for ((sum, &value), &p) in sum.iter_mut().zip(row).zip(moduli) {
                *sum = add_mod(*sum, keima_residue::mul_mod(column.weight(last, block), value, p), p);
            }
        }
    }
    sum
}

/// Canonical keys of all entries at a column's end, in the order of the vector.
fn keys(column: &dyn BlockColumn) -> Vec<u128> {
    let last = column.windows().len() - 1;
    let (mut all, mut keys) = (Vec::new(), Vec::new());
    for block in 0..column.tables(last).signature_of.len() as u32 {
        column.keys(last, End::Last, block, &mut keys);
        all.append(&mut keys);
    }
    all
}

/// Without stones outside, both colourings of a state are entries, with the same value.
fn as_they_are<const K: usize>(column: &dyn BlockColumn, vector: &[Row<K>]) -> Values<K> {
    let mut values = Values::new();
    for (key, row) in keys(column).into_iter().zip(vector) {
        assert_eq!(values.entry(key).or_insert(*row), row, "both colourings of {key:x}");
    }
    values
}

/// A folded column begins with one of two mirror images, with the values of both. At its end single values mean
/// nothing. But a state and its image add up to twice the value of each without folding, since columns and images
/// commute.
fn unfolded<const K: usize>(column: &dyn BlockColumn, vector: &[Row<K>], moduli: &[u64]) -> Values<K> {
    let keys = keys(column);
    let (mut values, mut own, mut images) = (Values::new(), Vec::new(), Vec::new());
    let mut pairs = BTreeSet::new();
    for block in 0..column.tables(0).signature_of.len() as u32 {
        column.positions(0, End::First, block, &mut own);
        column.images(block, &mut images).expect("a folded column");
        pairs.extend(own.iter().zip(&images).map(|(&one, &other)| (one as usize, other as usize)));
    }
    let half = |p: u64| p.div_ceil(2);
    for (one, other) in pairs {
        let row: Row<K> = std::array::from_fn(|lane| {
            let p = moduli[lane];
            keima_residue::mul_mod(add_mod(vector[one][lane], vector[other][lane], p), half(p), p)
        });
        for key in [keys[one], keys[other]] {
            assert_eq!(values.entry(key).or_insert(row), &row, "{key:x}");
        }
    }
    values
}

/// States, sums, fingerprints and counts of all shorter boards equal the stream executor's.
fn check(height: u32, length: u32, lengths: &[u32]) {
    fn check_for<const K: usize>(lengths: &[u32], (height, length): (u32, u32), theirs: &common::Sweep) {
        for directions in [Directions::Both, Directions::Folded] {
            let own = ends_in_memory::<K>(height, length, lengths, directions);
            assert_eq!(own.len(), theirs.columns.len() - 1);
            assert!(theirs.functionals.len() >= own.len());
            let counts = theirs.functionals.values();
            for ((((own, count), theirs), their_count), columns) in own.iter().zip(&theirs.columns).zip(counts).zip(1..)
            {
                let what = format!("{height}x{columns} {lengths:?}, {directions:?}, {K} residues");
                // The spare comes last.
                let some = |row: &[u64]| row[..K - 1].iter().chain(row.last()).copied().collect::<Vec<_>>();
                assert_eq!((&own.sums, &own.fingerprint), (&some(&theirs.sums), &some(&theirs.fingerprint)), "{what}");
                assert_eq!(own.states, theirs.states, "{what}");
                assert_eq!(count.as_slice(), some(their_count), "{what}");
            }
        }
    }
    let settings = Settings { window: 3, shards: 2, memory_bytes: 8 << 20, moduli: moduli(8) };
    // The last vector of a board is never written, so a longer board writes it here.
    let found = sweep_with(&go(height, length + 1), &settings, &mut |_| {}).unwrap();
    check_for::<1>(lengths, (height, length), &found);
    check_for::<2>(lengths, (height, length), &found);
    check_for::<4>(lengths, (height, length), &found);
    check_for::<8>(lengths, (height, length), &found);
}

#[test]
fn every_column_end_is_the_stream_executors() {
    for (height, lengths) in [
        (2, &[1, 1][..]),
        (3, &[2, 1]),
        (4, &[4]),
        (5, &[2, 3]),
        (5, &[3, 2]),
        (6, &[3, 3]),
        (7, &[4, 3]),
        (7, &[3, 2, 2]),
        (8, &[4, 4]),
    ] {
        check(height, 10, lengths);
    }
}

#[test]
fn every_column_end_is_the_stream_executors_at_9x10() {
    check(9, 10, &[5, 4]);
}

/// Blocks of the longest windows, with nearly as many entries as a block can have.
#[test]
fn every_column_end_is_the_stream_executors_with_windows_of_eight_cells() {
    check(9, 10, &[8, 1]);
    check(9, 10, &[1, 8]);
}

#[test]
fn every_column_end_is_the_stream_executors_at_10x10() {
    check(10, 10, &[5, 5]);
}
