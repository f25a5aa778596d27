//! A registry that opens each problem once and hands the same one to everybody, with its identity.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use keima_model::{AnyProblem, ProblemError, ProblemRequest, Registry};

/// Most problems that stay open. A process rarely works on more.
const MOST_OPEN: usize = 64;

/// Opens problems through another registry and keeps what it opened. A request that fails is not remembered.
pub struct OpenProblems {
    registry: Arc<dyn Registry>,
    open: Mutex<HashMap<ProblemRequest, Opened>>,
}

/// An open problem.
#[derive(Clone)]
struct Opened {
    problem: AnyProblem,
    /// Made when somebody asks for it.
    identity: Arc<OnceLock<String>>,
}

impl OpenProblems {
    /// Opens problems through `registry`.
    pub fn new(registry: Arc<dyn Registry>) -> Self {
        Self { registry, open: Mutex::default() }
    }

    /// A problem with its identity, which is made once.
    pub(crate) fn identified(&self, request: &ProblemRequest) -> Result<(AnyProblem, String), ProblemError> {
        let Opened { problem, identity } = self.opened(request)?;
        let identity = identity.get_or_init(|| problem.identity()).clone();
        Ok((problem, identity))
    }

    fn opened(&self, request: &ProblemRequest) -> Result<Opened, ProblemError> {
        // The lock is held while a problem opens: a task that asks for the same one meanwhile waits for it.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = open.get(request) {
            return Ok(opened.clone());
        }
        let opened = Opened { problem: self.registry.open(request)?, identity: Arc::default() };
        if open.len() >= MOST_OPEN {
            open.clear();
        }
        open.insert(request.clone(), opened.clone());
        Ok(opened)
    }
}

impl Registry for OpenProblems {
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
        Ok(self.opened(request)?.problem)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use keima_problems::Problems;

    use super::*;

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Registry for Counting {
        fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Problems.open(request)
        }
    }

    #[test]
    fn a_problem_opens_once() {
        let counting = Arc::new(Counting::default());
        let registry = OpenProblems::new(Arc::clone(&counting) as Arc<dyn Registry>);
        let check = |words: &str, opens: bool, opened: usize| {
            let request = ProblemRequest::from_words(words).unwrap();
            assert_eq!(registry.open(&request).is_ok(), opens, "{words}");
            assert_eq!(counting.0.load(Ordering::Relaxed), opened, "{words}");
        };
        check("go 4x4", true, 1);
        check("go 4x4", true, 1);
        check("go 4x5", true, 2);
        check("knight 4x4 closed", true, 3);
        check("go 4x4", true, 3);
        check("chess 8x8", false, 4);
        check("chess 8x8", false, 5);
    }
}
