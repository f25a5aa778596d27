//! A hub: a state that every state reaches in the same number of columns, and that reaches every state in the same number.
//!
//! It proves that the map of a column is primitive, so that its largest eigenvalue is positive, simple and larger than all
//! others (Perron, Frobenius). For go the empty border is one: an empty column gives every string a liberty.
//!
//! ```text
//!   all states --- into columns ---> hub --- out columns ---> all states
//! ```
//!
//! Cost: candidates are those that one column reaches from each of a few states; per candidate some sweeps over the
//! transitions with one bit a state.

use super::{Column, Graph};

/// Most columns in either direction.
const MOST_COLUMNS: u32 = 64;
/// Candidates that are tried.
const CANDIDATES: usize = 16;

/// A hub and its distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Columns after which every state has reached it.
    pub into: u32,
    /// Columns after which it has reached every state.
    pub out: u32,
}

impl Graph {
    /// A hub with a small sum of distances, if one of some candidates is one.
    pub fn hub(&self) -> Option<Hub> {
        let column = self.periodic();
        let states = self.states();
        // States with many paths into them: begin from every state, count paths of one column in floating point.
        let mut paths = vec![1.0_f64; states];
        for level in &column.levels {
            paths = level.groups().map(|group| group.iter().map(|&source| paths[source as usize]).sum()).collect();
        }
        let mut order: Vec<usize> = (0..states).collect();
        order.sort_by(|&a, &b| paths[b].total_cmp(&paths[a]));
        let hubs = order.into_iter().take(CANDIDATES).filter_map(|state| hub_at(column, state));
        hubs.min_by_key(|hub| hub.into + hub.out)
    }
}

fn hub_at(column: &Column, state: usize) -> Option<Hub> {
    let states = column.weights.len();
    let only = || (0..states).map(|one| one == state).collect::<Vec<bool>>();
    let steps = |step: &dyn Fn(&Column, Vec<bool>) -> Vec<bool>| {
        let mut set = only();
        (1..=MOST_COLUMNS).find(|_| {
            set = step(column, std::mem::take(&mut set));
            set.iter().all(|&has| has)
        })
    };
    Some(Hub { into: steps(&backward)?, out: steps(&forward)? })
}

/// The states that a column reaches from `set`.
fn forward(column: &Column, set: Vec<bool>) -> Vec<bool> {
    let step = |set: Vec<bool>, level: &super::Level| -> Vec<bool> {
        level.groups().map(|group| group.iter().any(|&source| set[source as usize])).collect()
    };
    column.levels.iter().fold(set, step)
}

/// The states from which a column reaches `set`.
fn backward(column: &Column, set: Vec<bool>) -> Vec<bool> {
    let mut set = set;
    for (number, level) in column.levels.iter().enumerate().rev() {
        let before = if number == 0 { column.weights.len() } else { column.levels[number - 1].states() };
        let mut old = vec![false; before];
        for (group, _) in level.groups().zip(&set).filter(|&(_, &has)| has) {
            for &source in group {
                old[source as usize] = true;
            }
        }
        set = old;
    }
    set
}
