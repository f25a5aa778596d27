//! One run of Chen's heuristic sampling.
//!
//! The tree is walked from the largest stratum to the smallest. Each stratum has up to K representatives with weights, the
//! estimated number of nodes for which they stand. Where one more comes, the two lightest are merged: of weights v and w the
//! second one stays with probability w / (v + w), and has the weight v + w. So each node of the tree stands for itself once on
//! the average, and the sum of weight times value over all representatives is an unbiased estimate.
//!
//! ```text
//!   K = 1    the method of the papers
//!   K > 1    logarithms of runs spread about as much as means of K: where the runs spread over powers of ten, the
//!            relative error of one run falls exponentially in K, and that of K runs only with the root of K
//! ```
//!
//! P. C. Chen, *Heuristic sampling: a method for predicting the performance of tree searching programs*, SIAM J. Comput.
//! 21(2), 1992; Tromp and Farnebäck, *Combinatorics of Go* (2016), section 5.8. Cost: the children of K nodes for each
//! stratum that the run meets.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use keima_model::Tree;
use keima_model::mix::{GOLDEN, finalise, split_mix};

use crate::huge::Huge;

/// The random numbers of a run. Runs of one seed differ by their number, whichever thread does them.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, run: u64) -> Self {
        Self(finalise(finalise(seed).wrapping_add(run.wrapping_mul(GOLDEN))))
    }

    /// A number in 0..1, with 53 bits.
    fn unit(&mut self) -> f64 {
        (split_mix(&mut self.0) >> 11) as f64 * 2_f64.powi(-53)
    }
}

/// The estimate of the sum of all values, by the run of this number, with up to `kept` nodes a stratum.
pub fn one_run<T: Tree>(tree: &T, kept: usize, seed: u64, run: u64) -> Huge {
    let mut random = Random::new(seed, run);
    let mut strata: BTreeMap<u64, Stratum<T::Node>> = BTreeMap::new();
    for (stratum, root, times) in tree.roots() {
        strata.entry(stratum).or_default().offer(kept, &mut random, Huge::from(times), || root);
    }
    let mut sum = Huge::ZERO;
    let mut children = Vec::new();
    while let Some((_, stratum)) = strata.pop_last() {
        for Representative { weight, node } in stratum.0.into_vec() {
            sum += weight * Huge::from(tree.value(&node));
            tree.grow(&node, &mut children);
            for (stratum, child) in children.drain(..) {
                strata.entry(stratum).or_default().offer(kept, &mut random, weight, || tree.make(&node, child));
            }
        }
    }
    sum
}

/// A node that stands for `weight` nodes.
struct Representative<N> {
    weight: Huge,
    node: N,
}

impl<N> PartialEq for Representative<N> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl<N> Eq for Representative<N> {}
impl<N> PartialOrd for Representative<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
/// The lightest is the greatest, since a heap hands out the greatest.
impl<N> Ord for Representative<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.weight.partial_cmp(&self.weight).unwrap_or(Ordering::Equal)
    }
}

/// The representatives of a stratum.
struct Stratum<N>(BinaryHeap<Representative<N>>);

impl<N> Default for Stratum<N> {
    fn default() -> Self {
        Self(BinaryHeap::new())
    }
}

impl<N> Stratum<N> {
    /// A newcomer of this weight; `make` is called where it becomes a representative.
    fn offer(&mut self, kept: usize, random: &mut Random, weight: Huge, make: impl FnOnce() -> N) {
        if self.0.len() < kept {
            self.0.push(Representative { weight, node: make() });
            return;
        }
        let Some(mut lightest) = self.0.pop() else { return };
        // The newcomer is one of the two lightest unless another one lies between.
        let between = self.0.peek().is_some_and(|next| next.weight < weight);
        if let Some(next) = between.then(|| self.0.pop()).flatten() {
            let node = make();
            lightest.merge(random, next.weight, || next.node);
            self.0.push(Representative { weight, node });
        } else {
            lightest.merge(random, weight, make);
        }
        self.0.push(lightest);
    }
}

impl<N> Representative<N> {
    /// One of both stays, in proportion to the weights.
    fn merge(&mut self, random: &mut Random, weight: Huge, other: impl FnOnce() -> N) {
        self.weight += weight;
        if random.unit() < weight.over(self.weight) {
            self.node = other();
        }
    }
}
