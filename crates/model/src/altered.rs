//! A problem that is another one but for a few things: without its published numbers, with a forecast, with errors on purpose.
//!
//! A wrapper implements [`Altered`], and says what differs; [`Alter`] makes a problem of it that takes the rest from the original.
//! Cost: one more dynamic call for each batch.

use crate::{
    BlockProblem, Board, BracketProblem, Forecast, Functional, Key, Layout, Problem, ProblemInfo, Report, Successors,
    Window,
};

/// What differs from a problem. Whatever is not said is the original's.
pub trait Altered: Send + Sync {
    /// The original's keys.
    type Key: Key;
    /// The original.
    fn original(&self) -> &dyn Problem<Self::Key>;
    /// See [`ProblemInfo::functionals`].
    fn functionals(&self) -> Vec<Functional> {
        self.original().functionals()
    }
    /// See [`ProblemInfo::reports`].
    fn reports(&self) -> Vec<Report> {
        self.original().reports()
    }
    /// See [`ProblemInfo::forecast`].
    fn forecast(&self) -> Option<Forecast> {
        self.original().forecast()
    }
    /// See [`ProblemInfo::blocks`].
    fn blocks(&self) -> Option<&dyn BlockProblem> {
        self.original().blocks()
    }
    /// See [`ProblemInfo::brackets`].
    fn brackets(&self) -> Option<&dyn BracketProblem> {
        self.original().brackets()
    }
    /// See [`ProblemInfo::law`].
    fn law(&self, pass: u32, by_degree: &[u64], new: u64, modulus: u64) -> Option<Result<(), String>> {
        self.original().law(pass, by_degree, new, modulus)
    }
    /// See [`Problem::start`].
    fn start(&self) -> Vec<(Self::Key, u64)> {
        self.original().start()
    }
    /// See [`Problem::expand`].
    fn expand(&self, pass: u32, window: Window, keys: &[Self::Key], out: &mut Successors<Self::Key>) {
        self.original().expand(pass, window, keys, out);
    }
}

/// The altered problem.
pub struct Alter<A>(pub A);

impl<A: Altered> ProblemInfo for Alter<A> {
    fn name(&self) -> &'static str {
        self.0.original().name()
    }
    fn size(&self) -> String {
        self.0.original().size()
    }
    fn board(&self) -> Board {
        self.0.original().board()
    }
    fn identity(&self) -> String {
        self.0.original().identity()
    }
    fn key_bits(&self) -> u32 {
        self.0.original().key_bits()
    }
    fn coefficients(&self) -> u32 {
        self.0.original().coefficients()
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        self.0.original().bound()
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        self.0.original().bound_after(pass)
    }
    fn functionals(&self) -> Vec<Functional> {
        self.0.functionals()
    }
    fn reports(&self) -> Vec<Report> {
        self.0.reports()
    }
    fn objects(&self, most: usize) -> Result<Vec<String>, String> {
        self.0.original().objects(most)
    }
    fn family_bits(&self, layout: Layout) -> u32 {
        self.0.original().family_bits(layout)
    }
    fn largest_family(&self, window: Window) -> Option<u128> {
        self.0.original().largest_family(window)
    }
    fn forecast(&self) -> Option<Forecast> {
        self.0.forecast()
    }
    fn blocks(&self) -> Option<&dyn BlockProblem> {
        self.0.blocks()
    }
    fn brackets(&self) -> Option<&dyn BracketProblem> {
        self.0.brackets()
    }
    fn why_no_blocks(&self) -> &'static str {
        self.0.original().why_no_blocks()
    }
    fn law(&self, pass: u32, by_degree: &[u64], new: u64, modulus: u64) -> Option<Result<(), String>> {
        self.0.law(pass, by_degree, new, modulus)
    }
}

impl<A: Altered> Problem<A::Key> for Alter<A> {
    fn start(&self) -> Vec<(A::Key, u64)> {
        self.0.start()
    }
    fn leave(&self, window: Window, layout: Layout, keys: &mut [A::Key]) {
        self.0.original().leave(window, layout, keys);
    }
    fn enter(&self, layout: Layout, window: Window, keys: &mut [A::Key]) {
        self.0.original().enter(layout, window, keys);
    }
    fn expand(&self, pass: u32, window: Window, keys: &[A::Key], out: &mut Successors<A::Key>) {
        self.0.expand(pass, window, keys, out);
    }
    fn weigh(&self, functional: usize, window: Window, keys: &[A::Key], weights: &mut [u32]) {
        self.0.original().weigh(functional, window, keys, weights);
    }
    fn strata(&self, window: Window, keys: &[A::Key], strata: &mut [u32]) {
        self.0.original().strata(window, keys, strata);
    }
}
