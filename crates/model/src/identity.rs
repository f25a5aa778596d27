//! The identity of a problem: what it says of itself, and a fingerprint of what it does.
//!
//! A name and a version can be forgotten when a recurrence changes. The fingerprint cannot: it is made from the recurrence.
//!
//! ```text
//!   states     start -> pass 0 -> pass 1 -> ...   the first columns, and the last
//!                 at most MOST_STATES of each boundary, those of the smallest hash
//!   folded     every (pass, state, successor, shift), and every (functional, state, weight)
//! ```
//!
//! The fold is a sum of hashes: the order of states and of successors does not matter. All keys are in the canonical form,
//! so the fingerprint is the same for every plan, thread and machine. It sees each change of a transition, of a key's
//! encoding or of a functional that shows among these states. It does not see how dense blocks are built. Cost: some
//! milliseconds, at most [`MOST_PASSES`] passes of [`MOST_STATES`] states.

use crate::mix::finalise;
use crate::{AnyProblem, Key, Layout, Problem, Successors, Window};

/// States that are taken from one boundary to the next.
const MOST_STATES: usize = 96;
/// Passes from the start on, rounded down to whole columns, but at least one column.
const MOST_PASSES: u32 = 128;
/// Most passes of one column: higher ones are cut.
const MOST_CELLS: u32 = 512;

impl AnyProblem {
    /// Everything that determines the numbers, in one line: [`ProblemInfo::identity`], and a fingerprint of the
    /// recurrence. Two programs that count the same have the same; another recurrence under the same name has another.
    /// Takes some milliseconds.
    pub fn identity(&self) -> String {
        let behaviour = match self {
            Self::Narrow(problem) => behaviour(&**problem),
            Self::Wide(problem) => behaviour(&**problem),
        };
        format!("{}; behaviour {behaviour:016x}", self.info().identity())
    }
}

/// A hash of an identity, for run headers.
pub fn identity_hash(identity: &str) -> u64 {
    text(identity)
}

fn text(text: &str) -> u64 {
    text.bytes().fold(text.len() as u64, |hash, byte| finalise(hash ^ u64::from(byte)))
}

/// One hash of several numbers, in their order.
fn all(numbers: &[u64]) -> u64 {
    numbers.iter().fold(numbers.len() as u64, |hash, &number| finalise(hash.rotate_left(1) ^ finalise(number)))
}

/// The fingerprint of a recurrence.
fn behaviour<K: Key>(problem: &dyn Problem<K>) -> u64 {
    let mut probe = Probe::new(problem);
    let board = problem.board();
    let height = board.height.max(1);
    let columns = (MOST_PASSES / height).clamp(1, board.length.max(1));
    for column in (0..columns).chain((columns < board.length).then(|| board.length - 1)) {
        for cell in 0..board.height.min(MOST_CELLS) {
            probe.take(column.saturating_mul(height).saturating_add(cell));
        }
    }
    probe.sum
}

/// A few states on their way through the passes.
struct Probe<'a, K> {
    problem: &'a dyn Problem<K>,
    /// Numbers of the functionals that are read after a pass, with the pass.
    functionals: Vec<(usize, u32)>,
    /// In the canonical form, distinct.
    states: Vec<K>,
    sum: u64,
    successors: Successors<K>,
}

impl<'a, K: Key> Probe<'a, K> {
    fn new(problem: &'a dyn Problem<K>) -> Self {
        let functionals = problem.functionals();
        let mut sum = all(&[K::BITS.into(), problem.key_bits().into(), problem.coefficients().into()]);
        let mut add = |hash: u64| sum = sum.wrapping_add(hash);
        for (number, functional) in (0..).zip(&functionals) {
            let answer = u64::from(functional.answer);
            let place = [number, functional.after_pass.into(), functional.index.into(), answer];
            add(all(&[all(&place), text(&functional.name)]));
        }
        let start = problem.start();
        for (key, count) in &start {
            add(all(&[1, key.mix(0), key.mix(1), *count]));
        }
        let states = start.into_iter().map(|(key, _)| key).collect();
        let functionals = functionals.iter().map(|functional| functional.after_pass).enumerate().collect();
        let mut probe = Self { problem, functionals, states, sum, successors: Successors::default() };
        probe.thin();
        probe
    }

    /// Keeps some of the states, the same ones everywhere.
    fn thin(&mut self) {
        self.states.sort_unstable();
        self.states.dedup();
        if self.states.len() > MOST_STATES {
            self.states.sort_unstable_by_key(|key| (key.mix(2), *key));
            self.states.truncate(MOST_STATES);
        }
    }

