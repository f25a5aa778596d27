//! The block executor's counts against published values, whatever the windows, the threads and the middle.

#[path = "common/column.rs"]
mod blocks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use keima_engine::block::{BlockError, CountOrder, Counted, Kept, count, count_forward, steps};
use keima_model::{BlockColumn, BlockProblem, BlockTables, Board, Direction, Directions, End, Window};
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
    run_telling(column, height, length, threads, series, lanes, &|_, _| {})
}

fn run_telling(
    column: &dyn BlockColumn,
    height: u32,
    length: u32,
    threads: usize,
    series: bool,
    lanes: Option<usize>,
    progress: &(dyn Fn(u32, u32) + Sync),
) -> Result<Counted, BlockError> {
    let mut moduli: Vec<u64> = primes_below(1 << 60).take(7).collect();
    moduli.reverse();
    let stop = AtomicBool::new(false);
    let order =
        CountOrder { column, height, length, choices: 3, moduli: &moduli, threads, series, stop: &stop, progress };
    match lanes {
        None => count(&order),
        Some(lanes) => count_forward(&order, lanes, &mut ()),
    }
}

/// All boards told are the published ones, and the spare agrees with the other residues; whether columns are folded or
/// not. Returns whether lanes had lazy primes.
fn check(height: u32, length: u32, lengths: &[u32], threads: usize, series: bool, lanes: Option<usize>) -> bool {
    let lazy = [Directions::Both, Directions::Folded]
        .map(|directions| check_for(height, length, lengths, threads, series, lanes, directions));
    lazy.contains(&true)
}

fn check_for(
    height: u32,
    length: u32,
    lengths: &[u32],
    threads: usize,
    series: bool,
    lanes: Option<usize>,
    directions: Directions,
) -> bool {
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
    let given = std::mem::replace(&mut moduli[6], counted.spare);
    for (columns, residues) in counted.boards {
        let pairs: Vec<(u64, u64)> = moduli.iter().copied().zip(residues).collect();
        let value = crt(&pairs).unwrap();
        if let Some(known) = published::known(height, columns) {
            assert_eq!(value.to_string(), known, "{height}x{columns} {lengths:?}");
        }
        let (_, others) = pairs.split_last().unwrap();
        assert_eq!(crt(others).unwrap(), value, "{height}x{columns}: the spare");
    }
    counted.spare != given
}

#[test]
fn counts_are_the_published_ones() {
    let mut lazy = [0, 0];
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
        // Long enough for numbers to grow on the way, in each direction and at each boundary.
        (3, 60, &[2, 1]),
        (4, 40, &[2, 2]),
        (5, 31, &[2, 2, 1]),
        (6, 26, &[4, 2]),
    ] {
        for (threads, series) in [(1, true), (2, false), (3, true)] {
            lazy[usize::from(check(height, length, lengths, threads, series, None))] += 1;
        }
        // Forward alone: any number of residues at a time, of seven.
        for (threads, lanes) in [(1, 1), (2, 2), (3, 4), (1, 8)] {
            assert!(!check(height, length, lengths, threads, true, Some(lanes)), "residues of the order's primes");
        }
    }
    assert!(lazy.iter().all(|&counts| counts > 0), "{lazy:?} counts with and without lazy primes");
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

/// What is said of a count beforehand is what it does.
#[test]
fn the_steps_of_a_count_are_known_beforehand() {
    for (height, length, lengths, lazy) in [
        (2, 9, &[1, 1][..], false),
        (3, 60, &[2, 1], true),
        (4, 2, &[4], false),
        (4, 40, &[2, 2], true),
        (5, 5, &[3, 2], false),
        (5, 31, &[2, 2, 1], true),
        (6, 7, &[3, 3], false),
    ] {
        let column = column(height, lengths);
        let counted = run(column.as_ref(), height, length, 2, false, None).unwrap();
        let steps = steps(column.windows(), height, length, 3).unwrap();
        let passes = |window: u32| {
            let states = &column.tables(window as usize).states;
            states.iter().take(states.len() - 1).sum::<u64>()
        };
        let what = format!("{height}x{length} {lengths:?}");
        assert_eq!(steps.iter().map(|step| passes(step.window)).sum::<u64>(), counted.state_passes, "{what}");
        let forward = steps.iter().filter(|step| step.direction == Direction::Forward).count();
        let ahead = usize::from(counted.middle < length);
        assert_eq!(forward, (counted.middle as usize - 1) * lengths.len() + ahead, "{what}");
        assert_eq!(steps.iter().filter(|step| step.arrivals).count(), lengths.len() * ahead, "{what}");
        assert!(steps.iter().all(|step| [1, 2, 4, 8].contains(&step.lanes)), "{what}");
        assert_eq!(steps.iter().any(|step| step.lazy && step.lanes > 1), lazy, "{what}");
        assert_eq!(counted.spare < 1 << 59, lazy, "{what}: {}", counted.spare);
        assert!(counted.times.read_nanos > 0 && counted.times.map_nanos > 0, "{what}: {:?}", counted.times);
    }
    assert_eq!(steps(&[Window { first: 0, len: 3 }], 3, 201, 3), None);
    assert_eq!(steps(&[Window { first: 0, len: 3 }], 3, 1, 3), Some(Vec::new()));
}

