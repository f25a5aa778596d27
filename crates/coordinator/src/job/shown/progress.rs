//! Progress: how fast a job passes states, and how long it will take.

use std::ops::Range;

use crate::api::Millis;
use crate::plan::Plan;
use crate::store::records::Record;

/// After this long, a past moment has half the weight in the rate.
const HALF_LIFE_MILLIS: f64 = 60_000.0;
/// A rate over less time than this says nothing about the time left.
const SETTLED_MILLIS: f64 = 3_000.0;

/// States through a pass per second. The recent past counts most.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    states: f64,
    millis: f64,
}

impl Rate {
    /// Adds states, each through one pass.
    pub(crate) fn add(&mut self, state_passes: u64) {
        self.states += state_passes as f64;
    }

    /// Lets time pass in which the job is under way.
    pub(crate) fn age(&mut self, elapsed: Millis) {
        let keep = 0.5_f64.powf(elapsed as f64 / HALF_LIFE_MILLIS);
        self.states *= keep;
        self.millis = self.millis * keep + elapsed as f64;
    }

    /// The rate; `None` while nothing is known.
    pub(crate) fn per_second(&self) -> Option<f64> {
        (self.states > 0.0 && self.millis > 0.0).then(|| self.states / self.millis * 1000.0)
    }

    fn is_settled(&self) -> bool {
        self.millis >= SETTLED_MILLIS
    }
}

/// How far a job is.
#[derive(Clone, Copy)]
pub(crate) struct Position<'a> {
    pub(crate) record: &'a Record,
    /// The stage that is under way or comes next.
    pub(crate) stage: u32,
    /// States that this stage has read.
    pub(crate) states_done: u64,
    /// States that this stage has to read.
    pub(crate) states_stage: u64,
}

impl Position<'_> {
    /// Seconds left; `None` where unknown.
    pub(crate) fn seconds_left(&self, rate: &Rate) -> Option<f64> {
        let per_second = if rate.is_settled() { rate.per_second() } else { self.lifetime_rate() };
        Some(self.state_passes_left()? / per_second?)
    }

    const fn plan(&self) -> &Plan {
        &self.record.plan
    }

    fn passes_of(&self, stage: u32) -> Range<u32> {
        let stage = self.plan().stage(stage);
        stage.first_pass..stage.end_pass()
    }

    /// The rate over the job's whole life: after a restart it is the best guess.
    fn lifetime_rate(&self) -> Option<f64> {
        let record = self.record;
        let millis = record.active_millis as f64;
        let sum = |states: &[Option<u64>]| states.iter().flatten().map(|&n| n as f64).sum::<f64>();
        let done = |stage: u32| {
            let passes = self.passes_of(stage);
            let range = passes.start as usize..(passes.end as usize).min(record.pass_states.len());
            sum(record.pass_states.get(range).unwrap_or_default())
        };
        let this_sweep: f64 = (0..self.stage.min(self.plan().stages())).map(done).sum();
        let passed = f64::from(record.sweep) * sum(&record.pass_states) + this_sweep;
        (millis >= SETTLED_MILLIS && passed > 0.0).then(|| passed / millis * 1000.0)
    }

    /// States times passes that are left. An earlier sweep says them, or else the forecast; `None` where some pass is
    /// unknown.
    fn state_passes_left(&self) -> Option<f64> {
        let (record, plan) = (self.record, self.plan());
        let passes = plan.board.passes() as usize;
        let states = states_by_pass(passes, &record.pass_states, &plan.states, record.sweep > 0);
        let sum = |passes: Range<u32>| {
            states.get(passes.start as usize..passes.end as usize)?.iter().copied().sum::<Option<f64>>()
        };
        let of = |stage: u32| sum(self.passes_of(stage));
        let part_left = 1.0 - (self.states_done as f64 / self.states_stage.max(1) as f64).min(1.0);
        let this_stage = of(self.stage)? * part_left;
        let this_sweep = (self.stage + 1..plan.stages()).map(of).sum::<Option<f64>>()?;
        let sweeps = (plan.sweeps.len() as u32).saturating_sub(record.sweep + 1);
        Some(this_stage + this_sweep + f64::from(sweeps) * sum(0..plan.board.passes())?)
    }
}

/// States before each pass: as an earlier sweep or this one has seen them, or else as forecast. Even after a sweep passes inside a
/// stage may be unknown; then the last ones before them are near enough.
fn states_by_pass(passes: usize, seen: &[Option<u64>], forecast: &[u64], after_a_sweep: bool) -> Vec<Option<f64>> {
    let mut near = None;
    let states = (0..passes).map(|pass| {
        let seen = seen.get(pass).copied().flatten();
        near = seen.or(near).filter(|_| after_a_sweep);
        seen.or_else(|| forecast.get(pass).copied()).or(near).map(|states| states as f64)
    });
    states.collect()
}

#[cfg(test)]
mod tests {
    use super::states_by_pass;
    use crate::job::*;

    #[test]
    fn passes_that_nobody_has_seen_have_forecast_states_or_those_before() {
        let seen = [None, Some(3), None, None, Some(5), None];
        for (forecast, after_a_sweep, expected) in [
            (&[][..], false, [None, Some(3.0), None, None, Some(5.0), None]),
            (&[], true, [None, Some(3.0), Some(3.0), Some(3.0), Some(5.0), Some(5.0)]),
            (&[1, 2, 7], false, [Some(1.0), Some(3.0), Some(7.0), None, Some(5.0), None]),
            (&[1, 2, 7], true, [Some(1.0), Some(3.0), Some(7.0), Some(3.0), Some(5.0), Some(5.0)]),
        ] {
            assert_eq!(states_by_pass(6, &seen, forecast, after_a_sweep), expected, "{forecast:?} {after_a_sweep}");
        }
        assert_eq!(states_by_pass(2, &[], &[], true), [None, None]);
    }

    #[test]
    fn the_recent_past_counts_most() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(), None);
        rate.add(100_000);
        rate.age(1_000);
        assert!((rate.per_second().unwrap() - 100_000.0).abs() < 2_000.0 && !rate.is_settled());
        // Ten half-lives at a thousandth of the speed.
        for _ in 0..600 {
            rate.add(100);
            rate.age(1_000);
        }
        assert!((rate.per_second().unwrap() - 100.0).abs() < 2.0 && rate.is_settled(), "{rate:?}");
    }
}
