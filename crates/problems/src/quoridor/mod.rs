//! Legal Quoridor positions: `quoridor n`.
//!
//! The board has n x n squares and (n-1) x (n-1) intersections. Each intersection is empty or has a fence of two edges' length.
//! H at (r, c) blocks (r, c)-(r+1, c) and (r, c+1)-(r+1, c+1). V blocks (r, c)-(r, c+1) and (r+1, c)-(r+1, c+1). Fences do not
//! overlap. Two pawns stand on different squares; the first player's goal is row n-1, the second's row 0. A position is
//! legal if an open path leads from each pawn's square to its goal; pawns do not block. Legal is not reachable in a game.
//!
//! The ladder, each rung checked against the one below:
//! - [`brute`]: every arrangement of fences;
//! - [`border`]: the border-state recurrence in a plain map, along the goals and across them;
//! - [`Quoridor`]: the same recurrence in the engine's terms; [`state`] has states, [`step`] their successors, [`fences`] the
//!   sums that states without pawns must have, [`frontiers`] the numbers of states, [`tables`] the tables of results.
//!
//! [`rules`] has fences, ways and moves of pawns, for [`brute`] and for players.
//!
//! A pass fills one intersection. Values are polynomials in the number of fences. Cost: [`frontiers`] bounds the states.
//!
//! Three linear functionals of one run give all variants. F counts the arrangements of fences: states with both pawns
//! unplaced. S counts those with the second pawn alone, on a square with a way to its goal. T is the same with that square
//! on the first player's goal:
//!
//! ```text
//!   both on their goals             n^2 F                                always legal, never on the same square
//!   first on its goal               n S - T                              n squares, less where the second stands there
//!   second on its goal              n S - T                              the board turned round
//!   neither = all - first - second + both = all - 2 (n S - T) + n^2 F
//! ```
//!
//! T needs the state's `shared` bit: both pawns on one square of the first player's goal, where the first is at home. So it
//! counts the second's squares there.

pub mod border;
pub mod brute;
pub mod fences;
pub mod frontiers;
pub mod game;
mod request;
pub mod rules;
pub mod state;
pub mod step;
pub mod tables;

use std::collections::BTreeMap;

use keima_model::{Board, Forecast, Functional, Layout, Problem, ProblemInfo, Report, Successors, Window};

pub use request::{ABOUT, DEFAULT_MAX_FENCES, MAX_SIDE, open};
use state::State;
use step::Rules;

/// Legal positions by number of fences as a border-state recurrence with 64-bit keys.
pub struct Quoridor {
    /// Squares a side.
    n: u32,
    /// Most fences that are counted.
    max_fences: u32,
    /// Arrangements of fences after each pass, by number of fences.
    fences: Vec<Vec<u128>>,
    /// Upper bounds on the states without their split bits, by the cell of the next pass.
    frontiers: Vec<u128>,
}

impl Quoridor {
    /// The problem on `n` x `n` squares with up to `max_fences` fences (`None` for any number).
    ///
    /// # Panics
    /// If `n` is not in 2..=[`MAX_SIDE`]. [`open`] checks requests.
    pub fn new(n: u32, max_fences: Option<u32>) -> Self {
        assert!((2..=MAX_SIDE).contains(&n), "quoridor {n}: the side must be 2 to {MAX_SIDE}");
        let intersections = (n - 1) * (n - 1);
        let max_fences = max_fences.map_or(intersections, |most| most.min(intersections));
        Self { n, max_fences, fences: fences::series(n, max_fences as usize + 1), frontiers: frontiers::most(n) }
    }

    fn rules(&self) -> Rules {
        Rules { n: self.n, max_fences: self.max_fences }
    }

    /// A bound on the arrangements of any one number of fences after `pass`, as factors.
    fn most_arrangements(&self, pass: u32) -> Vec<(u32, u32)> {
        let row = self.fences.get(pass as usize).map_or(&[][..], Vec::as_slice);
        let most = row.iter().copied().max().unwrap_or(1);
        // Rounded up to a 31-bit number times a power of two.
        let shift = (128 - most.leading_zeros()).saturating_sub(31);
        let mantissa = u32::try_from(most.div_ceil(1 << shift)).unwrap_or(u32::MAX);
        vec![(mantissa, 1), (2, shift)]
    }

    /// Keys of `layout` have their split bits rotated right by this, so that the window's come last, next to the bits that
    /// change.
    fn rotation(layout: Layout) -> u32 {
        match layout {
            Layout::Canonical => 0,
            Layout::Stage(window) => window.first,
        }
    }

