//! How much of a job is done.

use keima_coordinator::JobStatus;

/// Work done and total work: in state-passes if the plan has a forecast, else in passes.
pub fn share(status: &JobStatus) -> (f64, f64) {
    let Some(plan) = &status.plan else { return (0.0, 1.0) };
    let (position, progress) = (&status.position, &status.progress);
    let (pass, passes) = (position.pass as usize, position.passes as usize);
    let weight = |pass: usize| plan.states.get(pass).map_or(1.0, |&s| s as f64);
    let sweep: f64 = (0..passes).map(weight).sum();
    let before: f64 = (0..pass.min(passes)).map(weight).sum();
    let part = progress.states_done as f64 / progress.states_stage.max(1) as f64;
    let stage = plan.windows.iter().map(|w| w.len).max().unwrap_or(1) as usize;
    let now: f64 = (pass..passes.min(pass + stage)).map(weight).sum::<f64>() * part;
    let all = sweep * plan.sweeps.len() as f64;
    ((sweep * f64::from(position.sweep) + (before + now).min(sweep)).min(all), all)
}

/// The same as a part of 1; 1 for a job that is done.
pub fn part(status: &JobStatus) -> f64 {
    if status.state == keima_coordinator::State::Done {
        return 1.0;
    }
    let (done, all) = share(status);
    (done / all.max(1e-9)).clamp(0.0, 1.0)
}
