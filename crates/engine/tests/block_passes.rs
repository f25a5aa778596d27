//! Vectors through the passes of a window, forward and transposed: each way of doing them gives the same rows, lanes do
//! not know of each other, and the transposed passes are the transposes of the others.

#[path = "common/column.rs"]
mod blocks;

use keima_engine::block::{BlockError, Masses, Moduli, Row, Sweep};
use keima_model::{BlockColumn, Direction, Directions, End};
use keima_residue::{add_mod, mul_mod, primes_below};

/// Tables of passes in both directions.
fn column(height: u32, lengths: &[u32]) -> Box<dyn BlockColumn> {
    blocks::column(height, lengths, Directions::Both)
}

/// Lane `lane` has the same modulus and the same values whatever K.
fn moduli<const K: usize>() -> Row<K> {
    let primes: Vec<u64> = primes_below(1 << 60).take(K).collect();
    std::array::from_fn(|lane| primes[lane])
}

/// As many rows as the largest step of the column has.
fn rows<const K: usize>(column: &dyn BlockColumn, seed: u64) -> Vec<Row<K>> {
    let states = (0..column.windows().len()).flat_map(|w| column.tables(w).states.clone()).max().unwrap();
    let value =
        |i: u64, lane: usize| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(lane as u32) % (1 << 59);
    (0..states).map(|i| std::array::from_fn(|lane| value(i, lane))).collect()
}

/// A vector through a window: the rows after it, and how many states are of families that threads shared, and that were
/// done pass by pass.
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

