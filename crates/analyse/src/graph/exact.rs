//! The vector of a column's states in exact integers. Cost: an addition of n log2(lambda) bits a transition.

use rug::{Assign, Integer};

use super::Graph;

/// The exact counts of the states, column by column.
pub struct Exact<'a> {
    graph: &'a Graph,
    /// Counts of the states after the columns so far.
    pub(crate) counts: Vec<Integer>,
    /// Their counts one column earlier, where the column that repeats came last.
    pub(crate) before: Vec<Integer>,
    other: Vec<Integer>,
    columns: usize,
}

impl<'a> Exact<'a> {
    /// Before the first column.
    pub fn new(graph: &'a Graph) -> Self {
        let counts = graph.start.iter().map(|&count| Integer::from(count)).collect();
        Self { graph, counts, before: Vec::new(), other: Vec::new(), columns: 0 }
    }
    /// Columns so far.
    pub fn columns(&self) -> usize {
        self.columns
    }
    /// Whether the states before the last column are numbered as those after it.
    pub(crate) fn is_settled(&self) -> bool {
        self.columns >= self.graph.columns.len()
    }
}

impl Iterator for Exact<'_> {
    type Item = Integer;
    /// The next term; it never ends.
    fn next(&mut self) -> Option<Integer> {
        let column = self.graph.column(self.columns);
        self.before.clone_from(&self.counts);
        for level in &column.levels {
            self.other.resize(level.states(), Integer::new());
            for (target, group) in self.other.iter_mut().zip(level.groups()) {
                target.assign(0);
                for &source in group {
                    *target += &self.counts[source as usize];
                }
            }
            std::mem::swap(&mut self.counts, &mut self.other);
        }
        self.columns += 1;
        let weighed = self.counts.iter().zip(&column.weights).filter(|&(_, &weight)| weight != 0);
        Some(weighed.fold(Integer::new(), |sum, (count, &weight)| sum + Integer::from(count * weight)))
    }
}
