//! Wynn's epsilon algorithm: the limit of a sequence whose error is a sum of geometric sequences.
//!
//! ```text
//!   e(n,-1) = 0,   e(n,0) = s(n),   e(n,k+1) = e(n+1,k-1) + 1 / (e(n+1,k) - e(n,k))
//! ```
//!
//! Column 2k has taken k geometric sequences off, complex ones too (P. Wynn, 1956). The estimate is the last entry of the column
//! whose last three entries agree best; the bar is the largest difference among these three.
//!
//! A wrong newest term makes later columns repeat what stood there before it, so that they seem to agree. Two things keep the bar
//! honest then: it is at least the newest step of the sequence where this is far longer than those before, and it is no narrower
//! than that of the estimate without the newest term unless that one's bar holds the new estimate.

use rug::Integer;
use rug::ops::DivRounding as _;

use super::fixed::{SCALE, decimal};
use crate::growth::ten_to;

/// Entries of a column that are compared.
const COMPARED: usize = 3;
/// How much longer than each of the steps before the newest step may be.
const LONGEST_STEP: u32 = 4;

/// A limit, with a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The estimate, times 10^[`SCALE`].
    pub value: Integer,
    /// Half the width of the bar.
    pub error: Integer,
    /// Column of the epsilon table that it comes from: how many geometric sequences were taken off. `None` if it was found in
    /// another way.
    pub column: Option<usize>,
    /// Of the estimates from fewer terms: how many had this value within their bar, and how many there were.
    pub trials: (usize, usize),
}

/// The even columns of the table, each with its entries from the first term on.
fn columns(terms: &[Integer]) -> Vec<Vec<Integer>> {
    let one = ten_to(2 * SCALE);
    let mut before = vec![Integer::new(); terms.len() + 1];
    let mut now = terms.to_vec();
    let mut even = vec![now.clone()];
    while now.len() > 1 {
        let mut next = Vec::with_capacity(now.len() - 1);
        for (at, pair) in now.windows(2).enumerate() {
            let [a, b] = pair else { break };
            let difference = Integer::from(b - a);
            // Two equal entries: the limit is reached, as far as the digits go.
            if difference == 0 {
                return even;
            }
            let Some(older) = before.get(at + 1) else { break };
            next.push(Integer::from(&one).div_floor(&difference) + older);
        }
        before = std::mem::replace(&mut now, next);
        // Columns 1, 3, ... are no estimates.
        if (terms.len() - now.len()).is_multiple_of(2) {
            even.push(now.clone());
        }
    }
    even
}

/// The estimate of some terms without trials.
fn estimate(terms: &[Integer]) -> (Integer, Integer, usize) {
    let spread = |column: &Vec<Integer>| {
        let last = column.get(column.len().checked_sub(COMPARED)?..)?;
        let (low, high) = (last.iter().min()?, last.iter().max()?);
        Some((Integer::from(high - low), last.last()?.clone()))
    };
    let found =
        columns(terms).iter().enumerate().filter_map(|(k, column)| Some((spread(column)?, k))).collect::<Vec<_>>();
    let best = found.into_iter().min_by(|((a, _), _), ((b, _), _)| a.cmp(b));
    match best {
        Some(((error, value), column)) => (value, error, column),
        None => (terms.last().cloned().unwrap_or_default(), ten_to(SCALE), 0),
    }
}

/// The newest step, where the newest term leaves the sequence.
fn stray(terms: &[Integer]) -> Option<Integer> {
    let last = terms.get(terms.len().checked_sub(COMPARED + 2)?..)?;
    let steps: Vec<Integer> = last.windows(2).map(|pair| Integer::from(&pair[1] - &pair[0]).abs()).collect();
    let (newest, before) = steps.split_last()?;
    let longest = before.iter().max()?;
    (*newest > Integer::from(longest * LONGEST_STEP)).then(|| newest.clone())
}

/// The estimate with a bar that a wrong newest term does not make narrower.
fn guarded(terms: &[Integer]) -> (Integer, Integer, usize) {
    let (value, mut error, column) = estimate(terms);
    if let Some(step) = stray(terms) {
        error = error.max(step);
    }
    if let Some(earlier) = terms.get(..terms.len().saturating_sub(1)).filter(|earlier| earlier.len() >= super::LEAST) {
        let (before, bar, _) = estimate(earlier);
        let off = Integer::from(&before - &value).abs();
        if off > bar {
            error = error.max(bar).max(off);
        }
    }
    (value, error, column)
}

impl Limit {
    /// The limit of a sequence, times 10^[`SCALE`] as its terms.
    pub fn of(terms: &[Integer]) -> Self {
        let (value, error, column) = guarded(terms);
        let shorter = (super::LEAST..terms.len()).filter_map(|end| terms.get(..end)).map(guarded);
        let held: Vec<bool> =
            shorter.map(|(earlier, bar, _)| Integer::from(&earlier - &value).abs() <= bar + &error).collect();
        let trials = (held.iter().filter(|held| **held).count(), held.len());
        Self { value, error, column: Some(column), trials }
    }

    /// The same with a wider bar.
    #[must_use]
    pub fn with_error(mut self, more: &Integer) -> Self {
        self.error += more;
        self
    }

    /// The digits that the bar leaves, and the bar: `("2.97573419204335724938", "3e-21")`.
    pub fn decimal(&self) -> (String, String) {
        let digits = self.error.to_string().len() as u32;
        // One digit more than is certain.
        let cut = digits.saturating_sub(1);
        let text = decimal(&self.value, SCALE - cut.min(SCALE));
        let first = self.error.to_string().chars().next().unwrap_or('0');
        let exponent = i64::from(digits) - 1 - i64::from(SCALE);
        let bar = match first.to_digit(10).unwrap_or(0) + 1 {
            10 => format!("1e{}", exponent + 1),
            up => format!("{up}e{exponent}"),
        };
        (text, bar)
    }
}
