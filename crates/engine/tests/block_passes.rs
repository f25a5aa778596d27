//! Vectors through the passes of a window, forward and transposed. Each way of doing them gives the same rows, lanes
//! are independent, and the transposed passes are the transposes of the forward ones.

#[path = "common/column.rs"]
mod blocks;

use keima_engine::block::{Moduli, Row, Sweep};
use keima_model::{BlockColumn, Direction, Directions, End};
use keima_residue::{add_mod, mul_mod, primes_below};

/// Tables of passes in both directions.
fn column(height: u32, lengths: &[u32]) -> Box<dyn BlockColumn> {
    blocks::column(height, lengths, Directions::Both)
}

/// Lane `lane` has the same modulus and the same values for any K.
fn moduli<const K: usize>() -> Row<K> {
    let primes: Vec<u64> = primes_below(1 << 60).take(K).collect();
    std::array::from_fn(|lane| primes[lane])
}

/// As many rows as the largest step of the column.
fn rows<const K: usize>(column: &dyn BlockColumn, seed: u64) -> Vec<Row<K>> {
    let states = (0..column.windows().len()).flat_map(|w| column.tables(w).states.clone()).max().unwrap();
    let value =
        |i: u64, lane: usize| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(lane as u32) % (1 << 59);
    (0..states).map(|i| std::array::from_fn(|lane| value(i, lane))).collect()
}

/// Takes a vector through a window. Returns the rows after it, the states of families that threads shared, and the
/// states of families that went pass by pass.
fn through<const K: usize>(
    column: &dyn BlockColumn,
    direction: Direction,
    window: usize,
    threads: usize,
    share_from: u64,
    by_pass_bytes: usize,
) -> (Vec<Row<K>>, u64, u64) {
    let before = rows::<K>(column, 1);
    let mut after = vec![[0; K]; before.len()];
    let sweep = Sweep::<K>::new(column, Moduli::new(moduli()).unwrap(), threads).unwrap().share_from(share_from);
    let mut sweep = sweep.by_pass_up_to(by_pass_bytes);
    let arrivals = sweep.arrivals(window, &mut after).unwrap();
    sweep.run(direction, window, &before, &mut after, Some(&arrivals)).unwrap();
    (after, sweep.shared_states(), sweep.by_pass_states())
}

/// Small families give the same rows block by block and pass by pass, and keep mass balance.
#[test]
fn families_that_are_done_pass_by_pass_are_the_same() {
    fn check<const K: usize>(column: &dyn BlockColumn, what: &str) -> u64 {
        let mut all = 0;
        for (window, direction) in
            (0..column.windows().len()).flat_map(|w| [(w, Direction::Forward), (w, Direction::Transposed)])
        {
            let (by_block, _, none) = through::<K>(column, direction, window, 1, u64::MAX, 0);
            assert_eq!(none, 0);
            for (threads, bytes) in [(1, 1 << 30), (2, 1 << 30), (1, 64 * 8 * K)] {
                let (by_pass, _, some) = through::<K>(column, direction, window, threads, u64::MAX, bytes);
                assert!(by_pass == by_block, "{what}, window {window}, {direction:?}, {K} residues, {bytes} bytes");
                all += some;
            }
        }
        all
    }
    for (height, lengths) in [(5, &[3, 2][..]), (6, &[2, 2, 2]), (7, &[4, 3]), (8, &[3, 3, 2]), (8, &[4, 4])] {
        let column = column(height, lengths);
        let what = format!("{height} {lengths:?}");
        let all = check::<1>(column.as_ref(), &what) + check::<2>(column.as_ref(), &what);
        assert!(all > 0 && check::<8>(column.as_ref(), &what) > 0, "{what}: nothing was done pass by pass");
    }
}

/// A family gives the same rows by one thread and by all, and keeps mass balance.
#[test]
fn families_that_threads_share_are_the_same() {
    fn check<const K: usize>(column: &dyn BlockColumn, what: &str) {
        for (window, direction) in
            (0..column.windows().len()).flat_map(|w| [(w, Direction::Forward), (w, Direction::Transposed)])
        {
            let (alone, none, _) = through::<K>(column, direction, window, 1, 0, 0);
            assert_eq!(none, 0, "a thread alone shares nothing");
            for threads in [3, 16] {
                let what = format!("{what}, window {window}, {direction:?}, {threads} threads, {K} residues");
                let (apart, none, _) = through::<K>(column, direction, window, threads, u64::MAX, 0);
                let (shared, some, _) = through::<K>(column, direction, window, threads, 0, 0);
                assert_eq!(none, 0, "{what}");
                // Few threads may have no family that is large for them.
                assert!(some > 0 || threads == 3, "{what}: nothing was shared");
                assert!(apart == alone, "{what}: apart");
                assert!(shared == alone, "{what}: shared");
            }
        }
    }
    for (height, lengths) in
        [(2, &[1, 1][..]), (3, &[3]), (5, &[3, 2]), (6, &[2, 2, 2]), (7, &[4, 3]), (8, &[3, 3, 2]), (8, &[4, 4])]
    {
        let column = column(height, lengths);
        check::<1>(column.as_ref(), &format!("{height} {lengths:?}"));
        check::<4>(column.as_ref(), &format!("{height} {lengths:?}"));
    }
}

