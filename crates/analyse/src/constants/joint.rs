//! A second way to A, B and L: what boards of fixed heights tell about the error of the formula.
//!
//! ```text
//!   log L(m,n) = log A + (m+n) log B + mn log L + n e(m) + m e(n) + d(m) + d(n) + (less)
//!   lambda_k   = L(k,M) / L(k,M-1), M large:        log lambda_k = k log L + log B + e(k)
//!   q(k,n)     = log L(k,n) - log L(k,M) + (M-n) log lambda_k    = k e(n) + d(n) + (less)
//!   e(n)       = q(K,n) - q(K-1,n)
//!   d(n)       = q(K,n) - K e(n)
//! ```
//!
//! e(m) is what a column of height m errs, d(m) what the two ends of the board err. Heights up to K, as long as they are cheap
//! to count, give e(n) and d(n) even where n x n is not cheap at all. Taken off the counts of N x N, N x (N+1) and
//! (N+1) x (N+1), they leave A, B and L. What is left out falls with K and with N. The bar is the larger one of two differences:
//! to the estimate from K - 1, and to the one from N - 1. It is honest, not proved; [`Limit::trials`] has how often it held with
//! fewer heights and smaller boards. All is done in products instead of sums of logarithms, in [`SCALE`] digits.
//!
//! The paper does not have this way. That the form is right shows in the numbers: q(k,n) - q(k-1,n) goes to a limit as k grows.
//! Cost: some thousand multiplications of 100 digits.

use rug::Integer;

use super::epsilon::Limit;
use super::fixed::{SCALE, power, product, quotient};
use super::table::Table;
use super::{LEAST, Limits};
use crate::growth::ten_to;

/// How much longer than the squares the boards of fixed heights must be, that lambda does not err.
pub const LONGER: u32 = 9;
/// Fewest heights: an estimate needs two of them, and its bar one more.
const HEIGHTS: u32 = 3;

/// Why there is no second way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoJoint {
    /// Too few squares.
    #[error("{least} squares and the boards between them are needed, got {got}")]
    Squares {
        /// How many are needed.
        least: u32,
        /// How many are known.
        got: u32,
    },
    /// Too few boards of small heights.
    #[error(
        "with squares up to {largest}x{largest} and one more, boards of heights 1 to {HEIGHTS} at least are needed up to a length of \
             {needed}, got height {height} up to {length}"
    )]
    Lengths {
        /// The largest square that is used.
        largest: u32,
        /// The least length of boards of small heights.
        needed: u32,
        /// The first height that is too short.
        height: u32,
        /// Its length.
        length: u32,
    },
    /// Counts whose quotients are 0 to all digits.
    #[error("the counts do not grow like A B^(m+n) L^(mn): one of them is wrong")]
    OtherGrowth,
}

/// The constants by this way.
#[derive(Clone, Debug)]
pub struct Joint {
    /// A, B and L.
    pub limits: Limits,
    /// Heights from 1 to this were used.
    pub heights: u32,
    /// Up to this length.
    pub length: u32,
    /// e(n) and d(n) for n from 1, as far as lambda does not err: `[e, d]`, times 10^[`SCALE`].
    pub parts: Vec<[Integer; 2]>,
}

/// Powers of e and d for heights up to each K.
struct Parts<'a> {
    table: &'a Table,
    /// exp(q(k,n)); both from 1.
    q: Vec<Vec<Integer>>,
}

impl<'a> Parts<'a> {
    fn new(table: &'a Table, heights: u32, length: u32) -> Option<Self> {
        let row = |k: u32| {
            let (last, before) = (table.get(k, length)?, table.get(k, length.checked_sub(1)?)?);
            let lambda = quotient(last, before)?;
            (1..=length)
                .map(|n| {
                    let grown = table.get(k, n)? * power(&lambda, length - n);
                    Some(quotient(&grown, last)? / ten_to(SCALE))
                })
                .collect()
        };
        let q = (1..=heights).map(row).collect::<Option<Vec<Vec<Integer>>>>()?;
        Some(Self { table, q })
    }

    fn q(&self, k: u32, n: u32) -> Option<&Integer> {
        self.q.get(k.checked_sub(1)? as usize)?.get(n.checked_sub(1)? as usize)
    }

