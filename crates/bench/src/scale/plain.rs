//! A problem whose start vector is all zeros, without published values and formulas: fake workers count nothing, and report
//! the number 0.

use std::sync::Arc;

use keima_model::{
    AnyProblem, BlockProblem, Board, Forecast, Functional, Key, Layout, Problem, ProblemError, ProblemInfo,
    ProblemRequest, Registry, Successors, Window,
};
use keima_problems::Problems;

/// The catalogue, with nothing to check an answer against.
pub(super) struct Plain;

struct WithoutValues<K: Key>(Arc<dyn Problem<K>>);

impl Registry for Plain {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        Ok(match Problems.open(request)? {
            AnyProblem::Narrow(problem) => AnyProblem::Narrow(Arc::new(WithoutValues(problem))),
            AnyProblem::Wide(problem) => AnyProblem::Wide(Arc::new(WithoutValues(problem))),
        })
    }
}

impl<K: Key> ProblemInfo for WithoutValues<K> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn size(&self) -> String {
        self.0.size()
    }
    fn board(&self) -> Board {
        self.0.board()
    }
    fn identity(&self) -> String {
        self.0.identity()
    }
    fn key_bits(&self) -> u32 {
        self.0.key_bits()
    }
    fn coefficients(&self) -> u32 {
        self.0.coefficients()
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        self.0.bound()
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        self.0.bound_after(pass)
    }
    fn functionals(&self) -> Vec<Functional> {
        let plain = |functional| Functional { known: None, formula: None, ..functional };
        self.0.functionals().into_iter().map(plain).collect()
    }
    fn family_bits(&self, layout: Layout) -> u32 {
        self.0.family_bits(layout)
    }
    fn largest_family(&self, window: Window) -> Option<u128> {
        self.0.largest_family(window)
    }
    fn forecast(&self) -> Option<Forecast> {
        self.0.forecast()
    }
    fn blocks(&self) -> Option<&dyn BlockProblem> {
        self.0.blocks()
    }
    fn why_no_blocks(&self) -> &'static str {
        self.0.why_no_blocks()
    }
    fn law(&self, pass: u32, by_degree: &[u64], new: u64, modulus: u64) -> Option<Result<(), String>> {
        self.0.law(pass, by_degree, new, modulus)
    }
    fn has_law(&self) -> bool {
        self.0.has_law()
    }
}

impl<K: Key> Problem<K> for WithoutValues<K> {
    fn start(&self) -> Vec<(K, u64)> {
        // Of the states there are none: then sums of zero keep the law of the start vector too.
        self.0.start().into_iter().map(|(key, _)| (key, 0)).collect()
    }
    fn leave(&self, window: Window, layout: Layout, keys: &mut [K]) {
        self.0.leave(window, layout, keys);
    }
    fn enter(&self, layout: Layout, window: Window, keys: &mut [K]) {
        self.0.enter(layout, window, keys);
    }
    fn expand(&self, pass: u32, window: Window, keys: &[K], out: &mut Successors<K>) {
        self.0.expand(pass, window, keys, out);
    }
    fn weigh(&self, functional: usize, window: Window, keys: &[K], weights: &mut [u32]) {
        self.0.weigh(functional, window, keys, weights);
    }
}
