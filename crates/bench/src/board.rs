//! Boards of Go with their states per pass and the planner's windows.

use anyhow::{Context, Result};
use keima_coordinator::in_memory_plan;
use keima_model::{AnyProblem, ProblemRequest, Registry, Window};
use keima_problems::Problems;

/// Legal Go positions on the square board.
pub(crate) fn go(side: u32) -> Result<AnyProblem> {
    go_of(side, side)
}

/// Legal Go positions on a board of any sides.
pub(crate) fn go_of(height: u32, length: u32) -> Result<AnyProblem> {
    let request = ProblemRequest { name: "go".into(), size: format!("{height}x{length}"), options: vec![] };
    Problems.open(&request).with_context(|| format!("go {height}x{length}"))
}

/// States of the square board before each pass and after the last.
pub(crate) fn states(side: u32) -> Result<Vec<u64>> {
    states_of(side, side)
}

/// States of a board of any sides.
pub(crate) fn states_of(height: u32, length: u32) -> Result<Vec<u64>> {
    let problem = go_of(height, length)?;
    let forecast = problem.info().forecast().context("no forecast of states")?;
    Ok(forecast.states.iter().map(|&states| u64::try_from(states).unwrap_or(u64::MAX)).collect())
}

/// Windows of a column in a count in memory.
pub(crate) fn windows(side: u32) -> Result<Vec<Window>> {
    let problem = go(side)?;
    Ok(in_memory_plan(problem.info(), problem.key_bytes(), 0, 1, None)?.windows)
}

/// State-passes of one sweep over the whole board, and states summed over all boundaries between windows.
pub(crate) fn work(states: &[u64], windows: &[u32]) -> (f64, f64) {
    let passes = states.len().saturating_sub(1);
    let state_passes = states.iter().take(passes).map(|&states| states as f64).sum();
    let (mut place, mut boundaries) = (0, 0.0);
    for &window in windows.iter().cycle() {
        place += window as usize;
        if window == 0 || place >= passes {
            break;
        }
        boundaries += states[place] as f64;
    }
    (state_passes, boundaries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_by_passes_and_by_boundaries() {
        let states = [1, 3, 7, 9, 9, 9, 5];
        assert_eq!(work(&states, &[2, 1]), (38.0, 7.0 + 9.0 + 9.0));
        assert_eq!(work(&states, &[3]), (38.0, 9.0));
        assert_eq!(work(&states, &[]), (38.0, 0.0));
        assert_eq!(work(&[], &[0]), (0.0, 0.0));
    }

    #[test]
    fn the_planner_is_asked() {
        assert_eq!(windows(9).unwrap().iter().map(|window| window.len).sum::<u32>(), 9);
        assert_eq!(states(9).unwrap().len(), 82);
        assert_eq!(states(9).unwrap().iter().max(), Some(&160_286));
    }
}
