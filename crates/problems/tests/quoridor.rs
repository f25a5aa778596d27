//! Legal Quoridor positions in the engine's terms against the lower rungs, published values and laws.

mod common;

use keima_model::{ProblemInfo, Window};
use keima_problems::quoridor::Quoridor;
use keima_problems::quoridor::border::{self, Direction};
use keima_problems::quoridor::brute::{self, Counts};

/// The rows of a report: index and value.
fn table(problem: &dyn ProblemInfo, name: &str, values: &[Vec<u128>]) -> Vec<(String, i128)> {
    let reports = problem.reports();
    let report = reports.iter().find(|report| report.name == name).expect("a report of this name");
    let value = |&(functional, coefficient, weight): &(u32, u32, i64)| {
        i128::from(weight) * i128::try_from(values[functional as usize][coefficient as usize]).unwrap()
    };
    report.rows.iter().map(|row| (row.index.clone(), row.terms.iter().map(value).sum())).collect()
}

/// The numbers of one run with windows of at most `len` cells, through the reports.
fn counts(n: u32, max_fences: Option<u32>, len: u32) -> Counts {
    let problem = Quoridor::new(n, max_fences);
    let values = common::run(&problem, &Window::cut(n - 1, len), |_, _, _| ());
    let column = |name: &str| {
        let rows = table(&problem, name, &values).into_iter().enumerate();
        rows.map(|(k, (index, count))| {
            assert_eq!(index, k.to_string(), "{name}");
            u128::try_from(count).expect("no negative numbers")
        })
        .collect()
    };
    Counts {
        fences: column("fences"),
        all: column("by_fences"),
        not_both: column("not_both_on_goals_by_fences"),
        neither: column("neither_on_goal_by_fences"),
    }
}

#[test]
fn counts_are_those_of_every_arrangement() {
    // Pieces of the two players' regions interleave from n = 5 on: a prune of those passes all smaller boards.
    for n in 2..=5 {
        assert_eq!(Some(counts(n, None, n - 1)), brute::count(n, u32::MAX), "{n}");
    }
}

#[test]
fn few_fences_on_larger_boards() {
    // Here states that need too many fences are left out.
    for (n, most) in [(4, 0), (4, 3), (5, 3), (6, 3), (7, 2), (8, 2), (9, 2), (11, 1)] {
        assert_eq!(Some(counts(n, Some(most), n)), brute::count(n, most), "{n} with up to {most} fences");
    }
}

#[test]
fn counts_are_those_of_the_plain_recurrence_in_both_directions() {
    for (n, most) in [(2, 20), (3, 20), (4, 20), (5, 6)] {
        let engine = counts(n, Some(most), n);
        for direction in [Direction::Along, Direction::Across] {
            assert_eq!(border::count(n as usize, direction, most as usize), engine, "{n} {direction:?}");
        }
    }
}

#[test]
#[ignore = "minutes: half a million unreduced states"]
fn six_squares_in_both_directions() {
    let engine = counts(6, Some(20), 6);
    for direction in [Direction::Along, Direction::Across] {
        assert_eq!(border::count(6, direction, 20), engine, "{direction:?}");
    }
}

#[test]
fn small_values() {
    for (n, expected) in [(2, 28), (3, 2400), (4, 604_222)] {
        assert_eq!(common::count(&Quoridor::new(n, Some(20))), expected, "{n}");
    }
    assert_eq!(counts(3, None, 1).all, [72, 576, 1184, 536, 32]);
}

#[test]
fn a_limit_cuts_the_table() {
    let full = counts(4, None, 2);
    for most in 0..=9 {
        let rows = most as usize + 1;
        let cut = counts(4, Some(most), 2);
        assert_eq!((&cut.all[..], &cut.neither[..]), (&full.all[..rows], &full.neither[..rows]), "{most}");
    }
}

