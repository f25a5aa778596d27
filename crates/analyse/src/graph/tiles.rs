//! The column that repeats, cut into tiles that stay in a core's cache.
//!
//! A pass changes one cell of the border, so within a few passes the states fall into parts that no transition joins. A *tile*
//! is such a part, or several small ones. It goes through all passes of a *window* while its counts are in the cache, and the
//! tiles of a window are shared out among threads.
//!
//! ```text
//!   window           some passes in a row
//!   first level      takes its counts from anywhere in the vector before the window
//!   other levels     take theirs from the level before, in the same tile
//! ```
//!
//! So the gathers of one pass in some leave the cache. The states between two windows are numbered by tiles.
//! Cost: 4 bytes a transition. To cut a column: unions along all transitions, and a sort of the states.

use super::level::{Column, Level};

/// Passes of a window.
const PASSES: usize = 5;
/// Small parts are put together until a tile has this many states in all its levels.
pub(super) const TILE_STATES: usize = 1 << 15;

/// A column by windows and tiles.
#[derive(Debug)]
pub(super) struct Tiles {
    /// The tiles of each window, in the order of their states.
    pub(super) windows: Vec<Vec<Tile>>,
    /// Where each state of the graph stands in a vector between two columns.
    pub(super) places: Vec<u32>,
    /// Weights by place.
    pub(super) weights: Vec<u32>,
}

/// A part of a window.
#[derive(Debug)]
pub(super) struct Tile {
    /// Sources of the first level are places in the vector before the window, those of others in the level before.
    pub(super) levels: Vec<Level>,
}

impl Tile {
    /// Number of states after the window.
    pub(super) fn states(&self) -> usize {
        self.levels.last().map_or(0, Level::states)
    }
}

impl Tiles {
    /// Cuts a column into tiles of so many states, where parts allow it. Its states before it must be numbered as those after it.
    pub(super) fn new(column: &Column, tile_states: usize) -> Self {
        let cuts: Vec<Cut<'_>> = column.levels.chunks(PASSES).map(|levels| Cut::of(levels, tile_states)).collect();
        let mut before = cuts.last().map_or_else(Vec::new, Cut::places_after);
        let places = before.clone();
        let mut windows = Vec::new();
        for cut in &cuts {
            windows.push(cut.tiles(&before));
            before = cut.places_after();
        }
        let mut weights = vec![0; places.len()];
        for (&place, &weight) in places.iter().zip(&column.weights) {
            weights[place as usize] = weight;
        }
        Self { windows, places, weights }
    }
}

/// The states after each pass of a window, by tiles.
struct Cut<'a> {
    levels: Vec<CutLevel<'a>>,
    tiles: usize,
}

/// The states after a pass.
struct CutLevel<'a> {
    /// Predecessors of each state.
    groups: Vec<&'a [u32]>,
    /// The states by tile, number of predecessors, and place of the first of them.
    order: Vec<u32>,
    /// Where each stands in it.
    places: Vec<u32>,
    /// Where each tile begins in it, and the end of the last.
    starts: Vec<u32>,
}

impl<'a> Cut<'a> {
    fn of(levels: &'a [Level], tile_states: usize) -> Self {
        let groups: Vec<Vec<&[u32]>> = levels.iter().map(|level| level.groups().collect()).collect();
        let (tile_of, tiles) = tiles_of(&groups, tile_states);
        let mut cut: Vec<CutLevel<'a>> = Vec::new();
        for (groups, tile_of) in groups.into_iter().zip(tile_of) {
            let before = cut.last().map(|level| level.places.as_slice());
            // The place of a source before the window depends on this very order, as a column follows itself.
            let source = |group: &[u32], state| match (before, group.first()) {
                (Some(places), Some(&first)) => places[first as usize],
                _ => state,
            };
            let mut order: Vec<u32> = (0..groups.len() as u32).collect();
            order.sort_by_cached_key(|&state| {
                let group = groups[state as usize];
                (tile_of[state as usize], group.len(), source(group, state))
            });
            let mut places = vec![0; order.len()];
            for (place, &state) in (0..).zip(&order) {
                places[state as usize] = place;
            }
            let start = |tile| order.partition_point(|&state| tile_of[state as usize] < tile) as u32;
            let starts = (0..=tiles as u32).map(start).collect();
            cut.push(CutLevel { groups, order, places, starts });
        }
        Self { levels: cut, tiles }
    }

    fn places_after(&self) -> Vec<u32> {
        self.levels.last().map_or_else(Vec::new, |level| level.places.clone())
    }

    /// The tiles, if the states before the window have these places.
    fn tiles(&self, before: &[u32]) -> Vec<Tile> {
        let one = |tile: usize| {
            let mut places = (before, 0);
            let mut levels = Vec::new();
            for level in &self.levels {
                let states = &level.order[level.starts[tile] as usize..level.starts[tile + 1] as usize];
                let groups = states.iter().map(|&state| level.groups[state as usize]);
                let mut made = Level::default();
                for group in groups {
                    let degree = group.len() as u32;
                    match made.buckets.last_mut() {
                        Some((same, states)) if *same == degree => *states += 1,
                        _ => made.buckets.push((degree, 1)),
                    }
                    made.sources.extend(group.iter().map(|&source| places.0[source as usize] - places.1));
                }
                levels.push(made);
                places = (&level.places, level.starts[tile]);
            }
            Tile { levels }
        };
        (0..self.tiles).map(one).collect()
    }
}

/// The tile of each state after each pass of a window, and their number.
fn tiles_of(levels: &[Vec<&[u32]>], tile_states: usize) -> (Vec<Vec<u32>>, usize) {
    let mut firsts = vec![0];
    for groups in levels {
        firsts.push(firsts.last().unwrap_or(&0) + groups.len());
    }
    let states = firsts.last().copied().unwrap_or(0);
    let mut parts = Union::new(states);
    for (number, groups) in levels.iter().enumerate().skip(1) {
        for (state, group) in groups.iter().enumerate() {
            for &source in *group {
                parts.join(firsts[number] + state, firsts[number - 1] + source as usize);
            }
        }
    }
    let mut sizes = vec![0_usize; states];
    for state in 0..states {
        sizes[parts.root(state)] += 1;
    }
    // Parts by their first state, so that neighbours stay together.
    let mut tile_of_part = vec![u32::MAX; states];
    let (mut tile, mut filled) = (0, 0);
    for state in 0..states {
        let root = parts.root(state);
        if tile_of_part[root] != u32::MAX {
            continue;
        }
        if filled > 0 && filled + sizes[root] > tile_states {
            (tile, filled) = (tile + 1, 0);
        }
        tile_of_part[root] = tile;
        filled += sizes[root];
    }
    let mut tile_of = |range: std::ops::Range<usize>| range.map(|state| tile_of_part[parts.root(state)]).collect();
    let all = firsts.windows(2).map(|ends| tile_of(ends[0]..ends[1])).collect();
    (all, tile as usize + 1)
}

/// A union of sets of numbers.
struct Union {
    parents: Vec<u32>,
}

impl Union {
    fn new(numbers: usize) -> Self {
        Self { parents: (0..numbers as u32).collect() }
    }
    fn root(&mut self, number: usize) -> usize {
        let mut at = number;
        while self.parents[at] as usize != at {
            let above = self.parents[self.parents[at] as usize];
            self.parents[at] = above;
            at = above as usize;
        }
        at
    }
    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one.max(other)] = one.min(other) as u32;
    }
}
