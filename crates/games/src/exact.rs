//! Exact numbers of games by length: simple paths from the empty board.
//!
//! A path that stands at v may go on to the nodes that it can reach through unvisited ones, R. The number of ways depends on
//! (v, R) alone: that is what the cache keeps, where R is small. The cache is a table of fixed size in which newer entries
//! take the place of older ones. At first moves symmetries of the graph save work: as long as some keep all nodes of the path,
//! one node of each orbit serves for all of it.
//!
//! Paper: Tromp and Farnebäck, *Combinatorics of Go* (2016), table 7. Cost: 1x4 takes seconds, 2x2 one to two minutes of a core,
//! 60 MB.

use keima_model::mix::{GOLDEN, finalise};

use crate::graph::GameGraph;

/// Most positions: a set of nodes is a word.
pub const MAX_POSITIONS: usize = 64;
/// Most nodes within reach of a cached entry.
const CACHED: u32 = 24;
/// Lengths of a cached entry, from 0 on.
const ROW: usize = CACHED as usize + 1;
/// Entries of the cache.
const ENTRIES: usize = 1 << 18;

/// Games by number of moves, from 0 on. `None` where the graph has more than [`MAX_POSITIONS`] nodes, or a number is beyond
/// 64 bits.
pub fn games_by_length(graph: &GameGraph) -> Option<Vec<u64>> {
    let nodes = graph.positions().len();
    if nodes > MAX_POSITIONS {
        return None;
    }
    let mut next = [0; MAX_POSITIONS];
    for (set, node) in next.iter_mut().zip(0..nodes as u32) {
        *set = graph.next(node).iter().fold(0, |set, target| set | 1 << target);
    }
    let mut search = Search {
        next,
        rows: vec![[0; MAX_POSITIONS]; MAX_POSITIONS + 1],
        keys: vec![(0, 0); ENTRIES],
        cache: vec![0; ENTRIES * ROW],
    };
    let all = u64::MAX >> (MAX_POSITIONS - nodes);
    search.by_orbits(0, 0, all & !1, &graph.symmetries())?;
    let mut lengths = search.rows[0].to_vec();
    while lengths.len() > 1 && lengths.last() == Some(&0) {
        lengths.pop();
    }
    Some(lengths)
}

struct Search {
    /// Nodes to which each node has an edge.
    next: [u64; MAX_POSITIONS],
    /// Results of the path's nodes, by depth: paths from there by length.
    rows: Vec<[u64; MAX_POSITIONS]>,
    /// Node and reach of the cache's entries. Reach 0 stands for none.
    keys: Vec<(u32, u64)>,
    cache: Vec<u64>,
}

impl Search {
    /// As [`Search::paths`]; `symmetries` keep all nodes of the path so far.
    fn by_orbits(&mut self, depth: usize, node: u32, free: u64, symmetries: &[Vec<u32>]) -> Option<()> {
        if symmetries.len() <= 1 {
            return self.paths(depth, node, free);
        }
        self.rows[depth] = [0; MAX_POSITIONS];
        self.rows[depth][0] = 1;
        let mut left = self.next[node as usize] & free;
        while left != 0 {
            let target = left.trailing_zeros();
            let orbit = symmetries.iter().fold(0, |orbit, map| orbit | 1_u64 << map[target as usize]);
            left &= !orbit;
            let kept: Vec<Vec<u32>> = symmetries.iter().filter(|map| map[target as usize] == target).cloned().collect();
            self.by_orbits(depth + 1, target, free & !(1 << target), &kept)?;
            self.add(depth, MAX_POSITIONS, orbit.count_ones().into())?;
        }
        Some(())
    }

