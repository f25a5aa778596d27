//! A registry whose problems know their numbers of states: those that do not are given estimates from samples.

use std::sync::{Arc, OnceLock};

use keima_model::{
    AnyProblem, BlockProblem, Board, BracketProblem, Forecast, Functional, Key, Layout, Problem, ProblemError,
    ProblemInfo, ProblemRequest, Registry, Report, Successors, Window,
};

use crate::states::{States, states};

/// States that are counted exactly, and of a sample; seconds for a board of a hundred cells.
const KEPT: usize = 100_000;
/// Seed of the samples.
const SEED: u64 = 1;

/// Opens the problems of another registry.
pub struct Sampling<R>(pub R);

impl<R: Registry> Registry for Sampling<R> {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        let problem = self.0.open(request)?;
        Ok(match problem {
            _ if problem.info().forecast().is_some() => problem,
            AnyProblem::Narrow(problem) => AnyProblem::Narrow(Arc::new(Sampled::new(problem))),
            AnyProblem::Wide(problem) => AnyProblem::Wide(Arc::new(Sampled::new(problem))),
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

impl<K: Key> ProblemInfo for Sampled<K> {
    fn forecast(&self) -> Option<Forecast> {
        let made = self.forecast.get_or_init(|| {
            let States { states, .. } = states(self.problem.as_ref(), KEPT, SEED);
            Forecast { states: states.into_iter().map(|states| states.ceil() as u128).collect() }
        });
        Some(made.clone())
    }
    fn name(&self) -> &'static str {
        self.problem.name()
    }
    fn size(&self) -> String {
        self.problem.size()
    }
    fn board(&self) -> Board {
        self.problem.board()
    }
    fn identity(&self) -> String {
        self.problem.identity()
    }
    fn key_bits(&self) -> u32 {
        self.problem.key_bits()
    }
    fn coefficients(&self) -> u32 {
        self.problem.coefficients()
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        self.problem.bound()
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        self.problem.bound_after(pass)
    }
    fn functionals(&self) -> Vec<Functional> {
        self.problem.functionals()
    }
    fn reports(&self) -> Vec<Report> {
        self.problem.reports()
    }
    fn objects(&self, most: usize) -> Result<Vec<String>, String> {
        self.problem.objects(most)
    }
    fn family_bits(&self, layout: Layout) -> u32 {
        self.problem.family_bits(layout)
    }
    fn largest_family(&self, window: Window) -> Option<u128> {
        self.problem.largest_family(window)
    }
    fn blocks(&self) -> Option<&dyn BlockProblem> {
        self.problem.blocks()
    }
    fn brackets(&self) -> Option<&dyn BracketProblem> {
        self.problem.brackets()
    }
    fn why_no_blocks(&self) -> &'static str {
        self.problem.why_no_blocks()
    }
    fn law(&self, pass: u32, by_degree: &[u64], new: u64, modulus: u64) -> Option<Result<(), String>> {
        self.problem.law(pass, by_degree, new, modulus)
    }
    fn has_law(&self) -> bool {
        self.problem.has_law()
    }
}

impl<K: Key> Problem<K> for Sampled<K> {
    fn start(&self) -> Vec<(K, u64)> {
        self.problem.start()
    }
    fn leave(&self, window: Window, layout: Layout, keys: &mut [K]) {
        self.problem.leave(window, layout, keys);
    }
    fn enter(&self, layout: Layout, window: Window, keys: &mut [K]) {
        self.problem.enter(layout, window, keys);
    }
    fn expand(&self, pass: u32, window: Window, keys: &[K], out: &mut Successors<K>) {
        self.problem.expand(pass, window, keys, out);
    }
    fn weigh(&self, functional: usize, window: Window, keys: &[K], weights: &mut [u32]) {
        self.problem.weigh(functional, window, keys, weights);
    }
    fn strata(&self, window: Window, keys: &[K], strata: &mut [u32]) {
        self.problem.strata(window, keys, strata);
    }
}
