//! lambda and a of L(n) ~ a lambda^n from the exact vectors v(n) of a graph, with proved bounds.
//!
//! lambda (Collatz 1942, Wielandt 1950): for the map T of a column and any positive vector v
//!
//! ```text
//!   min over t of (T v)(t) / v(t)  <=  lambda  <=  max over t of (T v)(t) / v(t)
//! ```
//!
//! a: let r be the positive eigenvector of T and h(n) = v(n) / (lambda^n r), so that h(n+1) = P h(n) with a stochastic P
//! and a = limit of L(n) / lambda^n. With e the relative width of the bounds above, |h(n+1) - h(n)| <= e max h. A hub that all
//! states reach in j columns and that reaches all in k makes every entry of P^k at the hub at least d = lambda^-(j+k)
//! (counts are whole numbers, so at least 1). So P^k shrinks the spread of values by 1 - d (Doeblin), and the geometric series
//! of all further changes gives
//!
//! ```text
//!   |L(n) / lambda^n - a| <= a q / (1 - q),   q = 2 k e lambda^(j+k)
//! ```
//!
//! Later columns have no larger e, so that this holds for all of them too.
//!
//! The hub also proves that lambda is simple and larger than all other eigenvalues in absolute value. No rounding occurs
//! before the last division. Cost: some 100 columns of additions of n log2(lambda) bits.

use rug::Integer;
use rug::ops::{DivRounding, Pow};

use super::GrowthError;
use super::decimal::{Bounds, ten_to};
use super::rest::Rest;
use crate::graph::{Exact, Graph, Hub};

/// Decimal digits that are carried after the point.
const SCALE: u32 = 150;
/// Digits that must be certain.
const WANTED: u32 = 56;
/// Columns between two looks at the bounds.
const LOOK: usize = 16;
/// Fewest columns: their terms also tell the second eigenvalue.
const LEAST_COLUMNS: usize = 160;
/// Most columns.
const MOST_COLUMNS: usize = 3000;

/// The constants, and the terms that were counted on the way.
#[derive(Clone, Debug)]
pub(super) struct Perron {
    /// Bounds of a.
    pub(super) a: Bounds,
    /// Bounds of lambda.
    pub(super) lambda: Bounds,
    /// What the other eigenvalues add.
    pub(super) rest: Rest,
    /// The hub that proves them.
    pub(super) hub: Hub,
    /// The exact terms, from the first on.
    pub(super) terms: Vec<Integer>,
}

/// Counts exactly until both constants have their digits. `told` hears of the columns so far.
pub(super) fn perron(graph: &Graph, told: &dyn Fn(usize)) -> Result<Perron, GrowthError> {
    let hub = graph.hub().ok_or(GrowthError::NotPrimitive)?;
    let mut exact = Exact::new(graph);
    let mut terms = Vec::new();
    while exact.columns() < MOST_COLUMNS {
        terms.extend(exact.next());
        if exact.columns() < LEAST_COLUMNS || !exact.columns().is_multiple_of(LOOK) || !exact.is_settled() {
            continue;
        }
        told(exact.columns());
        let Some(lambda) = collatz_wielandt(&exact) else { continue };
        let (Some(term), Some(q)) = (terms.last(), tail(&lambda, hub)) else { continue };
        if q <= ten_to(SCALE - WANTED) {
            // The bound of a by q then says that a is 0, and so is every later term.
            if *term == 0 {
                let zeros = terms.iter().rev().take_while(|term| **term == 0).count();
                return Err(GrowthError::Zero { from: u64::from(graph.first()) + (terms.len() - zeros) as u64 });
            }
            let a = constant(term, &lambda, exact.columns() as u32, &q);
            // q / (1 - q) is below 2 q.
            let rest = Rest::from_column(exact.columns() as u64, &(q * 2_u32), SCALE);
            return Ok(Perron { a, lambda, rest, hub, terms });
        }
    }
    Err(GrowthError::TooSlow { columns: MOST_COLUMNS })
}

/// The bounds of lambda; `None` if some count is zero.
fn collatz_wielandt(exact: &Exact<'_>) -> Option<Bounds> {
    let ten = ten_to(SCALE);
    let mut bounds: Option<Bounds> = None;
    for (after, before) in exact.counts.iter().zip(&exact.before) {
        if *before <= 0 || *after <= 0 {
            return None;
        }
        let (low, rest) = Integer::from(after * &ten).div_rem_floor(before.clone());
        let high = if rest == 0 { low.clone() } else { Integer::from(&low + 1_u32) };
        match &mut bounds {
            None => bounds = Some(Bounds { low, high, scale: SCALE }),
            Some(bounds) => {
                if low < bounds.low {
                    bounds.low = low;
                }
                if high > bounds.high {
                    bounds.high = high;
                }
            }
        }
    }
    bounds
}

/// q times 10^SCALE, rounded up.
fn tail(lambda: &Bounds, hub: Hub) -> Option<Integer> {
    if lambda.low <= 0 {
        return None;
    }
    let columns = hub.into + hub.out;
    let ten = ten_to(SCALE);
    let width = Integer::from(&lambda.high - &lambda.low);
    let e = Integer::from(&width * &ten).div_ceil(&lambda.low);
    let power = lambda.high.clone().pow(columns).div_ceil(ten_to(SCALE * (columns - 1)));
    Some(Integer::from(&e * &power).div_ceil(&ten) * 2_u32 * hub.out)
}

/// Bounds of a from L(n), lambda and q below 1/4.
fn constant(term: &Integer, lambda: &Bounds, n: u32, q: &Integer) -> Bounds {
    let scaled = term * ten_to(SCALE * (n + 1));
    let low = Integer::from(&scaled).div_floor(lambda.high.clone().pow(n));
    let high = scaled.div_ceil(lambda.low.clone().pow(n));
    // 1 / (1 +- q / (1 - q)) lies within 1 +- 4 q.
    let slack = |x: &Integer| Integer::from(x * q).div_ceil(ten_to(SCALE)) * 4_u32 + 1_u32;
    let (below, above) = (slack(&low), slack(&high));
    Bounds { low: low - below, high: high + above, scale: SCALE }
}
