//! The constants of L(m,n) ~ A B^(m+n) L^(mn), from counts of squares and of boards one longer.
//!
//! ```text
//!   L_n = s(n) s(n+1) / o(n)^2               s(n) = L(n,n), o(n) = L(n,n+1)
//!   B_n = o(n) / (s(n) L^n)
//!   A_n = s(n) / (B^(2n) L^(n^2))
//! ```
//!
//! Source: Tromp & Farnebäck 2016, sections 5.10 and 5.11, table 6. The ratios converge like a few geometric sequences with
//! complex bases, so Wynn's epsilon algorithm (see [`epsilon`]) gains digits. B is made with the L so found, and A with both.
//!
//! [`joint`] is a second way, with the counts of boards of fixed heights as well; [`table`] holds all counts.
//!
//! The bars are honest, not proved: an error of L by e moves `A_n` by n^2 e, which is added. [`Limit::trials`] tells how often
//! the same method on fewer counts had the final value within its bar. Cost: some thousand multiplications of 100 digits.

pub mod epsilon;
mod fixed;
pub mod joint;
pub mod plot;
pub mod table;
#[cfg(test)]
mod tests;

use rug::Integer;
use rug::ops::DivRounding as _;

use self::epsilon::Limit;
pub use self::fixed::{SCALE, decimal};
use self::fixed::{power, product, quotient};
use self::joint::{Joint, NoJoint};
pub use self::table::Counts;
use self::table::Table;
use crate::growth::ten_to;

/// Fewest squares from which constants are made.
pub const LEAST: usize = 6;

/// The three constants.
#[derive(Clone, Debug)]
pub struct Limits {
    /// L.
    pub base: Limit,
    /// B.
    pub side: Limit,
    /// A.
    pub factor: Limit,
}

/// What the counts say.
#[derive(Clone, Debug)]
pub struct Constants {
    /// `L_n` of the paper, n from 1, times 10^[`SCALE`].
    pub ratios: Vec<Integer>,
    /// The constants from the ratios.
    pub epsilon: Limits,
    /// The constants from boards of fixed heights too, or what they lack.
    pub joint: Result<Joint, NoJoint>,
    /// For n from 1.
    pub errors: Vec<Errors>,
}

/// The relative errors of the formula with the better constants, times 10^[`SCALE`]: at n x n, and at n x (n+1) if that is known.
pub type Errors = (Integer, Option<Integer>);

/// Counts that give no constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoConstants {
    /// Too few of them.
    #[error(
        "the constants need the counts of {LEAST} squares and of the boards between them, got {got}; add counts with --from FILE"
    )]
    TooFew {
        /// The squares with their oblongs.
        got: usize,
    },
    /// A ratio of them is 0 to all digits that are kept.
    #[error("expected counts that grow like A B^(m+n) L^(mn), got others; correct the table of --from")]
    OtherGrowth,
}

impl Limits {
    /// By the epsilon algorithm.
    fn of(counts: &Counts, ratios: &[Integer]) -> Option<Self> {
        let (squares, oblongs) = (&counts.squares, &counts.oblongs);
        let base = Limit::of(ratios);
        let steps = (1..).zip(squares.iter().zip(oblongs));
        let sides = steps.map(|(n, (square, oblong))| quotient(&quotient(oblong, square)?, &power(&base.value, n)));
        let longest = ratios.len() as u32 + 1;
        let side = Limit::of(&sides.collect::<Option<Vec<_>>>()?).with_error(&(Integer::from(&base.error * longest)));
        // Of larger squares the error of L would move A more than the bar says.
        let whole = (1..=longest).zip(squares).map(|(n, square): (u32, &Integer)| {
            let powers = product(&power(&side.value, 2 * n), &power(&base.value, n * n));
            quotient(&(square * ten_to(SCALE)), &powers)
        });
        let moved = Integer::from(&base.error * (longest * longest)) + Integer::from(&side.error * (2 * longest));
        let factor = Limit::of(&whole.collect::<Option<Vec<_>>>()?).with_error(&moved);
        Some(Self { base, side, factor })
    }

