//! The tree of games, for estimates of their number by sampling.
//!
//! A node is a game so far: where it stands, and which positions it has not visited. Every game counts 1. The stratum is the
//! paper's: the number of positions that can be reached through unvisited ones. It falls with each move.
//!
//! Paper: Tromp and Farnebäck, *Combinatorics of Go* (2016), section 7. Cost: a flood through the graph for each child, and
//! a run has about as many strata as there are positions.

use keima_model::Tree;

use crate::graph::GameGraph;

/// A game so far.
#[derive(Clone, Debug)]
pub struct Game {
    at: u32,
    /// Positions that were not visited, as bits.
    free: Vec<u64>,
}

/// All games of a graph.
pub struct Games<'a> {
    graph: &'a GameGraph,
}

impl<'a> Games<'a> {
    /// The tree of the games of `graph`.
    pub fn new(graph: &'a GameGraph) -> Self {
        Self { graph }
    }

    /// Number of positions that `node` reaches through `free` ones. Takes them out of `free`; `queue` is for its own use.
    fn reach(&self, node: u32, free: &mut [u64], queue: &mut Vec<u32>) -> u64 {
        let mut reached = 0;
        queue.clear();
        queue.push(node);
        while let Some(from) = queue.pop() {
            for &next in self.graph.next(from) {
                let (word, bit) = (next as usize / 64, 1 << (next % 64));
                if free[word] & bit != 0 {
                    free[word] &= !bit;
                    reached += 1;
                    queue.push(next);
                }
            }
        }
        reached
    }
}

impl Tree for Games<'_> {
    type Node = Game;
    type Child = u32;

    fn roots(&self) -> Vec<(u64, Game, u64)> {
        let positions = self.graph.positions().len();
        let mut free = vec![0; positions.div_ceil(64)];
        (1..positions).for_each(|node| free[node / 64] |= 1 << (node % 64));
        let stratum = self.reach(0, &mut free.clone(), &mut Vec::new());
        vec![(stratum, Game { at: 0, free }, 1)]
    }

    fn grow(&self, game: &Game, out: &mut Vec<(u64, u32)>) {
        let (mut queue, mut free) = (Vec::new(), game.free.clone());
        for &next in self.graph.next(game.at) {
            let (word, bit) = (next as usize / 64, 1 << (next % 64));
            if game.free[word] & bit != 0 {
                free.copy_from_slice(&game.free);
                free[word] &= !bit;
                out.push((self.reach(next, &mut free, &mut queue), next));
            }
        }
    }

    fn make(&self, game: &Game, next: u32) -> Game {
        let mut made = Game { at: next, ..game.clone() };
        made.free[next as usize / 64] &= !(1 << (next % 64));
        made
    }

    fn value(&self, _: &Game) -> u64 {
        1
    }
}

#[cfg(test)]
mod tests {
    use keima_sample::{Plan, estimate};

    use super::*;

    #[test]
    fn estimates_are_near_exact_numbers() {
        const SEED: u64 = 7;
        for (height, length, games) in [(1, 1, 1.0), (1, 2, 9.0), (1, 3, 907.0), (1, 4, 2_098_407_841.0)] {
            let graph = GameGraph::new(height, length).unwrap();
            let got = estimate(&Games::new(&graph), Plan { runs: 3000, kept: 1, seed: SEED, threads: 2 }, |_| {});
            let off = (got.mean.to_f64() - games).abs();
            let (error, relative_error) = (got.error.unwrap(), got.relative_error().unwrap());
            let text = format!("seed {SEED}: {height}x{length}: {} +- {error}, expected {games}", got.mean);
            assert!(off <= 4.0 * error.to_f64() + games * 1e-12 && relative_error < 0.1, "{text}");
        }
    }
}