#[test]
fn totals_with_fences_in_hand() {
    let problem = Quoridor::new(5, None);
    let values = common::values(&problem);
    let brute = brute::count(5, u32::MAX).unwrap();
    // All splits of k fences among two players with ten each, and who is to move.
    let ways = |fences: usize| 2 * (0..=10).filter(|a| (0..=10).contains(&(fences as i32 - a))).count() as u128;
    let in_hand = |counts: &[u128]| counts.iter().enumerate().map(|(k, count)| ways(k) * count).sum::<u128>();
    let plain = |counts: &[u128]| counts.iter().sum::<u128>();
    let variants = [brute.all, brute.not_both, brute.neither];
    let expected = variants.iter().map(|counts| plain(counts)).chain(variants.iter().map(|counts| in_hand(counts)));
    let rows = table(&problem, "variants", &values);
    assert_eq!(rows.iter().map(|row| row.1 as u128).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(rows[1].0, "not both on their goals");
    let by_fences = table(&problem, "in_hand_by_fences", &values);
    assert_eq!(by_fences.iter().map(|row| row.1 as u128).sum::<u128>(), in_hand(&variants[0]));
}

#[test]
fn what_is_known_is_met_after_every_pass() {
    for (n, most) in [(2, None), (4, None), (5, Some(4)), (6, Some(2)), (9, Some(1))] {
        let problem = Quoridor::new(n, most);
        let values = common::values(&problem);
        let (mut laws, mut published) = (0, 0);
        for report in problem.reports() {
            for (row, (_, value)) in report.rows.iter().zip(table(&problem, &report.name, &values)) {
                if let Some(known) = &row.known {
                    assert_eq!(*known, value.to_string(), "{n} {} {}", report.name, row.index);
                    *(if report.check_only { &mut laws } else { &mut published }) += 1;
                }
            }
        }
        assert_eq!((laws, published), (problem.board().passes(), if n == 9 { 2 } else { 0 }), "{n}");
    }
}

#[test]
fn numbers_of_states() {
    // A program without the shared bit had peaks of 199, 2190, 26608, 304297 and 3466114 for n = 3 to 7.
    for (n, peak) in [(3, 180), (4, 2127), (5, 26_033)] {
        // Limits below n leave states out.
        let states = common::states(&Quoridor::new(n, Some(n)));
        assert_eq!(states.iter().copied().max(), Some(peak), "{n}");
    }
    assert_eq!(common::states(&Quoridor::new(4, None)), common::states(&Quoridor::new(4, Some(4))));
    // Few fences, few states.
    let peak = |n, most| common::states(&Quoridor::new(n, Some(most))).into_iter().max().unwrap();
    assert!(peak(5, 2) < 5000 && peak(9, 1) < 2000, "{} {}", peak(5, 2), peak(9, 1));
}

#[test]
fn forecasts_are_upper_bounds() {
    for n in 2..=5 {
        let problem = Quoridor::new(n, Some(n));
        let (states, forecast) = (common::states(&problem), problem.forecast().map_or(Vec::new(), |f| f.states));
        assert_eq!(forecast.len(), states.len(), "{n}");
        for (pass, (&states, &forecast)) in states.iter().zip(&forecast).enumerate() {
            assert!(states as u128 <= forecast, "{n}, pass {pass}: {states} states, forecast {forecast}");
        }
        // Not by much where it matters: at the peak.
        let (peak, forecast) = (states.iter().max().unwrap(), forecast.iter().max().unwrap());
        assert!(n < 4 || *peak as u128 * 4 > forecast * 3, "{n}: {peak} states, forecast {forecast}");
    }
    assert!(Quoridor::new(9, Some(2)).forecast().is_none());
}

#[test]
fn what_the_engine_is_told() {
    for (n, most) in [(2, None), (3, None), (4, None), (5, Some(2))] {
        let problem = Quoridor::new(n, most);
        common::check_windows(&problem);
        assert!(common::check_families(&problem) > 1 || n == 2);
        common::check_bounds(&problem);
        common::check_any_keys(&problem);
    }
    common::check_any_keys(&Quoridor::new(11, Some(3)));
    common::check_any_keys(&Quoridor::new(9, None));
}

#[test]
fn bounds_are_close() {
    let bits = |n| {
        let bound = Quoridor::new(n, Some(20)).bound();
        bound.iter().map(|&(base, exponent)| f64::from(base).log2() * f64::from(exponent)).sum::<f64>()
    };
    // The most arrangements of one number of fences, times the pairs of squares: one prime near 2^64 up to n = 7.
    assert!(bits(7) < 62.0 && bits(9) < 84.0, "{} {}", bits(7), bits(9));
    let two = Quoridor::new(2, None);
    assert_eq!((two.bound(), two.bound_after(0)), (vec![(2, 1), (2, 0), (2, 2), (3, 1)], two.bound()));
    let three = Quoridor::new(3, None);
    assert_eq!(three.bound_after(0), [(2, 1), (2, 0)]);
}
