//! Quoridor fences: `quoridor-fences WxH [--max-fences K | --all]`.
//!
//! Each intersection is empty, H or V; no two H are neighbours in a row, no two V in a column. F(w,h,k) is the number of
//! fillings with k fences. A turn by 90 degrees exchanges H and V. So the smaller side is the height of the columns in
//! which the engine fills the board, and a fence lies *along* the column or *across* it.
//!
//! A state has a bit per row: whether the intersection last filled has a fence across, since the next one in the row must
//! not. One more bit says whether the intersection just filled has a fence along, since the next one in the column must
//! not. Values are the coefficients of a polynomial, by number of fences, cut off at the user's limit.
//!
//! ```text
//!   working form, Canonical          | row m-1 ... row 0 | along |                        m + 1 bits
//!   Stage(window of rows f .. f+w)   | rows outside | rows f+w-1 ... f | along |          the rows rotated right by f
//!                                    |<- m-w bits ->|<------ w+1 bits ------->|         no pass changes the first
//! ```
//!
//! The ladder: [`brute`], [`border`], [`QuoridorFences`]; [`published`] values; [`mertens`]' estimates. Cost: 3 * 2^(m-1)
//! states within a column, 2^m at its end; those that need more fences than the limit are left out.

pub mod border;
pub mod brute;
pub mod mertens;
pub mod published;
mod request;

use keima_model::{Board, Forecast, Functional, Layout, Problem, ProblemInfo, Report, ReportRow, Successors, Window};

pub use request::{ABOUT, open};

/// The bit of a fence along the column on the intersection just filled; row i's bit is `2 << i`.
const ALONG: u64 = 1;

/// F(w,h,k) for k up to a limit as a border-state recurrence.
pub struct QuoridorFences {
    /// The size as the user gave it.
    size: String,
    board: Board,
    most_fences: u32,
}

impl QuoridorFences {
    /// Placements of up to `most_fences` fences on `board`; `size` is how the user calls it.
    ///
    /// # Panics
    /// If the keys do not fit. [`open`] checks requests.
    pub fn new(size: String, board: Board, most_fences: u32) -> Self {
        assert!((1..64).contains(&board.height), "{board}: height must be 1 to 63");
        Self { size, board, most_fences: most_fences.min(board.passes()) }
    }
}

impl ProblemInfo for QuoridorFences {
    fn name(&self) -> &'static str {
        "quoridor-fences"
    }

    fn size(&self) -> String {
        self.size.clone()
    }

    fn board(&self) -> Board {
        self.board
    }

    fn identity(&self) -> String {
        format!("quoridor-fences: up to {} fences, board {}, encoding 1", self.most_fences, self.board)
    }

    fn key_bits(&self) -> u32 {
        self.board.height + 1
    }

    fn coefficients(&self) -> u32 {
        self.most_fences + 1
    }

    fn bound(&self) -> Vec<(u32, u32)> {
        self.bound_after(self.board.passes() - 1)
    }

    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        // With N intersections so far: at most 3^N fillings, of which at most C(N,k) 2^k have k fences. As
        // C(N,k) <= N^k / k! and k! >= (k/3)^k, that is at most (6N/k)^k, which grows with k as long as k <= 6N/e.
        let cells = pass + 1;
        let fences = self.most_fences.min(cells);
        if fences == 0 {
            return vec![(1, 1)];
        }
        let base = (6 * cells).div_ceil(fences);
        let bits = |base: u32, exponent: u32| f64::from(exponent) * f64::from(base).log2();
        if bits(base, fences) < bits(3, cells) { vec![(base, fences)] } else { vec![(3, cells)] }
    }

    fn functionals(&self) -> Vec<Functional> {
        let Board { height, length } = self.board;
        let column = |index| Functional {
            after_pass: height * index - 1,
            name: format!("F({height},{index})"),
            index,
            answer: index == length,
            known: published::sum(height, index, self.most_fences),
            formula: None,
        };
        (1..=length).map(column).collect()
    }

    fn reports(&self) -> Vec<Report> {
        let Board { height, length } = self.board;
        let row = |fences: u32| ReportRow {
            index: fences.to_string(),
            terms: vec![(length - 1, fences, 1)],
            known: published::known(height, length, fences).map(str::to_owned),
        };
        vec![Report {
            name: "by_fences".to_owned(),
            index: "fences".to_owned(),
            rows: (0..=self.most_fences).map(row).collect(),
            columns: mertens::columns(self.board.passes(), self.most_fences),
            remarks: mertens::lines(self.board.passes(), self.most_fences),
            check_only: false,
        }]
    }

    fn family_bits(&self, layout: Layout) -> u32 {
        match layout {
            Layout::Stage(window) => window.len + 1,
            Layout::Canonical => self.key_bits(),
        }
    }

    fn largest_family(&self, window: Window) -> Option<u128> {
        Some(2 << window.len)
    }

    fn forecast(&self) -> Option<Forecast> {
        // Of `free` bits at most `fences` are set.
        let subsets = |free: u32, fences: u32| -> u128 {
            let mut choices = 1_u128;
            let mut sum = 1;
            for chosen in 0..fences.min(free) {
                choices = choices * u128::from(free - chosen) / u128::from(chosen + 1);
                sum += choices;
            }
            sum
        };
        let states = |pass| {
            let cell = self.board.cell(pass);
            let filled = if pass < self.board.height { cell } else { self.board.height };
            let along = cell > 0 && self.most_fences > 0;
            subsets(filled, self.most_fences) + if along { subsets(filled - 1, self.most_fences - 1) } else { 0 }
        };
        Some(Forecast { states: (0..=self.board.passes()).map(states).collect() })
    }
}

impl Problem<u64> for QuoridorFences {
    fn start(&self) -> Vec<(u64, u64)> {
        vec![(0, 1)]
    }

    fn leave(&self, _window: Window, layout: Layout, keys: &mut [u64]) {
        if let Layout::Stage(target) = layout {
            rotate_rows(keys, self.board.height, target.first);
        }
    }

    fn enter(&self, layout: Layout, _window: Window, keys: &mut [u64]) {
        if let Layout::Stage(source) = layout {
            rotate_rows(keys, self.board.height, self.board.height - source.first);
        }
    }

    fn expand(&self, pass: u32, _window: Window, keys: &[u64], out: &mut Successors<u64>) {
        let across = 2 << self.board.cell(pass);
        let along = if self.board.ends_column(pass) { 0 } else { ALONG };
        for &key in keys {
            let empty = key & !(across | ALONG);
            out.keys.push(empty);
            out.shifts.push(0);
            let mut degree = 1;
            for (forbids, after) in [(ALONG, empty | along), (across, empty | across)] {
                // Every bit is a fence, so a state with too many has no coefficient left.
                if key & forbids == 0 && after.count_ones() <= self.most_fences {
                    out.keys.push(after);
                    out.shifts.push(1);
                    degree += 1;
                }
            }
            out.degrees.push(degree);
        }
    }

    fn weigh(&self, _functional: usize, _window: Window, _keys: &[u64], weights: &mut [u32]) {
        weights.fill(1);
    }
}

/// Rotates the rows' `height` bits above the lowest bit to the right.
fn rotate_rows(keys: &mut [u64], height: u32, by: u32) {
    for key in keys {
        let (rows, along) = (*key >> 1, *key & ALONG);
        let rotated = rows >> by | (rows & ((1 << by) - 1)) << (height - by);
        *key = rotated << 1 | along;
    }
}
