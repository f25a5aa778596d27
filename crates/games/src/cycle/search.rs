//! The search for one cycle through all pairs, with an odd number of flips.
//!
//! 1. A matching gives every pair a successor and a predecessor: some cycles that cover all pairs.
//! 2. Exchanges of successors merge them. An exchange takes tails t0, t1, ... with their successors s0, s1, ... and lets t0
//!    go to s1, t1 to s2, and the last one to s0. It is drawn at random, tail by tail, until it closes.
//! 3. Exchanges that leave fewer cycles, or as many, are made, and a few that leave one more.
//!
//! ```text
//!   cycles    cut at the tails, each becomes segments s_i ... t_j, where t_j is the next tail after t_i
//!   after     segment i is followed by segment j + 1: the cycles of i -> j + 1 are the new cycles
//! ```
//!
//! Such patching works where most exchanges exist (Karp 1979); game graphs have enough of them. Cost: an exchange of k tails
//! costs k^2, and a walk along the cycles that it changes when it is made.

use keima_model::mix::split_mix;

use super::pairs::{Edge, Pairs};

/// Most tails of an exchange.
const MOST_TAILS: usize = 8;
/// One exchange in this many may leave one cycle more.
const WORSE_ONE_IN: u64 = 2000;

/// A successor for each pair, as cycles.
struct Cover<'a> {
    pairs: &'a Pairs,
    /// Number of the edge that leads on from each pair.
    chosen: Vec<usize>,
    before: Vec<u32>,
    /// Cycle of each pair, and its place in it.
    cycle: Vec<u32>,
    place: Vec<u32>,
    /// Lengths of the cycles; 0 for names without a cycle.
    lengths: Vec<u32>,
    unused: Vec<u32>,
    random: u64,
}

/// The edges of a cycle through all pairs with an odd number of flips, by pair. `None` after `tries` exchanges without one, or
/// where some pair cannot be on such a cycle.
pub(super) fn find(pairs: &Pairs, seed: u64, tries: u64) -> Option<Vec<Edge>> {
    let mut random = seed;
    let chosen = matching(pairs, &mut random)?;
    let mut cover = Cover::new(pairs, chosen, random);
    for _ in 0..tries {
        if cover.is_found() {
            return Some(cover.edges().collect());
        }
        cover.exchange();
    }
    None
}

/// A number below `below`, which is not 0.
fn draw(random: &mut u64, below: usize) -> usize {
    (split_mix(random) % below as u64) as usize
}

/// An edge for each pair such that no two lead to the same one: by augmenting paths, in random order.
fn matching(pairs: &Pairs, random: &mut u64) -> Option<Vec<usize>> {
    let size = pairs.edges.len();
    // For each pair, the pair that leads to it and the number of its edge.
    let mut taken: Vec<Option<(usize, usize)>> = vec![None; size];
    let mut seen = vec![usize::MAX; size];
    for start in 0..size {
        // Breadth first; `came` remembers by which edge a pair was reached.
        let mut came: Vec<(usize, usize)> = Vec::new();
        let mut queue = vec![(start, usize::MAX)];
        let mut at = 0;
        let mut free = None;
        while at < queue.len() && free.is_none() {
            let from = queue[at].0;
            let edges = &pairs.edges[from];
            let first = if edges.is_empty() { 0 } else { draw(random, edges.len()) };
            for number in (first..edges.len()).chain(0..first) {
                let to = edges[number].to as usize;
                if seen[to] == start {
                    continue;
                }
                seen[to] = start;
                came.push((at, number));
                let Some((owner, _)) = taken[to] else {
                    free = Some(came.len() - 1);
                    break;
                };
                queue.push((owner, came.len() - 1));
            }
            at += 1;
        }
        let mut step = free?;
        loop {
            let (from, number) = came[step];
            let (node, earlier) = queue[from];
            taken[pairs.edges[node][number].to as usize] = Some((node, number));
            if earlier == usize::MAX {
                break;
            }
            step = earlier;
        }
    }
    let mut chosen = vec![0; size];
    for (from, number) in taken.into_iter().flatten() {
        chosen[from] = number;
    }
    Some(chosen)
}