    /// Takes the states through a pass of the plain recurrence, by a window of one cell.
    fn take(&mut self, pass: u32) {
        let window = Window { first: self.problem.board().cell(pass), len: 1 };
        let mut old = self.states.clone();
        self.problem.enter(Layout::Canonical, window, &mut old);
        self.successors.clear();
        self.problem.expand(pass, window, &old, &mut self.successors);
        self.weigh(pass, window);
        let Successors { keys, degrees, shifts } = &mut self.successors;
        self.problem.leave(window, Layout::Canonical, keys);
        let mut new = keys.iter().zip(shifts.iter().map(|&shift| u64::from(shift)).chain(std::iter::repeat(0)));
        for (state, &degree) in self.states.iter().zip(&*degrees) {
            let from = all(&[3, pass.into(), degree.into(), state.mix(0), state.mix(1)]);
            for (key, shift) in new.by_ref().take(degree.into()) {
                self.sum = self.sum.wrapping_add(all(&[from, key.mix(0), key.mix(1), shift]));
            }
            self.sum = self.sum.wrapping_add(from);
        }
        self.states.clone_from(keys);
        self.thin();
    }

    /// Folds the weights of the functionals that are read after a pass. The successors are in the working form.
    fn weigh(&mut self, pass: u32, window: Window) {
        let mut states = self.successors.keys.clone();
        states.sort_unstable();
        states.dedup();
        let mut canonical = states.clone();
        self.problem.leave(window, Layout::Canonical, &mut canonical);
        let mut weights = vec![0; states.len()];
        for &(functional, _) in self.functionals.iter().filter(|(_, after)| *after == pass) {
            self.problem.weigh(functional, window, &states, &mut weights);
            for (key, &weight) in canonical.iter().zip(&weights) {
                let hash = all(&[4, functional as u64, key.mix(0), key.mix(1), weight.into()]);
                self.sum = self.sum.wrapping_add(hash);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Board, ProblemInfo};

    /// Words of 0 and 1 down the columns of a board; each variant but the first differs in one thing.
    #[derive(Clone, Copy, Default)]
    struct Words {
        length: u32,
        variant: &'static str,
        /// Successors in the other order.
        turned: bool,
    }

    impl ProblemInfo for Words {
        fn name(&self) -> &'static str {
            "words"
        }
        fn board(&self) -> Board {
            Board { height: 3, length: self.length }
        }
        fn key_bits(&self) -> u32 {
            3
        }
        fn coefficients(&self) -> u32 {
            2
        }
        fn bound(&self) -> Vec<(u32, u32)> {
            vec![(2, 3 * self.length)]
        }
    }

    impl Problem<u64> for Words {
        fn start(&self) -> Vec<(u64, u64)> {
            vec![(0, if self.variant == "start" { 2 } else { 1 })]
        }
        fn expand(&self, pass: u32, _: Window, keys: &[u64], out: &mut Successors<u64>) {
            let bit = 1 << (pass % 3);
            for &key in keys {
                let both = key & 1 == 0 || self.variant != "transition";
                let both = both && !(self.variant == "last column" && pass + 1 == 3 * self.length);
                let mut new = vec![key & !bit];
                new.extend(both.then_some(key | bit));
                if self.turned {
                    new.reverse();
                }
                out.degrees.push(new.len() as u8);
                out.shifts.extend(new.iter().map(|to| u8::from(to & bit > 0 && self.variant != "shift")));
                out.keys.extend(new);
            }
        }
        fn weigh(&self, _: usize, _: Window, keys: &[u64], weights: &mut [u32]) {
            for (key, weight) in keys.iter().zip(weights) {
                *weight = u32::from(*key != 5 || self.variant != "weight");
            }
        }
    }

    #[test]
    fn another_recurrence_under_the_same_name_has_another_identity() {
        let identity = |words: Words| AnyProblem::Narrow(Arc::new(words)).identity();
        for length in [1, 2, 200] {
            let plain = Words { length, ..Words::default() };
            assert_eq!(identity(plain), identity(Words { turned: true, ..plain }), "the order of successors");
            assert!(
                identity(plain).starts_with(&format!("words: board 3x{length}; behaviour ")),
                "{}",
                identity(plain)
            );
            for variant in ["start", "transition", "last column", "shift", "weight"] {
                assert_ne!(identity(plain), identity(Words { variant, ..plain }), "{variant}, {length} columns");
            }
        }
    }
}
