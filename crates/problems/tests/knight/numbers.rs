//! Knight's tours against published numbers and proved bounds.

use super::*;

#[test]
fn small_boards_have_the_known_numbers() {
    for (height, length, tours, expected) in
        [(5, 5, Tours::Closed, 0), (3, 10, Tours::Closed, 16), (4, 7, Tours::Closed, 0)]
    {
        assert_eq!(count(board(height, length), tours), expected, "{height}x{length} {tours:?}");
    }
}

/// The published tours of rectangles of up to `cells` cells, with either side for the border.
fn check_rectangles(cells: u32) -> u32 {
    let mut rows = 0;
    for line in
        include_str!("../../../../tests/golden/knight_tours.csv").lines().filter(|line| !line.starts_with('#')).skip(1)
    {
        let fields: Vec<&str> = line.split(',').collect();
        let [kind, m, n, expected] = fields[..] else { panic!("{line}") };
        let (m, n) = (m.parse().unwrap(), n.parse().unwrap());
        if m * n <= cells {
            let tours = if kind == "open" { Tours::Open } else { Tours::Closed };
            for board in [board(m, n), board(n, m)] {
                assert_eq!(count(board, tours).to_string(), expected, "{line}, border of {}", board.height);
                assert_eq!(published::known(board, tours).as_deref(), Some(expected), "{line}");
            }
            rows += 1;
        }
    }
    rows
}

#[test]
fn rectangles_have_the_published_numbers() {
    assert_eq!(check_rectangles(30), 6);
}

/// Seconds to minutes: run with `cargo test --release -p keima-problems --test knight -- --ignored --nocapture`.
#[test]
#[ignore = "minutes, and up to a million states in a hash map"]
fn larger_boards_have_the_published_numbers() {
    for (height, length, tours, expected, most) in [
        (5, 10, Tours::Closed, None, 45_000),
        (5, 10, Tours::Open, None, 1_000_000),
        (6, 6, Tours::Closed, Some(9862), 1_200_000),
        (6, 6, Tours::Open, Some(3_318_960), 1_300_000),
        (6, 8, Tours::Closed, Some(55_488_142), 1_000_000),
    ] {
        let (count, peak) = measure(height, length, tours);
        assert!(expected.is_none_or(|expected| expected == count), "{height}x{length} {tours:?}: {count}");
        assert!(peak <= most, "{height}x{length} {tours:?}: {peak} states");
    }
}

#[test]
#[ignore = "a minute"]
fn larger_rectangles_have_the_published_numbers() {
    assert_eq!(check_rectangles(36), 10);
}

#[test]
#[ignore = "a minute: 45 runs"]
fn all_pairs_of_6x6_are_the_published_ones() {
    let mut rows = 0;
    for line in include_str!("../../../../tests/golden/knight_open_tours_6x6.csv").lines() {
        let fields: Vec<u32> = line.split(',').map_while(|field| field.parse().ok()).collect();
        let [y, x, v, u, _, expected] = fields[..] else { continue };
        assert_eq!(count(board(6, 6), Tours::Between(6 * x + y, 6 * u + v)), expected.into(), "{line}");
        rows += 1;
    }
    assert_eq!(rows, 45);
}

#[test]
fn counts_are_within_their_bounds() {
    for (height, length) in [(1, 1), (2, 2), (3, 3), (3, 4), (3, 10), (4, 5), (5, 5)] {
        for tours in some_tours(board(height, length)) {
            common::check_bounds(&knight::<u64>(board(height, length), tours, Prunes::ALL));
        }
    }
    for side in [6, 7, 8] {
        for tours in [Tours::Open, Tours::Closed, Tours::Between(0, 2)] {
            let Some(known) = published::known(board(side, side), tours) else { continue };
            let bits = |(base, exponent): (u32, u32)| f64::from(base).log2() * f64::from(exponent);
            let bound: f64 = bound::bound(board(side, side), tours).into_iter().map(bits).sum();
            assert!(known.parse::<f64>().unwrap().log2() < bound, "{side} {tours:?}");
        }
    }
    assert!(layout::largest_family(5, Window { first: 0, len: 1 }, 2) > 0);
}

/// Numbers of states, for people, and the count.
fn measure(height: u32, length: u32, tours: Tours) -> (u128, usize) {
    let problem = knight::<u64>(board(height, length), tours, Prunes::ALL);
    let begun = std::time::Instant::now();
    let (mut states, mut successors) = (Vec::new(), 0);
    let values = common::run(&problem, &[Window { first: 0, len: height }], |pass, window, vector| {
        states.push(vector.len());
        if pass < problem.board().passes() {
            let keys: Vec<u64> = vector.keys().copied().collect();
            let mut out = Successors::default();
            problem.expand(pass, window, &keys, &mut out);
            successors += out.keys.len();
        }
    });
    let peak = *states.iter().max().unwrap();
    let all: usize = states.iter().sum();
    println!(
        "{height}x{length} {tours:?}: {}, peak {peak} states, {all} in all, {successors} successors, {:.1?}",
        values[0][0],
        begun.elapsed()
    );
    (values[0][0], peak)
}

/// How much the prunes save, and the speed of the expansion alone.
#[test]
#[ignore = "prints figures"]
fn figures() {
    for (height, length, tours) in [(5, 5, Tours::Open), (5, 6, Tours::Open), (6, 6, Tours::Closed)] {
        for (colours, degree) in [(false, false), (true, false), (false, true), (true, true)] {
            let prunes = Prunes { colours, degree };
            let states = common::states(&knight::<u64>(board(height, length), tours, prunes));
            println!("{height}x{length} {tours:?} {prunes:?}: peak {} states", states.iter().max().unwrap());
        }
    }
    for (height, length, tours) in [(6, 6, Tours::Open), (6, 8, Tours::Closed), (6, 6, Tours::Between(0, 1))] {
        let problem = knight::<u64>(board(height, length), tours, Prunes::ALL);
        let mut largest = (0, Vec::new());
        common::run(&problem, &[Window { first: 0, len: height }], |pass, _, vector| {
            if vector.len() > largest.1.len() {
                largest = (pass, vector.keys().copied().collect());
            }
        });
        let (pass, mut keys) = largest;
        keys.sort_unstable();
        let mut out = Successors::default();
        let begun = std::time::Instant::now();
        let mut made = 0;
        for batch in keys.chunks(4096) {
            out.clear();
            problem.expand(pass, Window { first: 0, len: height }, batch, &mut out);
            made += out.keys.len();
        }
        let nanoseconds = begun.elapsed().as_secs_f64() * 1e9;
        println!(
            "{height}x{length} {tours:?} pass {pass}: {} states, {:.1} ns a state, {:.2} successors",
            keys.len(),
            nanoseconds / keys.len() as f64,
            made as f64 / keys.len() as f64
        );
    }
}
