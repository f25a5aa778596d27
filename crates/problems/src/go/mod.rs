//! Legal Go positions: `go m x n`.
//!
//! A position colours each point empty, black or white; it is legal if every string (connected stones of one colour)
//! has an adjacent empty point. L(m,n) is the number of legal positions. Tromp and Farnebäck, *Combinatorics of Go*
//! (2016), sections 5.1 to 5.11, from here on "the paper".
//!
//! The ladder, each rung checked against the one below:
//! - [`brute`]: every colouring;
//! - [`border`]: the border-state recurrence in a plain map;
//! - [`Go`]: the same recurrence in the engine's terms. [`state`] holds states and their successors, and [`layout`]
//!   writes them as keys. [`automaton`] counts them beforehand, by the rule of `kink.rs`. [`published`] has known values and
//!   the asymptotic formula, [`block`] the block form.
//!
//! [`rules`] has the rules of moves on small boards: captures and suicide, for games. [`wide`] has
//! borders of any height, for estimates by sampling.
//!
//! Cost: fewer than 5.4^m states a pass, each with two or three successors. [`automaton`] has the exact numbers.

pub mod automaton;
pub mod block;
pub mod border;
pub mod brute;
mod kink;
pub mod layout;
pub mod published;
mod request;
pub mod rules;
pub mod state;
pub mod wide;

use keima_model::{BlockProblem, Board, Forecast, Functional, Layout, Problem, ProblemInfo, Successors, Window};

use crate::per_window::PerWindow;
use layout::Codec;
pub(crate) use request::turned;
pub use request::{ABOUT, MAX_HEIGHT, MAX_LENGTH, open};
use state::Word;

/// Largest height whose working form of 4m bits fits a u64.
const MAX_NARROW_WORKING_HEIGHT: u32 = 16;

/// L(m,n) as a border-state recurrence with keys of type `K`: u64 up to m = 13, u128 up to 21.
pub struct Go<K> {
    /// The size as the user gave it.
    size: String,
    board: Board,
    codecs: PerWindow<Codec<K>>,
}

impl<K: Word> Go<K> {
    /// The problem on `board`; `size` is how the user calls it.
    ///
    /// # Panics
    /// If the height is not in 1..=[`MAX_HEIGHT`] or its keys do not fit `K`. [`open`] checks requests.
    pub fn new(size: String, board: Board) -> Self {
        let height = board.height;
        assert!((1..=MAX_HEIGHT).contains(&height), "{board}: height must be 1 to {MAX_HEIGHT}");
        let problem = Self { size, board, codecs: PerWindow::new(height) };
        assert!(problem.key_bits() <= K::BITS, "{board}: keys do not fit {} bits", K::BITS);
        problem
    }

    /// The tables of a window.
    fn codec(&self, window: Window) -> &Codec<K> {
        self.codecs.get(window, || Codec::new(self.board.height, window))
    }
}

impl<K: Word> ProblemInfo for Go<K> {
    fn name(&self) -> &'static str {
        "go"
    }

    fn size(&self) -> String {
        self.size.clone()
    }

    fn board(&self) -> Board {
        self.board
    }

    fn identity(&self) -> String {
        format!("go: legal positions, board {}, encoding 1, {}-bit keys", self.board, K::BITS)
    }

    fn key_bits(&self) -> u32 {
        // The stage layout of a window of one cell; the canonical layout has 4m bits.
        5 * self.board.height - 1
    }

    fn bound(&self) -> Vec<(u32, u32)> {
        vec![(3, self.board.passes())]
    }

    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        vec![(3, pass + 1)]
    }

    fn functionals(&self) -> Vec<Functional> {
        let Board { height, length } = self.board;
        let column = |index| Functional {
            after_pass: height * index - 1,
            name: format!("L({height},{index})"),
            index,
            answer: index == length,
            known: published::known(height, index).map(str::to_owned),
            formula: published::formula(height, index),
        };
        (1..=length).map(column).collect()
    }

    fn family_bits(&self, layout: Layout) -> u32 {
        match layout {
            Layout::Stage(window) if window.len < self.board.height => layout::changing_bits(self.board.height, window),
            Layout::Stage(_) | Layout::Canonical => self.key_bits(),
        }
    }

    fn largest_family(&self, window: Window) -> Option<u128> {
        Some(automaton::largest_family(self.board.height, window))
    }

    fn forecast(&self) -> Option<Forecast> {
        let classes = automaton::classes(self.board.height);
        let mut colourings = 1_u128;
        let states = (0..=self.board.passes()).map(|pass| {
            let coloured = colourings.div_ceil(2);
            colourings = colourings.saturating_mul(3);
            match self.board.column(pass) {
                // In the first column a state is the colouring of the column so far.
                0 => coloured,
                // Later there are at most as many as colourings of all cells so far, and as valid states.
                _ => coloured.min(classes[self.board.cell(pass) as usize]),
            }
        });
        Some(Forecast { states: states.collect() })
    }

    fn blocks(&self) -> Option<&dyn BlockProblem> {
        block::HEIGHTS.contains(&self.board.height).then_some(self as &dyn BlockProblem)
    }

    fn why_no_blocks(&self) -> &'static str {
        "go has a block form for boards whose smaller side is 2 to 21"
    }

    fn law(&self, pass: u32, by_degree: &[u64], new: u64, modulus: u64) -> Option<Result<(), String>> {
        Some(law(self.board.column(pass), by_degree, new, modulus).map_err(|text| format!("pass {pass}{text}")))
    }
}

