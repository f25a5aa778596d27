//! Legal Quoridor positions in the engine's terms against the lower rungs, published values and laws.

mod common;

use keima_model::{ProblemInfo, Window};
use keima_problems::quoridor::Quoridor;
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
    // Only at n = 5 do pieces interleave.
    for n in 2..=5 {
        assert_eq!(Some(counts(n, None, 2)), brute::count(n, u32::MAX), "{n}");
    }
}

#[test]
fn few_fences_on_larger_boards() {
    for (n, most) in [(5, 4), (6, 3), (7, 2), (9, 2), (11, 1)] {
        assert_eq!(Some(counts(n, Some(most), n)), brute::count(n, most), "{n}");
    }
}
