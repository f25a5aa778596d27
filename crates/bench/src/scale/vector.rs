//! Vectors without bytes: a sample of their states, which the problem's own recurrence carries from boundary to boundary.
//!
//! ```text
//!   boundary b    k0 k1 k2 | k3 k4 | k5 ...        keys of the sample, in the order of the stage that reads them
//!   shards              t0 |    t1 |  t2
//!   boundary b+1  k0 k1 k2 k3 ...                  successors of b's sample, each made by one state of b
//! ```
//!
//! The i-th of n states stands for the records from S i / n to S (i + 1) / n of a vector of S states, the forecast's number.
//! So numbers of states add up exactly, however a vector is cut. A task writes the states that its own states make, in the
//! next stage's key order: its run covers the keys that a real one would, and next shards meet the runs that they would.
//! States that two tasks would both write are written by one of them.

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Result, ensure};
use keima_coordinator::{Plan, Stage};
use keima_model::{AnyProblem, Key, Layout, Problem, Successors};

/// Boundaries that are kept. A job that falls back further makes them anew from the start.
const MOST_KEPT: usize = 4;

/// A vector at a boundary.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Front {
    /// Keys of the sample in the reading stage's order, ascending.
    pub(super) keys: Vec<u128>,
    /// For each state of the sample before, where its successors' places begin in `children`; and the end.
    offsets: Vec<u32>,
    /// Places in `keys`, ascending within each parent.
    children: Vec<u32>,
    /// States of the whole vector.
    pub(super) states: u64,
}

impl Front {
    /// From keys with the number of the state that makes each; `parents` states were there before.
    fn new(mut made: Vec<(u128, u32)>, parents: usize, states: u64) -> Self {
        made.sort_unstable();
        made.dedup_by_key(|(key, _)| *key);
        let mut offsets = vec![0_u32; parents + 1];
        for &(_, parent) in &made {
            offsets[parent as usize + 1] += 1;
        }
        (0..parents).for_each(|parent| offsets[parent + 1] += offsets[parent]);
        let (mut next, mut children) = (offsets.clone(), vec![0_u32; made.len()]);
        for (place, &(_, parent)) in (0..).zip(&made) {
            let at = &mut next[parent as usize];
            children[*at as usize] = place;
            *at += 1;
        }
        Self { keys: made.into_iter().map(|(key, _)| key).collect(), offsets, children, states }
    }

    /// Records below the state at `place`.
    fn below(&self, place: usize) -> u64 {
        (u128::from(self.states) * place as u128 / self.keys.len().max(1) as u128) as u64
    }

    /// Records that some states stand for.
    pub(super) fn records(&self, places: &Range<usize>) -> u64 {
        self.below(places.end) - self.below(places.start)
    }

    /// The states with keys from `low` to below `high`.
    pub(super) fn shard(&self, low: u128, high: Option<u128>) -> Range<usize> {
        let place = |key| self.keys.partition_point(|&other| other < key);
        place(low)..high.map_or(self.keys.len(), place)
    }

    /// Places of the states that some states of the boundary before make, ascending.
    pub(super) fn made_by(&self, parents: &Range<usize>) -> Vec<usize> {
        let offset = |parent: usize| self.offsets.get(parent).map_or(self.children.len(), |&offset| offset as usize);
        let own = self.children.get(offset(parents.start)..offset(parents.end)).unwrap_or_default();
        let mut places: Vec<usize> = own.iter().map(|&place| place as usize).collect();
        places.sort_unstable();
        places
    }
}

/// The vectors of a job, made as they are asked for.
pub(super) struct Fronts {
    problem: AnyProblem,
    /// States of a sample.
    most: usize,
    /// By the number of the stage that reads them.
    kept: BTreeMap<u32, Front>,
}

impl Fronts {
    pub(super) const fn new(problem: AnyProblem, most: usize) -> Self {
        Self { problem, most, kept: BTreeMap::new() }
    }

