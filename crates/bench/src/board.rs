//! Boards of Go: their states per pass and their windows, as the planner has them.

use anyhow::{Context, Result};
use keima_coordinator::in_memory_plan;
use keima_model::{AnyProblem, ProblemRequest, Registry, Window};
use keima_problems::Problems;

/// Legal Go positions on the square board.
pub(crate) fn go(side: u32) -> Result<AnyProblem> {
    go_of(side, side)
}

/// The same on a board that is no square.
pub(crate) fn go_of(height: u32, length: u32) -> Result<AnyProblem> {
    let request = ProblemRequest { name: "go".into(), size: format!("{height}x{length}"), options: vec![] };
    Problems.open(&request).with_context(|| format!("go {height}x{length}"))
}

/// Numbers of states, of single ones, before each pass of the square board and after the last.
pub(crate) fn states(side: u32) -> Result<Vec<u64>> {
    states_of(side, side)
}

/// The same on a board that is no square.
pub(crate) fn states_of(height: u32, length: u32) -> Result<Vec<u64>> {
    let problem = go_of(height, length)?;
    let forecast = problem.info().forecast().context("no forecast of states")?;
    Ok(forecast.states.iter().map(|&states| u64::try_from(states).unwrap_or(u64::MAX)).collect())
}

/// The windows by which a count in memory cuts a column.
pub(crate) fn windows(side: u32) -> Result<Vec<Window>> {
    let problem = go(side)?;
    Ok(in_memory_plan(problem.info(), problem.key_bytes(), 0, 1, None)?.windows)
}

/// State-passes of one sweep over the whole board, and states over all boundaries between windows of these lengths.
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
