//! Knight's tours in the engine's terms against the lower rungs, published values, their own symmetries, and themselves
//! without prunes.

#[path = "../common/mod.rs"]
mod common;
mod numbers;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use keima_model::{Board, Layout, Problem, ProblemInfo, Successors, Window};
use keima_problems::knight::border::{self, Cell, Far};
use keima_problems::knight::prune::Prunes;
use keima_problems::knight::state::{self, Word};
use keima_problems::knight::{Knight, Tours, bound, brute, layout, published};

fn knight<K: Word>(board: Board, tours: Tours, prunes: Prunes) -> Knight<K> {
    Knight::new(board.to_string(), board, tours, prunes)
}

fn board(height: u32, length: u32) -> Board {
    Board { height, length }
}

fn count(board: Board, tours: Tours) -> u128 {
    if board.height <= layout::MAX_NARROW_HEIGHT {
        common::count(&knight::<u64>(board, tours, Prunes::ALL))
    } else {
        common::count(&knight::<u128>(board, tours, Prunes::ALL))
    }
}

/// Working form of a border whose tours have any ends, or none; the given ends must be contracted before.
fn encode(height: u32, first: u32, border: &[Cell]) -> u64 {
    let span = 2 * height as usize + 1;
    assert!(border.iter().skip(span).all(|&cell| cell == Cell::Untouched || cell == Cell::End(Far::TourEnd)));
    let mut pairs = BTreeMap::new();
    let code = |(index, cell): (usize, &Cell)| match *cell {
        Cell::Untouched => state::UNTOUCHED,
        Cell::Full => state::FULL,
        Cell::End(Far::TourEnd) => state::FINISHED,
        Cell::End(Far::Cell(mate)) => {
            let own = first + index as u32;
            let next = pairs.len() as u32 + 1;
            state::pair(*pairs.entry(own.min(mate)).or_insert(next))
        }
    };
    let outside = vec![Cell::Full; span];
    let cells = border.iter().chain(&outside).take(span).enumerate();
    cells.map(code).zip(0..).map(|(code, place)| u64::from(code) << (4 * place)).sum()
}

/// The border where the given ends that have not chosen yet are ends of paths that begin in them. `None` if no tour comes of
/// it: an end has two edges, or a path from end to end leaves cells out.
fn contract(first: u32, tours: Tours, border: &[Cell]) -> Option<Vec<Cell>> {
    let mut border = border.to_vec();
    let Tours::Between(a, b) = tours else { return Some(border) };
    for end in [a, b].into_iter().filter(|&end| end >= first) {
        let place = (end - first) as usize;
        match border[place] {
            Cell::Untouched => border[place] = Cell::End(Far::TourEnd),
            Cell::Full => return None,
            Cell::End(far) => {
                border[place] = Cell::Full;
                let Far::Cell(mate) = far else {
                    return border.iter().all(|&cell| cell == Cell::Full).then_some(border);
                };
                border[(mate - first) as usize] = Cell::End(Far::TourEnd);
            }
        }
    }
    Some(border)
}

/// All, closed, and some pairs of ends.
fn some_tours(board: Board) -> Vec<Tours> {
    let last = board.passes() - 1;
    let mut tours = vec![Tours::Open, Tours::Closed];
    for (a, b) in [(0, 1), (last / 2, last), (last, 0), (1, last / 2), (board.height, last.saturating_sub(1))] {
        if a != b && a.max(b) <= last {
            tours.push(Tours::Between(a, b));
        }
    }
    tours
}

#[test]
fn counts_are_those_of_walking_and_of_the_plain_recurrence() {
    for (height, length) in
        [(1, 1), (1, 2), (1, 9), (2, 2), (2, 7), (3, 3), (3, 4), (3, 6), (3, 8), (4, 3), (4, 4), (4, 5), (5, 4), (5, 5)]
    {
        let board = board(height, length);
        for tours in some_tours(board) {
            let expected = brute::count(board, tours).map(u128::from);
            assert_eq!(Some(count(board, tours)), expected, "{board} {tours:?}");
            if board.passes() <= 20 {
                assert_eq!(Some(border::count(board, tours)), expected, "{board} {tours:?}");
            }
        }
    }
}

#[test]
fn vectors_are_those_of_the_plain_recurrence() {
    for (height, length) in [(1, 1), (2, 5), (3, 4), (3, 6), (4, 3), (4, 4), (5, 3)] {
        let board = board(height, length);
        for tours in some_tours(board) {
            let mut scan = border::Scan::<u128>::new(board, tours);
            let problem = knight::<u64>(board, tours, Prunes::NONE);
            common::run(&problem, &[Window { first: 0, len: height }], |pass, _, vector| {
                let mut expected = HashMap::new();
                for (border, count) in scan.states() {
                    if let Some(border) = contract(pass, tours, border) {
                        expected.entry(encode(height, pass, &border)).or_insert_with(|| vec![0])[0] += count;
                    }
                }
                assert_eq!(*vector, expected, "{board} {tours:?} before pass {pass}");
                if pass < board.passes() {
                    scan.advance();
                }
            });
        }
    }
}

