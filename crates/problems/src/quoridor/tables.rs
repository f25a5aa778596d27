//! The functionals of a run, and the tables of results made from them.
//!
//! ```text
//!   functional   0 .. passes-1   arrangements of fences after each pass (the fence law); the last is F
//!                passes          all pairs: the answer
//!                passes + 1      S, the second pawn alone
//!                passes + 2      T, both pawns on one square of the first player's goal
//! ```

use keima_model::{Board, Functional, Report, ReportRow};

use crate::quoridor_fences::{mertens, published};

/// Most fences that a player has.
const IN_HAND: i64 = 10;

/// The states that a functional adds up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// States with both pawns unplaced.
    Fences,
    /// Legal positions.
    All,
    /// Legal positions of the second pawn without the first.
    Alone,
    /// Legal squares of the second pawn on the first player's goal.
    Shared,
}

/// The functional of this number.
pub fn form(board: Board, functional: usize) -> Form {
    match functional.checked_sub(board.passes() as usize) {
        None => Form::Fences,
        Some(0) => Form::All,
        Some(1) => Form::Alone,
        Some(_) => Form::Shared,
    }
}

/// All functionals of an n x n board, whose intersections are `board`.
pub fn functionals(board: Board) -> Vec<Functional> {
    let passes = board.passes();
    let read = |after_pass, name: String, answer| Functional {
        after_pass,
        name,
        index: board.height + 1,
        answer,
        known: None,
        formula: None,
    };
    let fences = (0..passes).map(|pass| read(pass, format!("fences on {} intersections", pass + 1), false));
    let last = passes - 1;
    fences
        .chain([
            read(last, "all pairs".to_owned(), true),
            read(last, "second pawn alone".to_owned(), false),
            read(last, "second pawn on the first's goal".to_owned(), false),
        ])
        .collect()
}

/// Terms of a row: functional, coefficient, weight.
type Terms = Vec<(u32, u32, i64)>;

/// Which pairs of squares count.
#[derive(Clone, Copy)]
enum Variant {
    All,
    NotBoth,
    Neither,
}

impl Variant {
    /// Name in [`reports`], and name for people.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::All => ("by_fences", "all pairs"),
            Self::NotBoth => ("not_both_on_goals_by_fences", "not both on their goals"),
            Self::Neither => ("neither_on_goal_by_fences", "neither on its goal"),
        }
    }

    /// The number with `fences` fences, times `weight`.
    fn terms(self, n: u32, fences: u32, weight: i64) -> Terms {
        let passes = (n - 1) * (n - 1);
        let side = i64::from(n);
        let arrangements = |weight: i64| (passes - 1, fences, weight);
        let all = (passes, fences, weight);
        match self {
            Self::All => vec![all],
            Self::NotBoth => vec![all, arrangements(-side * side * weight)],
            Self::Neither => vec![
                all,
                (passes + 1, fences, -2 * side * weight),
                (passes + 2, fences, 2 * weight),
                arrangements(side * side * weight),
            ],
        }
    }
}

/// Ways in which two players with ten fences each can have placed `fences` of them, times two for the side to move.
fn hands_and_move(fences: u32) -> i64 {
    let fences = i64::from(fences);
    let least = (fences - IN_HAND).max(0);
    let most = fences.min(IN_HAND);
    2 * (most - least + 1).max(0)
}

/// All tables; `arrangements[pass][k]` are the arrangements of k fences that the states without pawns must show.
pub fn reports(n: u32, max_fences: u32, arrangements: &[Vec<u128>]) -> Vec<Report> {
    let variants = [Variant::All, Variant::NotBoth, Variant::Neither];
    let by_fences = |name: &str, terms: &dyn Fn(u32) -> Terms, known: &dyn Fn(u32) -> Option<String>| Report {
        name: name.to_owned(),
        index: "fences".to_owned(),
        rows: (0..=max_fences).map(|k| ReportRow { index: k.to_string(), terms: terms(k), known: known(k) }).collect(),
        ..Report::default()
    };
    let mut reports: Vec<Report> =
        variants.iter().map(|variant| by_fences(variant.names().0, &|k| variant.terms(n, k, 1), &|_| None)).collect();
    reports.push(by_fences("in_hand_by_fences", &|k| Variant::All.terms(n, k, hands_and_move(k)), &|_| None));

    let total = |variant: &Variant, suffix: &str, weight: &dyn Fn(u32) -> i64| ReportRow {
        index: format!("{}{suffix}", variant.names().1),
        terms: (0..=max_fences).flat_map(|k| variant.terms(n, k, weight(k))).collect(),
        known: None,
    };
    let plain = variants.iter().map(|variant| total(variant, "", &|_| 1));
    let in_hand = variants.iter().map(|variant| total(variant, ", fences in hand, side to move", &hands_and_move));
    let rows = plain.chain(in_hand).collect();
    reports.push(Report { name: "variants".to_owned(), index: "variant".to_owned(), rows, ..Report::default() });

    let passes = (n - 1) * (n - 1);
    let known = |k: u32| published::known(n - 1, n - 1, k).map(str::to_owned);
    reports.push(Report {
        columns: mertens::columns(passes, max_fences),
        remarks: mertens::lines(passes, max_fences),
        ..by_fences("fences", &|k| vec![(passes - 1, k, 1)], &known)
    });
    reports.push(Report {
        name: "fence_law".to_owned(),
        index: "intersections".to_owned(),
        rows: (0_u32..).zip(arrangements).map(|(pass, row)| law(pass, row)).collect(),
        check_only: true,
        ..Report::default()
    });
    reports
}

/// The fence law after a pass. Coefficient k has the weight k+1: an error in one, or an exchange of two, shows.
fn law(pass: u32, arrangements: &[u128]) -> ReportRow {
    let terms = (0_u32..).zip(arrangements).map(|(k, _)| (pass, k, i64::from(k) + 1)).collect();
    let sum = (1_u128..)
        .zip(arrangements)
        .try_fold(0_u128, |sum, (weight, &count)| sum.checked_add(weight.checked_mul(count)?));
    ReportRow { index: (pass + 1).to_string(), terms, known: sum.map(|sum| sum.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quoridor::fences;

    #[test]
    fn hands() {
        for (fences, expected) in [(0, 2), (1, 4), (10, 22), (11, 20), (19, 4), (20, 2), (21, 0), (64, 0)] {
            assert_eq!(hands_and_move(fences), expected, "{fences} fences");
        }
        // All pairs (a, b) of 0 to 10 fences, and who is to move.
        assert_eq!((0..=20).map(hands_and_move).sum::<i64>(), 2 * 11 * 11);
    }

    #[test]
    fn every_term_names_a_functional_and_a_coefficient() {
        for (n, most) in [(2, 1), (5, 16), (9, 20), (9, 2)] {
            let functionals = functionals(Board { height: n - 1, length: n - 1 });
            let series = fences::series(n, most as usize + 1);
            for report in reports(n, most, &series) {
                assert!(!report.rows.is_empty());
                for (functional, coefficient, _) in report.rows.iter().flat_map(|row| &row.terms) {
                    assert!((*functional as usize) < functionals.len() && *coefficient <= most, "{n} {}", report.name);
                }
            }
            assert!(functionals.is_sorted_by_key(|functional| functional.after_pass));
            assert_eq!(functionals.iter().filter(|functional| functional.answer).count(), 1);
        }
    }
}
