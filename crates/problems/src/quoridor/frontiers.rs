//! Numbers of border states: upper bounds, and the share of them that a scan has reached ([`reached`]).
//!
//! The split bits of a state are almost independent of the rest: families of a stage differ in them and have almost the
//! same size. This file counts the rest: non-crossing partitions of the frontier into components, with the goals that they
//! touch and the pawns in them.
//!
//! A component that touches a goal is not under an arc of another one, or its way to the goal would cross that arc. So the
//! goals' flags stand on the *outer* components O1 .. Om, which lie side by side. O1 has square 0 and touches A, Om has
//! square n-1 and touches B. No component that touches B lies before one that touches A, or their ways would cross:
//!
//! ```text
//!   O1  O2  O3  O4  O5        flags are subsets a of O1..Om with O1, and b with Om, with last(a) <= first(b);
//!   A       A   B   B         an unplaced or waiting pawn: 1 + components without its goal's flag
//! ```
//!
//! Once a pawn is resolved, only the partition counts, with all components that touch the other goal joined. After a Cross
//! fence (cross bit 1) the square just added is alone. Cost: n^5 small sums.

use crate::choose::choose;

/// Counts by number of components.
type Row = Vec<u128>;

/// Numbers of non-crossing partitions of up to n squares.
struct Partitions {
    /// `[squares][outer][components]`.
    by_outer: Vec<Vec<Row>>,
}

impl Partitions {
    fn new(n: usize) -> Self {
        let zero = || vec![vec![0; n + 1]; n + 1];
        // One outer component that spans all squares, and the components under its arcs: [squares][components].
        let mut spanning: Vec<Row> = zero();
        let mut by_outer = vec![zero(); n + 1];
        by_outer[0][0][0] = 1;
        for squares in 1..=n {
            if squares == 1 {
                spanning[1][1] = 1;
            }
            // Its first square, then an arc over a gap, then the rest of it.
            for gap in 0..squares - 1 {
                for (under, ways) in total(&by_outer[gap]).into_iter().enumerate() {
                    for rest in 0..=n - under {
                        let more = ways * spanning[squares - 1 - gap][rest];
                        spanning[squares][rest + under] += more;
                    }
                }
            }
            for span in 1..=squares {
                for outer in 1..=squares {
                    for first in 0..=n {
                        for rest in 0..=n - first {
                            let more = spanning[span][first] * by_outer[squares - span][outer - 1][rest];
                            by_outer[squares][outer][first + rest] += more;
                        }
                    }
                }
            }
        }
        Self { by_outer }
    }

    /// Sum over the partitions of `squares` squares of `weight(outer components, components)`.
    fn sum(&self, squares: usize, weight: impl Fn(usize, usize) -> u128) -> u128 {
        let rows = self.by_outer[squares].iter().enumerate();
        let entries = rows.flat_map(|(outer, row)| row.iter().enumerate().map(move |(all, &ways)| (outer, all, ways)));
        entries.filter(|entry| entry.2 > 0).map(|(outer, all, ways)| ways * weight(outer, all)).sum()
    }
}

/// Sum over the numbers of outer components.
fn total(by_outer: &[Row]) -> Row {
    let mut sum = vec![0; by_outer.first().map_or(0, Vec::len)];
    for row in by_outer {
        sum.iter_mut().zip(row).for_each(|(sum, more)| *sum += more);
    }
    sum
}

fn binomial(of: usize, take: usize) -> u128 {
    choose(of as u32, take as u32)
}

/// Subsets of `size` of outer components 1 to `last`, `last` among them, as (number, size); with the first as well if
/// `with_first`.
fn flags(last: usize, with_first: bool) -> Vec<(u128, usize)> {
    match (with_first, last) {
        (true, 1) => vec![(1, 1)],
        (true, _) => (0..=last - 2).map(|between| (binomial(last - 2, between), between + 2)).collect(),
        (false, _) => (0..last).map(|between| (binomial(last - 1, between), between + 1)).collect(),
    }
}