#[test]
fn prunes_discard_nothing_that_counts() {
    let colours = Prunes { colours: true, degree: false };
    let degree = Prunes { colours: false, degree: true };
    for (height, length) in [(1, 1), (1, 3), (2, 4), (3, 3), (3, 4), (3, 7), (4, 5), (5, 4)] {
        let board = board(height, length);
        for tours in some_tours(board) {
            let run = |prunes| {
                let problem = knight::<u64>(board, tours, prunes);
                (common::count(&problem), common::states(&problem).into_iter().max().unwrap())
            };
            let (expected, most) = run(Prunes::NONE);
            for prunes in [colours, degree, Prunes::ALL] {
                let (count, states) = run(prunes);
                assert_eq!(count, expected, "{board} {tours:?} {prunes:?}");
                assert!(states <= most, "{board} {tours:?} {prunes:?}: {states} states, without {most}");
            }
        }
    }
    // They do discard something, each of them.
    let states = |prunes| *common::states(&knight::<u64>(board(5, 5), Tours::Open, prunes)).iter().max().unwrap();
    let [none, colours, degree, all] = [Prunes::NONE, colours, degree, Prunes::ALL].map(states);
    assert!(colours < none && degree < none && all < colours && all < degree, "{none} {colours} {degree} {all}");
}

#[test]
fn states_that_a_pass_keeps_are_never_more_than_without_prunes() {
    let board = board(4, 5);
    for tours in some_tours(board) {
        let mut without = Vec::new();
        let windows = [Window { first: 0, len: 4 }];
        common::run(&knight::<u64>(board, tours, Prunes::NONE), &windows, |_, _, v| without.push(v.clone()));
        common::run(&knight::<u64>(board, tours, Prunes::ALL), &windows, |pass, _, vector| {
            for (key, value) in vector {
                let expected = &without[pass as usize][key];
                assert!(value <= expected, "{tours:?} pass {pass} {key:x}");
            }
        });
    }
}

#[test]
fn a_board_has_as_many_tours_as_its_transpose() {
    for (m, n) in [(3, 7), (3, 8), (4, 5), (4, 6)] {
        for tours in [Tours::Open, Tours::Closed] {
            assert_eq!(count(board(m, n), tours), count(board(n, m), tours), "{m}x{n} {tours:?}");
        }
        for (a, b) in [((0, 0), (1, 2)), ((m - 1, 0), (0, n - 1)), ((1, 1), (1, 2)), ((2, 3), (2, 4))] {
            let cells =
                |height, (a, b): ((u32, u32), (u32, u32))| Tours::Between(a.1 * height + a.0, b.1 * height + b.0);
            let turn = |(row, column): (u32, u32)| (column, row);
            let transposed = cells(n, (turn(a), turn(b)));
            assert_eq!(count(board(m, n), cells(m, (a, b))), count(board(n, m), transposed), "{m}x{n} {a:?} {b:?}");
        }
    }
}

#[test]
fn pairs_of_ends_add_up_and_mirror() {
    for (height, length) in [(3, 4), (3, 7), (4, 5)] {
        let board = board(height, length);
        let cells = board.passes();
        let mirrored = |cell: u32| cell / height * height + height - 1 - cell % height;
        let mut sum = 0;
        for a in 0..cells {
            for b in a + 1..cells {
                let tours = count(board, Tours::Between(a, b));
                assert_eq!(tours, count(board, Tours::Between(cells - 1 - a, cells - 1 - b)), "{board} {a} {b} turned");
                if a % 3 == 0 {
                    assert_eq!(
                        tours,
                        count(board, Tours::Between(mirrored(b), mirrored(a))),
                        "{board} {a} {b} mirrored"
                    );
                }
                sum += tours;
            }
        }
        assert_eq!(sum, count(board, Tours::Open), "{board}");
    }
}

#[test]
fn closed_tours_pass_through_the_corner() {
    // Both of a corner's edges are in every closed tour: open tours between the ends of either are as many.
    for (height, length) in [(3, 10), (5, 6), (4, 6)] {
        let board = board(height, length);
        let closed = count(board, Tours::Closed);
        for cell in [height + 2, 2 * height + 1] {
            assert_eq!(count(board, Tours::Between(0, cell)), closed, "{board} {cell}");
        }
    }
}

