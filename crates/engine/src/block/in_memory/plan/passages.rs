//! The passages of a count in memory: which windows each vector passes, in which order, with how many lanes.
//!
//! Forecasts use it. `count::both_ends` does the same work.

use keima_model::{Direction, Window};

use crate::block::in_memory::plan::scheme::Scheme;
use keima_blocks::limits::MODULUS_LIMIT;

/// One vector's passage through one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedPassage {
    /// Direction of the vector.
    pub direction: Direction,
    /// Number of the window within its column.
    pub window: u32,
    /// Lanes of its rows.
    pub lanes: u32,
    /// Whether a vector of ones, with one lane, also passes this window before all others. It counts the ways to each
    /// state.
    pub arrivals: bool,
}

/// All passages of a count of a board whose columns are cut into `windows`, in order. `None` if there is no such
/// count.
pub fn passages(windows: &[Window], height: u32, length: u32, choices: u32) -> Option<Vec<PlannedPassage>> {
    let spare = keima_residue::primes_below(MODULUS_LIMIT.into()).next()?;
    let scheme = Scheme::new(&[spare], choices, height, length).ok()??;
    let middle = scheme.middle;
    let mut passages = Vec::new();
    let passage = |passages: &mut Vec<PlannedPassage>, direction, window: usize, cells: &mut u32, arrivals| {
        *cells += windows.get(window)?.len;
        let lanes = scheme.lanes_for(*cells)?;
        passages.push(PlannedPassage { direction, window: window as u32, lanes: lanes as u32, arrivals });
        Some(())
    };
    for column in 0..middle - 1 {
        let mut cells = height * column;
        (0..windows.len())
            .try_for_each(|window| passage(&mut passages, Direction::Forward, window, &mut cells, false))?;
    }
    for column in 0..length - middle {
        let mut cells = height * column;
        for window in (0..windows.len()).rev() {
            if window == 0 && column + 1 == length - middle {
                // The spare lane of the forward vector goes one window further, for the second comparison.
                passages.push(PlannedPassage { direction: Direction::Forward, window: 0, lanes: 1, arrivals: false });
            }
            passage(&mut passages, Direction::Transposed, window, &mut cells, column == 0)?;
        }
    }
    Some(passages)
}
