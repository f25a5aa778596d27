//! The part of a problem that plans, forecasts and checks use, whatever the width of its keys.
//!
//! Cost: all functions are asked a few times a job; none is in an inner loop.

use crate::{BlockProblem, Board, BracketProblem, Layout, Window};

/// A decimal constant with the digits of its source, for instance `"2.975734192043357249381"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal(pub String);

/// An estimate of a count as a product of powers, with its tolerance.
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
    /// Most digits of a formula's powers. More would take minutes for each count.
    pub const MOST_DIGITS: u64 = 1_000_000;

    /// Number of digits of the powers of `factors`, written out.
    pub fn digits(factors: &[(Decimal, u32)]) -> u64 {
        factors.iter().map(|(base, exponent)| (base.0.len() as u64).saturating_mul((*exponent).into())).sum()
    }
}

/// A linear functional of the vector after a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Functional {
    /// The pass after which it is read.
    pub after_pass: u32,
    /// Unique name, `"L(9,4)"`; shown to people.
    pub name: String,
    /// Index in a series, for tables and b-files; mostly the number of columns.
    pub index: u32,
    /// Whether it is a part of the answer. The count is the sum over the parts.
    pub answer: bool,
    /// A published value, in decimal, that the result must equal. For problems with one coefficient.
    pub known: Option<String>,
    /// An estimate that the result must agree with.
    pub formula: Option<Formula>,
}

impl Functional {
    /// One functional per column end: the counts of all shorter boards on the way to the answer. The name after 4 columns
    /// of 9 cells is `"H(9,4)"` for the letter H. `known` gives the published value after a number of columns.
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

/// Numbers of states for the planner: exact ones or upper bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// `states[p]` is the number of states before pass `p`; one more entry for the end.
    pub states: Vec<u128>,
}

/// A table of results beside the count. Each number is a small linear combination of coefficients of functionals.
///
/// Counts by number of fences are such a table, or counts with a condition left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Name of the table, `"by_fences"`; lower case, unique among a problem's reports.
    pub name: String,
    /// Name of a row's index, `"fences"`; a key in JSON.
    pub index: String,
    /// The rows, in the order in which they are shown.
    pub rows: Vec<ReportRow>,
    /// Figures to show beside the numbers, such as somebody's estimates.
    pub columns: Vec<ReportColumn>,
    /// Remarks for readers, a sentence each: what the columns are, and why they differ from the numbers.
    pub remarks: Vec<String>,
    /// Whether the table is a check and no result: it must meet its known values, and is not shown.
    pub check_only: bool,
}

/// Figures beside the numbers of a [`Report`], such as somebody's estimates. They are shown; no check uses them.
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

/// A problem's description, for `keima problems NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// One line: `"legal Go positions"`.
    pub summary: &'static str,
    /// The exact definition of the counted objects.
    pub definition: &'static str,
    /// The size's form and range: `"MxN, smaller side 1 to 21"`.
    pub size: &'static str,
    /// Options: name (as after `--`), placeholder of its value (empty for a switch), meaning.
    pub options: &'static [(&'static str, &'static str, &'static str)],
    /// Known values, and who found them.
    pub known: &'static str,
    /// Command lines.
    pub examples: &'static [&'static str],
}

/// The part of a problem that does not depend on the key's width.
///
/// A problem must have a name, a board, the width of its keys and a bound. The defaults of the rest are right for a problem
/// without options that has one answer, after the last pass. Whatever else a problem says makes its runs faster, better
/// planned or better checked.
pub trait ProblemInfo: Send + Sync {
    /// Name by which users call it: `"go"`.
    fn name(&self) -> &'static str;
    /// Size as the user gave it: `"9x5"`. By default that of the board.
    fn size(&self) -> String {
        self.board().to_string()
    }
    /// The board in the orientation in which it is filled.
    fn board(&self) -> Board;
    /// What is counted and how states are written as keys, in one line. Jobs and runs of different problems must differ in
    /// it. By default name and board: enough for problems without options whose keys are always the same. A fingerprint of
    /// the recurrence is added by [`crate::AnyProblem::identity`].
    fn identity(&self) -> String {
        format!("{}: board {}", self.name(), self.board())
    }
    /// Width of the keys in bits that the widest layout uses; at most `Key::BITS`.
    fn key_bits(&self) -> u32;
    /// Number of coefficients of a value: 1, or more for a polynomial.
    fn coefficients(&self) -> u32 {
        1
    }
    /// A proved bound on every coefficient of every functional: the product of `base ^ exponent` over the pairs. Three ways
    /// to fill a cell give `[(3, m * n)]`. Powers and not bits: rounded up to whole bits, some boards would need one residue
    /// more.
    fn bound(&self) -> Vec<(u32, u32)>;
    /// The bound for the functionals read after `pass` alone. By default [`ProblemInfo::bound`].
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)> {
        let _ = pass;
        self.bound()
    }
    /// The functionals, in order of `after_pass`. By default the answer alone, after the last pass.
    fn functionals(&self) -> Vec<Functional> {
        let mut all = Functional::column_ends(self.board(), self.name(), |_| None);
        all.split_off(all.len().saturating_sub(1))
    }
    /// Tables of results beside the count; none for problems with one number.
    fn reports(&self) -> Vec<Report> {
        Vec::new()
    }
    /// The counted objects themselves, drawn in lines of text and in a fixed order, if there are at most `most`. `Err` says
    /// why there is no list. For small boards: one thread lists them in memory, and must give up rather than take long.
    fn objects(&self, most: usize) -> Result<Vec<String>, String> {
        let _ = most;
        Err(format!("{} cannot list the objects that it counts; leave out --list", self.name()))
    }
    /// Number of low key bits in `layout` that the stage may change: `key >> bits` names the family. The default,
    /// [`ProblemInfo::key_bits`], means that the stage conserves nothing and all states are one family.
    fn family_bits(&self, layout: Layout) -> u32 {
        let _ = layout;
        self.key_bits()
    }
    /// Upper bound on the states of the largest family at any pass boundary within the stage, where known.
    fn largest_family(&self, window: Window) -> Option<u128> {
        let _ = window;
        None
    }
    /// Numbers of states per pass, where they are known beforehand.
    fn forecast(&self) -> Option<Forecast> {
        None
    }
    /// The block form, where the problem has one for this board.
    fn blocks(&self) -> Option<&dyn BlockProblem> {
        None
    }
    /// The bracket form, where the states of this board are bracket words.
    fn brackets(&self) -> Option<&dyn BracketProblem> {
        None
    }
    /// Why [`ProblemInfo::blocks`] is `None`.
    fn why_no_blocks(&self) -> &'static str {
        "this problem has no block form"
    }
    /// The problem's own conservation law for one pass and one modulus. `by_degree[d]` is the sum of the old values with d
    /// successors, `new` the sum of the new values (without those that move beyond the only coefficient), both modulo
    /// `modulus`. `Err` says what was expected and what came. `None`, whatever is given, means that there is no such law.
    /// Only called for problems with one coefficient.
    fn law(&self, pass: u32, by_degree: &[u64], new: u64, modulus: u64) -> Option<Result<(), String>> {
        let _ = (pass, by_degree, new, modulus);
        None
    }
    /// Whether it has a law of its own.
    fn has_law(&self) -> bool {
        self.law(0, &[], 0, 2).is_some()
    }
}