/// Residues that are there from before.
struct Before(Vec<(u64, Vec<u64>)>);

impl Kept for Before {
    fn find(&self, modulus: u64) -> Option<Vec<u64>> {
        self.0.iter().find(|(found, _)| *found == modulus).map(|(_, boards)| boards.clone())
    }
    fn keep(&mut self, found: &[(u64, Vec<u64>)]) {
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
        threads: 2,
        series: true,
        stop: &stop,
        progress: &progress,
    };
    let mut all = Before(Vec::new());
    let whole = count_forward(&order, 2, &mut all).unwrap();
    assert_eq!(all.0.iter().map(|(modulus, _)| *modulus).collect::<Vec<_>>(), moduli);
    let sweep = whole.state_passes / 4;
    // (residues that are kept, those of them with too few boards, lanes now, sweeps left)
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
    // What is kept is believed: the spare tells where it is wrong.
    let mut wrong = Before(all.0.clone());
    wrong.0[3].1[5] ^= 1;
    let counted = count_forward(&order, 2, &mut wrong).unwrap();
    assert_ne!(counted.boards, whole.boards);
}

/// Tables of forward passes alone have no exchange with the window before, which a count in memory reads.
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
        threads: 2,
        series: false,
        stop: &stop,
        progress: &progress,
    };
    assert!(matches!(count(&order), Err(BlockError::Stopped)));
}

/// What is wrong with the positions of a block's entries at one end of a window.
type Bend = fn(usize, End, u32, &mut [u64]);

/// A column whose tables can be damaged, from some window of a count on.
struct Damaged {
    whole: Box<dyn BlockColumn>,
    tables: Vec<BlockTables>,
    bend: Bend,
    from: u32,
    /// Windows that the count has done.
    done: AtomicU32,
}

impl Damaged {
    fn new(whole: Box<dyn BlockColumn>, bend: Bend) -> Self {
        let tables = (0..whole.windows().len()).map(|window| whole.tables(window).clone()).collect();
        Self { whole, tables, bend, from: 0, done: AtomicU32::new(0) }
    }

    /// Damaged from the first window on that takes rows this way, and leaves their sums alone if these are to be `lazy`: of
    /// those there are some on a board of six rows and 26 columns.
    fn damaged_from(mut self, length: u32, direction: Direction, lazy: bool) -> Self {
        let steps = steps(self.whole.windows(), 6, length, 3).unwrap();
        let first = steps.iter().position(|step| step.direction == direction && (step.lazy && step.lanes > 1) == lazy);
        self.from = first.unwrap() as u32;
        self
    }

    fn is_damaged_now(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.from
    }

    fn count(&self, length: u32, threads: usize, lanes: Option<usize>) -> Result<Counted, BlockError> {
        let progress = |done, _| self.done.store(done, Ordering::Relaxed);
        run_telling(self, 6, length, threads, false, lanes, &progress)
    }
}

/// Lengths of boards of six rows, and whether their rows are lazy.
const LENGTHS: [(u32, bool); 2] = [(7, false), (26, true)];