/// Sum over the flags on `outer` components of ways(a) x ways(b), a and b the numbers of components with either flag.
/// Without `first_is_a` the first component may lack A, and A may be nowhere.
fn flagged(outer: usize, first_is_a: bool, ways: impl Fn(usize, usize) -> u128) -> u128 {
    let mut sum = 0;
    for last_a in usize::from(first_is_a)..=outer {
        let a_sets = if last_a == 0 { vec![(1, 0)] } else { flags(last_a, first_is_a) };
        // The B flags are the mirror image: the last component has one.
        for first_b in last_a.max(1)..=outer {
            for &(a_ways, a) in &a_sets {
                for (b_ways, b) in flags(outer + 1 - first_b, true) {
                    sum += a_ways * b_ways * ways(a, b);
                }
            }
        }
    }
    sum
}

/// Upper bounds on the numbers of states without their split bits, before a pass at each cell of a column (cell 0: at a
/// line's start).
pub fn most(n: u32) -> Vec<u128> {
    let n = n as usize;
    let partitions = Partitions::new(n);
    // The other pawn is unplaced or waits in a component; for either player, and with the shared bit.
    let one_resolved = partitions.sum(n, |_, all| 2 * all as u128 + all as u128 - 1);
    let both_resolved = 2;
    let unresolved =
        partitions.sum(n, |outer, all| flagged(outer, true, |a, b| ((1 + all - a) * (1 + all - b)) as u128));
    let without_cross = unresolved + one_resolved + both_resolved;
    let rest = n - 1;
    let cell = |cell: usize| match cell {
        0 => without_cross,
        // Square 0 is alone, and touches A.
        1 => {
            let unresolved = partitions
                .sum(rest, |outer, all| flagged(outer, false, |a, b| ((1 + all - a) * (2 + all - b)) as u128));
            without_cross + unresolved + one_resolved + both_resolved
        }
        // The square before the kink is alone, and touches nothing.
        _ => {
            let unresolved =
                partitions.sum(rest, |outer, all| flagged(outer, true, |a, b| ((2 + all - a) * (2 + all - b)) as u128));
            let one_resolved = partitions.sum(rest, |_, all| 2 * (1 + all as u128) + all as u128);
            without_cross + unresolved + one_resolved + both_resolved
        }
    };
    (0..rest).map(cell).collect()
}

/// Share of [`most`] that a scan has reached before `pass`: a fit, rounded up.
///
/// Walls between neighbours on the frontier consist of fences in the lines above, and no board has enough lines for every
/// state. At the end 48, 54, 59 and 66 % of the bound are reached for n = 4 to 7; a line earlier 1.37 times as many are
/// missing. In the first lines less than 30 % are reached, and the fit ends there.
pub fn reached(n: u32, pass: u32) -> f64 {
    if n < 4 {
        return 1.0;
    }
    let rest = f64::from((n - 1) * (n - 1) - pass) / f64::from(n - 1);
    let missing_at_the_end = (0.74 - 0.06 * f64::from(n)).max(0.0);
    (1.0 - missing_at_the_end * 1.35_f64.powf(rest)).max(0.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_narayana_numbers() {
        let partitions = Partitions::new(11);
        for n in 1..=11 {
            for k in 1..=n {
                let expected = binomial(n, k) * binomial(n, k - 1) / n as u128;
                assert_eq!(partitions.sum(n, |_, all| u128::from(all == k)), expected, "{n} {k}");
            }
        }
    }

    #[test]
    fn flags_by_enumeration() {
        for outer in 1..=7_usize {
            for first_is_a in [false, true] {
                let mut expected = 0;
                for a in 0..1_usize << outer {
                    for b in 1 << (outer - 1)..1_usize << outer {
                        let apart = a == 0 || a.ilog2() <= b.trailing_zeros();
                        if apart && (a & 1 == 1 || !first_is_a) {
                            expected += 100 * u128::from(a.count_ones()) + u128::from(b.count_ones());
                        }
                    }
                }
                let got = flagged(outer, first_is_a, |a, b| (100 * a + b) as u128);
                assert_eq!(got, expected, "{outer} {first_is_a}");
            }
        }
    }
}