impl<'a> Cover<'a> {
    fn new(pairs: &'a Pairs, chosen: Vec<usize>, random: u64) -> Self {
        let size = chosen.len();
        let mut cover = Self {
            pairs,
            chosen,
            before: vec![0; size],
            cycle: vec![u32::MAX; size],
            place: vec![0; size],
            lengths: vec![0; size],
            unused: (0..size as u32).rev().collect(),
            random,
        };
        for pair in 0..size {
            let next = cover.next(pair);
            cover.before[next] = pair as u32;
        }
        for pair in 0..size {
            if cover.cycle[pair] == u32::MAX {
                cover.name(pair);
            }
        }
        cover
    }

    fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.pairs.edges.iter().zip(&self.chosen).map(|(edges, &number)| edges[number])
    }

    fn next(&self, pair: usize) -> usize {
        self.pairs.edges[pair][self.chosen[pair]].to as usize
    }

    fn is_found(&self) -> bool {
        // One cycle: then its name is the only one in use.
        self.unused.len() + 1 == self.lengths.len() && self.edges().filter(|edge| edge.flips).count() % 2 == 1
    }

    /// Gives the cycle of `pair` a name of its own and numbers its places.
    fn name(&mut self, pair: usize) {
        let Some(name) = self.unused.pop() else { return };
        let (mut at, mut place) = (pair, 0);
        loop {
            (self.cycle[at], self.place[at]) = (name, place);
            place += 1;
            at = self.next(at);
            if at == pair {
                break;
            }
        }
        self.lengths[name as usize] = place;
    }

    /// Draws an exchange, and makes it if it serves.
    fn exchange(&mut self) {
        let size = self.chosen.len();
        let mut tails: Vec<usize> = vec![draw(&mut self.random, size)];
        // The edge by which each tail will go on.
        let mut edges: Vec<usize> = Vec::new();
        let first_successor = self.next(tails[0]);
        while tails.len() <= MOST_TAILS {
            let tail = tails[tails.len() - 1];
            let all = &self.pairs.edges[tail];
            if tails.len() > 1
                && let Some(closing) = all.iter().position(|edge| edge.to as usize == first_successor)
            {
                edges.push(closing);
                self.judge(&tails, &edges);
                return;
            }
            let number = draw(&mut self.random, all.len());
            let tail = self.before[all[number].to as usize] as usize;
            if tails.contains(&tail) {
                return;
            }
            edges.push(number);
            tails.push(tail);
        }
    }

    /// Makes the exchange in which each tail goes on by its edge, if that serves.
    fn judge(&mut self, tails: &[usize], edges: &[usize]) {
        let count = tails.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_unstable_by_key(|&i| (self.cycle[tails[i]], self.place[tails[i]]));
        let mut old: Vec<u32> = order.iter().map(|&i| self.cycle[tails[i]]).collect();
        // The next tail on the same cycle.
        let mut following = vec![0; count];
        for at in 0..count {
            let first = old.iter().position(|&cycle| cycle == old[at]).unwrap_or(at);
            let next = if at + 1 < count && old[at + 1] == old[at] { at + 1 } else { first };
            following[order[at]] = order[next];
        }
        let mut seen = [false; MOST_TAILS + 1];
        let mut new_cycles = Vec::new();
        for start in 0..count {
            if seen[start] {
                continue;
            }
            new_cycles.push(start);
            let mut segment = start;
            while !seen[segment] {
                seen[segment] = true;
                segment = (following[segment] + 1) % count;
            }
        }
        old.dedup();
        let is_worse = new_cycles.len() > old.len();
        let serves =
            !is_worse || new_cycles.len() == old.len() + 1 && split_mix(&mut self.random).is_multiple_of(WORSE_ONE_IN);
        if !serves {
            return;
        }
        // A segment begins at the successor of its tail.
        let starts: Vec<usize> = new_cycles.iter().map(|&segment| self.next(tails[segment])).collect();
        for (&tail, &number) in tails.iter().zip(edges) {
            self.chosen[tail] = number;
            self.before[self.pairs.edges[tail][number].to as usize] = tail as u32;
        }
        for name in old {
            self.lengths[name as usize] = 0;
            self.unused.push(name);
        }
        for start in starts {
            self.name(start);
        }
    }
}