impl BlockColumn for Damaged {
    fn bytes(&self) -> u64 {
        self.whole.bytes()
    }
    fn windows(&self) -> &[Window] {
        self.whole.windows()
    }
    fn tables(&self, window: usize) -> &BlockTables {
        if self.is_damaged_now() { &self.tables[window] } else { self.whole.tables(window) }
    }
    fn positions(&self, window: usize, end: End, block: u32, positions: &mut Vec<u64>) {
        self.whole.positions(window, end, block, positions);
        if self.is_damaged_now() {
            (self.bend)(window, end, block, positions);
        }
    }
    fn images(&self, block: u32, positions: &mut Vec<u64>) -> Option<&[bool]> {
        self.whole.images(block, positions)
    }
    fn tied(&self, block: u32) -> Option<&[bool]> {
        self.whole.tied(block)
    }
    fn keys(&self, window: usize, end: End, block: u32, keys: &mut Vec<u128>) {
        self.whole.keys(window, end, block, keys);
    }
    fn weight(&self, window: usize, block: u32) -> u64 {
        self.whole.weight(window, block)
    }
    fn accepting(&self, block: u32) -> &[u16] {
        self.whole.accepting(block)
    }
    fn positions_of(&self, window: usize, end: End, block: u32, entries: &[u16], positions: &mut Vec<u64>) {
        self.whole.positions_of(window, end, block, entries, positions);
    }
    fn families(&self, window: usize, end: End, block: u32, families: &mut Vec<u32>) {
        self.whole.families(window, end, block, families);
    }
    fn rest(&self, window: usize, end: End, family: u32) -> u64 {
        self.whole.rest(window, end, family)
    }
    fn keys_of(&self, window: usize, end: End, block: u32, entries: &[u16], keys: &mut Vec<u128>) {
        self.whole.keys_of(window, end, block, entries, keys);
    }
    fn exchange_class(&self, window: usize, end: End, block: u32) -> u32 {
        self.whole.exchange_class(window, end, block)
    }
    fn twins(&self, window: usize, end: End, block: u32) -> Vec<u16> {
        self.whole.twins(window, end, block)
    }
    fn sample(&self, window: usize, end: End, block: u32, key: u64, sample: &mut Vec<u16>) {
        self.whole.sample(window, end, block, key, sample);
    }
    fn start(&self, window: usize, end: End) -> Vec<u64> {
        self.whole.start(window, end)
    }
    fn one_column(&self) -> u64 {
        self.whole.one_column()
    }
}

/// One wrong index in a table is found by the mass balance, in each direction.
#[test]
fn damaged_tables_are_found() {
    // The signature of the most blocks, so that the damage meets states that are reached.
    let common = |tables: &BlockTables| {
        let uses = |signature: u32| tables.signature_of.iter().filter(|&&s| s == signature).count();
        (0..tables.signatures.len() as u32).max_by_key(|&signature| uses(signature)).unwrap() as usize
    };
    for (length, lazy) in LENGTHS {
        let damaged = |direction, damage: &dyn Fn(&mut BlockTables)| {
            let mut column = Damaged::new(column(6, &[3, 3]), |_, _, _, _| {});
            damage(&mut column.tables[1]);
            column.damaged_from(length, direction, lazy).count(length, 2, None)
        };
        let whole = damaged(Direction::Forward, &|_| {}).unwrap();
        assert_eq!(whole.spare < 1 << 59, lazy, "{length} columns");
        let forward = damaged(Direction::Forward, &|tables| {
            let signature = common(tables);
            let sources = &mut Arc::make_mut(&mut tables.signatures[signature]).passes[1].sources;
            sources[0] = (0..u16::MAX).find(|source| !sources.contains(source) || *source != sources[0]).unwrap();
        });
        assert!(matches!(forward, Err(BlockError::Balance { .. })), "{length} columns: {forward:?}");
        let backward = damaged(Direction::Backward, &|tables| {
            let signature = common(tables);
            let rows = &mut Arc::make_mut(&mut tables.signatures[signature]).passes[1].rows;
            let row = rows.iter_mut().flat_map(|group| &mut group.rows).next().unwrap();
            row[1] = u16::from(row[1] == 0);
        });
        assert!(matches!(backward, Err(BlockError::Balance { .. })), "{length} columns: {backward:?}");
    }
}

/// A block of the middle of a vector, with states that are reached.
const BENT: u32 = 60;

/// A row that is read twice, and another that is not, are found in each direction and at every boundary, whether the
/// column is folded or not.
#[test]
fn what_is_read_wrong_is_found() {
    fn twice(positions: &mut [u64]) {
        positions[0] = positions[positions.len() - 1];
    }
    let check = |bend: Bend, direction, lanes: Option<usize>, what: &str| {
        for (length, lazy) in LENGTHS {
            if lazy && lanes.is_some() {
                continue;
            }
            for directions in [Directions::Both, Directions::Folded] {
                let column = Damaged::new(blocks::column(6, &[3, 3], directions), bend);
                let column = if lanes.is_none() { column.damaged_from(length, direction, lazy) } else { column };
                let result = column.count(length, 2, lanes);
                let found = matches!(result, Err(BlockError::Exchange { .. }));
                assert!(found, "{what}, {length} columns, {directions:?}: {result:?}");
            }
        }
    };
    let first: Bend = |window, end, block, positions| {
        if (window, end, block) == (0, End::First, BENT) {
            twice(positions);
        }
    };
    let second: Bend = |window, end, block, positions| {
        if (window, end, block) == (1, End::First, BENT) {
            twice(positions);
        }
    };
    for lanes in [None, Some(1), Some(4)] {
        check(first, Direction::Forward, lanes, "forward, into the first window");
        check(second, Direction::Forward, lanes, "forward, into the second window");
    }
    let back: Bend = |window, end, block, positions| {
        if (window, end, block) == (0, End::Last, BENT) {
            twice(positions);
        }
    };
    check(back, Direction::Backward, None, "transposed, into the first window");
    let back: Bend = |window, end, block, positions| {
        if (window, end, block) == (1, End::Last, BENT) {
            twice(positions);
        }
    };
    check(back, Direction::Backward, None, "transposed, into the second window");
}

