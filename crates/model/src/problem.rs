//! The trait that the engine works with: batches of states in, batches of successors out.
//!
//! Cost: one dynamic call serves thousands of states.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Key, Layout, ProblemInfo, Window, did_you_mean};

/// Successors of a batch of states, in the order of the states.
///
/// ```text
///   keys     k00 k01 k02 | k10 k11 | k20 k21 k22 ...
///   degrees      3       |    2    |     3
///   shifts   empty (all 0), or one per successor: the coefficient index moves up by it
/// ```
#[derive(Clone, Debug, Default)]
pub struct Successors<K> {
    /// Successors' working keys, all of the first state's, then all of the second's ...
    pub keys: Vec<K>,
    /// Number of successors of each state; one entry per state of the batch.
    pub degrees: Vec<u8>,
    /// Empty, or a shift for each successor: its value is multiplied by x^shift. Coefficients beyond the last are dropped.
    pub shifts: Vec<u8>,
}

impl<K> Successors<K> {
    /// Empties all columns, keeping their memory.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.degrees.clear();
        self.shifts.clear();
    }
}

/// A border-state recurrence over keys of one width.
///
/// Three forms of a state occur, all of type `K`:
/// - the *working form*, in which the passes of one stage run: its bits suit expansion, and symmetries are normalised by
///   the part that the stage conserves;
/// - the *layout form*, in which runs hold it: [`Layout::Stage`] of the stage that will read it, so that families stand
///   together, or [`Layout::Canonical`];
/// - the *canonical form* (the layout form of [`Layout::Canonical`]), in which vectors are compared.
///
/// All functions are pure, and total on keys that the problem itself produced. On any other key they may return anything
/// but must not panic or loop: a flipped bit in memory must end in a failed check.
///
/// A problem must have [`Problem::expand`]. The defaults are those of a problem with one form for all layouts that begins
/// with an empty border and counts all states after the last pass.
pub trait Problem<K: Key>: ProblemInfo {
    /// The vector before pass 0, in the canonical form: distinct keys with their counts (coefficient 0). By default the
    /// key 0, once.
    fn start(&self) -> Vec<(K, u64)> {
        vec![(K::default(), 1)]
    }
    /// Working form of the stage over `window` to the layout form `layout`, in place.
    fn leave(&self, window: Window, layout: Layout, keys: &mut [K]) {
        let _ = (window, layout, keys);
    }
    /// Layout form `layout` to the working form of the stage over `window`, in place. `layout` is
    /// `Layout::Stage(window)` or `Layout::Canonical`.
    fn enter(&self, layout: Layout, window: Window, keys: &mut [K]) {
        let _ = (layout, window, keys);
    }
    /// Appends the successors of `keys` (working form of `window`) through `pass` to the cleared `out`. Successors are
    /// normalised: equal states have equal keys.
    fn expand(&self, pass: u32, window: Window, keys: &[K], out: &mut Successors<K>);
    /// Overwrites `weights` with the small weights of functional number `functional`, an index into
    /// [`ProblemInfo::functionals`], on `keys`. These are in the working form of `window` after the functional's pass. Both
    /// slices have one length. By default every state counts once.
    fn weigh(&self, functional: usize, window: Window, keys: &[K], weights: &mut [u32]) {
        let _ = (functional, window, keys);
        weights.fill(1);
    }
    /// Overwrites `strata` with the strata of `keys` (working form of `window`, after the same number of passes) for
    /// sampling: states of one stratum should have about as many completions. Both slices have one length. Any strata give
    /// unbiased estimates. By default the number of bits that are set in the key.
    fn strata(&self, window: Window, keys: &[K], strata: &mut [u32]) {
        let _ = window;
        for (stratum, key) in strata.iter_mut().zip(keys) {
            *stratum = key.widen().count_ones();
        }
    }
}

