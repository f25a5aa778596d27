//! One run of Chen's heuristic sampling.
//!
//! The tree is walked from the largest stratum to the smallest. Each stratum has one representative with a weight, the
//! estimated number of nodes for which it stands. A newcomer of weight w adds its weight to the stratum's W and takes the
//! representative's place with probability w / (W + w). So each node of the tree stands for itself once on the average, and
//! the sum of weight times value over all representatives is an unbiased estimate.
//!
//! P. C. Chen, *Heuristic sampling: a method for predicting the performance of tree searching programs*, SIAM J. Comput.
//! 21(2), 1992; Tromp and Farnebäck, *Combinatorics of Go* (2016), section 5.8. Cost: the children of one node for each
//! stratum that the run meets.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

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

/// The estimate of the sum of all values, by the run of this number.
pub fn one_run<T: Tree>(tree: &T, seed: u64, run: u64) -> Huge {
    let mut random = Random::new(seed, run);
    let mut strata: BTreeMap<u64, (T::Node, Huge)> = BTreeMap::new();
    for (stratum, root, times) in tree.roots() {
        offer(&mut strata, &mut random, stratum, Huge::from(times), || root);
    }
    let mut sum = Huge::ZERO;
    let mut children = Vec::new();
    while let Some((_, (node, weight))) = strata.pop_last() {
        sum += weight * Huge::from(tree.value(&node));
        tree.grow(&node, &mut children);
        for (stratum, child) in children.drain(..) {
            offer(&mut strata, &mut random, stratum, weight, || tree.make(&node, child));
        }
    }
    sum
}

/// A newcomer of this stratum and weight; `make` is called where it becomes the representative.
fn offer<N>(
    strata: &mut BTreeMap<u64, (N, Huge)>,
    random: &mut Random,
    stratum: u64,
    weight: Huge,
    make: impl FnOnce() -> N,
) {
    match strata.entry(stratum) {
        Entry::Vacant(free) => {
            free.insert((make(), weight));
        }
        Entry::Occupied(mut taken) => {
            let (node, all) = taken.get_mut();
            *all += weight;
            if random.unit() < weight.over(*all) {
                *node = make();
            }
        }
    }
}
