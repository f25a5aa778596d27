//! A problem for tests: Go's bounds, functionals and published constants, with state counts of the test's choice.

use keima_model::{Board, Decimal, Forecast, Formula, Functional, Layout, ProblemInfo, Report, Window};

/// Knows what planner and recombination ask of Go, and no Go.
pub(crate) struct Example {
    pub(crate) board: Board,
    pub(crate) coefficients: u32,
    /// Bound on every functional; `None` for Go's own, 3^cells.
    pub(crate) bound: Option<Vec<(u32, u32)>>,
    pub(crate) functionals: Vec<Functional>,
    /// Tables beside the count.
    pub(crate) reports: Vec<Report>,
    /// States of the largest family by length of the window, from length 1; empty where unknown.
    pub(crate) families: Vec<u128>,
    pub(crate) states: Option<Vec<u128>>,
}

impl Example {
    /// A board of Go without published values and forecasts; one functional per column, the last is the answer.
    pub(crate) fn new(height: u32, length: u32) -> Self {
        let column = |k: u32| Functional {
            after_pass: height * k - 1,
            name: format!("L({height},{k})"),
            index: k,
            answer: k == length,
            known: None,
            formula: None,
        };
        Self {
            board: Board { height, length },
            coefficients: 1,
            bound: None,
            functionals: (1..=length).map(column).collect(),
            reports: Vec::new(),
            families: Vec::new(),
            states: None,
        }
    }

    /// Go's asymptotic formula for height x `length`.
    pub(crate) fn formula(&self, length: u32, tolerance: f64) -> Formula {
        let height = self.board.height;
        let constant = |digits: &str| Decimal(digits.into());
        Formula {
            text: "A B^(m+n) L^(mn)".into(),
            factors: vec![
                (constant("0.8506399258457145"), 1),
                (constant("0.96553505933837387"), height + length),
                (constant("2.975734192043357249381"), height * length),
            ],
            tolerance,
        }
    }
}

impl ProblemInfo for Example {
    fn name(&self) -> &'static str {
        "example"
    }
    fn size(&self) -> String {
        self.board.to_string()
    }
    fn board(&self) -> Board {
        self.board
    }
    fn identity(&self) -> String {
        format!("example {}", self.board)
    }
    fn key_bits(&self) -> u32 {
        64
    }
    fn coefficients(&self) -> u32 {
        self.coefficients
    }
    fn bound(&self) -> Vec<(u32, u32)> {
        self.bound_after(self.board.passes() - 1)
    }
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        self.bound.clone().unwrap_or_else(|| vec![(3, pass + 1)])
    }
    fn functionals(&self) -> Vec<Functional> {
        self.functionals.clone()
    }
    fn reports(&self) -> Vec<Report> {
        self.reports.clone()
    }
    fn family_bits(&self, _: Layout) -> u32 {
        64
    }
    fn largest_family(&self, window: Window) -> Option<u128> {
        self.families.get(window.len as usize - 1).copied()
    }
    fn forecast(&self) -> Option<Forecast> {
        self.states.clone().map(|states| Forecast { states })
    }
}
