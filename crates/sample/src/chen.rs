//! One run of Chen's heuristic sampling.
//!
//! The tree is walked from the largest stratum to the smallest. Each stratum has up to K representatives with weights, the
//! estimated number of nodes for which they stand. Where more come than K, some are drawn:
//!
//! ```text
//!   c            the number with  sum over all of min(weight / c, 1) = K
//!   weight > c   stays, and keeps its weight
//!   others       stay with probability weight / c, and have the weight c; exactly so many that there are K
//! ```
//!
//! So each node of the tree stands for itself once on the average, and the sum of weight times value over all representatives is
//! an unbiased estimate. Of all such draws this one changes the weights least (Fearnhead and Clifford 2003). The others are drawn
//! at equal distances along the sum of their weights, in the order in which they came, with one random number.
//!
//! ```text
//!   K = 1    the method of the papers
//!   K > 1    logarithms of runs spread about as much as means of K: where the runs spread over powers of ten, the
//!            relative error of one run falls exponentially in K, and that of K runs only with the root of K
//! ```
//!
//! P. C. Chen, *Heuristic sampling: a method for predicting the performance of tree searching programs*, SIAM J. Comput.
//! 21(2), 1992; Tromp and Farnebäck, *Combinatorics of Go* (2016), section 5.8; P. Fearnhead and P. Clifford, *On-line
//! inference for hidden Markov models via particle filters*, J. R. Stat. Soc. B 65(4), 2003. Cost: for each stratum that the
//! run meets the children of K nodes, a sort of their weights, and K nodes that are made.

use std::collections::BTreeMap;
use std::rc::Rc;

use keima_model::Tree;
use keima_model::mix::{GOLDEN, finalise, split_mix};

use crate::huge::Huge;

/// A stratum draws early where it has this many times more nodes than it keeps.
const MOST_TIMES: usize = 8;

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
    let mut strata: BTreeMap<u64, Vec<Representative<T>>> = BTreeMap::new();
    for (stratum, root, times) in tree.roots() {
        let root = Representative { weight: Huge::from(times), node: Node::Root(root) };
        strata.entry(stratum).or_default().push(root);
    }
    let mut sum = Huge::ZERO;
    let mut children = Vec::new();
    while let Some((_, mut stratum)) = strata.pop_last() {
        draw(&mut stratum, kept, &mut random);
        for Representative { weight, node } in stratum {
            let node = Rc::new(match node {
                Node::Root(node) => node,
                Node::Child(parent, child) => tree.make(&parent, child),
            });
            sum += weight * Huge::from(tree.value(&node));
            tree.grow(&node, &mut children);
            for (stratum, child) in children.drain(..) {
                let others = strata.entry(stratum).or_default();
                others.push(Representative { weight, node: Node::Child(Rc::clone(&node), child) });
                if others.len() >= kept.saturating_mul(MOST_TIMES) {
                    draw(others, kept, &mut random);
                }
            }
        }
    }
    sum
}

/// A node that stands for `weight` nodes.
struct Representative<T: Tree> {
    weight: Huge,
    node: Node<T>,
}

/// A node that may not be made yet.
enum Node<T: Tree> {
    Root(T::Node),
    Child(Rc<T::Node>, T::Child),
}

/// Draws `kept` of the nodes, where there are more.
fn draw<T: Tree>(nodes: &mut Vec<Representative<T>>, kept: usize, random: &mut Random) {
    nodes.retain(|node| !node.weight.is_zero());
    let heaviest = nodes.iter().map(|node| node.weight).reduce(|a, b| if a < b { b } else { a });
    let Some(heaviest) = heaviest.filter(|_| nodes.len() > kept) else { return };
    let weights: Vec<f64> = nodes.iter().map(|node| node.weight.over(heaviest)).collect();
    let Drawing { staying, share } = Drawing::new(&weights, kept);
    let share_weight = heaviest * Huge::new(share, 0);
    // The sum of the others' weights, up to the one at hand, and where the next one is drawn.
    let (mut sum, mut next) = (0.0, random.unit() * share);
    let mut numbers = 0..weights.len();
    nodes.retain_mut(|node| {
        let Some(number) = numbers.next() else { return false };
        if staying[number] {
            return true;
        }
        sum += weights[number];
        let drawn = next < sum;
        if drawn {
            next += share;
            node.weight = share_weight;
        }
        drawn
    });
}

/// Which nodes stay with their weights, and the weight of the others that are drawn.
struct Drawing {
    staying: Vec<bool>,
    share: f64,
}

impl Drawing {
    /// Of more than `kept` weights.
    fn new(weights: &[f64], kept: usize) -> Self {
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let mut staying = vec![false; weights.len()];
        let mut rest: f64 = weights.iter().sum();
        let mut places = kept;
        for number in order {
            // All that are left are shares at most.
            if places <= 1 || weights[number] * places as f64 <= rest {
                break;
            }
            staying[number] = true;
            rest -= weights[number];
            places -= 1;
        }
        // Subtracting must not lose what is left.
        let left: f64 = weights.iter().zip(&staying).filter(|(_, stays)| !**stays).map(|(weight, _)| weight).sum();
        Self { staying, share: left / places as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums stay as they are, nobody that is drawn had more than a share, and nobody that stays had less.
    #[test]
    fn heavy_nodes_stay_and_others_have_shares() {
        for (weights, kept, staying, share) in [
            (&[1.0, 1.0, 1.0][..], 1, &[false, false, false][..], 3.0),
            (&[1.0, 1.0, 1.0, 1.0], 2, &[false; 4], 2.0),
            (&[5.0, 1.0, 1.0, 1.0], 2, &[true, false, false, false], 3.0),
            (&[1.0, 0.5, 8.0, 0.5, 4.0], 3, &[false, false, true, false, true], 2.0),
            (&[3.0, 1.0, 1.0, 1.0], 2, &[false; 4], 3.0),
            (&[1.0, 1e-30, 1e-30], 2, &[true, false, false], 2e-30),
        ] {
            let got = Drawing::new(weights, kept);
            assert_eq!((got.staying.as_slice(), got.share), (staying, share), "{kept} of {weights:?}");
        }
    }

    /// Roots that are reached so many times each. Only one of them has a value.
    struct OneOf<'a> {
        times: &'a [u64],
        number: usize,
    }

    impl Tree for OneOf<'_> {
        type Node = usize;
        type Child = usize;
        fn roots(&self) -> Vec<(u64, usize, u64)> {
            self.times.iter().enumerate().map(|(number, &times)| (0, number, times)).collect()
        }
        fn grow(&self, _: &usize, _: &mut Vec<(u64, usize)>) {}
        fn make(&self, _: &usize, child: usize) -> usize {
            child
        }
        fn value(&self, &node: &usize) -> u64 {
            u64::from(node == self.number)
        }
    }

    /// Each root has its own weight on the average.
    #[test]
    fn each_node_stands_for_itself_on_the_average() {
        const RUNS: u64 = 20_000;
        const SEED: u64 = 7;
        for (weights, kept) in [(&[3, 1, 2, 6][..], 1), (&[3, 1, 2, 6], 2), (&[3, 1, 2, 6], 3), (&[0, 5, 5], 1)] {
            for number in 0..weights.len() {
                let tree = OneOf { times: weights, number };
                let sum: f64 = (0..RUNS).map(|run| one_run(&tree, kept, SEED, run).to_f64()).sum();
                let (mean, expected) = (sum / RUNS as f64, weights[number] as f64);
                assert!((mean - expected).abs() < 0.15, "seed {SEED}: {kept} of {weights:?}: {number} has {mean}");
            }
        }
    }
}
