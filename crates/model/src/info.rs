//! What a plan, a forecast and a check need to know of a problem, whatever the width of its keys.

use crate::{Board, Layout, Window};

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

/// Numbers of states to expect, for the planner. Counts are exact or upper bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// `states[p]` is the number of states before pass `p`; one more entry for the end.
    pub states: Vec<u128>,
}

/// A table of results: numbers that users want beside the count, each a small linear combination of what was read off.
///
/// Quoridor's fences by number, Go's series and "all but" variants are such tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Name of the table, `"by_fences"`; lower case, unique among a problem's reports.
    pub name: String,
    /// What the index of a row is, `"fences"`; a key in JSON.
    pub index: String,
    /// The rows, in the order in which they are shown.
    pub rows: Vec<ReportRow>,
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
pub trait ProblemInfo: Send + Sync {
    /// Name by which users call it: `"go"`.
    fn name(&self) -> &'static str;
    /// Size as the user gave it: `"9x5"`.
    fn size(&self) -> String;
    /// The board in the orientation in which it is filled.
    fn board(&self) -> Board;
    /// Everything that determines the numbers, in one line; jobs and runs of different problems have different ones.
    fn identity(&self) -> String;
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
    /// Like [`ProblemInfo::bound`] for the functionals read after `pass` alone (Go: `[(3, cells so far)]`).
    fn bound_after(&self, pass: u32) -> Vec<(u32, u32)>;
    /// Linear forms to read off, in order of `after_pass`.
    fn functionals(&self) -> Vec<Functional>;
    /// Tables of results beside the count; none for problems with one number.
    fn reports(&self) -> Vec<Report> {
        Vec::new()
    }
    /// Number of low key bits in `layout` that are *not* conserved by the stage: `key >> bits` names the family.
    /// [`ProblemInfo::key_bits`] (or more) means that nothing is conserved, and all states are one family.
    fn family_bits(&self, layout: Layout) -> u32;
    /// Upper bound on the number of states at any pass boundary within the stage in the largest family, where known.
    fn largest_family(&self, window: Window) -> Option<u128>;
    /// Numbers of states per pass, where they can be told beforehand.
    fn forecast(&self) -> Option<Forecast>;
    /// The problem's own conservation law for one pass and one modulus (mass balance), given the sum of the
    /// old values by number of successors (`by_degree[d]`, modulo `modulus`) and the sum of the new ones. `Err` says
    /// what was expected and what came. Only called for problems with one coefficient.
    fn law(&self, pass: u32, by_degree: &[u64], new: u64, modulus: u64) -> Result<(), String> {
        let _ = (pass, by_degree, new, modulus);
        Ok(())
    }
}
