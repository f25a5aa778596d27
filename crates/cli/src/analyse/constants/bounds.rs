//! Theorem 3 of Tromp and Farnebäck beside the counts of go: its bounds on all boards that they are for and that are counted.

use keima_analyse::Integer;
use keima_analyse::constants::theorem_3;

use super::Report;

/// Significant digits for people: the bounds lie far apart.
const DIGITS: usize = 7;

/// A board with its bounds.
pub(super) struct Bounded {
    pub(super) board: String,
    pub(super) lower: Integer,
    pub(super) count: Integer,
    pub(super) upper: Integer,
}

impl Bounded {
    /// Whether the count lies between them.
    pub(super) fn holds(&self) -> bool {
        self.lower <= self.count && self.count <= self.upper
    }

    /// The three numbers as people read them.
    pub(super) fn shown(&self) -> [String; 3] {
        [&self.lower, &self.count, &self.upper].map(scientific)
    }
}

impl Report {
    /// For go, all boards whose sides 5 divides.
    pub(super) fn bounded(&self) -> Vec<Bounded> {
        let bounded = |((m, n), count): ((u32, u32), &Integer)| {
            let (lower, upper) = theorem_3(m, n)?;
            Some(Bounded { board: format!("{m}x{n}"), lower, count: count.clone(), upper })
        };
        if self.name == "go" { self.table.boards().filter_map(bounded).collect() } else { Vec::new() }
    }
}

/// The first digits, cut, and the power of ten: `4.142951e11`.
fn scientific(number: &Integer) -> String {
    let digits = number.to_string();
    let (first, rest) = digits.split_at(digits.len().min(1));
    let rest: String = rest.chars().take(DIGITS - 1).collect();
    format!("{first}.{rest:0<width$}e{}", digits.len().saturating_sub(1), width = DIGITS - 1)
}
