//! Knight's tours: `knight m x n`.
//!
//! An open tour is a Hamiltonian path of the graph of knight's moves, a closed tour a Hamiltonian cycle; neither has a
//! direction. Open tours are counted in all, or between two given cells.
//!
//! The ladder, each rung checked against the one below:
//! - [`brute`]: every walk;
//! - [`border`]: the border-state recurrence in a plain map;
//! - [`Knight`]: the same recurrence in the engine's terms. [`state`] holds states, [`step`] their successors, [`batch`]
//!   those of many at a time. [`prune`] discards hopeless ones, [`layout`] writes keys, [`published`] has known values,
//!   [`bound`] proves how many there are at most.
//!
//! Cost: at most 11 successors a state; prunes leave one or two of them on average.

mod batch;
pub mod border;
pub mod bound;
pub mod brute;
pub mod layout;
pub mod prune;
pub mod published;
mod request;
pub mod state;
pub mod step;
mod tours;

use std::sync::OnceLock;

use keima_model::{Board, Forecast, Functional, Layout, Problem, ProblemInfo, Successors, Window};

use crate::per_window::PerWindow;
use layout::Codec;
use prune::Prunes;
pub(crate) use request::turned;
pub use request::{ABOUT, MAX_HEIGHT, MAX_LENGTH, open};
use state::Word;
use step::CellPass;
pub use tours::Tours;

/// Knight's tours as a border-state recurrence with keys of type `K`: u64 up to m = 7, u128 up to 12.
pub struct Knight<K> {
    /// The size as the user gave it.
    size: String,
    board: Board,
    tours: Tours,
    prunes: Prunes,
    codecs: PerWindow<Codec<K>>,
    bound: OnceLock<Vec<(u32, u32)>>,
}

impl<K: Word> Knight<K> {
    /// The problem on `board`; `size` is how the user calls it.
    ///
    /// # Panics
    /// If the height is not in 1..=[`MAX_HEIGHT`], its keys do not fit `K`, or an end is not on the board. [`open`] checks
    /// requests.
    pub fn new(size: String, board: Board, tours: Tours, prunes: Prunes) -> Self {
        let height = board.height;
        assert!((1..=MAX_HEIGHT).contains(&height), "{board}: height must be 1 to {MAX_HEIGHT}");
        if let Tours::Between(a, b) = tours {
            assert!(a != b && a.max(b) < board.passes(), "{board}: {a} and {b} are no two cells");
        }
        let problem = Self { size, board, tours, prunes, codecs: PerWindow::new(height), bound: OnceLock::new() };
        assert!(problem.key_bits() <= K::BITS, "{board}: keys do not fit {} bits", K::BITS);
        problem
    }

    /// The tables of a window.
    fn codec(&self, window: Window) -> &Codec<K> {
        self.codecs.get(window, || Codec::new(self.board.height, window))
    }
}

impl<K: Word> ProblemInfo for Knight<K> {
    fn name(&self) -> &'static str {
        "knight"
    }

    fn size(&self) -> String {
        self.size.clone()
    }

    fn board(&self) -> Board {
        self.board
    }

    fn identity(&self) -> String {
        let tours = match self.tours {
            Tours::Open => "open tours".to_owned(),
            Tours::Closed => "closed tours".to_owned(),
            Tours::Between(a, b) => format!("open tours from cell {} to cell {}", a.min(b), a.max(b)),
        };
        // Prunes change the vectors.
        let prunes = match self.prunes {
            Prunes::ALL => String::new(),
            Prunes { colours, degree } => format!(", prunes by colours: {colours}, by degree: {degree}"),
        };
        format!("knight: {tours}, board {}, encoding 1{prunes}, {}-bit keys", self.board, K::BITS)
    }

    fn key_bits(&self) -> u32 {
        let height = self.board.height;
        let windows = (0..height).flat_map(|first| (1..=height - first).map(move |len| Window { first, len }));
        windows.map(|window| layout::stage_bits(height, window)).max().unwrap_or(0)
    }

    fn bound(&self) -> Vec<(u32, u32)> {
        self.bound.get_or_init(|| bound::bound(self.board, self.tours)).clone()
    }

    fn bound_after(&self, _pass: u32) -> Vec<(u32, u32)> {
        // There is one functional, read after the last pass.
        self.bound()
    }

    fn functionals(&self) -> Vec<Functional> {
        let name = match self.tours {
            Tours::Open => format!("open tours {}", self.board),
            Tours::Closed => format!("closed tours {}", self.board),
            Tours::Between(..) => format!("open tours {} between two cells", self.board),
        };
        vec![Functional {
            after_pass: self.board.passes() - 1,
            name,
            index: self.board.length,
            answer: true,
            known: published::known(self.board, self.tours),
            formula: None,
        }]
    }

    fn family_bits(&self, layout: Layout) -> u32 {
        let height = self.board.height;
        match layout {
            Layout::Stage(window) => match layout::conserved(height, window).len() as u32 {
                0 => self.key_bits(),
                conserved => layout::stage_bits(height, window) - conserved,
            },
            Layout::Canonical => self.key_bits(),
        }
    }

    fn largest_family(&self, window: Window) -> Option<u128> {
        let tour_ends = if self.tours == Tours::Closed { 0 } else { 2 };
        Some(layout::largest_family(self.board.height, window, tour_ends))
    }

    fn forecast(&self) -> Option<Forecast> {
        // Nobody knows beforehand how many of the possible states lead on to a tour.
        None
    }
}

impl<K: Word> Problem<K> for Knight<K> {
    fn start(&self) -> Vec<(K, u64)> {
        vec![(step::start(self.board, self.tours), 1)]
    }

    fn leave(&self, _window: Window, layout: Layout, keys: &mut [K]) {
        if let Layout::Stage(target) = layout {
            let codec = self.codec(target);
            for key in keys {
                *key = codec.key(*key);
            }
        }
    }

    fn enter(&self, layout: Layout, _window: Window, keys: &mut [K]) {
        if let Layout::Stage(source) = layout {
            let codec = self.codec(source);
            for key in keys {
                *key = codec.state(*key);
            }
        }
    }

    fn expand(&self, pass: u32, _window: Window, keys: &[K], out: &mut Successors<K>) {
        CellPass::new(self.board, self.tours, self.prunes, pass).expand(keys, out);
    }

    fn weigh(&self, _functional: usize, _window: Window, keys: &[K], weights: &mut [u32]) {
        let complete: K = step::complete(self.board);
        for (weight, &key) in weights.iter_mut().zip(keys) {
            *weight = u32::from(key == complete);
        }
    }
}