    /// exp(e(n)) and exp(d(n)) from the heights `k` - 1 and `k`.
    fn of(&self, k: u32, n: u32) -> Option<[Integer; 2]> {
        let q = self.q(k, n)?;
        let column = quotient(q, self.q(k.checked_sub(1)?, n)?)?;
        let corner = quotient(q, &power(&column, k))?;
        Some([column, corner])
    }

    /// L, B and A from the heights `k` - 1 and `k`, and the boards with sides n and n + 1.
    fn estimate(&self, k: u32, n: u32) -> Option<[Integer; 3]> {
        let parts = [self.of(k, n)?, self.of(k, n + 1)?];
        let bare = |a: u32, b: u32| {
            let ([first_e, first_d], [second_e, second_d]) = (parts.get(a as usize)?, parts.get(b as usize)?);
            let columns = product(&power(first_e, n + b), &power(second_e, n + a));
            let count = self.table.get(n + a, n + b)? * ten_to(SCALE);
            quotient(&count, &product(&columns, &product(first_d, second_d)))
        };
        let (square, oblong, next) = (bare(0, 0)?, bare(0, 1)?, bare(1, 1)?);
        let step = quotient(&oblong, &square)?;
        let base = quotient(&quotient(&next, &oblong)?, &step)?;
        let side = quotient(&step, &power(&base, n))?;
        let powers = product(&power(&side, 2 * n), &power(&base, n * n));
        let factor = quotient(&square, &powers)?;
        Some([base, side, factor])
    }

    /// The estimates with their bars.
    fn barred(&self, k: u32, n: u32) -> Option<[(Integer, Integer); 3]> {
        let (fewer, smaller) = (self.estimate(k - 1, n)?, self.estimate(k, n - 1)?);
        let mut others = fewer.into_iter().zip(smaller);
        let found = self.estimate(k, n)?.map(|value| {
            let (fewer, smaller) = others.next()?;
            let bar = (&value - fewer).abs().max((&value - smaller).abs());
            Some((value, bar))
        });
        let [base, side, factor] = found;
        Some([base?, side?, factor?])
    }
}

impl Joint {
    /// From all counts that are known.
    pub fn of(table: &Table) -> Result<Self, NoJoint> {
        let counts = table.counts();
        let largest = counts.oblongs.len().min(counts.squares.len().saturating_sub(1)) as u32;
        let least = LEAST as u32 + 1;
        if largest < least {
            return Err(NoJoint::Squares { least: least + 1, got: counts.squares.len() as u32 });
        }
        let needed = largest + LONGER + 1;
        let lengths: Vec<u32> = (1..=largest).map(|k| table.length(k)).take_while(|&length| length >= needed).collect();
        let heights = lengths.len() as u32;
        if heights < HEIGHTS {
            let height = heights + 1;
            return Err(NoJoint::Lengths { largest, needed, height, length: table.length(height) });
        }
        let length = lengths.into_iter().min().unwrap_or(needed);
        Self::with(table, largest, heights, length).ok_or(NoJoint::OtherGrowth)
    }

    /// From so many squares, heights and columns.
    fn with(table: &Table, largest: u32, heights: u32, length: u32) -> Option<Self> {
        let parts = Parts::new(table, heights, length)?;
        let found = parts.barred(heights, largest)?;
        let earlier: Vec<_> = (LEAST as u32 + 1..=largest)
            .flat_map(|n| (HEIGHTS + 1..=heights.min(n)).map(move |k| (k, n)))
            .filter(|&place| place != (heights, largest))
            .filter_map(|(k, n)| parts.barred(k, n))
            .collect();
        let mut at = 0..;
        let [base, side, factor] = found.map(|(value, error)| {
            let which = at.next().unwrap_or(0_usize);
            let bars = earlier.iter().filter_map(|earlier| earlier.get(which));
            let held = |(estimate, bar): &&(Integer, Integer)| {
                Integer::from(estimate - &value).abs() <= Integer::from(bar + &error)
            };
            let trials = (bars.clone().filter(held).count(), bars.count());
            Limit { value, error, column: None, trials }
        });
        let one = ten_to(SCALE);
        // exp(x) - 1 is x but for x^2.
        let both = |n| parts.of(heights, n).map(|both| both.map(|power| power - &one));
        let parts = (1..=length + 1 - LONGER).map_while(both).collect();
        Some(Self { limits: Limits { base, side, factor }, heights, length, parts })
    }
}
