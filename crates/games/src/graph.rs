//! The game graph: legal positions, and an edge for each move that leads to another position.
//!
//! ```text
//!   node    number of a position in the order of their ternary numbers; node 0 is the empty board
//!   edges   of node v: first[v] .. first[v + 1], by point, black before white
//! ```
//!
//! Paper: Tromp and Farnebäck, *Combinatorics of Go* (2016), section 4; average out-degrees are table 8. Cost: the graph
//! takes 4 bytes an edge and 12 a node; degrees alone take no memory, and 3^(mn) tests of a position.

use keima_problems::go::rules::{Position, Rules};
use rustc_hash::FxHashMap;

/// Most points of a board whose graph is made: 3x4 has 321,689 positions.
pub const MAX_GRAPH_POINTS: u32 = 12;
/// Most points of a board whose degrees are counted: 4x4 has 24,318,165 positions.
pub const MAX_DEGREE_POINTS: u32 = 16;

/// A board that is too large for what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} needs a board of 1 to {most} points, got {height}x{length}; choose a smaller one")]
pub struct TooLarge {
    /// What was asked.
    pub what: &'static str,
    /// Most points that it can take.
    pub most: u32,
    /// Rows.
    pub height: u32,
    /// Columns.
    pub length: u32,
}

/// The rules on a board of at most `most` points.
fn rules(what: &'static str, most: u32, height: u32, length: u32) -> Result<Rules, TooLarge> {
    let rules = Rules::new(height, length).filter(|rules| rules.points() <= most);
    rules.ok_or(TooLarge { what, most, height, length })
}

/// Numbers of positions and edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degrees {
    /// Legal positions.
    pub positions: u64,
    /// Moves to another position, from all of them.
    pub edges: u64,
}

impl Degrees {
    /// Counts both on a board, without the graph.
    pub fn count(height: u32, length: u32) -> Result<Self, TooLarge> {
        let rules = rules("counting out-degrees", MAX_DEGREE_POINTS, height, length)?;
        let mut degrees = Self::default();
        for position in rules.legal_positions() {
            degrees.positions += 1;
            degrees.edges += u64::from(rules.degree(position));
        }
        Ok(degrees)
    }

    /// Edges per position.
    pub fn average(self) -> f64 {
        self.edges as f64 / self.positions as f64
    }
}

/// The game graph of a board.
pub struct GameGraph {
    rules: Rules,
    positions: Vec<Position>,
    first: Vec<u32>,
    targets: Vec<u32>,
}

impl GameGraph {
    /// The graph of a board of at most [`MAX_GRAPH_POINTS`] points.
    pub fn new(height: u32, length: u32) -> Result<Self, TooLarge> {
        let rules = rules("the game graph", MAX_GRAPH_POINTS, height, length)?;
        let positions: Vec<Position> = rules.legal_positions().collect();
        let nodes: FxHashMap<Position, u32> = positions.iter().copied().zip(0..).collect();
        let mut first = vec![0];
        let mut targets = Vec::new();
        for &position in &positions {
            // Moves lead from legal positions to legal ones.
            targets.extend(rules.moves(position).filter_map(|(_, next)| nodes.get(&next)));
            first.push(targets.len() as u32);
        }
        Ok(Self { rules, positions, first, targets })
    }

    /// The rules and the board.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// All positions, by node.
    pub fn positions(&self) -> &[Position] {
        &self.positions
    }

    /// Numbers of positions and edges.
    pub fn degrees(&self) -> Degrees {
        Degrees { positions: self.positions.len() as u64, edges: self.targets.len() as u64 }
    }

    /// The nodes to which `node` has an edge.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn next(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.targets[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// The maps of nodes to nodes that keep edges and the empty board: turns and mirrors of the board, with and without
    /// exchange of colours. The identity comes first.
    pub fn symmetries(&self) -> Vec<Vec<u32>> {
        let (height, length) = (self.rules.height(), self.rules.length());
        let mut points: Vec<Vec<u32>> = Vec::new();
        for mirror in 0..8 {
            let (up, left, turn) = (mirror & 1 == 1, mirror & 2 == 2, mirror & 4 == 4);
            if turn && height != length {
                continue;
            }
            let target = |point: u32| {
                let (row, column) = (point % height, point / height);
                let row = if up { height - 1 - row } else { row };
                let column = if left { length - 1 - column } else { column };
                if turn { row * height + column } else { column * height + row }
            };
            let map: Vec<u32> = (0..height * length).map(target).collect();
            if !points.contains(&map) {
                points.push(map);
            }
        }
        let nodes: FxHashMap<Position, u32> = self.positions.iter().copied().zip(0..).collect();
        let moved = |set: u32, map: &[u32]| {
            map.iter().zip(0..).filter(|(_, from)| set >> from & 1 == 1).fold(0, |all, (&to, _)| all | 1_u32 << to)
        };
        let image = |map: &[u32], reverse: bool| {
            let images = self.positions.iter().filter_map(|position| {
                let position = Position { black: moved(position.black, map), white: moved(position.white, map) };
                nodes.get(&if reverse { position.reversed() } else { position }).copied()
            });
            images.collect::<Vec<u32>>()
        };
        [false, true]
            .iter()
            .flat_map(|&reverse| points.iter().map(move |map| (map, reverse)))
            .map(|(map, reverse)| image(map, reverse))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 8 of the paper, and the numbers of nodes and edges that it tells.
    #[test]
    fn out_degrees_are_those_of_the_paper() {
        let table = include_str!("../../../tests/golden/go_games.csv");
        let mut rows = 0;
        for row in table.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
            let [m, n, _, average] = row.split(',').collect::<Vec<_>>()[..] else { panic!("four fields: {row}") };
            let (height, length) = (m.parse().unwrap(), n.parse().unwrap());
            let Ok(expected) = average.parse::<f64>() else { continue };
            let degrees = Degrees::count(height, length).unwrap();
            assert!((degrees.average() - expected).abs() <= 0.0005, "{m}x{n}: {} for {expected}", degrees.average());
            if height * length <= 9 {
                assert_eq!(GameGraph::new(height, length).unwrap().degrees(), degrees, "{m}x{n}");
            }
            rows += 1;
        }
        assert_eq!(rows, 10);
    }

    #[test]
    fn symmetries_keep_edges() {
        for (height, length, number) in [(1, 1, 1), (1, 3, 4), (2, 2, 16), (2, 3, 8)] {
            let graph = GameGraph::new(height, length).unwrap();
            let mut all = graph.symmetries();
            for map in &all {
                for node in 0..graph.positions().len() as u32 {
                    let mut moved: Vec<u32> = graph.next(node).iter().map(|&next| map[next as usize]).collect();
                    moved.sort_unstable();
                    let mut next = graph.next(map[node as usize]).to_vec();
                    next.sort_unstable();
                    assert_eq!(moved, next, "{height}x{length}");
                }
            }
            all.sort();
            all.dedup();
            assert_eq!(all.len(), number, "{height}x{length}");
        }
    }

    #[test]
    fn large_boards_are_refused() {
        for (height, length) in [(0, 1), (1, 17), (4, 5), (1 << 16, 1 << 16)] {
            assert!(Degrees::count(height, length).is_err(), "{height}x{length}");
            assert!(GameGraph::new(height, length).is_err(), "{height}x{length}");
        }
        let error = GameGraph::new(4, 4).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, "the game graph needs a board of 1 to 12 points, got 4x4; choose a smaller one");
    }
}
