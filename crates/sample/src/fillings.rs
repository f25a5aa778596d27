//! The tree of a problem: its partial fillings, cell by cell. Any problem has one.
//!
//! A node is a state after some passes, reached in one way. It has a child for each successor. The answer's functionals give
//! the values. States that are equal are different nodes: so the tree tells how large the answer is, but not how many
//! states there are.
//!
//! ```text
//!   stratum    (passes to come) << 32 | the problem's own stratum
//! ```
//!
//! All passes run in the working form of the window over the whole column; the canonical form goes between columns. Cost: a
//! virtual call a node.

use std::sync::Arc;

use keima_model::{AnyProblem, Key, Layout, Problem, Successors, Tree, Window};

use crate::huge::Huge;
use crate::runs::{Estimate, Plan, estimate};

/// A state on the way.
#[derive(Clone, Copy, Debug)]
pub struct Filling<K> {
    key: K,
    /// Passes done.
    passes: u32,
    /// The coefficient to which it counts.
    coefficient: u32,
}

/// The partial fillings of a problem's board.
pub struct Fillings<K> {
    problem: Arc<dyn Problem<K>>,
    window: Window,
    passes: u32,
    /// Functionals of the answer: their numbers, by the passes done when they are read.
    answers: Vec<(u32, usize)>,
}

impl<K: Key> Fillings<K> {
    /// The tree of `problem`.
    pub fn new(problem: Arc<dyn Problem<K>>) -> Self {
        let board = problem.board();
        let functionals = problem.functionals();
        let answers = functionals.iter().enumerate().filter(|(_, functional)| functional.answer);
        let answers = answers.map(|(number, functional)| (functional.after_pass + 1, number)).collect();
        let window = Window { first: 0, len: board.height };
        Self { problem, window, passes: board.passes(), answers }
    }

    fn strata(&self, keys: &[K], passes: u32) -> Vec<u64> {
        let mut own = vec![0; keys.len()];
        self.problem.strata(self.window, keys, &mut own);
        let left = u64::from(self.passes - passes) << 32;
        own.into_iter().map(|stratum| left | u64::from(stratum)).collect()
    }
}

impl<K: Key> Tree for Fillings<K> {
    type Node = Filling<K>;
    type Child = Filling<K>;

    fn roots(&self) -> Vec<(u64, Filling<K>, u64)> {
        let (mut keys, counts): (Vec<K>, Vec<u64>) = self.problem.start().into_iter().unzip();
        self.problem.enter(Layout::Canonical, self.window, &mut keys);
        let nodes = keys.iter().map(|&key| Filling { key, passes: 0, coefficient: 0 });
        self.strata(&keys, 0)
            .into_iter()
            .zip(nodes)
            .zip(counts)
            .map(|((stratum, node), count)| (stratum, node, count))
            .collect()
    }

    fn grow(&self, node: &Filling<K>, out: &mut Vec<(u64, Filling<K>)>) {
        if node.passes == self.passes {
            return;
        }
        let board = self.problem.board();
        let mut next: Successors<K> = Successors::default();
        self.problem.expand(node.passes, self.window, &[node.key], &mut next);
        if board.ends_column(node.passes) && node.passes + 1 < self.passes {
            self.problem.leave(self.window, Layout::Canonical, &mut next.keys);
            self.problem.enter(Layout::Canonical, self.window, &mut next.keys);
        }
        let passes = node.passes + 1;
        // Without shifts all successors count to the same coefficient.
        let shifts = next.shifts.iter().copied().chain(std::iter::repeat(0));
        let strata = self.strata(&next.keys, passes);
        let children = next.keys.iter().zip(shifts).zip(strata).map(|((&key, shift), stratum)| {
            (stratum, Filling { key, passes, coefficient: node.coefficient + u32::from(shift) })
        });
        let coefficients = self.problem.coefficients();
        out.extend(children.filter(|(_, child)| child.coefficient < coefficients));
    }

    fn make(&self, _: &Filling<K>, child: Filling<K>) -> Filling<K> {
        child
    }

    fn value(&self, node: &Filling<K>) -> u64 {
        let read = self.answers.iter().filter(|(passes, _)| *passes == node.passes);
        let weights = read.map(|&(_, functional)| {
            let mut weight = [0];
            self.problem.weigh(functional, self.window, &[node.key], &mut weight);
            u64::from(weight[0])
        });
        weights.sum()
    }
}

/// Estimates a problem's answer: the sum of its coefficients, up to the last that is counted.
pub fn answer(problem: &AnyProblem, plan: Plan, done: impl Fn(u64) + Sync) -> Estimate {
    match problem {
        AnyProblem::Narrow(problem) => estimate(&Fillings::new(Arc::clone(problem)), plan, done),
        AnyProblem::Wide(problem) => estimate(&Fillings::new(Arc::clone(problem)), plan, done),
    }
}

/// The largest number that the problem's answer can be. The proved bound is that of one coefficient of one functional, and
/// the answer sums them: so it counts as often as there are such.
pub fn bound(problem: &AnyProblem) -> Huge {
    let info = problem.info();
    let parts = info.functionals().iter().filter(|functional| functional.answer).count() as u64;
    let summands = Huge::from(parts) * Huge::from(u64::from(info.coefficients()));
    let factors = info.bound();
    factors.iter().fold(summands, |product, &(base, exponent)| product * Huge::power(base.into(), exponent.into()))
}
