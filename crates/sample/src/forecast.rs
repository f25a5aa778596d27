//! A registry whose problems know their numbers of states: those that do not are given estimates from samples.

use std::sync::{Arc, OnceLock};

use keima_model::{Alter, Altered, AnyProblem, Forecast, Key, Problem, ProblemError, ProblemRequest, Registry};

use crate::states::{States, states};

/// States of a pass that are counted exactly, and of a sample; seconds for a board of a hundred cells.
pub const EXACT_STATES: usize = 100_000;
/// Seed of the samples.
const SEED: u64 = 1;

/// Opens the problems of another registry.
pub struct Sampling<R>(pub R);

impl<R: Registry> Registry for Sampling<R> {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        let problem = self.0.open(request)?;
        Ok(match problem {
            _ if problem.info().forecast().is_some() => problem,
            AnyProblem::Narrow(problem) => AnyProblem::Narrow(Arc::new(Alter(Sampled::new(problem)))),
            AnyProblem::Wide(problem) => AnyProblem::Wide(Arc::new(Alter(Sampled::new(problem)))),
        })
    }
}

/// A problem with a forecast, which is made when somebody asks for it.
struct Sampled<K: Key> {
    problem: Arc<dyn Problem<K>>,
    forecast: OnceLock<Forecast>,
}

impl<K: Key> Sampled<K> {
    fn new(problem: Arc<dyn Problem<K>>) -> Self {
        Self { problem, forecast: OnceLock::new() }
    }
}

impl<K: Key> Altered for Sampled<K> {
    type Key = K;
    fn original(&self) -> &dyn Problem<K> {
        self.problem.as_ref()
    }
    fn forecast(&self) -> Option<Forecast> {
        let made = self.forecast.get_or_init(|| {
            let States { states, .. } = states(self.problem.as_ref(), EXACT_STATES, SEED);
            Forecast { states: states.into_iter().map(|states| states.ceil() as u128).collect() }
        });
        Some(made.clone())
    }
}
