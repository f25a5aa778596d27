//! Avoid the square: `square-free N`, colourings of n x n cells with x and o without four equal counters at the
//! corners of a square, tilted ones too (n^2(n^2-1)/12 squares).
//!
//! Nothing of a partial board can be forgotten: a state is all cells so far, one bit each, and states never merge. A pass
//! is a filter; vectors grow and then collapse, from n = 7 on to nothing. An exchange of colours keeps a board square-free.
//! So the first cell is always x, and every state stands for two boards.
//!
//! ```text
//!   working form, Canonical: cell (row r, column c) is bit r n + c; 1 is x; cells to come are 0          n^2 bits
//!   Stage(window of rows f .. f+w): | rows outside | rows f+w-1 ... f |                 rotated right by f n
//!                                   |              |<---- w n bits -->|    a stage fills cells of these rows only
//! ```
//!
//! A full board has one number of x. So the numbers by x are functionals of a vector with one coefficient; as coefficients
//! of a polynomial, every state would have just one. Functional 0 is the total, x + 1 the boards with that many x.
//!
//! The ladder: [`brute`], [`border`], [`SquareFree`]; `listing` draws the boards themselves. Cost: a test of the squares
//! that a cell completes, per state.

pub mod border;
pub mod brute;
mod listing;
mod request;

use keima_model::{
    Board, Forecast, Functional, Key, Layout, Problem, ProblemInfo, Report, ReportRow, Successors, Window,
};

pub use request::{ABOUT, open};

/// Largest side: n^2 bits fit a u128.
pub const MAX_SIDE: u32 = 11;

/// Balanced boards, as published.
const BALANCED: &str = include_str!("../../../../tests/golden/avoid_the_square.csv");

/// Boards without squares as a recurrence with keys of type `K`: u64 up to n = 8, u128 up to 11.
pub struct SquareFree<K> {
    side: u32,
    /// Per pass: for each square that this pass completes, its other three corners.
    corners: Vec<Vec<K>>,
}

impl<K: Key> SquareFree<K> {
    /// The problem on `side` x `side` cells.
    ///
    /// # Panics
    /// If its keys do not fit `K`. [`open`] checks requests.
    pub fn new(side: u32) -> Self {
        assert!(
            (1..=MAX_SIDE).contains(&side) && side * side <= K::BITS,
            "{side}x{side} cells do not fit {} bits",
            K::BITS
        );
        let squares = brute::squares(side);
        let mut earlier = 0_u128;
        let corners = (0..side * side).map(|pass| {
            let cell = 1_u128 << bit(side, pass);
            let others = squares.iter().filter(|&&square| square & cell != 0).map(|square| square & !cell);
            let completed = others.filter(|others| others & !earlier == 0).map(K::truncate).collect();
            earlier |= cell;
            completed
        });
        Self { side, corners: corners.collect() }
    }

    fn cells(&self) -> u32 {
        self.side * self.side
    }

    /// Number of x of a balanced board.
    fn balanced(&self) -> u32 {
        self.cells().div_ceil(2)
    }

    fn known_balanced(&self) -> Option<String> {
        let mut rows = BALANCED.lines().filter_map(|line| line.split_once(','));
        rows.find(|(side, _)| *side == self.side.to_string()).map(|(_, count)| count.to_owned())
    }
}

/// The bit of the cell that a pass fills.
fn bit(side: u32, pass: u32) -> u32 {
    pass % side * side + pass / side
}

