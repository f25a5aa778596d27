//! What a count in memory consists of: where the two directions meet, and with how many lanes each window is passed.
//!
//! Shared by [`crate::block::in_memory::count::both_ends`], which does it, and by forecasts.

use keima_model::{Direction, Window};

use crate::block::in_memory::plan::scheme::Scheme;
use keima_blocks::limits::MODULUS_LIMIT;

/// A vector's way through one window, in the order of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which way.
    pub direction: Direction,
    /// Number of the window within its column.
    pub window: u32,
    /// Lanes of its rows.
    pub lanes: u32,
    /// Whether a vector of ones, of one lane, goes through the window as well, before all others, to tell the ways that lead
    /// to each state.
    pub arrivals: bool,
}

/// What a count will do on a board whose columns are cut into `windows`; `None` where it cannot.
pub fn steps(windows: &[Window], height: u32, length: u32, choices: u32) -> Option<Vec<Step>> {
    let spare = keima_residue::primes_below(MODULUS_LIMIT.into()).next()?;
    let scheme = Scheme::new(&[spare], choices, height, length).ok()??;
    let middle = scheme.middle;
    let mut steps = Vec::new();
    let step = |steps: &mut Vec<Step>, direction, window: usize, cells: &mut u32, arrivals| {
        *cells += windows.get(window)?.len;
        let lanes = scheme.lanes_for(*cells)?;
        steps.push(Step { direction, window: window as u32, lanes: lanes as u32, arrivals });
        Some(())
    };
    for column in 0..middle - 1 {
        let mut cells = height * column;
        (0..windows.len()).try_for_each(|window| step(&mut steps, Direction::Forward, window, &mut cells, false))?;
    }
    for column in 0..length - middle {
        let mut cells = height * column;
        for window in (0..windows.len()).rev() {
            if window == 0 && column + 1 == length - middle {
                // The spare lane of the forward vector goes one window on, so that the two directions meet twice.
                steps.push(Step { direction: Direction::Forward, window: 0, lanes: 1, arrivals: false });
            }
            step(&mut steps, Direction::Backward, window, &mut cells, column == 0)?;
        }
    }
    Some(steps)
}
