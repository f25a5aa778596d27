//! How many different states a count meets, for problems that do not know.
//!
//! Passes are done exactly while the states fit. Then two samples go on, each a random part of the states, chosen by a hash of
//! the key. Equal states of a sample are merged after each pass, and the sample is thinned to its size again. Where no two
//! states of a sample ever were equal, states do not merge: then each stands for 1 / (its chance to be kept), the tree of
//! [`crate::chen`] in which every node is a state of its own. Else sizes a and b with c states in common tell
//!
//! ```text
//!   N(k) = (a + 1) (b + 1) / (c + 1) - 1       Lincoln, Petersen, Chapman: capture and recapture, in each stratum
//!   N(k) ~ N (k / N)^s                         samples of k: states of many predecessors are met more often, so N(k) < N
//!   s = ln(N(10 k) / N(k)) / ln 10,            N = (N(10 k) / (10 k)^s)^(1 / (1 - s))
//! ```
//!
//! The power law is an observation: with samples of ten thousand knight's tours came within a factor of two, smaller ones
//! do not. Cost: the successors of two samples and a sort of them for each pass.

use std::collections::BTreeMap;

use keima_model::mix::{GOLDEN, finalise};
use keima_model::{AnyProblem, Key, Layout, Problem, Successors, Window};

/// Keys that a call of the problem serves.
const BATCH: usize = 4096;

/// States of the larger sample over those of the smaller one.
const TIMES: usize = 10;
/// Largest exponent of the power law that is believed.
const STEEPEST: f64 = 0.35;

/// Numbers of states before each pass, and after the last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct States {
    /// The estimates.
    pub states: Vec<f64>,
    /// The first `exact` numbers are exact.
    pub exact: usize,
}

/// Estimates the numbers of states. Up to `kept` states are counted exactly; samples have a tenth of it, and all of it.
pub fn states_of(problem: &AnyProblem, kept: usize, seed: u64) -> States {
    match problem {
        AnyProblem::Narrow(problem) => states(problem.as_ref(), kept, seed),
        AnyProblem::Wide(problem) => states(problem.as_ref(), kept, seed),
    }
}

/// The same for a problem of known width.
pub fn states<K: Key>(problem: &dyn Problem<K>, kept: usize, seed: u64) -> States {
    let large = of(problem, kept, seed);
    if large.exact == large.states.len() {
        return States { states: large.states, exact: large.exact };
    }
    if large.merged == 0 {
        return States { states: large.paths, exact: large.exact };
    }
    let small = of(problem, (kept / TIMES).max(1), seed.wrapping_add(1));
    let beyond = |(pass, (large_states, small_states)): (usize, (&f64, &f64))| {
        if pass < large.exact || *small_states < 1.0 || *large_states < 1.0 {
            return *large_states;
        }
        let steep = ((large_states / small_states).ln() / (TIMES as f64).ln()).clamp(0.0, STEEPEST);
        let all = (large_states / (kept as f64).powf(steep)).powf(1.0 / (1.0 - steep));
        all.max(*large_states).min(large.paths[pass])
    };
    let states = large.states.iter().zip(&small.states).enumerate().map(beyond).collect();
    States { states, exact: large.exact }
}

/// What samples of one size tell.
#[derive(Default)]
struct Sampled {
    /// By capture and recapture; exact up to `exact`.
    states: Vec<f64>,
    exact: usize,
    /// As if no states were equal after those counted exactly: an upper bound.
    paths: Vec<f64>,
    /// Equal states that a sample met.
    merged: usize,
}

fn of<K: Key>(problem: &dyn Problem<K>, kept: usize, seed: u64) -> Sampled {
    let window = Window { first: 0, len: problem.board().height };
    let mut start: Vec<K> = problem.start().into_iter().map(|(key, _)| key).collect();
    problem.enter(Layout::Canonical, window, &mut start);
    let first = vec![start.len() as f64];
    let mut found = Sampled { states: first.clone(), exact: 1, paths: first, merged: 0 };
    let (mut samples, mut weights): (Vec<Vec<K>>, [f64; 2]) = (vec![start], [1.0; 2]);
    for pass in 0..problem.board().passes() {
        for sample in &mut samples {
            let (different, merged) = after(problem, window, pass, sample);
            found.merged += merged;
            *sample = different;
        }
        if let [all] = samples.as_slice() {
            found.states.push(all.len() as f64);
            found.paths.push(all.len() as f64);
            found.exact += 1;
            if all.len() <= kept {
                continue;
            }
            samples = vec![all.clone(), all.clone()];
        } else if let [one, other] = samples.as_slice() {
            let estimate = recaptured(problem, window, one, other);
            let paths = f64::midpoint(one.len() as f64 * weights[0], other.len() as f64 * weights[1]);
            found.states.push(estimate.min(paths));
            found.paths.push(paths);
        }
        for (lane, sample) in samples.iter_mut().enumerate() {
            if sample.len() > kept {
                let share = kept as f64 / sample.len() as f64;
                let most = (share * 2_f64.powi(64)) as u64;
                let salt = finalise(seed.wrapping_add(u64::from(pass) * 2 + lane as u64)).wrapping_mul(GOLDEN);
                let before = sample.len();
                sample.retain(|key| hash(*key, salt) < most);
                weights[lane] *= before as f64 / sample.len().max(1) as f64;
            }
        }
    }
    found
}

fn hash<K: Key>(key: K, salt: u64) -> u64 {
    let wide = key.widen();
    finalise(finalise(wide as u64 ^ salt) ^ (wide >> 64) as u64)
}

/// The different successors, and how many others were equal to one of them.
fn after<K: Key>(problem: &dyn Problem<K>, window: Window, pass: u32, keys: &[K]) -> (Vec<K>, usize) {
    let (mut all, mut next) = (Vec::new(), Successors::default());
    for batch in keys.chunks(BATCH) {
        next.clear();
        problem.expand(pass, window, batch, &mut next);
        all.extend_from_slice(&next.keys);
    }
    let board = problem.board();
    if board.ends_column(pass) && pass + 1 < board.passes() {
        problem.leave(window, Layout::Canonical, &mut all);
        problem.enter(Layout::Canonical, window, &mut all);
    }
    all.sort_unstable();
    let met = all.len();
    all.dedup();
    let merged = met - all.len();
    (all, merged)
}

/// Chapman's estimate, stratum by stratum. Both samples are sorted.
fn recaptured<K: Key>(problem: &dyn Problem<K>, window: Window, one: &[K], other: &[K]) -> f64 {
    let mut strata: BTreeMap<u32, [f64; 3]> = BTreeMap::new();
    let mut add = |keys: &[K], what: usize| {
        let mut own = vec![0; keys.len()];
        problem.strata(window, keys, &mut own);
        for stratum in own {
            strata.entry(stratum).or_default()[what] += 1.0;
        }
    };
    add(one, 0);
    add(other, 1);
    let both: Vec<K> = one.iter().copied().filter(|key| other.binary_search(key).is_ok()).collect();
    add(&both, 2);
    strata.values().map(|[a, b, c]| (a + 1.0) * (b + 1.0) / (c + 1.0) - 1.0).sum()
}