impl<K: Key> ProblemInfo for SquareFree<K> {
    fn name(&self) -> &'static str {
        "square-free"
    }

    fn size(&self) -> String {
        self.side.to_string()
    }

    fn board(&self) -> Board {
        Board { height: self.side, length: self.side }
    }

    fn identity(&self) -> String {
        format!("square-free: side {}, encoding 1, {}-bit keys", self.side, K::BITS)
    }

    fn key_bits(&self) -> u32 {
        self.cells()
    }

    fn bound(&self) -> Vec<(u32, u32)> {
        // Of the 16 colourings of a 2x2 block 14 are free of its square; blocks do not overlap.
        let blocks = (self.side / 2).pow(2);
        [(14, blocks), (2, self.cells() - 4 * blocks)].into_iter().filter(|&(_, exponent)| exponent > 0).collect()
    }

    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        if pass + 1 == self.cells() { self.bound() } else { vec![(2, pass + 1)] }
    }

    fn functionals(&self) -> Vec<Functional> {
        let functional = |name, index, answer, known| Functional {
            after_pass: self.cells() - 1,
            name,
            index,
            answer,
            known,
            formula: None,
        };
        let by_x = |x: u32| {
            let known = self.known_balanced().filter(|_| x == self.balanced());
            functional(format!("Q({}; {x} x)", self.side), x, false, known)
        };
        let total = functional(format!("Q({})", self.side), self.side, true, None);
        std::iter::once(total).chain((0..=self.cells()).map(by_x)).collect()
    }

    fn reports(&self) -> Vec<Report> {
        let row = |index: String, xs: &mut dyn Iterator<Item = u32>, known| ReportRow {
            index,
            terms: xs.map(|x| (x + 1, 0, 1)).collect(),
            known,
        };
        let table = |name: &str, index: &str, rows| Report {
            name: name.to_owned(),
            index: index.to_owned(),
            rows,
            ..Report::default()
        };
        let is_balanced = |x: &u32| *x == self.balanced();
        let all = || 0..=self.cells();
        let by_x = all()
            .map(|x| row(x.to_string(), &mut std::iter::once(x), self.known_balanced().filter(|_| is_balanced(&x))));
        let balance = vec![
            row("balanced".to_owned(), &mut all().filter(is_balanced), self.known_balanced()),
            row("unbalanced".to_owned(), &mut all().filter(|x| !is_balanced(x)), None),
        ];
        vec![table("balance", "counters", balance), table("by_x", "x", by_x.collect())]
    }

    fn objects(&self, most: usize) -> Result<Vec<String>, String> {
        listing::boards(self, most)
    }

    fn family_bits(&self, layout: Layout) -> u32 {
        match layout {
            Layout::Stage(window) => window.len * self.side,
            Layout::Canonical => self.key_bits(),
        }
    }

    fn largest_family(&self, _window: Window) -> Option<u128> {
        None
    }

    fn forecast(&self) -> Option<Forecast> {
        // Nobody knows beforehand how many boards pass the filter.
        None
    }
}

impl<K: Key> Problem<K> for SquareFree<K> {
    fn start(&self) -> Vec<(K, u64)> {
        vec![(K::default(), 1)]
    }

    fn leave(&self, _window: Window, layout: Layout, keys: &mut [K]) {
        if let Layout::Stage(target) = layout {
            rotate(keys, self.cells(), target.first * self.side);
        }
    }

    fn enter(&self, layout: Layout, _window: Window, keys: &mut [K]) {
        if let Layout::Stage(source) = layout {
            rotate(keys, self.cells(), self.cells() - source.first * self.side);
        }
    }

    fn expand(&self, pass: u32, _window: Window, keys: &[K], out: &mut Successors<K>) {
        let cell = K::truncate(1 << bit(self.side, pass));
        let corners = &self.corners[pass as usize];
        for &key in keys {
            let mut degree = 0;
            if pass > 0 && !corners.iter().any(|&others| key & others == K::default()) {
                out.keys.push(key);
                degree += 1;
            }
            if !corners.iter().any(|&others| key & others == others) {
                out.keys.push(key | cell);
                degree += 1;
            }
            out.degrees.push(degree);
        }
    }

    fn weigh(&self, functional: usize, _window: Window, keys: &[K], weights: &mut [u32]) {
        // Every state is two boards: the one it shows, and the one with the colours exchanged.
        let Some(x) = functional.checked_sub(1) else {
            weights.fill(2);
            return;
        };
        for (weight, &key) in weights.iter_mut().zip(keys) {
            let shown = key.widen().count_ones() as usize;
            *weight = u32::from(shown == x) + u32::from(shown + x == self.cells() as usize);
        }
    }
}

/// Rotates the low `bits` bits of each key to the right by at most `bits`.
fn rotate<K: Key>(keys: &mut [K], bits: u32, by: u32) {
    if by == 0 || by >= bits {
        return;
    }
    let low = !(!K::default() << by);
    for key in keys {
        *key = *key >> by | (*key & low) << (bits - by);
    }
}