    /// Leaves in `rows[depth]` the simple paths from `node` through `free` nodes, by length. `None` beyond 64 bits.
    fn paths(&mut self, depth: usize, node: u32, free: u64) -> Option<()> {
        let reach = self.reach(node, free);
        let within = reach.count_ones();
        let width = within as usize + 1;
        if within == 0 {
            self.rows[depth][0] = 1;
            return Some(());
        }
        let entry = (within <= CACHED).then(|| Self::entry(node, reach));
        if let Some(entry) = entry
            && self.keys[entry] == (node, reach)
        {
            self.rows[depth][..width].copy_from_slice(&self.cache[entry * ROW..entry * ROW + width]);
            return Some(());
        }
        self.rows[depth][..width].fill(0);
        self.rows[depth][0] = 1;
        let mut left = self.next[node as usize] & reach;
        while left != 0 {
            let target = left.trailing_zeros();
            left &= left - 1;
            let free = reach & !(1 << target);
            self.paths(depth + 1, target, free)?;
            // The target's reach is not larger, and that is as long as its row.
            let below = self.reach(target, free).count_ones() as usize + 2;
            self.add(depth, below.min(width), 1)?;
        }
        if let Some(entry) = entry {
            self.keys[entry] = (node, reach);
            self.cache[entry * ROW..entry * ROW + width].copy_from_slice(&self.rows[depth][..width]);
        }
        Some(())
    }

    /// Adds `times` the row of the next depth, one move longer, up to length `width - 1`.
    fn add(&mut self, depth: usize, width: usize, times: u64) -> Option<()> {
        let (row, below) = self.rows.split_at_mut(depth + 1);
        for (sum, &paths) in row[depth][1..width].iter_mut().zip(&below[0]) {
            *sum = sum.checked_add(paths.checked_mul(times)?)?;
        }
        Some(())
    }

    /// The nodes that `node` can reach through `free` ones.
    fn reach(&self, node: u32, free: u64) -> u64 {
        let mut reached = self.next[node as usize] & free;
        let mut fresh = reached;
        while fresh != 0 {
            let more = self.next[fresh.trailing_zeros() as usize] & free & !reached;
            fresh = fresh & (fresh - 1) | more;
            reached |= more;
        }
        reached
    }

    fn entry(node: u32, reach: u64) -> usize {
        finalise(reach.wrapping_add(u64::from(node).wrapping_mul(GOLDEN))) as usize % ENTRIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All simple paths, one after the other.
    fn walk(graph: &GameGraph, path: &mut Vec<u32>, lengths: &mut Vec<u64>) {
        let moves = path.len() - 1;
        if lengths.len() == moves {
            lengths.push(0);
        }
        lengths[moves] += 1;
        for &next in graph.next(path[moves]) {
            if !path.contains(&next) {
                path.push(next);
                walk(graph, path, lengths);
                path.pop();
            }
        }
    }

    /// Table 7 of the paper; lengths against every path. 2x2 has 386356909593 and takes a minute: `keima games 2x2`.
    #[test]
    fn games_are_those_of_the_paper() {
        for (length, games) in [(1, 1), (2, 9), (3, 907)] {
            let graph = GameGraph::new(1, length).unwrap();
            let lengths = games_by_length(&graph).unwrap();
            assert_eq!(lengths.iter().sum::<u64>(), games, "1x{length}");
            let mut walked = Vec::new();
            walk(&graph, &mut vec![0], &mut walked);
            assert_eq!(lengths, walked, "1x{length}");
        }
        assert_eq!(games_by_length(&GameGraph::new(1, 5).unwrap()), None);
    }

    #[test]
    #[ignore = "takes a minute: cargo test --release -p keima-games -- --ignored"]
    fn two_by_two_has_386_thousand_million() {
        let lengths = games_by_length(&GameGraph::new(2, 2).unwrap()).unwrap();
        assert_eq!(lengths.iter().sum::<u64>(), 386_356_909_593);
    }

    #[test]
    fn one_by_four_has_two_thousand_million() {
        let lengths = games_by_length(&GameGraph::new(1, 4).unwrap()).unwrap();
        assert_eq!(lengths.iter().sum::<u64>(), 2_098_407_841);
        assert!(lengths.len() > 3 * 8 - 5, "games of 19 moves and more: {lengths:?}");
    }
}
