//! What a plan, a forecast and a check need to know of a problem, whatever the width of its keys.

use crate::{BlockProblem, Board, Layout, Window};

/// A decimal constant, digits as printed in its source, for instance `"2.975734192043357249381"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal(pub String);

/// An estimate of a count as a product of powers, and how far the count may lie from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// For people: `"A B^(m+n) L^(mn)"`.
    pub text: String,
    /// The product of `base ^ exponent`.
    pub factors: Vec<(Decimal, u32)>,
    /// Largest accepted |count / estimate - 1|.
    pub tolerance: f64,
}

impl Formula {
    /// Digits of a formula's powers, written out, at most: more would take minutes for each count.
    pub const MOST_DIGITS: u64 = 1_000_000;

    /// Digits of the powers of `factors`.
    pub fn digits(factors: &[(Decimal, u32)]) -> u64 {
        factors.iter().map(|(base, exponent)| (base.0.len() as u64).saturating_mul((*exponent).into())).sum()
    }
}

/// A linear form that is read off the vector after a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Functional {
    /// Read after this pass.
    pub after_pass: u32,
    /// Unique name, `"L(9,4)"`; shown to people.
    pub name: String,
    /// Place in a series (Go: the number of columns), for tables and b-files.
    pub index: u32,
    /// Whether this is (a part of) the answer; the answer's count is the sum over these.
    pub answer: bool,
    /// A published value, in decimal, that the result must equal (for one coefficient; empty for none).
    pub known: Option<String>,
    /// An estimate that the result must agree with.
    pub formula: Option<Formula>,
}

impl Functional {
    /// The counts of all shorter boards on the way to the answer: one functional per column end, `"H(9,4)"` for the
    /// letter H, after 4 columns of 9 cells. `known` gives the published value after so many columns.
    pub fn column_ends(board: Board, letter: &str, known: impl Fn(u32) -> Option<String>) -> Vec<Self> {
        let Board { height, length } = board;
        let column = |index| Self {
            after_pass: height * index - 1,
            name: format!("{letter}({height},{index})"),
            index,
            answer: index == length,
            known: known(index),
            formula: None,
        };
        (1..=length).map(column).collect()
    }
}

/// Numbers of states to expect, for the planner. Counts are exact or upper bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// `states[p]` is the number of states before pass `p`; one more entry for the end.
    pub states: Vec<u128>,
}

/// A table of results: numbers that users want beside the count, each a small linear combination of what was read off.
///
/// Quoridor's fences by number, Go's series and "all but" variants are such tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Name of the table, `"by_fences"`; lower case, unique among a problem's reports.
    pub name: String,
    /// What the index of a row is, `"fences"`; a key in JSON.
    pub index: String,
    /// The rows, in the order in which they are shown.
    pub rows: Vec<ReportRow>,
    /// Figures to show beside the numbers, such as somebody's estimates.
    pub columns: Vec<ReportColumn>,
    /// For people who read the table: what the columns are, and why they differ from the numbers. A sentence each.
    pub remarks: Vec<String>,
    /// Whether the table is a law of the run and no result: its known values must be met, and nobody is shown it.
    pub check_only: bool,
}

/// Figures beside the numbers of a [`Report`]. They are shown as they are, and nothing is checked against them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportColumn {
    /// Name of the column, `"mertens"`; lower case, a key in JSON, unlike `"table"`, `"count"` and the table's index.
    pub name: String,
    /// A figure per row of the report, `"6.1582e38"`.
    pub figures: Vec<String>,
}

/// One number of a [`Report`]: the sum over its terms of weight x coefficient of functional. Never negative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRow {
    /// Index of the row, `"20"` or `"not both on their goals"`.
    pub index: String,
    /// (index into [`ProblemInfo::functionals`], coefficient, weight).
    pub terms: Vec<(u32, u32, i64)>,
    /// A published value, in decimal, that the number must equal.
    pub known: Option<String>,
}

/// What a problem is, for `keima problems NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// One line: `"legal Go positions"`.
    pub summary: &'static str,
    /// What is counted, exactly.
    pub definition: &'static str,
    /// The size's form and range: `"MxN, smaller side 1 to 21"`.
    pub size: &'static str,
    /// Options: name (as after `--`), what stands for its value (empty for a switch), meaning.
    pub options: &'static [(&'static str, &'static str, &'static str)],
    /// What is known, and by whom.
    pub known: &'static str,
    /// Command lines.
    pub examples: &'static [&'static str],
}