#[test]
fn windows_and_key_widths_do_not_matter() {
    for (height, length, tours) in [
        (3, 6, Tours::Open),
        (3, 10, Tours::Closed),
        (4, 5, Tours::Open),
        (4, 5, Tours::Between(0, 17)),
        (5, 4, Tours::Open),
        (5, 6, Tours::Closed),
    ] {
        let board = board(height, length);
        let narrow = knight::<u64>(board, tours, Prunes::ALL);
        let wide = knight::<u128>(board, tours, Prunes::ALL);
        common::check_windows(&narrow);
        assert_eq!(common::values(&narrow), common::values(&wide));
        assert_eq!(common::states(&narrow), common::states(&wide));
    }
    // Boards that are higher than long, with wide keys of their own and their two kinds of layout.
    common::check_windows(&knight::<u128>(board(8, 3), Tours::Open, Prunes::ALL));
    let open = |height, length| common::count(&knight::<u128>(board(height, length), Tours::Open, Prunes::ALL));
    assert_eq!(open(8, 3), open(3, 8));
    assert_eq!(open(10, 3), open(3, 10));
    assert_eq!(open(12, 3), open(3, 12));
}

/// Runs each family of a stage by itself: none leads to a state that another leads to.
fn check_families<K: Word>(problem: &Knight<K>) -> usize {
    let Board { height, .. } = problem.board();
    let mut vectors: Vec<Vec<K>> = Vec::new();
    common::run(problem, &[Window { first: 0, len: height }], |_, _, vector| {
        vectors.push(vector.keys().copied().collect());
    });
    let mut most = 0;
    for (pass, states) in vectors.iter().take(problem.board().passes() as usize).enumerate() {
        let first = pass as u32 % height;
        for len in 1..=height - first {
            let window = Window { first, len };
            let layout = Layout::Stage(window);
            let bits = problem.family_bits(layout);
            let mut keys = states.clone();
            problem.leave(window, layout, &mut keys);
            assert!(keys.iter().all(|key| key.widen() >> (problem.key_bits() - 1) <= 1), "{window:?} keys too wide");
            let mut families: BTreeMap<u128, Vec<K>> = BTreeMap::new();
            for key in keys {
                let family = if bits >= problem.key_bits() { 0 } else { key.widen() >> bits };
                families.entry(family).or_default().push(key);
            }
            most = most.max(families.len());
            let mut back = Vec::new();
            let mut reached = BTreeSet::new();
            for keys in families.values_mut() {
                problem.enter(layout, window, keys);
                back.extend_from_slice(keys);
                let mut keys = keys.clone();
                for pass in pass as u32..pass as u32 + len {
                    assert!(keys.len() as u128 <= problem.largest_family(window).unwrap(), "{window:?}");
                    let mut out = Successors::default();
                    problem.expand(pass, window, &keys, &mut out);
                    keys = out.keys.into_iter().collect::<BTreeSet<K>>().into_iter().collect();
                }
                for key in keys {
                    assert!(reached.insert(key) || bits >= problem.key_bits(), "{window:?} pass {pass} {key:x}");
                }
            }
            let states: BTreeSet<K> = states.iter().copied().collect();
            assert_eq!(back.into_iter().collect::<BTreeSet<K>>(), states, "{window:?}");
        }
    }
    most
}

#[test]
fn passes_stay_within_families() {
    assert!(check_families(&knight::<u64>(board(5, 5), Tours::Open, Prunes::ALL)) > 16);
    assert!(check_families(&knight::<u64>(board(6, 3), Tours::Open, Prunes::NONE)) > 16);
    assert!(check_families(&knight::<u64>(board(7, 3), Tours::Open, Prunes::ALL)) > 16);
    assert!(check_families(&knight::<u128>(board(8, 3), Tours::Open, Prunes::ALL)) > 16);
    assert!(check_families(&knight::<u64>(board(4, 5), Tours::Between(3, 8), Prunes::ALL)) > 4);
    check_families(&knight::<u64>(board(1, 3), Tours::Open, Prunes::ALL));
}

#[test]
fn any_keys_go_through() {
    for (height, length) in [(1, 1), (3, 3), (5, 4), (7, 3)] {
        for tours in some_tours(board(height, length)) {
            common::check_any_keys(&knight::<u64>(board(height, length), tours, Prunes::ALL));
            common::check_any_keys(&knight::<u128>(board(height, length), tours, Prunes::NONE));
        }
    }
    common::check_any_keys(&knight::<u128>(board(12, 12), Tours::Open, Prunes::ALL));
}

#[test]
#[ignore = "a minute of walking"]
fn counts_are_those_of_walking_up_to_30_cells() {
    for (height, length) in [(3, 10), (4, 6), (4, 7), (5, 6)] {
        let board = board(height, length);
        for tours in [Tours::Open, Tours::Closed] {
            assert_eq!(Some(count(board, tours)), brute::count(board, tours).map(u128::from), "{board} {tours:?}");
        }
    }
}