/// A problem of either key width.
#[derive(Clone)]
pub enum AnyProblem {
    /// Keys of 64 bits.
    Narrow(Arc<dyn Problem<u64>>),
    /// Keys of 128 bits.
    Wide(Arc<dyn Problem<u128>>),
}

impl AnyProblem {
    /// The part that does not depend on the key's width.
    pub fn info(&self) -> &dyn ProblemInfo {
        match self {
            Self::Narrow(p) => p.as_ref(),
            Self::Wide(p) => p.as_ref(),
        }
    }
    /// Width of the keys in bytes: 8 or 16.
    pub fn key_bytes(&self) -> u32 {
        match self {
            Self::Narrow(_) => 8,
            Self::Wide(_) => 16,
        }
    }
}

/// A user's request: a problem's name, its size, and options.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProblemRequest {
    /// `"go"`.
    pub name: String,
    /// `"9x9"`.
    pub size: String,
    /// Problem's own options, name and value.
    pub options: Vec<(String, String)>,
}

impl ProblemRequest {
    /// The words as a user types them: `go 9x9`, `knight 6x6 closed`, `quoridor 3x3 max-fences=2`.
    pub fn words(&self) -> String {
        let mut words = format!("{} {}", self.name, self.size);
        for (name, value) in &self.options {
            words += " ";
            words += name;
            if !value.is_empty() {
                words += "=";
                words += value;
            }
        }
        words
    }

    /// The request of these words; `None` if there are fewer than two.
    pub fn from_words(words: &str) -> Option<Self> {
        let mut words = words.split(' ');
        let (name, size) = (words.next()?.to_owned(), words.next()?.to_owned());
        Some(Self { name, size, options: words.map(Self::option).collect() })
    }

    /// Name and value of an option `NAME=VALUE`, or `NAME` for a switch.
    pub fn option(word: &str) -> (String, String) {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        (name.to_owned(), value.to_owned())
    }
}

/// A request that names no problem. The text says what is accepted.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum ProblemError {
    /// No problem of that name.
    #[error("there is no problem called {got:?}{}; known problems: {known}", did_you_mean(got, known.split(", ")))]
    UnknownProblem {
        /// The name.
        got: String,
        /// The known names.
        known: String,
    },
    /// The size cannot be read, or is out of range.
    #[error("{problem}: cannot count size {got:?}: {why}")]
    BadSize {
        /// The problem asked.
        problem: String,
        /// What came.
        got: String,
        /// What is expected, with an example.
        why: String,
    },
    /// An option is not known to the problem, or its value is out of range.
    #[error("{problem}: {}{why}", typed(option, got))]
    BadOption {
        /// The problem asked.
        problem: String,
        /// Option's name; empty where an option is missing.
        option: String,
        /// What came.
        got: String,
        /// What is expected.
        why: String,
    },
}

/// An option as it was typed, to be followed by what is wrong with it: `"option hamiltonian: "`, `option max-fences="-3": `.
fn typed(option: &str, got: &str) -> String {
    match (option, got) {
        ("", _) => String::new(),
        (option, "") => format!("option {option}: "),
        (option, got) => format!("option {option}={got:?}: "),
    }
}

/// Opens problems by name. `problems` implements it; everything else is handed one.
pub trait Registry: Send + Sync {
    /// The problem that `request` names.
    fn open(&self, request: &ProblemRequest) -> Result<AnyProblem, ProblemError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_the_words_that_are_typed() {
        for (words, options) in [
            ("go 9x9", &[][..]),
            ("knight 6x6 closed", &[("closed", "")]),
            ("quoridor 3x3 all max-fences=2", &[("all", ""), ("max-fences", "2")]),
        ] {
            let request = ProblemRequest::from_words(words).unwrap();
            let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
            assert_eq!(request.options, options.iter().map(own).collect::<Vec<_>>(), "{words}");
            assert_eq!(request.words(), words);
        }
        assert_eq!(ProblemRequest::from_words("go"), None);
    }
}