/// Whether small families are done block by block or pass by pass, the same comes out, with mass balance held.
#[test]
fn families_that_are_done_pass_by_pass_are_the_same() {
    fn check<const K: usize>(column: &dyn BlockColumn, what: &str) -> u64 {
        let mut all = 0;
        for (window, direction) in
            (0..column.windows().len()).flat_map(|w| [(w, Direction::Forward), (w, Direction::Backward)])
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

/// Whether a family is done by one thread or by all, the same comes out, with mass balance held.
#[test]
fn families_that_threads_share_are_the_same() {
    fn check<const K: usize>(column: &dyn BlockColumn, what: &str) {
        for (window, direction) in
            (0..column.windows().len()).flat_map(|w| [(w, Direction::Forward), (w, Direction::Backward)])
        {
            let (alone, none, _) = through::<K>(column, direction, window, 1, 0, 0);
            assert_eq!(none, 0, "a thread alone shares nothing");
            for threads in [3, 16] {
                let what = format!("{what}, window {window}, {direction:?}, {threads} threads, {K} residues");
                let (apart, none, _) = through::<K>(column, direction, window, threads, u64::MAX, 0);
                let (shared, some, _) = through::<K>(column, direction, window, threads, 0, 0);
                assert_eq!(none, 0, "{what}");
                // With few threads there may be no family that is large for them.
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

/// Lanes, which may be done by the machine's widest instructions, are so many times one, which never is.
#[test]
fn lanes_do_not_know_of_each_other() {
    fn lane<const K: usize>(rows: &[Row<K>], lane: usize) -> Vec<Row<1>> {
        rows.iter().map(|row| [row[lane]]).collect()
    }
    fn check<const K: usize>(column: &dyn BlockColumn, by_pass_bytes: usize, what: &str) {
        let ways = |window| [(window, Direction::Forward), (window, Direction::Backward)];
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

/// A way to take a vector through a window: threads, states from which they share a family, bytes of families that go pass
/// by pass.
type How = (usize, u64, usize);

const HOWS: [How; 3] = [(1, u64::MAX, 0), (1, u64::MAX, 1 << 30), (3, 0, 0)];

fn sweep<const K: usize>(
    column: &dyn BlockColumn,
    moduli: Moduli<K>,
    (threads, share_from, bytes): How,
) -> Sweep<'_, K> {
    Sweep::new(column, moduli, threads).unwrap().share_from(share_from).by_pass_up_to(bytes)
}

/// The most ways that lead to a state are no fewer than those to any state, and the same however they are found.
#[test]
fn the_most_ways_are_known() {
    for (height, lengths) in [(2, &[1, 1][..]), (3, &[3]), (5, &[3, 2]), (6, &[2, 2, 2]), (7, &[4, 3]), (8, &[4, 4])] {
        let column = column(height, lengths);
        let mut rows = rows::<1>(column.as_ref(), 1);
        for (window, &len) in lengths.iter().enumerate() {
            let what = format!("{height} {lengths:?}, window {window}");
            let found = HOWS.map(|how| {
                let mut sweep = sweep(column.as_ref(), Moduli::new(moduli()).unwrap(), how);
                let arrivals = sweep.arrivals(window, &mut rows).unwrap();
                assert!(arrivals.iter().all(|&ways| u64::from(ways) <= arrivals.most()), "{what}");
                assert!(len > 1 || arrivals.iter().any(|&ways| u64::from(ways) == arrivals.most()), "{what}");
                arrivals.most()
            });
            assert_eq!(found, [found[0]; 3], "{what}");
        }
    }
}

/// A window of a column, one way, that vectors go through with sums that are reduced and with such as are left alone.
struct Through<'a, const K: usize> {
    column: &'a dyn BlockColumn,
    direction: Direction,
    window: usize,
    /// Bits of the largest lazy primes that there is room for, and whether one bit more is too much: for the largest rows.
    bits: u32,
    is_tight: bool,
    arrivals: Vec<u32>,
    what: String,
}

impl<'a, const K: usize> Through<'a, K> {
    fn new(column: &'a dyn BlockColumn, direction: Direction, window: usize, what: String) -> Self {
        let mut rows = rows::<K>(column, 1);
        let mut sweep = Sweep::<K>::new(column, Moduli::new(moduli()).unwrap(), 1).unwrap();
        let found = sweep.arrivals(window, &mut rows).unwrap();
        let ways = found.most().max(3_u64.pow(column.windows()[window].len));
        let bits = (ways - 1).leading_zeros().min(60);
        let is_tight = direction == Direction::Forward && found.most() == ways && bits < 60;
        Self { column, direction, window, bits, is_tight, arrivals: found.to_vec(), what }
    }

    fn primes(bits: u32) -> Row<K> {
        primes_below(1 << bits).take(K).collect::<Vec<_>>().try_into().expect("enough primes")
    }

    fn run(&self, moduli: Moduli<K>, before: &[Row<K>], how: How) -> Result<(Masses, Vec<Row<K>>), BlockError> {
        let mut after = vec![[0; K]; before.len()];
        let mut sweep = sweep(self.column, moduli, how);
        let masses = sweep.run(self.direction, self.window, before, &mut after, Some(&self.arrivals))?;
        Ok((masses, after))
    }

    /// Rows of the largest residues.
    fn most(&self, primes: Row<K>) -> Vec<Row<K>> {
        rows::<K>(self.column, 1).iter().map(|_| primes.map(|p| p - 1)).collect()
    }

    /// The same comes out, of rows as a window leaves them: any words, up to the largest.
    fn check_same(&self) {
        let primes = Self::primes(self.bits);
        let some = rows::<K>(self.column, 1).iter().map(|row| std::array::from_fn(|i| row[i] % primes[i])).collect();
        for before in [self.most(primes), some] {
            let (masses, expected) = self.run(Moduli::new(primes).unwrap(), &before, HOWS[0]).unwrap();
            let as_left = |(place, row): (usize, &Row<K>)| -> Row<K> {
                let multiples = |i: usize| (u64::MAX - row[i]) / primes[i] / (1 + place as u64 % 3);
                std::array::from_fn(|i| row[i] + multiples(i) * primes[i])
            };
            let before: Vec<Row<K>> = before.iter().enumerate().map(as_left).collect();
            for how in HOWS {
                let lazy = Moduli::lazy(primes, self.bits).unwrap();
                let (found_masses, mut found) = self.run(lazy, &before, how).unwrap();
                for (value, p) in found.iter_mut().flat_map(|found| found.iter_mut().zip(primes)) {
                    *value %= p;
                }
                assert!(found == expected, "{}, {how:?}", self.what);
                assert_eq!(found_masses, masses, "{}, {how:?}", self.what);
            }
        }
    }

    /// Whether sums of primes of one bit more outgrow their words, and are refused.
    fn refuses_larger_primes(&self) -> bool {
        let larger = Self::primes(self.bits + 1);
        let ran = self.run(Moduli::lazy(larger, self.bits + 1).unwrap(), &self.most(larger), HOWS[0]);
        matches!(ran, Err(BlockError::Balance { .. }))
    }
}

/// Sums that are left alone until they are read are the same, up to the largest that there can be; with larger primes they
/// outgrow their words, which the mass balance shows. Where columns are folded, too, but that the rows that the first window
/// begins with are no longer the largest ones then.
#[test]
fn lazy_sums_are_the_same() {
    fn check<const K: usize>(column: &dyn BlockColumn, directions: Directions, what: &str) -> u32 {
        let mut tight = 0;
        let ways = |window| [(window, Direction::Forward), (window, Direction::Backward)];
        for (window, direction) in (0..column.windows().len()).flat_map(ways) {
            let what = format!("{what} {directions:?}, window {window}, {direction:?}, {K} lanes");
            let through = Through::<K>::new(column, direction, window, what);
            through.check_same();
            if through.is_tight && (window > 0 || directions == Directions::Both) {
                assert!(through.refuses_larger_primes(), "{}", through.what);
                tight += 1;
            }
        }
        tight
    }
    for (height, lengths) in
        [(2, &[1, 1][..]), (3, &[3]), (5, &[3, 2]), (6, &[2, 2, 2]), (7, &[4, 3]), (8, &[3, 3, 2]), (8, &[4, 4])]
    {
        for directions in [Directions::Both, Directions::Folded] {
            let column = blocks::column(height, lengths, directions);
            let what = format!("{height} {lengths:?}");
            let tight = [
                check::<1>(column.as_ref(), directions, &what),
                check::<4>(column.as_ref(), directions, &what),
                check::<8>(column.as_ref(), directions, &what),
            ];
            assert!(tight.iter().all(|&tight| tight > 0) || height < 5, "{what} {directions:?}: {tight:?}");
        }
    }
}

/// With A the passes of a window, and x and y as they are read of the neighbouring vectors: <A x, y> = <x, A' y>.
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
            sweep.run(Direction::Backward, window, &y, &mut backward, None).unwrap();
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
