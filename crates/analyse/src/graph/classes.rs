//! Classes of states that have equal counts after every column: a proved bound on the order that is below the number of states.
//!
//! ```text
//!   find     group the states by their counts after some columns, modulo two primes
//!   prove    a column must take vectors that are constant on the classes to such vectors
//! ```
//!
//! A state of Go and its mirror image are such a class. So the classes are the paper's up-down classes (Tromp, Farnebäck 2016,
//! table 2). The proof tries random vectors. A column that does not keep the classes passes one with a chance of at most 1/p, and
//! all with less than 2^-80. Cost: some tens of columns.

use keima_model::mix::split_mix;

use super::pairs::Operator;
use super::pass::pack;

/// Columns after which states are compared, beyond those until they settle.
const COLUMNS: usize = 24;
/// Random vectors.
const TRIALS: usize = 3;

/// A bound on the order of the recurrence modulo the primes of `operator`; `None` if no classes were found.
pub(super) fn order_bound(operator: &Operator<'_>) -> Option<usize> {
    let settled = operator.graph().settled_after();
    let mut counts = operator.start();
    for number in 0..settled + COLUMNS {
        operator.apply(number, &mut counts);
    }
    let classes = Classes::of(&counts);
    let mut seed = 0;
    for _ in 0..TRIALS {
        let values: Vec<u64> = (0..classes.number)
            .map(|_| {
                let mut random = || split_mix(&mut seed) % operator.primes()[0].min(operator.primes()[1]);
                pack([random(), random()])
            })
            .collect();
        let mut vector: Vec<u64> = classes.of_state.iter().map(|&class| values[class as usize]).collect();
        operator.apply(usize::MAX, &mut vector);
        if !classes.has_constant(&vector) {
            return None;
        }
    }
    // The terms from the column on whose counts are constant on the classes obey a recurrence of that order.
    let mut counts = operator.start();
    let late = (0..settled + COLUMNS).find(|&number| {
        operator.apply(number, &mut counts);
        number + 1 >= settled && classes.has_constant(&counts)
    })?;
    Some(classes.number + late + 1)
}

/// A partition of the states.
struct Classes {
    of_state: Vec<u32>,
    number: usize,
}

impl Classes {
    /// States of equal counts are a class.
    fn of(counts: &[u64]) -> Self {
        let mut values = counts.to_vec();
        values.sort_unstable();
        values.dedup();
        let class = |count: &u64| values.binary_search(count).unwrap_or_default() as u32;
        Self { of_state: counts.iter().map(class).collect(), number: values.len() }
    }
    /// Whether all states of a class have one value.
    fn has_constant(&self, vector: &[u64]) -> bool {
        let mut values = vec![None; self.number];
        vector.len() == self.of_state.len()
            && self
                .of_state
                .iter()
                .zip(vector)
                .all(|(&class, value)| values[class as usize].get_or_insert(value) == &value)
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{ProblemRequest, Registry};
    use keima_problems::Problems;

    use crate::graph::Graph;

    const TABLE: &str = include_str!("../../../../tests/golden/go_recurrences.csv");

    #[test]
    fn classes_that_a_column_breaks_are_refused() {
        use crate::graph::{Column, Level};
        let graph = |buckets, sources, start: Vec<u64>| Graph {
            columns: vec![Column { levels: vec![Level { buckets, sources }], weights: vec![1; start.len()] }],
            start,
            first: 1,
        };
        for (buckets, sources, start, bound) in [
            // Three states take the sum of the first two: they are a class, and one column adds one.
            (vec![(2, 3)], vec![0, 1, 0, 1, 0, 1], vec![1, 1, 1], 2),
            // (b, a, d, c) to (c, a + b, a + b, c + c): from (1, 1, 1, 2) all counts double, so that a, b and d seem a class.
            (vec![(1, 1), (2, 3)], vec![3, 1, 0, 1, 0, 3, 3], vec![1, 1, 1, 2], 4),
        ] {
            let got = graph(buckets, sources, start).order_bound([268_435_399, 268_435_367]);
            assert_eq!(got, bound);
        }
    }

    #[test]
    fn classes_of_go_are_the_papers() {
        for height in 1..=6 {
            let request = ProblemRequest::from_words(&format!("go {height}x60")).unwrap();
            let graph = Graph::discover(&Problems.open(&request).unwrap()).unwrap();
            let row = TABLE.lines().find(|line| line.starts_with(&format!("{height},"))).unwrap();
            let classes: usize = row.split(',').nth(1).unwrap().parse().unwrap();
            // The columns until the classes hold add one each.
            let bound = graph.order_bound([268_435_399, 268_435_367]);
            assert!(
                (classes..=classes + graph.settled_after()).contains(&bound),
                "{height}: {bound}, {classes} classes"
            );
        }
    }
}