/// What a plan and a check must know of a problem; everything that does not depend on the key's width.
///
/// A problem must have a name, a board, the width of its keys and a bound. The rest has defaults that are right for a
/// problem without options, with one answer after the last pass, of which nothing more is known; whatever a problem
/// says beyond that makes its runs faster, better planned or better checked.
pub trait ProblemInfo: Send + Sync {
    /// Name by which users call it: `"go"`.
    fn name(&self) -> &'static str;
    /// Size as the user gave it: `"9x5"`. By default that of the board.
    fn size(&self) -> String {
        self.board().to_string()
    }
    /// The board in the orientation in which it is filled.
    fn board(&self) -> Board;
    /// Everything that determines the numbers, in one line; jobs and runs of different problems have different ones. By
    /// default name and board, which will do for problems without options whose keys are always the same.
    fn identity(&self) -> String {
        format!("{}: board {}", self.name(), self.board())
    }
    /// Width of the keys in bits that the widest layout uses; at most `Key::BITS`.
    fn key_bits(&self) -> u32;
    /// Number of coefficients of a value (Go: 1).
    fn coefficients(&self) -> u32 {
        1
    }
    /// A proved bound on every coefficient of every functional: the product of `base ^ exponent` over the pairs
    /// (Go: `[(3, m * n)]`), which no count exceeds. Kept as powers, not as bits: rounding up to whole bits would
    /// cost some boards a residue.
    fn bound(&self) -> Vec<(u32, u32)>;
    /// Like [`ProblemInfo::bound`] for the functionals read after `pass` alone (Go: `[(3, cells so far)]`). By default
    /// the same.
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        let _ = pass;
        self.bound()
    }
    /// Linear forms to read off, in order of `after_pass`. By default the answer alone, after the last pass.
    fn functionals(&self) -> Vec<Functional> {
        let mut all = Functional::column_ends(self.board(), self.name(), |_| None);
        all.split_off(all.len().saturating_sub(1))
    }
    /// Tables of results beside the count; none for problems with one number.
    fn reports(&self) -> Vec<Report> {
        Vec::new()
    }
    /// The counted objects themselves, drawn in lines of text and in a fixed order, where the problem can list them and
    /// they are at most `most`. `Err` says why there is no list. Meant for small boards: it is made in memory, by one
    /// thread, and must give up rather than take long.
    fn objects(&self, most: usize) -> Result<Vec<String>, String> {
        let _ = most;
        Err(format!("{} counts and cannot list what it counts; leave out --list", self.name()))
    }
    /// Number of low key bits in `layout` that are *not* conserved by the stage: `key >> bits` names the family.
    /// [`ProblemInfo::key_bits`] (or more), the default, means that nothing is conserved, and all states are one
    /// family.
    fn family_bits(&self, layout: Layout) -> u32 {
        let _ = layout;
        self.key_bits()
    }
    /// Upper bound on the number of states at any pass boundary within the stage in the largest family, where known.
    fn largest_family(&self, window: Window) -> Option<u128> {
        let _ = window;
        None
    }
    /// Numbers of states per pass, where they can be told beforehand.
    fn forecast(&self) -> Option<Forecast> {
        None
    }
    /// The same problem in dense blocks, where it has them and its board is not too high for them.
    fn blocks(&self) -> Option<&dyn BlockProblem> {
        None
    }
    /// Why not, where it has none.
    fn why_no_blocks(&self) -> &'static str {
        "this problem has no block form"
    }
    /// The problem's own conservation law for one pass and one modulus (mass balance), given the sum of the
    /// old values by number of successors (`by_degree[d]`, modulo `modulus`) and the sum of the new ones. `Err` says
    /// what was expected and what came; `None`, whatever is given, that there is no such law. Only called for problems
    /// with one coefficient.
    fn law(&self, pass: u32, by_degree: &[u64], new: u64, modulus: u64) -> Option<Result<(), String>> {
        let _ = (pass, by_degree, new, modulus);
        None
    }
    /// Whether it has a law of its own.
    fn has_law(&self) -> bool {
        self.law(0, &[], 0, 2).is_some()
    }
}
