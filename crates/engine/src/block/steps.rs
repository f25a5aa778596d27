//! What a count in memory consists of: where the two directions meet, and with how many lanes each window is passed.
//!
//! Shared by [`super::meet`], which does it, and by forecasts.

use keima_model::{Direction, Window};
use keima_residue::Integer;

use super::lanes::MODULUS_LIMIT;

/// Relative times of a pass with 2, 4 and 8 lanes, for the choice of the middle (measured at 11x11).
const LANE_COSTS: [(usize, u32); 3] = [(2, 37), (4, 50), (8, 100)];

/// Lanes that numbers of so many cells need, the spare included: 2, 4 or 8. Where a column is folded, they are up to
/// twice as large as the bound of the problem.
pub(super) fn lanes_for(choices: u32, cells: u32, primes: &[u64]) -> Option<usize> {
    let bound = 2 * Integer::from(Integer::u_pow_u(choices, cells));
    LANE_COSTS.iter().map(|&(lanes, _)| lanes).find(|lanes| {
        let product: Integer = primes.iter().take(lanes - 1).product();
        product > bound
    })
}

/// The column after which the two directions meet: at the least cost, and of equal ones nearest to the board's middle.
/// `None` where numbers outgrow the lanes wherever they meet.
pub(super) fn meeting(choices: u32, height: u32, length: u32, primes: &[u64]) -> Option<u32> {
    // What does not fit the lanes is no choice.
    let cost = |columns: u32| {
        let lanes = (1..=columns).map(|column| lanes_for(choices, height * column, primes));
        let costs = lanes.map(|lanes| LANE_COSTS.iter().find(|(l, _)| Some(*l) == lanes).map(|(_, cost)| *cost));
        costs.sum::<Option<u32>>()
    };
    let choices = (1..=length).filter_map(|middle| {
        let total = cost(middle - 1)? + cost(length - middle)?;
        Some((total, (2 * middle).abs_diff(length + 1), middle))
    });
    choices.min().map(|(.., middle)| middle)
}

/// A vector's way through one window, in the order of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which way.
    pub direction: Direction,
    /// Number of the window within its column.
    pub window: u32,
    /// Lanes of its rows.
    pub lanes: u32,
    /// Whether a vector of ones, of one lane, goes through the window first, to tell the ways that lead to each state.
    pub arrivals: bool,
}

/// What a count will do on a board whose columns are cut into `windows`; `None` where it cannot.
pub fn steps(windows: &[Window], height: u32, length: u32, choices: u32) -> Option<Vec<Step>> {
    let primes: Vec<u64> = keima_residue::primes_below(MODULUS_LIMIT.into()).skip(1).take(7).collect();
    let middle = meeting(choices, height, length, &primes)?;
    let mut steps = Vec::new();
    let step = |steps: &mut Vec<Step>, direction, window: usize, cells: &mut u32, arrivals| {
        *cells += windows.get(window)?.len;
        let lanes = lanes_for(choices, *cells, &primes)? as u32;
        steps.push(Step { direction, window: window as u32, lanes, arrivals });
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
