//! A problem without published numbers and formulas, so that nothing but the laws can find a wrong number. On request it
//! errs: one successor of one batch gets a key with a flipped bit, as a memory error between two passes would do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use keima_model::mix::split_mix;
use keima_model::{
    Alter, Altered, AnyProblem, BracketProblem, Functional, Problem, ProblemError, ProblemRequest, Registry, Report,
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
            AnyProblem::Narrow(inner) => AnyProblem::Narrow(Arc::new(Alter(Bare { inner, slip: self.slip.clone() }))),
            wide @ AnyProblem::Wide(_) => wide,
        })
    }
}

struct Bare {
    inner: Arc<dyn Problem<u64>>,
    slip: Option<Arc<Slip>>,
}

impl Altered for Bare {
    type Key = u64;
    fn original(&self) -> &dyn Problem<u64> {
        self.inner.as_ref()
    }
    fn functionals(&self) -> Vec<Functional> {
        let bare = |functional| Functional { known: None, formula: None, ..functional };
        self.inner.functionals().into_iter().map(bare).collect()
    }
    fn reports(&self) -> Vec<Report> {
        Vec::new()
    }
    fn brackets(&self) -> Option<&dyn BracketProblem> {
        None
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
}
