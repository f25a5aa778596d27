//! Counts in memory with damaged tables and exchanges are refused, in each direction, before and after widening.

#[path = "common/column.rs"]
mod blocks;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use keima_engine::block::{BlockError, CountOrder, Counted, count, count_forward, passages};
use keima_model::{BlockColumn, BlockTables, Direction, Directions, End, Window};
use keima_residue::primes_below;

/// Damage to the positions of a block's entries at one end of a window.
#[derive(Clone, Copy)]
struct Bend {
    window: usize,
    end: End,
    /// `None` means all blocks.
    block: Option<u32>,
    act: fn(&mut [u64]),
}

/// A column with tables that can be damaged, from some window of a count on.
struct Damaged {
    whole: Box<dyn BlockColumn>,
    tables: Vec<BlockTables>,
    bend: Option<Bend>,
    from: u32,
    /// Windows that the count has passed.
    done: AtomicU32,
}

impl Damaged {
    fn new(whole: Box<dyn BlockColumn>, bend: Option<Bend>) -> Self {
        let tables = (0..whole.windows().len()).map(|window| whole.tables(window).clone()).collect();
        Self { whole, tables, bend, from: 0, done: AtomicU32::new(0) }
    }

    /// Damaged from the first window on that takes rows of so many lanes in this direction.
    fn damaged_from(mut self, length: u32, direction: Direction, width: u32) -> Self {
        let passages = passages(self.whole.windows(), 6, length, 3).unwrap();
        let first = passages.iter().position(|passage| passage.direction == direction && passage.lanes == width);
        self.from = first.unwrap() as u32;
        self
    }

    fn is_damaged_now(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.from
    }

    fn count(&self, length: u32, threads: usize, lanes: Option<usize>) -> Result<Counted, BlockError> {
        let mut moduli: Vec<u64> = primes_below(1 << 60).take(7).collect();
        moduli.reverse();
        let (stop, progress) = (AtomicBool::new(false), |done, _| self.done.store(done, Ordering::Relaxed));
        let (moduli, stop, progress) = (&moduli[..], &stop, &progress);
        let (height, choices, series) = (6, 3, false);
        let order =
            CountOrder { column: self, height, length, choices, moduli, salt: 7, threads, series, stop, progress };
        match lanes {
            None => count(&order),
            Some(lanes) => count_forward(&order, lanes, &mut ()),
        }
    }
}

