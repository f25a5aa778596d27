//! What a count in memory consists of: where the two directions meet, and with how many lanes each window is passed.
//!
//! Shared by [`super::meet`], which does it, and by forecasts.

use keima_model::{Direction, Window};

use super::lanes::MODULUS_LIMIT;
use super::scheme::{Scheme, ways_on};

/// A vector's way through one window, in the order of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which way.
    pub direction: Direction,
    /// Number of the window within its column.
    pub window: u32,
    /// Lanes of its rows.
    pub lanes: u32,
    /// Whether their sums are reduced once a window ([`super::Moduli::lazy`]).
    pub lazy: bool,
    /// Whether a vector of ones, of one lane, goes through the window as well, before all others, to tell the ways that lead
    /// to each state.
    pub arrivals: bool,
}

/// About as many ways as lead to any state within a window: a count finds out, and this is for forecasts. Go with windows of
/// up to seven cells has 2^12.1 at height 9, 2^13.8, 2^15.0, 2^16.8, 2^18.0 and at height 14 2^19.8.
fn likely_ways(windows: &[Window], height: u32) -> u64 {
    let longest = windows.iter().map(|window| window.len).max().unwrap_or(0);
    ways_on(longest).max(1 << (3 * height.min(40) / 2).saturating_sub(1))
}

/// What a count will do on a board whose columns are cut into `windows`; `None` where it cannot.
pub fn steps(windows: &[Window], height: u32, length: u32, choices: u32) -> Option<Vec<Step>> {
    let primes: Vec<u64> = keima_residue::primes_below(MODULUS_LIMIT.into()).take(1).collect();
    let full = Scheme::full(&primes, choices, height, length).ok()??;
    let lazy = Scheme::lazy(likely_ways(windows, height), &[], choices, height, length);
    let scheme = full.or_better(lazy);
    let middle = scheme.middle;
    let mut steps = Vec::new();
    let step = |steps: &mut Vec<Step>, direction, window: usize, cells: &mut u32, arrivals| {
        *cells += windows.get(window)?.len;
        let lanes = scheme.lanes_for(*cells)?;
        let lazy = scheme.is_lazy_for(lanes);
        steps.push(Step { direction, window: window as u32, lanes: lanes as u32, lazy, arrivals });
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
                let lazy = scheme.is_lazy_for(1);
                steps.push(Step { direction: Direction::Forward, window: 0, lanes: 1, lazy, arrivals: false });
            }
            step(&mut steps, Direction::Backward, window, &mut cells, column == 0)?;
        }
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use keima_model::{BlockProblem, Board, Directions};
    use keima_problems::go::Go;

    use super::super::lanes::Moduli;
    use super::super::memory::Rows;
    use super::super::sweep::Sweep;
    use super::*;

    /// Within a factor of two and a half.
    #[test]
    fn ways_are_about_as_many_as_is_forecast() {
        for (height, lengths) in [(6, &[3, 3][..]), (7, &[4, 3]), (8, &[4, 4]), (9, &[5, 4])] {
            let windows = Window::of_lengths(lengths);
            let board = Board { height, length: height };
            let column = Go::<u64>::new(String::new(), board).column(&windows, Directions::Both).unwrap();
            let (states, _) = super::super::largest(column.as_ref());
            let mut rows = Rows::<1>::zeroed(states as usize).unwrap();
            let mut sweep = Sweep::new(column.as_ref(), Moduli::new([MODULUS_LIMIT - 93]).unwrap(), 1).unwrap();
            let ways =
                (0..windows.len()).map(|window| sweep.arrivals(window, &mut rows).unwrap().most()).max().unwrap();
            let likely = likely_ways(&windows, height);
            let (less, more) = (ways.min(likely), ways.max(likely));
            assert!(2 * more <= 5 * less, "height {height}: {likely} are forecast, there are {ways}");
        }
    }
}