/// Rows that change places are found by the fingerprint, in each direction; at the start of a folded column, which has
/// none, by the second cut.
#[test]
fn rows_that_change_places_are_found() {
    fn others(positions: &mut [u64]) {
        positions.rotate_left(1);
    }
    let first: Bend = |window, end, _, positions| {
        if (window, end) == (0, End::First) {
            others(positions);
        }
    };
    let second: Bend = |window, end, _, positions| {
        if (window, end) == (1, End::First) {
            others(positions);
        }
    };
    let first_back: Bend = |window, end, _, positions| {
        if (window, end) == (0, End::Last) {
            others(positions);
        }
    };
    let second_back: Bend = |window, end, _, positions| {
        if (window, end) == (1, End::Last) {
            others(positions);
        }
    };
    for (length, lazy) in LENGTHS {
        // One thread has room to do all families pass by pass; else what is carried before a family is read, which is read
        // for itself, would break the mass balance first.
        let run_later = |bend, direction, directions, lanes: Option<usize>, later| {
            let column = Damaged::new(blocks::column(6, &[3, 3], directions), bend);
            let mut column = if lanes.is_none() { column.damaged_from(length, direction, lazy) } else { column };
            column.from += later;
            column.count(length, 1, lanes)
        };
        let run = |bend, direction, directions, lanes| run_later(bend, direction, directions, lanes, 0);
        let check = |bend, direction, directions, lanes| {
            // The first boundary has a fingerprint, of later ones not all do: where there is none the sums may show it.
            let mut printed = 0;
            for later in 0..if lazy { 10 } else { 1 } {
                let result = run_later(bend, direction, directions, lanes, later);
                let found = matches!(result, Err(BlockError::Fingerprint { .. }));
                let summed = lazy && matches!(result, Err(BlockError::Exchange { .. }));
                let what = format!("{length} columns, {direction:?}, {directions:?} {lanes:?}, {later} windows later");
                assert!(found || summed, "{what}: {result:?}");
                printed += u32::from(found);
            }
            assert!(printed > 0, "{length} columns, {direction:?}, {directions:?} {lanes:?}");
        };
        for directions in [Directions::Both, Directions::Folded] {
            check(second, Direction::Forward, directions, None);
            if !lazy {
                check(second, Direction::Forward, directions, Some(1));
                check(second, Direction::Forward, directions, Some(4));
            }
            check(first_back, Direction::Backward, directions, None);
        }
        // Into the column's first window nobody has written at first; what was wrong then may show in the sums of the next.
        for (bend, direction) in [(first, Direction::Forward), (second_back, Direction::Backward)] {
            let result = run(bend, direction, Directions::Both, None);
            let found = matches!(result, Err(BlockError::Fingerprint { .. } | BlockError::Exchange { .. }));
            assert!(found, "{length} columns, at the start of columns, {direction:?}: {result:?}");
        }
        let swapped: Bend = |window, end, block, positions| {
            if (window, end, block) == (0, End::First, BENT) {
                positions.swap(0, 1);
            }
        };
        let result = run(swapped, Direction::Forward, Directions::Folded, None);
        // Larger numbers no longer fit their lanes when an odd one was halved.
        let found = matches!(result, Err(BlockError::TwoCuts { .. }));
        assert!(found || lazy && matches!(result, Err(BlockError::Spare { .. })), "{length} columns: {result:?}");
    }
}

/// Numbers that outgrow their lanes, since the bound was told too small, are found by the spare.
#[test]
fn what_outgrows_its_lanes_is_found() {
    let column = column(4, &[2, 2]);
    let (stop, progress) = (AtomicBool::new(false), |_: u32, _: u32| {});
    let moduli: Vec<u64> = primes_below(1 << 60).take(4).collect();
    let count = |choices| {
        let (column, moduli, stop, progress) = (column.as_ref(), &moduli[..], &stop, &progress);
        count(&CountOrder { column, height: 4, length: 40, choices, moduli, threads: 1, series: false, stop, progress })
    };
    assert!(count(3).is_ok());
    let result = count(2);
    assert!(matches!(result, Err(BlockError::Spare { .. })), "{result:?}");
}
