//! Mertens' estimates of the size of Quoridor, reproduced, and why the one of the fences is wrong.
//!
//! P. J. C. Mertens, *A Quoridor-playing Agent* (2006), takes the game's board of 9x9 squares: 64 intersections, 128 ways
//! to place the first fence, 20 fences. He lets each fence take 4 of the ways away:
//!
//! ```text
//!    S_f = sum over i = 0..20 of the product over j of (128 - 4j)     fence placements
//!    S   = 81 * 80 * S_f                                              states
//!    G   = 60.4 ^ 91.1                                                game tree: branching factor ^ plies
//! ```
//!
//! The formula as typeset has (128 - 4i) in the product, with i+1 factors in term i: 2.2498e35. With 4j and
//! i+1 factors: 2.9608e40. The printed 6.1582e38 has 4j and i factors in term i.
//!
//! The estimate is too large by a factor of 4.5e17. A product of i factors counts the ways to place i fences *one after the
//! other*, so it counts every placement of i fences i! times. With each term divided by i! the estimate is 3.89e20, below
//! the exact 1.376e21. A fence takes fewer than 4 ways away on average: fences at the rim have fewer neighbours, and common
//! neighbours go only once.
//!
//! Cost: one multiplication a term.

use keima_model::ReportColumn;

/// Fences of the game.
pub const FENCES: u32 = 20;
/// Intersections of the game's board.
pub const INTERSECTIONS: u32 = 64;
/// Two pawns on 81 squares, as printed.
pub const PAWN_PLACEMENTS: u32 = 6480;

/// The printed estimate of fence placements, for any board: sum over k = 0..fences of products of k factors
/// 2 * intersections - 4j. Factors that would be negative are 0.
pub fn fence_placements(intersections: u32, fences: u32) -> f64 {
    terms(intersections).take(fences as usize + 1).sum()
}

/// The same with one more factor in each term.
pub fn with_one_factor_more(intersections: u32, fences: u32) -> f64 {
    terms(intersections).skip(1).take(fences as usize + 1).sum()
}

/// The formula as it is typeset: term i has i+1 equal factors 2 * intersections - 4i.
pub fn as_typeset(intersections: u32, fences: u32) -> f64 {
    (0..=fences).map(|i| ways_left(intersections, i).powi(i as i32 + 1)).sum()
}

/// The printed estimate without order: each term divided by k!.
pub fn unordered_fence_placements(intersections: u32, fences: u32) -> f64 {
    unordered(intersections).take(fences as usize + 1).sum()
}

/// The estimate of the number of states: pawns times fences.
pub fn states() -> f64 {
    f64::from(PAWN_PLACEMENTS) * fence_placements(INTERSECTIONS, FENCES)
}

/// The estimate of the game tree's size: 60.4 moves in each of 91.1 plies.
pub fn game_tree() -> f64 {
    60.4_f64.powf(91.1)
}

/// Columns beside a table of 0 to `fences` fences: the estimate's terms as printed, and without order.
pub fn columns(intersections: u32, fences: u32) -> Vec<ReportColumn> {
    let column = |name: &str, terms: &mut dyn Iterator<Item = f64>| ReportColumn {
        name: name.to_owned(),
        figures: terms.take(fences as usize + 1).map(figure).collect(),
    };
    vec![column("mertens", &mut terms(intersections)), column("mertens_unordered", &mut unordered(intersections))]
}

/// Lines to show beside a table of `fences` or fewer fences on so many intersections.
pub fn lines(intersections: u32, fences: u32) -> Vec<String> {
    let mut lines = Vec::new();
    if (intersections, fences) == (INTERSECTIONS, FENCES) {
        lines.push(
            "Mertens (2006) estimates 6.1582e38 ways to place up to 20 fences on this board, 4.5e17 times the true number."
                .to_owned(),
        );
    }
    let (ordered, unordered) =
        (fence_placements(intersections, fences), unordered_fence_placements(intersections, fences));
    if ordered.is_finite() {
        lines.push(format!(
            "mertens: his estimate (each fence takes 4 of the {} ways away) gives {ordered:.4e} in all; it counts the \
             k! orders of k fences.",
            2 * intersections,
        ));
    }
    if unordered.is_finite() {
        lines.push(format!(
            "mertens_unordered: without order (each term divided by k!) it gives {unordered:.4e} in all; fences at the \
             rim take fewer than 4 ways away, and it counts ways that two fences take away twice.",
        ));
    }
    lines
}

/// A term as text; empty for one beyond the range of an f64, as on boards of thousands of intersections.
fn figure(term: f64) -> String {
    if term.is_finite() { format!("{term:.4e}") } else { String::new() }
}

