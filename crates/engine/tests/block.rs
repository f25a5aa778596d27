//! Counts by the block executor equal published values, for any windows, threads and middle.

#[path = "common/column.rs"]
mod blocks;

use std::sync::atomic::AtomicBool;

use keima_engine::block::{
    BlockError, CountOrder, Counted, ResidueStore, WindowEvidence, count, count_forward, passages,
};
use keima_model::{BlockColumn, BlockProblem, Board, Direction, Directions, Window};
use keima_problems::go::{Go, published};
use keima_residue::{crt, primes_below};

fn column(height: u32, lengths: &[u32]) -> Box<dyn BlockColumn> {
    blocks::column(height, lengths, Directions::Both)
}

fn run(
    column: &dyn BlockColumn,
    height: u32,
    length: u32,
    threads: usize,
    series: bool,
    lanes: Option<usize>,
) -> Result<Counted, BlockError> {
    let mut moduli: Vec<u64> = primes_below(1 << 60).take(7).collect();
    moduli.reverse();
    let (stop, progress) = (AtomicBool::new(false), |_: u32, _: u32| {});
    let (moduli, stop, progress) = (&moduli[..], &stop, &progress);
    let order = CountOrder {
        column,
        height,
        length,
        choices: 3,
        moduli,
        salt: threads as u64,
        threads,
        series,
        stop,
        progress,
    };
    match lanes {
        None => count(&order),
        Some(lanes) => count_forward(&order, lanes, &mut ()),
    }
}

/// All reported boards equal the published ones, and the spare agrees with the other residues, with and without
/// folding.
fn check(height: u32, length: u32, lengths: &[u32], threads: usize, series: bool, lanes: Option<usize>) {
    for directions in [Directions::Both, Directions::Folded] {
        check_for(height, length, lengths, threads, series, lanes, directions);
    }
}

fn check_for(
    height: u32,
    length: u32,
    lengths: &[u32],
    threads: usize,
    series: bool,
    lanes: Option<usize>,
    directions: Directions,
) {
    let column = blocks::column(height, lengths, directions);
    let counted = run(column.as_ref(), height, length, threads, series, lanes).unwrap();
    let columns: Vec<u32> = counted.boards.iter().map(|(columns, _)| *columns).collect();
    let expected: Vec<u32> = if series || lanes.is_some() {
        (1..=length).collect()
    } else {
        (1..=counted.middle).chain((counted.middle < length).then_some(length)).collect()
    };
    assert_eq!(columns, expected, "{height}x{length} {lengths:?}");
    let mut moduli: Vec<u64> = primes_below(1 << 60).take(7).collect();
    moduli.reverse();
    for (columns, residues) in counted.boards {
        let pairs: Vec<(u64, u64)> = moduli.iter().copied().zip(residues).collect();
        let value = crt(&pairs).unwrap();
        if let Some(known) = published::known(height, columns) {
            assert_eq!(value.to_string(), known, "{height}x{columns} {lengths:?}");
        }
        let (_, others) = pairs.split_last().unwrap();
        assert_eq!(crt(others).unwrap(), value, "{height}x{columns}: the spare");
    }
}

#[test]
fn counts_are_the_published_ones() {
    for (height, length, lengths) in [
        (2, 2, &[2][..]),
        (2, 2, &[1, 1]),
        (2, 9, &[1, 1]),
        (3, 3, &[2, 1]),
        (3, 7, &[3]),
        (4, 4, &[1, 2, 1]),
        (5, 5, &[5]),
        (5, 9, &[2, 3]),
        (6, 6, &[2, 2, 2]),
        (6, 7, &[3, 3]),
        (7, 7, &[4, 3]),
        (8, 8, &[4, 4]),
        // Long enough that vectors are widened, in each direction and at each boundary.
        (3, 60, &[2, 1]),
        (4, 40, &[2, 2]),
        (5, 31, &[2, 2, 1]),
        (6, 26, &[4, 2]),
        // Up to eight lanes.
        (2, 115, &[1, 1]),
    ] {
        for (threads, series) in [(1, true), (2, false), (3, true)] {
            check(height, length, lengths, threads, series, None);
        }
        // Forward alone, with different numbers of residues at a time, of seven.
        for (threads, lanes) in [(1, 1), (2, 2), (3, 4), (1, 8)] {
            check(height, length, lengths, threads, true, Some(lanes));
        }
    }
}