    /// What a stage reads and what it writes.
    pub(super) fn around(&mut self, plan: &Plan, stage: u32) -> Result<(&Front, &Front)> {
        ensure!(plan.block().is_none(), "vectors of blocks have keys of their own, and are not simulated");
        let begin = if self.kept.contains_key(&stage) {
            stage
        } else {
            self.kept.clear();
            let start = self.start();
            self.kept.insert(0, start);
            0
        };
        for number in begin..=stage {
            if !self.kept.contains_key(&(number + 1)) {
                let place = plan.stage(number);
                let states = plan.states.get(place.end_pass() as usize).copied().unwrap_or(0);
                let before = &self.kept[&number];
                let made = self.step(&place, &before.keys, number == 0);
                let front = Front::new(made, before.keys.len(), states.max(1));
                self.kept.insert(number + 1, front);
            }
        }
        while self.kept.len() > MOST_KEPT {
            self.kept.pop_first();
        }
        Ok((&self.kept[&stage], &self.kept[&(stage + 1)]))
    }

    /// The start vector, in canonical form.
    fn start(&self) -> Front {
        let keys: Vec<u128> = match &self.problem {
            AnyProblem::Narrow(problem) => problem.start().iter().map(|(key, _)| u128::from(*key)).collect(),
            AnyProblem::Wide(problem) => problem.start().iter().map(|(key, _)| *key).collect(),
        };
        let states = keys.len() as u64;
        Front::new((0..).zip(&keys).map(|(parent, &key)| (key, parent)).collect(), keys.len(), states)
    }

    /// Takes a sample through a stage.
    fn step(&self, stage: &Stage, keys: &[u128], from_start: bool) -> Vec<(u128, u32)> {
        match &self.problem {
            AnyProblem::Narrow(problem) => step(&**problem, stage, keys, from_start, self.most),
            AnyProblem::Wide(problem) => step(&**problem, stage, keys, from_start, self.most),
        }
    }
}

/// Successors of some keys through a stage, each with the place of the key that makes it; a sample of at most about `most`.
fn step<K: Key>(
    problem: &dyn Problem<K>,
    stage: &Stage,
    keys: &[u128],
    from_start: bool,
    most: usize,
) -> Vec<(u128, u32)> {
    let mut states: Vec<K> = keys.iter().map(|&key| K::truncate(key)).collect();
    let layout = if from_start { Layout::Canonical } else { stage.layout_in };
    problem.enter(layout, stage.window, &mut states);
    let mut parents: Vec<u32> = (0..states.len() as u32).collect();
    let mut out = Successors::default();
    for pass in stage.first_pass..stage.end_pass() {
        out.clear();
        problem.expand(pass, stage.window, &states, &mut out);
        let mut made: Vec<(K, u32)> = Vec::with_capacity(out.keys.len());
        let mut successors = out.keys.iter();
        for (&degree, &parent) in out.degrees.iter().zip(&parents) {
            made.extend(successors.by_ref().take(degree.into()).map(|&key| (key, parent)));
        }
        made.sort_unstable();
        made.dedup_by_key(|(key, _)| *key);
        // The same states are left out wherever they come up.
        let keep = (u128::from(u64::MAX) * most as u128 / made.len().max(1) as u128).min(u64::MAX.into()) as u64;
        made.retain(|(key, _)| key.mix(pass.into()) <= keep);
        (states, parents) = made.into_iter().unzip();
    }
    problem.leave(stage.window, stage.layout_out, &mut states);
    states.into_iter().map(Key::widen).zip(parents).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::go_of;
    use keima_coordinator::{PlanLimits, plan};

    fn limits() -> PlanLimits {
        PlanLimits {
            task_memory_bytes: 64 << 20,
            disk_bytes: None,
            residues_per_sweep: None,
            window: None,
            slots: 4,
            worker_slots: 2,
            second_copies: true,
            series: false,
        }
    }

    #[test]
    fn samples_add_up_however_they_are_cut() {
        let problem = go_of(6, 6).unwrap();
        let plan = plan(problem.info(), problem.key_bytes(), &limits()).unwrap();
        for most in [50, 1 << 20] {
            let mut fronts = Fronts::new(problem.clone(), most);
            for stage in (0..plan.stages()).chain([3]) {
                let (before, after) = fronts.around(&plan, stage).unwrap();
                assert!(after.keys.is_sorted() && after.keys.len() <= 2 * most, "stage {stage}");
                let middle = before.keys[before.keys.len() / 2];
                let parts = [before.shard(0, Some(middle)), before.shard(middle, None)];
                let read: u64 = parts.iter().map(|part| before.records(part)).sum();
                assert_eq!(read, before.states, "stage {stage}");
                let mut written: Vec<usize> = parts.iter().flat_map(|part| after.made_by(part)).collect();
                written.sort_unstable();
                assert!(written.into_iter().eq(0..after.keys.len()), "stage {stage}");
            }
        }
    }
}
