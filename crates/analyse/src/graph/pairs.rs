//! Terms of the series modulo two primes at once.
//!
//! A prime below 2^28 gives a smaller order than the integers by chance, about once in 2^28 / order cases; the other prime tells.
//! The columns that differ go level by level. After them the column goes by [`Tiles`], which several threads take one after the
//! other. Cost: see [`pass`](super::pass).

use std::sync::Mutex;

use super::pass::{self, PAIR_LIMIT, pack, unpack, weigh};
use super::tiles::{TILE_STATES, Tile, Tiles};
use super::{Column, Graph};

/// A graph modulo two primes.
#[derive(Clone, Copy)]
pub(super) struct Operator<'a> {
    graph: &'a Graph,
    primes: [u64; 2],
}

impl<'a> Operator<'a> {
    pub(super) fn new(graph: &'a Graph, primes: [u64; 2]) -> Self {
        debug_assert!(primes.iter().all(|prime| (2..PAIR_LIMIT).contains(prime)), "{primes:?}");
        Self { graph, primes }
    }
    pub(super) fn graph(&self) -> &'a Graph {
        self.graph
    }
    pub(super) fn primes(&self) -> [u64; 2] {
        self.primes
    }
    /// The counts before the first column.
    pub(super) fn start(&self) -> Vec<u64> {
        self.graph.start.iter().map(|&count| pack(self.primes.map(|prime| count % prime))).collect()
    }
    /// Column `number`, from 0. Returns it.
    pub(super) fn apply(&self, number: usize, counts: &mut Vec<u64>) -> &'a Column {
        let column = self.graph.column(number);
        let mut other = Vec::new();
        for level in &column.levels {
            other.resize(level.states(), 0);
            pass::apply(level, counts, &mut other, self.primes);
            std::mem::swap(counts, &mut other);
        }
        column
    }
    /// A window: from the vector before it to that after it.
    fn apply_window(&self, window: &[Tile], old: &[u64], new: &mut [u64], threads: usize) {
        // Tiles differ in size, and cores in what else they do.
        let rest = Mutex::new((window, new));
        let take = || {
            let mut rest = rest.lock().ok()?;
            let (tile, others) = rest.0.split_first()?;
            let (target, after) = std::mem::take(&mut rest.1).split_at_mut(tile.states());
            *rest = (others, after);
            Some((tile, target))
        };
        let work = || {
            let (mut counts, mut other) = (Vec::new(), Vec::new());
            while let Some((tile, target)) = take() {
                self.apply_tile(tile, old, target, &mut counts, &mut other);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(window.len()) {
                scope.spawn(work);
            }
            work();
        });
    }
    fn apply_tile(&self, tile: &Tile, old: &[u64], new: &mut [u64], counts: &mut Vec<u64>, other: &mut Vec<u64>) {
        let Some((last, levels)) = tile.levels.split_last() else { return };
        for (number, level) in levels.iter().enumerate() {
            other.resize(level.states(), 0);
            pass::apply(level, if number == 0 { old } else { counts }, other, self.primes);
            std::mem::swap(counts, other);
        }
        pass::apply(last, if levels.is_empty() { old } else { counts }, new, self.primes);
    }
}

/// The series modulo two primes, term by term. It never ends.
pub struct Pairs<'a> {
    operator: Operator<'a>,
    threads: usize,
    tile_states: usize,
    counts: Vec<u64>,
    other: Vec<u64>,
    columns: usize,
    /// From the column on that repeats: the counts stand by its places then.
    tiles: Option<Tiles>,
}

impl<'a> Pairs<'a> {
    /// The series modulo each of `primes`, which must be in 2..2^28; from the first term on, by so many threads.
    pub fn new(graph: &'a Graph, primes: [u64; 2], threads: usize) -> Self {
        let operator = Operator::new(graph, primes);
        let (counts, other) = (operator.start(), Vec::new());
        Self { operator, threads, tile_states: TILE_STATES, counts, other, columns: 0, tiles: None }
    }

