//! What a check finds: whether it holds, and if not, what was expected and what came.

/// One check and its finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// `"hash"`, `"mass_balance"` ...
    pub name: &'static str,
    /// Whether it holds.
    pub ok: bool,
    /// What was compared; for a failed check, what was expected and what came.
    pub detail: String,
}

/// Most failures of one check that are told.
const MOST_TOLD: usize = 3;

/// Collects the failures of one check.
pub(crate) struct Findings {
    name: &'static str,
    failures: Vec<String>,
    more: usize,
}

impl Findings {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, failures: Vec::new(), more: 0 }
    }

    pub(crate) fn fail(&mut self, text: impl Into<String>) {
        if self.failures.len() < MOST_TOLD {
            self.failures.push(text.into());
        } else {
            self.more += 1;
        }
    }

    /// Whether there are failures.
    pub(crate) const fn any(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Fails unless both are equal.
    pub(crate) fn equal<T: PartialEq + std::fmt::Display>(&mut self, what: &str, expected: &T, got: &T) {
        if expected != got {
            self.fail(format!("{what}: expected {expected}, got {got}"));
        }
    }

    /// Fails in the first lane in which two rows differ.
    pub(crate) fn same_lanes(&mut self, what: &str, expected: &[u64], got: &[u64], moduli: &[u64]) {
        if expected.len() != got.len() {
            return self.fail(format!("{what}: expected {} lanes, got {}", expected.len(), got.len()));
        }
        if let Some(lane) = expected.iter().zip(got).position(|(e, g)| e != g) {
            let modulus = moduli.get(lane % moduli.len().max(1)).copied().unwrap_or(0);
            let (expected, got) = (expected[lane], got[lane]);
            self.fail(format!("{what}, lane {lane}, modulus {modulus}: expected {expected}, got {got}"));
        }
    }

    /// The check; `good` says what was compared if it holds.
    pub(crate) fn check(mut self, good: impl Into<String>) -> Check {
        let ok = self.failures.is_empty();
        if self.more > 0 {
            self.failures.push(format!("and {} more", self.more));
        }
        Check { name: self.name, ok, detail: if ok { good.into() } else { self.failures.join("; ") } }
    }
}