/// Every state has three successors, or two if one of them would leave its west stone without a liberty.
fn law(column: u32, by_degree: &[u64], new: u64, modulus: u64) -> Result<(), String> {
    let at = |degree: usize| by_degree.get(degree).copied().unwrap_or(0) % modulus;
    // In the first column there is no west stone.
    let possible = if column == 0 { 3..=3 } else { 2..=3 };
    for degree in (0..by_degree.len()).filter(|degree| !possible.contains(degree)) {
        if at(degree) != 0 {
            return Err(format!(
                " (column {column}): states have {} to 3 successors, but states with {degree} have the sum {} modulo \
                 {modulus}",
                possible.start(),
                at(degree),
            ));
        }
    }
    // new + dropped = 3 old, where each state with two successors drops its value once.
    let wide = |residue: u64| u128::from(residue);
    let old = wide(at(2)) + wide(at(3));
    let (left, right) = ((wide(new) + wide(at(2))) % wide(modulus), 3 * old % wide(modulus));
    if left != right {
        return Err(format!(
            ": new + dropped = 3 old is violated modulo {modulus}: expected {right}, got {left} (new {new}, dropped {}, \
             old {})",
            at(2),
            old % wide(modulus),
        ));
    }
    Ok(())
}

impl<K: Word> Problem<K> for Go<K> {
    fn start(&self) -> Vec<(K, u64)> {
        // All cells west of the first column are edge.
        vec![(K::ZERO, 1)]
    }

    fn leave(&self, _window: Window, layout: Layout, keys: &mut [K]) {
        match layout {
            Layout::Canonical => rewrite(keys, |key| state::normalise(key, K::ZERO)),
            Layout::Stage(target) => {
                let codec = self.codec(target);
                rewrite(keys, |key| codec.key(key));
            }
        }
    }

    fn enter(&self, layout: Layout, window: Window, keys: &mut [K]) {
        match layout {
            Layout::Stage(source) if source == window => {
                let codec = self.codec(source);
                rewrite(keys, |key| codec.state(key));
            }
            Layout::Stage(source) => {
                let codec = self.codec(source);
                let outside = layout::outside(self.board.height, window);
                rewrite(keys, |key| state::normalise(codec.state(key), outside));
            }
            Layout::Canonical => {
                let outside = layout::outside(self.board.height, window);
                rewrite(keys, |key| state::normalise(key, outside));
            }
        }
    }

    fn expand(&self, pass: u32, window: Window, keys: &[K], out: &mut Successors<K>) {
        let Board { height, .. } = self.board;
        let cell = self.board.cell(pass);
        if height <= MAX_NARROW_WORKING_HEIGHT {
            state::expand::<u64, K>(cell, layout::outside(height, window), keys, out);
        } else {
            state::expand::<K, K>(cell, layout::outside(height, window), keys, out);
        }
    }

    fn weigh(&self, _functional: usize, _window: Window, keys: &[K], weights: &mut [u32]) {
        for (weight, &key) in weights.iter_mut().zip(keys) {
            *weight = u32::from(state::accepts(key));
        }
    }

    fn strata(&self, _window: Window, keys: &[K], strata: &mut [u32]) {
        for (stratum, &key) in strata.iter_mut().zip(keys) {
            // The paper's: the fewer strings wait for a liberty, the more completions there are.
            *stratum = self.board.height.saturating_sub(state::needy_strings(key));
        }
    }
}

/// Replaces each key by `rewritten` of it.
#[inline]
fn rewrite<K: Copy>(keys: &mut [K], rewritten: impl Fn(K) -> K) {
    for key in keys {
        *key = rewritten(*key);
    }
}
