//! How much of a job is done.

use std::ops::Range;

use keima_coordinator::JobStatus;

/// Work done and total work: in state-passes if the plan has a forecast, else in passes.
pub fn share(status: &JobStatus) -> (f64, f64) {
    let Some(plan) = &status.plan else { return (0.0, 1.0) };
    let (position, progress) = (&status.position, &status.progress);
    let passes = position.passes as usize;
    let pass = (position.pass as usize).min(passes);
    let sweep = weight(&plan.states, 0..passes);
    let before = weight(&plan.states, 0..pass);
    let part = progress.states_done as f64 / progress.states_stage.max(1) as f64;
    let stage = plan.windows.iter().map(|w| w.len).max().unwrap_or(1) as usize;
    let now = weight(&plan.states, pass..passes.min(pass + stage)) * part;
    let all = sweep * plan.sweeps.len() as f64;
    ((sweep * f64::from(position.sweep) + (before + now).min(sweep)).min(all), all)
}

/// States of these passes, 1 for each of which none are known. A damaged file may tell of four billion passes.
fn weight(states: &[u64], passes: Range<usize>) -> f64 {
    let known = passes.start.min(states.len())..passes.end.min(states.len());
    let unknown = passes.len().saturating_sub(known.len());
    states.get(known).unwrap_or_default().iter().map(|&states| states as f64).sum::<f64>() + unknown as f64
}

/// The same as a part of 1; 1 for a job that is done.
pub fn part(status: &JobStatus) -> f64 {
    if status.state == keima_coordinator::State::Done {
        return 1.0;
    }
    let (done, all) = share(status);
    (done / all.max(1e-9)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_without_a_number_count_as_one_state() {
        let check = |passes: Range<usize>, expected: f64| {
            let got = weight(&[5, 7, 9], passes.clone());
            assert!((got - expected).abs() < 0.5, "{passes:?}: {got}");
        };
        check(0..0, 0.0);
        check(0..2, 12.0);
        check(1..3, 16.0);
        check(2..5, 11.0);
        check(4..6, 2.0);
        check(0..u32::MAX as usize, 21.0 + f64::from(u32::MAX - 3));
    }
}