#[test]
fn one_column_is_read_off_the_start() {
    check(4, 1, &[2, 2], 1, false, None);
    check(4, 1, &[2, 2], 1, false, Some(2));
    check(4, 2, &[2, 2], 2, true, None);
}

#[test]
fn boards_with_numbers_of_more_than_eight_lanes_are_refused() {
    let column = column(3, &[2, 1]);
    // 3^(3 x 100) at the middle needs 476 bits; seven primes have 420.
    let error = run(column.as_ref(), 3, 201, 1, false, None).unwrap_err();
    assert!(matches!(error, BlockError::TooLong { .. }), "{error}");
    let counted = run(column.as_ref(), 3, 150, 1, false, None).unwrap();
    assert_eq!(counted.boards.last().map(|(columns, _)| *columns), Some(150));
}

/// The planned passages are those of the count.
#[test]
fn the_steps_of_a_count_are_known_beforehand() {
    for (height, length, lengths, widest) in [
        (2, 9, &[1, 1][..], 2),
        (2, 115, &[1, 1], 8),
        (3, 60, &[2, 1], 4),
        (4, 2, &[4], 2),
        (4, 40, &[2, 2], 4),
        (5, 5, &[3, 2], 2),
        (5, 31, &[2, 2, 1], 4),
        (6, 7, &[3, 3], 2),
    ] {
        let column = column(height, lengths);
        let counted = run(column.as_ref(), height, length, 2, false, None).unwrap();
        let passages = passages(column.windows(), height, length, 3).unwrap();
        let passes = |window: u32| {
            let states = &column.tables(window as usize).states;
            states.iter().take(states.len() - 1).sum::<u64>()
        };
        let what = format!("{height}x{length} {lengths:?}");
        assert_eq!(passages.iter().map(|passage| passes(passage.window)).sum::<u64>(), counted.state_passes, "{what}");
        let forward = passages.iter().filter(|passage| passage.direction == Direction::Forward).count();
        let ahead = usize::from(counted.middle < length);
        assert_eq!(forward, (counted.middle as usize - 1) * lengths.len() + ahead, "{what}");
        assert_eq!(passages.iter().filter(|passage| passage.arrivals).count(), lengths.len() * ahead, "{what}");
        assert!(passages.iter().all(|passage| [1, 2, 4, 8].contains(&passage.lanes)), "{what}");
        assert_eq!(passages.iter().map(|passage| passage.lanes).max(), Some(widest), "{what}");
        assert!(counted.times.read_nanos > 0 && counted.times.map_nanos > 0, "{what}: {:?}", counted.times);
    }
    assert_eq!(passages(&[Window { first: 0, len: 3 }], 3, 201, 3), None);
    assert_eq!(passages(&[Window { first: 0, len: 3 }], 3, 1, 3), Some(Vec::new()));
}

/// Residues that are known before the count.
struct Before(Vec<(u64, Vec<u64>)>);

impl ResidueStore for Before {
    fn find(&self, modulus: u64) -> Option<Vec<u64>> {
        self.0.iter().find(|(found, _)| *found == modulus).map(|(_, boards)| boards.clone())
    }
    fn keep(&mut self, found: &[(u64, Vec<u64>)], _: &[WindowEvidence]) {
        self.0.extend_from_slice(found);
    }
}

