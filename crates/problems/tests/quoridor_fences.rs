//! Quoridor fences in the engine's terms against the lower rungs, published values and the laws.

mod common;

use keima_model::{Board, ProblemInfo, ProblemRequest, Registry, Window};
use keima_problems::Problems;
use keima_problems::quoridor_fences::{QuoridorFences, border, brute};

fn problem(height: u32, length: u32, most_fences: u32) -> QuoridorFences {
    QuoridorFences::new(format!("{height}x{length}"), Board { height, length }, most_fences)
}

/// F(height, 1..=length, k).
fn series(height: u32, length: u32, most_fences: u32) -> Vec<Vec<u128>> {
    common::values(&problem(height, length, most_fences))
}

fn last(height: u32, length: u32, most_fences: u32) -> Vec<u128> {
    series(height, length, most_fences).pop().unwrap()
}

#[test]
fn counts_are_those_of_every_placement() {
    for height in 1..=12 {
        for (length, counts) in (1..).zip(series(height, 12 / height, u32::MAX)) {
            let expected: Vec<u128> = brute::counts(height, length).unwrap().into_iter().map(u128::from).collect();
            // The problem has room for the fences of the longest board.
            assert_eq!(counts[..expected.len()], expected, "{height}x{length}");
            assert!(counts[expected.len()..].iter().all(|&count| count == 0));
        }
    }
    let expected: Vec<u128> = brute::counts(4, 4).unwrap().into_iter().map(u128::from).collect();
    assert_eq!(last(4, 4, 16), expected);
}

#[test]
fn vectors_are_those_of_the_plain_recurrence() {
    for (height, length, most_fences) in [(1, 5, 5), (3, 4, 12), (5, 3, 15), (5, 3, 4), (4, 4, 1), (3, 3, 0)] {
        let mut vector = border::start(height as usize, most_fences);
        let problem = problem(height, length, most_fences as u32);
        common::run(&problem, &Window::cut(height, height), |pass, _, states| {
            // The plain recurrence keeps states that need more fences than there may be; their values are all zero.
            let key = |b: &border::Border| {
                b.has_v.iter().rev().fold(0_u64, |key, &v| key << 1 | u64::from(v)) << 1 | u64::from(b.left_is_h)
            };
            let expected: common::Vector<u64> = vector
                .iter()
                .filter(|(_, value)| value.iter().any(|&count| count > 0))
                .map(|(border, value)| (key(border), value.clone()))
                .collect();
            assert!(*states == expected, "{height}x{length} before pass {pass}");
            vector = border::pass(&vector, (pass % height) as usize);
        });
    }
}

#[test]
fn the_games_board_has_the_published_numbers() {
    let problem = problem(8, 8, 20);
    let counts = common::values(&problem).pop().unwrap();
    let reports = problem.reports();
    assert_eq!((reports.len(), reports[0].rows.len()), (1, 21));
    for row in &reports[0].rows {
        let sum: u128 = row.terms.iter().map(|&(_, coefficient, _)| counts[coefficient as usize]).sum();
        assert_eq!(row.known, Some(sum.to_string()), "{} fences", row.index);
        assert!(row.terms.iter().all(|&(functional, ..)| functional == 7));
    }
    assert_eq!(counts.iter().sum::<u128>(), 1_375_968_129_062_134_174_771);
    // A lower limit cuts off, and changes nothing else; without a limit the first numbers stay.
    assert_eq!(last(8, 8, 7), counts[..8]);
    let all = last(8, 8, u32::MAX);
    assert_eq!(all[..21], counts);
    assert_eq!(all.len(), 65);
    assert_eq!(128 - all.iter().sum::<u128>().leading_zeros(), 83, "bits of the sum over all numbers of fences");
}

#[test]
fn sums_over_all_numbers_of_fences() {
    for (side, expected) in [(1, 3_u128), (2, 47), (3, 4715)] {
        assert_eq!(last(side, side, u32::MAX).iter().sum::<u128>(), expected, "{side}x{side}");
    }
}

#[test]
fn turning_the_board_changes_nothing() {
    for (m, n) in [(1, 8), (2, 7), (3, 6), (4, 7), (5, 6), (9, 6)] {
        let counts = last(m, n, u32::MAX);
        assert_eq!(counts, last(n, m, u32::MAX), "{m}x{n}");
        assert_eq!(counts, border::counts(n as usize, m as usize, (m * n) as usize), "{m}x{n} scanned along the rows");
    }
}

#[test]
fn laws_at_every_pass() {
    let board = problem(6, 5, 20);
    let columns = series(6, 5, 20);
    common::run(&board, &Window::cut(6, 3), |pass, _, vector| {
        let sum = |k: usize| vector.values().map(|value| value[k]).sum::<u128>();
        assert_eq!((sum(0), sum(1)), (1, 2 * u128::from(pass)), "before pass {pass}");
        if pass % 6 == 0 && pass > 0 {
            assert_eq!(sum(9), columns[pass as usize / 6 - 1][9]);
        }
    });
    for (length, column) in (1..).zip(columns) {
        assert_eq!(
            column,
            series(6, length, 20).pop().unwrap().into_iter().chain([0; 21]).take(21).collect::<Vec<_>>()
        );
    }
}

#[test]
fn states_per_pass() {
    let states = common::states(&problem(8, 3, 20));
    assert_eq!(states.iter().max(), Some(&(3 << 7)), "peak 3 * 2^(w-1)");
    assert_eq!((states[16], states[24]), (256, 256));
}

#[test]
fn what_every_problem_must_hold_to() {
    for (height, length, most_fences) in
        [(1, 1, 20), (1, 5, 2), (2, 3, 20), (5, 3, 20), (5, 3, 2), (7, 2, 0), (4, 4, 1)]
    {
        let problem = problem(height, length, most_fences);
        common::check_windows(&problem);
        assert!(common::check_families(&problem) > 1 || height < 2 || most_fences == 0);
        common::check_forecast(&problem);
        common::check_bounds(&problem);
        common::check_any_keys(&problem);
    }
    for most_fences in [1, 5, 20, 40, 64] {
        common::check_bounds(&problem(8, 8, most_fences));
    }
}

#[test]
fn found_by_name() {
    let options = vec![("max-fences".to_owned(), "5".to_owned())];
    let request = ProblemRequest { name: "quoridor-fences".to_owned(), size: "9x4".to_owned(), options };
    let problem = Problems.open(&request).unwrap();
    assert_eq!((problem.info().board(), problem.info().coefficients()), (Board { height: 4, length: 9 }, 6));
}