/// Ways to place one more fence after `placed`, by the estimate.
fn ways_left(intersections: u32, placed: u32) -> f64 {
    (2.0 * f64::from(intersections) - 4.0 * f64::from(placed)).max(0.0)
}

/// Products of 0, 1, 2, ... factors.
fn terms(intersections: u32) -> impl Iterator<Item = f64> {
    (0..).scan(1.0, move |product, j| {
        let term = *product;
        *product *= ways_left(intersections, j);
        Some(term)
    })
}

/// The same products, each divided by the number of orders.
fn unordered(intersections: u32) -> impl Iterator<Item = f64> {
    // Divided factor by factor: k! alone would leave the range of an f64 at 171 fences.
    (0..).scan(1.0, move |product, j| {
        let term = *product;
        *product *= ways_left(intersections, j) / f64::from(j + 1);
        Some(term)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quoridor_fences::published;

    fn printed(quantity: &str) -> &'static str {
        include_str!("../../../../tests/golden/quoridor_complexity_mertens.csv")
            .lines()
            .find_map(|line| line.strip_prefix(quantity)?.strip_prefix(','))
            .unwrap()
    }

    #[test]
    fn the_printed_figures_follow() {
        for (quantity, value) in [
            ("fence_placements_estimate", fence_placements(INTERSECTIONS, FENCES)),
            ("state_space_estimate", states()),
            ("game_tree_estimate", game_tree()),
        ] {
            assert_eq!(format!("{value:.4e}"), printed(quantity), "{quantity}");
        }
        assert_eq!(printed("pawn_placements"), PAWN_PLACEMENTS.to_string());
        assert_eq!(81 * 80, PAWN_PLACEMENTS);
    }

    #[test]
    fn other_readings_of_the_formula_give_other_figures() {
        for (value, expected) in [
            (as_typeset(INTERSECTIONS, FENCES), "2.2498e35"),
            (with_one_factor_more(INTERSECTIONS, FENCES), "2.9608e40"),
            (unordered_fence_placements(INTERSECTIONS, FENCES), "3.8921e20"),
        ] {
            assert_eq!(format!("{value:.4e}"), expected);
        }
    }

    #[test]
    fn how_far_it_is_off() {
        let exact: f64 = published::sum(8, 8, FENCES).unwrap().parse().unwrap();
        assert_eq!(format!("{exact:.3e}"), "1.376e21");
        assert_eq!(format!("{:.1e}", fence_placements(INTERSECTIONS, FENCES) / exact), "4.5e17");
        assert!(unordered_fence_placements(INTERSECTIONS, FENCES) < exact);
        // One fence: all 128 ways, exactly. Two: too few.
        assert_eq!(format!("{:e}", unordered_fence_placements(INTERSECTIONS, 1)), "1.29e2");
        assert!(unordered_fence_placements(INTERSECTIONS, 2) < 1.0 + 128.0 + 7952.0);
    }

    #[test]
    fn small_boards_run_out_of_ways() {
        // 2 ways, then none: 1 + 2, whatever the number of fences.
        assert_eq!(format!("{:e}", fence_placements(1, 9)), "3e0");
        assert!(lines(INTERSECTIONS, FENCES).concat().contains("6.1582e38"));
        assert_eq!(lines(4, 4).len(), 2);
    }

    #[test]
    fn columns_add_up_to_the_estimates() {
        for (intersections, fences) in [(INTERSECTIONS, FENCES), (INTERSECTIONS, 64), (1, 1), (100, 3)] {
            let sums = [fence_placements(intersections, fences), unordered_fence_placements(intersections, fences)];
            for (column, sum) in columns(intersections, fences).iter().zip(sums) {
                assert_eq!(column.figures.len(), fences as usize + 1, "{}", column.name);
                let shown: f64 = column.figures.iter().map(|figure| figure.parse::<f64>().unwrap()).sum();
                assert!((shown / sum - 1.0).abs() < 1e-4, "{} {shown} {sum}", column.name);
            }
        }
        let figures = |column: usize| columns(INTERSECTIONS, 2)[column].figures.clone();
        // 128, 128 * 124, and half of it.
        assert_eq!(figures(0), ["1.0000e0", "1.2800e2", "1.5872e4"]);
        assert_eq!(figures(1), ["1.0000e0", "1.2800e2", "7.9360e3"]);
        // No figure rather than infinity.
        let large = columns(30_000, 200);
        assert_eq!((large[0].figures[200].as_str(), large[0].figures[2].as_str()), ("", "3.5998e9"));
        assert!(lines(30_000, 200).is_empty(), "{:?}", lines(30_000, 200));
    }
}