    /// The same after so many columns, with the counts of the graph's states after them. `None` if there is no such vector, or it
    /// may be within the columns that differ.
    pub fn after(graph: &'a Graph, primes: [u64; 2], threads: usize, columns: usize, counts: Vec<u64>) -> Option<Self> {
        let [p, q] = primes;
        let fits = counts.len() == graph.states() && columns >= graph.columns.len();
        let reduced = |&word: &u64| {
            let [low, high] = unpack(word);
            low < p && high < q
        };
        (fits && counts.iter().all(reduced)).then(|| Self { counts, columns, ..Self::new(graph, primes, threads) })
    }

    /// The counts of the graph's states after the last term, once the columns repeat.
    pub fn counts(&self) -> Option<Vec<u64>> {
        let tiles = self.tiles.as_ref()?;
        Some(tiles.places.iter().map(|&place| self.counts[place as usize]).collect())
    }

    /// Cuts the column that repeats, and puts the counts in the order of its tiles.
    fn cut(&mut self) -> Tiles {
        let tiles = Tiles::new(self.operator.graph.periodic(), self.tile_states);
        self.other.resize(self.counts.len(), 0);
        for (&count, &place) in self.counts.iter().zip(&tiles.places) {
            self.other[place as usize] = count;
        }
        std::mem::swap(&mut self.counts, &mut self.other);
        tiles
    }
}

impl Iterator for Pairs<'_> {
    type Item = [u64; 2];
    fn next(&mut self) -> Option<[u64; 2]> {
        let operator = self.operator;
        if self.columns < operator.graph.columns.len() {
            let column = operator.apply(self.columns, &mut self.counts);
            self.columns += 1;
            return Some(weigh(&self.counts, &column.weights, operator.primes));
        }
        let tiles = self.tiles.take().unwrap_or_else(|| self.cut());
        for window in &tiles.windows {
            self.other.resize(window.iter().map(Tile::states).sum(), 0);
            operator.apply_window(window, &self.counts, &mut self.other, self.threads);
            std::mem::swap(&mut self.counts, &mut self.other);
        }
        let term = weigh(&self.counts, &tiles.weights, operator.primes);
        self.tiles = Some(tiles);
        Some(term)
    }
}

#[cfg(test)]
mod tests {
    use keima_model::{ProblemRequest, Registry};
    use keima_problems::Problems;

    use super::*;
    use crate::graph::Residues;

    /// By tiles and level by level, with any number of threads: the same terms. Small tiles are many.
    #[test]
    fn tiles_change_nothing() {
        let primes = [268_435_399, 268_435_367];
        for (problem, least) in [
            ("go 1x60", 3),
            ("go 3x60", 2),
            ("go 5x70", 2),
            ("go 6x70", 1000),
            ("hard-squares 7x60", 20),
            ("grid-paths 4x80", 4),
            ("grid-cycles 4x60", 3),
        ] {
            let request = ProblemRequest::from_words(problem).unwrap();
            let graph = Graph::discover(&Problems.open(&request).unwrap()).unwrap();
            let expected: Vec<[u64; 2]> = Residues::new(&graph, primes).take(60).collect();
            for (threads, tile_states) in [(1, 1), (2, 1), (3, 40), (2, TILE_STATES)] {
                let mut pairs = Pairs { tile_states, ..Pairs::new(&graph, primes, threads) };
                let mut terms: Vec<[u64; 2]> = pairs.by_ref().take(40).collect();
                if tile_states == 1 {
                    let tiles = pairs.tiles.as_ref().unwrap().windows.iter().map(Vec::len).max().unwrap();
                    assert!(tiles >= least, "{problem}: {tiles} tiles");
                }
                // Another process goes on.
                let counts = pairs.counts().unwrap();
                let pairs = Pairs::after(&graph, primes, threads, terms.len(), counts).unwrap();
                terms.extend(Pairs { tile_states, ..pairs }.take(20));
                assert_eq!(terms, expected, "{problem}, {threads} threads, tiles of {tile_states}");
            }
        }
    }
}
