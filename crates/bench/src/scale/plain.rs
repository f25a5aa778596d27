//! A problem whose start vector is all zeros, without published values and formulas: fake workers count nothing, and report
//! the number 0.

use std::sync::Arc;

use keima_model::{
    Alter, Altered, AnyProblem, BracketProblem, Functional, Key, Problem, ProblemError, ProblemRequest, Registry,
    Report,
};
use keima_problems::Problems;

/// The catalogue, with nothing to check an answer against.
pub(super) struct Plain;

struct WithoutValues<K: Key>(Arc<dyn Problem<K>>);

impl Registry for Plain {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        Ok(match Problems.open(request)? {
            AnyProblem::Narrow(problem) => AnyProblem::Narrow(Arc::new(Alter(WithoutValues(problem)))),
            AnyProblem::Wide(problem) => AnyProblem::Wide(Arc::new(Alter(WithoutValues(problem)))),
        })
    }
}

impl<K: Key> Altered for WithoutValues<K> {
    type Key = K;
    fn original(&self) -> &dyn Problem<K> {
        self.0.as_ref()
    }
    fn functionals(&self) -> Vec<Functional> {
        let plain = |functional| Functional { known: None, formula: None, ..functional };
        self.0.functionals().into_iter().map(plain).collect()
    }
    fn reports(&self) -> Vec<Report> {
        Vec::new()
    }
    fn brackets(&self) -> Option<&dyn BracketProblem> {
        None
    }
    fn start(&self) -> Vec<(K, u64)> {
        // Of the states there are none: then sums of zero keep the law of the start vector too.
        self.0.start().into_iter().map(|(key, _)| (key, 0)).collect()
    }
}