    /// count / formula - 1.
    fn error(&self, count: &Integer, m: u32, n: u32) -> Option<Integer> {
        let powers = product(&power(&self.side.value, m + n), &power(&self.base.value, m * n));
        let formula = product(&self.factor.value, &powers);
        Some(quotient(&(count * ten_to(SCALE)), &formula)? - ten_to(SCALE))
    }
}

impl Constants {
    /// The constants of all counts that are known.
    pub fn of(table: &Table) -> Result<Self, NoConstants> {
        let counts = table.counts();
        let (squares, oblongs) = (&counts.squares, &counts.oblongs);
        let pairs = oblongs.len().min(squares.len().saturating_sub(1));
        if pairs + 1 < LEAST {
            return Err(NoConstants::TooFew { got: pairs + 1 });
        }
        let between = squares.iter().zip(squares.iter().skip(1)).zip(oblongs);
        let ratios = between
            .map(|((square, next), oblong)| quotient(&Integer::from(square * next), &Integer::from(oblong * oblong)));
        let ratios: Vec<Integer> = ratios.collect::<Option<_>>().ok_or(NoConstants::OtherGrowth)?;
        let epsilon = Limits::of(&counts, &ratios).ok_or(NoConstants::OtherGrowth)?;
        let mut found = Self { ratios, epsilon, joint: Joint::of(table), errors: Vec::new() };
        let best = found.best();
        let errors = (1..).zip(squares).map(|(n, square)| {
            let oblong = oblongs.get(n as usize - 1).map(|oblong| best.error(oblong, n, n + 1));
            Some((best.error(square, n, n)?, oblong.flatten()))
        });
        found.errors = errors.collect::<Option<_>>().ok_or(NoConstants::OtherGrowth)?;
        Ok(found)
    }

    /// Those from boards of fixed heights, where these have the narrower bar of L; else those from the ratios.
    pub fn best(&self) -> &Limits {
        self.better().map_or(&self.epsilon, |joint| &joint.limits)
    }

    /// The constants, by their letters, for which both ways together lie beyond their bars.
    pub fn disagree(&self) -> Vec<&'static str> {
        let Ok(joint) = &self.joint else { return Vec::new() };
        let (first, second) = (&self.epsilon, &joint.limits);
        let pairs =
            [("L", &first.base, &second.base), ("B", &first.side, &second.side), ("A", &first.factor, &second.factor)];
        let apart = |(_, one, other): &(&str, &Limit, &Limit)| {
            Integer::from(&one.value - &other.value).abs() > Integer::from(&one.error + &other.error)
        };
        pairs.into_iter().filter(apart).map(|(letter, ..)| letter).collect()
    }

    /// The second way, where it is the better one.
    pub fn better(&self) -> Option<&Joint> {
        self.joint.as_ref().ok().filter(|joint| joint.limits.base.error < self.epsilon.base.error)
    }
}

/// Lower and upper bound of the number of legal positions by theorem 3, for sides that 5 divides: products of powers of 3, 79/81
/// and 241/243. `None` for other sides.
pub fn theorem_3(m: u32, n: u32) -> Option<(Integer, Integer)> {
    if m == 0 || n == 0 || !m.is_multiple_of(5) || !n.is_multiple_of(5) {
        return None;
    }
    let (sides, cells) = (2 * (m + n) / 5, m * n);
    let three = |exponent: u32| Integer::from(Integer::u_pow_u(3, exponent));
    let edge = |count: Integer| {
        (count * Integer::from(Integer::u_pow_u(79, sides))).div_floor(Integer::from(Integer::u_pow_u(81, sides)))
    };
    let inner = (cells - 2 * (m + n)) / 5;
    let low = edge(three(4 * cells / 5));
    let high = three(cells) * Integer::from(Integer::u_pow_u(241, inner));
    let high = edge(high).div_ceil(Integer::from(Integer::u_pow_u(243, inner))) + 1;
    Some((low, high))
}