/// Lengths of boards of six rows, with the lanes of their widest rows.
const LENGTHS: [(u32, u32); 2] = [(7, 2), (26, 4)];

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
        let here = |bend: &Bend| (bend.window, bend.end) == (window, end) && bend.block.is_none_or(|at| at == block);
        if let Some(bend) = self.bend.filter(here).filter(|_| self.is_damaged_now()) {
            (bend.act)(positions);
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
    fn family_keys(&self, window: usize, block: u32, entries: u64) -> u64 {
        self.whole.family_keys(window, block, entries)
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

/// Mass balance finds one wrong index in a table, in each direction.
#[test]
fn damaged_tables_are_found() {
    // The signature with the most blocks, so that the damage changes states that are reached.
    let common = |tables: &BlockTables| {
        let uses = |signature: u32| tables.signature_of.iter().filter(|&&s| s == signature).count();
        (0..tables.signatures.len() as u32).max_by_key(|&signature| uses(signature)).unwrap() as usize
    };
    for (length, width) in LENGTHS {
        let damaged = |direction, damage: &dyn Fn(&mut BlockTables)| {
            let mut column = Damaged::new(blocks::column(6, &[3, 3], Directions::Both), None);
            damage(&mut column.tables[1]);
            column.damaged_from(length, direction, width).count(length, 2, None)
        };
        assert!(damaged(Direction::Forward, &|_| {}).is_ok(), "{length} columns");
        let forward = damaged(Direction::Forward, &|tables| {
            let signature = common(tables);
            let sources = &mut Arc::make_mut(&mut tables.signatures[signature]).passes[1].sources;
            sources[0] = (0..u16::MAX).find(|source| !sources.contains(source) || *source != sources[0]).unwrap();
        });
        assert!(matches!(forward, Err(BlockError::Balance { .. })), "{length} columns: {forward:?}");
        let backward = damaged(Direction::Transposed, &|tables| {
            let signature = common(tables);
            let rows = &mut Arc::make_mut(&mut tables.signatures[signature]).passes[1].rows;
            let row = rows.iter_mut().flat_map(|group| &mut group.rows).next().unwrap();
            row[1] = u16::from(row[1] == 0);
        });
        assert!(matches!(backward, Err(BlockError::Balance { .. })), "{length} columns: {backward:?}");
    }
}

/// A block in the middle of a vector, with states that are reached.
const BENT: u32 = 60;

/// A row that is read twice, and another that is not read, are found in each direction and at every boundary, with
/// and without folding.
#[test]
fn what_is_read_wrong_is_found() {
    fn twice(positions: &mut [u64]) {
        positions[0] = positions[positions.len() - 1];
    }
    let check = |bend: Bend, direction, lanes: Option<usize>, what: &str| {
        for (length, width) in LENGTHS {
            if width > 2 && lanes.is_some() {
                continue;
            }
            for directions in [Directions::Both, Directions::Folded] {
                let column = Damaged::new(blocks::column(6, &[3, 3], directions), Some(bend));
                let column = if lanes.is_none() { column.damaged_from(length, direction, width) } else { column };
                let result = column.count(length, 2, lanes);
                let found = matches!(result, Err(BlockError::Exchange { .. }));
                assert!(found, "{what}, {length} columns, {directions:?}: {result:?}");
            }
        }
    };
    let bend = |window, end| Bend { window, end, block: Some(BENT), act: twice };
    for lanes in [None, Some(1), Some(4)] {
        check(bend(0, End::First), Direction::Forward, lanes, "forward, into the first window");
        check(bend(1, End::First), Direction::Forward, lanes, "forward, into the second window");
    }
    check(bend(0, End::Last), Direction::Transposed, None, "transposed, into the first window");
    check(bend(1, End::Last), Direction::Transposed, None, "transposed, into the second window");
}

/// The fingerprint finds rows that change places, in each direction. The start of a folded column has no fingerprint:
/// there the second cut finds them.
#[test]
fn rows_that_change_places_are_found() {
    let bend = |window, end| Bend { window, end, block: None, act: |positions| positions.rotate_left(1) };
    let (first, second) = (bend(0, End::First), bend(1, End::First));
    let (first_back, second_back) = (bend(0, End::Last), bend(1, End::Last));
    for (length, width) in LENGTHS {
        // One thread has room to do all families pass by pass. Otherwise mass balance would break first, since the
        // values of early operations are read on their own.
        let run_later = |bend, direction, directions, lanes: Option<usize>, later| {
            let column = Damaged::new(blocks::column(6, &[3, 3], directions), Some(bend));
            let mut column = if lanes.is_none() { column.damaged_from(length, direction, width) } else { column };
            column.from += later;
            column.count(length, 1, lanes)
        };
        let run = |bend, direction, directions, lanes| run_later(bend, direction, directions, lanes, 0);
        let check = |bend, direction, directions, lanes| {
            // The first boundary has a fingerprint, later ones may not. Without one the sums may show the damage.
            let mut printed = 0;
            for later in 0..if width > 2 { 10 } else { 1 } {
                let result = run_later(bend, direction, directions, lanes, later);
                let found = matches!(result, Err(BlockError::Fingerprint { .. }));
                let summed = width > 2 && matches!(result, Err(BlockError::Exchange { .. }));
                let what = format!("{length} columns, {direction:?}, {directions:?} {lanes:?}, {later} windows later");
                assert!(found || summed, "{what}: {result:?}");
                printed += u32::from(found);
            }
            assert!(printed > 0, "{length} columns, {direction:?}, {directions:?} {lanes:?}");
        };
        for directions in [Directions::Both, Directions::Folded] {
            check(second, Direction::Forward, directions, None);
            if width == 2 {
                check(second, Direction::Forward, directions, Some(1));
                check(second, Direction::Forward, directions, Some(4));
            }
            check(first_back, Direction::Transposed, directions, None);
        }
        // Nobody has written before the column's first window. Its damage may show in the sums of the next window.
        for (bend, direction) in [(first, Direction::Forward), (second_back, Direction::Transposed)] {
            let result = run(bend, direction, Directions::Both, None);
            let found = matches!(result, Err(BlockError::Fingerprint { .. } | BlockError::Exchange { .. }));
            assert!(found, "{length} columns, at the start of columns, {direction:?}: {result:?}");
        }
        let swapped = Bend { window: 0, end: End::First, block: Some(BENT), act: |positions| positions.swap(0, 1) };
        let result = run(swapped, Direction::Forward, Directions::Folded, None);
        // Halving an odd value makes it too large for its lanes.
        let found = matches!(result, Err(BlockError::TwoCuts { .. }));
        assert!(found || width > 2 && matches!(result, Err(BlockError::Spare { .. })), "{length} columns: {result:?}");
    }
}