#[test]
fn sweeps_that_are_kept_are_not_done_again() {
    let column = column(5, &[3, 2]);
    let moduli: Vec<u64> = primes_below(1 << 60).take(7).collect();
    let (stop, progress) = (AtomicBool::new(false), |_: u32, _: u32| {});
    let order = CountOrder {
        column: column.as_ref(),
        height: 5,
        length: 6,
        choices: 3,
        moduli: &moduli,
        salt: 7,
        threads: 2,
        series: true,
        stop: &stop,
        progress: &progress,
    };
    let mut all = Before(Vec::new());
    let whole = count_forward(&order, 2, &mut all).unwrap();
    assert_eq!(all.0.iter().map(|(modulus, _)| *modulus).collect::<Vec<_>>(), moduli);
    let sweep = whole.state_passes / 4;
    // (kept residues, how many of them have too few boards, lanes now, sweeps left)
    for (kept, short, lanes, sweeps) in
        [(0, 0, 8, 1), (2, 0, 2, 3), (3, 0, 2, 2), (3, 1, 2, 3), (4, 0, 1, 3), (6, 0, 8, 1), (7, 0, 1, 0)]
    {
        let mut before = Before(all.0[moduli.len() - kept..].to_vec());
        before.0.iter_mut().take(short).for_each(|(_, boards)| boards.truncate(5));
        let counted = count_forward(&order, lanes, &mut before).unwrap();
        assert_eq!(counted.boards, whole.boards, "{kept} kept, {lanes} lanes");
        assert_eq!(counted.state_passes, sweeps * sweep, "{kept} kept, {short} too short, {lanes} lanes");
        assert_eq!(before.0.len(), moduli.len() + short);
    }
    // Kept residues are not checked on reading: the spare shows a wrong one.
    let mut wrong = Before(all.0.clone());
    wrong.0[3].1[5] ^= 1;
    let counted = count_forward(&order, 2, &mut wrong).unwrap();
    assert_ne!(counted.boards, whole.boards);
}

/// Tables for forward passes alone have no exchange with the window before, which a count in memory reads.
#[test]
fn an_exchange_that_is_not_there_is_an_error() {
    let windows = [Window { first: 0, len: 3 }, Window { first: 3, len: 2 }];
    let go = Go::<u64>::new(String::new(), Board { height: 5, length: 5 });
    let column = go.column(&windows, Directions::Forward).unwrap();
    for lanes in [None, Some(1), Some(4)] {
        let error = run(column.as_ref(), 5, 5, 2, false, lanes).unwrap_err();
        assert!(matches!(error, BlockError::Order), "{lanes:?}: {error}");
    }
}

#[test]
fn what_is_stopped_stops() {
    let column = column(4, &[2, 2]);
    let (stop, progress) = (AtomicBool::new(true), |_: u32, _: u32| {});
    let moduli: Vec<u64> = primes_below(1 << 60).take(3).collect();
    let order = CountOrder {
        column: column.as_ref(),
        height: 4,
        length: 4,
        choices: 3,
        moduli: &moduli,
        salt: 7,
        threads: 2,
        series: false,
        stop: &stop,
        progress: &progress,
    };
    assert!(matches!(count(&order), Err(BlockError::Stopped)));
}

/// Values too large for their lanes, because the bound was too small, are found by the spare.
#[test]
fn what_outgrows_its_lanes_is_found() {
    let column = column(4, &[2, 2]);
    let (stop, progress) = (AtomicBool::new(false), |_: u32, _: u32| {});
    let moduli: Vec<u64> = primes_below(1 << 60).take(4).collect();
    let count = |choices| {
        let (column, moduli, stop, progress) = (column.as_ref(), &moduli[..], &stop, &progress);
        count(&CountOrder {
            column,
            height: 4,
            length: 40,
            choices,
            moduli,
            salt: 7,
            threads: 1,
            series: false,
            stop,
            progress,
        })
    };
    assert!(count(3).is_ok());
    let result = count(2);
    assert!(matches!(result, Err(BlockError::Spare { .. })), "{result:?}");
}
