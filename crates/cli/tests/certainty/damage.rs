//! 1,000 times in flight, in memory and on disk something goes wrong, by streams and by blocks: it is found, or the number is
//! right. Strikes that changed nothing come on top.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use keima_coordinator::{Executor, JobStatus, State};
use keima_model::Registry;
use keima_model::mix::split_mix;

use crate::cell::{Cell, Way};
use crate::plain::{Plain, Slip};
use crate::strikes::{KINDS, Kind, POINTS, Point, Strike};

const TIMES: u64 = 1000;

/// The seed: of the environment, to repeat a failure, or of the clock.
fn seed() -> u64 {
    let given = std::env::var("KEIMA_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64))
}

fn plain() -> [Arc<dyn Registry>; 2] {
    [Arc::new(Plain::default()), Arc::new(Plain::default())]
}

fn number(status: &JobStatus) -> Option<&str> {
    status.outcome.as_ref().filter(|outcome| outcome.ok).map(|outcome| outcome.count.as_str())
}

/// The right number, and how often each point is reached.
fn untouched(way: &Way) -> (String, BTreeMap<usize, u64>) {
    let strike = Strike::none();
    let status = Cell::new(&plain(), way, &strike).count(&Plain::default());
    assert!(status.notes.is_empty(), "{:?}", status.notes);
    let sharers = way.sharers.load(Ordering::Relaxed);
    assert_eq!(sharers > 0, way.shares_lanes(), "{sharers} tasks shared the lanes of a family");
    let seen = POINTS.iter().map(|&point| (point as usize, strike.seen(point))).collect();
    (number(&status).expect("a number").to_owned(), seen)
}

/// Strikes at these points in turn until [`TIMES`] strikes have changed something.
fn check(what: &str, way: &Way, points: &[Point], kinds: &'static [Kind]) {
    let seed = seed();
    println!("{what}: KEIMA_TEST_SEED={seed}");
    let (right, seen) = untouched(way);
    let mut random = seed;
    let (mut found, mut harmless, mut missed) = (0, 0, 0);
    for (time, &point) in points.iter().cycle().enumerate() {
        if found + harmless == TIMES {
            break;
        }
        let at = split_mix(&mut random) % seen[&(point as usize)];
        let strike = Strike::new(point, at, kinds, split_mix(&mut random));
        let status = Cell::new(&plain(), way, &strike).count(&Plain::default());
        let told = format!("seed {seed}, time {time}, {point:?} {at}: {}", strike.told());
        match (status.state, number(&status)) {
            (State::Done, Some(count)) => {
                assert_eq!(count, right, "a wrong number got out: {told}; {:?}", status.notes);
            }
            (State::CheckFailed, None) => {}
            (state, count) => panic!("{state} {count:?}: {told}; {}", status.reason),
        }
        match (strike.told().is_empty(), status.notes.is_empty() && status.state == State::Done) {
            (true, _) => missed += 1,
            (false, true) => harmless += 1,
            (false, false) => found += 1,
        }
        assert!(missed <= TIMES, "{missed} strikes changed nothing: {found} found, {harmless} harmless");
    }
    println!("{what}: {TIMES} strikes, {found} found, {harmless} harmless, none wrong; {missed} more changed nothing");
    assert!(found > TIMES / 3, "only {found} of {TIMES} were found: most strikes do no harm");
}

const IN_FLIGHT: [Point; 3] = [Point::Block, Point::Manifest, Point::Order];
const IN_MEMORY: [Point; 2] = [Point::Written, Point::Read];
const ON_DISK: [Point; 1] = [Point::Disk];

#[test]
fn a_thousand_strikes_in_flight() {
    check("in flight, streams", &Way::new(Executor::Stream, 0), &IN_FLIGHT, KINDS);
}

#[test]
fn a_thousand_strikes_in_memory() {
    check("in memory, streams", &Way::new(Executor::Stream, 0), &IN_MEMORY, KINDS);
}

#[test]
fn a_thousand_strikes_on_disk() {
    check("on disk, streams", &Way::new(Executor::Stream, 0), &ON_DISK, KINDS);
}

#[test]
fn a_thousand_strikes_in_flight_by_blocks() {
    check("in flight, blocks", &Way::new(Executor::Block, 0), &IN_FLIGHT, KINDS);
}

#[test]
fn a_thousand_strikes_in_memory_by_blocks() {
    check("in memory, blocks", &Way::new(Executor::Block, 0), &IN_MEMORY, &[Kind::Residue, Kind::Key]);
}

#[test]
fn a_thousand_strikes_on_disk_by_blocks() {
    check("on disk, blocks", &Way::new(Executor::Block, 0), &ON_DISK, KINDS);
}

/// By blocks the fingerprint covers one state in 64. Two values that change places after they were added up, and before they are
/// in their file with its checksums, are seen by it or not at all: the sums stay, and a second worker compares sums. Where tasks
/// share lanes the spare prime sees them, too: a value moves in some of its lanes.
#[test]
fn values_that_change_places_by_blocks_are_seen_by_the_sample_alone() {
    let seed = seed();
    println!("places, blocks: KEIMA_TEST_SEED={seed}");
    let way = Way::new(Executor::Block, 0).without_sharing();
    let (right, seen) = untouched(&way);
    let mut random = seed;
    let (mut found, mut wrong) = (0, 0);
    for &point in IN_MEMORY.iter().cycle().take(TIMES as usize / 2) {
        let at = split_mix(&mut random) % seen[&(point as usize)];
        let strike = Strike::new(point, at, &[Kind::Place], split_mix(&mut random));
        let status = Cell::new(&plain(), &way, &strike).count(&Plain::default());
        let is_found = !status.notes.is_empty() || status.state == State::CheckFailed;
        found += u32::from(is_found);
        wrong += u32::from(number(&status).is_some_and(|count| count != right));
    }
    println!("places, blocks: {found} of {} found by the sample; {wrong} wrong numbers", TIMES / 2);
    assert!(found > 0 && wrong > 0, "the strikes miss: {found}, {wrong}");
}

/// A key that changes between two passes of a task keeps all sums, and its wrong place is written and read alike. One worker
/// alone cannot see it; a second worker does, who counts every task again.
#[test]
fn keys_that_change_between_passes_are_found_by_a_second_worker() {
    let seed = seed();
    println!("between passes: KEIMA_TEST_SEED={seed}");
    let ways = [1, 0].map(|recount_one_in| Way::new(Executor::Stream, recount_one_in));
    let (right, _) = untouched(&ways[1]);
    let mut random = seed;
    let (mut found, mut alone) = (0, 0);
    for time in 0..TIMES / 4 {
        for way in &ways {
            let slip =
                Arc::new(Slip { at: split_mix(&mut random) % 12, seed: split_mix(&mut random), ..Slip::default() });
            let registries: [Arc<dyn Registry>; 2] =
                [Arc::new(Plain { slip: Some(Arc::clone(&slip)) }), Arc::new(Plain::default())];
            let strike = Strike::none();
            let status = Cell::new(&registries, way, &strike).count(&Plain::default());
            let is_wrong = number(&status).is_some_and(|count| count != right);
            if way.recount_one_in == 1 {
                assert!(!is_wrong, "seed {seed}, time {time}: {:?}", status.notes);
                found += u32::from(slip.hit.load(Ordering::Relaxed) && !status.notes.is_empty());
            } else {
                alone += u32::from(is_wrong);
            }
        }
    }
    println!("between passes: {found} of {} found by a second worker; without one {alone} wrong numbers", TIMES / 4);
    assert!(found > 0 && alone > 0, "the strikes miss: {found}, {alone}");
}