    /// Rotates the split bits of all keys right by `by`.
    fn turn(&self, by: u32, keys: &mut [u64]) {
        let (width, shift) = (self.n - 1, state::split_shift(self.n));
        let by = by % width;
        if by == 0 {
            return;
        }
        let low = (1 << shift) - 1;
        for key in keys {
            let split = *key >> shift;
            let turned = (split >> by | split << (width - by)) & ((1 << width) - 1);
            *key = turned << shift | *key & low;
        }
    }
}

impl ProblemInfo for Quoridor {
    fn name(&self) -> &'static str {
        "quoridor"
    }

    fn size(&self) -> String {
        self.n.to_string()
    }

    fn board(&self) -> Board {
        Board { height: self.n - 1, length: self.n - 1 }
    }

    fn identity(&self) -> String {
        let Self { n, max_fences, .. } = self;
        format!("quoridor: legal positions, {n}x{n} squares, up to {max_fences} fences, encoding 1")
    }

    fn key_bits(&self) -> u32 {
        state::key_bits(self.n)
    }

    fn coefficients(&self) -> u32 {
        self.max_fences + 1
    }

    fn bound(&self) -> Vec<(u32, u32)> {
        self.bound_after(self.board().passes() - 1)
    }

    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        let mut factors = self.most_arrangements(pass);
        if pass + 1 == self.board().passes() {
            // Pairs of different squares; the other functionals count fewer placements.
            factors.extend([(self.n, 2), (self.n * self.n - 1, 1)]);
        }
        factors
    }

    fn functionals(&self) -> Vec<Functional> {
        tables::functionals(self.board())
    }

    fn reports(&self) -> Vec<Report> {
        tables::reports(self.n, self.max_fences, &self.fences)
    }

    fn family_bits(&self, layout: Layout) -> u32 {
        match layout {
            Layout::Stage(window) if window.len < self.n - 1 => state::split_shift(self.n) + window.len,
            Layout::Stage(_) | Layout::Canonical => self.key_bits(),
        }
    }

    fn largest_family(&self, window: Window) -> Option<u128> {
        // The family fixes the split bits outside the window. The end of the last window is the start of a line.
        let height = self.n - 1;
        let kinks = (window.first..=window.end()).filter_map(|kink| self.frontiers.get((kink % height) as usize));
        kinks.max().map(|most| most << window.len)
    }

    fn forecast(&self) -> Option<Forecast> {
        let board = self.board();
        if self.max_fences < self.n.min(board.passes()) {
            // Most states are left out then, and nobody knows how many.
            return None;
        }
        let states = (0..=board.passes()).map(|pass| {
            let valid = self.frontiers[board.cell(pass) as usize] << board.height;
            let valid = (valid as f64 * frontiers::reached(self.n, pass)).ceil() as u128;
            // In the first lines there are at most as many as fillings, times the places of each pawn: any square so far,
            // or none, or both on one square.
            let squares = u128::from(self.n) * u128::from(board.column(pass) + 1) + u128::from(board.cell(pass));
            let fillings = 3_u128.checked_pow(pass).and_then(|fillings| fillings.checked_mul((squares + 1).pow(2)));
            fillings.map_or(valid, |fillings| fillings.min(valid))
        });
        Some(Forecast { states: states.collect() })
    }
}

impl Problem<u64> for Quoridor {
    fn start(&self) -> Vec<(u64, u64)> {
        let mut counts = BTreeMap::new();
        for key in self.rules().start() {
            *counts.entry(key).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    fn leave(&self, _window: Window, layout: Layout, keys: &mut [u64]) {
        self.turn(Self::rotation(layout), keys);
    }

    fn enter(&self, layout: Layout, _window: Window, keys: &mut [u64]) {
        let width = self.n - 1;
        self.turn(width - Self::rotation(layout) % width, keys);
    }

    fn expand(&self, pass: u32, _window: Window, keys: &[u64], out: &mut Successors<u64>) {
        let board = self.board();
        self.rules().expand(board.column(pass), board.cell(pass), keys, out);
    }

    fn weigh(&self, functional: usize, _window: Window, keys: &[u64], weights: &mut [u32]) {
        let n = self.n;
        let form = tables::form(self.board(), functional);
        for (weight, &key) in weights.iter_mut().zip(keys) {
            let state = State::of(key, n);
            *weight = u32::from(match form {
                tables::Form::Fences => state.is_bare(),
                tables::Form::All => state.is_legal(n),
                tables::Form::Alone => state.is_legal_alone(n),
                tables::Form::Shared => state.is_legal_shared(n),
            });
        }
    }
}
