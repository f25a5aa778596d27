//! A problem without published numbers and formulas, so that nothing but the laws can find a wrong number. On request it
//! errs: one successor of one batch gets a key with a flipped bit, as a memory error between two passes would do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keima_model::mix::split_mix;
use keima_model::{
    AnyProblem, Board, Forecast, Functional, Layout, Problem, ProblemError, ProblemInfo, ProblemRequest, Registry,
    Successors, Window,
};
use keima_problems::Problems;

/// When a key changes between two passes.
#[derive(Default)]
pub(crate) struct Slip {
    /// Batches until then.
    pub(crate) at: u64,
    pub(crate) seed: u64,
    pub(crate) seen: AtomicU64,
    pub(crate) hit: AtomicBool,
}

/// Opens problems without their published numbers.
#[derive(Clone, Default)]
pub(crate) struct Plain {
    pub(crate) slip: Option<Arc<Slip>>,
}

impl Registry for Plain {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        Ok(match Problems.open(request)? {
            AnyProblem::Narrow(inner) => AnyProblem::Narrow(Arc::new(Bare { inner, slip: self.slip.clone() })),
            wide @ AnyProblem::Wide(_) => wide,
        })
    }
}

struct Bare {
    inner: Arc<dyn Problem<u64>>,
    slip: Option<Arc<Slip>>,
}

impl ProblemInfo for Bare {
    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn size(&self) -> String {
        self.inner.size()
    }
    fn board(&self) -> Board {
        self.inner.board()
    }
    fn identity(&self) -> String {
        self.inner.identity()
    }
    fn key_bits(&self) -> u32 {
        self.inner.key_bits()
    }
    fn coefficients(&self) -> u32 {
        self.inner.coefficients()
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        self.inner.bound()
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        self.inner.bound_after(pass)
    }
    fn functionals(&self) -> Vec<Functional> {
        let bare = |functional| Functional { known: None, formula: None, ..functional };
        self.inner.functionals().into_iter().map(bare).collect()
    }
    fn family_bits(&self, layout: Layout) -> u32 {
        self.inner.family_bits(layout)
    }
    fn largest_family(&self, window: Window) -> Option<u128> {
        self.inner.largest_family(window)
    }
    fn forecast(&self) -> Option<Forecast> {
        self.inner.forecast()
    }
    fn law(&self, pass: u32, by_degree: &[u64], new: u64, modulus: u64) -> Option<Result<(), String>> {
        self.inner.law(pass, by_degree, new, modulus)
    }
}

impl Problem<u64> for Bare {
    fn start(&self) -> Vec<(u64, u64)> {
        self.inner.start()
    }
    fn leave(&self, window: Window, layout: Layout, keys: &mut [u64]) {
        self.inner.leave(window, layout, keys);
    }
    fn enter(&self, layout: Layout, window: Window, keys: &mut [u64]) {
        self.inner.enter(layout, window, keys);
    }
    fn expand(&self, pass: u32, window: Window, keys: &[u64], out: &mut Successors<u64>) {
        self.inner.expand(pass, window, keys, out);
        let Some(slip) = &self.slip else { return };
        if slip.seen.fetch_add(1, Ordering::Relaxed) == slip.at && !out.keys.is_empty() {
            let mut random = slip.seed;
            let place = split_mix(&mut random) as usize % out.keys.len();
            out.keys[place] ^= 1 << (split_mix(&mut random) % u64::from(self.inner.key_bits()));
            slip.hit.store(true, Ordering::Relaxed);
        }
    }
    fn weigh(&self, functional: usize, window: Window, keys: &[u64], weights: &mut [u32]) {
        self.inner.weigh(functional, window, keys, weights);
    }
}