/// Several lanes, which may use the widest instructions, equal so many single lanes, which never do.
#[test]
fn lanes_do_not_know_of_each_other() {
    fn lane<const K: usize>(rows: &[Row<K>], lane: usize) -> Vec<Row<1>> {
        rows.iter().map(|row| [row[lane]]).collect()
    }
    fn check<const K: usize>(column: &dyn BlockColumn, by_pass_bytes: usize, what: &str) {
        let ways = |window| [(window, Direction::Forward), (window, Direction::Transposed)];
        for (window, direction) in (0..column.windows().len()).flat_map(ways) {
            let (before, modulus) = (rows::<K>(column, 1), moduli::<K>());
            let mut together = vec![[0; K]; before.len()];
            let mut sweep = Sweep::new(column, Moduli::new(modulus).unwrap(), 1).unwrap().by_pass_up_to(by_pass_bytes);
            sweep.run(direction, window, &before, &mut together, None).unwrap();
            for (number, &modulus) in modulus.iter().enumerate() {
                let moduli = Moduli::new([modulus]).unwrap();
                let mut alone = vec![[0]; before.len()];
                let mut sweep = Sweep::new(column, moduli, 1).unwrap().by_pass_up_to(by_pass_bytes);
                sweep.run(direction, window, &lane(&before, number), &mut alone, None).unwrap();
                let what = format!("{what}, window {window}, {direction:?}, lane {number} of {K}");
                assert!(alone == lane(&together, number), "{what}");
            }
        }
    }
    for (height, lengths, by_pass_bytes) in
        [(5, &[3, 2][..], 0), (7, &[4, 3], 0), (7, &[4, 3], 1 << 30), (8, &[3, 3, 2], 0)]
    {
        let column = column(height, lengths);
        let what = format!("{height} {lengths:?}");
        check::<2>(column.as_ref(), by_pass_bytes, &what);
        check::<4>(column.as_ref(), by_pass_bytes, &what);
        check::<8>(column.as_ref(), by_pass_bytes, &what);
        check::<12>(column.as_ref(), by_pass_bytes, &what);
    }
}

/// A is the passes of a window; x and y are read of the neighbouring vectors: <A x, y> = <x, A' y>.
#[test]
fn transposed_passes_are_the_transposes() {
    /// A vector as a window reads it at one end, block by block.
    fn read<const K: usize>(column: &dyn BlockColumn, window: usize, end: End, vector: &[Row<K>]) -> Vec<Row<K>> {
        let (mut all, mut positions) = (Vec::new(), Vec::new());
        for block in 0..column.tables(window).signature_of.len() as u32 {
            column.positions(window, end, block, &mut positions);
            all.extend(positions.iter().map(|&position| vector[position as usize]));
        }
        all
    }
    fn inner<const K: usize>(one: &[Row<K>], other: &[Row<K>]) -> Row<K> {
        std::array::from_fn(|lane| {
            let p = moduli::<K>()[lane];
            one.iter()
                .zip(other)
                .fold(0, |sum, (one, other)| add_mod(sum, mul_mod(one[lane] % p, other[lane] % p, p), p))
        })
    }
    fn check<const K: usize>(height: u32, lengths: &[u32]) {
        let column = column(height, lengths);
        let column = column.as_ref();
        let mut sweep = Sweep::new(column, Moduli::new(moduli::<K>()).unwrap(), 2).unwrap();
        for window in 0..lengths.len() {
            let (x, y) = (rows::<K>(column, 1), rows::<K>(column, 7919));
            let (mut forward, mut backward) = (vec![[0; K]; x.len()], vec![[0; K]; x.len()]);
            sweep.run(Direction::Forward, window, &x, &mut forward, None).unwrap();
            sweep.run(Direction::Transposed, window, &y, &mut backward, None).unwrap();
            let (x, y) = (read(column, window, End::First, &x), read(column, window, End::Last, &y));
            assert_eq!(x.len() as u64, column.tables(window).states[0]);
            let what = format!("{height} {lengths:?}, window {window}, {K} residues");
            assert_eq!(inner(&forward, &y), inner(&x, &backward), "{what}");
            assert_ne!(inner(&forward, &y), [0; K], "{what}");
        }
    }
    for (height, lengths) in [
        (2, &[1, 1][..]),
        (3, &[3]),
        (5, &[3, 2]),
        (6, &[2, 2, 2]),
        (7, &[4, 3]),
        (8, &[3, 3, 2]),
        (8, &[4, 4]),
        (9, &[5, 4]),
        (9, &[3, 3, 3]),
    ] {
        check::<1>(height, lengths);
        check::<4>(height, lengths);
    }
}
