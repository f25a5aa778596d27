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
    /// What a board outside the bounds says, if there is one: no count of legal positions lies there.
    pub(super) fn broken(&self) -> Option<String> {
        let bounded = self.bounded();
        let boards: Vec<&str> =
            bounded.iter().filter(|bounded| !bounded.holds()).map(|bounded| bounded.board.as_str()).collect();
        (!boards.is_empty()).then(|| {
            format!("theorem 3 fails for {}: the count there is wrong, and with it the constants", boards.join(", "))
        })
    }

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
pub(super) fn scientific(number: &Integer) -> String {
    let digits = number.to_string();
    let (first, rest) = digits.split_at(digits.len().min(1));
    let rest: String = rest.chars().take(DIGITS - 1).collect();
    format!("{first}.{rest:0<width$}e{}", digits.len().saturating_sub(1), width = DIGITS - 1)
}

#[cfg(test)]
mod tests {
    use keima_analyse::constants::Constants;
    use keima_analyse::constants::table::Table;
    use keima_problems::go::published::known;

    use super::*;

    /// What lies outside the bounds ends the program with another code.
    #[test]
    fn a_count_outside_the_bounds_is_told() {
        for (count, expected) in [(None, None), (Some(1_234_567), Some("theorem 3 fails for 20x20"))] {
            let mut table = Table::default();
            for (m, n) in (1..=19).flat_map(|n| [(n, n), (n, n + 1)]) {
                let published = known(m, n).and_then(|digits| digits.parse::<Integer>().ok());
                assert_eq!(published.map(|published| table.add(0, (m, n), published)), Some(Ok(())));
            }
            if let Some(count) = count {
                assert_eq!(table.add(0, (20, 20), Integer::from(count)), Ok(()));
            }
            let Ok(found) = Constants::of(&table) else { panic!("enough counts") };
            let broken = Report { name: "go".to_owned(), table, found }.broken();
            assert_eq!(broken.is_some(), expected.is_some(), "{broken:?}");
            assert!(broken.unwrap_or_default().contains(expected.unwrap_or_default()));
        }
    }
}
